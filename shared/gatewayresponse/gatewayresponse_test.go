package gatewayresponse

import (
	"encoding/json"
	"flag"
	"maps"
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
	for _, r := range For(Options{}).All() {
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
	for _, r := range For(Options{}).All() {
		body := []byte(r.Body(anID, nil))
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

// tables are of each kind of API that there is.
func tables() map[string]Table {
	return map[string]Table{
		"without an authorizer": For(Options{}),
		"fixed challenges":      For(Options{Challenge: aChallenge, CrossOrigin: true}),
		"computed challenges":   For(Options{Challenge: aChallenge, Computed: true, CrossOrigin: true}),
	}
}

const aChallenge = `Bearer resource_metadata="https://tools.example/.well-known/oauth-protected-resource/mcp", ` +
	`scope="mail:read mail:send"`

// Header fields are static values, which end at the next quote, or one name from the authorizer's context; nothing can
// be put together. Source: API Gateway developer guide, "Parameter mapping source reference for REST APIs".
func TestHeadersAreMappingExpressions(t *testing.T) {
	t.Parallel()
	legal := regexp.MustCompile(`^('[ -&(-~]*'|context\.[a-zA-Z0-9._$-]+)$`)
	for name, table := range tables() {
		for _, r := range table.All() {
			for field, expression := range r.Header() {
				if !legal.MatchString(expression) {
					t.Errorf("%s, %s: %s cannot be %s", name, r.Type, field, expression)
				}
			}
		}
	}
}

// API Gateway replaces $ variables without encoding what it puts in.
func TestTemplatesHoldNothingElseToReplace(t *testing.T) {
	t.Parallel()
	internals := regexp.MustCompile(`(?i)lambda|dynamodb|api gateway|dispatcher|amazon`)
	for name, table := range tables() {
		for _, r := range table.All() {
			rest := strings.ReplaceAll(r.Template(), requestID+`)"`, "")
			rest = strings.ReplaceAll(rest, `"`+requestID+`"`, "")
			rest = strings.ReplaceAll(rest, `"`+scope+`"`, "")
			if strings.Contains(rest, "$") {
				t.Errorf("%s, %s has another variable, or one that another character runs into: %s", name, r.Type, r.Template())
			}
			if found := internals.FindString(r.Template()); found != "" {
				t.Errorf("%s, %s tells a client of %q", name, r.Type, found)
			}
		}
	}
}

// A client that gets a 401 without a challenge does not learn where to sign in.
func TestEvery401HasTheChallenge(t *testing.T) {
	t.Parallel()
	for name, table := range tables() {
		want := "'" + aChallenge + "'"
		if name == "without an authorizer" {
			want = "'Bearer'"
		}
		found := 0
		for _, r := range table.All() {
			challenge, has := r.Header()["WWW-Authenticate"]
			switch {
			case r.Status == http.StatusUnauthorized:
				found++
				if challenge != want {
					t.Errorf("%s, %s: WWW-Authenticate %s, want %s", name, r.Type, challenge, want)
				}
			case has && r.Type != AccessDenied:
				t.Errorf("%s, %s of status %d: WWW-Authenticate %s", name, r.Type, r.Status, challenge)
			}
		}
		if found != 2 {
			t.Errorf("%s: %d types of status 401", name, found)
		}
	}
}

func TestChallengeOfADenial(t *testing.T) {
	t.Parallel()
	const denied = `Bearer error="insufficient_scope", ` +
		`resource_metadata="https://tools.example/.well-known/oauth-protected-resource/mcp"`
	for name, test := range map[string]struct {
		options Options
		want    string
	}{
		"computed": {Options{Challenge: aChallenge, Computed: true}, "context.authorizer.challenge"},
		"fixed":    {Options{Challenge: aChallenge, Denied: denied}, "'" + denied + "'"},
		"both":     {Options{Denied: denied, Computed: true}, "context.authorizer.challenge"},
		// Only a policy on the API itself can deny then, and no token is asked for.
		"without an authorizer": {Options{}, ""},
	} {
		if got := For(test.options).Of(AccessDenied).Header()["WWW-Authenticate"]; got != test.want {
			t.Errorf("%s: %s, want %s", name, got, test.want)
		}
	}
}

// A denial has no context when it comes from somewhere else than the authorizer. What API Gateway puts in then is not
// documented: nothing, or the variable's name as it stands.
func TestScopesInTheBodyOfADenial(t *testing.T) {
	t.Parallel()
	denied := For(Options{Challenge: aChallenge, Computed: true}).Of(AccessDenied)
	named := func(scopes string) map[string]string { return map[string]string{ContextScope: scopes} }
	for _, test := range []struct{ body, want string }{
		{denied.Body(anID, named("mail:read api://x/mail:send'$&<")), "mail:read api://x/mail:send'$&<"},
		{denied.Body(anID, named("$context.requestId")), "$context.requestId"},
		{denied.Body(anID, nil), ""},
		{denied.Body(anID, map[string]string{}), ""},
		{denied.Template(), "$context.authorizer.scope"},
	} {
		var message struct {
			Error struct{ Data map[string]string }
		}
		if err := json.Unmarshal([]byte(test.body), &message); err != nil {
			t.Fatalf("%v in %s", err, test.body)
		}
		if got, has := message.Error.Data["scope"]; got != test.want || !has {
			t.Errorf("scope %q in %s, want %q", got, test.body, test.want)
		}
	}
	for _, r := range For(Options{Challenge: aChallenge}).All() {
		if strings.Contains(r.Template(), "scope") {
			t.Errorf("%s names scopes that nobody has computed: %s", r.Type, r.Template())
		}
	}
}

// A page of another origin reads nothing of a response that does not let it, and no field that is not exposed.
func TestWebPagesReadEveryResponse(t *testing.T) {
	t.Parallel()
	for _, r := range For(Options{CrossOrigin: true}).All() {
		header := r.Header()
		if header["Access-Control-Allow-Origin"] != "'*'" ||
			!strings.Contains(header["Access-Control-Expose-Headers"], "WWW-Authenticate") {
			t.Errorf("%s: %v", r.Type, header)
		}
		if header["Access-Control-Allow-Credentials"] != "" {
			t.Errorf("%s takes cookies", r.Type)
		}
	}
	for _, r := range For(Options{}).All() {
		for name := range r.Header() {
			if strings.HasPrefix(name, "Access-Control-") {
				t.Errorf("%s has %s", r.Type, name)
			}
		}
	}
}

func TestCheckRefusesWhatCannotBeSent(t *testing.T) {
	t.Parallel()
	for _, challenge := range []string{`Bearer scope="it's"`, "Bearer\r\nX: y", "Bearer\n", `Bearer scope="ü"`} {
		if (Options{Challenge: challenge}).Check() == nil || (Options{Denied: challenge}).Check() == nil {
			t.Errorf("%q is taken", challenge)
		}
	}
	for _, challenge := range []string{"", aChallenge, `Bearer resource_metadata="${Token[TOKEN.7]}/x"`} {
		if err := (Options{Challenge: challenge}).Check(); err != nil {
			t.Error(err)
		}
	}
}

// Nobody who changes what they got of a table changes the table.
func TestTablesAreNotShared(t *testing.T) {
	t.Parallel()
	table := For(Options{Challenge: aChallenge})
	table.Of(Unauthorized).Header()["WWW-Authenticate"] = "x"
	table.All()[0].Type = "x"
	if got := table.Of(Unauthorized).Header()["WWW-Authenticate"]; got != "'"+aChallenge+"'" {
		t.Errorf("got %s", got)
	}
	if table.All()[0].Type == "x" {
		t.Error("All returns the table's own list")
	}
}

func TestStatusAndCodeAgree(t *testing.T) {
	t.Parallel()
	for _, r := range For(Options{}).All() {
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
	for _, r := range For(Options{}).All() {
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
	if got := For(Options{}).Of("SOMETHING_NEW"); got.Type != Default5XX {
		t.Errorf("got %v", got)
	}
	if got := For(Options{}).Of(Throttled); got.Type != Throttled {
		t.Errorf("got %v", got)
	}
}

var update = flag.Bool("update", false, "write the golden file")

// What clients read is written down, so that a change of it is seen.
func TestGolden(t *testing.T) {
	t.Parallel()
	const golden = "testdata/bodies.txt"
	var out strings.Builder
	for _, r := range For(Options{}).All() {
		out.WriteString(written(r, nil))
	}
	out.WriteString("With a computed challenge.\n\n")
	computed := For(Options{Challenge: aChallenge, Computed: true, CrossOrigin: true})
	out.WriteString(written(computed.Of(Unauthorized), nil))
	out.WriteString(written(computed.Of(AccessDenied), map[string]string{ContextScope: "mail:read mail:send"}))
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

// written is a response as the golden file has it: without the two fields that all have.
func written(r Response, authorizer map[string]string) string {
	status := "of the failure"
	if r.Status != 0 {
		status = strconv.Itoa(r.Status) + " " + http.StatusText(r.Status)
	}
	lines := []string{r.Type + ": " + status, r.Body(anID, authorizer)}
	header := r.Header()
	for _, name := range slices.Sorted(maps.Keys(header)) {
		if name != "Content-Type" && name != "Cache-Control" {
			lines = append(lines, name+": "+header[name])
		}
	}
	return strings.Join(lines, "\n") + "\n\n"
}
