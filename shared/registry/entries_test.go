package registry

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func entryNames(t *testing.T, r *Reader) []string {
	t.Helper()
	entries, err := r.Entries(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = e.Tool.Name
	}
	return names
}

// Entries are all tools of all sources, as of MaxAge ago, without those that are disabled, and reading them twice reads
// nothing new.
func TestEntries(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	db := &watchedDB{DB: f.db}
	r := f.readerOn(db)
	if got := entryNames(t, r); len(got) != 0 {
		t.Errorf("of an empty catalogue: %v", got)
	}
	f.publish("one", "c", "a", "off")
	f.publish("two", "b")
	if err := f.publisher().SetDisabled(t.Context(), "off", true); err != nil {
		t.Fatal(err)
	}
	f.pass(defaultMaxAge + time.Millisecond)
	want := []string{"a", "b", "c"}
	if diff := cmp.Diff(want, entryNames(t, r)); diff != "" {
		t.Errorf("entries (-want +got):\n%s", diff)
	}
	before := db.reads.Load()
	if diff := cmp.Diff(want, entryNames(t, r)); diff != "" {
		t.Errorf("a second time (-want +got):\n%s", diff)
	}
	if got := db.reads.Load() - before; got != 0 {
		t.Errorf("a second time reads %d times", got)
	}
}

// A snapshot that was pruned under an instance that slept is read by its successor's name.
func TestEntriesOfAPrunedSnapshot(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.publish("one", "a")
	r := f.reader()
	if _, err := r.Settings(t.Context()); err != nil { // HEAD and the index, no tools
		t.Fatal(err)
	}
	f.publish("one", "b")
	f.pass(48 * time.Hour)
	if _, err := f.publisher().Prune(t.Context()); err != nil {
		t.Fatal(err)
	}
	f.pass(-48 * time.Hour) // the reader's copy of HEAD counts as fresh
	if diff := cmp.Diff([]string{"b"}, entryNames(t, r)); diff != "" {
		t.Errorf("entries (-want +got):\n%s", diff)
	}
}
