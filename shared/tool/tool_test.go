package tool_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/lambdacontext"
	"github.com/google/go-cmp/cmp"

	"patchbay/shared/invoke"
	"patchbay/shared/mcp"
	"patchbay/shared/principal"
	"patchbay/shared/tool"
)

type input struct {
	Name string `json:"name"`
}

type output struct {
	Greeting string `json:"greeting"`
}

// event is an envelope whose arguments are {"name": "Ada"}, changed by edit.
func event(t *testing.T, edit func(*invoke.Request)) json.RawMessage {
	t.Helper()
	request := invoke.Request{
		Version:   invoke.Version,
		Tool:      "greet",
		Arguments: json.RawMessage(`{"name":"Ada"}`),
		Meta:      invoke.Meta{RequestID: "r-1", ProtocolVersion: "2026-07-28"},
	}
	if edit != nil {
		edit(&request)
	}
	raw, err := json.Marshal(request)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// answer runs the handler and reads its whole answer.
func answer[In, Out any](t *testing.T, raw json.RawMessage, f func(context.Context, In) (Out, error)) string {
	t.Helper()
	got, err := quiet(f).Invoke(t.Context(), raw)
	if err != nil {
		t.Fatalf("Invoke: %v", err)
	}
	body, err := io.ReadAll(got)
	if err != nil {
		t.Fatalf("reading the answer: %v", err)
	}
	if err := got.Close(); err != nil {
		t.Fatalf("Close: %v", err)
	}
	return string(body)
}

func quiet[In, Out any](f func(context.Context, In) (Out, error)) *tool.Handler {
	handler := tool.NewHandler(f)
	handler.Log = slog.New(slog.DiscardHandler)
	return handler
}

// returning is a handler that returns the same every time.
func returning[Out any](out Out, err error) func(context.Context, input) (Out, error) {
	return func(context.Context, input) (Out, error) { return out, err }
}

func TestResults(t *testing.T) {
	t.Parallel()
	half, size := 0.5, int64(3)
	annotated := tool.Annotate(tool.Text("hi"), mcp.Annotations{Audience: []string{"user"}, Priority: &half})
	link := tool.ResourceLink("https://example.com/a", "a")
	link.Size = &size
	tests := map[string]struct {
		got  string
		want string
	}{
		"structured output is sent twice": {
			answer(t, event(t, nil), returning(output{"a < b"}, nil)),
			`{"content":[{"type":"text","text":"{\"greeting\":\"a < b\"}"}],"structuredContent":{"greeting":"a < b"}}`,
		},
		"a pointer to an output": {
			answer(t, event(t, nil), returning(&output{"hi"}, nil)),
			`{"content":[{"type":"text","text":"{\"greeting\":\"hi\"}"}],"structuredContent":{"greeting":"hi"}}`,
		},
		"a string is text": {
			answer(t, event(t, nil), returning("hi", nil)),
			`{"content":[{"type":"text","text":"hi"}]}`,
		},
		"an empty result": {
			answer(t, event(t, nil), returning(tool.Result{}, nil)),
			`{"content":[]}`,
		},
		"content and structure of its own": {
			answer(t, event(t, nil), returning(&tool.Result{
				Content:    []mcp.Content{annotated},
				Structured: output{"hi"},
				Meta:       map[string]any{"example.com/n": 1},
			}, nil)),
			`{"content":[{"type":"text","text":"hi","annotations":{"audience":["user"],"priority":0.5}}],` +
				`"structuredContent":{"greeting":"hi"},"_meta":{"example.com/n":1}}`,
		},
		"every type of content": {
			answer(t, event(t, nil), returning(tool.Result{Content: []mcp.Content{
				tool.Textf("%d", 1), tool.Image([]byte("abc"), "image/png"), tool.Audio([]byte("abc"), "audio/wav"),
				link,
				tool.Embed(mcp.ResourceContents{URI: "test://r", MIMEType: "text/plain", Text: "hi"}),
			}}, nil)),
			`{"content":[{"type":"text","text":"1"},{"type":"image","data":"YWJj","mimeType":"image/png"},` +
				`{"type":"audio","data":"YWJj","mimeType":"audio/wav"},` +
				`{"type":"resource_link","uri":"https://example.com/a","name":"a","size":3},` +
				`{"type":"resource","resource":{"uri":"test://r","mimeType":"text/plain","text":"hi"}}]}`,
		},
		"a declared failure, wrapped on its way": {
			answer(t, event(t, nil),
				returning(output{}, fmt.Errorf("greeting: %w", tool.Fail("gone", "%s has left", "Ada")))),
			`{"content":[{"type":"text","text":"Ada has left"}],"isError":true,` +
				`"_meta":{"dev.patchbay/failure":{"code":"gone"}}}`,
		},
		"a question": {
			answer(t, event(t, nil), returning(output{}, tool.Ask(map[string]mcp.InputRequest{
				"who":  tool.Form("Who?", json.RawMessage(`{"type":"object"}`)),
				"page": tool.OpenURL("Sign in", "https://example.com/in"),
				"say": tool.Sample(tool.Sampling{MaxTokens: 9, Messages: []tool.SamplingMessage{
					{Role: "user", Content: tool.Text("hi")}}}),
				"where": tool.ListRoots(),
			}, "round 1"))),
			`{"resultType":"input_required","requestState":"round 1","inputRequests":{` +
				`"who":{"method":"elicitation/create","params":{"mode":"form","message":"Who?",` +
				`"requestedSchema":{"type":"object"}}},` +
				`"page":{"method":"elicitation/create","params":{"mode":"url","message":"Sign in",` +
				`"url":"https://example.com/in"}},` +
				`"say":{"method":"sampling/createMessage","params":{"maxTokens":9,` +
				`"messages":[{"role":"user","content":{"type":"text","text":"hi"}}]}},` +
				`"where":{"method":"roots/list"}}}`,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(value(t, test.want), value(t, test.got)); diff != "" {
				t.Errorf("answer (-want +got):\n%s", diff)
			}
		})
	}
}

