package evaluate

import (
	"bytes"
	"context"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"patchbay/scripts/mcpcall"
	ours "patchbay/shared/mcp"
)

// serve runs a server of the SDK's: count says how often it was called, repeat what it was given, fail an error, ask
// what a person says, wait reports progress, stuck never answers; guarded is refused.
func serve(t *testing.T) *mcpcall.Client {
	t.Helper()
	server := mcp.NewServer(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	add := func(name string, handler mcp.ToolHandler) {
		server.AddTool(&mcp.Tool{Name: name, InputSchema: json.RawMessage(`{"type": "object"}`)}, handler)
	}
	var count atomic.Int64
	add("count", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return structured(map[string]any{"count": count.Add(1)}), nil
	})
	add("repeat", func(_ context.Context, request *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		result := structured(request.Params.Arguments)
		result.Meta = mcp.Meta{"key": request.Params.Meta[ours.MetaIdempotencyKey]}
		return result, nil
	})
	add("fail", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{
			IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: "there is none"}},
			Meta: mcp.Meta{ours.MetaFailure: map[string]string{"code": "none"}},
		}, nil
	})
	add("ask", ask)
	add("wait", func(ctx context.Context, request *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		if token := request.Params.GetProgressToken(); token != nil {
			if err := request.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: token}); err != nil {
				return nil, err
			}
		}
		return structured(map[string]any{}), nil
	})
	add("stuck", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		<-t.Context().Done() // the SDK's server does not notice that its client has left
		return nil, t.Context().Err()
	})
	add("guarded", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return structured(map[string]any{}), nil
	})
	handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server },
		&mcp.StreamableHTTPOptions{Stateless: true})
	gateway := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Mcp-Name") == "guarded" {
			w.Header().Set("Www-Authenticate", `Bearer error="insufficient_scope", scope="orders:write"`)
			w.WriteHeader(http.StatusForbidden)
			return
		}
		handler.ServeHTTP(w, r)
	}))
	t.Cleanup(gateway.Close)
	client, err := mcpcall.Connect(t.Context(), mcpcall.Options{URL: gateway.URL})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	return client
}

func structured(value any) *mcp.CallToolResult {
	return &mcp.CallToolResult{
		StructuredContent: value, Content: []mcp.Content{&mcp.TextContent{Text: "see bsk_42 for it"}},
	}
}

// ask lets a person confirm, and then asks for a reason.
func ask(_ context.Context, request *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	answer, answered := request.Params.InputResponses["q"].(*mcp.ElicitResult)
	form, message := `{"confirm": {"type": "boolean"}}`, "Let it run?"
	switch {
	case answered && answer.Action != mcpcall.Accept:
		return structured(map[string]any{"said": answer.Action}), nil
	case answered && request.Params.RequestState == "reason":
		return structured(answer.Content), nil
	case answered:
		form, message = `{"reason": {"type": "string"}}`, "Why?"
	}
	state := ""
	if answered {
		state = "reason"
	}
	return &mcp.CallToolResult{RequestState: state, InputRequests: mcp.InputRequestMap{"q": &mcp.ElicitParams{
		Mode: "form", Message: message, RequestedSchema: json.RawMessage(`{"type": "object", "properties": ` + form + `}`),
	}}}, nil
}

func tools() map[string]bool {
	return map[string]bool{
		"count": false, "repeat": true, "fail": true, "ask": false, "wait": true, "stuck": true, "guarded": true,
	}
}

