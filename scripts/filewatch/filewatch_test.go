package filewatch

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// watched is a watcher of a tree, with a folder beside it that is watched alone.
type watched struct {
	*Watcher
	t            *testing.T
	tree, beside string
}

func newWatched(t *testing.T) *watched {
	t.Helper()
	w, err := New(Options{Ignore: func(name string, folder bool) bool { return strings.HasSuffix(name, "_test.go") }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.Close() })
	x := &watched{Watcher: w, t: t, tree: t.TempDir(), beside: t.TempDir()}
	x.write("one/a.txt", "a")
	x.write("two/b.txt", "b")
	x.write("two/deep/c.txt", "c")
	if err := os.MkdirAll(filepath.Join(x.beside, "below"), 0o755); err != nil {
		t.Fatal(err)
	}
	added, err := w.Watch([]string{x.tree}, []string{x.beside, filepath.Join(x.beside, "none")})
	if err != nil {
		t.Fatal(err)
	}
	if want := 5; len(added) != want {
		t.Fatalf("%d folders are watched, want %d: %v", len(added), want, added)
	}
	return x
}

func (x *watched) path(name string) string { return filepath.Join(x.tree, filepath.FromSlash(name)) }

func (x *watched) write(name, text string) {
	x.t.Helper()
	if err := os.MkdirAll(filepath.Dir(x.path(name)), 0o755); err != nil {
		x.t.Fatal(err)
	}
	x.must(os.WriteFile(x.path(name), []byte(text), 0o644))
}

func (x *watched) must(err error) {
	x.t.Helper()
	if err != nil {
		x.t.Fatal(err)
	}
}

// expect waits until all the paths have been told of as changed, and fails when another one is. One that ends with ?
// may be told of or not.
func (x *watched) expect(paths ...string) {
	x.t.Helper()
	ctx, cancel := context.WithTimeout(x.t.Context(), 20*time.Second)
	defer cancel()
	missing, known := map[string]bool{}, map[string]bool{}
	for _, name := range paths {
		if name, may := strings.CutSuffix(name, "?"); may {
			known[name] = true
		} else {
			missing[name] = true
		}
	}
	for len(missing) > 0 {
		batch, err := x.Next(ctx)
		if err != nil {
			x.t.Fatalf("waiting for %v: %v", missing, err)
		}
		for _, path := range batch.Paths {
			name, err := filepath.Rel(x.tree, path)
			x.must(err)
			if filepath.Dir(path) == x.beside {
				name = "beside/" + filepath.Base(path)
			}
			if name = filepath.ToSlash(name); !missing[name] && !known[name] {
				x.t.Errorf("%s is said to have changed; expected %v", name, paths)
			}
			delete(missing, name)
			known[name] = true
		}
	}
}

func TestSavesOfEditorsAreChanges(t *testing.T) {
	t.Parallel()
	x := newWatched(t)
	x.write("one/a.txt", "written in place")
	x.expect("one/a.txt")

	// By a new file that takes the name, as Vim and many others do.
	x.write("two/.b.txt.new", "renamed")
	x.must(os.Rename(x.path("two/.b.txt.new"), x.path("two/b.txt")))
	x.expect("two/b.txt")

	// By moving the old one away first.
	x.must(os.Rename(x.path("one/a.txt"), x.path("one/a.txt~")))
	x.write("one/a.txt", "after a backup")
	x.expect("one/a.txt")

	x.must(os.WriteFile(filepath.Join(x.beside, "d.txt"), []byte("d"), 0o644))
	x.expect("beside/d.txt", "one/a.txt?") // which came back later than was waited for
}

