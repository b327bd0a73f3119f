package ledger

import (
	"errors"
	"testing"
	"time"
)

func TestShow(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	call := f.call("k")
	call.Audit, call.Idempotent = []byte("who and what"), true
	if entry, err := f.Show(t.Context(), call.ID); entry != nil || err != nil {
		t.Errorf("entry %+v, %v", entry, err)
	}
	lease := f.acquire(call)
	want := &Entry{
		State: "leased", Owner: lease.record.owner, Digest: call.Digest, Idempotent: true, Audit: call.Audit,
		LeaseUntil: f.time.Add(leaseTime), Ends: f.time.Add(leaseTime + time.Hour),
	}
	entry, err := f.Show(t.Context(), call.ID)
	f.must(err)
	equal(t, "leased entry", entry, want)

	f.must(putLateResult(f, lease, "done"))
	f.pass(leaseTime)
	want.Result = []byte("done")
	entry, err = f.Show(t.Context(), call.ID)
	f.must(err)
	equal(t, "entry of a lease that ran out", entry, want)

	f.wantResult(call, "done")
	want.State = "completed"
	entry, err = f.Show(t.Context(), call.ID)
	f.must(err)
	equal(t, "completed entry", entry, want)
}

// putLateResult is the first half of Complete.
func putLateResult(f *fixture, lease *Lease, data string) error {
	found := &result{data: []byte(data), expires: lease.record.expires}
	return f.putResult(f.Context(), lease.call.ID, lease.record.owner, found)
}

func TestResolve(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	failed, ranOut := f.call("failed"), f.call("ran out")
	ranOut.Idempotent = true
	late := f.acquire(ranOut)
	f.pass(leaseTime)
	f.must(f.acquire(failed).Fail(t.Context()))

	met, err := f.Resolve(t.Context(), failed.ID, Resolution{})
	f.must(err)
	equal(t, "freed record", met, Record{Status: Free})
	f.wantStatus(failed, Free)

	until := f.time.Add(time.Minute)
	met, err = f.Resolve(t.Context(), ranOut.ID, Resolution{Result: []byte("found"), ReplayUntil: until})
	f.must(err)
	equal(t, "completed record", met, f.read(ranOut))
	equal(t, "result", string(met.Result), "found")
	fencedBy, err := late.Complete(t.Context(), []byte("late"), time.Time{})
	f.must(err)
	equal(t, "what the owner answers with", *fencedBy, met)
	f.pass(time.Minute)
	f.wantStatus(ranOut, Free)
}

func TestResolveRefuses(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	running, done, late := f.call("running"), f.call("done"), f.call("late")
	lease := f.acquire(late)
	f.must(putLateResult(f, lease, "late"))
	f.pass(leaseTime)
	f.acquire(running)
	f.complete(f.acquire(done), "done")
	for call, want := range map[*Call]Status{&running: Leased, &done: Completed, &late: Completed} {
		for _, resolution := range []Resolution{{}, {Result: []byte("x")}} {
			met, err := f.Resolve(t.Context(), call.ID, resolution)
			if !errors.Is(err, ErrNotUnknown) || met.Status != want {
				t.Errorf("record %+v, error %v, want %s", met, err, want)
			}
		}
		f.wantStatus(*call, want)
	}
	met, err := f.Resolve(t.Context(), f.call("none").ID, Resolution{})
	if !errors.Is(err, ErrNotUnknown) || met.Status != Free {
		t.Errorf("record %+v, error %v", met, err)
	}
	_, err = f.Resolve(t.Context(), running.ID, Resolution{Result: make([]byte, MaxResultBytes+1)})
	if !errors.Is(err, ErrTooLarge) {
		t.Errorf("error %v", err)
	}
}