func TestCases(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		// text is the inside of a case, says what its fault or the reason of its skip says; empty for none.
		text, outcome, says string
	}{
		"nothing is expected":  {"{tool: count}", Passed, ""},
		"an error unexpected":  {"{tool: fail}", Failed, `call: it ended in an error: "there is none"`},
		"an error expected":    {"{tool: fail, expect: {error: true, text: none}}", Passed, ""},
		"a failure mode":       {"{tool: fail, expect: {error: none}}", Passed, ""},
		"another failure mode": {"{tool: fail, expect: {error: some}}", Failed, `error: "none", want "some"`},
		"no error":             {"{tool: count, expect: {error: true}}", Failed, "it ended in no error"},
		"arguments": {
			"{arguments: {a: [1, null, 2026-01-02]}, expect: {result: {a: [1, null, '2026-01-02']}}}",
			Passed, "",
		},
		"another result":      {"{arguments: {a: 1}, expect: {result: {a: 2}}}", Failed, "result/a: 1, want 2"},
		"a key":               {"{key: k-$(run), expect: {meta: {key: k-$(run)}}}", Passed, ""},
		"content":             {"{expect: {content: [{type: text, text: {$pattern: bsk_}}]}}", Passed, ""},
		"other content":       {"{expect: {content: []}}", Failed, "content: 1 elements, want 0"},
		"too large":           {"{arguments: {a: 1}, expect: {maxResultBytes: 10}}", Failed, "bytes, want at most 10"},
		"small enough":        {"{arguments: {a: 1}, expect: {maxResultBytes: 1000}}", Passed, ""},
		"progress":            {"{tool: wait, expect: {minProgress: 1}}", Passed, ""},
		"too little progress": {"{tool: wait, expect: {minProgress: 2}}", Failed, "progress: 1 reports, want at least 2"},
		"repeated":            {"{tool: count, repeat: 3}", Passed, ""},
		"repeated and wrong":  {"{repeat: 3, expect: {result: {a: 1}}}", Failed, "(call 1 of 3)"},
		"nobody is asked":     {"{confirm: accept}", Failed, "confirm: nobody was asked to confirm the call"},
		"no answer":           {"{tool: ask, confirm: accept}", Failed, `the step has no answer to the question "Why?"`},
		"answers": {
			"{tool: ask, confirm: accept, answers: [{action: accept, content: {reason: $(run)}}], expect: " +
				"{result: {reason: $(run)}, asked: ['Let it run?', 'Why?']}}",
			Passed, "",
		},
		"asked something else": {
			"{tool: ask, confirm: decline, expect: {asked: 'Why?'}}",
			Failed, `asked: does not have "Why?"`,
		},
		"declined": {"{tool: ask, confirm: decline, expect: {result: {said: decline}}}", Passed, ""},
		"an answer too many": {
			"{tool: ask, confirm: decline, answers: [{action: accept}]}",
			Failed, "answers: nobody asked for 1 of them",
		},
		"an unknown tool":      {"{tool: reapet}", Failed, "the server has no such tool; did you mean repeat?"},
		"refused as expected":  {"{tool: nothing, expect: {refused: {text: nothing}}}", Passed, ""},
		"refused otherwise":    {"{tool: nothing, expect: {refused: {code: 7, status: 999}}}", Failed, "refused/status"},
		"not refused":          {"{expect: {refused: true}}", Failed, "call: it was not refused"},
		"rights are lacking":   {"{tool: guarded}", Skipped, "Scopes that are needed: orders:write."},
		"lacking as expected":  {"{tool: guarded, expect: {refused: {status: 403, text: 'orders:write'}}}", Passed, ""},
		"rights for a refusal": {"{tool: guarded, expect: {refused: {code: -32021}}}", Skipped, "orders:write"},
		"lacking otherwise": {
			"{tool: guarded, expect: {refused: {status: 403, text: 'orders:read'}}}",
			Failed, `refused/text: does not have "orders:read"`,
		},
		"unseen":             {"{tool: hidden}", Skipped, "hidden asks for the permissions secrets:read"},
		"unseen and refused": {"{tool: hidden, expect: {refused: true}}", Skipped, "hidden asks for"},
		"saved": {
			"{steps: [{arguments: {a: [{b: 5}]}, save: {n: /a/0/b, t: {pattern: 'bsk_(\\d+)'}}}, {arguments: " +
				"{n: $(n), t: t$(t)}, expect: {result: {n: 5, t: t42}}}]}",
			Passed, "",
		},
		"nothing to save":       {"{steps: [{save: {n: /a}}, {tool: count}]}", Failed, "save/n: the result has no /a"},
		"no text to save":       {"{save: {n: {pattern: sku}}}", Failed, "save/n: the text does not match sku"},
		"an end at the first":   {"{steps: [{tool: fail}, {tool: stuck}]}", Failed, "there is none"},
		"no answer in the time": {"{tool: stuck}", Failed, "call: no answer within 1s"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text := "tool: repeat\ncases:\n- " + strings.Replace(test.text, "{", "{name: it, ", 1) + "\n"
			file, err := Parse("x.yaml", []byte(text))
			if err != nil {
				t.Fatal(err)
			}
			report, err := Run(t.Context(), serve(t), []File{file}, Options{
				ReadOnly: tools(), Permissions: map[string][]string{"hidden": {"secrets:read"}}, Writes: true,
				Timeout: timeout(test.text),
			})
			if err != nil {
				t.Fatal(err)
			}
			got := report.Tools[0].Cases[0]
			says := got.Reason
			for _, fault := range got.Faults {
				says += fault.Text + "\n"
			}
			if got.Outcome != test.outcome || !strings.Contains(says, test.says) || test.says == "" && says != "" {
				t.Errorf("got %s: %s; want %s: %s", got.Outcome, says, test.outcome, test.says)
			}
		})
	}
}

