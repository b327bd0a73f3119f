package ledger

import (
	"bytes"
	"context"
	"fmt"
	"time"
)

// Entry is all that the table holds of a record, for an operator.
type Entry struct {
	// State is leased, completed or unknown, as stored: a lease that ran out is still leased.
	State      string
	Owner      string
	Digest     [32]byte
	Idempotent bool
	LeaseUntil time.Time
	// ReplayUntil is zero unless the record is completed and the same call runs anew before the record ends.
	ReplayUntil time.Time
	Ends        time.Time
	Audit       []byte
	// Result is what the owner's run returned; nil when nothing was stored.
	Result []byte
}

// Show returns the record of id, nil when there is none or it has ended. It changes nothing.
func (l *Ledger) Show(ctx context.Context, id ID) (*Entry, error) {
	met, err := l.record(ctx, id)
	now := l.now()
	if err != nil || met == nil || ended(met.expires, now) {
		return nil, err
	}
	entry := &Entry{
		State:       string(met.state),
		Owner:       met.owner,
		Digest:      met.digest,
		Idempotent:  met.idempotent,
		LeaseUntil:  met.leaseUntil,
		ReplayUntil: met.replayUntil,
		Ends:        time.Unix(met.expires, 0),
		Audit:       met.audit,
	}
	found, err := l.result(ctx, id, met.owner, now)
	if err != nil {
		return nil, err
	}
	if found != nil {
		entry.Result = found.data
	}
	return entry, nil
}

// Resolution is what an operator found out about a call whose outcome is unknown.
type Resolution struct {
	// Result is what the call is to answer from now on; nil frees the key, so that the call may run.
	Result []byte
	// ReplayUntil bounds how long Result is replayed; zero means as long as the record lasts.
	ReplayUntil time.Time
}

// Resolve ends an unknown outcome: one that Fail recorded, or a lease that ran out without a result. It returns the
// record as it then is. For any other record it returns that and ErrNotUnknown. An owner that completes later is fenced
// out by a Result; on a freed key, what it did is recorded.
func (l *Ledger) Resolve(ctx context.Context, id ID, resolution Resolution) (Record, error) {
	if err := checkResult(resolution.Result); err != nil {
		return Record{}, fmt.Errorf("resolving %s: %w", id, err)
	}
	owner := l.newOwner()
	for range maxRounds {
		answer, d, err := l.readUnknown(ctx, id)
		if err != nil {
			return answer, err
		}
		c, err := l.resolve(ctx, id, owner, d, resolution)
		if err != nil {
			return Record{}, err
		}
		_, ok, err := l.change(ctx, id, c)
		if err != nil {
			return Record{}, err
		}
		if ok {
			return resolved(c.put, resolution.Result), nil
		}
	}
	return Record{}, fmt.Errorf("resolving %s: %w", id, errContended)
}

// readUnknown is a record whose outcome is unknown to everyone: no query may run it.
func (l *Ledger) readUnknown(ctx context.Context, id ID) (Record, decision, error) {
	met, err := l.record(ctx, id)
	if err != nil {
		return Record{}, decision{}, err
	}
	query := Query{}
	if met != nil {
		query.Digest = met.digest
	}
	answer, d, err := l.follow(ctx, id, query, met)
	if err == nil && answer.Status != Unknown {
		err = fmt.Errorf("resolving %s: %w: it is %s", id, ErrNotUnknown, answer.Status)
	}
	return answer, d, err
}

// resolve stores the result, if there is one, and is the change that then resolves the record.
func (l *Ledger) resolve(ctx context.Context, id ID, owner string, d decision, resolution Resolution) (change, error) {
	if resolution.Result == nil {
		return change{when: d.when}, nil
	}
	met := d.met
	found := &result{
		data:        bytes.Clone(resolution.Result),
		replayUntil: resolution.ReplayUntil.Truncate(time.Millisecond),
		expires:     met.expires,
	}
	if err := l.putResult(ctx, id, owner, found); err != nil {
		return change{}, err
	}
	done := met.completed(found.expires, found.replayUntil)
	done.owner = owner
	return change{put: done, when: d.when}, nil
}

func resolved(put *record, data []byte) Record {
	if put == nil {
		return Record{Status: Free}
	}
	return Record{Status: Completed, Result: data, Ends: time.Unix(put.expires, 0)}
}
