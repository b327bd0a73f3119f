package ledger

import (
	"crypto/rand"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
)

func TestRecordedCall(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	call := f.call("k")
	call.Audit = []byte(`{"event":"paid"}`)
	f.wantStatus(call, Free)

	lease := f.acquire(call)
	want := Record{Status: Leased, Until: f.time.Add(leaseTime), Ends: f.time.Add(leaseTime + time.Hour)}
	equal(t, "record while it runs", f.read(call), want)
	equal(t, "record that a second caller meets", f.refused(call), want)

	f.complete(lease, `{"done":true}`)
	want = Record{Status: Completed, Result: []byte(`{"done":true}`), Ends: f.time.Add(leaseTime + time.Hour)}
	equal(t, "record", f.read(call), want)
	equal(t, "record that a third caller meets", f.refused(call), want)
	entry, err := f.Show(t.Context(), call.ID)
	f.must(err)
	equal(t, "audit facts", string(entry.Audit), `{"event":"paid"}`)
}

func TestScopeOfKeys(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	long := strings.Repeat("é", MaxKeyLength)
	seen := map[ID]string{}
	for _, parts := range [][3]string{
		{"u", "t", "k"}, {"ut", "", "k"}, {"", "ut", "k"}, {"u", "tk", ""}, {"u", "t", "K"}, {"u#t", "k", ""},
		{"u", "t#k", ""}, {"u", "t", "RESULT#k#owner"}, {"u", "t", "k "}, {"u", "t", "k/../x"}, {"u", "t", `"'\:;,=`},
		{"u", "t", long}, {"u", "t", long[:len(long)-2]}, {"u", "t", "e\u0301"}, {"u", "t", "é"}, {"u", "t", "😀\u202e"},
		{"u\x00t", "", "k"}, {"u", "\x00t", "k"},
	} {
		name := strings.Join(parts[:], "|")
		call := f.call("")
		call.ID = NewID(parts[0], parts[1], parts[2])
		if other, found := seen[call.ID]; found {
			t.Errorf("%q and %q have one id", name, other)
		}
		seen[call.ID] = name
		f.wantStatus(call, Free)
		f.complete(f.acquire(call), name)
		f.wantResult(call, name)
	}
}

func TestConflict(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	call, other := f.call("k"), f.call("k")
	other.Digest = [32]byte{2}
	lease := f.acquire(call)
	ends := f.time.Add(leaseTime + time.Hour)
	equal(t, "while leased", f.read(other), Record{Status: Conflict, Ends: ends})
	equal(t, "while leased", f.refused(other), Record{Status: Conflict, Ends: ends})
	f.pass(leaseTime)
	f.wantStatus(other, Conflict)
	f.complete(lease, "one")
	f.wantStatus(other, Conflict)
	f.wantResult(call, "one")
	f.pass(24 * time.Hour)
	f.complete(f.acquire(other), "two")
	f.wantStatus(call, Conflict)
}

// The time to live counts from the end of the lease or from completion, whichever is later, and no record ends before
// what it consumed.
func TestExpiry(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	call := f.call("k")
	f.complete(f.acquire(call), "one")
	f.pass(leaseTime + time.Hour - time.Nanosecond)
	f.wantResult(call, "one")
	f.pass(time.Nanosecond)
	f.wantStatus(call, Free)
	if entry, err := f.Show(t.Context(), call.ID); entry != nil || err != nil {
		t.Errorf("an ended record is shown as %+v, %v", entry, err)
	}
	call.Outlive = f.time.Add(30*24*time.Hour + time.Millisecond)
	f.complete(f.acquire(call), "two")
	f.pass(30 * 24 * time.Hour)
	f.wantResult(call, "two")
	f.pass(time.Second)
	f.wantStatus(call, Free)
}

