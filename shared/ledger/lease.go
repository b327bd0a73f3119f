package ledger

import (
	"bytes"
	"context"
	"fmt"
	"time"
)

// The parts of a lease beside the function's own timeout. Together they outlast any run that began in time.
const (
	// StartWindow is how long after Acquire began the function may be invoked.
	StartWindow = 5 * time.Second
	// initTime is how long a new instance of a function may take before its timeout begins to count.
	initTime = 10 * time.Second
	// skew is how far the clocks of two instances may differ.
	skew = 5 * time.Second
)

// MaxAuditBytes bounds the audit facts of a record, which is read and written with every call.
const MaxAuditBytes = 4 << 10

// Call is a call that is about to be run.
type Call struct {
	ID ID
	Query
	// Timeout is the function's timeout.
	Timeout time.Duration
	// TTL is how long the outcome is remembered, whichever it is.
	TTL time.Duration
	// Outlive is when the last of what the call consumed ends: a confirmation, a receipt. The record ends no sooner.
	Outlive time.Time
	// Audit is kept with the record and not interpreted; nil for none. It is stored before Acquire returns.
	Audit []byte
}

func (c *Call) check() error {
	switch {
	case c.Timeout <= 0:
		return fmt.Errorf("function's timeout is %v; allowed: above 0", c.Timeout)
	case c.TTL <= 0:
		return fmt.Errorf("time to live is %v; allowed: above 0", c.TTL)
	case len(c.Audit) > MaxAuditBytes:
		return fmt.Errorf("audit facts of %d bytes: %w; allowed: %d", len(c.Audit), ErrTooLarge, MaxAuditBytes)
	}
	return nil
}

// leased is the record of a lease that begins now.
func (c *Call) leased(owner string, now time.Time, rerun bool) *record {
	until := now.Add(StartWindow + initTime + c.Timeout + skew).Truncate(time.Millisecond)
	return &record{
		state:      stateLeased,
		owner:      owner,
		digest:     c.Digest,
		idempotent: c.Idempotent,
		rerun:      rerun,
		leaseUntil: until,
		expires:    max(ceilUnix(until.Add(c.TTL)), ceilUnix(c.Outlive)),
		audit:      bytes.Clone(c.Audit),
	}
}

// Lease is the right to run a call, once. Its methods are for one goroutine. An owner that does not know whether the
// function ran, because the connection broke, calls none of them and lets the lease run out.
type Lease struct {
	ledger *Ledger
	call   Call
	record *record
	begun  time.Time
	finish finish
	result *result // what Complete was first given
}

// finish is how a lease was finished.
type finish string

const (
	finishComplete finish = "completed"
	finishRelease  finish = "released"
	finishFail     finish = "failed"
)

// Acquire takes a lease on a call. When it cannot, the lease is nil and the record says why; of any number of callers
// at most one holds a lease. After an error there may be a lease that nobody holds; nothing has run.
//
// It costs one small write, and where that meets another record what Read costs, less the first read on DynamoDB.
func (l *Ledger) Acquire(ctx context.Context, call Call) (*Lease, Record, error) {
	if err := call.check(); err != nil {
		return nil, Record{}, fmt.Errorf("acquiring a lease on %s: %w", call.ID, err)
	}
	lease := &Lease{ledger: l, call: call}
	owner := l.newOwner()
	won, met, err := l.contend(ctx, call.ID, call.Query, l.now(), func(now time.Time, d decision) change {
		lease.begun = now
		lease.record = call.leased(owner, now, d.rerun)
		return change{put: lease.record, when: d.when}
	})
	if err != nil || !won {
		return nil, met, err
	}
	return lease, Record{}, nil
}

