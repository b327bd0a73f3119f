package mcpcall

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	ours "patchbay/shared/mcp"
)

// serve runs a server that others wrote: the SDK's own, behind a gateway that refuses.
func serve(t *testing.T, options *mcp.StreamableHTTPOptions) string {
	t.Helper()
	server := mcp.NewServer(&mcp.Implementation{Name: "others", Version: "3"}, &mcp.ServerOptions{PageSize: 2})
	for _, tool := range []struct {
		name    string
		handler mcp.ToolHandler
	}{
		{"exact", exact}, {"failing", failing}, {"slow", slow}, {"curious", curious}, {"guarded", exact}, {"echo", echo},
	} {
		server.AddTool(&mcp.Tool{
			Name: tool.name, Description: "A tool of a test.", InputSchema: json.RawMessage(`{"type": "object"}`),
		}, tool.handler)
	}
	handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, options)
	gateway := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") == "Bearer wrong" {
			w.WriteHeader(http.StatusUnauthorized)
			_, _ = io.WriteString(w, `{"message": "Unauthorized"}`)
			return
		}
		if r.Header.Get("Mcp-Name") == "guarded" {
			w.Header().Set("Www-Authenticate", `Bearer error="insufficient_scope", scope="a b", `+
				`error_description="It lacks \"a\"."`)
			w.Header().Set("X-Amzn-Requestid", "id-1")
			w.WriteHeader(http.StatusForbidden)
			return
		}
		handler.ServeHTTP(w, r)
	}))
	t.Cleanup(gateway.Close)
	return gateway.URL
}

// A server may write for ever: what it says is given up before it fills the memory, and nothing waits for its end.
func TestEndlessAnswers(t *testing.T) {
	t.Parallel()
	for kind, begin := range map[string]string{"application/json": " ", "text/event-stream": "data: "} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", kind)
			_, err := io.WriteString(w, begin)
			for more := strings.Repeat(" ", 1<<20); err == nil; {
				_, err = io.WriteString(w, more)
			}
		}))
		_, err := Connect(t.Context(), Options{URL: server.URL})
		if err == nil || !strings.Contains(err.Error(), "no more is read") {
			t.Errorf("%s without an end: %v", kind, err)
		}
		server.Close()
	}
}

func text(text string) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}
}

// exact returns what a decoder into Go's own types would change.
func exact(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	result := text("one")
	result.Content = append(result.Content, &mcp.TextContent{Text: "two"})
	result.StructuredContent = json.RawMessage(`{"z":1.0,"a":12345678901234567890}`)
	return result, nil
}

func failing(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	result := text("no such thing")
	result.IsError = true
	result.Meta = mcp.Meta{ours.MetaFailure: map[string]string{"code": "no_such_thing"}, ours.MetaReplayed: true}
	return result, nil
}

func slow(ctx context.Context, request *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	for i := range 3 {
		if err := request.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{
			ProgressToken: request.Params.GetProgressToken(), Progress: float64(i + 1), Total: 3, Message: "step",
		}); err != nil {
			return nil, err
		}
	}
	return text("done"), nil
}

// curious asks whether it may run, and then what for.
func curious(_ context.Context, request *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	ask := func(property, kind string) *mcp.CallToolResult {
		return &mcp.CallToolResult{
			RequestState: property,
			InputRequests: mcp.InputRequestMap{"q": &mcp.ElicitParams{
				Mode: "form", Message: "about " + property,
				RequestedSchema: json.RawMessage(fmt.Sprintf(`{"type":"object","properties":{%q:{"type":%q}}}`, property, kind)),
			}},
		}
	}
	answer, _ := request.Params.InputResponses["q"].(*mcp.ElicitResult)
	switch {
	case answer == nil:
		return ask(confirmed, "boolean"), nil
	case answer.Action != Accept:
		return text("was told " + answer.Action), nil
	case request.Params.RequestState == confirmed:
		return ask("reason", "string"), nil
	}
	return text(fmt.Sprint("because ", answer.Content["reason"])), nil
}

