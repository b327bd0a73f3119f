package endpoint

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"patchbay/dispatcher/metrics"
	"patchbay/dispatcher/toolcall"
	"patchbay/shared/jsonrpc"
	"patchbay/shared/mcp"
)

// counted returns what a request counts as: the names in its line of metrics, with its reason; empty for no line.
func counted(t *testing.T, a asked) string {
	t.Helper()
	var log, out bytes.Buffer
	handler := a.handler(&log)
	handler.config.Metrics = metrics.New(&out, metrics.Options{Namespace: "Patchbay", Deployment: "d"})
	handler.config.Metrics.Request(metrics.Request{}) // the cold start's
	out.Reset()
	handler.ServeHTTP(httptest.NewRecorder(), a.request(t))
	if out.Len() == 0 {
		return ""
	}
	var line struct {
		Refusals, Errors int
		Reason           string
		Tool             *string
	}
	if err := json.Unmarshal(out.Bytes(), &line); err != nil {
		t.Fatal(err)
	}
	if line.Tool != nil {
		t.Errorf("a request that is no call counts for the tool %q", *line.Tool)
	}
	return fmt.Sprintf("%d refusals %s, %d errors", line.Refusals, line.Reason, line.Errors)
}

// A request that is no call, or never became one, counts where it is refused or fails; the Caller counts the others.
func TestRequestsAreCounted(t *testing.T) {
	t.Parallel()
	const list = `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{` + meta + `}}`
	const discover = `{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{` + meta + `}}`
	for want, requests := range map[string][]asked{
		"": {
			{body: modernCall("1", "t")},
			{body: modernCall("1", "t"), caller: func(context.Context, *toolcall.Request) (json.RawMessage, error) {
				return nil, mcp.UnknownTool("t")
			}},
			// The Caller has counted it before the panic came here.
			{body: modernCall("1", "t"), caller: func(context.Context, *toolcall.Request) (json.RawMessage, error) {
				panic("broken")
			}},
			{body: discover, header: map[string]string{mcp.HeaderMethod: mcp.MethodDiscover}},
		},
		"1 refusals origin_not_allowed, 0 errors": {
			{body: modernCall("1", "t"), header: map[string]string{"Origin": "https://evil.example"}},
		},
		"1 refusals method_not_allowed, 0 errors": {{verb: http.MethodGet}, {verb: http.MethodDelete}},
		"1 refusals unsupported_media_type, 0 errors": {
			{body: modernCall("1", "t"), header: map[string]string{"Content-Type": "text/plain"}},
		},
		"1 refusals not_acceptable, 0 errors": {
			{body: modernCall("1", "t"), header: map[string]string{"Accept": "text/html"}},
		},
		"1 refusals body_too_large, 0 errors": {{content: strings.NewReader(strings.Repeat(" ", maxBody+1))}},
		"1 refusals body_cut_off, 0 errors":   {{content: iotest.ErrReader(errors.New("gone"))}},
		"1 refusals parse_error, 0 errors":    {{body: "{"}},
		"1 refusals invalid_request, 0 errors": {
			{body: `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t","name":"t"}}`},
		},
		"1 refusals header_mismatch, 0 errors": {{body: modernCall("1", "other")}},
		"1 refusals invalid_params, 0 errors": {
			{body: `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t"}}`},
		},
		"1 refusals unsupported_version, 0 errors": {{
			body:   strings.ReplaceAll(modernCall("1", "t"), mcp.Version20260728, "2099-01-01"),
			header: map[string]string{mcp.HeaderProtocolVersion: "2099-01-01"},
		}},
		"1 refusals method_not_found, 0 errors": {{
			body: `{"jsonrpc":"2.0","id":1,"method":"invented"}`,
			header: map[string]string{
				mcp.HeaderProtocolVersion: mcp.Version20251125, mcp.HeaderMethod: "", mcp.HeaderName: "",
			},
		}},
		"0 refusals , 1 errors": {
			{body: modernCall("1", "t"), nobody: errors.New("no subject")},
			{body: list, header: map[string]string{mcp.HeaderMethod: mcp.MethodToolsList}},
		},
	} {
		for _, request := range requests {
			if got := counted(t, request); got != want {
				t.Errorf("%s %s counts as %q, want %q", request.verb, request.body[:min(60, len(request.body))], got, want)
			}
		}
	}
}

// Every code that a message can be refused with has a word for its reason. An internal error is no refusal.
func TestEveryCodeHasAReason(t *testing.T) {
	t.Parallel()
	codes := map[string]int{}
	for _, dir := range []string{"jsonrpc", "mcp"} {
		files, err := filepath.Glob(filepath.Join("..", "..", "shared", dir, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			collectCodes(t, file, codes)
		}
	}
	if len(codes) < 8 {
		t.Fatalf("found the codes %v only; this test looks in the wrong place", codes)
	}
	words := map[string]bool{}
	for name, code := range codes {
		word, ok := reasons[code]
		if !ok && code != jsonrpc.CodeInternalError {
			t.Errorf("%s (%d) has no reason", name, code)
		}
		if ok && words[word] {
			t.Errorf("%q is the reason of two codes", word)
		}
		words[word] = true
	}
	if diff := cmp.Diff(len(codes)-1, len(reasons)); diff != "" {
		t.Errorf("reasons (-codes +reasons):\n%s", diff)
	}
}

// collectCodes finds the constants whose names begin with Code.
func collectCodes(t *testing.T, path string, codes map[string]int) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(file, func(node ast.Node) bool {
		spec, ok := node.(*ast.ValueSpec)
		if !ok || len(spec.Values) != 1 || !strings.HasPrefix(spec.Names[0].Name, "Code") {
			return true
		}
		minus, ok := spec.Values[0].(*ast.UnaryExpr)
		if !ok {
			return true
		}
		number, err := strconv.Atoi("-" + minus.X.(*ast.BasicLit).Value)
		if err != nil {
			t.Fatal(err)
		}
		codes[spec.Names[0].Name] = number
		return true
	})
}

// What the front door knows of the trace is in the line, and goes with the call.
func TestTraceIsHandedOn(t *testing.T) {
	t.Parallel()
	const trace = "1-67891233-abcdef012345678912345678"
	var log bytes.Buffer
	var got string
	handler := asked{caller: func(_ context.Context, request *toolcall.Request) (json.RawMessage, error) {
		got = request.TraceID
		return json.RawMessage(`{}`), nil
	}}.handler(&log)
	handler.config.Facts = func(context.Context) (Facts, error) { return Facts{RequestID: "req-1", TraceID: trace}, nil }
	handler.ServeHTTP(httptest.NewRecorder(), asked{body: modernCall("1", "t")}.request(t))
	if got != trace {
		t.Errorf("the call has the trace %q", got)
	}
	handler.ServeHTTP(httptest.NewRecorder(), asked{body: "{"}.request(t))
	if lines := logLines(t, &log); len(lines) != 1 || lines[0]["traceId"] != trace {
		t.Errorf("logged %v", lines)
	}
}