// timeout is short only where nothing else can end the call.
func timeout(text string) time.Duration {
	if strings.HasPrefix(text, "{tool: stuck") {
		return time.Second
	}
	return 0
}

const several = `tool: repeat
cases:
- name: good
  arguments: { a: 1 }
  repeat: 2
- name: "bad\u001b[2K"
  arguments: { a: "\u001b[2K" }
  expect: { result: { a: 2 } }
- name: unseen
  tool: hidden
- name: writing
  tool: count
`

func runSeveral(t *testing.T, options Options) (Report, string) {
	t.Helper()
	file, err := Parse("functions/repeat/eval.yaml", []byte(several))
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	options.ReadOnly, options.Permissions = tools(), map[string][]string{"hidden": {"secrets:read"}}
	options.Tell = func(file File, c CaseReport) {
		if err := WriteCase(&out, file, c); err != nil {
			t.Error(err)
		}
	}
	report, err := Run(t.Context(), serve(t), []File{file}, options)
	if err != nil {
		t.Fatal(err)
	}
	if err := report.WriteTable(&out); err != nil {
		t.Fatal(err)
	}
	return report, out.String()
}

// Only tools that say that they only read are called where others may use the server.
func TestReports(t *testing.T) {
	t.Parallel()
	report, text := runSeveral(t, Options{})
	tool := report.Tools[0]
	if report.Passed != 1 || report.Failed != 1 || report.Skipped != 2 || report.Calls != 3 || tool.Calls != 3 ||
		tool.LargestResult == 0 || tool.Millis < tool.SlowestMillis || report.Millis != tool.Millis {
		t.Errorf("got %+v", report)
	}
	for _, want := range []string{
		"ok       repeat: good\n", `failed   repeat: bad\u{1b}[2K` + "\n", "functions/repeat/eval.yaml:6 repeat: result/a: ",
		"skipped  repeat: unseen\n", "called by --writes", fmt.Sprintf("%d bytes  repeat", tool.LargestResult),
	} {
		if !strings.Contains(text, want) {
			t.Errorf("does not say %q:\n%s", want, text)
		}
	}
	if strings.ContainsRune(text, '\x1b') {
		t.Errorf("acts on a terminal: %q", text)
	}
	report, _ = runSeveral(t, Options{Writes: true, Chosen: func(name string) bool { return name == "writing" }})
	if report.Passed != 1 || report.Failed+report.Skipped != 0 {
		t.Errorf("got %+v", report)
	}
}

func TestJUnit(t *testing.T) {
	t.Parallel()
	report, _ := runSeveral(t, Options{})
	var out bytes.Buffer
	if err := report.WriteJUnit(&out); err != nil {
		t.Fatal(err)
	}
	var back struct {
		Suites []struct {
			Name     string `xml:"name,attr"`
			Tests    int    `xml:"tests,attr"`
			Failures int    `xml:"failures,attr"`
			Skipped  int    `xml:"skipped,attr"`
			Cases    []struct {
				Failure *struct {
					Message string `xml:"message,attr"`
				} `xml:"failure"`
				Skipped *struct{} `xml:"skipped"`
			} `xml:"testcase"`
		} `xml:"testsuite"`
	}
	if err := xml.Unmarshal(out.Bytes(), &back); err != nil {
		t.Fatalf("%v\n%s", err, &out)
	}
	suite := back.Suites[0]
	if suite.Name != "repeat" || suite.Tests != 4 || suite.Failures != 1 || suite.Skipped != 2 ||
		suite.Cases[0].Failure != nil || suite.Cases[1].Failure == nil || suite.Cases[2].Skipped == nil {
		t.Errorf("got %+v\n%s", suite, &out)
	}
}
