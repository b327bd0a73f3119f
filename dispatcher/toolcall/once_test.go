package toolcall_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"patchbay/dispatcher/function"
	"patchbay/dispatcher/ratelimit"
	"patchbay/dispatcher/toolcall"
	"patchbay/scripts/localdb/localdbtest"
	"patchbay/shared/invoke"
	"patchbay/shared/jsonrpc"
	"patchbay/shared/ledger"
	"patchbay/shared/mcp"
	"patchbay/shared/principal"
	"patchbay/shared/registry"
	"patchbay/shared/seal"
)

var engine localdbtest.Engine

func TestMain(m *testing.M) { engine.Main(m, os.Getenv) }

// counting is one tool whose every run is an effect that counts. It is safe for concurrent use.
type counting struct {
	entry  *registry.Entry
	runs   atomic.Int64
	answer func(run int64) ([]byte, error)
}

func (f *counting) Lookup(context.Context, string) (*registry.Entry, error) { return f.entry, nil }
func (f *counting) Refresh(context.Context) error                           { return nil }

func (f *counting) Invoke(context.Context, string, []byte) ([]byte, error) {
	return f.answer(f.runs.Add(1))
}

func (f *counting) Stream(
	ctx context.Context, name string, payload []byte, progress func(invoke.Progress),
) ([]byte, error) {
	progress(invoke.Progress{Progress: 1})
	return f.Invoke(ctx, name, payload)
}

// numbered answers with the number of the run.
func numbered(run int64) ([]byte, error) {
	return fmt.Appendf(nil, `{"content":[],"structuredContent":{"n":%d}}`, run), nil
}

const (
	keyed      = `{"idempotency":{"mode":"key","whenAbsent":"run","ttl":"1h"},"execution":{"timeoutSeconds":3}}`
	mustBeKey  = `{"idempotency":{"mode":"key","whenAbsent":"refuse","ttl":"1h"},"execution":{"timeoutSeconds":3}}`
	byArgument = `{"idempotency":{"mode":"key","keyArgument":"who","whenAbsent":"run","ttl":"1h"},` +
		`"execution":{"timeoutSeconds":3}}`
	same = `{"idempotency":{"mode":"arguments","ttl":"1h"},"execution":{"timeoutSeconds":3}}`
)

// recorded is a tool under a contract, called through several dispatchers that share one ledger.
type recorded struct {
	*counting
	callers []*toolcall.Caller
}

func newRecorded(t *testing.T, contract string, dispatchers int, wrap func(*dynamodb.Client) ledger.DB) *recorded {
	t.Helper()
	table := strings.NewReplacer("/", "-", "#", "-", ",", "-", " ", "-").Replace(t.Name())
	client := engine.Client(t)
	if err := ledger.CreateTable(t.Context(), client, table); err != nil {
		t.Fatal(err)
	}
	r := &recorded{counting: &counting{entry: entry(t, contract), answer: numbered}}
	ring := seal.NewRing()
	for range dispatchers {
		var db ledger.DB = client
		if wrap != nil {
			db = wrap(client)
		}
		r.callers = append(r.callers, toolcall.New(toolcall.Config{
			Catalogue: r, Functions: r, Sealer: seal.New(ring, seal.Options{}), Ledger: ledger.New(db, table, ledger.Options{}),
			Limiter:    ratelimit.New(client, table),
			ServerInfo: json.RawMessage(serverInfo), Log: slog.New(slog.DiscardHandler),
		}))
	}
	return r
}

// ask makes a call with a key in the header, unless it is empty.
func (r *recorded) ask(t *testing.T, key, arguments string, change func(*toolcall.Request)) (string, error) {
	request := &toolcall.Request{
		RequestID: "r", ProtocolVersion: mcp.Version20260728, Modern: true, Header: http.Header{},
		Params:   mcp.Params{Name: "greet", HasName: true, Arguments: json.RawMessage(arguments)},
		Deadline: time.Now().Add(time.Minute),
	}
	if key != "" {
		request.Header.Set("Idempotency-Key", key)
	}
	if change != nil {
		change(request)
	}
	raw, err := r.callers[int(r.runs.Load())%len(r.callers)].Call(t.Context(), request)
	return string(raw), err
}

