package ledger

import (
	"context"
	"errors"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"

	"patchbay/scripts/localdb/localdbtest"
)

// engine is the DynamoDB engine of all tests here.
var engine localdbtest.Engine

func TestMain(m *testing.M) { engine.Main(m, os.Getenv) }

// fixture is a table of its own on the engine, with a ledger on it and a clock that a test can move.
type fixture struct {
	testing.TB
	*Ledger
	db    *watchedDB
	table string

	mu   sync.Mutex
	time time.Time
}

func newFixture(tb testing.TB) *fixture {
	tb.Helper()
	client := engine.Client(tb)
	table := strings.NewReplacer("/", "-", "#", "-", "=", "-").Replace(tb.Name())
	f := &fixture{TB: tb, table: table, time: time.Date(2026, 7, 28, 12, 0, 0, 0, time.UTC)}
	f.db = &watchedDB{DB: client, table: table}
	if err := CreateTable(tb.Context(), client, f.table); err != nil {
		tb.Fatal(err)
	}
	f.Ledger = f.another()
	return f
}

// another is a further instance on the same table.
func (f *fixture) another() *Ledger { return f.on(f.db) }

func (f *fixture) on(db DB) *Ledger { return New(db, f.table, Options{Now: f.clock}) }

func (f *fixture) clock() time.Time {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.time
}

func (f *fixture) pass(d time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.time = f.time.Add(d)
}

// call is a call of a tool that is not idempotent.
func (f *fixture) call(key string) Call {
	id, query := NewID("user", "tool", key), Query{Digest: [32]byte{1}}
	return Call{ID: id, Query: query, Timeout: 10 * time.Second, TTL: time.Hour}
}

// leaseTime is how long a lease on such a call lasts.
const leaseTime = StartWindow + initTime + 10*time.Second + skew

func (f *fixture) acquire(call Call) *Lease {
	f.Helper()
	lease, met, err := f.Acquire(f.Context(), call)
	if err != nil || lease == nil {
		f.Fatalf("no lease but %+v, %v", met, err)
	}
	return lease
}

// refused is the record that rules a call out.
func (f *fixture) refused(call Call) Record {
	f.Helper()
	lease, met, err := f.Acquire(f.Context(), call)
	if err != nil || lease != nil {
		f.Fatalf("lease %v, error %v", lease, err)
	}
	return met
}

func (f *fixture) read(call Call) Record {
	f.Helper()
	met, err := f.Read(f.Context(), call.ID, call.Query)
	if err != nil {
		f.Fatal(err)
	}
	return met
}

func (f *fixture) wantStatus(call Call, want Status) {
	f.Helper()
	if got := f.read(call); got.Status != want {
		f.Errorf("the record is %+v, want %s", got, want)
	}
}

func (f *fixture) wantResult(call Call, want string) {
	f.Helper()
	if got := f.read(call); got.Status != Completed || string(got.Result) != want {
		f.Errorf("the record is %s with %.40q, want completed with %.40q", got.Status, got.Result, want)
	}
}

// must is for steps that have to succeed.
func (f *fixture) must(err error) {
	f.Helper()
	if err != nil {
		f.Fatal(err)
	}
}

// complete completes a lease whose owner is not fenced out.
func (f *fixture) complete(lease *Lease, result string) {
	f.Helper()
	fencedBy, err := lease.Complete(f.Context(), []byte(result), time.Time{})
	if fencedBy != nil || err != nil {
		f.Fatalf("completing: %+v, %v", fencedBy, err)
	}
}

// store puts an item as it is.
func (f *fixture) store(stored item) {
	f.Helper()
	_, err := f.db.DB.PutItem(f.Context(), &dynamodb.PutItemInput{TableName: &f.table, Item: stored})
	f.must(err)
}

func (f *fixture) stored(k key) item {
	f.Helper()
	found, err := (&dynamoStore{db: f.db.DB, table: f.table}).get(f.Context(), k)
	f.must(err)
	return found
}

// equal compares what times and nested values it has.
func equal(tb testing.TB, what string, got, want any) {
	tb.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		tb.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// requests are how many of each kind were sent.
type requests struct{ Reads, Writes, FailedConditions int64 }

// watchedDB is the engine's client with a place to count requests and to break them.
type watchedDB struct {
	DB
	table                 string
	reads, writes, failed atomic.Int64
	// itemInTheWay plays an engine that returns the item on a failed condition, as DynamoDB and moto do; without it, one
	// that does not, as dynalite.
	itemInTheWay bool
	// onRead runs before a read and may fail it; nil does nothing.
	onRead func(k key) error
	// onWrite runs around a write, which send makes; nil makes it.
	onWrite func(k key, send func() error) error
}

func (w *watchedDB) requests() requests {
	return requests{w.reads.Swap(0), w.writes.Swap(0), w.failed.Swap(0)}
}

func keyOf(stored item) key {
	d := decoder{item: stored}
	return key{d.text(PartitionKey), d.text(SortKey)}
}

func (w *watchedDB) GetItem(
	ctx context.Context, input *dynamodb.GetItemInput, options ...func(*dynamodb.Options),
) (*dynamodb.GetItemOutput, error) {
	w.reads.Add(1)
	if !*input.ConsistentRead {
		return nil, errors.New("a read that is not consistent")
	}
	if w.onRead != nil {
		if err := w.onRead(keyOf(input.Key)); err != nil {
			return nil, err
		}
	}
	return w.DB.GetItem(ctx, input, options...)
}

func (w *watchedDB) PutItem(
	ctx context.Context, input *dynamodb.PutItemInput, options ...func(*dynamodb.Options),
) (out *dynamodb.PutItemOutput, err error) {
	err = w.write(ctx, keyOf(input.Item), func() (err error) {
		out, err = w.DB.PutItem(ctx, input, options...)
		return err
	})
	return out, err
}

func (w *watchedDB) DeleteItem(
	ctx context.Context, input *dynamodb.DeleteItemInput, options ...func(*dynamodb.Options),
) (out *dynamodb.DeleteItemOutput, err error) {
	err = w.write(ctx, keyOf(input.Key), func() (err error) {
		out, err = w.DB.DeleteItem(ctx, input, options...)
		return err
	})
	return out, err
}

func (w *watchedDB) write(ctx context.Context, k key, send func() error) error {
	w.writes.Add(1)
	watched := func() error {
		err := send()
		var failed *types.ConditionalCheckFailedException
		if errors.As(err, &failed) {
			w.failed.Add(1)
			failed.Item = nil
			if w.itemInTheWay {
				failed.Item, _ = (&dynamoStore{db: w.DB, table: w.table}).get(ctx, k)
			}
		}
		return err
	}
	if w.onWrite != nil {
		return w.onWrite(k, watched)
	}
	return watched()
}
