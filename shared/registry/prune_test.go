package registry

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func snapshotIDs(t *testing.T, f *fixture) []string {
	t.Helper()
	manifests, err := f.publisher().manifests(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for _, m := range manifests {
		ids = append(ids, m.id)
	}
	return ids
}

func currentSnapshot(t *testing.T, f *fixture, source string) string {
	t.Helper()
	h, err := readHead(t.Context(), f.db, f.table)
	if err != nil {
		t.Fatal(err)
	}
	return h.Sources[source].Snapshot
}

func (f *fixture) wantPruned(t *testing.T, want Pruned) {
	t.Helper()
	got, err := f.publisher().Prune(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := f.publisher().Deleted(t.Context(), got.Functions); err != nil {
		t.Fatal(err)
	}
	slices.Sort(want.Snapshots)
	slices.Sort(got.Snapshots)
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("pruned (-want +got):\n%s", diff)
	}
}

func (f *fixture) publishVersion(t *testing.T, source, name string, version int) Receipt {
	t.Helper()
	tools := []Publication{publication(t, name, version, definition(name))}
	receipt, err := f.publisher().Publish(t.Context(), source, tools)
	if err != nil {
		t.Fatal(err)
	}
	return receipt
}

func TestPruneSuperseded(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	first := f.publishVersion(t, "one", "a", 1)
	f.publishVersion(t, "two", "b", 1)
	f.pass(48 * time.Hour) // Its age counts from when it was superseded, not from its own publish.
	second := f.publishVersion(t, "one", "a", 2)
	f.pass(23 * time.Hour)
	third := f.publishVersion(t, "one", "a", 1) // a rollback names version 1 again
	f.wantPruned(t, Pruned{})
	f.pass(time.Hour)
	f.wantPruned(t, Pruned{Snapshots: []string{first.Snapshot}})
	f.pass(23 * time.Hour)
	f.wantPruned(t, Pruned{Snapshots: []string{second.Snapshot}, Functions: []string{functionARN("a", 2)}})
	f.pass(1000 * time.Hour)
	f.wantPruned(t, Pruned{})
	f.wantList("a", "b")
	if err := f.publisher().Withdraw(t.Context(), "one"); err != nil {
		t.Fatal(err)
	}
	f.pass(24 * time.Hour)
	f.wantPruned(t, Pruned{Snapshots: []string{third.Snapshot}, Functions: []string{functionARN("a", 1)}})
	f.wantList("b")
	f.wantNothingOf(t, first.Snapshot, second.Snapshot, third.Snapshot)
}

// wantNothingOf checks that neither items nor HEAD's record of the snapshots are left.
func (f *fixture) wantNothingOf(t *testing.T, snapshots ...string) {
	t.Helper()
	h, err := readHead(t.Context(), f.db, f.table)
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range snapshots {
		if _, ok := h.Superseded[id]; ok {
			t.Errorf("HEAD still records snapshot %s", id)
		}
		err := queryItems(t.Context(), f.db, partition(f.table, snapshotPrefix+id), func(left item) error {
			t.Errorf("snapshot %s still has item %v", id, left[SortKey])
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, id := range snapshotIDs(t, f) {
		if slices.Contains(snapshots, id) {
			t.Errorf("snapshot %s still has a manifest", id)
		}
	}
}

// TestPruneAfterACrash leaves a snapshot without a move of HEAD, and one that was not even written wholly.
func TestPruneAfterACrash(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.publishVersion(t, "one", "a", 1)
	crash := errors.New("killed")
	db := &watchedDB{DB: f.db}
	db.onPut = func(ctx context.Context, in *dynamodb.PutItemInput) (*dynamodb.PutItemOutput, error) {
		if isHead(in.Item) {
			return nil, crash
		}
		return f.db.PutItem(ctx, in)
	}
	tools := []Publication{publication(t, "a", 2, definition("a"))}
	if _, err := f.publisherOn(db).Publish(t.Context(), "one", tools); !errors.Is(err, crash) {
		t.Fatalf("error %v, want %v", err, crash)
	}
	db.onBatch = func(context.Context, *dynamodb.BatchWriteItemInput) (*dynamodb.BatchWriteItemOutput, error) {
		return nil, crash
	}
	if _, err := f.publisherOn(db).Publish(t.Context(), "one", tools); !errors.Is(err, crash) {
		t.Fatalf("error %v, want %v", err, crash)
	}
	entry, err := f.reader().Lookup(t.Context(), "a")
	if err != nil || entry.Function != functionARN("a", 1) {
		t.Errorf("after the crash: %+v, %v, want the old catalogue", entry, err)
	}
	orphans := slices.DeleteFunc(snapshotIDs(t, f), func(id string) bool { return id == currentSnapshot(t, f, "one") })
	if len(orphans) != 2 {
		t.Fatalf("%d orphans, want 2", len(orphans))
	}
	f.pass(24*time.Hour - 1)
	f.wantPruned(t, Pruned{})
	f.pass(1)
	f.wantPruned(t, Pruned{Snapshots: orphans, Functions: []string{functionARN("a", 2)}})
	f.wantNothingOf(t, orphans...)
	f.wantList("a")
}

// TestPruneWaitsForPublishes prunes while a publish has written its snapshot, which names an old version again, and has
// not moved HEAD.
func TestPruneWaitsForPublishes(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	old := f.publishVersion(t, "one", "a", 1)
	f.publishVersion(t, "one", "a", 2)
	f.pass(24 * time.Hour)
	db := &watchedDB{DB: f.db}
	db.onPut = func(ctx context.Context, in *dynamodb.PutItemInput) (*dynamodb.PutItemOutput, error) {
		if isHead(in.Item) {
			f.wantPruned(t, Pruned{})
		}
		return f.db.PutItem(ctx, in)
	}
	tools := []Publication{publication(t, "a", 1, definition("a"))}
	if _, err := f.publisherOn(db).Publish(t.Context(), "one", tools); err != nil {
		t.Fatal(err)
	}
	f.wantPruned(t, Pruned{Snapshots: []string{old.Snapshot}})
}

// TestSlowPublishIsRefused lets more time pass than Prune grants a publish.
func TestSlowPublishIsRefused(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	db := &watchedDB{DB: f.db}
	db.onBatch = func(ctx context.Context, in *dynamodb.BatchWriteItemInput) (*dynamodb.BatchWriteItemOutput, error) {
		f.pass(publishLimit + 1)
		return f.db.BatchWriteItem(ctx, in)
	}
	if _, err := f.publisherOn(db).Publish(t.Context(), "one", publications(t, "a")); err == nil {
		t.Error("a publish of more than an hour moved HEAD")
	}
	f.wantList()
}

// TestPruneKeepsWhatWasOrdered rolls back behind a deployment's back: the deployment goes on to hold what it ordered
// last, and orders it again with its next change.
func TestPruneKeepsWhatWasOrdered(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	order := func(version int, request string) Receipt {
		t.Helper()
		tools := []Publication{publication(t, "a", version, definition("a"))}
		receipt, err := f.publisher().PublishAs(t.Context(), "stack", Order{Request: request}, tools)
		if err != nil {
			t.Fatal(err)
		}
		return receipt
	}
	rollBack := func(to Receipt) Receipt {
		t.Helper()
		receipt, err := f.publisher().Rollback(t.Context(), "stack", to.Snapshot, Order{Operator: "night shift"})
		if err != nil {
			t.Fatal(err)
		}
		return receipt
	}
	first := order(1, "r1")
	f.pass(time.Hour)
	second := order(2, "r2")
	f.pass(time.Hour)
	back := rollBack(first)
	f.store(manifest{id: "FAILED", source: "stack", created: f.clock().Unix(), request: "r3"}.item())
	f.pass(pruneAge)
	f.wantPruned(t, Pruned{Snapshots: []string{first.Snapshot, "FAILED"}})
	again := order(2, "r4")
	f.pass(pruneAge)
	f.wantPruned(t, Pruned{
		Snapshots: []string{second.Snapshot, back.Snapshot}, Functions: []string{functionARN("a", 1)},
	})
	f.publishVersion(t, "stack", "a", 3)
	f.pass(pruneAge)
	f.wantPruned(t, Pruned{})
	if err := f.publisher().Withdraw(t.Context(), "stack"); err != nil { // nobody orders for it any more
		t.Fatal(err)
	}
	f.wantPruned(t, Pruned{Snapshots: []string{again.Snapshot}, Functions: []string{functionARN("a", 2)}})
}

// TestPruneGoesOnAfterAFailure fails a deletion half way.
func TestPruneGoesOnAfterAFailure(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	old := f.publishVersion(t, "one", "a", 1)
	f.publishVersion(t, "one", "a", 2)
	f.pass(24 * time.Hour)
	failure := errors.New("connection reset")
	deletions := 0
	db := &watchedDB{DB: f.db}
	db.onBatch = func(ctx context.Context, in *dynamodb.BatchWriteItemInput) (*dynamodb.BatchWriteItemOutput, error) {
		if deletions++; deletions == 2 { // the manifest
			return nil, failure
		}
		return f.db.BatchWriteItem(ctx, in)
	}
	pruned, err := f.publisherOn(db).Prune(t.Context())
	if !errors.Is(err, failure) || !slices.Equal(pruned.Functions, []string{functionARN("a", 1)}) {
		t.Errorf("pruned %+v, %v, want the function and %v", pruned, err, failure)
	}
	// The function is told until it is said to be gone.
	f.wantPruned(t, Pruned{Snapshots: []string{old.Snapshot}, Functions: []string{functionARN("a", 1)}})
	f.wantNothingOf(t, old.Snapshot)
	f.wantPruned(t, Pruned{})
}

func TestSpilledRecordDecides(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_000_000, 0)
	day, hour := int64(24*3600), int64(3600)
	h := &head{
		Sources:    map[string]published{"s": {Snapshot: "named"}},
		Superseded: map[string]int64{"young": now.Unix() - day + 1, "old": now.Unix() - day},
	}
	tests := []struct {
		m    manifest
		want state
	}{
		{manifest{id: "named", created: 1, superseded: 1}, kept},
		{manifest{id: "young", created: 1}, kept},
		{manifest{id: "old", created: 1}, doomed},
		{manifest{id: "spilled", created: 1, superseded: now.Unix() - day + 1}, kept},
		{manifest{id: "spilled", created: 1, superseded: now.Unix() - day}, doomed},
		{manifest{id: "orphan", created: now.Unix() - hour}, pending},
		{manifest{id: "orphan", created: now.Unix() + hour}, pending}, // by a clock that is ahead
		{manifest{id: "orphan", created: now.Unix() - hour - 1}, kept},
		{manifest{id: "orphan", created: now.Unix() - day}, doomed},
	}
	for _, test := range tests {
		if got := test.m.state(h, now); got != test.want {
			t.Errorf("%+v: state %d, want %d", test.m, got, test.want)
		}
	}
}