func TestARepeatGetsTheRecordedResult(t *testing.T) {
	t.Parallel()
	r := newRecorded(t, keyed, 2, nil)
	first, err := r.ask(t, "k1", `{}`, nil)
	if err != nil || strings.Contains(first, "replayed") {
		t.Fatalf("got %s, %v", first, err)
	}
	for name, change := range map[string]func(*toolcall.Request){
		"the same way":       nil,
		"as a quoted header": func(q *toolcall.Request) { q.Header.Set("Idempotency-Key", `"k1"`) },
		"in _meta": func(q *toolcall.Request) {
			q.Header.Del("Idempotency-Key")
			q.Params.Meta.IdempotencyKey, q.Params.Meta.HasIdempotencyKey = "k1", true
		},
		"in both": func(q *toolcall.Request) {
			q.Params.Meta.IdempotencyKey, q.Params.Meta.HasIdempotencyKey = "k1", true
		},
		"spelled differently": func(q *toolcall.Request) { q.Params.Arguments = json.RawMessage(` { } `) },
		"with progress": func(q *toolcall.Request) {
			q.Progress = func(invoke.Progress) { t.Error("a replay reports progress") }
		},
	} {
		got, err := r.ask(t, "k1", `{}`, change)
		if err != nil || !strings.Contains(got, `"structuredContent":{"n":1}`) ||
			!strings.Contains(got, `"dev.patchbay/replayed":true`) {
			t.Errorf("%s: got %s, %v", name, got, err)
		}
	}
	got, err := r.ask(t, "k1", `{}`, func(q *toolcall.Request) { q.Modern = false })
	want := `{"content":[],"structuredContent":{"n":1},"_meta":{"dev.patchbay/replayed":true}}`
	if err != nil || got != want {
		t.Errorf("an earlier revision: got %s, %v, want %s", got, err, want)
	}
	if r.runs.Load() != 1 {
		t.Errorf("the tool ran %d times", r.runs.Load())
	}
}

func TestOtherCallersToolsAndKeysRunAnew(t *testing.T) {
	t.Parallel()
	r := newRecorded(t, keyed, 1, nil)
	for i, change := range []func(*toolcall.Request){
		nil,
		func(q *toolcall.Request) { q.Principal = principal.Principal{Subject: "ada", Issuer: "i"} },
		func(q *toolcall.Request) { q.Principal = principal.Principal{Subject: "ada", Issuer: "j"} },
		func(q *toolcall.Request) { q.Header.Set("Idempotency-Key", "k2") },
		func(q *toolcall.Request) { q.Header.Del("Idempotency-Key") },
		func(q *toolcall.Request) { q.Header.Del("Idempotency-Key") },
	} {
		got, err := r.ask(t, "k1", `{}`, change)
		if want := fmt.Sprintf(`{"n":%d}`, i+1); err != nil || !strings.Contains(got, want) {
			t.Errorf("call %d: got %s, %v, want %s", i, got, err, want)
		}
	}
}

func TestSameKeyWithOtherArgumentsIsRefused(t *testing.T) {
	t.Parallel()
	r := newRecorded(t, keyed, 1, nil)
	if _, err := r.ask(t, "k1", `{"who":"a"}`, nil); err != nil {
		t.Fatal(err)
	}
	got, err := r.ask(t, "k1", `{"who":"b"}`, nil)
	if err != nil || !strings.Contains(got, `"isError":true`) || !strings.Contains(got, "other arguments") ||
		r.runs.Load() != 1 {
		t.Errorf("got %s, %v after %d runs", got, err, r.runs.Load())
	}
}