func TestCompletionExtends(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	call := f.call("k")
	lease := f.acquire(call)
	f.pass(leaseTime + 30*time.Minute)
	f.complete(lease, "late")
	f.pass(time.Hour - time.Second)
	f.wantResult(call, "late")
	f.pass(time.Second)
	f.wantStatus(call, Free)
}

func TestRelease(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	call := f.call("k")
	lease := f.acquire(call)
	f.must(lease.Release(t.Context()))
	f.must(lease.Release(t.Context()))
	f.wantStatus(call, Free)
	second := f.acquire(call)
	f.must(lease.Release(t.Context()))
	f.wantStatus(call, Leased)
	f.complete(second, "done")
	f.wantResult(call, "done")
}

func TestFail(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name         string
		ran, runs    bool // whether the tool was idempotent when it ran, and is when it is called again
		want         Status
		afterRelease Status
	}{
		{"not idempotent", false, false, Unknown, Unknown},
		{"no longer idempotent", true, false, Unknown, Unknown},
		{"only now idempotent", false, true, Unknown, Unknown},
		{"idempotent", true, true, Free, Free},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			call := f.call("k")
			call.Idempotent = test.ran
			f.must(f.acquire(call).Fail(t.Context()))
			call.Idempotent = test.runs
			f.wantStatus(call, test.want)
			if test.want == Unknown {
				equal(t, "record", f.refused(call), Record{Status: Unknown, Ends: f.time.Add(leaseTime + time.Hour)})
				f.pass(leaseTime + time.Hour)
				f.wantStatus(call, Free)
				return
			}
			f.complete(f.acquire(call), "second")
			f.wantResult(call, "second")
		})
	}
}

// A lease over an unknown outcome that is released leaves it unknown: a tool that is no longer idempotent must not run.
func TestReleaseAfterUnknown(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	call := f.call("k")
	call.Idempotent = true
	f.must(f.acquire(call).Fail(t.Context()))
	f.must(f.acquire(call).Release(t.Context()))
	f.wantStatus(call, Free)
	call.Idempotent = false
	f.wantStatus(call, Unknown)
}

func TestLeaseRunsOutWithoutResult(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	call := f.call("k")
	f.acquire(call)
	f.pass(leaseTime - time.Millisecond)
	f.wantStatus(call, Leased)
	f.pass(time.Millisecond)
	f.wantStatus(call, Unknown)
	equal(t, "record", f.refused(call).Status, Unknown)

	call = f.call("idempotent")
	call.Idempotent = true
	first := f.acquire(call)
	f.pass(leaseTime)
	f.wantStatus(call, Free)
	second := f.acquire(call)
	f.complete(second, "second")
	fencedBy, err := first.Complete(t.Context(), []byte("first"), time.Time{})
	f.must(err)
	equal(t, "what the first owner answers with", string(fencedBy.Result), "second")
	f.wantResult(call, "second")
}

// The owner died between its two writes. Whoever comes next completes the record, by Read or by Acquire.
func TestLeaseRunsOutWithResult(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	until := f.time.Add(10 * time.Minute)
	for _, by := range []string{"read", "acquire"} {
		call := f.call(by)
		lease := f.acquire(call)
		died := errors.New("the owner died")
		f.db.onWrite = func(k key, send func() error) error {
			if k.sk == "LEASE" {
				return died
			}
			return send()
		}
		if _, err := lease.Complete(t.Context(), []byte("done"), until); !errors.Is(err, died) {
			t.Fatalf("error %v", err)
		}
		f.db.onWrite = nil
		f.wantStatus(call, Leased)
		f.pass(leaseTime)
		got := f.read
		if by == "acquire" {
			got = f.refused
		}
		equal(t, by, string(got(call).Result), "done")
		entry, err := f.Show(t.Context(), call.ID)
		f.must(err)
		if entry.State != "completed" || !entry.ReplayUntil.Equal(until) {
			t.Errorf("%s left %+v", by, entry)
		}
		fencedBy, err := lease.Complete(t.Context(), []byte("done"), until)
		if fencedBy != nil || err != nil {
			t.Errorf("the owner comes back: %+v, %v", fencedBy, err)
		}
	}
}

