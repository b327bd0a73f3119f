package integration

import (
	"bytes"
	"cmp"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"patchbay/scripts/localstack"
)

// ailments are what may be wrong with DynamoDB or Lambda: what it answers to a request, which it does not carry out.
var ailments = map[string]func(step) *reply{
	"full": func(s step) *reply {
		if s.name == stepInvoke {
			return awsError(http.StatusTooManyRequests, "TooManyRequestsException")
		}
		return awsError(http.StatusBadRequest, "ProvisionedThroughputExceededException")
	},
	"failing": func(step) *reply { return awsError(http.StatusInternalServerError, "InternalServerError") },
	"cut off": func(step) *reply { return nil },
	"slow":    func(s step) *reply { <-s.gone; return nil },
}

// awsError is an error of an AWS service. Sources: DynamoDB developer guide, "Error handling with DynamoDB"; for Lambda
// Smithy, AWS restJson1 protocol, "Operation error serialization".
func awsError(status int, name string) *reply {
	header := http.Header{"Content-Type": {"application/x-amz-json-1.0"}, "X-Amzn-Errortype": {name}}
	return &reply{status, header, fmt.Appendf(nil, `{"__type":"com.amazonaws#%s","message":"for a test"}`, name)}
}

// stepComplete is the PutItem LEASE that comes after Invoke.
const stepComplete = "completion"

// illCase is a call of which all requests of one name meet an ailment.
type illCase struct {
	subject, step, ailment string
	wish                   *wish
}

func (c *illCase) String() string {
	return fmt.Sprintf("%s, %s at %s", c.subject, c.ailment, c.step)
}

// illCases are all steps of the longest call, and what is different of a tool that may run again; with PATCHBAY_FULL
// all steps of all calls.
func illCases() []*illCase {
	steps := []string{"GetItem LEASE", stepLease, stepInvoke, stepResult, stepComplete}
	of := map[string][]string{
		"dry run":         append([]string{"GetItem RECEIPT", "PutItem CLAIM"}, steps...),
		"idempotent tool": {stepInvoke, stepResult},
	}
	if os.Getenv("PATCHBAY_FULL") != "" {
		of["idempotent tool"], of["idempotency key"], of["confirmation"] = steps, steps, steps
	}
	var cases []*illCase
	for subject, steps := range of {
		for _, step := range steps {
			for _, ailment := range sortedKeys(ailments) {
				cases = append(cases, &illCase{subject: subject, step: step, ailment: ailment})
			}
		}
	}
	return cases
}

// While DynamoDB or Lambda is full, failing, cut off or slow at any one step of a call, the answer is clear and comes
// before the gateway gives up, and there is no effect without its record. Once all is well again, so is the call.
func TestDatabaseOrLambdaThatFailsAtOneStep(t *testing.T) {
	t.Parallel()
	needsProc(t)
	// A call tries for nine seconds to record its result; after fifteen of silence its answer would be a stream.
	s := counting(t, "database", func(o *localstack.Options) { o.AnswerWithin = 8 * time.Second })
	cases := illCases()
	for _, c := range cases {
		c.wish = subjects[c.subject](t, s)
	}
	atOnce(cases, func(c *illCase) { c.check(t, s) })
	atOnce(cases, func(c *illCase) { c.wish.send(t) })
	atOnce(cases, func(c *illCase) { c.recovers(t) })
}

