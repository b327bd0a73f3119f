package toolcall_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"patchbay/dispatcher/toolcall"
	"patchbay/shared/invoke"
	"patchbay/shared/jsonrpc"
	"patchbay/shared/mcp"
	"patchbay/shared/principal"
	"patchbay/shared/seal"
)

const askForm = `{"resultType":"input_required","inputRequests":{"who":{"method":"elicitation/create","params":{
	"mode":"form","message":"Who?","requestedSchema":{"type":"object",
	"properties":{"name":{"type":"string","minLength":2}},"required":["name"]}}}},"requestState":"tool state"}`

// rounds plays several rounds of one call against one sealer.
type rounds struct {
	*fixed
	caller *toolcall.Caller
}

func newRounds(t *testing.T, options seal.Options) *rounds {
	t.Helper()
	f := &fixed{entry: entry(t, `{}`)}
	return &rounds{f, toolcall.New(toolcall.Config{
		Catalogue: f, Functions: f, Sealer: seal.New(seal.NewRing(), options),
		ServerInfo: json.RawMessage(serverInfo), Log: slog.New(slog.DiscardHandler),
	})}
}

// call plays one round. A nil state sends none.
func (r *rounds) call(
	t *testing.T, state *string, responses string, change func(*toolcall.Request),
) (json.RawMessage, error) {
	t.Helper()
	request := &toolcall.Request{
		RequestID: "r", ProtocolVersion: mcp.Version20260728, Modern: true, Header: http.Header{},
		Params: mcp.Params{Name: "greet", HasName: true, Meta: mcp.Meta{ClientCapabilities: json.RawMessage(
			`{"elicitation":{"form":{},"url":{}},"sampling":{},"roots":{}}`)}},
		Deadline: time.Now().Add(time.Minute),
	}
	if state != nil {
		request.Params.RequestState, request.Params.HasState = *state, true
	}
	if responses != "" {
		request.Params.InputResponses = json.RawMessage(responses)
	}
	if change != nil {
		change(request)
	}
	return r.caller.Call(t.Context(), request)
}

// ask plays a first round and returns the sealed state.
func (r *rounds) ask(t *testing.T, change func(*toolcall.Request)) string {
	t.Helper()
	r.answer = askForm
	raw, err := r.call(t, nil, "", change)
	if err != nil {
		t.Fatal(err)
	}
	var result struct {
		ResultType    string
		RequestState  string
		InputRequests map[string]mcp.InputRequest
	}
	if err := json.Unmarshal(raw, &result); err != nil {
		t.Fatal(err)
	}
	if result.ResultType != "input_required" || result.InputRequests["who"].Method != "elicitation/create" ||
		strings.Contains(result.RequestState, "tool state") {
		t.Fatalf("got %s", raw)
	}
	return result.RequestState
}

// envelope is what the tool was sent last.
func (r *rounds) envelope(t *testing.T) invoke.Request {
	t.Helper()
	var request invoke.Request
	if err := json.Unmarshal(r.payload, &request); err != nil {
		t.Fatal(err)
	}
	return request
}

func TestRoundGoesOnWhereItStopped(t *testing.T) {
	t.Parallel()
	r := newRounds(t, seal.Options{})
	state := r.ask(t, nil)
	r.answer = `{"content":[],"structuredContent":{"n":1}}`
	responses := `{"who":{"action":"accept","content":{"name":"Ada"}},"extra":{"action":"accept"}}`
	if _, err := r.call(t, &state, responses, nil); err != nil {
		t.Fatal(err)
	}
	got := r.envelope(t)
	if got.State != "tool state" || string(got.InputResponses) != `{"who":{"action":"accept","content":{"name":"Ada"}}}` {
		t.Errorf("the tool got state %q and responses %s", got.State, got.InputResponses)
	}
}

// Answers that do not fit what was asked are left out, so that the tool asks again; a refusal is an answer.
func TestUnusableResponsesAreLeftOut(t *testing.T) {
	t.Parallel()
	for responses, want := range map[string]string{
		`{"who":{"action":"accept","content":{"name":"A"}}}`: `{}`,
		`{"who":{"action":"accept","content":{}}}`:           `{}`,
		`{"who":{"action":"accept"}}`:                        `{}`,
		`{"who":{"action":"perhaps"}}`:                       `{}`,
		`{"who":"Ada"}`:                                      `{}`,
		`{"who":null}`:                                       `{}`,
		`{"whom":{"action":"accept"}}`:                       `{}`,
		`{"who":{"action":"decline"}}`:                       `{"who":{"action":"decline"}}`,
		`{"who":{"action":"cancel"}}`:                        `{"who":{"action":"cancel"}}`,
		`{}`:                                                 `{}`,
	} {
		r := newRounds(t, seal.Options{})
		state := r.ask(t, nil)
		r.answer = askForm
		if _, err := r.call(t, &state, responses, nil); err != nil {
			t.Fatal(err)
		}
		if got := r.envelope(t); string(got.InputResponses) != want {
			t.Errorf("%s reached the tool as %s, want %s", responses, got.InputResponses, want)
		}
	}
}

