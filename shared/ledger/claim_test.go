package ledger

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

func TestClaim(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	one, two := f.call("one").ID, f.call("two").ID
	ends := f.time.Add(10 * time.Minute)
	claim := func(receipt string, id, want ID) {
		t.Helper()
		if holder, err := f.Claim(t.Context(), receipt, id, ends); holder != want || err != nil {
			t.Errorf("%q is claimed by %v, %v, want %v", receipt, holder, err, want)
		}
	}
	claim("r", one, one)
	claim("r", two, one)
	claim("r", one, one)
	claim("r2", two, two)
	claim("", two, two)
	claim("r\x00#/"+strings.Repeat("é", 5000), two, two)
	f.pass(10*time.Minute - time.Nanosecond)
	claim("r", two, one)
	f.pass(time.Nanosecond)
	if holder, err := f.Claim(t.Context(), "r", one, ends); err == nil {
		t.Errorf("an ended receipt is claimed by %v", holder)
	}
	// An instance whose clock is late still finds the claim.
	f.pass(skew - time.Nanosecond)
	ends = f.time.Add(time.Second)
	claim("r", two, one)
	f.pass(time.Nanosecond)
	claim("r", two, two)
}

func TestClaimOnce(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for round := range 10 {
		var won atomic.Int32
		holders := make([]ID, 20)
		var group sync.WaitGroup
		for i := range holders {
			group.Go(func() {
				id := f.call(fmt.Sprint(i)).ID
				holder, err := f.Claim(t.Context(), fmt.Sprint("receipt ", round), id, f.clock().Add(time.Hour))
				if err != nil {
					t.Error(err)
				}
				if holders[i] = holder; holder == id {
					won.Add(1)
				}
			})
		}
		group.Wait()
		for _, holder := range holders {
			if holder != holders[0] {
				t.Errorf("two holders: %v, %v", holder, holders[0])
			}
		}
		if won.Load() != 1 {
			t.Errorf("%d claims were won", won.Load())
		}
	}
}