func TestModeArguments(t *testing.T) {
	t.Parallel()
	r := newRecorded(t, same, 1, nil)
	for i, test := range []struct{ key, arguments, want string }{
		{"", `{"who":"a"}`, `{"n":1}`},
		{"", `{ "who" : "\u0061" }`, `{"n":1}`},
		{"", `{"who":"b"}`, `{"n":2}`},
		{"own", `{"who":"b"}`, `{"n":3}`},
		{"own", `{"who":"b"}`, `{"n":3}`},
	} {
		got, err := r.ask(t, test.key, test.arguments, nil)
		if err != nil || !strings.Contains(got, test.want) {
			t.Errorf("call %d: got %s, %v, want %s", i, got, err, test.want)
		}
	}
}

func TestKeyArgument(t *testing.T) {
	t.Parallel()
	r := newRecorded(t, byArgument, 1, nil)
	for i, want := range []string{`{"n":1}`, `{"n":1}`} {
		if got, err := r.ask(t, "", `{"who":"key-1"}`, nil); err != nil || !strings.Contains(got, want) {
			t.Errorf("call %d: got %s, %v", i, got, err)
		}
	}
	_, err := r.ask(t, "another", `{"who":"key-1"}`, nil)
	if !errors.Is(err, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams}) {
		t.Errorf("two keys that differ: %v", err)
	}
}

func TestMalformedKeysAreRefused(t *testing.T) {
	t.Parallel()
	r := newRecorded(t, keyed, 1, nil)
	for name, key := range map[string]string{
		"empty":              "",
		"too long":           strings.Repeat("k", 256),
		"control characters": "a\x01b",
	} {
		_, err := r.ask(t, "", `{}`, func(q *toolcall.Request) {
			q.Params.Meta.IdempotencyKey, q.Params.Meta.HasIdempotencyKey = key, true
		})
		if !errors.Is(err, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams}) || mcp.Status(err) != http.StatusBadRequest {
			t.Errorf("%s: got %v", name, err)
		}
	}
	if r.runs.Load() != 0 {
		t.Errorf("the tool ran %d times", r.runs.Load())
	}
}

func TestWithoutKeyWhereOneIsNeeded(t *testing.T) {
	t.Parallel()
	r := newRecorded(t, mustBeKey, 1, nil)
	got, err := r.ask(t, "", `{}`, nil)
	if err != nil || !strings.Contains(got, "Idempotency-Key") || !strings.Contains(got, `"isError":true`) ||
		r.runs.Load() != 0 {
		t.Errorf("got %s, %v after %d runs", got, err, r.runs.Load())
	}
}

// Many duplicates at once, through several dispatchers: one effect, and one result for all.
func TestDuplicatesAtOnce(t *testing.T) {
	t.Parallel()
	r := newRecorded(t, keyed, 3, nil)
	r.answer = func(run int64) ([]byte, error) {
		time.Sleep(300 * time.Millisecond)
		return numbered(run)
	}
	var group sync.WaitGroup
	for i := range 30 {
		group.Go(func() {
			request := &toolcall.Request{
				RequestID: "r", ProtocolVersion: mcp.Version20260728, Modern: true,
				Header:   http.Header{"Idempotency-Key": {"k"}},
				Params:   mcp.Params{Name: "greet", HasName: true, Arguments: json.RawMessage(`{}`)},
				Deadline: time.Now().Add(time.Minute),
			}
			got, err := r.callers[i%len(r.callers)].Call(t.Context(), request)
			if err != nil || !strings.Contains(string(got), `"structuredContent":{"n":1}`) {
				t.Errorf("got %s, %v", got, err)
			}
		})
	}
	group.Wait()
	if r.runs.Load() != 1 {
		t.Errorf("the tool ran %d times", r.runs.Load())
	}
}

