package ledger

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// TestRequests counts what each operation costs, on an engine that returns the item in the way and on one that does
// not.
func TestRequests(t *testing.T) {
	t.Parallel()
	for _, engine := range []struct {
		name         string
		itemInTheWay bool
		reads        int64 // one more read after each failed condition
	}{{"with item in the way", true, 0}, {"without", false, 1}} {
		t.Run(engine.name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			f.db.itemInTheWay = engine.itemInTheWay
			want := func(what string, want requests) {
				t.Helper()
				want.Reads += want.FailedConditions * engine.reads
				equal(t, what, f.db.requests(), want)
			}
			call := f.call("k")
			f.wantStatus(call, Free)
			want("reading no record", requests{Reads: 1})
			lease := f.acquire(call)
			want("taking a lease", requests{Writes: 1})
			f.wantStatus(call, Leased)
			want("reading a lease", requests{Reads: 1})
			f.refused(call)
			want("meeting a lease", requests{Writes: 1, FailedConditions: 1})
			f.complete(lease, "done")
			want("completing", requests{Writes: 2})
			f.wantResult(call, "done")
			want("replaying", requests{Reads: 2})
			f.refused(call)
			want("meeting a result", requests{Reads: 1, Writes: 1, FailedConditions: 1})
			conflict := call
			conflict.Digest[5]++
			f.wantStatus(conflict, Conflict)
			want("a conflict", requests{Reads: 1})

			call = f.call("released")
			lease = f.acquire(call)
			f.must(lease.Release(t.Context()))
			want("lease and release", requests{Writes: 2})

			call = f.call("failed")
			f.must(f.acquire(call).Fail(t.Context()))
			want("lease and failure", requests{Writes: 2})
			f.wantStatus(call, Unknown)
			want("reading a failure", requests{Reads: 1})

			call = f.call("ran out")
			f.acquire(call)
			f.pass(leaseTime)
			f.db.requests()
			f.wantStatus(call, Unknown)
			want("reading a lease that ran out", requests{Reads: 2})

			holder, err := f.Claim(t.Context(), "receipt", call.ID, f.time.Add(time.Hour))
			if holder != call.ID || err != nil {
				t.Fatal(holder, err)
			}
			want("claiming", requests{Writes: 1})
		})
	}
}

// 50 callers send one call at the same time, over three instances, 8 times: one runs it, all get its result.
func TestDuplicates(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	instances := []*Ledger{f.another(), f.another(), f.another()}
	for round := range 8 {
		call := f.call(fmt.Sprint(round))
		call.Idempotent = round%2 == 0
		var running, runs atomic.Int32
		results := make([]string, 50)
		var group sync.WaitGroup
		for i := range results {
			group.Go(func() {
				results[i] = run(t, instances[i%len(instances)], call, func() string {
					if running.Add(1) > 1 {
						t.Error("two leases at the same time")
					}
					defer running.Add(-1)
					return fmt.Sprintf("run %d of round %d", runs.Add(1), round)
				})
			})
		}
		group.Wait()
		if runs.Load() != 1 {
			t.Errorf("round %d ran %d times", round, runs.Load())
		}
		for i, got := range results {
			if want := fmt.Sprintf("run 1 of round %d", round); got != want {
				t.Errorf("caller %d of round %d got %q", i, round, got)
			}
		}
	}
}

// run is a dispatcher's course for one call.
func run(t *testing.T, l *Ledger, call Call, tool func() string) string {
	for t.Context().Err() == nil {
		met, err := l.Read(t.Context(), call.ID, call.Query)
		if err == nil && met.Status == Free {
			var lease *Lease
			if lease, met, err = l.Acquire(t.Context(), call); lease != nil {
				result := tool()
				fencedBy, err := lease.Complete(t.Context(), []byte(result), time.Time{})
				if fencedBy != nil || err != nil {
					t.Errorf("completing: %+v, %v", fencedBy, err)
				}
				return result
			}
		}
		if err != nil {
			t.Error(err)
			return ""
		}
		if met.Status == Completed {
			return string(met.Result)
		}
		time.Sleep(time.Millisecond)
	}
	return ""
}

var errNoAnswer = errors.New("no answer")

// loseAnswer lets n writes pass and the next go wrong: made or not, its answer is lost.
func (f *fixture) loseAnswer(n int, made bool) {
	f.db.onWrite = func(_ key, send func() error) error {
		n--
		if n == -1 && made {
			f.must(send())
		}
		if n == -1 {
			return errNoAnswer
		}
		return send()
	}
}

