package gatewayresponse

import (
	"encoding/json"
	"flag"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"patchbay/shared/jsonrpc"
)

// types are those of API Gateway. Source: API Gateway API reference, GatewayResponse, responseType.
var types = []string{
	"DEFAULT_4XX", "DEFAULT_5XX", "RESOURCE_NOT_FOUND", "UNAUTHORIZED", "INVALID_API_KEY", "ACCESS_DENIED",
	"AUTHORIZER_FAILURE", "AUTHORIZER_CONFIGURATION_ERROR", "INVALID_SIGNATURE", "EXPIRED_TOKEN",
	"MISSING_AUTHENTICATION_TOKEN", "INTEGRATION_FAILURE", "INTEGRATION_TIMEOUT", "API_CONFIGURATION_ERROR",
	"UNSUPPORTED_MEDIA_TYPE", "BAD_REQUEST_PARAMETERS", "BAD_REQUEST_BODY", "REQUEST_TOO_LARGE", "THROTTLED",
	"QUOTA_EXCEEDED", "WAF_FILTERED",
}

func TestEveryTypeIsThereOnce(t *testing.T) {
	t.Parallel()
	var got []string
	for _, r := range All() {
		got = append(got, r.Type)
	}
	slices.Sort(got)
	want := slices.Clone(types)
	slices.Sort(want)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("types (-want +got):\n%s", diff)
	}
}

const anID = "0e6ad7b2-98fe-4a3b-8c4d-2f5d5d1f4c11"

// The protocol wants of an error without a readable id: "jsonrpc", no "id" member, and an error of an integer code that
// is JSON-RPC's own (MCP 2026-07-28, basic/index#error-responses, #error-codes).
func TestBodiesAreErrorsOfTheProtocol(t *testing.T) {
	t.Parallel()
	for _, r := range All() {
		body := []byte(r.Body(anID))
		members, err := jsonrpc.Members(body)
		if err != nil || !json.Valid(body) {
			t.Fatalf("%s: %v in %s", r.Type, err, body)
		}
		if len(members) != 2 || members[0].Key != "jsonrpc" || string(members[0].Value) != `"2.0"` ||
			members[1].Key != "error" {
			t.Errorf("%s: members of %s", r.Type, body)
		}
		var message struct {
			Error struct {
				Code    int
				Message string
				Data    struct{ RequestID string }
			}
		}
		if err := json.Unmarshal(body, &message); err != nil {
			t.Fatal(err)
		}
		said := message.Error
		if said.Code != jsonrpc.CodeInvalidRequest && said.Code != jsonrpc.CodeInternalError {
			t.Errorf("%s has the code %d", r.Type, said.Code)
		}
		if !strings.HasSuffix(said.Message, "(request id "+anID+")") || said.Data.RequestID != anID {
			t.Errorf("%s does not tell the request id: %s", r.Type, body)
		}
	}
}

// API Gateway replaces $ variables without encoding what it puts in, and headers may only be single-quoted texts.
func TestTemplatesHoldNothingElseToReplace(t *testing.T) {
	t.Parallel()
	internals := regexp.MustCompile(`(?i)lambda|dynamodb|api gateway|dispatcher|amazon`)
	for _, r := range All() {
		rest := strings.ReplaceAll(r.Template(), requestID+`)"`, "")
		rest = strings.ReplaceAll(rest, requestID+`"`, "")
		if strings.Contains(rest, "$") {
			t.Errorf("%s has another variable, or one that another character runs into: %s", r.Type, r.Template())
		}
		if found := internals.FindString(r.Template()); found != "" {
			t.Errorf("%s tells a client of %q", r.Type, found)
		}
		for name, value := range r.Header() {
			if strings.ContainsAny(value, "'\"$") {
				t.Errorf("%s: %s cannot be a static value: %s", r.Type, name, value)
			}
		}
	}
}

func TestStatusAndCodeAgree(t *testing.T) {
	t.Parallel()
	for _, r := range All() {
		if strings.HasPrefix(r.Type, "DEFAULT_") {
			if r.Status != 0 {
				t.Errorf("%s sets the status %d, and with it that of all others", r.Type, r.Status)
			}
			continue
		}
		if http.StatusText(r.Status) == "" || r.Status < 400 {
			t.Errorf("%s has the status %d", r.Type, r.Status)
		}
		again := r.Status == http.StatusTooManyRequests || r.Status >= 500
		if again != (r.Code == jsonrpc.CodeInternalError) {
			t.Errorf("%s has the status %d and the code %d", r.Type, r.Status, r.Code)
		}
		unavailable := r.Status == http.StatusTooManyRequests || r.Status == http.StatusServiceUnavailable
		if unavailable && r.RetryAfter == 0 {
			t.Errorf("%s says %d without Retry-After", r.Type, r.Status)
		}
		if !again && r.RetryAfter != 0 {
			t.Errorf("%s says when to send a request again that is wrong", r.Type)
		}
	}
}

// Whoever gets a failure of the server must know whether the call has run.
func TestFailuresSayWhetherSomethingHasRun(t *testing.T) {
	t.Parallel()
	for _, r := range All() {
		if r.Code != jsonrpc.CodeInternalError {
			continue
		}
		not, may := strings.HasPrefix(r.Message, notRun), strings.HasSuffix(r.Message, mayRun)
		if not == may {
			t.Errorf("%s: %s", r.Type, r.Message)
		}
		if may && r.RetryAfter != 0 {
			t.Errorf("%s has libraries send again what may have run", r.Type)
		}
	}
}

func TestUnknownTypesAreFailuresOfTheServer(t *testing.T) {
	t.Parallel()
	if got := Of("SOMETHING_NEW"); got.Type != Default5XX {
		t.Errorf("got %v", got)
	}
	if got := Of(Throttled); got.Type != Throttled {
		t.Errorf("got %v", got)
	}
}

var update = flag.Bool("update", false, "write the golden file")

// What clients read is written down, so that a change of it is seen.
func TestGolden(t *testing.T) {
	t.Parallel()
	const golden = "testdata/bodies.txt"
	var out strings.Builder
	for _, r := range All() {
		status := "of the failure"
		if r.Status != 0 {
			status = strconv.Itoa(r.Status) + " " + http.StatusText(r.Status)
		}
		out.WriteString(r.Type + ": " + status + "\n" + r.Body(anID) + "\n")
		if after, ok := r.Header()["Retry-After"]; ok {
			out.WriteString("Retry-After: " + after + "\n")
		}
		out.WriteString("\n")
	}
	if *update {
		if err := os.WriteFile(golden, []byte(out.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), out.String()); diff != "" {
		t.Errorf("bodies (-want +got); go test ./shared/gatewayresponse -update writes them:\n%s", diff)
	}
}