func echo(_ context.Context, request *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	return text(fmt.Sprint(request.Params.Meta[ours.MetaIdempotencyKey], " ", string(request.Params.Arguments))), nil
}

func connect(t *testing.T, url string) *Client {
	t.Helper()
	client, err := Connect(t.Context(), Options{URL: url})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	return client
}

func call(t *testing.T, client *Client, call Call) Answer {
	t.Helper()
	answer, err := client.Call(t.Context(), call)
	if err != nil {
		t.Fatalf("%s: %v", call.Tool, err)
	}
	return answer
}

// What comes back is what was sent, whether as one JSON text or as a stream of events.
func TestCallsOfAnotherServer(t *testing.T) {
	t.Parallel()
	for name, options := range map[string]*mcp.StreamableHTTPOptions{
		"events": {Stateless: true}, "JSON": {Stateless: true, JSONResponse: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			client := connect(t, serve(t, options))
			if got := client.Server(); got.Name != "others" || got.Revision != ours.Version20260728 {
				t.Errorf("connected to %+v", got)
			}
			tools, err := client.Tools(t.Context())
			if err != nil || len(tools) != 6 {
				t.Errorf("got %d tools of all pages, %v", len(tools), err)
			}
			got := call(t, client, Call{Tool: "exact"})
			if got.Text != "one\ntwo" || string(got.Structured) != `{"z":1.0,"a":12345678901234567890}` || got.IsError ||
				len(got.Content) != 2 || !json.Valid(got.Result) {
				t.Errorf("got %+v, %s", got, got.Result)
			}
			got = call(t, client, Call{Tool: "failing"})
			if !got.IsError || got.Failure != "no_such_thing" || !got.Has(ours.MetaReplayed) || got.Has(ours.MetaDryRun) {
				t.Errorf("got %+v, %s", got, got.Result)
			}
			got = call(t, client, Call{Tool: "echo", Key: "k", Arguments: json.RawMessage(`{"n":1.50}`)})
			if got.Text != `k {"n":1.50}` {
				t.Errorf("the server got %s", got.Text)
			}
		})
	}
}

// All progress has been told when the result is there, for who counts it.
func TestProgress(t *testing.T) {
	t.Parallel()
	client := connect(t, serve(t, &mcp.StreamableHTTPOptions{Stateless: true}))
	var seen []Progress
	got := call(t, client, Call{Tool: "slow", Progress: func(report Progress) { seen = append(seen, report) }})
	if got.Reports != 3 || len(seen) != 3 || seen[2] != (Progress{3, 3, "step"}) || got.Text != "done" {
		t.Errorf("got %+v and %v", got, seen)
	}
}

func TestQuestions(t *testing.T) {
	t.Parallel()
	client := connect(t, serve(t, &mcp.StreamableHTTPOptions{Stateless: true}))
	var asked []string
	accept := func(_ context.Context, question Question) (Reply, error) {
		asked = append(asked, fmt.Sprintf("%s %v", question.Message, question.IsConfirmation()))
		if question.IsConfirmation() {
			return Confirm(), nil
		}
		return Reply{Action: Accept, Content: map[string]any{"reason": "I may"}}, nil
	}
	got := call(t, client, Call{Tool: "curious", Ask: accept})
	if got.Text != "because I may" || fmt.Sprint(asked) != "[about confirm true about reason false]" {
		t.Errorf("got %s after %q", got.Text, asked)
	}
	got = call(t, client, Call{Tool: "curious", Ask: func(context.Context, Question) (Reply, error) {
		return Reply{Action: Decline}, nil
	}})
	if got.Text != "was told decline" {
		t.Errorf("got %s", got.Text)
	}
	gone := errors.New("nobody is there")
	_, err := client.Call(t.Context(), Call{Tool: "curious", Ask: func(context.Context, Question) (Reply, error) {
		return Reply{}, gone
	}})
	if !errors.Is(err, gone) {
		t.Errorf("got %v", err)
	}
	if got = call(t, client, Call{Tool: "exact"}); got.IsError {
		t.Errorf("after a call that failed: %+v", got)
	}
}