func TestFencedOutOwnerMeetsRunningWinner(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	call := f.call("k")
	call.Idempotent = true
	first := f.acquire(call)
	f.pass(leaseTime)
	second := f.acquire(call)
	fencedBy, err := first.Complete(t.Context(), []byte("first"), time.Time{})
	f.must(err)
	equal(t, "record", fencedBy.Status, Leased)
	f.complete(second, "second")
	f.wantResult(call, "second")
}

// What ran is recorded although an operator freed the key, or the record ended, before it came back.
func TestLateOwner(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	call := f.call("k")
	lease := f.acquire(call)
	f.pass(leaseTime)
	if _, err := f.Resolve(t.Context(), call.ID, Resolution{}); err != nil {
		t.Fatal(err)
	}
	f.wantStatus(call, Free)
	f.complete(lease, "late")
	f.wantResult(call, "late")

	f.pass(2 * time.Hour)
	lease = f.acquire(call)
	f.pass(leaseTime + 2*time.Hour)
	f.wantStatus(call, Free)
	f.complete(lease, "later")
	f.wantResult(call, "later")
}

func TestReplayUntil(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	call := f.call("k")
	until := f.time.Add(10*time.Minute + 999*time.Microsecond)
	fencedBy, err := f.acquire(call).Complete(t.Context(), []byte("link 1"), until)
	if fencedBy != nil || err != nil {
		t.Fatal(fencedBy, err)
	}
	f.pass(10*time.Minute - time.Millisecond)
	f.wantResult(call, "link 1")
	f.pass(time.Millisecond)
	f.wantStatus(call, Free)
	other := call
	other.Digest = [32]byte{2}
	f.wantStatus(other, Conflict)
	lease := f.acquire(call)
	f.wantStatus(call, Leased)
	f.complete(lease, "link 2")
	f.wantResult(call, "link 2")
}

// The owner died between its two writes, and what it stored may no longer be replayed.
func TestReplayEndsBeforeLease(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	call := f.call("k")
	first := f.acquire(call)
	found := &result{data: []byte("link 1"), expires: first.record.expires, replayUntil: f.time.Add(time.Second)}
	f.must(f.putResult(t.Context(), call.ID, first.record.owner, found))
	f.wantStatus(call, Leased)
	f.pass(leaseTime)
	f.wantStatus(call, Free)
	f.complete(f.acquire(call), "link 2")
	f.wantResult(call, "link 2")
}

func TestMayStart(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	lease := f.acquire(f.call("k"))
	f.pass(StartWindow - time.Nanosecond)
	if !lease.MayStart(f.clock()) {
		t.Error("may not start within the window")
	}
	f.pass(time.Nanosecond)
	if lease.MayStart(f.clock()) {
		t.Error("may start after the window")
	}
}

// The window begins before the request is sent, however long that takes.
func TestMayStartCountsTheRequest(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.db.onWrite = func(_ key, send func() error) error {
		f.pass(StartWindow)
		return send()
	}
	if f.acquire(f.call("k")).MayStart(f.clock()) {
		t.Error("may start although the lease took as long as the window")
	}
}

func TestResults(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	random := make([]byte, MaxResultBytes)
	rand.Read(random)
	for name, result := range map[string]string{
		"empty":      "",
		"one":        "x",
		"plain":      strings.Repeat("x", plainBytes),
		"compressed": strings.Repeat("x", plainBytes+1),
		"text":       strings.Repeat("All is well. ", MaxResultBytes/13),
		"random":     string(random),
		"small":      string(random[:plainBytes+1]),
	} {
		call := f.call(name)
		f.complete(f.acquire(call), result)
		f.wantResult(call, result)
		met, err := f.record(t.Context(), call.ID)
		f.must(err)
		d := decoder{item: f.stored(resultKey(call.ID, met.owner))}
		size, compressed := len(d.bytes("data")), name == "compressed" || name == "text"
		if size > len(result) || (size < len(result)/10) != compressed {
			t.Errorf("%s: %d bytes are stored as %d", name, len(result), size)
		}
	}
}

