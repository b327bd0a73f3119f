package ratelimit

import (
	"context"
	"errors"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"patchbay/scripts/localdb/localdbtest"
	"patchbay/shared/ledger"
)

var engine localdbtest.Engine

func TestMain(m *testing.M) { engine.Main(m, os.Getenv) }

func table(t *testing.T) *dynamodb.Client {
	t.Helper()
	client := engine.Client(t)
	if err := ledger.CreateTable(t.Context(), client, t.Name()); err != nil {
		t.Fatal(err)
	}
	return client
}

// counted counts the requests that reach the database.
type counted struct {
	DB
	requests atomic.Int64
	broken   bool
}

func (c *counted) UpdateItem(ctx context.Context, in *dynamodb.UpdateItemInput, o ...func(*dynamodb.Options)) (
	*dynamodb.UpdateItemOutput, error) {
	c.requests.Add(1)
	if c.broken {
		return nil, errors.New("broken")
	}
	return c.DB.UpdateItem(ctx, in, o...)
}

func TestTake(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 7, 28, 12, 0, 10, 0, time.UTC)
	db := &counted{DB: table(t)}
	one, two := New(db, t.Name()), New(db, t.Name())
	one.now, two.now = func() time.Time { return now }, func() time.Time { return now }
	limit := Limit{Calls: 2, Window: time.Minute}
	take := func(l *Limiter, who string, want time.Duration, requests int64) {
		t.Helper()
		before := db.requests.Load()
		wait, err := l.Take(t.Context(), who, limit)
		if err != nil || wait != want || db.requests.Load()-before != requests {
			t.Errorf("wait %v, %v after %d requests; want %v after %d", wait, err, db.requests.Load()-before, want, requests)
		}
	}
	take(one, "a", 0, 1)
	take(two, "a", 0, 1)
	take(one, "a", 50*time.Second, 1)
	take(one, "a", 50*time.Second, 0) // the instance knows by itself now
	take(two, "a", 50*time.Second, 1)
	take(one, "b", 0, 1)
	now = now.Add(49*time.Second + 500*time.Millisecond)
	take(one, "a", time.Second, 0)
	now = now.Add(500 * time.Millisecond)
	take(one, "a", 0, 1)
}

// However many instances count at once, no more than the limit pass.
func TestTakeAtOnce(t *testing.T) {
	t.Parallel()
	client := table(t)
	now := time.Now()
	var passed atomic.Int64
	var group sync.WaitGroup
	for range 5 {
		limiter := New(client, t.Name())
		limiter.now = func() time.Time { return now }
		for range 10 {
			group.Go(func() {
				wait, err := limiter.Take(t.Context(), "a", Limit{Calls: 7, Window: time.Hour})
				if err != nil {
					t.Error(err)
				} else if wait == 0 {
					passed.Add(1)
				}
			})
		}
	}
	group.Wait()
	if passed.Load() != 7 {
		t.Errorf("%d calls passed, want 7", passed.Load())
	}
}

func TestRefusalsAreForgotten(t *testing.T) {
	t.Parallel()
	limiter := New(nil, "")
	start := time.Now()
	for i := range 1000 {
		at := start.Add(time.Duration(i) * time.Second)
		limiter.refuseUntil(string(rune(i)), at, at.Add(time.Second))
	}
	if len(limiter.refused) > 2 {
		t.Errorf("%d refusals are remembered", len(limiter.refused))
	}
}

// Without its count a call does not pass.
func TestDatabaseDown(t *testing.T) {
	t.Parallel()
	limiter := New(&counted{broken: true}, "t")
	if wait, err := limiter.Take(t.Context(), "a", Limit{Calls: 1, Window: time.Minute}); err == nil {
		t.Errorf("passed with wait %v", wait)
	}
}
