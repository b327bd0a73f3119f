package ledger

import (
	"testing"
	"time"
)

func TestReceipt(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	of, other := NewID("p", "tool", "a"), NewID("p", "tool", "b")
	ends := f.time.Add(time.Minute)
	if err := f.PutReceipt(t.Context(), of, "r1", ends); err != nil {
		t.Fatal(err)
	}
	check := func(of ID, want string) {
		t.Helper()
		got, until, err := f.Receipt(t.Context(), of)
		if err != nil || got != want || (want != "" && !until.Equal(ends.Truncate(time.Millisecond))) {
			t.Errorf("got %q until %v, %v; want %q until %v", got, until, err, want, ends)
		}
	}
	check(of, "r1")
	check(other, "")
	if err := f.PutReceipt(t.Context(), of, "r2", ends); err != nil {
		t.Fatal(err)
	}
	check(of, "r2")
	f.pass(time.Minute)
	check(of, "")
}
