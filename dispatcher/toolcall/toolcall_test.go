package toolcall_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"patchbay/dispatcher/function"
	"patchbay/dispatcher/toolcall"
	"patchbay/shared/contract"
	"patchbay/shared/invoke"
	"patchbay/shared/jsonrpc"
	"patchbay/shared/mcp"
	"patchbay/shared/principal"
	"patchbay/shared/registry"
	"patchbay/shared/seal"
)

const serverInfo = `{"name":"test","version":"1"}`

// fixed is a catalogue and the functions behind it, both of one tool, with answers that are set.
type fixed struct {
	entry, refreshed *registry.Entry
	lookupErr        error
	answer           string
	err              error
	goneFunction     string

	invoked []string
	payload []byte
}

func (f *fixed) Lookup(_ context.Context, name string) (*registry.Entry, error) {
	if f.lookupErr != nil {
		return nil, f.lookupErr
	}
	if name != f.entry.Tool.Name {
		return nil, registry.ErrUnknownTool
	}
	return f.entry, nil
}

func (f *fixed) Refresh(context.Context) error {
	if f.refreshed != nil {
		f.entry = f.refreshed
	}
	return nil
}

func (f *fixed) Invoke(_ context.Context, name string, payload []byte) ([]byte, error) {
	f.invoked, f.payload = append(f.invoked, name), payload
	if name == f.goneFunction {
		return nil, function.ErrGone
	}
	return []byte(f.answer), f.err
}

func (f *fixed) Stream(ctx context.Context, name string, payload []byte,
	progress func(invoke.Progress)) ([]byte, error) {
	progress(invoke.Progress{Progress: 1})
	return f.Invoke(ctx, name, payload)
}

func entry(t *testing.T, contractJSON string) *registry.Entry {
	t.Helper()
	tool, err := contract.Decode(json.RawMessage(`{"name":"greet","description":"d","inputSchema":{"type":"object",
		"properties":{"who":{"type":"string","default":"you"},"mood":{"enum":["good","bad"]}},"additionalProperties":false},
		"outputSchema":{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}}`),
		json.RawMessage(contractJSON))
	if err != nil {
		t.Fatal(err)
	}
	return &registry.Entry{Tool: tool, Function: "arn:aws:lambda:r:1:function:greet:1", Source: "test"}
}

// run makes one call and returns the result, the error and the log line.
func run(t *testing.T, f *fixed, change func(*toolcall.Request)) (result string, log map[string]any, err error) {
	t.Helper()
	var lines bytes.Buffer
	caller := toolcall.New(toolcall.Config{
		Catalogue: f, Functions: f, Sealer: seal.New(seal.NewRing(), seal.Options{}),
		ServerInfo: json.RawMessage(serverInfo), Log: slog.New(slog.NewJSONHandler(&lines, nil)),
	})
	request := &toolcall.Request{
		RequestID: "req-1", ProtocolVersion: mcp.Version20260728, Modern: true, Header: http.Header{},
		Params:   mcp.Params{Name: "greet", HasName: true},
		Deadline: time.Now().Add(time.Minute),
	}
	if change != nil {
		change(request)
	}
	raw, err := caller.Call(t.Context(), request)
	text := strings.TrimSpace(lines.String())
	last := text[strings.LastIndexByte(text, '\n')+1:]
	if jsonErr := json.Unmarshal([]byte(last), &log); jsonErr != nil {
		t.Fatalf("the last log line %q: %v", last, jsonErr)
	}
	return string(raw), log, err
}

func TestResultPassesAsTheToolWroteIt(t *testing.T) {
	t.Parallel()
	const (
		members = `"future":[1.0,1e2],"content":[{"type":"hologram","x":"\u00e9"}],` +
			`"structuredContent":{"n":12345678901234567890},`
		answer = `{` + members + `"_meta":{"a/b":1,"io.modelcontextprotocol/serverInfo":{"name":"impostor"}}}`
	)
	f := &fixed{entry: entry(t, `{}`), answer: answer}
	for name, test := range map[string]struct {
		modern bool
		want   string
	}{
		"modern": {true, `{"resultType":"complete",` + members +
			`"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"test","version":"1"},"a/b":1}}`},
		"legacy": {false, `{` + members + `"_meta":{"a/b":1}}`},
	} {
		got, log, err := run(t, f, func(r *toolcall.Request) { r.Modern = test.modern })
		if err != nil || got != test.want {
			t.Errorf("%s: got %s, %v\nwant %s", name, got, err, test.want)
		}
		if log["outcome"] != "ok" || log["requestId"] != "req-1" || log["tool"] != "greet" ||
			log["principal"] != "anonymous" {
			t.Errorf("%s: logged %v", name, log)
		}
	}
}

