package integration

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"testing"
)

// Names of the requests of a call that decide what may be left of it.
const (
	stepLease  = "PutItem LEASE"
	stepInvoke = "Invoke"
	stepResult = "PutItem RESULT"
)

// subjects are the kinds of calls that have one effect. Each makes a wish that is ready to be sent.
var subjects = map[string]func(*testing.T, *countingStack) *wish{
	"idempotency key": func(t *testing.T, s *countingStack) *wish {
		return newWish(t, s, "count_effect", true).keyed()
	},
	"confirmation": func(t *testing.T, s *countingStack) *wish {
		return newWish(t, s, "count_confirmed", true).confirmed(t, s)
	},
	"dry run": func(t *testing.T, s *countingStack) *wish {
		return newWish(t, s, "count_after_dry_run", true).rehearsed(t)
	},
	"idempotent tool": func(t *testing.T, s *countingStack) *wish {
		return newWish(t, s, "count_idempotent", true).keyed()
	},
}

// moment says who is killed, and when, relative to one request of the dispatcher.
type moment string

const (
	beforeForwarding moment = "dispatcher before"
	whileToolRuns    moment = "dispatcher while the tool runs, at"
	beforeAnswering  moment = "dispatcher after"
	toolBeforeStart  moment = "tool before its start, at"
	toolBeforeEffect moment = "tool before its effect, at"
	toolAfterEffect  moment = "tool after its effect, at"
)

// deathCase kills one process at one moment of one call.
type deathCase struct {
	subject string
	moment  moment
	// at is the index of the request among steps, which are those of the call when nobody dies.
	at    int
	steps []string
	wish  *wish
}

func (c *deathCase) String() string {
	return fmt.Sprintf("%s, kill the %s request %d (%s)", c.subject, c.moment, c.at, c.steps[c.at])
}

