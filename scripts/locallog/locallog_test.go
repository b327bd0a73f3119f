package locallog

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

func read(t *testing.T, dir string) []string {
	t.Helper()
	var messages []string
	if err := Read(dir, func(l Line) { messages = append(messages, l.Group+" "+l.Stream+" "+l.Message) }); err != nil {
		t.Fatal(err)
	}
	return messages
}

func TestLinesComeBackInOrder(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "logs")
	if got := read(t, dir); got != nil {
		t.Errorf("a folder that is not there has %q", got)
	}
	for start := range 2 { // A stack starts again on the same folder.
		store, err := Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		if err := store.Write("/g", "s", fmt.Appendf(nil, "start %d \"x\"\t<é>", start)); err != nil {
			t.Fatal(err)
		}
		if err := store.Close(); err != nil {
			t.Fatal(err)
		}
	}
	want := []string{"/g s start 0 \"x\"\t<é>", "/g s start 1 \"x\"\t<é>"}
	if got := read(t, dir); len(got) != 2 || got[0] != want[0] || got[1] != want[1] {
		t.Errorf("got %q, want %q", got, want)
	}
}

// However much is written, two files stay, and with them the newest lines without a gap.
func TestRotationKeepsTheNewest(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	store, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	store.full = 4 << 10
	const writers, each = 4, 200
	var group sync.WaitGroup
	for writer := range writers {
		group.Go(func() {
			for i := range each {
				if err := store.Write("g", fmt.Sprint(writer), fmt.Append(nil, i)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 2 {
		t.Fatalf("%d files, %v", len(entries), err)
	}
	for _, entry := range entries {
		if info, err := entry.Info(); err != nil || info.Size() > 5<<10 {
			t.Errorf("%s has %d bytes, %v", entry.Name(), info.Size(), err)
		}
	}
	next := map[string]int{}
	for _, line := range read(t, dir) {
		var writer string
		var i int
		if _, err := fmt.Sscanf(line, "g %s %d", &writer, &i); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		if at, seen := next[writer]; seen && at != i {
			t.Errorf("writer %s: line %d comes where %d should", writer, i, at)
		}
		next[writer] = i + 1
	}
	for writer, at := range next {
		if at != each {
			t.Errorf("writer %s ends with %d", writer, at-1)
		}
	}
}

func TestReadingMeetsRotationAndHalfALine(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	whole := `{"group":"g","stream":"s","message":"m"}`
	if err := os.WriteFile(filepath.Join(dir, currentFile), []byte(whole+"\n"+whole[:20]), 0o600); err != nil {
		t.Fatal(err)
	}
	// As between the renaming of a full file and the opening of the next.
	if err := os.Link(filepath.Join(dir, currentFile), filepath.Join(dir, previousFile)); err != nil {
		t.Fatal(err)
	}
	if got := read(t, dir); len(got) != 1 {
		t.Errorf("got %q", got)
	}
}

func TestLongMessagesAreCut(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	store, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	if err := store.Write("g", "s", []byte(strings.Repeat("x", maxMessage+1))); err != nil {
		t.Fatal(err)
	}
	if got := read(t, dir); len(got) != 1 || len(got[0]) != maxMessage+len("g s ") {
		t.Errorf("%d lines", len(got))
	}
}