func TestEnvelope(t *testing.T) {
	t.Parallel()
	who := principal.Principal{Subject: "u", Issuer: "i", Scopes: []string{"s"}}
	deadline := time.UnixMilli(1_800_000_000_123)
	for mode, contractJSON := range map[string]string{"buffered": `{}`, "streamed": `{"execution":{"streaming":true}}`} {
		f := &fixed{entry: entry(t, contractJSON), answer: `{"content":[],"structuredContent":{"n":1}}`}
		_, _, err := run(t, f, func(r *toolcall.Request) {
			r.Principal, r.Deadline, r.Progress = who, deadline, func(invoke.Progress) {}
			r.Params.Meta = mcp.Meta{
				ClientInfo: json.RawMessage(`{"name":"c"}`), Traceparent: "00-t", Tracestate: "v=1", Baggage: "tier=gold",
			}
		})
		if err != nil {
			t.Fatal(err)
		}
		var got invoke.Request
		if err := json.Unmarshal(f.payload, &got); err != nil {
			t.Fatal(err)
		}
		if string(got.Arguments) != `{"who":"you"}` {
			t.Errorf("%s: arguments are %s, want the default applied", mode, got.Arguments)
		}
		if got.Version != invoke.Version || got.Tool != "greet" || got.Principal.Key() != who.Key() ||
			got.Deadline != deadline.UnixMilli() || got.Meta.RequestID != "req-1" ||
			string(got.Meta.ClientInfo) != `{"name":"c"}` || got.Meta.Progress != (mode == "streamed") {
			t.Errorf("%s: got %+v", mode, got)
		}
		if got.Meta.Traceparent != "00-t" || got.Meta.Tracestate != "v=1" || got.Meta.Baggage != "tier=gold" {
			t.Errorf("%s: the trace context is %+v", mode, got.Meta)
		}
	}
}

func TestPlainArgumentsPayload(t *testing.T) {
	t.Parallel()
	f := &fixed{entry: entry(t, `{"function":{"payload":"arguments"}}`), answer: ` {"n":7} `}
	got, _, err := run(t, f, nil)
	want := `{"resultType":"complete","content":[{"type":"text","text":"{\"n\":7}"}],"structuredContent":{"n":7},` +
		`"_meta":{"io.modelcontextprotocol/serverInfo":` + serverInfo + `}}`
	if err != nil || got != want {
		t.Errorf("got %s, %v", got, err)
	}
	if string(f.payload) != `{"who":"you"}` {
		t.Errorf("the event is %s, want the arguments alone", f.payload)
	}
}

// Earlier revisions know objects alone as structured content; there the text says what another value is.
func TestStructuredContentThatIsNoObject(t *testing.T) {
	t.Parallel()
	for _, answer := range []string{`null`, `[1]`, `"s"`, `7`} {
		f := &fixed{entry: entry(t, `{"function":{"payload":"arguments"}}`), answer: answer}
		f.entry.Tool.Output = nil
		for modern, want := range map[bool]bool{true: true, false: false} {
			got, _, err := run(t, f, func(r *toolcall.Request) { r.Modern = modern })
			if err != nil || strings.Contains(got, "structuredContent") != want || !strings.Contains(got, `"type":"text"`) {
				t.Errorf("%s, modern %v: got %s, %v", answer, modern, got, err)
			}
		}
	}
}

// What takes one byte in the arguments takes one in the event.
func TestEnvelopeEscapesNothing(t *testing.T) {
	t.Parallel()
	f := &fixed{entry: entry(t, `{}`), answer: `{"content":[],"structuredContent":{"n":1}}`}
	const arguments = `{"who":"<a href='x'>&\u2028</a>"}`
	if _, _, err := run(t, f, func(r *toolcall.Request) { r.Params.Arguments = json.RawMessage(arguments) }); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(f.payload), arguments) {
		t.Errorf("the event is %s", f.payload)
	}
}