// A write that was made counts as made, whatever became of its answer.
func TestLostAnswers(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	call := f.call("k")
	f.loseAnswer(0, true)
	lease := f.acquire(call)
	f.loseAnswer(1, true)
	f.complete(lease, "done")
	f.wantResult(call, "done")

	call = f.call("result")
	lease = f.acquire(call)
	f.loseAnswer(0, true)
	if _, err := lease.Complete(t.Context(), []byte("done"), time.Time{}); !errors.Is(err, errNoAnswer) {
		t.Errorf("error %v", err)
	}
	f.wantStatus(call, Leased)
	f.complete(lease, "done")
	f.wantResult(call, "done")

	call = f.call("release")
	lease = f.acquire(call)
	f.loseAnswer(0, true)
	f.must(lease.Release(t.Context()))
	f.wantStatus(call, Free)

	call = f.call("fail")
	lease = f.acquire(call)
	f.loseAnswer(0, true)
	f.must(lease.Fail(t.Context()))
	f.wantStatus(call, Unknown)

	f.loseAnswer(0, true)
	if _, err := f.Resolve(t.Context(), call.ID, Resolution{}); err != nil {
		t.Error(err)
	}
	f.wantStatus(call, Free)

	f.loseAnswer(0, true)
	if holder, err := f.Claim(t.Context(), "receipt", call.ID, f.time.Add(time.Hour)); holder != call.ID || err != nil {
		t.Errorf("claim %v, %v", holder, err)
	}
}

// A request that the SDK sends again meets what it wrote itself.
func TestRepeatedRequests(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.db.onWrite = func(_ key, send func() error) error {
		send()
		return send()
	}
	call := f.call("k")
	f.complete(f.acquire(call), "done")
	f.wantResult(call, "done")
	call = f.call("released")
	f.must(f.acquire(call).Release(t.Context()))
	f.wantStatus(call, Free)
	call = f.call("failed")
	f.must(f.acquire(call).Fail(t.Context()))
	f.wantStatus(call, Unknown)
	met, err := f.Resolve(t.Context(), call.ID, Resolution{Result: []byte("found")})
	if err != nil || met.Status != Completed {
		t.Errorf("resolved to %+v, %v", met, err)
	}
	f.wantResult(call, "found")
	if holder, err := f.Claim(t.Context(), "receipt", call.ID, f.time.Add(time.Hour)); holder != call.ID || err != nil {
		t.Errorf("claim %v, %v", holder, err)
	}
}

// A write that was not made is an error, and nothing has changed.
func TestFailedWrites(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	call := f.call("k")
	f.loseAnswer(0, false)
	if lease, met, err := f.Acquire(t.Context(), call); lease != nil || !errors.Is(err, errNoAnswer) {
		t.Errorf("lease %v, record %+v, error %v", lease, met, err)
	}
	f.wantStatus(call, Free)
	lease := f.acquire(call)
	f.loseAnswer(1, false)
	if _, err := lease.Complete(t.Context(), []byte("done"), time.Time{}); !errors.Is(err, errNoAnswer) {
		t.Errorf("error %v", err)
	}
	f.wantStatus(call, Leased)
	f.complete(lease, "done")
	f.wantResult(call, "done")
}

func TestFailedReads(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	call := f.call("k")
	f.complete(f.acquire(call), "done")
	for _, sk := range []string{"LEASE", "RESULT"} {
		f.db.onRead = func(k key) error {
			if k.sk == sk {
				return errNoAnswer
			}
			return nil
		}
		if met, err := f.Read(t.Context(), call.ID, call.Query); !errors.Is(err, errNoAnswer) {
			t.Errorf("record %+v, error %v", met, err)
		}
		if lease, met, err := f.Acquire(t.Context(), call); lease != nil || !errors.Is(err, errNoAnswer) {
			t.Errorf("lease %v, record %+v, error %v", lease, met, err)
		}
		if entry, err := f.Show(t.Context(), call.ID); !errors.Is(err, errNoAnswer) {
			t.Errorf("entry %+v, error %v", entry, err)
		}
	}
}

func TestCanceled(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	call := f.call("k")
	if lease, _, err := f.Acquire(ctx, call); lease != nil || !errors.Is(err, context.Canceled) {
		t.Errorf("lease %v, error %v", lease, err)
	}
}

// Others change the record again and again while it is looked at.
func TestContention(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	call := f.call("k")
	other := f.another()
	other.store = &dynamoStore{db: f.db.DB, table: f.table} // not held up
	f.db.onWrite = func(_ key, send func() error) error {
		lease, met, err := other.Acquire(t.Context(), call)
		if lease == nil {
			t.Errorf("no lease but %+v, %v", met, err)
		}
		err = send()
		f.must(lease.Release(t.Context()))
		return err
	}
	if lease, met, err := f.Acquire(t.Context(), call); lease != nil || !errors.Is(err, errContended) {
		t.Errorf("lease %v, record %+v, error %v", lease, met, err)
	}
}