func value(t *testing.T, text string) (v any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return v
}

// Escapes for HTML cost a model tokens and hide what was meant, in the text and in the JSON around it.
func TestNothingIsEscapedForHTML(t *testing.T) {
	t.Parallel()
	const says = `a <b> & "c"`
	for name, got := range map[string]string{
		"a text":      answer(t, event(t, nil), returning(says, nil)),
		"an output":   answer(t, event(t, nil), returning(output{says}, nil)),
		"a failure":   answer(t, event(t, nil), returning("", tool.Fail("c", says))),
		"a link":      answer(t, event(t, nil), returning(one(tool.ResourceLink(says, "")), nil)),
		"a resource":  answer(t, event(t, nil), returning(one(tool.Embed(mcp.ResourceContents{Text: says})), nil)),
		"a question":  answer(t, event(t, nil), returning("", tool.Ask(nil, says))),
		"a form":      answer(t, event(t, nil), returning("", tool.Ask(ask(tool.Form(says, nil)), ""))),
		"a sampling":  answer(t, event(t, nil), returning("", tool.Ask(ask(tool.Sample(sampling(says))), ""))),
		"_meta":       answer(t, event(t, nil), returning(tool.Result{Meta: map[string]any{"x.org/y": says}}, nil)),
		"a long line": answer(t, event(t, progressing), returning(says, nil)),
	} {
		if !strings.Contains(got, "<b> &") || strings.Contains(got, `\u00`) {
			t.Errorf("%s: %s", name, got)
		}
	}
}

func one(block mcp.Content) tool.Result { return tool.Result{Content: []mcp.Content{block}} }

func ask(request mcp.InputRequest) map[string]mcp.InputRequest {
	return map[string]mcp.InputRequest{"k": request}
}

func sampling(text string) tool.Sampling {
	return tool.Sampling{MaxTokens: 1, Messages: []tool.SamplingMessage{{Role: "user", Content: tool.Text(text)}}}
}

func progressing(r *invoke.Request) { r.Meta.Progress = true }

