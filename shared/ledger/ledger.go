// Package ledger holds idempotency records in DynamoDB, so that however often a call is sent again, its tool runs once.
//
// A record belongs to an ID, a hash of principal, tool and key. Whoever may run the call takes a lease on the ID, runs
// the tool, stores the result and completes the record; all others get that result, or learn that the call is running,
// or that nobody knows how it ended. The life of a record:
//
//	(free) ──Acquire──► leased ──Complete──► completed ──replay until──► (free for the same arguments)
//	   ▲                 │  │
//	   ├────Release──────┘  └──Fail, or the lease runs out without a result──► unknown
//	   └────Resolve──────────────────────────────────────────────────────────────┘
//
// The unknown outcome of a tool that is idempotent may be leased again. From its end on, any record is free.
//
// All steps are conditional writes of one item, all reads are consistent, and a record that has ended counts as
// absent everywhere, whether or not DynamoDB has deleted it. The owner of a lease is a random token. It writes its
// result under that token first and then completes the record on the owner's equality alone, never on time: an owner
// that was fenced out, because its lease ran out and another was taken, learns of it and answers with the winner's
// record. Whoever meets a lease that ran out looks for its owner's result first, so an owner that died between the
// two writes loses nothing. After a write whose answer was lost, the item tells whether it was made. decide.go holds
// all of these rules as pure functions; the tests walk every interleaving of their steps.
//
// The items of a table, by partition key and sort key:
//
//	LEASE#<id>           LEASE    state, owner, times, arguments digest, audit facts: small, since a failed condition
//	                              is billed by the size of the item that it met
//	RESULT#<id>#<owner>  RESULT   what one owner's run returned, compressed
//	CLAIM#<hash>         CLAIM    which ID used up a single-use receipt
package ledger

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
)

// DB is what a Ledger uses of *dynamodb.Client.
type DB interface {
	GetItem(context.Context, *dynamodb.GetItemInput, ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error)
	PutItem(context.Context, *dynamodb.PutItemInput, ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error)
	DeleteItem(
		context.Context, *dynamodb.DeleteItemInput, ...func(*dynamodb.Options),
	) (*dynamodb.DeleteItemOutput, error)
}

// Options say how a Ledger works. The zero value is right in production.
type Options struct {
	// Now is the clock; nil means time.Now.
	Now func() time.Time
}

// Ledger reads and writes idempotency records. It is safe for concurrent use.
type Ledger struct {
	store    store
	clock    func() time.Time
	newOwner func() string
	gzips    sync.Pool // of *gzip.Writer, whose tables are large
}

// New returns a Ledger on a table that has the keys of CreateTable.
func New(db DB, table string, options Options) *Ledger {
	clock := options.Now
	if clock == nil {
		clock = time.Now
	}
	return newLedger(&dynamoStore{db: db, table: table}, clock, rand.Text)
}

func newLedger(s store, clock func() time.Time, newOwner func() string) *Ledger {
	return &Ledger{store: s, clock: clock, newOwner: newOwner}
}

// now is the time without its monotonic part, which stands still while an instance is frozen.
func (l *Ledger) now() time.Time { return l.clock().Round(0) }

// Status says what a caller who met a record can do.
type Status int

const (
	// Free means that the call may be run, by whoever gets a lease.
	Free Status = iota
	// Completed means that the call was run; its result is the answer.
	Completed
	// Leased means that the call is being run.
	Leased
	// Unknown means that the call was begun and nobody knows how it ended. It is not run again before the record ends
	// or an operator resolves it.
	Unknown
	// Conflict means that the key belongs to a call with other arguments.
	Conflict
)

func (s Status) String() string {
	names := [...]string{"free", "completed", "leased", "unknown", "conflict"}
	if s < 0 || int(s) >= len(names) {
		return fmt.Sprintf("Status(%d)", int(s))
	}
	return names[s]
}

// Record is what a caller met. A field that the status does not name is zero.
type Record struct {
	Status Status
	// Result is what Complete was given; Completed only.
	Result []byte
	// Until is when the lease runs out; Leased only.
	Until time.Time
	// Ends is when the record ends and with it its status, unless it changes before; zero when Free.
	Ends time.Time
}

// Errors that callers tell apart with errors.Is.
var (
	// ErrNewerFormat means that a later release wrote an item in a form that this one does not know.
	ErrNewerFormat = errors.New("written by a newer release of Patchbay")
	// ErrTooLarge means that a result or audit facts exceed their bound. Nothing was written.
	ErrTooLarge = errors.New("too large to record")
	// ErrFinished means that a lease was finished before, in another way. Nothing was written.
	ErrFinished = errors.New("lease is finished")
	// ErrNotUnknown means that Resolve met a record whose outcome is not unknown. Nothing was written.
	ErrNotUnknown = errors.New("outcome is not unknown")
)

// Query is what decides, with a record, whether a call may be run.
type Query struct {
	// Digest is that of the call's arguments; see Digest.
	Digest [32]byte
	// Idempotent says that the tool may run again when it is unknown how it ended.
	Idempotent bool
}