// A version that is gone is replaced by what the catalogue says now, with every check of who may call it, and how.
func TestResolvedOnceMoreWithEveryCheck(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ contract, says string }{
		"forbidden now": {`{"risk":"forbidden"}`, "Unknown tool"},
		"invisible now": {`{"visibility":"permitted","permissions":["a"]}`, "Unknown tool"},
		"needs a scope": {`{"permissions":["a"]}`, "This caller lacks: a"},
	} {
		old, fresh := entry(t, `{}`), entry(t, test.contract)
		fresh.Function = "arn:aws:lambda:r:1:function:greet:2"
		f := &fixed{entry: old, refreshed: fresh, goneFunction: old.Function, answer: `{"content":[]}`}
		got, _, err := run(t, f, func(r *toolcall.Request) { r.Principal.Subject = "u" })
		if err != nil {
			got = err.Error()
		}
		if !strings.Contains(got, test.says) || len(f.invoked) != 1 {
			t.Errorf("%s: got %s after %v", name, got, f.invoked)
		}
	}
	old, fresh := entry(t, `{}`), entry(t, `{}`)
	fresh.Function = "arn:aws:lambda:r:1:function:greet:2"
	fresh.Tool.HeaderParams = []contract.HeaderParam{{Header: "Mcp-Param-Who", Path: []string{"who"}, Type: "string"}}
	f := &fixed{entry: old, refreshed: fresh, goneFunction: old.Function, answer: `{"content":[]}`}
	_, _, err := run(t, f, func(r *toolcall.Request) { r.Params.Arguments = json.RawMessage(`{"who":"a"}`) })
	if !errors.Is(err, &jsonrpc.Error{Code: mcp.CodeHeaderMismatch}) || len(f.invoked) != 1 {
		t.Errorf("a new mirrored parameter: got %v after %v", err, f.invoked)
	}
}

