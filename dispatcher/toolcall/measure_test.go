package toolcall_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"patchbay/dispatcher/function"
	"patchbay/dispatcher/metrics"
	"patchbay/dispatcher/toolcall"
	"patchbay/shared/ledger"
	"patchbay/shared/principal"
)

// counters gets lines of metrics and says what a call counted as.
type counters struct {
	bytes.Buffer
	*metrics.Writer
}

func newCounters() *counters {
	c := &counters{}
	c.Writer = metrics.New(&c.Buffer, metrics.Options{Namespace: "Patchbay", Deployment: "d"})
	c.Request(metrics.Request{}) // the cold start's
	c.Reset()
	return c
}

// take returns what the lines since the last time say: the counts that are not zero, the tool and the reason.
func (c *counters) take(t *testing.T) []string {
	t.Helper()
	var calls []string
	for line := range bytes.Lines(c.Bytes()) {
		var members map[string]any
		if err := json.Unmarshal(line, &members); err != nil {
			t.Fatal(err)
		}
		if duration, ok := members["Duration"].(float64); !ok || duration < 0 {
			t.Errorf("Duration is %v", members["Duration"])
		}
		var parts []string
		for _, name := range []string{"tool", "Calls", "Errors", "Refusals", "reason", "Replays", "OutcomeUnknown",
			"LedgerUnavailable"} {
			if value, ok := members[name]; ok {
				parts = append(parts, fmt.Sprintf("%s=%v", name, value))
			}
		}
		calls = append(calls, strings.Join(parts, " "))
	}
	c.Reset()
	return calls
}

func (c *counters) expect(t *testing.T, what string, want ...string) {
	t.Helper()
	if got := c.take(t); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%s counts as %q, want %q", what, got, want)
	}
}

const withOwn = `{"idempotency":{"mode":"key","whenAbsent":"run","ttl":"1h"},"execution":{"timeoutSeconds":3},` +
	`"permissions":["greet"],"visibility":"permitted"}`

// A name that a client sent is no dimension, whether there is such a tool or the caller may not know of it.
func TestOnlyKnownToolsAreCounted(t *testing.T) {
	t.Parallel()
	r := newRecorded(t, withOwn, 1, nil)
	counted := newCounters()
	r.callers[0].Metrics = counted.Writer
	permitted := func(q *toolcall.Request) {
		q.Principal = principal.Principal{Subject: "u", Scopes: []string{"greet"}}
	}
	_, _ = r.ask(t, "", `{}`, nil)
	counted.expect(t, "an invisible tool", "Calls=1 Refusals=1 reason=unknown_tool")
	_, _ = r.ask(t, "", `{}`, permitted)
	counted.expect(t, "a visible one", "tool=greet Calls=1")
	_, _ = r.ask(t, "", `{"mood":"odd"}`, permitted)
	counted.expect(t, "bad arguments", "tool=greet Calls=1 Refusals=1 reason=invalid_arguments")
}

func TestRecordedCallsAreCounted(t *testing.T) {
	t.Parallel()
	r := newRecorded(t, keyed, 1, nil)
	counted := newCounters()
	r.callers[0].Metrics = counted.Writer
	call := func(key, arguments string) {
		_, _ = r.ask(t, key, arguments, func(q *toolcall.Request) { q.Deadline = time.Now().Add(time.Second) })
	}
	call("k1", `{}`)
	counted.expect(t, "the first", "tool=greet Calls=1")
	call("k1", `{}`)
	counted.expect(t, "a repeat", "tool=greet Calls=1 Replays=1")
	call("k1", `{"who":"them"}`)
	counted.expect(t, "a conflict", "tool=greet Calls=1 Refusals=1 reason=key_conflict")
	r.answer = func(int64) ([]byte, error) { return nil, &function.Failure{Type: "Unhandled", Payload: "{}"} }
	call("k2", `{}`)
	counted.expect(t, "a crash", "tool=greet Calls=1 Errors=1 OutcomeUnknown=1")
	call("k2", `{}`)
	counted.expect(t, "its repeat", "tool=greet Calls=1 Refusals=1 reason=outcome_unknown OutcomeUnknown=1")
	call("", `{}`)
	counted.expect(t, "a crash without a record", "tool=greet Calls=1 Errors=1")
	r.answer = func(int64) ([]byte, error) { return nil, function.ErrThrottled }
	call("k3", `{}`)
	counted.expect(t, "no capacity", "tool=greet Calls=1 Errors=1")
	r.answer = func(int64) ([]byte, error) { return nil, function.ErrUnknown }
	call("k4", `{}`)
	counted.expect(t, "a broken connection", "tool=greet Calls=1 Errors=1 OutcomeUnknown=1")
	call("k4", `{}`)
	counted.expect(t, "its repeat", "tool=greet Calls=1 Refusals=1 reason=in_flight")
	yes := true
	r.entry.Tool.Annotations.IdempotentHint = &yes
	call("k5", `{}`)
	counted.expect(t, "one that may be repeated", "tool=greet Calls=1 Errors=1")
	r.answer = func(int64) ([]byte, error) { panic("broken") }
	func() {
		defer func() { _ = recover() }()
		call("", `{}`)
	}()
	counted.expect(t, "a panic", "tool=greet Calls=1 Errors=1")
}

func TestLedgerTroubleIsCounted(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		fault failing
		want  string
	}{
		"reads":   {failing{reads: true}, "tool=greet Calls=1 Errors=1 LedgerUnavailable=1"},
		"results": {failing{results: true}, "tool=greet Calls=1 Errors=1 OutcomeUnknown=1 LedgerUnavailable=1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRecorded(t, keyed, 1, func(client *dynamodb.Client) ledger.DB {
				test.fault.DB = client
				return &test.fault
			})
			counted := newCounters()
			r.callers[0].Metrics = counted.Writer
			_, _ = r.ask(t, "k", `{}`, nil)
			counted.expect(t, name, test.want)
		})
	}
}

func TestCatalogueTroubleIsCounted(t *testing.T) {
	t.Parallel()
	f := &fixed{lookupErr: errors.New("table is gone")}
	counted := newCounters()
	caller := toolcall.New(toolcall.Config{
		Catalogue: f, Functions: f, Log: slog.New(slog.DiscardHandler), Metrics: counted.Writer,
	})
	_, _ = caller.Call(t.Context(), &toolcall.Request{Deadline: time.Now().Add(time.Minute)})
	counted.expect(t, "no catalogue", "Calls=1 Errors=1")
}