// Read returns the record of id as it counts for a call: an ended one is Free, and so is an unknown outcome of a tool
// that was idempotent when it ran and is now. It writes in one case only: when a lease ran out and its owner's result
// is there, the record is completed before the result is returned, so that no later lease can lead to another one.
//
// It costs one consistent read for Free, Leased, Unknown by Fail and Conflict, and two for Completed; a lease that ran
// out costs a read, and a write where there is a result.
func (l *Ledger) Read(ctx context.Context, id ID, query Query) (Record, error) {
	met, err := l.record(ctx, id)
	if err != nil {
		return Record{}, err
	}
	answer, _, err := l.follow(ctx, id, query, met)
	return answer, err
}

// maxRounds bounds how often one operation looks again because others changed the record meanwhile.
const maxRounds = 8

var errContended = fmt.Errorf("the record changed %d times meanwhile", maxRounds)

// follow walks from the record met to what it means for a call. The decision is one of answer, replay or take.
func (l *Ledger) follow(ctx context.Context, id ID, query Query, met *record) (Record, decision, error) {
	for range maxRounds {
		d, found, err := l.decide(ctx, id, query, met)
		if err != nil {
			return Record{}, decision{}, err
		}
		switch d.action {
		case actAnswer, actTake:
			return d.record(nil), d, nil
		case actReplay:
			if found != nil {
				return d.record(found.data), d, nil
			}
			met, err = l.reread(ctx, id, met)
		case actFinish:
			var ok bool
			if met, ok, err = l.change(ctx, id, d.change); ok {
				return d.record(found.data), d, nil
			}
		}
		if err != nil {
			return Record{}, decision{}, err
		}
	}
	return Record{}, decision{}, fmt.Errorf("following the record of %s: %w", id, errContended)
}

// reread reads the record again after its result was not found. A result ends no sooner than its record, so one of the
// two has ended between the two reads.
func (l *Ledger) reread(ctx context.Context, id ID, met *record) (*record, error) {
	again, err := l.record(ctx, id)
	if err != nil || again == nil || ended(again.expires, l.now()) || again.owner != met.owner {
		return again, err
	}
	return nil, fmt.Errorf("reading the result of %s: it is missing", id)
}

// decide is the decision on met, with its owner's result where that matters and is there.
func (l *Ledger) decide(ctx context.Context, id ID, query Query, met *record) (decision, *result, error) {
	now := l.now()
	d := decide(met, now, query)
	if d.action != actReplay && d.action != actSettle {
		return d, nil, nil
	}
	found, err := l.result(ctx, id, met.owner, now)
	if err != nil {
		return decision{}, nil, err
	}
	if d.action == actSettle {
		d = settle(met, found, now, query)
	}
	return d, found, nil
}

// record reads a record; nil when there is none.
func (l *Ledger) record(ctx context.Context, id ID) (*record, error) {
	stored, err := l.store.get(ctx, leaseKey(id))
	if err != nil {
		return nil, fmt.Errorf("reading the record of %s: %w", id, err)
	}
	return decodeMet(id, stored)
}

func decodeMet(id ID, stored item) (*record, error) {
	if stored == nil {
		return nil, nil
	}
	r, err := decodeRecord(stored)
	if err != nil {
		return nil, fmt.Errorf("reading the record of %s: %w", id, err)
	}
	return r, nil
}

// result reads what owner's run returned; nil when there is nothing or it has ended by now.
func (l *Ledger) result(ctx context.Context, id ID, owner string, now time.Time) (*result, error) {
	stored, err := l.store.get(ctx, resultKey(id, owner))
	if err != nil {
		return nil, fmt.Errorf("reading the result of %s: %w", id, err)
	}
	if stored == nil {
		return nil, nil
	}
	found, err := decodeResult(stored)
	if err != nil {
		return nil, fmt.Errorf("reading the result of %s: %w", id, err)
	}
	if ended(found.expires, now) {
		return nil, nil
	}
	return found, nil
}

// change makes a change and reports whether it is made, by this request or by an earlier one whose answer was lost. If
// its condition is not met, it returns the record in the way instead, nil when that has gone meanwhile.
func (l *Ledger) change(ctx context.Context, id ID, c change) (met *record, ok bool, err error) {
	stored, ok, err := l.write(ctx, c.write(id), func(stored item) bool {
		found, err := decodeMet(id, stored)
		return err == nil && c.made(found)
	})
	if err != nil {
		return nil, false, fmt.Errorf("writing the record of %s: %w", id, err)
	}
	if ok {
		return nil, true, nil
	}
	met, err = decodeMet(id, stored)
	return met, false, err
}

// write makes a write. When the answer is an error or that the condition is not met, the item itself tells whether the
// write was made: a request that is sent twice, by the SDK for one, meets its own work.
func (l *Ledger) write(ctx context.Context, w write, made func(item) bool) (met item, ok bool, err error) {
	met, ok, err = l.store.write(ctx, w)
	if ok {
		return nil, true, nil
	}
	if met == nil {
		found, readErr := l.store.get(ctx, w.key)
		if readErr != nil {
			return nil, false, errors.Join(err, readErr)
		}
		met = found
	}
	if made(met) {
		return nil, true, nil
	}
	return met, false, err
}