func TestReplayUntil(t *testing.T) {
	t.Parallel()
	noon := time.Date(2126, 1, 2, 12, 0, 0, 999_999_999, time.FixedZone("", 3600))
	const said = `"_meta":{"dev.patchbay/replayUntil":"2126-01-02T11:00:00Z"}`
	const own = `"_meta":{"dev.patchbay/replayUntil":"2126-01-01T00:00:00Z"}`
	saying := tool.Result{Meta: map[string]any{mcp.MetaReplayUntil: "2126-01-01T00:00:00Z"}}
	for name, test := range map[string]struct {
		until []time.Time
		out   any
		err   error
		want  string
	}{
		"an output":              {[]time.Time{noon}, output{"hi"}, nil, said},
		"a text":                 {[]time.Time{noon}, "hi", nil, said},
		"the earliest":           {[]time.Time{noon.Add(time.Hour), noon, {}, noon.Add(time.Second)}, "hi", nil, said},
		"the zero time":          {[]time.Time{{}}, "hi", nil, ""},
		"none":                   {nil, "hi", nil, ""},
		"a result of its own":    {[]time.Time{noon}, saying, nil, own},
		"a failure":              {[]time.Time{noon}, nil, tool.Fail("gone", "gone"), ""},
		"a result with an error": {[]time.Time{noon}, tool.Result{IsError: true}, nil, ""},
		"a question":             {[]time.Time{noon}, nil, tool.Ask(nil, "s"), ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, edit := range []func(*invoke.Request){nil, progressing} {
				got := answer(t, event(t, edit), func(ctx context.Context, _ input) (any, error) {
					for _, until := range test.until {
						tool.ReplayUntil(ctx, until)
					}
					return test.out, test.err
				})
				if !strings.Contains(got, test.want) || test.want == "" && strings.Contains(got, mcp.MetaReplayUntil) {
					t.Errorf("answer %s, want %s", got, test.want)
				}
			}
		})
	}
}

func TestDefects(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		event   json.RawMessage
		handler *tool.Handler
		want    string
	}{
		"no envelope": {json.RawMessage(`[]`), quiet(returning("", nil)), "decoding the envelope"},
		"another version": {
			json.RawMessage(`{"version":2,"tool":7}`), quiet(returning("", nil)),
			"envelope version 2 is not known; this tool speaks version 1",
		},
		"no version": {
			json.RawMessage(`{"tool":"greet"}`), quiet(returning("", nil)), "envelope version 0 is not known",
		},
		"a bad field": {
			json.RawMessage(`{"version":1,"tool":7}`), quiet(returning("", nil)), "decoding the envelope",
		},
		"arguments of another type": {
			event(t, func(r *invoke.Request) { r.Arguments = json.RawMessage(`{"name":1}`) }),
			quiet(returning("", nil)), "decoding arguments, which its inputSchema accepted, into tool_test.input",
		},
		"an unforeseen error": {event(t, nil), quiet(returning("", errors.New("disk full"))), "disk full"},
		"nothing": {
			event(t, nil), quiet(returning((*output)(nil), nil)), "neither a result nor an error",
		},
		"no result": {
			event(t, nil), quiet(returning((*tool.Result)(nil), nil)), "neither a result nor an error",
		},
		"no value": {
			event(t, nil), quiet(returning(any(nil), nil)), "neither a result nor an error",
		},
		"replay for ever": {
			event(t, nil), quiet(func(ctx context.Context, _ input) (string, error) {
				tool.ReplayUntil(ctx, time.Date(10_000, 1, 1, 0, 0, 0, 0, time.UTC))
				return "", nil
			}), "until the year 10000",
		},
		"structure that is not JSON": {
			event(t, nil), quiet(returning(func() {}, nil)), "encoding structured content",
		},
		"meta that is not JSON": {
			event(t, nil), quiet(returning(tool.Result{Meta: map[string]any{"x.org/y": func() {}}}, nil)),
			`encoding _meta["x.org/y"]`,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := test.handler.Invoke(t.Context(), test.event)
			if err == nil {
				t.Fatalf("Invoke = %v, want an error", got)
			}
			if !strings.Contains(err.Error(), test.want) {
				t.Errorf("error = %q, want it to contain %q", err, test.want)
			}
		})
	}
}