func TestTooLarge(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	call := f.call("k")
	lease := f.acquire(call)
	_, err := lease.Complete(t.Context(), make([]byte, MaxResultBytes+1), time.Time{})
	if !errors.Is(err, ErrTooLarge) {
		t.Errorf("error %v", err)
	}
	f.complete(lease, "result is too large")
	f.wantResult(call, "result is too large")
	call = f.call("audit")
	call.Audit = make([]byte, MaxAuditBytes+1)
	if _, _, err := f.Acquire(t.Context(), call); !errors.Is(err, ErrTooLarge) {
		t.Errorf("error %v", err)
	}
	call.Audit = call.Audit[1:]
	f.acquire(call)
}

func TestCallIsChecked(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for want, change := range map[string]func(*Call){
		"timeout":      func(c *Call) { c.Timeout = 0 },
		"time to live": func(c *Call) { c.TTL = -1 },
	} {
		call := f.call("k")
		change(&call)
		if _, _, err := f.Acquire(t.Context(), call); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v does not name the %s", err, want)
		}
	}
	equal(t, "requests", f.db.requests(), requests{})
}

func TestLeaseIsFinishedOnce(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for _, first := range []string{"complete", "release", "fail"} {
		lease := f.acquire(f.call(first))
		steps := map[string]func() error{
			"complete": func() error { _, err := lease.Complete(t.Context(), []byte("x"), time.Time{}); return err },
			"release":  func() error { return lease.Release(t.Context()) },
			"fail":     func() error { return lease.Fail(t.Context()) },
		}
		f.must(steps[first]())
		for second, step := range steps {
			if err := step(); errors.Is(err, ErrFinished) != (first != second) {
				t.Errorf("%s after %s: %v", second, first, err)
			}
		}
	}
	lease := f.acquire(f.call("k"))
	f.complete(lease, "x")
	if _, err := lease.Complete(t.Context(), []byte("y"), time.Time{}); !errors.Is(err, ErrFinished) {
		t.Errorf("a second result: %v", err)
	}
	if _, err := lease.Complete(t.Context(), []byte("x"), f.time); !errors.Is(err, ErrFinished) {
		t.Errorf("another end of replay: %v", err)
	}
}

func TestMissingResult(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	call := f.call("k")
	lease := f.acquire(call)
	f.complete(lease, "x")
	_, err := f.db.DeleteItem(t.Context(), &dynamodb.DeleteItemInput{
		TableName: aws.String(f.table), Key: resultKey(call.ID, lease.record.owner).item(),
	})
	f.must(err)
	if met, err := f.Read(t.Context(), call.ID, call.Query); err == nil || !strings.Contains(err.Error(), "missing") {
		t.Errorf("record %+v, error %v", met, err)
	}
}

// The record ends between the read of it and that of its result, and DynamoDB deletes the result at once.
func TestEndsWhileRead(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	call := f.call("k")
	f.complete(f.acquire(call), "x")
	f.db.onRead = func(k key) error {
		if k.sk != "RESULT" {
			return nil
		}
		f.pass(24 * time.Hour)
		_, err := f.db.DB.DeleteItem(t.Context(), &dynamodb.DeleteItemInput{TableName: aws.String(f.table), Key: k.item()})
		return err
	}
	f.wantStatus(call, Free)
}

func TestStatusNames(t *testing.T) {
	t.Parallel()
	var names []string
	for s := Free - 1; s <= Conflict+1; s++ {
		names = append(names, s.String())
	}
	equal(t, "names", names, []string{
		"Status(-1)", "free", "completed", "leased", "unknown", "conflict", "Status(5)",
	})
}
