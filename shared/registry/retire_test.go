package registry

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
)

// isRetired reports whether an item is a list of versions that are being deleted.
func isRetired(stored item) bool {
	pk, err := stored.text(PartitionKey)
	return err == nil && pk == retiredPartition
}

// TestPruneMeetsAPublish begins a publish, which names an old version again, at each point of a Prune that deletes that
// version. Whatever comes first: no version is both published and deleted.
func TestPruneMeetsAPublish(t *testing.T) {
	t.Parallel()
	old := functionARN("a", 1)
	for name, at := range map[string]func(item) bool{
		"before the list":     func(i item) bool { return isRetired(i) },
		"before HEAD is left": isHead,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			f.publishVersion(t, "one", "a", 1)
			f.publishVersion(t, "one", "a", 2)
			f.pass(pruneAge)
			var once sync.Once
			var publishErr error
			db := &watchedDB{DB: f.db}
			db.onPut = func(ctx context.Context, in *dynamodb.PutItemInput) (*dynamodb.PutItemOutput, error) {
				if at(in.Item) {
					once.Do(func() {
						tools := []Publication{publication(t, "a", 1, definition("a"))}
						_, publishErr = f.publisher().Publish(ctx, "one", tools)
					})
				}
				return f.db.PutItem(ctx, in)
			}
			pruned, err := f.publisherOn(db).Prune(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			deleted := slices.Contains(pruned.Functions, old)
			published := publishErr == nil
			if deleted == published {
				t.Errorf("deleted %t and published %t: %v", deleted, published, publishErr)
			}
			if publishErr != nil && !strings.Contains(publishErr.Error(), "is being deleted") {
				t.Errorf("error %v", publishErr)
			}
		})
	}
}

// TestPruneEndsBeforeItsSecondLook publishes a version again while Prune gives it up, and ends that Prune before it can
// see so. No later Prune may have the version deleted.
func TestPruneEndsBeforeItsSecondLook(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.publishVersion(t, "one", "a", 1)
	f.publishVersion(t, "one", "a", 2)
	f.pass(pruneAge)
	killed := errors.New("killed")
	db := &watchedDB{DB: f.db}
	db.onPut = func(ctx context.Context, in *dynamodb.PutItemInput) (*dynamodb.PutItemOutput, error) {
		if isRetired(in.Item) {
			f.publishVersion(t, "one", "a", 1)
			db.onQuery = func() error { return killed }
		}
		return f.db.PutItem(ctx, in)
	}
	if _, err := f.publisherOn(db).Prune(t.Context()); !errors.Is(err, killed) {
		t.Fatalf("error %v, want %v", err, killed)
	}
	for range 3 {
		pruned, err := f.publisher().Prune(t.Context())
		if err != nil || slices.Contains(pruned.Functions, functionARN("a", 1)) {
			t.Errorf("pruned %+v, %v; version 1 is live", pruned, err)
		}
		f.pass(2 * time.Hour)
	}
	f.publishVersion(t, "one", "a", 1)
}

// Of two Prunes that look again at one list, which may see different things, the first decides.
func TestOnePruneConfirmsAList(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	list := retired{id: "LIST", at: f.clock().Unix(), functions: []string{functionARN("a", 1)}}
	if err := f.publisher().putRetired(t.Context(), list, confirmedAttribute); err != nil {
		t.Fatal(err)
	}
	for i, want := range [][]string{{functionARN("a", 1)}, nil} {
		if got, err := f.publisher().confirm(t.Context(), list, nil); err != nil || !slices.Equal(got, want) {
			t.Errorf("look %d: %q, %v; want %q", i, got, err, want)
		}
	}
	f.wantPruned(t, Pruned{Functions: []string{functionARN("a", 1)}})
}

