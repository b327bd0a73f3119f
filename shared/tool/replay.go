package tool

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"patchbay/shared/mcp"
)

// ReplayUntil says until when the result of this call may be given to a repeat of it under the same idempotency key:
// an offer that ends, a link that expires. From then on the same key runs the tool anew. Of several times the earliest
// counts; the zero time changes nothing. Without any, a result is replayed as long as the contract's idempotency.ttl
// says, which is also the longest.
//
// It counts for what the handler returns as a success. A failure, also one in a Result with IsError, is replayed as
// long as its record lasts, and a Result that has mcp.MetaReplayUntil in its Meta says all by itself. It does nothing
// for a context that is not a handler's.
func ReplayUntil(ctx context.Context, until time.Time) {
	if current, ok := ctx.Value(callKey{}).(*current); ok {
		current.replay.bound(until)
	}
}

// replay is until when a call's result may be replayed.
type replay struct {
	mu    sync.Mutex
	until time.Time
}

func (r *replay) bound(until time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.until.IsZero() || !until.IsZero() && until.Before(r.until) {
		r.until = until
	}
}

func (r *replay) time() time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.until
}

// setReplay writes what ReplayUntil was told into a result, to the second below.
func setReplay(ctx context.Context, wire *mcp.CallToolResult) error {
	until := ctx.Value(callKey{}).(*current).replay.time().UTC()
	if _, said := wire.Meta[mcp.MetaReplayUntil]; said || until.IsZero() || wire.IsError {
		return nil
	}
	if year := until.Year(); year < 0 || year > 9999 {
		return fmt.Errorf("a result cannot be replayed until the year %d; RFC 3339 ends with 9999", year)
	}
	return setMeta(wire, mcp.MetaReplayUntil, json.RawMessage(until.AppendFormat(nil, `"`+time.RFC3339+`"`)))
}
