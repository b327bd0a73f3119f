package handle_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"patchbay/scripts/localdb"
	"patchbay/shared/handle"
)

// TestConcurrentUpdates has many writers change one value: what was acknowledged is there, once.
func TestConcurrentUpdates(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	store := f.store()
	id := f.create(store)
	const writers, each = 10, 5
	acknowledged := make(chan string, writers*each)
	var group sync.WaitGroup
	for w := range writers {
		group.Go(func() {
			for n := range each {
				name := fmt.Sprintf("%d/%d", w, n)
				_, err := store.Update(f.ctx(), id, adding(name))
				if err == nil {
					acknowledged <- name
				} else if !errors.Is(err, handle.ErrConflict) {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
	close(acknowledged)
	f.wantItems(f.load(store, id), collect(acknowledged))
}

func collect(names <-chan string) []string {
	var all []string
	for name := range names {
		all = append(all, name)
	}
	return all
}

// wantItems wants the items to be those, each once, in any order.
func (f *fixture) wantItems(item handle.Item[basket], want []string) {
	f.Helper()
	got := slices.Sorted(slices.Values(item.Value.Items))
	if slices.Sort(want); !slices.Equal(got, want) {
		f.Errorf("%d items %q, want %d %q", len(got), got, len(want), want)
	}
	if item.Version != int64(len(want)+1) || len(want) == 0 {
		f.Errorf("version %d after %d changes", item.Version, len(want))
	}
}

func TestConflict(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	store := f.store()
	id := f.create(store)
	stale := f.load(store, id)
	for i := range 20 { // more than an item has tokens
		if _, err := store.Update(f.ctx(), id, adding("theirs")); err != nil {
			t.Fatal(err)
		}
		f.db.requests()
		if _, err := store.Save(f.ctx(), stale); !errors.Is(err, handle.ErrConflict) {
			t.Errorf("after %d changes: %v", i+1, err)
		}
		if got := f.db.requests(); got != "get 1, update 1" {
			t.Errorf("requests: %s", got)
		}
	}
}

func TestUpdateThatNeverWins(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	store, other := f.store(), storeOf[basket](f, f.client, f.options())
	id := f.create(store)
	tries := 0
	f.db.onUpdate = func(send func() error) error { // somebody else is always faster
		tries++
		if _, err := other.Update(f.ctx(), id, adding("theirs")); err != nil {
			t.Error(err)
		}
		return send()
	}
	if _, err := store.Update(f.ctx(), id, adding("mine")); !errors.Is(err, handle.ErrConflict) {
		t.Errorf("error %v", err)
	}
	if tries != 16 {
		t.Errorf("%d tries, want 16", tries)
	}
	if items := f.load(other, id).Value.Items; slices.Contains(items, "mine") {
		t.Errorf("items %q", items)
	}
}

func TestUpdateEndsWithItsContext(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	store, other := f.store(), storeOf[basket](f, f.client, f.options())
	id := f.create(store)
	ctx, cancel := context.WithCancel(f.ctx())
	f.db.onUpdate = func(send func() error) error {
		if _, err := other.Update(f.ctx(), id, adding("theirs")); err != nil {
			t.Error(err)
		}
		return send()
	}
	reads := 0
	f.db.onGet = func() error {
		if reads++; reads == 2 { // the one after the conflict
			defer cancel()
		}
		return nil
	}
	_, err := store.Update(ctx, id, adding("mine"))
	if err == nil || !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

// An error of the change ends the update as it is, and nothing is written.
func TestChangeThatFails(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	store := f.store()
	id := f.create(store, "apple")
	full := errors.New("the basket is full")
	_, err := store.Update(f.ctx(), id, func(b *basket) error { b.Items = nil; return full })
	if err != full {
		t.Errorf("error %v", err)
	}
	if item := f.load(store, id); item.Version != 1 || len(item.Value.Items) != 1 {
		t.Errorf("item %+v", item)
	}
}

var errLost = errors.New("connection reset")

// lost makes the request and loses its answer.
func lost(send func() error) error {
	if err := send(); err != nil {
		return err
	}
	return errLost
}

// never loses the request itself.
func never(func() error) error { return errLost }

func TestLostAnswers(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		fault func(func() error) error
		want  error // of every change
	}{
		"the answer":  {lost, nil},
		"the request": {never, handle.ErrUnknownOutcome},
		"refused": {func(func() error) error { return &types.ConditionalCheckFailedException{} },
			handle.ErrConflict},
		"refused, though it was made": {func(send func() error) error {
			if err := send(); err != nil {
				return err
			}
			return &types.ConditionalCheckFailedException{}
		}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			store := f.store()
			id := f.create(store, "apple")
			item := f.load(store, id)
			f.db.onUpdate, f.db.onPut = test.fault, test.fault
			saved, err := store.Save(f.ctx(), item)
			if !errors.Is(err, test.want) {
				t.Errorf("save: %v, want %v", err, test.want)
			}
			if made := f.load(store, id).Version == 2; made != (test.want == nil) || err == nil && saved.Version != 2 {
				t.Errorf("made: %v, saved %+v", made, saved)
			}
			created, err := store.Create(f.ctx(), basket{})
			if name == "refused" {
				return // a handle is never the same as another
			}
			if !errors.Is(err, test.want) || (err == nil) != (created != "") {
				t.Errorf("create: %q, %v, want %v", created, err, test.want)
			}
			if err == nil {
				f.load(store, created)
			}
		})
	}
}

// The answer is lost, and before it can be read back others change the value: their changes keep the token, up to
// eight.
func TestLostAnswerAndOthersChanges(t *testing.T) {
	t.Parallel()
	for others, want := range map[int]error{0: nil, 1: nil, 7: nil, 8: handle.ErrUnknownOutcome} {
		f := newFixture(t)
		store, other := f.store(), storeOf[basket](f, f.client, f.options())
		id := f.create(store)
		item := f.load(store, id)
		f.db.onUpdate = func(send func() error) error {
			err := lost(send)
			for range others {
				if _, err := other.Update(f.ctx(), id, adding("theirs")); err != nil {
					t.Error(err)
				}
			}
			return err
		}
		if _, err := store.Save(f.ctx(), item); !errors.Is(err, want) {
			t.Errorf("%d others: %v, want %v", others, err, want)
		}
	}
}

// A handle that is gone when the answer is looked for is not found, whatever became of the write.
func TestGoneWhenReadBack(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	store, other := f.store(), storeOf[basket](f, f.client, f.options())
	id := f.create(store)
	item := f.load(store, id)
	f.db.onUpdate = func(send func() error) error {
		if err := other.Delete(f.ctx(), id); err != nil {
			t.Error(err)
		}
		return send()
	}
	if _, err := store.Save(f.ctx(), item); !errors.Is(err, handle.ErrNotFound) {
		t.Errorf("error %v", err)
	}
}

// What DynamoDB refuses outright was not made, and is not called unknown.
func TestTableThatIsMissing(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.table = "no-such-table"
	store := f.store()
	_, err := store.Create(f.ctx(), basket{})
	var missing *types.ResourceNotFoundException
	if !errors.As(err, &missing) || !errors.Is(err, handle.ErrUnavailable) || errors.Is(err, handle.ErrUnknownOutcome) {
		t.Errorf("create: %v", err)
	}
	if got := f.db.requests(); got != "put 1" {
		t.Errorf("requests: %s", got)
	}
	for name, run := range operations(store) {
		if name == "save" {
			continue // which has nothing to save
		}
		err := run(f.ctx(), "bsk_x")
		if !errors.Is(err, handle.ErrUnavailable) || errors.Is(err, handle.ErrNotFound) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// lossy is a transport that lets requests through and loses the answers to some of the writes, so that the SDK sends
// them again.
type lossy struct {
	next  http.RoundTripper
	lose  func() bool
	times atomic.Int64
}

func (l *lossy) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := l.next.RoundTrip(request)
	if target := request.Header.Get("X-Amz-Target"); err != nil || target == "DynamoDB_20120810.GetItem" || !l.lose() {
		return response, err
	}
	l.times.Add(1)
	response.Body.Close()
	return nil, errLost
}

// lossyClient is a client of the engine over such a transport; it waits only a moment between sendings.
func lossyClient(tb testing.TB, lose func() bool) (*dynamodb.Client, *lossy) {
	transport := &lossy{next: http.DefaultTransport, lose: lose}
	return dynamodb.New(dynamodb.Options{
		BaseEndpoint: aws.String(engine.URL(tb)), Region: localdb.Region, HTTPClient: &http.Client{Transport: transport},
		Credentials: credentials.NewStaticCredentialsProvider("local", "local", ""),
		Retryer:     atOnce{aws.NopRetryer{}},
	}), transport
}

// atOnce is a retryer of three attempts without waiting.
type atOnce struct{ aws.NopRetryer }

func (atOnce) IsErrorRetryable(err error) bool              { return errors.Is(err, errLost) }
func (atOnce) MaxAttempts() int                             { return 3 }
func (atOnce) RetryDelay(int, error) (time.Duration, error) { return 0, nil }
func (atOnce) GetRetryToken(context.Context, error) (func(error) error, error) {
	return func(error) error { return nil }, nil
}

// once is true the first time.
func once() func() bool {
	var done atomic.Bool
	return func() bool { return done.CompareAndSwap(false, true) }
}

// The SDK sends a write again whose answer was lost; the second sending meets what the first one did.
func TestSentTwice(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	id := f.create(f.store(), "apple")
	for name, run := range map[string]func(*handle.Store[basket]) error{
		"create": func(s *handle.Store[basket]) error { _, err := s.Create(f.ctx(), basket{}); return err },
		"update": func(s *handle.Store[basket]) error { _, err := s.Update(f.ctx(), id, adding("pear")); return err },
		"save": func(s *handle.Store[basket]) error {
			_, err := s.Save(f.ctx(), f.load(f.store(), id))
			return err
		},
		"delete": func(s *handle.Store[basket]) error { return s.Delete(f.ctx(), f.create(f.store())) },
	} {
		client, transport := lossyClient(t, once())
		if err := run(storeOf[basket](f, client, f.options())); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if transport.times.Load() != 1 {
			t.Errorf("%s: %d answers were lost", name, transport.times.Load())
		}
	}
	item := f.load(f.store(), id)
	if !slices.Equal(item.Value.Items, []string{"apple", "pear"}) || item.Version != 3 {
		t.Errorf("item %+v", item)
	}
}

// While the SDK sends a write again, so many others change the value that the token is gone: that is not a conflict,
// which would have the change made twice.
func TestSentTwiceAndOvertaken(t *testing.T) {
	t.Parallel()
	for others, want := range map[int]error{7: nil, 8: handle.ErrUnknownOutcome} {
		f := newFixture(t)
		other := f.store()
		id := f.create(other)
		first := once()
		client, _ := lossyClient(t, func() bool {
			if !first() {
				return false
			}
			for range others {
				if _, err := other.Update(f.ctx(), id, adding("theirs")); err != nil {
					t.Error(err)
				}
			}
			return true
		})
		_, err := storeOf[basket](f, client, f.options()).Update(f.ctx(), id, adding("mine"))
		if !errors.Is(err, want) {
			t.Errorf("%d others: error %v, want %v", others, err, want)
		}
		if items := f.load(other, id).Value.Items; len(items) != others+1 {
			t.Errorf("%d items, want %d", len(items), others+1)
		}
	}
}

// TestConcurrentUpdatesWithLostAnswers loses a third of all answers: what was acknowledged is there once, and what was
// refused is not there; only of what is unknown either may be true.
func TestConcurrentUpdatesWithLostAnswers(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	id := f.create(f.store())
	var mu sync.Mutex
	random := rand.New(rand.NewPCG(7, 28))
	client, transport := lossyClient(t, func() bool {
		mu.Lock()
		defer mu.Unlock()
		return random.IntN(3) == 0
	})
	store := storeOf[basket](f, client, f.options())
	outcomes := map[string]error{}
	var group sync.WaitGroup
	for w := range 6 {
		group.Go(func() {
			for n := range 5 {
				name := fmt.Sprintf("%d/%d", w, n)
				_, err := store.Update(f.ctx(), id, adding(name))
				mu.Lock()
				outcomes[name] = err
				mu.Unlock()
			}
		})
	}
	group.Wait()
	times := map[string]int{}
	for _, name := range f.load(f.store(), id).Value.Items {
		times[name]++
	}
	for name, err := range outcomes {
		switch {
		case err == nil && times[name] != 1,
			errors.Is(err, handle.ErrConflict) && times[name] != 0,
			times[name] > 1:
			t.Errorf("%s is there %d times after %v", name, times[name], err)
		case err != nil && !errors.Is(err, handle.ErrConflict) && !errors.Is(err, handle.ErrUnknownOutcome):
			t.Errorf("%s: %v", name, err)
		}
	}
	if transport.times.Load() == 0 {
		t.Error("no answer was lost")
	}
}

// A request that was thought lost may arrive late, when the value has changed already: it must change nothing.
func TestRequestsThatArriveLate(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	store := f.store()
	var late []func() error
	keep := func(send func() error) error {
		late = append(late, send)
		return send()
	}
	f.db.onPut, f.db.onUpdate = keep, keep
	id := f.create(store, "apple")
	for _, name := range []string{"pear", "plum"} {
		if _, err := store.Update(f.ctx(), id, adding(name)); err != nil {
			t.Fatal(err)
		}
	}
	f.pass(handle.DefaultWindow / 2)
	f.load(store, id) // prolongs
	f.db.onPut, f.db.onUpdate = nil, nil
	want := f.load(store, id)
	for i, send := range late {
		var refused *types.ConditionalCheckFailedException
		if err := send(); !errors.As(err, &refused) {
			t.Errorf("request %d: %v, want a failed condition", i, err)
		}
	}
	if got := f.load(store, id); len(late) != 4 || !slices.Equal(got.Value.Items, want.Value.Items) ||
		got.Version != want.Version || !got.ExpiresAt.Equal(want.ExpiresAt) {
		t.Errorf("after %d late requests: %+v, want %+v", len(late), got, want)
	}
}