// A version that was given up cannot be published for as long as a publish could take that has found it to exist.
func TestRetiredVersionsAreRefusedForADay(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.publishVersion(t, "one", "a", 1)
	f.publishVersion(t, "one", "a", 2)
	f.pass(pruneAge)
	pruned, err := f.publisher().Prune(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := f.publisher().Deleted(t.Context(), pruned.Functions); err != nil {
		t.Fatal(err)
	}
	tools := []Publication{publication(t, "a", 1, definition("a"))}
	_, err = f.publisher().Publish(t.Context(), "one", tools)
	if err == nil || !strings.Contains(err.Error(), functionARN("a", 1)+" is being deleted") {
		t.Errorf("error %v", err)
	}
	f.pass(pruneAge - time.Hour)
	if _, err := f.publisher().Prune(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := f.publisher().Publish(t.Context(), "one", tools); err == nil {
		t.Error("published before a day had passed")
	}
	f.pass(2 * time.Hour)
	if _, err := f.publisher().Prune(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := f.publisher().Publish(t.Context(), "one", tools); err != nil {
		t.Error(err)
	}
}

// Functions that the caller does not delete are not told, and may be published again at once.
func TestPruneLeavesFunctionsOfOthers(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.publish("one", "mine", "theirs")
	f.publish("one", "other")
	f.pass(pruneAge)
	p := NewPublisher(f.db, f.table, PublisherOptions{Now: f.clock, Retires: func(_ context.Context, arn string) bool {
		return strings.Contains(arn, ":mine:")
	}})
	pruned, err := p.Prune(t.Context())
	if err != nil || !slices.Equal(pruned.Functions, []string{functionARN("mine", 1)}) {
		t.Errorf("pruned %+v, %v", pruned, err)
	}
	f.publish("one", "theirs")
	if _, err := p.Publish(t.Context(), "two", publications(t, "mine")); err == nil {
		t.Error("a version that is being deleted was published")
	}
}

// A version is not deleted for whoever named it once, when the function is another source's.
func TestPruneLeavesVersionsOfAnotherSourcesFunction(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.publishVersion(t, "owner", "a", 1)
	if err := f.publisher().Withdraw(t.Context(), "owner"); err != nil {
		t.Fatal(err)
	}
	f.publishVersion(t, "other", "a", 2)
	if err := f.publisher().Withdraw(t.Context(), "other"); err != nil {
		t.Fatal(err)
	}
	f.pass(time.Hour)
	f.publishVersion(t, "owner", "a", 1)
	f.pass(pruneAge)
	pruned, err := f.publisher().Prune(t.Context())
	if err != nil || len(pruned.Snapshots) != 2 || len(pruned.Functions) != 0 {
		t.Errorf("pruned %+v, %v; want two snapshots and no function", pruned, err)
	}
	f.publishVersion(t, "owner", "a", 2)
	f.pass(pruneAge)
	pruned, err = f.publisher().Prune(t.Context())
	if err != nil || !slices.Equal(pruned.Functions, []string{functionARN("a", 1)}) {
		t.Errorf("pruned %+v, %v; want the owner's own version", pruned, err)
	}
}

// TestAnOwnerComesWhilePruneLooks publishes the function from another source between Prune's two looks.
func TestAnOwnerComesWhilePruneLooks(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.publishVersion(t, "other", "a", 2)
	if err := f.publisher().Withdraw(t.Context(), "other"); err != nil {
		t.Fatal(err)
	}
	f.pass(pruneAge)
	var once sync.Once
	db := &watchedDB{DB: f.db}
	db.onPut = func(ctx context.Context, in *dynamodb.PutItemInput) (*dynamodb.PutItemOutput, error) {
		if isRetired(in.Item) {
			once.Do(func() { f.publishVersion(t, "owner", "a", 1) })
		}
		return f.db.PutItem(ctx, in)
	}
	pruned, err := f.publisherOn(db).Prune(t.Context())
	if err != nil || len(pruned.Functions) != 0 {
		t.Errorf("pruned %+v, %v; the function is the owner's", pruned, err)
	}
}

// TestFunctionsAreToldUntilTheyAreGone says that of two functions one is gone, then both, then never.
func TestFunctionsAreToldUntilTheyAreGone(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.publish("one", "a", "b")
	f.publish("one", "c")
	f.pass(pruneAge)
	both := []string{functionARN("a", 1), functionARN("b", 1)}
	for i, gone := range [][]string{nil, both[:1], both} {
		pruned, err := f.publisher().Prune(t.Context())
		if err != nil || !slices.Equal(pruned.Functions, both) {
			t.Errorf("step %d: pruned %+v, %v; want %q", i, pruned, err, both)
		}
		if err := f.publisher().Deleted(t.Context(), gone); err != nil {
			t.Fatal(err)
		}
	}
	f.wantPruned(t, Pruned{})

	f.publish("one", "d")
	f.pass(retiredAge - time.Hour)
	pruned, err := f.publisher().Prune(t.Context())
	if err != nil || !slices.Equal(pruned.Functions, []string{functionARN("c", 1)}) {
		t.Errorf("pruned %+v, %v", pruned, err)
	}
	f.pass(retiredAge)
	for range 2 { // in the end it is nobody's business any more
		if pruned, err = f.publisher().Prune(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if len(pruned.Functions) != 0 {
		t.Errorf("pruned %+v after a month", pruned)
	}
}
