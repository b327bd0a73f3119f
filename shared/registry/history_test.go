package registry

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func (f *fixture) history() History {
	f.Helper()
	history, err := f.publisher().History(f.Context())
	if err != nil {
		f.Fatal(err)
	}
	return history
}

func (f *fixture) publishAs(source string, order Order, names ...string) Receipt {
	f.Helper()
	receipt, err := f.publisher().PublishAs(f.Context(), source, order, publications(f, names...))
	if err != nil {
		f.Fatal(err)
	}
	return receipt
}

// TestHistory tells what is live, what was, and by whom, and not what never was.
func TestHistory(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	if diff := cmp.Diff(History{}, f.history()); diff != "" {
		t.Errorf("history of nothing (-want +got):\n%s", diff)
	}
	start := f.clock()
	first := f.publishAs("one", Order{By: "Tools", Settings: &Settings{MaxCallSeconds: 29}}, "a", "b")
	gone := f.publish("two", "c")
	f.pass(time.Hour)
	second := f.publishAs("one", Order{By: "Tools"}, "b")
	f.store(manifest{id: "FAILED", source: "one", created: f.clock().Unix()}.item())
	if err := f.publisher().Withdraw(t.Context(), "two"); err != nil {
		t.Fatal(err)
	}
	f.pass(time.Hour)
	third, err := f.publisher().Rollback(t.Context(), "one", first.Snapshot, Order{Operator: "night shift"})
	if err != nil {
		t.Fatal(err)
	}
	f.wantList("a", "b")
	want := History{
		Revision: 5,
		Settings: Settings{MaxCallSeconds: 29},
		Sources: []SourceHistory{
			{
				Source: "one",
				Live: &Snapshot{ID: third.Snapshot, Published: start.Add(2 * time.Hour), By: "Tools", Operator: "night shift",
					RollbackOf: first.Snapshot, Tools: []string{"a", "b"}},
				Kept: []Snapshot{
					{ID: second.Snapshot, Published: start.Add(time.Hour), Superseded: start.Add(2 * time.Hour), By: "Tools",
						Tools: []string{"b"}},
					{ID: first.Snapshot, Published: start, Superseded: start.Add(time.Hour), By: "Tools",
						Tools: []string{"a", "b"}},
				},
			},
			{Source: "two", Kept: []Snapshot{
				{ID: gone.Snapshot, Published: start, Superseded: start.Add(time.Hour), Tools: []string{"c"}},
			}},
		},
	}
	if diff := cmp.Diff(want, f.history()); diff != "" {
		t.Errorf("history (-want +got):\n%s", diff)
	}
}

// TestHistoryTellsSpilledRecords looks for a snapshot whose record HEAD had no room for.
func TestHistoryTellsSpilledRecords(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	first := f.publish("one", "a")
	f.publish("one", "b")
	spillOne(t, f)
	kept := f.history().Sources[0].Kept
	if len(kept) != 1 || kept[0].ID != first.Snapshot || !kept[0].Superseded.Equal(f.clock()) {
		t.Errorf("kept %+v", kept)
	}
	if _, err := f.publisher().Rollback(t.Context(), "one", first.Snapshot, Order{}); err != nil {
		t.Error(err)
	}
	f.wantList("a")
}

// TestHistoryOfWhatCouldNotBePrunedYet keeps the record of a snapshot that Prune had to leave for a publish under way.
func TestHistoryOfWhatCouldNotBePrunedYet(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	first := f.publish("one", "a")
	f.publish("one", "b")
	f.pass(pruneAge)
	f.store(manifest{id: "WAITING", source: "two", created: f.clock().Unix()}.item())
	f.wantPruned(t, Pruned{})
	if kept := f.history().Sources[0].Kept; len(kept) != 1 || kept[0].ID != first.Snapshot {
		t.Errorf("kept %+v, want snapshot %s", kept, first.Snapshot)
	}
}