func TestDefectIsLoggedWithItsRequest(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	handler := tool.NewHandler(returning("", errors.New("disk full")))
	handler.Log = slog.New(slog.NewJSONHandler(&log, nil))
	if _, err := handler.Invoke(t.Context(), event(t, nil)); err == nil {
		t.Fatal("no error")
	}
	var record struct{ Level, Msg, Tool, RequestID, Error string }
	if err := json.Unmarshal(log.Bytes(), &record); err != nil {
		t.Fatal(err)
	}
	if record.Tool != "greet" || record.RequestID != "r-1" || record.Error != "disk full" || record.Level != "ERROR" {
		t.Errorf("record = %+v", record)
	}
}

// invocation is the context of a Lambda invocation.
func invocation(t *testing.T) context.Context {
	ctx := lambdacontext.NewContext(t.Context(), &lambdacontext.LambdaContext{AwsRequestID: "i-1"})
	//lint:ignore SA1029 this is the key that aws-lambda-go uses
	return context.WithValue(ctx, "x-amzn-trace-id", "Root=1-67891233-abcdef012345678912345678;Sampled=1")
}

// Every call leaves one line, by which it is found from the dispatcher's, before its answer is complete.
func TestEveryCallIsLogged(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		handler func(context.Context, input) (tool.Result, error)
		want    string
	}{
		"ok":     {returning(tool.Result{Content: []mcp.Content{tool.Text("done")}}, nil), `INFO ok`},
		"errors": {returning(tool.Result{IsError: true}, nil), `INFO tool_error`},
		"failed": {returning(tool.Result{}, fmt.Errorf("x: %w", tool.Fail("unknown_person", "who?"))),
			`INFO tool_error unknown_person`},
		"asks":   {returning(tool.Result{}, tool.Ask(nil, "step 2")), `INFO input_required`},
		"defect": {returning(tool.Result{}, errors.New("disk full")), `ERROR error disk full`},
		"leaves": {func(context.Context, input) (tool.Result, error) { runtime.Goexit(); return tool.Result{}, nil },
			`ERROR error the handler ended its goroutine without an answer`},
	} {
		for mode, edit := range map[string]func(*invoke.Request){"buffered": nil, "streamed": streaming} {
			if name == "leaves" && edit == nil {
				continue // it would take the test's own goroutine with it
			}
			t.Run(name+", "+mode, func(t *testing.T) {
				t.Parallel()
				var log bytes.Buffer
				handler := tool.NewHandler(test.handler)
				handler.Log = slog.New(slog.NewJSONHandler(&log, nil))
				if answer, err := handler.Invoke(invocation(t), event(t, edit)); err == nil {
					_, _ = io.ReadAll(answer)
				}
				var record struct {
					Level, Msg, Tool, RequestID, TraceID, LambdaRequestID, Outcome, Code, Error string
					ColdStart                                                                   bool
					DurationMs                                                                  *float64
				}
				if err := json.Unmarshal(log.Bytes(), &record); err != nil {
					t.Fatalf("%v: %s", err, &log)
				}
				got := strings.Join(strings.Fields(record.Level+" "+record.Outcome+" "+record.Code+" "+record.Error), " ")
				if got != test.want || record.Tool != "greet" || record.RequestID != "r-1" || record.LambdaRequestID != "i-1" ||
					record.TraceID != "1-67891233-abcdef012345678912345678" || !record.ColdStart || record.DurationMs == nil {
					t.Errorf("got %q, want %q: %s", got, test.want, &log)
				}
			})
		}
	}
}

func TestFirstCallOfAProcessIsMarked(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	handler := tool.NewHandler(returning("done", nil))
	handler.Log = slog.New(slog.NewJSONHandler(&log, nil))
	for range 3 {
		if _, err := handler.Invoke(t.Context(), event(t, nil)); err != nil {
			t.Fatal(err)
		}
	}
	if strings.Count(log.String(), `"coldStart":true`) != 1 || strings.Count(log.String(), "\n") != 3 {
		t.Errorf("log = %s", &log)
	}
}

