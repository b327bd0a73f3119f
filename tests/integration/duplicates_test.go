package integration

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// A thousand duplicates of one call, from fifty clients at the same time and over several instances of the dispatcher,
// have one effect and get one result. So do those of a confirmation and of a call that a dry run allows, which are
// redeemed once however many try.
func TestDuplicatesHaveOneEffect(t *testing.T) {
	t.Parallel()
	s := counting(t, "duplicates", nil)
	for subject, each := range map[string]int{"idempotency key": 20, "confirmation": 4, "dry run": 4} {
		t.Run(subject, func(t *testing.T) { duplicates(t, s, subjects[subject](t, s), each) })
	}
}

// duplicates sends a wish so many times from each of fifty clients.
func duplicates(t *testing.T, s *countingStack, w *wish, each int) {
	const clients = 50
	met := newMeeting(3)
	_, end := s.doors.watch(w.token, func(_ int, r step) *reply {
		met.add(r.pid)
		return r.forward()
	})
	defer end()

	// The tool goes on only once several instances have met its call, or may have: it is not kept past its time limit.
	go func() {
		waitFor(t, "the tool to begin", func() bool { return exists(w.path("gate.begun")) })
		met.wait()
		w.open(t, "effect")
		w.open(t, "answer")
	}()
	results := make([]outcome, clients*each)
	var turnedAway atomic.Int64
	var sending sync.WaitGroup
	for client := range clients {
		sending.Go(func() {
			for i := client * each; i < (client+1)*each; i++ {
				results[i] = w.settle(t)
				// Fifty cold starts at once may overwhelm a small machine. Who is told that nothing has run tries again.
				for saysThatNothingRan(results[i]) && turnedAway.Add(1) < clients {
					results[i] = w.settle(t)
				}
			}
		})
	}
	sending.Wait()

	lines := w.effects(t)
	if len(lines) != 1 {
		t.Fatalf("%d effects: %v", len(lines), lines)
	}
	replays := 0
	for i, got := range results {
		if got.kind != done || got.text != lines[0] || got.raw != results[0].raw {
			t.Fatalf("result %d is %v, want %q", i, got, lines[0])
		}
		if got.replayed {
			replays++
		}
	}
	if replays < len(results)-1 {
		t.Errorf("%d of %d results are marked as replayed; all but one must be", replays, len(results))
	}
	if n := met.count(); n < 3 && n > 0 {
		t.Errorf("%d instances of the dispatcher met the call, want at least 3", n)
	}
	t.Logf("%d results; %d instances of the dispatcher met the call", len(results), met.count())
	if n := turnedAway.Load(); n > 0 {
		t.Logf("%d times nothing had run: %s", n, s.log.find("dispatcher", `"cause"`))
	}
}

// meeting counts the processes that have come, as far as they can be told apart.
type meeting struct {
	mu        sync.Mutex
	processes map[int]bool
	want      int
	enough    chan struct{}
}

func newMeeting(want int) *meeting {
	return &meeting{processes: map[int]bool{}, want: want, enough: make(chan struct{})}
}

func (m *meeting) add(pid int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if pid == 0 || m.processes[pid] {
		return
	}
	m.processes[pid] = true
	if len(m.processes) == m.want {
		close(m.enough)
	}
}

func (m *meeting) count() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.processes)
}

// wait returns when enough have come, or after two seconds.
func (m *meeting) wait() {
	select {
	case <-m.enough:
	case <-time.After(2 * time.Second):
	}
}
