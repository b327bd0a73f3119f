package handle_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"patchbay/shared/handle"
)

// wantLoad loads a value and checks how long it is kept and what the load cost.
func (f *fixture) wantLoad(store *handle.Store[basket], id string, left time.Duration, requests string) {
	f.Helper()
	f.db.requests()
	item := f.load(store, id)
	if got := item.ExpiresAt.Sub(f.clock()); got != left || item.Version != 1 {
		f.Errorf("version %d expires in %v, want version 1 and %v", item.Version, got, left)
	}
	if got := f.db.requests(); got != requests {
		f.Errorf("requests: %s; want %s", got, requests)
	}
}

func TestSliding(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	options := f.options()
	options.Window, options.Lifetime = 100*time.Minute, 4*time.Hour
	store := storeOf[basket](f, f.db, options)
	id := f.create(store, "apple")

	f.pass(10*time.Minute - time.Second) // not yet a tenth
	f.wantLoad(store, id, 90*time.Minute+time.Second, "get 1")
	f.pass(time.Second)
	f.wantLoad(store, id, 100*time.Minute, "get 1, update 1")
	f.wantLoad(store, id, 100*time.Minute, "get 1")
	f.pass(100*time.Minute - time.Second)
	f.wantLoad(store, id, 100*time.Minute, "get 1, update 1")
	f.pass(90 * time.Minute) // the hard end is nearer than the window
	left := 4*time.Hour - (10+100+90)*time.Minute + time.Second
	f.wantLoad(store, id, left, "get 1, update 1")
	f.wantLoad(store, id, left, "get 1")
	f.pass(left - time.Second)
	f.wantLoad(store, id, time.Second, "get 1")
	f.pass(time.Second)
	if _, err := store.Load(f.ctx(), id); !errors.Is(err, handle.ErrNotFound) {
		t.Errorf("after the hard end: %v", err)
	}
}

// A change prolongs a value each time, but not past its hard end either.
func TestChangesProlong(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	store := f.store()
	id := f.create(store)
	end := f.now.Add(handle.DefaultLifetime)
	for f.clock().Before(end) {
		item, err := store.Update(f.ctx(), id, adding("x"))
		if err != nil {
			t.Fatalf("%v before the end: %v", end.Sub(f.clock()), err)
		}
		want := f.clock().Add(handle.DefaultWindow)
		if want.After(end) {
			want = end
		}
		if !item.ExpiresAt.Equal(want) {
			t.Errorf("%v before the end: expires at %v, want %v", end.Sub(f.clock()), item.ExpiresAt, want)
		}
		f.pass(7 * time.Hour)
	}
	if _, err := store.Update(f.ctx(), id, adding("x")); !errors.Is(err, handle.ErrNotFound) {
		t.Errorf("after the end: %v", err)
	}
}

// The engine deletes nothing by time, as DynamoDB does not for days: what is past its time is gone all the same, and
// nothing brings it back.
func TestExpiredItemsAreGone(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	store := f.store()
	id := f.create(store, "apple")
	item := f.load(store, id)
	f.pass(handle.DefaultWindow - time.Second)
	f.load(storeOf[basket](f, prolongless{f.db}, f.options()), id) // alive, but not prolonged
	f.pass(time.Second)
	if _, err := store.Save(f.ctx(), item); !errors.Is(err, handle.ErrNotFound) {
		t.Errorf("save: %v", err)
	}
	for name, run := range operations(store) {
		if name == "delete" {
			continue // it would remove what the others must not see
		}
		if err := run(f.ctx(), id); !errors.Is(err, handle.ErrNotFound) {
			t.Errorf("%s: %v", name, err)
		}
	}
	scan, err := f.client.Scan(t.Context(), &dynamodb.ScanInput{TableName: &f.table})
	if err != nil || len(scan.Items) != 1 {
		t.Fatalf("the item is not there any more, so nothing was shown: %v", err)
	}
	if err := store.Delete(f.ctx(), id); !errors.Is(err, handle.ErrNotFound) {
		t.Errorf("delete: %v", err)
	}
}

// prolongless makes no updates.
type prolongless struct{ handle.DB }

func (prolongless) UpdateItem(
	context.Context, *dynamodb.UpdateItemInput, ...func(*dynamodb.Options),
) (*dynamodb.UpdateItemOutput, error) {
	return nil, errors.New("no updates here")
}

// Loads at the same time may all want to prolong a value; one of them does.
func TestConcurrentLoadsProlongOnce(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	store := f.store()
	id := f.create(store, "apple")
	f.pass(handle.DefaultWindow / 2)
	const loads = 4
	var sent, made atomic.Int64
	all := make(chan struct{})
	f.db.onUpdate = func(send func() error) error {
		if sent.Add(1) == loads {
			close(all)
		}
		<-all
		err := send()
		if err == nil {
			made.Add(1)
		}
		return err
	}
	var group sync.WaitGroup
	for range loads {
		group.Go(func() {
			if item, err := store.Load(f.ctx(), id); err != nil || item.Version != 1 {
				t.Errorf("version %d, %v", item.Version, err)
			}
		})
	}
	group.Wait()
	if made.Load() != 1 {
		t.Errorf("%d of %d loads prolonged the value, want one", made.Load(), loads)
	}
}

// A value that is deleted while somebody loads it must not come back as an item without content.
func TestProlongingBringsNothingBack(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	store := f.store()
	id := f.create(store, "apple")
	f.pass(handle.DefaultWindow / 2)
	f.db.onUpdate = func(send func() error) error {
		if err := store.Delete(f.ctx(), id); err != nil {
			t.Error(err)
		}
		return send()
	}
	f.load(store, id)
	scan, err := f.client.Scan(t.Context(), &dynamodb.ScanInput{TableName: &f.table})
	if err != nil || len(scan.Items) != 0 {
		t.Errorf("there are %d items, %v", len(scan.Items), err)
	}
}

// A load whose prolonging fails still has the value, and says how long it really is kept.
func TestProlongingThatFails(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	store := f.store()
	id := f.create(store, "apple")
	until := f.clock().Add(handle.DefaultWindow)
	f.pass(handle.DefaultWindow / 2)
	f.db.onUpdate = func(func() error) error { return errors.New("throttled") }
	item := f.load(store, id)
	if !item.ExpiresAt.Equal(until) || item.Value.Items[0] != "apple" {
		t.Errorf("item %+v, want one that expires at %v", item, until)
	}
}