// A refusal tells what the SDK's errors leave out, and the next call goes through.
func TestRefusals(t *testing.T) {
	t.Parallel()
	url := serve(t, &mcp.StreamableHTTPOptions{Stateless: true})
	client := connect(t, url)
	var refusal *Refusal
	_, err := client.Call(t.Context(), Call{Tool: "guarded"})
	if !errors.As(err, &refusal) {
		t.Fatalf("got %v", err)
	}
	want := Refusal{
		Status: 403, RequestID: "id-1", Challenge: Challenge{"insufficient_scope", `It lacks "a".`, "a b"},
	}
	if *refusal != want || !strings.Contains(err.Error(), "Scopes that are needed: a b.") {
		t.Errorf("got %+v: %v", *refusal, err)
	}
	_, err = client.Call(t.Context(), Call{Tool: "nothing"})
	if !errors.As(err, &refusal) || refusal.Code == 0 || !strings.Contains(refusal.Message, "nothing") {
		t.Errorf("got %v", err)
	}
	if got := call(t, client, Call{Tool: "exact"}); got.IsError {
		t.Errorf("after refusals: %+v", got)
	}
	_, err = Connect(t.Context(), Options{URL: url, Token: "wrong"})
	if !errors.As(err, &refusal) || refusal.Status != 401 || refusal.Message != "Unauthorized" {
		t.Errorf("got %v", err)
	}
	_, err = Connect(t.Context(), Options{URL: "127.0.0.1/mcp"})
	if err == nil || !strings.Contains(err.Error(), "allowed: ") {
		t.Errorf("got %v", err)
	}
}

func TestArguments(t *testing.T) {
	t.Parallel()
	tool := &mcp.Tool{Name: "search", InputSchema: json.RawMessage(`{"type": "object", "properties": {
		"zip": {"type": "string"}, "limit": {"type": "integer"}, "open": {"type": "boolean"}, "any": {},
		"to": {"type": ["array", "string"]}, "box": {"type": "object"}
	}, "additionalProperties": false}`)}
	for given, want := range map[string]string{
		"zip=94105": `{"zip":"94105"}`, "zip=true": `{"zip":"true"}`, "zip={": `{"zip":"{"}`, "zip=": `{"zip":""}`,
		"zip=[1]": `{"zip":"[1]"}`, "limit=5": `{"limit":5}`, "open=true": `{"open":true}`, "any=1": `{"any":1}`,
		"any=x": `{"any":"x"}`, "to=a": `{"to":"a"}`, `to=["a"]`: `{"to":["a"]}`, `box={"a":1}`: `{"box":{"a":1}}`,
		"zip=a=b": `{"zip":"a=b"}`,
		// What is wrong is said here only where it could not be sent.
		"limit=many": "limit of search is of type integer; allowed: JSON of it, as in limit=5",
		"limt=5":     "did you mean limit?", "nothing=5": "allowed: any, box, limit",
	} {
		argument, err := ParseArgument(given)
		if err != nil {
			t.Fatal(err)
		}
		got, err := Arguments(tool, nil, []Argument{argument})
		if err != nil {
			got = json.RawMessage(err.Error())
		}
		if string(got) != want && (err == nil || !strings.Contains(string(got), want)) {
			t.Errorf("%s: got %s, want %s", given, got, want)
		}
	}
	both, err := Arguments(tool, json.RawMessage(`{"limit":1}`), []Argument{{"zip", "x"}})
	if err != nil || string(both) != `{"limit":1,"zip":"x"}` {
		t.Errorf("got %s, %v", both, err)
	}
	if _, err := Arguments(tool, json.RawMessage(`{"limit":1}`), []Argument{{"limit", "2"}}); err == nil {
		t.Error("an argument that is given twice is taken")
	}
	if _, err := ParseArgument("zip"); err == nil {
		t.Error("an argument without a value is taken")
	}
}
