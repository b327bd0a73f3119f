package integration

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"patchbay/shared/seal"
)

// rotation is a stack whose key ring is replaced while rounds are on their way.
type rotation struct {
	*testing.T
	stack *countingStack
	ring  seal.Ring
}

// write puts a new ring in the place of the old one, as an operator does.
func (r *rotation) write(ring seal.Ring) {
	r.Helper()
	data, err := ring.Encode()
	if err != nil {
		r.Fatal(err)
	}
	// Renamed into place, so that nobody reads half of it.
	file := r.stack.sealKeys()
	if err := os.WriteFile(file+".new", data, 0o600); err != nil {
		r.Fatal(err)
	}
	if err := os.Rename(file+".new", file); err != nil {
		r.Fatal(err)
	}
	r.ring = ring
}

// stage adds a key that only opens, and promote makes it the one that seals.
func (r *rotation) stage() (id string) {
	ring, id := r.ring.Stage()
	r.write(ring)
	return id
}

func (r *rotation) promote(id string) {
	r.Helper()
	ring, err := r.ring.Promote(id)
	if err != nil {
		r.Fatal(err)
	}
	r.write(ring)
}

func (r *rotation) drop(id string) {
	r.Helper()
	ring, err := r.ring.Drop(id)
	if err != nil {
		r.Fatal(err)
	}
	r.write(ring)
}

// replaceInstances ends all instances of the dispatcher; the next ones read the ring as it is now.
func (r *rotation) replaceInstances() {
	r.Helper()
	for _, pid := range processesOf(r.stack.doors.program) {
		kill(r.T, pid)
	}
}

// begin asks for a confirmation and returns the wish with consent, and the key that sealed the question.
func (r *rotation) begin(gated bool) (w *wish, key string) {
	r.Helper()
	w = newWish(r.T, r.stack, "count_confirmed", gated).confirmed(r.T, r.stack)
	return w, strings.Split(w.params["requestState"].(string), ".")[1]
}

// runs holds a wish to have its effect, once.
func (r *rotation) runs(what string, w *wish) {
	r.Helper()
	for range 2 {
		if got := w.settle(r.T); got.kind != done {
			r.Errorf("%s: %v", what, got)
		}
	}
	if lines := w.effects(r.T); len(lines) != 1 {
		r.Errorf("%s: %d effects", what, len(lines))
	}
}

func (r *rotation) isRefused(what string, w *wish) {
	r.Helper()
	if got := w.settle(r.T); got.kind != refused || got.code != -32602 {
		r.Errorf("%s: %v", what, got)
	}
}

// Keys are replaced while questions are with their users: what the old key sealed opens until that key is dropped, an
// instance that has not seen the new key looks for it, and nothing opens after its key is gone.
func TestKeysRotateWithRoundsInFlight(t *testing.T) {
	t.Parallel()
	needsProc(t)
	r := &rotation{T: t, stack: counting(t, "rotation", nil)}
	r.write(seal.NewRing())
	first := r.ring.Keys[0].ID
	early, sealedBy := r.begin(false)
	late, _ := r.begin(false)
	if sealedBy != first {
		t.Fatalf("sealed by %s, want %s", sealedBy, first)
	}

	second := r.stage()
	r.replaceInstances()
	if _, sealedBy := r.begin(false); sealedBy != first {
		t.Errorf("sealed by %s, a key that is only staged", sealedBy)
	}
	r.promote(second)
	r.replaceInstances()
	r.runs("begun under the first key, ended under the second", early)
	middle, sealedBy := r.begin(false)
	if sealedBy != second {
		t.Errorf("sealed by %s, want %s", sealedBy, second)
	}
	r.instanceLooksForANewKey()

	r.drop(first)
	r.replaceInstances()
	r.isRefused("begun under a key that was dropped", late)
	r.isRefused("done under a key that was dropped", early)
	r.runs("begun under the second key", middle)
}

// instanceLooksForANewKey has one instance seal with a key that another, which is busy meanwhile, has not seen, and has
// that other one end the call.
func (r *rotation) instanceLooksForANewKey() {
	r.Helper()
	busy, _ := r.begin(true)
	old := make(chan int, 1)
	_, end := r.stack.doors.watch(busy.token, func(_ int, s step) *reply {
		if s.name == stepInvoke {
			old <- s.pid
		}
		return s.forward()
	})
	defer end()
	answered := make(chan outcome, 1)
	go func() { answered <- busy.send(r.T) }()
	instance := <-old

	third := r.stage()
	r.promote(third)
	w, sealedBy := r.begin(false)
	if sealedBy != third {
		r.Errorf("a new instance sealed by %s, want %s", sealedBy, third)
	}
	// The instance that was used last is used first: the new one must be out of use before the old one is.
	waitFor(r.T, "the new instance to be idle", func() bool {
		return !slices.ContainsFunc(processesOf(r.stack.doors.program), func(pid int) bool {
			return pid != instance && !frozen(pid)
		})
	})
	busy.open(r.T, "effect")
	busy.open(r.T, "answer")
	if got := <-answered; got.kind != done {
		r.Errorf("the call that kept an instance busy: %v", got)
	}
	// An instance looks for a new key only some time after it last read the ring.
	time.Sleep(seal.DefaultMinInterval)
	var opener atomic.Int64
	_, ended := r.stack.doors.watch(w.token, func(_ int, s step) *reply {
		opener.CompareAndSwap(0, int64(s.pid))
		return s.forward()
	})
	r.runs("begun under a key that the instance had not seen", w)
	ended()
	if opener := int(opener.Load()); opener != instance {
		r.Errorf("process %d opened the state, not %d, which was to look for its key", opener, instance)
	}
}

// frozen reports whether a process is stopped, as an instance without work is. Source: proc(5), /proc/[pid]/stat.
func frozen(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && strings.Contains(string(stat), ") T ")
}