// check sends the call while the database is ill.
func (c *illCase) check(t *testing.T, s *countingStack) {
	c.wish.open(t, "effect")
	c.wish.open(t, "answer")
	var met, invoked atomic.Bool
	_, end := s.doors.watch(c.wish.token, func(_ int, r step) *reply {
		name := r.name
		if name == stepLease && invoked.Load() {
			name = stepComplete
		}
		if name == stepInvoke {
			invoked.Store(true)
		}
		if name != c.step {
			return r.forward()
		}
		met.Store(true)
		return ailments[c.ailment](r)
	})
	got := c.wish.send(t)
	end()
	lines := c.wish.effects(t)
	if !met.Load() {
		t.Errorf("%s: the call makes no such request: %v", c, got)
	}
	effects := 0
	told := saysThatNothingRan(got)
	switch c.step {
	case stepInvoke:
		says := map[string]string{"full": "not started", "slow": "did not answer in time"}[c.ailment]
		told = got.kind == failed && strings.Contains(got.text, cmp.Or(says, "unknown whether it ran"))
	case stepResult, stepComplete:
		told, effects = got.kind == failed && strings.Contains(got.text, "could not be recorded"), 1
	}
	if !told || len(lines) != effects {
		t.Errorf("%s: %v with %d effects, want a clear answer and %d effects", c, got, len(lines), effects)
	}
}

func saysThatNothingRan(got outcome) bool {
	return got.kind == refused && got.status == http.StatusInternalServerError && got.code == -32603 &&
		strings.Contains(got.text, "nothing has run")
}

// recovers sends the call again with the database well.
func (c *illCase) recovers(t *testing.T) {
	want := expectation{kind: done, effects: 1}
	idempotent := c.subject == "idempotent tool"
	switch {
	case c.step == stepResult && idempotent:
		want.effects = 2
	case c.step == stepResult:
		want.kind = unknown
	case c.step == stepInvoke && c.ailment != "full" && !idempotent:
		want = expectation{kind: unknown, effects: 0} // Only a throttled function is known not to have run.
	}
	got := c.wish.settle(t)
	if lines := c.wish.effects(t); !want.allows(got, lines) {
		t.Errorf("%s and then well: %v with %d effects, want %+v", c, got, len(lines), want)
	}
}

// What DynamoDB does not answer, and then does not even hear.
func TestDatabaseThatDoesNotAnswer(t *testing.T) {
	t.Parallel()
	needsProc(t)
	s := counting(t, "silent", nil)
	t.Run("lost answers", func(t *testing.T) { loseAnswers(t, s) })
	t.Run("stopped", func(t *testing.T) { stopDatabase(t, s) })
}

// loseAnswers loses the answer to one request, which was carried out. It changes nothing for the caller: the request is
// sent again and meets its own work.
func loseAnswers(t *testing.T, s *countingStack) {
	for _, subject := range sortedKeys(subjects) {
		for at := range deathsOf(t, s, subject)[0].steps {
			w := subjects[subject](t, s)
			w.open(t, "effect")
			w.open(t, "answer")
			_, end := s.doors.watch(w.token, func(index int, r step) *reply {
				answer := r.forward()
				if index != at || r.name == stepInvoke {
					return answer
				}
				return nil
			})
			got := w.send(t)
			end()
			if lines := w.effects(t); got.kind != done || len(lines) != 1 || got.text != lines[0] {
				t.Errorf("%s, answer to request %d lost: %v with effects %v", subject, at, got, lines)
			}
			if again := w.send(t); again.raw != got.raw || !again.replayed {
				t.Errorf("%s, answer to request %d lost: first %v, then %v", subject, at, got, again)
			}
		}
	}
}

// stopDatabase ends the engine, which costs every call its answer: that comes at once and says that nothing has run,
// and nothing has.
func stopDatabase(t *testing.T, s *countingStack) {
	wishes := map[string]*wish{}
	for subject, ready := range subjects {
		wishes[subject] = ready(t, s)
		wishes[subject].open(t, "effect")
		wishes[subject].open(t, "answer")
	}
	tables := []byte(filepath.Join(s.data, "dynamodb"))
	engine := processes("cmdline", func(path string) bool {
		line, err := os.ReadFile(path)
		return err == nil && bytes.Contains(line, tables)
	})
	if len(engine) != 1 {
		t.Fatalf("the engine is one process, not %v", engine)
	}
	kill(t, engine[0])
	<-s.Done()
	for subject, w := range wishes {
		got := w.send(t)
		if lines := w.effects(t); !saysThatNothingRan(got) || len(lines) > 0 {
			t.Errorf("%s: %v with %d effects", subject, got, len(lines))
		}
	}
}