func TestContents(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	receipt := f.publish("one", numbered(300)...) // several items
	if _, err := f.publisher().Contents(t.Context(), "two", receipt.Snapshot); !errors.Is(err, ErrNotKept) {
		t.Errorf("error %v for another source's snapshot, want %v", err, ErrNotKept)
	}
	contents, err := f.publisher().Contents(t.Context(), "one", receipt.Snapshot)
	if err != nil {
		t.Fatal(err)
	}
	live, snapshot, err := f.publisher().Live(t.Context(), "one")
	if err != nil || snapshot != receipt.Snapshot {
		t.Fatalf("snapshot %s, %v; want %s", snapshot, err, receipt.Snapshot)
	}
	for _, got := range [][]Publication{contents, live} {
		var names, functions []string
		for _, p := range got {
			names, functions = append(names, p.Tool.Name), append(functions, p.Function)
		}
		if !slices.Equal(names, numbered(300)) || functions[299] != functionARN("tool_00299", 1) {
			t.Errorf("contents are %d tools, the last with %s", len(names), functions[len(functions)-1])
		}
	}
	if none, snapshot, err := f.publisher().Live(t.Context(), "two"); err != nil || none != nil || snapshot != "" {
		t.Errorf("a source without a publish has %v of snapshot %q, %v", none, snapshot, err)
	}
}

func TestRollbackIsRefused(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	first := f.publish("one", "a", "b")
	second := f.publish("one", "b")
	f.publish("two", "a") // which source one gave up
	other := f.publish("three", "c")
	if err := f.publisher().Withdraw(t.Context(), "three"); err != nil {
		t.Fatal(err)
	}
	f.store(manifest{id: "FAILED", source: "one", created: f.clock().Unix()}.item())
	for name, test := range map[string]struct {
		source, snapshot string
		is               error
		says             string
	}{
		"unknown":          {"one", "NOSUCH", ErrNotKept, "snapshot NOSUCH"},
		"another source's": {"one", other.Snapshot, ErrNotKept, "source one"},
		"failed":           {"one", "FAILED", ErrNotKept, "snapshot FAILED"},
		"withdrawn":        {"three", other.Snapshot, ErrNotKept, "was withdrawn"},
		"live":             {"one", second.Snapshot, nil, "is live"},
		"a name has gone":  {"one", first.Snapshot, nil, "a is owned by source two"},
	} {
		_, err := f.publisher().Rollback(t.Context(), test.source, test.snapshot, Order{})
		if err == nil || !strings.Contains(err.Error(), test.says) || test.is != nil && !errors.Is(err, test.is) {
			t.Errorf("%s: error %v", name, err)
		}
	}
	f.wantList("a", "b")
	slow := publications(t, "b")
	slow[0].Tool.Contract.Execution.TimeoutSeconds = 60
	third, err := f.publisher().Publish(t.Context(), "one", slow)
	if err != nil {
		t.Fatal(err)
	}
	f.publishAs("one", Order{Settings: &Settings{MaxCallSeconds: 30}}, "b")
	_, err = f.publisher().Rollback(t.Context(), "one", third.Snapshot, Order{})
	if err == nil || !strings.Contains(err.Error(), "snapshot "+third.Snapshot+", tool b") {
		t.Errorf("a contract that the server does not allow any more: %v", err)
	}
	f.pass(pruneAge)
	if _, err := f.publisher().Prune(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := f.publisher().Rollback(t.Context(), "one", first.Snapshot, Order{}); !errors.Is(err, ErrNotKept) {
		t.Errorf("pruned: error %v, want %v", err, ErrNotKept)
	}
}

// TestRollbackGivesWay publishes between a rollback's look at HEAD and its move: its operator did not know of that.
func TestRollbackGivesWay(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	first := f.publish("one", "a")
	f.publish("one", "b")
	db := &watchedDB{DB: f.db}
	db.onPut = publishBefore(f, "one", "c")
	_, err := f.publisherOn(db).Rollback(t.Context(), "one", first.Snapshot, Order{})
	if err == nil || !strings.Contains(err.Error(), "look again") {
		t.Errorf("error %v", err)
	}
	f.wantList("c")
}