// Every way in which an invocation can fail has an answer that says what to do and shows nothing of the inside.
func TestFailures(t *testing.T) {
	t.Parallel()
	const secret = "arn:aws:lambda:r:1:function:greet:1 /var/task/main.go:12 goroutine 1"
	failure := func(kind, payload string) error { return &function.Failure{Type: kind, Payload: payload} }
	for name, test := range map[string]struct {
		answer  string
		err     error
		says    string
		outcome string
	}{
		"throttled":       {"", fmt.Errorf("%s: %w", secret, function.ErrThrottled), "not started", "throttled"},
		"event too large": {"", fmt.Errorf("%s: %w", secret, function.ErrTooLarge), "too large", "request_too_large"},
		"version gone":    {"", fmt.Errorf("%s: %w", secret, function.ErrGone), "nothing has run", "function_gone"},
		"deadline": {
			"", fmt.Errorf("%s: %w", secret, function.ErrDeadline), "did not answer in time", "deadline",
		},
		"broken connection": {
			"", fmt.Errorf("%s: %w", secret, function.ErrUnknown), "unknown whether it ran", "invocation_broken",
		},
		"crash": {
			"", failure("Unhandled", `{"errorType":"Runtime.ExitError","errorMessage":"`+secret+`"}`),
			"internal error of the tool", "tool_crash",
		},
		"unhandled error": {
			"", failure("Unhandled", `{"errorType":"errorString","errorMessage":"upstream timed out, `+secret+`"}`),
			"internal error of the tool", "tool_crash",
		},
		"time-out": {
			"", failure("Unhandled", `{"errorType":"Sandbox.Timedout",`+
				`"errorMessage":"RequestId: x Error: Task timed out after 3.00 seconds"}`),
			"time limit", "deadline",
		},
		"time-out, old form": {
			"", failure("Unhandled", `{"errorMessage":"2026-01-01T00:00:00Z x Task timed out after 3.00 seconds"}`),
			"time limit", "deadline",
		},
		"answer over 6 MB": {
			"", failure("Unhandled", `{"errorType":"Function.ResponseSizeTooLarge","errorMessage":"`+secret+`"}`),
			"larger than can be sent", "result_too_large",
		},
		"something else": {"", errors.New(secret), "could not be called", "defect"},
		"not JSON":       {secret, nil, "breaks its own contract", "defect"},
		"nothing":        {"", nil, "breaks its own contract", "defect"},
		"null":           {"null", nil, "breaks its own contract", "defect"},
		"an array":       {"[]", nil, "breaks its own contract", "defect"},
		"a key twice":    {`{"content":[],"content":[]}`, nil, "breaks its own contract", "defect"},
		"no content":     {`{"structuredContent":{"n":1}}`, nil, "breaks its own contract", "defect"},
		"content of null": {
			`{"content":[null],"structuredContent":{"n":1}}`, nil, "breaks its own contract", "defect",
		},
		"content of texts":     {`{"content":["x"],"structuredContent":{"n":1}}`, nil, "breaks its own contract", "defect"},
		"a block without type": {`{"content":[{}],"structuredContent":{"n":1}}`, nil, "breaks its own contract", "defect"},
		"a text without text": {
			`{"content":[{"type":"text"}],"structuredContent":{"n":1}}`, nil, "breaks its own contract", "defect",
		},
		"an image of nothing": {
			`{"content":[{"type":"image","data":7,"mimeType":"a/b"}],"structuredContent":{"n":1}}`, nil,
			"breaks its own contract", "defect",
		},
		"content no array": {`{"content":"x","structuredContent":{"n":1}}`, nil, "breaks its own contract", "defect"},
		"isError no boolean": {
			`{"content":[],"isError":"no","structuredContent":{"n":1}}`, nil, "breaks its own contract", "defect",
		},
		"_meta no object": {
			`{"content":[],"_meta":[],"structuredContent":{"n":1}}`, nil, "breaks its own contract", "defect",
		},
		"resultType unknown": {
			`{"content":[],"resultType":"task","structuredContent":{"n":1}}`, nil, "breaks its own contract", "defect",
		},
		"structured missing": {`{"content":[]}`, nil, "breaks its own contract", "defect"},
		"structured wrong": {
			`{"content":[],"structuredContent":{"n":"one"}}`, nil, "breaks its own contract", "defect",
		},
		"over maxResultBytes": {
			`{"content":[{"type":"text","text":"` + strings.Repeat("x", 2000) + `"}],"structuredContent":{"n":1}}`, nil,
			"narrow", "result_too_large",
		},
		"the tool's own error": {
			`{"content":[{"type":"text","text":"no such place"}],"isError":true}`, nil, "no such place", "tool_error",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := &fixed{entry: entry(t, `{"maxResultBytes":1000,"execution":{"timeoutSeconds":3}}`), answer: test.answer,
				err: test.err}
			got, log, err := run(t, f, nil)
			if err != nil {
				t.Fatal(err)
			}
			var result struct {
				Content []struct{ Text string }
				IsError bool
			}
			if err := json.Unmarshal([]byte(got), &result); err != nil || !result.IsError || len(result.Content) != 1 {
				t.Fatalf("got %s, %v", got, err)
			}
			if text := result.Content[0].Text; !strings.Contains(text, test.says) {
				t.Errorf("says %q, want %q", text, test.says)
			}
			for _, part := range strings.Fields(secret) {
				if part != "1" && strings.Contains(got, part) {
					t.Errorf("%s shows %q", got, part)
				}
			}
			if log["outcome"] != test.outcome {
				t.Errorf("logged %v, want outcome %s", log, test.outcome)
			}
			if test.err != nil && !strings.Contains(fmt.Sprint(log["cause"]), strings.TrimSpace(test.err.Error())) {
				t.Errorf("the log does not tell the cause: %v", log)
			}
		})
	}
}

