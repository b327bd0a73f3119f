package integration

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"patchbay/scripts/callpath"
	"patchbay/scripts/localstack"
)

// internals is what no client may ever read.
var internals = regexp.MustCompile(`arn:aws|sekrit|goroutine|exit status|signal:|\.go:|stackTrace|errorType|/var/task`)

// Whatever a tool does to itself, the client gets one clear answer without internals, the log has the cause, under the
// request id where the answer names one, and the next call works.
func TestMisbehavingTools(t *testing.T) {
	t.Parallel()
	requestID := regexp.MustCompile(`request id ([0-9a-f-]+)`)
	for mode, test := range map[string]struct{ says, logged string }{
		"exit":       {"internal error of the tool", "Runtime.ExitError"},
		"panic":      {"internal error of the tool", "sekrit"},
		"error":      {"internal error of the tool", "sekrit"},
		"timeout":    {"time limit of 3 seconds", "timed out"},
		"memory":     {"internal error of the tool", "Runtime."},
		"not_json":   {"breaks its own contract", "not JSON"},
		"not_result": {"breaks its own contract", "JSON object"},
		"too_large":  {"larger than can be sent", "ResponseSizeTooLarge"},
	} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			response, trace := postTraced(t, fixtures.URL, "misbehave", fmt.Sprintf(`{"mode":%q}`, mode))
			got := decodeResult(t, readAnswer(t, response))
			if !got.IsError || !strings.Contains(got.text(), test.says) || internals.MatchString(got.text()) {
				t.Fatalf("got %+v", got)
			}
			line := fixtures.logged(t, trace)
			if !strings.Contains(line, test.logged) || !strings.Contains(line, `"tool":"misbehave"`) {
				t.Errorf("logged %s", line)
			}
			if match := requestID.FindStringSubmatch(got.text()); match != nil && !strings.Contains(line, match[1]) {
				t.Errorf("the answer names request id %s, the log has %s", match[1], line)
			}
			if again := call(t, fixtures.URL, "misbehave", `{}`); again.IsError {
				t.Errorf("the next call: %+v", again)
			}
		})
	}
}

// postTraced is post for a call with a trace of its own, by which the log has the call whatever its answer says.
func postTraced(t *testing.T, url, tool, arguments string) (response *http.Response, traceparent string) {
	t.Helper()
	id := uuid.New()
	traceparent = fmt.Sprintf("00-%x-%x-01", id[:], id[:8])
	body := strings.Replace(message("tools/call", callParams(tool, arguments)),
		`"_meta":{`, fmt.Sprintf(`"_meta":{"traceparent":%q,`, traceparent), 1)
	return send(t, url, "tools/call", tool, body), traceparent
}

// logged returns the one line that the dispatcher wrote of the call with that trace, once it is there.
func (s *server) logged(t *testing.T, traceparent string) string {
	t.Helper()
	find := func() []string { return s.log.find("dispatcher", `"msg":"tools/call"`, traceparent) }
	eventually(t, "the log line of the call", func() bool { return len(find()) > 0 })
	lines := find()
	if len(lines) != 1 {
		t.Fatalf("the call has %d lines: %q", len(lines), lines)
	}
	return lines[0]
}

func TestThrottledFunctionSaysThatNothingRan(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	started, until := filepath.Join(dir, "started"), filepath.Join(dir, "until")
	arguments := func(started string) string { return fmt.Sprintf(`{"started":%q,"until":%q}`, started, until) }
	first := make(chan callResult)
	go func() { first <- call(t, fixtures.URL, "hold", arguments(started)) }()
	eventually(t, "the first call to begin", func() bool { return exists(started) })
	never := filepath.Join(dir, "never")
	response := post(t, fixtures.URL, "tools/call", "hold", callParams("hold", arguments(never)))
	id := response.Header.Get("X-Amzn-Requestid")
	got := decodeResult(t, readAnswer(t, response))
	if !got.IsError || !strings.Contains(got.text(), "not started") {
		t.Errorf("got %+v", got)
	}
	attempts := "gateway, dispatcher throttled" + strings.Repeat(", hold TooManyRequestsException", 4)
	path := fixtures.pathOf(t, id, func(call callpath.Call) bool { return partsOf(call) == attempts })
	if partsOf(path) != attempts {
		t.Errorf("the path of the refused call is %s", partsOf(path))
	}
	if exists(never) {
		t.Error("the refused call has run")
	}
	if err := os.WriteFile(until, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if got := <-first; got.IsError {
		t.Errorf("the first call: %+v", got)
	}
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// Where the gateway's patience ends before the tool's time limit, the answer comes from the dispatcher, in time.
func TestGatewayDeadlineNearerThanTheTool(t *testing.T) {
	t.Parallel()
	s := small(t, func(o *localstack.Options) { o.AnswerWithin = 10 * time.Second })
	got := call(t, s.URL, "linger", `{}`)
	if !got.IsError || !strings.Contains(got.text(), "did not answer in time") {
		t.Errorf("got %+v", got)
	}
}

// A body that Lambda cannot take never reaches the dispatcher; the gateway says so, and nothing hangs.
func TestLargeRequests(t *testing.T) {
	t.Parallel()
	for size, want := range map[int]int{
		5 << 20:  http.StatusOK,
		7 << 20:  http.StatusRequestEntityTooLarge,
		11 << 20: http.StatusRequestEntityTooLarge,
	} {
		params := callParams("echo_envelope", fmt.Sprintf(`{"note":%q}`, strings.Repeat("x", size)))
		response := post(t, fixtures.URL, "tools/call", "echo_envelope", params)
		response.Body.Close()
		if response.StatusCode != want {
			t.Errorf("%d bytes: status %d, want %d", size, response.StatusCode, want)
		}
	}
}

// What the tool is told of the call.
func TestEnvelopeReachesTheTool(t *testing.T) {
	t.Parallel()
	got := call(t, fixtures.URL, "echo_envelope", `{"note":"1e400 \u0000 9007199254740993"}`)
	var envelope struct {
		Version   int
		Tool      string
		Arguments struct{ Note string }
		Principal map[string]any
		Meta      struct{ RequestID, ProtocolVersion string }
		Deadline  int64
	}
	if err := json.Unmarshal(got.StructuredContent, &envelope); err != nil {
		t.Fatalf("%s: %v", got.StructuredContent, err)
	}
	if envelope.Version != 1 || envelope.Tool != "echo_envelope" || envelope.Meta.ProtocolVersion != "2026-07-28" ||
		envelope.Meta.RequestID == "" || envelope.Deadline == 0 || len(envelope.Principal) != 0 ||
		envelope.Arguments.Note != "1e400 \x00 9007199254740993" {
		t.Errorf("got %s", got.StructuredContent)
	}
}