// contend makes the change that next gives for a time and the decision that the key may be taken, at first for now
// and as if there were no record. When others are faster, what they left decides anew. It ends with the change made
// or with the record that rules it out.
func (l *Ledger) contend(
	ctx context.Context, id ID, query Query, now time.Time, next func(time.Time, decision) change,
) (won bool, answer Record, err error) {
	d := decide(nil, now, query)
	for range maxRounds {
		met, ok, err := l.change(ctx, id, next(now, d))
		if ok || err != nil {
			return ok, Record{}, err
		}
		if answer, d, err = l.follow(ctx, id, query, met); err != nil || d.action != actTake {
			return false, answer, err
		}
		now = l.now()
	}
	return false, Record{}, fmt.Errorf("writing the record of %s: %w", id, errContended)
}

// MayStart reports whether the function may still be invoked at now. If not, the lease must be released: a run that
// began later could outlast it.
func (l *Lease) MayStart(now time.Time) bool { return now.Round(0).Before(l.begun.Add(StartWindow)) }

// Complete records the result, to be replayed until a time, the zero time meaning as long as the record lasts. It
// returns nil when the record is now completed with this result. Otherwise the owner was fenced out, and the record
// returned is what to answer with. After an error it may be called again with the same result; nobody knows then
// whether the result is recorded, so neither Release nor Fail may follow.
//
// It costs one write of the result and one small one.
func (l *Lease) Complete(ctx context.Context, data []byte, replayUntil time.Time) (fencedBy *Record, err error) {
	if err := l.begin(finishComplete, checkResult(data)); err != nil {
		return nil, err
	}
	now, id := l.ledger.now(), l.call.ID
	if err := l.keep(data, now, replayUntil.Truncate(time.Millisecond)); err != nil {
		return nil, err
	}
	if err := l.ledger.putResult(ctx, id, l.record.owner, l.result); err != nil {
		return nil, err
	}
	won, met, err := l.ledger.contend(ctx, id, l.call.Query, now, func(_ time.Time, d decision) change {
		return complete(l.record, d, l.result)
	})
	if won || err != nil {
		return nil, err
	}
	return &met, nil
}

// keep keeps what Complete was first given. Others may have read it from the table by the second time.
func (l *Lease) keep(data []byte, now, replayUntil time.Time) error {
	if l.result == nil {
		l.result = &result{data: bytes.Clone(data), replayUntil: replayUntil}
	}
	if !bytes.Equal(l.result.data, data) || !l.result.replayUntil.Equal(replayUntil) {
		return fmt.Errorf("completing %s: %w with another result", l.call.ID, ErrFinished)
	}
	l.result.expires = max(l.record.expires, ceilUnix(now.Add(l.call.TTL)))
	return nil
}

// Release frees the key because the call did not run: it was not started, it asks for input, or it failed in a way that
// is declared to have no effect. A lease that was taken over an unknown outcome leaves that outcome. An owner that was
// fenced out has nothing to release; that is no error. It costs one small write.
func (l *Lease) Release(ctx context.Context) error {
	return l.end(ctx, finishRelease, release(l.record, l.ledger.now()))
}

// Fail records at once that the outcome is unknown: the function crashed or timed out. An owner that was fenced out has
// nothing to say; that is no error. It costs one small write.
func (l *Lease) Fail(ctx context.Context) error {
	return l.end(ctx, finishFail, fail(l.record, l.ledger.now()))
}

func (l *Lease) end(ctx context.Context, how finish, c change) error {
	if err := l.begin(how, nil); err != nil {
		return err
	}
	_, _, err := l.ledger.change(ctx, l.call.ID, c)
	return err
}

// begin refuses to finish a lease in a second way, or at all when there is a problem with how.
func (l *Lease) begin(how finish, problem error) error {
	if problem == nil && l.finish != "" && l.finish != how {
		problem = fmt.Errorf("%w: it was %s", ErrFinished, l.finish)
	}
	if problem != nil {
		return fmt.Errorf("finishing the lease on %s: %w", l.call.ID, problem)
	}
	l.finish = how
	return nil
}