// Whatever dies at whatever step of a call, sending it again never causes a second effect and never loses a result that
// was stored; where the outcome cannot be known, the answer says so.
func TestDeathAtEveryStep(t *testing.T) {
	t.Parallel()
	needsProc(t)
	s := counting(t, "kill", nil)
	var cases []*deathCase
	for _, subject := range sortedKeys(subjects) {
		cases = append(cases, deathsOf(t, s, subject)...)
	}
	t.Logf("%d cases", len(cases))
	for _, c := range cases {
		c.wish = subjects[c.subject](t, s)
	}
	// Those that kill idle instances of a tool, which are anybody's, come one at a time and first.
	for _, c := range cases {
		if c.moment == toolBeforeStart {
			c.strike(t, s)
		}
	}
	atOnce(cases, func(c *deathCase) {
		if c.moment != toolBeforeStart {
			c.strike(t, s)
		}
	})
	// The first re-send meets what the dead left, which may be a lease that has to run out before anybody knows more.
	atOnce(cases, func(c *deathCase) { c.wish.send(t) })
	atOnce(cases, func(c *deathCase) { c.check(t, c.wish.settle(t)) })
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for key := range m {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}

// deathsOf makes a call in peace, to see its requests, and returns a case for every moment at which something may die.
func deathsOf(t *testing.T, s *countingStack, subject string) []*deathCase {
	t.Helper()
	w := subjects[subject](t, s)
	w.open(t, "effect")
	w.open(t, "answer")
	seen, end := s.doors.watch(w.token, func(_ int, r step) *reply { return r.forward() })
	got := w.send(t)
	end()
	if lines := w.effects(t); got.kind != done || len(lines) != 1 || got.text != lines[0] {
		t.Fatalf("%s in peace: %v with effects %v", subject, got, lines)
	}
	steps := s.doors.steps(seen)
	t.Logf("%s: %v", subject, steps)
	for _, name := range []string{stepLease, stepInvoke, stepResult} {
		if !slices.Contains(steps, name) {
			t.Fatalf("%s in peace makes no request %s: %v", subject, name, steps)
		}
	}
	var cases []*deathCase
	for at, name := range steps {
		moments := []moment{beforeForwarding, beforeAnswering}
		if name == stepInvoke {
			moments = append(moments, whileToolRuns, toolBeforeStart, toolBeforeEffect, toolAfterEffect)
		}
		for _, m := range moments {
			cases = append(cases, &deathCase{subject: subject, moment: m, at: at, steps: steps})
		}
	}
	return cases
}

// atOnce does something for several cases at the same time: few enough for a small machine.
func atOnce[C any](cases []C, do func(C)) {
	queue := make(chan C)
	var working sync.WaitGroup
	for range 10 {
		working.Go(func() {
			for c := range queue {
				do(c)
			}
		})
	}
	for _, c := range cases {
		queue <- c
	}
	close(queue)
	working.Wait()
}

// strike sends the call and kills at the moment of the case.
func (c *deathCase) strike(t *testing.T, s *countingStack) {
	if c.moment != toolBeforeEffect && c.moment != whileToolRuns {
		c.wish.open(t, "effect")
	}
	if c.moment != toolAfterEffect {
		c.wish.open(t, "answer")
	}
	seen, end := s.doors.watch(c.wish.token, func(index int, r step) *reply {
		if index != c.at {
			return r.forward()
		}
		return c.kill(t, s, r)
	})
	c.wish.send(t)
	end()
	steps := s.doors.steps(seen)
	if len(steps) <= c.at || !slices.Equal(steps[:c.at+1], c.steps[:c.at+1]) {
		t.Errorf("%s: the call made other requests: %v", c, steps)
	}
	// What was stopped at a gate may go on, and later runs of the tool pass at once.
	c.wish.open(t, "effect")
	c.wish.open(t, "answer")
	if c.moment == whileToolRuns {
		waitFor(t, "the effect of a tool whose caller has died", func() bool { return exists(c.wish.path("gate.done")) })
	}
}

// kill handles the request at which somebody dies.
func (c *deathCase) kill(t *testing.T, s *countingStack, r step) *reply {
	switch c.moment {
	case beforeForwarding:
		kill(t, r.pid)
		return nil
	case beforeAnswering:
		r.forward()
		kill(t, r.pid)
		return nil
	case toolBeforeStart:
		for _, pid := range processesOf(filepath.Join(s.data, "build", c.wish.tool, "bootstrap")) {
			kill(t, pid)
		}
		return r.forward()
	}
	answers := make(chan *reply, 1)
	go func() { answers <- r.forward() }()
	switch c.moment {
	case whileToolRuns:
		c.comesTo(t, "begun")
		kill(t, r.pid)
		return nil
	case toolBeforeEffect:
		kill(t, c.comesTo(t, "begun"))
	case toolAfterEffect:
		kill(t, c.comesTo(t, "done"))
	}
	return <-answers
}

// comesTo waits until the tool is at a gate and returns its process.
func (c *deathCase) comesTo(t *testing.T, gate string) int {
	path := c.wish.path("gate." + gate)
	if !waitFor(t, "the tool to come to "+gate, func() bool { return exists(path) }) {
		return 0
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Error(err)
	}
	pid, err := strconv.Atoi(string(text))
	if err != nil {
		t.Error(err)
	}
	return pid
}

// check holds the outcome of the call that was sent again to what the death left.
func (c *deathCase) check(t *testing.T, got outcome) {
	lines := c.wish.effects(t)
	want := c.expected()
	if !want.allows(got, lines) {
		t.Errorf("%s: %v after %d effects, want %+v", c, got, len(lines), want)
	}
	// Whatever the outcome is, it stays.
	again := c.wish.send(t)
	if again.kind != got.kind || got.kind == done && (again.raw != got.raw || !again.replayed) {
		t.Errorf("%s: first %v, then %v", c, got, again)
	}
	if after := c.wish.effects(t); len(after) != len(lines) {
		t.Errorf("%s: %d effects, and one more call made %d of them", c, len(lines), len(after))
	}
}

// expectation is what may be true of a call after a death: its outcome and the number of its effects.
type expectation struct {
	kind    kind
	effects int
	// orUnstarted allows for an instance that died with the call in its hands before it began: unknown, without effect.
	orUnstarted bool
}

func (e expectation) allows(got outcome, lines []string) bool {
	if e.orUnstarted && got.kind == unknown && len(lines) == 0 {
		return true
	}
	if got.kind != e.kind || len(lines) != e.effects {
		return false
	}
	// The result is that of the effect which happened last: each run of the tool answers with the line that it wrote.
	return got.kind != done || got.text == lines[len(lines)-1]
}

func (c *deathCase) expected() expectation {
	idempotent := c.subject == "idempotent tool"
	lease, result := slices.Index(c.steps, stepLease), slices.Index(c.steps, stepResult)
	invoke := slices.Index(c.steps, stepInvoke)
	made := func(step int) bool { return c.at > step || c.at == step && c.moment == beforeAnswering }
	ran := made(invoke) || c.moment == whileToolRuns || c.moment == toolAfterEffect
	switch {
	case c.moment == toolBeforeStart:
		// The tool runs in a new instance.
		return expectation{kind: done, effects: 1, orUnstarted: !idempotent}
	case made(result), !made(lease):
		return expectation{kind: done, effects: 1}
	case idempotent && ran:
		return expectation{kind: done, effects: 2}
	case idempotent:
		return expectation{kind: done, effects: 1}
	case ran:
		return expectation{kind: unknown, effects: 1}
	}
	return expectation{kind: unknown, effects: 0}
}
