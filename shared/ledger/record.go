package ledger

import (
	"fmt"
	"time"
)

// state is the stored state of a record.
type state string

const (
	stateLeased    state = "leased"
	stateCompleted state = "completed"
	stateUnknown   state = "unknown"
)

// The newest format versions of the items that this release reads, and those that it writes. Raise one with every
// change that an older release would misread or lose when it writes the item again, and keep reading the old.
const (
	recordVersion = 1
	resultVersion = 1
	claimVersion  = 1
)

// record is a lease item.
type record struct {
	state      state
	owner      string
	digest     [32]byte
	idempotent bool
	// rerun says that the lease was taken although it was unknown how an earlier run ended.
	rerun      bool
	leaseUntil time.Time // whole milliseconds
	// replayUntil is when the same call runs anew; zero when the record lasts longer. Completed records only.
	replayUntil time.Time // whole milliseconds
	expires     int64     // epoch seconds; ended from that second on
	audit       []byte
}

func (r *record) status() Status {
	switch r.state {
	case stateCompleted:
		return Completed
	case stateUnknown:
		return Unknown
	}
	return Leased
}

// unchanged is the condition that the record has not ended by now and that nobody has changed it: every change sets
// another owner or another state.
func (r *record) unchanged(now time.Time) condition {
	return condition{owner: r.owner, state: r.state, now: now.Unix()}
}

func (r *record) completed(expires int64, replayUntil time.Time) *record {
	done := *r
	done.state, done.expires, done.replayUntil = stateCompleted, expires, replayUntil
	return &done
}

func leaseKey(id ID) key { return key{"LEASE#" + id.String(), "LEASE"} }

func (c change) write(id ID) write {
	w := write{key: leaseKey(id), when: c.when}
	if c.put != nil {
		w.item = c.put.encode(w.key)
	}
	return w
}

func (r *record) encode(k key) item {
	stored := newItem(k, recordVersion, r.expires).
		with("state", text(string(r.state))).
		with("owner", text(r.owner)).
		with("digest", blob(r.digest[:])).
		with("leaseUntil", number(r.leaseUntil.UnixMilli()))
	stored.flag("idempotent", r.idempotent)
	stored.flag("rerun", r.rerun)
	stored.time("replayUntil", r.replayUntil)
	if len(r.audit) > 0 {
		stored.with("audit", blob(r.audit))
	}
	return stored
}

func decodeRecord(stored item) (*record, error) {
	d := decoder{item: stored}
	d.checkVersion(recordVersion)
	r := &record{
		state:       state(d.text("state")),
		owner:       d.text("owner"),
		idempotent:  d.flag("idempotent"),
		rerun:       d.flag("rerun"),
		leaseUntil:  d.time("leaseUntil"),
		replayUntil: d.optionalTime("replayUntil"),
		expires:     d.number("expiresAt"),
		audit:       d.optionalBytes("audit"),
	}
	digest := d.bytes("digest")
	if d.err != nil {
		return nil, d.err
	}
	if copy(r.digest[:], digest) != len(digest) || len(digest) != len(r.digest) {
		return nil, fmt.Errorf("attribute digest has %d bytes; allowed: %d", len(digest), len(r.digest))
	}
	switch r.state {
	case stateLeased, stateCompleted, stateUnknown:
	default:
		return nil, fmt.Errorf("attribute state is %.40q; allowed: leased, completed, unknown", r.state)
	}
	if r.owner == "" {
		return nil, fmt.Errorf("attribute owner is empty")
	}
	return r, nil
}
