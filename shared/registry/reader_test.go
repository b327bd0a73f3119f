package registry

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/google/go-cmp/cmp"
)

func TestLookup(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.publish("one", "a")
	f.publish("two", "b")
	r := f.reader()
	entry, err := r.Lookup(t.Context(), "b")
	if err != nil {
		t.Fatal(err)
	}
	got := []string{entry.Tool.Name, entry.Function, entry.Source, entry.Tool.Contract.Category}
	if diff := cmp.Diff([]string{"b", functionARN("b", 1), "two", "test"}, got); diff != "" {
		t.Errorf("entry (-want +got):\n%s", diff)
	}
	if again, err := r.Lookup(t.Context(), "b"); again != entry || err != nil {
		t.Errorf("a second lookup is %p, %v, want %p", again, err, entry)
	}
	for _, name := range []string{"", "B", "c", strings.Repeat("a", 129)} {
		if _, err := r.Lookup(t.Context(), name); !errors.Is(err, ErrUnknownTool) {
			t.Errorf("Lookup(%q): error %v, want %v", name, err, ErrUnknownTool)
		}
	}
}

func TestReadsOfALookup(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.publish("one", numbered(300)...)
	db := &watchedDB{DB: f.db}
	r := f.readerOn(db)
	steps := []struct {
		name string
		pass time.Duration
		tool string
		want int64
	}{
		{"cold: HEAD, index, tools", 0, "tool_00000", 3},
		{"warm", 10 * time.Second, "tool_00000", 0},
		{"a neighbour", 0, "tool_00001", 0},
		{"a tool in another item", 0, "tool_00299", 1},
		{"HEAD too old", time.Millisecond, "tool_00299", 1},
		{"unknown, HEAD fresh", time.Second, "none", 0},
		{"unknown, HEAD older than a second", time.Millisecond, "none", 1},
		{"unknown again", 0, "none", 0},
		{"the clock was set back", -time.Millisecond, "tool_00299", 1},
		{"frozen for hours", 5 * time.Hour, "tool_00299", 1},
	}
	for _, step := range steps {
		f.pass(step.pass)
		before := db.reads.Load()
		if _, err := r.Lookup(t.Context(), step.tool); err != nil && !errors.Is(err, ErrUnknownTool) {
			t.Fatal(err)
		}
		if got := db.reads.Load() - before; got != step.want {
			t.Errorf("%s: %d reads, want %d", step.name, got, step.want)
		}
	}
}

