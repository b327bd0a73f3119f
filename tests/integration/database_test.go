package integration

import (
	"bytes"
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

// ailments are what may be wrong with DynamoDB: what it answers to a request, which it does not carry out.
var ailments = map[string]func(step) *reply{
	"full":    func(step) *reply { return awsError(http.StatusBadRequest, "ProvisionedThroughputExceededException") },
	"failing": func(step) *reply { return awsError(http.StatusInternalServerError, "InternalServerError") },
	"cut off": func(step) *reply { return nil },
	"slow":    func(s step) *reply { <-s.gone; return nil },
}

// awsError is an error of DynamoDB. Source: DynamoDB developer guide, "Error handling with DynamoDB".
func awsError(status int, name string) *reply {
	return &reply{status, http.Header{"Content-Type": {"application/x-amz-json-1.0"}},
		fmt.Appendf(nil, `{"__type":"com.amazonaws.dynamodb.v20120810#%s","message":"for a test"}`, name)}
}

// stepComplete is the PutItem LEASE that comes after Invoke.
const stepComplete = "completion"

// illCase is a call of which all requests of one name meet an ailment.
type illCase struct {
	subject, step, ailment string
	wish                   *wish
}

func (c *illCase) String() string {
	return fmt.Sprintf("%s, database %s at %s", c.subject, c.ailment, c.step)
}

// illCases are all steps of the longest call, and what is different of a tool that may run again; with PATCHBAY_FULL all
// steps of all calls.
func illCases() []*illCase {
	steps := []string{"GetItem LEASE", stepLease, stepResult, stepComplete}
	of := map[string][]string{
		"dry run":         append([]string{"GetItem RECEIPT", "PutItem CLAIM"}, steps...),
		"idempotent tool": {stepResult},
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

// While DynamoDB is full, failing, cut off or slow at any one step of a call, the answer is clear and comes before the
// gateway gives up, and there is no effect without its record. Once it is well again, so is the call.
func TestDatabaseThatFailsAtOneStep(t *testing.T) {
	t.Parallel()
	needsProc(t)
	// A call that cannot be recorded tries for nine seconds to.
	s := counting(t, "database", func(o *localstack.Options) { o.AnswerWithin = 12 * time.Second })
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
	if c.step != stepResult && c.step != stepComplete {
		if !saysThatNothingRan(got) || len(lines) != 0 {
			t.Errorf("%s: %v with %d effects, want 500, -32603 and that nothing has run", c, got, len(lines))
		}
		return
	}
	if got.kind != failed || !strings.Contains(got.text, "could not be recorded") || len(lines) != 1 {
		t.Errorf("%s: %v with %d effects, want a tool error that says what could not be recorded", c, got, len(lines))
	}
}

func saysThatNothingRan(got outcome) bool {
	return got.kind == refused && got.status == http.StatusInternalServerError && got.code == -32603 &&
		strings.Contains(got.text, "nothing has run")
}

// recovers sends the call again with the database well.
func (c *illCase) recovers(t *testing.T) {
	want := expectation{kind: done, effects: 1}
	if c.step == stepResult {
		want.kind = unknown
		if c.subject == "idempotent tool" {
			want = expectation{kind: done, effects: 2}
		}
	}
	got := c.wish.settle(t)
	if lines := c.wish.effects(t); !want.allows(got, lines) {
		t.Errorf("%s and then well: %v with %d effects, want %+v", c, got, len(lines), want)
	}
}

// A stopped engine costs every call its answer, which comes at once and says that nothing has run, and nothing has.
func TestDatabaseThatHasStopped(t *testing.T) {
	t.Parallel()
	needsProc(t)
	s := counting(t, "stopped", nil)
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