// Without a state it is round one, whatever answers come along: they were never asked for.
func TestResponsesWithoutStateAreRoundOne(t *testing.T) {
	t.Parallel()
	r := newRounds(t, seal.Options{})
	r.answer = askForm
	if _, err := r.call(t, nil, `{"who":{"action":"accept","content":{"name":"Ada"}}}`, nil); err != nil {
		t.Fatal(err)
	}
	if got := r.envelope(t); got.InputResponses != nil || got.State != "" {
		t.Errorf("the tool got state %q and responses %s", got.State, got.InputResponses)
	}
}

// A state opens for the caller, tool and arguments that it was made for, and every other gets one message.
func TestStateOfAnotherCallOpensNothing(t *testing.T) {
	t.Parallel()
	now := time.Now()
	clock := func() time.Time { return now }
	var messages []string
	for name, change := range map[string]func(*rounds, *string, *toolcall.Request){
		"another caller": func(_ *rounds, _ *string, q *toolcall.Request) {
			q.Principal = principal.Principal{Subject: "eve"}
		},
		"another issuer": func(_ *rounds, _ *string, q *toolcall.Request) { q.Principal.Issuer = "i2" },
		"other arguments": func(_ *rounds, _ *string, q *toolcall.Request) {
			q.Params.Arguments = json.RawMessage(`{"who":"x"}`)
		},
		"altered":           func(_ *rounds, s *string, _ *toolcall.Request) { *s = (*s)[:len(*s)-2] + "AA" },
		"cut":               func(_ *rounds, s *string, _ *toolcall.Request) { *s = (*s)[:len(*s)/2] },
		"empty":             func(_ *rounds, s *string, _ *toolcall.Request) { *s = "" },
		"never made":        func(_ *rounds, s *string, _ *toolcall.Request) { *s = "tool state" },
		"of another server": func(r *rounds, _ *string, _ *toolcall.Request) { *r = *newRounds(t, seal.Options{}) },
		"expired":           func(*rounds, *string, *toolcall.Request) { now = now.Add(time.Hour) },
	} {
		now = time.Now()
		r := newRounds(t, seal.Options{Now: clock})
		who := func(q *toolcall.Request) { q.Principal = principal.Principal{Subject: "ada", Issuer: "i"} }
		state := r.ask(t, who)
		r.invoked = nil
		_, err := r.call(t, &state, `{}`, func(q *toolcall.Request) {
			who(q)
			change(r, &state, q)
			q.Params.RequestState = state
		})
		if !errors.Is(err, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams}) ||
			mcp.Status(err) != http.StatusBadRequest || len(r.invoked) > 0 {
			t.Errorf("%s: got %v after %v", name, err, r.invoked)
			continue
		}
		messages = append(messages, err.Error())
	}
	for _, message := range messages {
		if message != messages[0] {
			t.Errorf("%q tells more than %q", message, messages[0])
		}
	}
}

// What was asked under another contract may mean something else now: the call begins anew.
func TestContractChangedBetweenRounds(t *testing.T) {
	t.Parallel()
	r := newRounds(t, seal.Options{})
	state := r.ask(t, nil)
	r.entry = entry(t, `{"risk":"medium"}`)
	r.answer = askForm
	if _, err := r.call(t, &state, `{"who":{"action":"accept","content":{"name":"Ada"}}}`, nil); err != nil {
		t.Fatal(err)
	}
	if got := r.envelope(t); got.State != "" || got.InputResponses != nil {
		t.Errorf("the tool got state %q and responses %s", got.State, got.InputResponses)
	}
}