func TestAFileThatIsEmptyIsNotWholeYet(t *testing.T) {
	t.Parallel()
	x := newWatched(t)
	x.emptyPatience = time.Hour // however late the goroutine comes to write
	x.must(os.Truncate(x.path("one/a.txt"), 0))
	go func() {
		// More than the quiet after which a change counts as whole.
		time.Sleep(3 * quiet)
		_ = os.WriteFile(x.path("one/a.txt"), []byte("whole"), 0o644)
	}()
	batch, err := x.Next(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(x.path("one/a.txt"))
	if err != nil || string(data) != "whole" || !cmp.Equal(batch.Paths, []string{x.path("one/a.txt")}) {
		t.Errorf("the change of %v was told when the file held %q, %v", batch.Paths, data, err)
	}

	x.emptyPatience = emptyPatience
	x.must(os.Truncate(x.path("one/a.txt"), 0)) // which stays so
	x.expect("one/a.txt")
}

func TestWhatIsNoChange(t *testing.T) {
	t.Parallel()
	x := newWatched(t)
	x.write("one/a.txt", "a") // what it was
	x.must(os.Chtimes(x.path("one/a.txt"), time.Now(), time.Now()))
	for _, name := range []string{
		".a.txt.swp", "a.txt~", "#a.txt#", "4913", "a.txt.tmp", "a.txt___jb_old___", "a_test.go", "a.pyc",
		"__pycache__/a.txt", "node_modules/x/index.js", ".git/HEAD",
	} {
		x.write("one/"+name, "left by a tool")
	}
	x.must(os.WriteFile(filepath.Join(x.beside, "below", "x.txt"), []byte("not watched"), 0o644))
	x.write("two/b.txt", "changed")
	x.expect("two/b.txt")
}

// To read a pipe that nobody writes to would wait for ever, and so would whoever waits for changes.
func TestPipesAreNotRead(t *testing.T) {
	t.Parallel()
	x := newWatched(t)
	x.must(syscall.Mkfifo(x.path("one/pipe"), 0o644))
	x.write("one/a.txt", "changed")
	x.expect("one/a.txt")
}

// What is new and cannot be watched is told, with the change, and the watch goes on.
func TestWhatCannotBeWatched(t *testing.T) {
	t.Parallel()
	x := newWatched(t)
	x.write("one/a.txt", "changed")
	seen, changed := x.compare(map[string]bool{x.path("one"): true})
	x.must(x.Close()) // after which the system takes no more folders
	if err := x.keep(seen); err == nil || len(changed) != 1 {
		t.Errorf("%v changed, and the error is %v", changed, err)
	}
}

func TestFoldersComeAndGo(t *testing.T) {
	t.Parallel()
	x := newWatched(t)
	x.write("new/below/d.txt", "d")
	x.expect("new", "new/below", "new/below/d.txt")
	x.write("new/below/d.txt", "changed")
	x.expect("new/below/d.txt")

	x.must(os.Rename(x.path("new"), x.path("moved")))
	x.expect("new", "new/below", "new/below/d.txt", "moved", "moved/below", "moved/below/d.txt")
	x.write("moved/below/d.txt", "changed again")
	x.expect("moved/below/d.txt")

	// Another folder takes the name of one that goes, as when a branch is checked out.
	x.must(os.RemoveAll(x.path("one")))
	x.write("one/a.txt", "another")
	x.expect("one/a.txt", "one?")
	x.write("one/a.txt", "yet another")
	x.expect("one/a.txt", "one?")

	x.must(os.RemoveAll(x.path("two")))
	x.expect("two", "two/b.txt", "two/deep", "two/deep/c.txt", "one/a.txt?")
}

func TestWatchForgetsWhatIsNotNamed(t *testing.T) {
	t.Parallel()
	x := newWatched(t)
	added, err := x.Watch([]string{x.path("one")}, []string{x.path("two")})
	if err != nil || len(added) != 0 {
		t.Fatalf("added %v, %v; want none", added, err)
	}
	x.must(os.WriteFile(filepath.Join(x.beside, "d.txt"), []byte("d"), 0o644))
	x.write("two/deep/c.txt", "not watched any more")
	x.write("two/b.txt", "changed")
	x.expect("two/b.txt")
}

func TestNextEnds(t *testing.T) {
	t.Parallel()
	x := newWatched(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := x.Next(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("after its context: %v", err)
	}
	x.must(x.Close())
	if _, err := x.Next(t.Context()); !errors.Is(err, ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
}