func TestRepublishReadsOnlyWhatIsNew(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.publish("one", "a")
	f.publish("two", "b")
	db := &watchedDB{DB: f.db}
	r := f.readerOn(db)
	kept, err := r.Lookup(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	f.publish("two", "b", "c")
	if err := r.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	before := db.reads.Load()
	if again, err := r.Lookup(t.Context(), "a"); again != kept || err != nil {
		t.Errorf("the entry of an unchanged source is %p, %v, want %p", again, err, kept)
	}
	if got := db.reads.Load() - before; got != 0 {
		t.Errorf("%d reads for a tool of an unchanged source", got)
	}
}

func TestDisabledIsGoneWithinMaxAge(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.publish("one", "a", "b")
	r := f.reader()
	if _, err := r.Lookup(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	if err := f.publisher().SetDisabled(t.Context(), "a", true); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Lookup(t.Context(), "a"); err != nil {
		t.Errorf("within MaxAge a warm lookup reads nothing, but: %v", err)
	}
	f.pass(defaultMaxAge + 1)
	if _, err := r.Lookup(t.Context(), "a"); !errors.Is(err, ErrUnknownTool) {
		t.Errorf("after MaxAge: error %v, want %v", err, ErrUnknownTool)
	}
	names, err := listNames(t.Context(), r, PageLimits{})
	if diff := cmp.Diff([]string{"b"}, names); diff != "" || err != nil {
		t.Errorf("list: %v (-want +got):\n%s", err, diff)
	}
}

func TestNewToolIsFoundWithinASecond(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	r := f.reader()
	if _, err := r.Lookup(t.Context(), "a"); !errors.Is(err, ErrUnknownTool) {
		t.Fatalf("error %v, want %v", err, ErrUnknownTool)
	}
	f.publish("one", "a")
	f.pass(missAge + 1)
	if _, err := r.Lookup(t.Context(), "a"); err != nil {
		t.Error(err)
	}
}

func TestRefreshIgnoresAge(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.publish("one", "a")
	r := f.reader()
	if _, err := r.Lookup(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	tools := []Publication{publication(t, "a", 2, definition("a"))}
	if _, err := f.publisher().Publish(t.Context(), "one", tools); err != nil {
		t.Fatal(err)
	}
	if err := r.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	entry, err := r.Lookup(t.Context(), "a")
	if err != nil || entry.Function != functionARN("a", 2) {
		t.Errorf("entry %+v, %v, want version 2", entry, err)
	}
}

func TestUnreadableHead(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.publish("one", "a")
	failure := errors.New("no route to host")
	var broken bool
	db := &watchedDB{DB: f.db}
	db.onGet = func(context.Context, *dynamodb.GetItemInput) error {
		if broken {
			return failure
		}
		return nil
	}
	r := f.readerOn(db)
	if _, err := r.Lookup(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	broken = true
	if _, err := r.Lookup(t.Context(), "a"); err != nil {
		t.Errorf("within MaxAge: %v", err)
	}
	f.pass(defaultMaxAge + 1)
	if _, err := r.Lookup(t.Context(), "a"); !errors.Is(err, failure) {
		t.Errorf("lookup: error %v, want %v", err, failure)
	}
	if _, err := r.Lookup(t.Context(), "none"); !errors.Is(err, failure) || errors.Is(err, ErrUnknownTool) {
		t.Errorf("lookup of an unknown tool: error %v, want %v alone", err, failure)
	}
	if _, err := r.Page(t.Context(), "", PageLimits{}, nil); !errors.Is(err, failure) {
		t.Errorf("page: error %v, want %v", err, failure)
	}
	broken = false
	if _, err := r.Lookup(t.Context(), "a"); err != nil {
		t.Errorf("once HEAD can be read again: %v", err)
	}
}

func TestAFailedReadOfToolsIsForgotten(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.publish("one", "a")
	failure := errors.New("no route to host")
	db := &watchedDB{DB: f.db, onQuery: func() error { return failure }}
	r := f.readerOn(db)
	for range 2 {
		if _, err := r.Lookup(t.Context(), "a"); !errors.Is(err, failure) {
			t.Errorf("error %v, want %v", err, failure)
		}
	}
	db.onQuery = nil
	if _, err := r.Lookup(t.Context(), "a"); err != nil {
		t.Error(err)
	}
}

func TestMissingTableIsAnError(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	r := NewReader(f.db, "no-such-table", ReaderOptions{})
	if _, err := r.Lookup(t.Context(), "a"); err == nil || errors.Is(err, ErrUnknownTool) {
		t.Errorf("error %v, want one that is not %v", err, ErrUnknownTool)
	}
}

// TestCancelledCallerLeavesTheReadToOthers lets a first caller go while HEAD is read for two.
func TestCancelledCallerLeavesTheReadToOthers(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.publish("one", "a")
	reading, proceed := make(chan struct{}), make(chan struct{})
	var once sync.Once
	db := &watchedDB{DB: f.db}
	db.onGet = func(ctx context.Context, _ *dynamodb.GetItemInput) error {
		once.Do(func() { close(reading); <-proceed })
		return ctx.Err()
	}
	r := f.readerOn(db)
	ctx, cancel := context.WithCancel(t.Context())
	first := make(chan error, 1)
	go func() { _, err := r.Lookup(ctx, "a"); first <- err }()
	<-reading
	second := make(chan error, 1)
	go func() { _, err := r.Lookup(t.Context(), "a"); second <- err }()
	cancel()
	if err := <-first; !errors.Is(err, context.Canceled) {
		t.Errorf("the cancelled caller got %v", err)
	}
	close(proceed)
	if err := <-second; err != nil {
		t.Errorf("the other caller got %v", err)
	}
	if got := db.reads.Load(); got > 3 {
		t.Errorf("%d reads for two callers at once, want 3", got)
	}
}

// TestFrozenRead ends a read hours after it began: what it found is hours old, and is read again.
func TestFrozenRead(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.publish("one", "a")
	var once sync.Once
	db := &watchedDB{DB: f.db}
	r := f.readerOn(db)
	if _, err := r.Lookup(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	f.pass(time.Hour)
	db.onGet = func(ctx context.Context, in *dynamodb.GetItemInput) (err error) {
		once.Do(func() {
			f.pass(time.Hour)
			err = f.publisher().SetDisabled(ctx, "a", true)
		})
		return err
	}
	before := db.reads.Load()
	if _, err := r.Lookup(t.Context(), "a"); !errors.Is(err, ErrUnknownTool) {
		t.Errorf("error %v, want %v", err, ErrUnknownTool)
	}
	if got := db.reads.Load() - before; got != 2 {
		t.Errorf("HEAD was read %d times, want twice", got)
	}
}

// TestReadsThatAreNotShared has a read of HEAD hang, as one does through a freeze, for callers who must not wait for
// it.
func TestReadsThatAreNotShared(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		pass time.Duration
		call func(context.Context, *Reader) error
	}{
		{"an old one", missAge + 1, func(ctx context.Context, r *Reader) error {
			_, err := r.Lookup(ctx, "a")
			return err
		}},
		{"one that began before Refresh", 0, func(ctx context.Context, r *Reader) error { return r.Refresh(ctx) }},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			f.publish("one", "a")
			reading, proceed := make(chan struct{}), make(chan struct{})
			var first atomic.Bool
			db := &watchedDB{DB: f.db}
			db.onGet = func(context.Context, *dynamodb.GetItemInput) error {
				if first.CompareAndSwap(false, true) {
					close(reading)
					<-proceed
				}
				return nil
			}
			r := f.readerOn(db)
			hanging := r.begin(t.Context(), true)
			<-reading
			f.pass(test.pass)
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute) // only so that a fault ends
			defer cancel()
			if err := test.call(ctx, r); err != nil {
				t.Error(err)
			}
			close(proceed)
			if err := r.wait(t.Context(), hanging); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestOldReadReplacesNothing ends a read that began before another after it.
func TestOldReadReplacesNothing(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	r := f.reader()
	f.publish("one", "a")
	old, err := r.load(t.Context(), f.clock())
	if err != nil {
		t.Fatal(err)
	}
	f.publish("one", "b")
	if err := r.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	// The old read's answer arrives now: fly numbered it 0, before the first.
	r.fly(t.Context(), &flight{number: 0, at: old.at, done: make(chan struct{})})
	if r.stored != 1 {
		t.Errorf("the catalogue is from read %d, want 1", r.stored)
	}
}

// TestColdCallersShareOneEntry matters because an entry's tool compiles its schemas once.
func TestColdCallersShareOneEntry(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.publish("one", "a")
	r := f.reader()
	var entries [16]*Entry
	var group sync.WaitGroup
	for i := range entries {
		group.Go(func() {
			var err error
			if entries[i], err = r.Lookup(t.Context(), "a"); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	for i, entry := range entries {
		if entry != entries[0] {
			t.Errorf("caller %d has another entry", i)
		}
	}
}

// TestPrunedUnderASleeper reads a tool whose snapshot was replaced and deleted since HEAD was read.
func TestPrunedUnderASleeper(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.publish("one", "a")
	r, lister := f.reader(), f.reader()
	for _, sleeper := range []*Reader{r, lister} {
		if err := sleeper.Refresh(t.Context()); err != nil { // reads HEAD and the index alone
			t.Fatal(err)
		}
	}
	f.publish("one", "a", "b")
	for _, id := range snapshotIDs(t, f) {
		if id != currentSnapshot(t, f, "one") {
			if err := f.publisher().deleteSnapshot(t.Context(), id); err != nil {
				t.Fatal(err)
			}
		}
	}
	if _, err := r.Lookup(t.Context(), "a"); err != nil {
		t.Error(err)
	}
	names, err := listNames(t.Context(), lister, PageLimits{})
	if diff := cmp.Diff([]string{"a", "b"}, names); diff != "" || err != nil {
		t.Errorf("list: %v (-want +got):\n%s", err, diff)
	}
}

func TestMissingItemOfACurrentSnapshotIsAnError(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	receipt := f.publish("one", "a")
	r := f.reader()
	if err := r.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := f.publisher().deleteSnapshot(t.Context(), receipt.Snapshot); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Lookup(t.Context(), "a"); !errors.Is(err, errGone) {
		t.Errorf("lookup: error %v, want %v", err, errGone)
	}
	if _, err := r.Page(t.Context(), "", PageLimits{}, nil); !errors.Is(err, errGone) {
		t.Errorf("page: error %v, want %v", err, errGone)
	}
	if _, err := f.reader().Lookup(t.Context(), "a"); !errors.Is(err, errGone) {
		t.Errorf("cold lookup: error %v, want %v", err, errGone)
	}
}

// TestReadersSeeAllOrNothing reads while publishers replace two tools together.
func TestReadersSeeAllOrNothing(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.publish("pair", "left_0", "right_0")
	f.publish("still", "still")
	r := NewReader(f.db, f.table, ReaderOptions{})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var readers sync.WaitGroup
	for range 4 {
		readers.Go(func() {
			for ctx.Err() == nil {
				checkPair(t, r)
			}
		})
	}
	for i := range 10 {
		f.publish("pair", fmt.Sprint("left_", i), fmt.Sprint("right_", i))
	}
	cancel()
	readers.Wait()
	if err := r.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Lookup(t.Context(), "right_9"); err != nil {
		t.Error(err)
	}
}

func checkPair(t *testing.T, r *Reader) {
	if err := r.Refresh(t.Context()); err != nil {
		t.Error(err)
	}
	names, err := listNames(t.Context(), r, PageLimits{})
	if err != nil || len(names) != 3 || names[0][len("left_"):] != names[1][len("right_"):] {
		t.Errorf("list %q, %v", names, err)
	}
	if _, err := r.Lookup(t.Context(), "still"); err != nil {
		t.Error(err)
	}
}
