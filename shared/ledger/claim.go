package ledger

import (
	"context"
	"encoding/hex"
	"fmt"
	"time"
)

// Claim uses up a single-use receipt for the call of id, unless another call has. It returns whose it is: id when the
// call may go on, also when it claimed the receipt before, so that a call that is sent again finds its own claim. The
// claim is kept past ends, which is when the receipt itself ends; one that has ended is refused with an error.
//
// It costs one small write, and a read on an engine that does not return the item in the way.
func (l *Ledger) Claim(ctx context.Context, receipt string, id ID, ends time.Time) (ID, error) {
	now := l.now()
	if !now.Before(ends) {
		return ID{}, fmt.Errorf("claiming a receipt for %s: it ended at %v", id, ends.UTC())
	}
	k := key{"CLAIM#" + hex.EncodeToString(hashParts("patchbay receipt 1", receipt)), "CLAIM"}
	w := write{
		key:  k,
		item: newItem(k, claimVersion, ceilUnix(ends.Add(skew))).with("usedBy", blob(id[:])),
		when: freeAt(now),
	}
	met, ok, err := l.write(ctx, w, func(stored item) bool {
		holder, err := decodeClaim(stored)
		return err == nil && holder == id
	})
	if ok {
		return id, nil
	}
	if err != nil {
		return ID{}, fmt.Errorf("claiming a receipt for %s: %w", id, err)
	}
	holder, err := decodeClaim(met)
	if err != nil {
		return ID{}, fmt.Errorf("reading the claim of a receipt: %w", err)
	}
	return holder, nil
}

func decodeClaim(stored item) (ID, error) {
	d := decoder{item: stored}
	d.checkVersion(claimVersion)
	holder := d.bytes("usedBy")
	if d.err != nil {
		return ID{}, d.err
	}
	if len(holder) != len(ID{}) {
		return ID{}, fmt.Errorf("attribute usedBy has %d bytes; allowed: %d", len(holder), len(ID{}))
	}
	return ID(holder), nil
}