// Only what the client can answer is asked, and what it lacks is named as an object.
func TestOnlyDeclaredCapabilitiesAreAsked(t *testing.T) {
	t.Parallel()
	ask := func(request string) string {
		return fmt.Sprintf(`{"resultType":"input_required","inputRequests":{"k":%s}}`, request)
	}
	form := ask(`{"method":"elicitation/create","params":{"message":"m","requestedSchema":{"type":"object"}}}`)
	link := ask(`{"method":"elicitation/create","params":{"mode":"url","message":"m","url":"https://example.com/x"}}`)
	for name, test := range map[string]struct{ answer, declared, missing string }{
		"form, declared":         {form, `{"elicitation":{"form":{}}}`, ``},
		"form, empty means form": {form, `{"elicitation":{}}`, ``},
		"form, only url":         {form, `{"elicitation":{"url":{}}}`, `{"elicitation":{"form":{}}}`},
		"form, nothing":          {form, `{}`, `{"elicitation":{"form":{}}}`},
		"form, other kinds":      {form, `{"elicitation":true,"roots":[1]}`, `{"elicitation":{"form":{}}}`},
		"url, declared":          {link, `{"elicitation":{"url":{}}}`, ``},
		"url, empty means form":  {link, `{"elicitation":{}}`, `{"elicitation":{"url":{}}}`},
		"sampling":               {ask(`{"method":"sampling/createMessage","params":{}}`), `{"sampling":{}}`, ``},
		"sampling, nothing":      {ask(`{"method":"sampling/createMessage","params":{}}`), `{}`, `{"sampling":{}}`},
		"sampling with tools": {
			ask(`{"method":"sampling/createMessage","params":{"tools":[]}}`), `{"sampling":{}}`, `{"sampling":{"tools":{}}}`,
		},
		"roots":          {ask(`{"method":"roots/list"}`), `{"roots":{}}`, ``},
		"roots, nothing": {ask(`{"method":"roots/list"}`), `{"sampling":{}}`, `{"roots":{}}`},
	} {
		r := newRounds(t, seal.Options{})
		r.answer = test.answer
		_, err := r.call(t, nil, "", func(q *toolcall.Request) {
			q.Params.Meta.ClientCapabilities = json.RawMessage(test.declared)
		})
		if test.missing == "" {
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		var e *jsonrpc.Error
		if !errors.As(err, &e) || e.Code != mcp.CodeMissingCapability {
			t.Errorf("%s: got %v", name, err)
			continue
		}
		data, err := json.Marshal(e.Data)
		if want := `{"requiredCapabilities":` + test.missing + `}`; err != nil || string(data) != want {
			t.Errorf("%s: data is %s, want %s", name, data, want)
		}
	}
}

// A question that the protocol does not allow is a defect of the tool, and the client gets a clean error.
func TestBadQuestionsAreDefects(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]string{
		"nothing asked":  `{"resultType":"input_required"}`,
		"empty requests": `{"resultType":"input_required","inputRequests":{}}`,
		"no object":      `{"resultType":"input_required","inputRequests":[]}`,
		"unknown method": `{"resultType":"input_required","inputRequests":{"k":{"method":"tools/list"}}}`,
		"no method":      `{"resultType":"input_required","inputRequests":{"k":{}}}`,
		"form without schema": `{"resultType":"input_required","inputRequests":{"k":{"method":"elicitation/create",` +
			`"params":{"message":"m"}}}}`,
		"unsafe link": `{"resultType":"input_required","inputRequests":{"k":{"method":"elicitation/create",` +
			`"params":{"mode":"url","url":"javascript:alert(1)"}}}}`,
		"state no string": `{"resultType":"input_required","requestState":{}}`,
		"state too large": `{"resultType":"input_required","requestState":"` + strings.Repeat("x", 32<<10) + `"}`,
	} {
		r := newRounds(t, seal.Options{})
		r.answer = answer
		raw, err := r.call(t, nil, "", nil)
		if err != nil || !strings.Contains(string(raw), `"isError":true`) || !strings.Contains(string(raw), "own contract") {
			t.Errorf("%s: got %s, %v", name, raw, err)
		}
	}
}

func TestAStateAloneIsAQuestion(t *testing.T) {
	t.Parallel()
	r := newRounds(t, seal.Options{})
	r.answer = `{"resultType":"input_required","requestState":"again"}`
	raw, err := r.call(t, nil, "", func(q *toolcall.Request) { q.Params.Meta.ClientCapabilities = json.RawMessage(`{}`) })
	if err != nil || strings.Contains(string(raw), "inputRequests") || !strings.Contains(string(raw), "requestState") {
		t.Errorf("got %s, %v", raw, err)
	}
}

func TestEarlierRevisionsCannotBeAsked(t *testing.T) {
	t.Parallel()
	r := newRounds(t, seal.Options{})
	r.answer = askForm
	raw, err := r.call(t, nil, "", func(q *toolcall.Request) { q.Modern, q.ProtocolVersion = false, mcp.Version20251125 })
	if err != nil || !strings.Contains(string(raw), mcp.Version20260728) ||
		!strings.Contains(string(raw), `"isError":true`) {
		t.Errorf("got %s, %v", raw, err)
	}
}
