package integration

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/uuid"
)

// counted puts metrics into the log of a stack's dispatcher, as a deployment on AWS has them.
func counted(environment map[string]string) {
	environment["PATCHBAY_METRICS"], environment["PATCHBAY_DEPLOYMENT"] = "Patchbay", "desk-test"
}

// callInTrace makes a call in an X-Ray trace of its own, as a caller does that traces, and returns the trace's id.
func callInTrace(t *testing.T, url, tool, arguments string) (root string) {
	t.Helper()
	id := uuid.New()
	root = fmt.Sprintf("1-%x-%x", id[:4], id[4:])
	body := message("tools/call", callParams(tool, arguments))
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]string{
		"Content-Type": "application/json", "Accept": "application/json, text/event-stream",
		"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": tool,
		"X-Amzn-Trace-Id": "Root=" + root + ";Parent=53995c3f42cd8ad8;Sampled=1",
	} {
		request.Header.Set(name, value)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if answer, err := io.ReadAll(response.Body); err != nil || response.StatusCode != http.StatusOK {
		t.Fatalf("status %d, %s, %v", response.StatusCode, answer, err)
	}
	return root
}

// line returns the one line of a function's log that holds all the parts, once it is there.
func (s *server) line(t *testing.T, function string, parts ...string) map[string]any {
	t.Helper()
	parts = append(parts, function+" ")
	eventually(t, "a line of "+function, func() bool { return len(s.log.find(parts...)) > 0 })
	found := s.log.find(parts...)
	if len(found) != 1 {
		t.Fatalf("%d lines: %q", len(found), found)
	}
	var members map[string]any
	if err := json.Unmarshal([]byte(strings.TrimPrefix(found[0], function+" ")), &members); err != nil {
		t.Fatalf("%s: %v", found[0], err)
	}
	return members
}

// A trace goes from API Gateway through the dispatcher into the tool's Lambda, and one call's lines have the same
// request id on both sides, whatever the tool is written in and however it answers.
func TestTraceReachesTheTool(t *testing.T) {
	t.Parallel()
	gate := filepath.Join(t.TempDir(), "gate")
	if err := os.WriteFile(gate+".1", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		stack           **server
		tool, arguments string
	}{
		{&fixtures, "apply_defaults", `{}`},
		{&fixtures, "slow_progress", fmt.Sprintf(`{"gate":%q,"steps":1}`, gate)},
		{&examples, "convert_units", `{"value":1,"source":"km","target":"m"}`},
	} {
		t.Run(test.tool, func(t *testing.T) {
			t.Parallel()
			s := *test.stack
			trace := callInTrace(t, s.URL, test.tool, test.arguments)
			own := s.line(t, test.tool, trace, `"tool call"`)
			routed := s.line(t, "dispatcher", trace, `"msg":"tools/call"`)
			if own["traceId"] != trace || routed["traceId"] != trace || own["requestId"] != routed["requestId"] ||
				own["requestId"] == "" {
				t.Errorf("the tool logged %v, the dispatcher %v", own, routed)
			}
			if own["lambdaRequestId"] == nil || own["lambdaRequestId"] == own["requestId"] {
				t.Errorf("the tool's own invocation is %v", own["lambdaRequestId"])
			}
		})
	}
}

// An existing function knows neither the request id nor the client's trace, but X-Ray's reaches it like any other.
func TestTraceReachesAnExistingFunction(t *testing.T) {
	t.Parallel()
	trace := callInTrace(t, examples.URL, "quote_shipping", `{"weight_kg":1.5,"destination":"NL"}`)
	eventually(t, "the function's line", func() bool {
		return len(examples.log.find("shipping_quote ", "Root="+trace)) == 1
	})
}

// A call is counted in one line, which is the dispatcher's and CloudWatch's to read.
func TestACallIsCounted(t *testing.T) {
	t.Parallel()
	callInTrace(t, fixtures.URL, "draft_07", `{"never":"valid"}`)
	line := fixtures.line(t, "dispatcher", `"_aws"`, `"tool":"draft_07"`, `"reason":"invalid_arguments"`)
	if line["deployment"] != "desk-test" || line["Calls"] != 1.0 || line["Refusals"] != 1.0 || line["log"] != "metrics" {
		t.Errorf("counted as %v", line)
	}
}