// What a run leaves behind decides what a repeat gets.
func TestOutcomes(t *testing.T) {
	t.Parallel()
	crash := &function.Failure{Type: "Unhandled", Payload: `{"errorType":"Runtime.ExitError"}`}
	for name, test := range map[string]struct {
		first []byte
		err   error
		// repeat is what the same call gets afterwards; runs is how often the tool has run by then.
		repeat string
		runs   int64
		// ledger is what the first call's line says of its record.
		ledger string
	}{
		"throttled":           {nil, function.ErrThrottled, `{"n":2}`, 2, "released"},
		"event too large":     {nil, function.ErrTooLarge, `{"n":2}`, 2, "released"},
		"crash":               {nil, crash, "nobody knows how it ended", 1, "unknown"},
		"broken connection":   {nil, function.ErrUnknown, "is running already", 1, "open"},
		"deadline":            {nil, function.ErrDeadline, "is running already", 1, "open"},
		"declared, no effect": {failure("refused"), nil, `{"n":2}`, 2, "released"},
		"declared, unknown":   {failure("half_done"), nil, "half_done", 1, "recorded"},
		"undeclared":          {failure("invented"), nil, "invented", 1, "recorded"},
		"its own error": {
			[]byte(`{"content":[{"type":"text","text":"no"}],"isError":true}`), nil, `"text":"no"`, 1, "recorded",
		},
		"breaks its contract": {[]byte(`{"content":[]}`), nil, "breaks its own contract", 1, "recorded"},
		"not JSON":            {[]byte(`nonsense`), nil, "breaks its own contract", 1, "recorded"},
		"asks for input":      {[]byte(`{"resultType":"input_required","requestState":"s"}`), nil, `{"n":2}`, 2, "released"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRecorded(t, `{"idempotency":{"mode":"key","whenAbsent":"run","ttl":"1h"},"execution":{"timeoutSeconds":3},
				"failureModes":[
					{"code":"refused","description":"d","effect":"none"},
					{"code":"half_done","description":"d","effect":"unknown"}]}`, 1, nil)
			r.answer = func(run int64) ([]byte, error) {
				if run == 1 {
					return test.first, test.err
				}
				return numbered(run)
			}
			var log bytes.Buffer
			r.callers[0].Log = slog.New(slog.NewJSONHandler(&log, nil))
			if _, err := r.ask(t, "k", `{}`, nil); err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(log.String(), `"ledger":"`+test.ledger+`"`) {
				t.Errorf("want the record to be %s: %s", test.ledger, &log)
			}
			log.Reset()
			got, err := r.ask(t, "k", `{}`, func(q *toolcall.Request) { q.Deadline = time.Now().Add(time.Second) })
			if err != nil || !strings.Contains(got, test.repeat) || r.runs.Load() != test.runs {
				t.Errorf("the repeat got %s, %v after %d runs", got, err, r.runs.Load())
			}
			if replayed := strings.Contains(log.String(), `"ledger":"replayed"`); replayed != (test.ledger == "recorded") {
				t.Errorf("the repeat's line says %s", &log)
			}
		})
	}
}

func failure(code string) []byte {
	return fmt.Appendf(nil, `{"content":[{"type":"text","text":%q}],"isError":true,`+
		`"_meta":{"dev.patchbay/failure":{"code":%q}}}`, code, code)
}

// A tool that says it is idempotent runs again after an outcome that nobody knows.
func TestIdempotentToolRunsAgainAfterACrash(t *testing.T) {
	t.Parallel()
	r := newRecorded(t, keyed, 1, nil)
	yes := true
	r.entry.Tool.Annotations.IdempotentHint = &yes
	r.answer = func(run int64) ([]byte, error) {
		if run == 1 {
			return nil, &function.Failure{Type: "Unhandled", Payload: "{}"}
		}
		return numbered(run)
	}
	for i, want := range []string{"internal error of the tool", `{"n":2}`, `{"n":2}`} {
		if got, err := r.ask(t, "k", `{}`, nil); err != nil || !strings.Contains(got, want) {
			t.Errorf("call %d: got %s, %v, want %s", i, got, err, want)
		}
	}
}

