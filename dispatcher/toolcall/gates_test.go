package toolcall_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"patchbay/dispatcher/toolcall"
	"patchbay/shared/jsonrpc"
	"patchbay/shared/mcp"
	"patchbay/shared/principal"
)

const confirmed = `{"risk":"critical","autonomous":false,"confirmation":"always","sideEffects":["Sends the greeting.",
	"A repeat sends it again."],"auditEvent":"greeting.sent","execution":{"timeoutSeconds":3}}`

// forms declares that the client can be asked.
func forms(q *toolcall.Request) {
	q.Params.Meta.ClientCapabilities = json.RawMessage(`{"elicitation":{"form":{}}}`)
}

// asked is a confirmation on its way to a person.
type asked struct {
	ResultType    string
	RequestState  string
	InputRequests map[string]struct{ Params struct{ Message string } }
}

func (r *recorded) askFor(t *testing.T, key, arguments string, change func(*toolcall.Request)) asked {
	t.Helper()
	raw, err := r.ask(t, key, arguments, func(q *toolcall.Request) {
		forms(q)
		if change != nil {
			change(q)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	var question asked
	if err := json.Unmarshal([]byte(raw), &question); err != nil || question.ResultType != "input_required" {
		t.Fatalf("got %s, %v", raw, err)
	}
	return question
}

// answer sends the call again with a person's answer.
func (r *recorded) answerWith(
	t *testing.T, state, response, arguments string, change func(*toolcall.Request),
) (string, error) {
	t.Helper()
	return r.ask(t, "", arguments, func(q *toolcall.Request) {
		forms(q)
		q.Params.RequestState, q.Params.HasState = state, true
		q.Params.InputResponses = json.RawMessage(fmt.Sprintf(`{"patchbay_confirmation":%s}`, response))
		if change != nil {
			change(q)
		}
	})
}

const yes = `{"action":"accept","content":{"confirm":true}}`

func TestConfirmation(t *testing.T) {
	t.Parallel()
	r := newRecorded(t, confirmed, 2, nil)
	question := r.askFor(t, "", `{"who":"Ada"}`, nil)
	message := question.InputRequests["patchbay_confirmation"].Params.Message
	for _, part := range []string{"greet", "critical", "who: Ada", "Sends the greeting.", "A repeat sends it again."} {
		if !strings.Contains(message, part) {
			t.Errorf("the question does not say %q: %s", part, message)
		}
	}
	if r.runs.Load() != 0 {
		t.Fatal("ran before it was confirmed")
	}
	for i, replayed := range []bool{false, true, true} {
		got, err := r.answerWith(t, question.RequestState, yes, `{"who":"Ada"}`, nil)
		if err != nil || !strings.Contains(got, `{"n":1}`) || strings.Contains(got, "replayed") != replayed {
			t.Errorf("redeemed %d times: got %s, %v", i, got, err)
		}
	}
	if r.runs.Load() != 1 {
		t.Errorf("one confirmation ran the tool %d times", r.runs.Load())
	}
}

// A confirmation is redeemed once, however many instances try at once.
func TestConfirmationIsRedeemedOnce(t *testing.T) {
	t.Parallel()
	r := newRecorded(t, confirmed, 3, nil)
	question := r.askFor(t, "", `{}`, nil)
	var group sync.WaitGroup
	for i := range 20 {
		group.Go(func() {
			q := &toolcall.Request{
				RequestID: "r", ProtocolVersion: mcp.Version20260728, Modern: true, Header: http.Header{},
				Params: mcp.Params{
					Name: "greet", HasName: true, Arguments: json.RawMessage(`{}`),
					RequestState: question.RequestState, HasState: true,
					InputResponses: json.RawMessage(`{"patchbay_confirmation":` + yes + `}`),
				},
				Deadline: time.Now().Add(time.Minute),
			}
			got, err := r.callers[i%len(r.callers)].Call(t.Context(), q)
			if err != nil || !strings.Contains(string(got), `{"n":1}`) {
				t.Errorf("got %s, %v", got, err)
			}
		})
	}
	group.Wait()
	if r.runs.Load() != 1 {
		t.Errorf("one confirmation ran the tool %d times", r.runs.Load())
	}
}

func TestUnconfirmedCallsDoNotRun(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		response, arguments string
		change              func(*toolcall.Request)
		says                string
		code                int
	}{
		"declined":        {`{"action":"decline"}`, `{"who":"Ada"}`, nil, "declined", 0},
		"cancelled":       {`{"action":"cancel"}`, `{"who":"Ada"}`, nil, "without an answer", 0},
		"box left empty":  {`{"action":"accept","content":{"confirm":false}}`, `{"who":"Ada"}`, nil, "declined", 0},
		"no answer":       {`{"action":"accept"}`, `{"who":"Ada"}`, nil, "input_required", 0},
		"nonsense":        {`7`, `{"who":"Ada"}`, nil, "input_required", 0},
		"other arguments": {yes, `{"who":"Eve"}`, nil, "", jsonrpc.CodeInvalidParams},
		"another caller": {yes, `{"who":"Ada"}`, func(q *toolcall.Request) {
			q.Principal = principal.Principal{Subject: "eve"}
		}, "", jsonrpc.CodeInvalidParams},
		"altered": {yes, `{"who":"Ada"}`, func(q *toolcall.Request) {
			q.Params.RequestState += "A"
		}, "", jsonrpc.CodeInvalidParams},
		"state left out": {yes, `{"who":"Ada"}`, func(q *toolcall.Request) {
			q.Params.HasState = false
		}, "input_required", 0},
		"cannot be asked": {yes, `{"who":"Ada"}`, func(q *toolcall.Request) {
			q.Params.HasState = false
			q.Params.Meta.ClientCapabilities = json.RawMessage(`{}`)
		}, "", mcp.CodeMissingCapability},
		"earlier revision": {yes, `{"who":"Ada"}`, func(q *toolcall.Request) { q.Modern = false }, "can confirm it", 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRecorded(t, confirmed, 1, nil)
			question := r.askFor(t, "", `{"who":"Ada"}`, nil)
			got, err := r.answerWith(t, question.RequestState, test.response, test.arguments, test.change)
			var e *jsonrpc.Error
			if refused := errors.As(err, &e); refused != (test.code != 0) || (refused && e.Code != test.code) {
				t.Errorf("got %s, %v, want code %d", got, err, test.code)
			}
			if !strings.Contains(got, test.says) {
				t.Errorf("got %s, want %q", got, test.says)
			}
			if r.runs.Load() != 0 {
				t.Error("the tool ran")
			}
		})
	}
}

// What was agreed to under another contract is asked again.
func TestConfirmationUnderAnotherContract(t *testing.T) {
	t.Parallel()
	r := newRecorded(t, confirmed, 1, nil)
	question := r.askFor(t, "", `{}`, nil)
	r.entry = entry(t, strings.Replace(confirmed, "Sends the greeting.", "Burns the house down.", 1))
	got, err := r.answerWith(t, question.RequestState, yes, `{}`, nil)
	if err != nil || !strings.Contains(got, "Burns the house down.") || r.runs.Load() != 0 {
		t.Errorf("got %s, %v after %d runs", got, err, r.runs.Load())
	}
}

// A caller's own key is the key also where a person confirms: the same wish, confirmed twice, runs once.
func TestConfirmationWithOwnKey(t *testing.T) {
	t.Parallel()
	keyRequired := strings.Replace(confirmed, `"auditEvent"`,
		`"idempotency":{"mode":"key","ttl":"1h","whenAbsent":"refuse"},"auditEvent"`, 1)
	r := newRecorded(t, keyRequired, 1, nil)
	first, second := r.askFor(t, "wish", `{}`, nil), r.askFor(t, "wish", `{}`, nil)
	for i, state := range []string{first.RequestState, second.RequestState} {
		if got, err := r.answerWith(t, state, yes, `{}`, nil); err != nil || !strings.Contains(got, `{"n":1}`) {
			t.Errorf("confirmation %d: got %s, %v", i, got, err)
		}
	}
	// Without a key the nonce is one, so that whenAbsent does not refuse.
	third := r.askFor(t, "", `{}`, nil)
	if got, err := r.answerWith(t, third.RequestState, yes, `{}`, nil); err != nil || !strings.Contains(got, `{"n":2}`) {
		t.Errorf("without a key: got %s, %v", got, err)
	}
}

func TestConfirmationShowsNoSecretsAndNoDisguise(t *testing.T) {
	t.Parallel()
	r := newRecorded(t, confirmed, 1, nil)
	r.entry.Tool.Input = json.RawMessage(`{"type":"object","properties":{"password":{"type":"string","format":"password"},
		"deep":{"type":"object","properties":{"pin":{"type":"string","writeOnly":true}}},
		"by_ref":{"$ref":"#/$defs/key"},"text":{"type":"string"},"long":{"type":"string"}},
		"$defs":{"key":{"type":"string","writeOnly":true}}}`)
	question := r.askFor(t, "", `{"password":"hunter2","deep":{"pin":"1234"},"by_ref":"k3y",`+
		`"text":"a\nb\u202ec\u0007","long":"`+strings.Repeat("x", 1000)+`"}`, nil)
	message := question.InputRequests["patchbay_confirmation"].Params.Message
	for _, hidden := range []string{"hunter2", "1234", "k3y", "\u202e", "\u0007", strings.Repeat("x", 400)} {
		if strings.Contains(message, hidden) {
			t.Errorf("shows %q: %s", hidden, message)
		}
	}
	for _, shown := range []string{"text: a ⏎ bc", "1000 characters in all"} {
		if !strings.Contains(message, shown) {
			t.Errorf("does not show %q: %s", shown, message)
		}
	}
}

// An input request of the tool after the confirmation: what was agreed to and the key travel on.
func TestRoundsAfterAConfirmation(t *testing.T) {
	t.Parallel()
	r := newRecorded(t, confirmed, 2, nil)
	r.answer = func(run int64) ([]byte, error) {
		if run == 1 {
			return []byte(`{"resultType":"input_required","requestState":"s"}`), nil
		}
		return numbered(run)
	}
	question := r.askFor(t, "", `{}`, nil)
	asks, err := r.answerWith(t, question.RequestState, yes, `{}`, nil)
	if err != nil {
		t.Fatal(err)
	}
	var round asked
	if err := json.Unmarshal([]byte(asks), &round); err != nil {
		t.Fatal(err)
	}
	for i := range 2 {
		got, err := r.answerWith(t, round.RequestState, yes, `{}`, nil)
		if err != nil || !strings.Contains(got, `{"n":2}`) {
			t.Errorf("time %d: got %s, %v", i, got, err)
		}
	}
	if r.runs.Load() != 2 {
		t.Errorf("the tool was started %d times, want once to ask and once to act", r.runs.Load())
	}
}

const (
	dryRunFirst = `{"dryRun":"required","execution":{"timeoutSeconds":3}}`
	dryRunMay   = `{"dryRun":"supported","idempotency":{"mode":"arguments","ttl":"1h"},"execution":{"timeoutSeconds":3}}`
)

func newDryRun(t *testing.T, contract string) *recorded {
	t.Helper()
	r := newRecorded(t, contract, 2, nil)
	r.entry.Tool.Input = json.RawMessage(`{"type":"object","properties":{"who":{"type":"string"},
		"dryRun":{"type":"boolean","default":false}},"additionalProperties":false}`)
	return r
}

func TestDryRunRequired(t *testing.T) {
	t.Parallel()
	r := newDryRun(t, dryRunFirst)
	steps := []struct {
		name, arguments, says string
		runs                  int64
	}{
		{"without a dry run", `{"who":"a"}`, "only after a dry run", 0},
		{"dry run", `{"who":"a","dryRun":true}`, `"dev.patchbay/dryRun":true`, 1},
		{"other arguments", `{"who":"b"}`, "only after a dry run", 1},
		{"real call", `{"dryRun":false,"who":"a"}`, `{"n":2}`, 2},
		{"sent again", `{"who":"a"}`, `"dev.patchbay/replayed":true`, 2},
		{"another dry run", `{"who":"a","dryRun":true}`, `{"n":3}`, 3},
		{"another real call", `{"who":"a"}`, `{"n":4}`, 4},
	}
	for _, step := range steps {
		got, err := r.ask(t, "", step.arguments, nil)
		if err != nil || !strings.Contains(got, step.says) || r.runs.Load() != step.runs {
			t.Fatalf("%s: got %s, %v after %d runs, want %q and %d", step.name, got, err, r.runs.Load(), step.says, step.runs)
		}
	}
	_, err := r.ask(t, "", `{"who":"a"}`, func(q *toolcall.Request) {
		q.Principal = principal.Principal{Subject: "eve"}
	})
	if err != nil || r.runs.Load() != 4 {
		t.Errorf("another caller's dry run counts: %v after %d runs", err, r.runs.Load())
	}
}

// One dry run allows one real call, also under two keys.
func TestReceiptIsUsedUp(t *testing.T) {
	t.Parallel()
	r := newDryRun(t, dryRunFirst)
	for _, step := range []struct{ key, arguments, says string }{
		{"", `{"dryRun":true}`, `{"n":1}`},
		{"k1", `{}`, `{"n":2}`},
		{"k1", `{}`, `"dev.patchbay/replayed":true`},
		{"k2", `{}`, "already been followed"},
		{"", `{"dryRun":true}`, `{"n":3}`},
		{"k2", `{}`, `{"n":4}`},
	} {
		if got, err := r.ask(t, step.key, step.arguments, nil); err != nil || !strings.Contains(got, step.says) {
			t.Fatalf("%q %s: got %s, %v, want %s", step.key, step.arguments, got, err, step.says)
		}
	}
}

// A dry run that failed allows nothing.
func TestFailedDryRunLeavesNoReceipt(t *testing.T) {
	t.Parallel()
	r := newDryRun(t, dryRunFirst)
	r.answer = func(int64) ([]byte, error) { return failure("no"), nil }
	if _, err := r.ask(t, "", `{"dryRun":true}`, nil); err != nil {
		t.Fatal(err)
	}
	got, err := r.ask(t, "", `{}`, nil)
	if err != nil || !strings.Contains(got, "only after a dry run") || r.runs.Load() != 1 {
		t.Errorf("got %s, %v after %d runs", got, err, r.runs.Load())
	}
}

func TestDryRunSupportedTakesNoKey(t *testing.T) {
	t.Parallel()
	r := newDryRun(t, dryRunMay)
	for i, arguments := range []string{`{"dryRun":true}`, `{"dryRun":true}`, `{}`, `{"dryRun":false}`} {
		want := fmt.Sprintf(`{"n":%d}`, min(i+1, 3))
		if got, err := r.ask(t, "", arguments, nil); err != nil || !strings.Contains(got, want) {
			t.Errorf("%s: got %s, %v, want %s", arguments, got, err, want)
		}
	}
}

// Only runs are charged: replays, refusals and questions are free.
func TestRateLimit(t *testing.T) {
	t.Parallel()
	r := newRecorded(t, `{"idempotency":{"mode":"key","ttl":"1h"},"rateLimit":{"calls":2,"perSeconds":86400}}`, 2, nil)
	for i, step := range []struct{ key, says string }{
		{"k1", `{"n":1}`}, {"k1", "replayed"}, {"k1", "replayed"}, {"k2", `{"n":2}`},
		{"k3", "Try again in"}, {"k3", "Try again in"}, {"k2", "replayed"},
	} {
		if got, err := r.ask(t, step.key, `{}`, nil); err != nil || !strings.Contains(got, step.says) {
			t.Errorf("call %d: got %s, %v, want %s", i, got, err, step.says)
		}
	}
	got, err := r.ask(t, "k3", `{}`, func(q *toolcall.Request) { q.Principal = principal.Principal{Subject: "u"} })
	if err != nil || !strings.Contains(got, `{"n":3}`) {
		t.Errorf("another caller: got %s, %v", got, err)
	}
	got, err = r.ask(t, "k4", `{}`, func(q *toolcall.Request) { q.SourceIP = "192.0.2.1" })
	if err != nil || !strings.Contains(got, `{"n":4}`) {
		t.Errorf("another address: got %s, %v", got, err)
	}
}

// The audit tells who did what and how it ended, and never what the arguments were.
func TestAudit(t *testing.T) {
	t.Parallel()
	r := newRecorded(t, confirmed, 1, nil)
	var log bytes.Buffer
	r.callers[0].Audit = slog.New(slog.NewJSONHandler(&log, nil))
	question := r.askFor(t, "", `{"who":"sekrit"}`, nil)
	if _, err := r.answerWith(t, question.RequestState, yes, `{"who":"sekrit"}`, nil); err != nil {
		t.Fatal(err)
	}
	var outcomes []string
	for line := range strings.Lines(log.String()) {
		var record map[string]any
		if err := json.Unmarshal([]byte(line), &record); err != nil {
			t.Fatal(err)
		}
		if record["msg"] != "greeting.sent" || record["principal"] != "anonymous" || record["tool"] != "greet" ||
			record["risk"] != "critical" || len(record["arguments"].(string)) != 64 {
			t.Errorf("got %v", record)
		}
		outcomes = append(outcomes, record["outcome"].(string))
	}
	got, want := fmt.Sprint(outcomes), "[input_required attempt ok]"
	if got != want || strings.Contains(log.String(), "sekrit") {
		t.Errorf("outcomes %s, want %s: %s", got, want, &log)
	}
}

// A call that panics leaves its records too.
func TestPanicIsRecorded(t *testing.T) {
	t.Parallel()
	r := newRecorded(t, `{"auditEvent":"greeting.sent"}`, 1, nil)
	var log, audit bytes.Buffer
	r.callers[0].Log = slog.New(slog.NewJSONHandler(&log, nil))
	r.callers[0].Audit = slog.New(slog.NewJSONHandler(&audit, nil))
	r.answer = func(int64) ([]byte, error) { panic("broken") }
	func() {
		defer func() {
			if recover() == nil {
				t.Error("the panic was swallowed")
			}
		}()
		_, _ = r.ask(t, "", `{}`, nil)
	}()
	for _, text := range []string{log.String(), audit.String()} {
		if !strings.Contains(text, `"outcome":"panic"`) {
			t.Errorf("recorded %s", text)
		}
	}
}

// A tool that acts when it is only asked what it would do has a defect, and the log says so.
func TestSideEffectsOfADryRunAreLogged(t *testing.T) {
	t.Parallel()
	r := newDryRun(t, dryRunMay)
	var log bytes.Buffer
	for _, caller := range r.callers {
		caller.Log = slog.New(slog.NewJSONHandler(&log, nil))
	}
	r.answer = func(int64) ([]byte, error) {
		return []byte(`{"content":[],"structuredContent":{"n":1},"_meta":{"dev.patchbay/sideEffects":["sent a mail"]}}`), nil
	}
	for arguments, defect := range map[string]bool{`{"dryRun":true}`: true, `{}`: false} {
		log.Reset()
		if _, err := r.ask(t, "", arguments, nil); err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(log.String(), "side effects of a dry run"); got != defect {
			t.Errorf("%s: logged %v: %s", arguments, got, &log)
		}
	}
}