func TestPanicIsLoggedAndGoesOn(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	handler := tool.NewHandler(func(context.Context, input) (string, error) { panic("boom") })
	handler.Log = slog.New(slog.NewJSONHandler(&log, nil))
	defer func() {
		if value := recover(); value != "boom" {
			t.Errorf("recovered %v, want boom", value)
		}
		text := log.String()
		if !strings.Contains(text, `"outcome":"panic"`) || !strings.Contains(text, `"error":"boom"`) ||
			strings.Count(text, "\n") != 1 || !strings.Contains(text, `"requestId":"r-1"`) {
			t.Errorf("log = %s", text)
		}
	}()
	_, _ = handler.Invoke(t.Context(), event(t, nil))
}

func TestCallFrom(t *testing.T) {
	t.Parallel()
	deadline := time.Date(2126, 1, 2, 3, 4, 5, 0, time.UTC)
	var got tool.Call
	answer(t, event(t, func(r *invoke.Request) {
		r.Principal = principal.Principal{Subject: "u1", Issuer: "https://issuer.example"}
		r.Meta.ClientInfo = json.RawMessage(`{"name":"tester","version":"3"}`)
		r.Meta.Traceparent = "00-01-02-01"
		r.State, r.IdempotencyKey, r.DryRun = "s", "k", true
		r.InputResponses = json.RawMessage(`{"who":{"action":"accept","content":{"name":"Ada"}}}`)
		r.Deadline = deadline.UnixMilli()
	}), func(ctx context.Context, in input) (string, error) {
		got = tool.CallFrom(ctx)
		if who, ok := tool.Caller(ctx); !ok || who.Subject != "u1" {
			t.Errorf("caller = %+v, %v", who, ok)
		}
		if end, ok := ctx.Deadline(); !ok || !end.Equal(deadline) {
			t.Errorf("deadline of the context = %v, %v", end, ok)
		}
		return "", nil
	})
	want := tool.Call{
		Tool:      "greet",
		Principal: principal.Principal{Subject: "u1", Issuer: "https://issuer.example"},
		Meta: invoke.Meta{
			RequestID: "r-1", ProtocolVersion: "2026-07-28", Traceparent: "00-01-02-01",
			ClientInfo: json.RawMessage(`{"name":"tester","version":"3"}`),
		},
		InputResponses: json.RawMessage(`{"who":{"action":"accept","content":{"name":"Ada"}}}`),
		State:          "s", IdempotencyKey: "k", DryRun: true, Deadline: deadline,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("call (-want +got):\n%s", diff)
	}
	if client := got.Client(); client.Name != "tester" || client.Version != "3" {
		t.Errorf("client = %+v", client)
	}
}

// The anonymous caller of a call is a caller.
func TestCallerWithoutAnAuthorizer(t *testing.T) {
	t.Parallel()
	answer(t, event(t, nil), func(ctx context.Context, _ input) (string, error) {
		if who, ok := tool.Caller(ctx); !ok || !who.Anonymous() {
			t.Errorf("caller = %+v, %v", who, ok)
		}
		return "", nil
	})
}

func TestOutsideACall(t *testing.T) {
	t.Parallel()
	if diff := cmp.Diff(tool.Call{}, tool.CallFrom(t.Context())); diff != "" {
		t.Errorf("call (-want +got):\n%s", diff)
	}
	if tool.Log(t.Context()) != slog.Default() {
		t.Error("Log is not the default logger")
	}
	if who, ok := tool.Caller(t.Context()); ok || !who.Anonymous() {
		t.Errorf("caller = %+v, %v", who, ok)
	}
	tool.Progress(t.Context(), 1, 2, "nobody listens") // must not panic
	tool.ReplayUntil(t.Context(), time.Now())          // nor that
	if got := (tool.Call{}).Client(); got.Name != "" {
		t.Errorf("client = %+v", got)
	}
}

func TestEarlierDeadlineWins(t *testing.T) {
	t.Parallel()
	lambda := time.Date(2126, 1, 1, 0, 0, 0, 0, time.UTC)
	ctx, cancel := context.WithDeadline(t.Context(), lambda)
	defer cancel()
	got, err := quiet(func(ctx context.Context, in input) (string, error) {
		end, _ := ctx.Deadline()
		return end.UTC().Format(time.RFC3339), nil
	}).Invoke(ctx, event(t, func(r *invoke.Request) { r.Deadline = lambda.Add(time.Hour).UnixMilli() }))
	if err != nil {
		t.Fatal(err)
	}
	body, _ := io.ReadAll(got)
	if !strings.Contains(string(body), "2126-01-01T00:00:00Z") {
		t.Errorf("answer = %s", body)
	}
}