// A result that says until when it may be replayed is not replayed later.
func TestReplayUntil(t *testing.T) {
	t.Parallel()
	r := newRecorded(t, same, 1, nil)
	r.answer = func(run int64) ([]byte, error) {
		return fmt.Appendf(nil, `{"content":[],"structuredContent":{"n":%d},"_meta":{"dev.patchbay/replayUntil":%q}}`,
			run, time.Now().Add(time.Duration(run-1)*time.Hour).Format(time.RFC3339)), nil
	}
	for i, want := range []string{`{"n":1}`, `{"n":2}`, `{"n":2}`} {
		if got, err := r.ask(t, "", `{}`, nil); err != nil || !strings.Contains(got, want) {
			t.Errorf("call %d: got %s, %v, want %s", i, got, err, want)
		}
	}
}

// failing is a database that refuses writes of one kind of item, or everything.
type failing struct {
	ledger.DB
	reads, leases, results bool
}

var errDown = errors.New("the database is down: sekrit")

func (f *failing) GetItem(
	ctx context.Context, in *dynamodb.GetItemInput, o ...func(*dynamodb.Options),
) (*dynamodb.GetItemOutput, error) {
	if f.reads {
		return nil, errDown
	}
	return f.DB.GetItem(ctx, in, o...)
}

func (f *failing) PutItem(
	ctx context.Context, in *dynamodb.PutItemInput, o ...func(*dynamodb.Options),
) (*dynamodb.PutItemOutput, error) {
	key, _ := in.Item[ledger.PartitionKey].(*types.AttributeValueMemberS)
	result := key != nil && strings.HasPrefix(key.Value, "RESULT#")
	if (f.results && result) || (f.leases && !result) {
		return nil, errDown
	}
	return f.DB.PutItem(ctx, in, o...)
}

// Without its record a call does not run; a result that cannot be recorded is not given.
func TestDatabaseDown(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		fault failing
		runs  int64
		says  string
	}{
		"reads":   {failing{reads: true}, 0, "nothing has run"},
		"leases":  {failing{leases: true}, 0, "nothing has run"},
		"results": {failing{results: true}, 1, "could not be recorded"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRecorded(t, keyed, 1, func(client *dynamodb.Client) ledger.DB {
				test.fault.DB = client
				return &test.fault
			})
			got, err := r.ask(t, "k", `{}`, nil)
			if err != nil {
				got = err.Error()
			}
			if !strings.Contains(got, test.says) || strings.Contains(got, "sekrit") || r.runs.Load() != test.runs {
				t.Errorf("got %s after %d runs", got, r.runs.Load())
			}
			if test.runs == 0 && mcp.Status(err) != http.StatusInternalServerError {
				t.Errorf("got status %d", mcp.Status(err))
			}
		})
	}
}

// The key travels through the rounds: the call that is asked for input and the one that goes on are one.
func TestKeyTravelsThroughRounds(t *testing.T) {
	t.Parallel()
	r := newRecorded(t, keyed, 2, nil)
	r.answer = func(run int64) ([]byte, error) {
		if run == 1 {
			return []byte(`{"resultType":"input_required","requestState":"s"}`), nil
		}
		return numbered(run)
	}
	first, err := r.ask(t, "k", `{}`, nil)
	if err != nil {
		t.Fatal(err)
	}
	var question struct{ RequestState string }
	if err := json.Unmarshal([]byte(first), &question); err != nil {
		t.Fatal(err)
	}
	for i, replayed := range []bool{false, true, true} {
		got, err := r.ask(t, "", `{}`, func(q *toolcall.Request) {
			q.Params.RequestState, q.Params.HasState = question.RequestState, true
		})
		if err != nil || !strings.Contains(got, `{"n":2}`) || strings.Contains(got, "replayed") != replayed {
			t.Errorf("round two, time %d: got %s, %v", i, got, err)
		}
	}
	if got, err := r.ask(t, "k", `{}`, nil); err != nil || !strings.Contains(got, `{"n":2}`) {
		t.Errorf("the same wish begun anew: got %s, %v", got, err)
	}
}