// What does not exist for a caller is not to be told apart from what does not exist.
func TestUnknownForbiddenAndInvisibleAnswerAlike(t *testing.T) {
	t.Parallel()
	ada := func(scopes ...string) principal.Principal { return principal.Principal{Subject: "ada", Scopes: scopes} }
	for name, test := range map[string]struct {
		contract string
		caller   principal.Principal
		visible  bool
	}{
		"forbidden":               {`{"risk":"forbidden"}`, ada(), false},
		"permitted, no scope":     {`{"visibility":"permitted","permissions":["a","b"]}`, ada("a"), false},
		"permitted, all scopes":   {`{"visibility":"permitted","permissions":["a","b"]}`, ada("b", "a"), true},
		"nobody, no rules":        {`{}`, principal.Principal{}, true},
		"nobody, with a scope":    {`{"permissions":["a"]}`, principal.Principal{}, false},
		"nobody, with a step-up":  {`{"stepUp":{"acr":"mfa"}}`, principal.Principal{}, false},
		"nobody, of a short time": {`{"stepUp":{"maxAgeSeconds":60}}`, principal.Principal{}, false},
	} {
		f := &fixed{entry: entry(t, test.contract), answer: `{"content":[],"structuredContent":{"n":1}}`}
		_, _, err := run(t, f, func(r *toolcall.Request) { r.Principal = test.caller })
		if test.visible {
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		want := mcp.UnknownTool("greet")
		if err == nil || err.Error() != want.Error() || mcp.Status(err) != mcp.Status(want) || len(f.invoked) > 0 {
			t.Errorf("%s: got %v after %v, want %v", name, err, f.invoked, want)
		}
	}
}

func TestInvalidArgumentsRunNothing(t *testing.T) {
	t.Parallel()
	f := &fixed{entry: entry(t, `{}`)}
	got, log, err := run(t, f, func(r *toolcall.Request) {
		r.Params.Arguments = json.RawMessage(`{"mood":"sad","whom":"x"}`)
	})
	for _, part := range []string{`"isError":true`, "mood", "good", "bad", "whom", "who"} {
		if !strings.Contains(got, part) {
			t.Errorf("%s does not say %s", got, part)
		}
	}
	if err != nil || len(f.invoked) > 0 || log["outcome"] != "invalid_arguments" {
		t.Errorf("%v after %v, logged %v", err, f.invoked, log)
	}
}

// A version that is gone means that the catalogue at hand is old: the call goes to the version that a fresh one names.
func TestVersionGoneIsResolvedOnceMore(t *testing.T) {
	t.Parallel()
	old, fresh := entry(t, `{}`), entry(t, `{}`)
	fresh.Function = "arn:aws:lambda:r:1:function:greet:2"
	f := &fixed{entry: old, refreshed: fresh, goneFunction: old.Function,
		answer: `{"content":[],"structuredContent":{"n":1}}`}
	got, _, err := run(t, f, nil)
	if err != nil || strings.Contains(got, "isError") {
		t.Errorf("got %s, %v", got, err)
	}
	if fmt.Sprint(f.invoked) != fmt.Sprint([]string{old.Function, fresh.Function}) {
		t.Errorf("invoked %v", f.invoked)
	}
}

func TestCatalogueUnavailableSaysThatNothingRan(t *testing.T) {
	t.Parallel()
	f := &fixed{entry: entry(t, `{}`), lookupErr: errors.New("dynamodb: secret endpoint")}
	_, log, err := run(t, f, nil)
	if !errors.Is(err, &jsonrpc.Error{Code: jsonrpc.CodeInternalError}) ||
		!strings.Contains(err.Error(), "nothing has run") ||
		strings.Contains(err.Error(), "secret") {
		t.Errorf("got %v", err)
	}
	if log["outcome"] != "catalogue_unavailable" || !strings.Contains(fmt.Sprint(log["cause"]), "secret") {
		t.Errorf("logged %v", log)
	}
}

func TestProgressOnlyWhereToolAndClientWantIt(t *testing.T) {
	t.Parallel()
	for contractJSON, want := range map[string]bool{`{}`: false, `{"execution":{"streaming":true}}`: true} {
		f := &fixed{entry: entry(t, contractJSON), answer: `{"content":[],"structuredContent":{"n":1}}`}
		var reports int
		_, _, err := run(t, f, func(r *toolcall.Request) { r.Progress = func(invoke.Progress) { reports++ } })
		if err != nil || (reports > 0) != want || strings.Contains(string(f.payload), `"progress":true`) != want {
			t.Errorf("%s: %d reports, payload %s, %v", contractJSON, reports, f.payload, err)
		}
	}
}