func TestSupports(t *testing.T) {
	t.Parallel()
	tests := []struct {
		capabilities string
		path         []string
		want         bool
	}{
		{``, []string{"sampling"}, false},
		{`{}`, []string{"elicitation"}, false},
		{`{"elicitation":{}}`, []string{"elicitation"}, true},
		{`{"elicitation":{}}`, []string{"elicitation", "form"}, true},
		{`{"elicitation":{}}`, []string{"elicitation", "url"}, false},
		{`{"elicitation":{"url":{}}}`, []string{"elicitation", "url"}, true},
		{`{"elicitation":{"url":{}}}`, []string{"elicitation", "form"}, false},
		{`{"sampling":{}}`, []string{"sampling", "form"}, false},
		{`{"sampling":{"tools":{}}}`, []string{"sampling", "tools"}, true},
		{`{"sampling":true}`, []string{"sampling", "tools"}, false},
	}
	for _, test := range tests {
		call := tool.Call{Meta: invoke.Meta{ClientCapabilities: json.RawMessage(test.capabilities)}}
		if got := call.Supports(test.path...); got != test.want {
			t.Errorf("%s supports %v = %v, want %v", test.capabilities, test.path, got, test.want)
		}
	}
}

func TestResponses(t *testing.T) {
	t.Parallel()
	call := tool.Call{InputResponses: json.RawMessage(`{
		"form": {"action": "accept", "content": {"name": "Ada"}},
		"one": {"role": "assistant", "model": "m", "stopReason": "endTurn",
			"content": {"type": "text", "text": "Paris"}},
		"many": {"role": "assistant", "model": "m",
			"content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]},
		"roots": {"roots": [{"uri": "file:///a", "name": "a"}]},
		"wrong": {"content": 7}
	}`)}
	check := func(key string, got, want any) {
		t.Helper()
		if ok, err := call.Response(key, got); !ok || err != nil {
			t.Fatalf("Response(%q) = %v, %v", key, ok, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("Response(%q) (-want +got):\n%s", key, diff)
		}
	}
	check("form", &tool.ElicitResult{},
		&tool.ElicitResult{Action: tool.ActionAccept, Content: json.RawMessage(`{"name": "Ada"}`)})
	check("one", &tool.SamplingResult{}, &tool.SamplingResult{
		Role: "assistant", Content: tool.SamplingContent{tool.Text("Paris")}, Model: "m", StopReason: "endTurn"})
	check("many", &tool.SamplingResult{}, &tool.SamplingResult{
		Role: "assistant", Content: tool.SamplingContent{tool.Text("a"), tool.Text("b")}, Model: "m"})
	check("roots", &tool.RootsResult{}, &tool.RootsResult{Roots: []tool.Root{{URI: "file:///a", Name: "a"}}})

	var sampled tool.SamplingResult
	if ok, err := call.Response("absent", &sampled); ok || err != nil {
		t.Errorf("absent answer = %v, %v", ok, err)
	}
	if ok, err := call.Response("wrong", &sampled); ok || err == nil {
		t.Errorf("wrong answer = %v, %v", ok, err)
	}
	if ok, err := (tool.Call{}).Response("form", &sampled); ok || err != nil {
		t.Errorf("round one = %v, %v", ok, err)
	}
	if ok, err := (tool.Call{InputResponses: json.RawMessage(`[]`)}).Response("form", &sampled); ok || err == nil {
		t.Errorf("responses that are no object = %v, %v", ok, err)
	}
}

func TestFormPanicsOnASchemaThatIsNotJSON(t *testing.T) {
	t.Parallel()
	defer func() {
		if value := fmt.Sprint(recover()); !strings.Contains(value, "elicitation/create") {
			t.Errorf("recovered %s", value)
		}
	}()
	tool.Form("?", json.RawMessage(`{`))
}
