// Package filewatch tells when the files in folders have changed: what they hold, not when they were written. Editors
// save in many ways, such as by a new file that takes the old one's name, by emptying a file and writing it again, or
// by several files one after the other; each of these is one change, and one that leaves all as it was is none.
package filewatch

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/fsnotify/fsnotify"
)

const (
	// quiet is how long nothing may happen until a change counts as whole: a few times what an editor takes between two
	// steps of a save.
	quiet = 25 * time.Millisecond
	// patience bounds the wait for quiet, so that a program which writes all the time does not keep changes back.
	patience = time.Second
	// emptyPatience is how long a file that has become empty is given to be written.
	emptyPatience = 300 * time.Millisecond
)

// Options say what does not count. The zero value is useful.
type Options struct {
	// Ignore reports whether a file or a folder of this name does not count; what editors and tools leave beside
	// sources never does. Nil ignores nothing else.
	Ignore func(name string, folder bool) bool
}

// Watcher watches folders. It is for one goroutine; Close may be called from another.
type Watcher struct {
	ignore func(name string, folder bool) bool
	events *fsnotify.Watcher
	trees  []string
	// folders are those that are watched.
	folders map[string]folder
	// emptyPatience is the constant; a test that waits for a save gives it more.
	emptyPatience time.Duration
}

// folder is what was in a folder when it was last looked at: digests of files by name, and of folders just the name.
type folder map[string]entry

type entry struct {
	isFolder bool
	empty    bool
	digest   [sha256.Size]byte
}

// Batch is what changed at about the same time.
type Batch struct {
	// Paths are the files that were added, changed or removed, and the folders that were added or removed, in order.
	Paths []string
	// First is when the first sign of it was noticed.
	First time.Time
}

// New returns a watcher that watches nothing yet.
func New(options Options) (*Watcher, error) {
	events, err := fsnotify.NewWatcher()
	if err != nil {
		return nil, fmt.Errorf("watching files: %w", err)
	}
	w := &Watcher{ignore: options.Ignore, events: events, folders: map[string]folder{}, emptyPatience: emptyPatience}
	if w.ignore == nil {
		w.ignore = func(string, bool) bool { return false }
	}
	return w, nil
}

// Close ends the watch, and Next with it.
func (w *Watcher) Close() error { return w.events.Close() }

// Watch makes the watcher watch the folders trees with all that are below them, also those that will be, the folders of
// dirs without what is below, and nothing else. Folders that do not exist are left out. It returns those that were not
// watched before: whatever happened in them until now was not noticed.
func (w *Watcher) Watch(trees, dirs []string) (added []string, err error) {
	w.trees = trees
	wanted := map[string]bool{}
	for _, dir := range dirs {
		if info, err := os.Stat(dir); err == nil && info.IsDir() {
			wanted[dir] = true
		}
	}
	maps.Copy(wanted, w.below())
	for dir := range w.folders {
		if !wanted[dir] {
			w.forget(dir)
		}
	}
	for dir := range wanted {
		if _, watched := w.folders[dir]; watched {
			continue
		}
		if err := w.add(dir); err != nil {
			return nil, err
		}
		added = append(added, dir)
	}
	slices.Sort(added)
	return added, nil
}

// below finds the folders of the trees.
func (w *Watcher) below() map[string]bool {
	found := map[string]bool{}
	for _, tree := range w.trees {
		// What cannot be read is as good as gone, and what goes away meanwhile is gone.
		_ = filepath.WalkDir(tree, func(path string, entry fs.DirEntry, err error) error {
			if err != nil || !entry.IsDir() {
				return nil
			}
			if path != tree && w.ignored(entry.Name(), true) {
				return fs.SkipDir
			}
			found[path] = true
			return nil
		})
	}
	return found
}

// add looks at a folder only when it is watched, so that nothing falls between.
func (w *Watcher) add(dir string) error {
	if err := w.events.Add(dir); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if errors.Is(err, syscall.ENOSPC) {
			return fmt.Errorf("watching %s: the system lets no user watch more files; raise the sysctl "+
				"fs.inotify.max_user_watches: %w", dir, err)
		}
		return fmt.Errorf("watching %s: %w", dir, err)
	}
	w.folders[dir] = w.look(dir)
	return nil
}

func (w *Watcher) forget(dir string) {
	_ = w.events.Remove(dir) // a folder that is gone is not watched any more
	delete(w.folders, dir)
}

// look reads a folder; one that is gone is empty.
func (w *Watcher) look(dir string) folder {
	found := folder{}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return found
	}
	for _, e := range entries {
		if w.ignored(e.Name(), e.IsDir()) {
			continue
		}
		if e.IsDir() {
			found[e.Name()] = entry{isFolder: true}
			continue
		}
		if file, there := read(filepath.Join(dir, e.Name())); there {
			found[e.Name()] = file
		}
	}
	return found
}

// read looks at a file. It is false for one that is gone meanwhile, for a link to a folder, and for what is no file: to
// read a pipe that nobody writes to would wait for ever.
func read(name string) (entry, bool) {
	info, err := os.Stat(name)
	if err != nil || !info.Mode().IsRegular() {
		return entry{}, false
	}
	data, err := os.ReadFile(name)
	if err != nil {
		return entry{}, false
	}
	return entry{empty: len(data) == 0, digest: sha256.Sum256(data)}, true
}

// ignored reports whether a name does not count.
func (w *Watcher) ignored(name string, isFolder bool) bool {
	return leftBeside(name, isFolder) || w.ignore(name, isFolder)
}

// leftBeside reports whether a name is one that editors and tools leave beside sources: hidden files, backups, what Vim
// writes to see whether it may (4913), caches and installed packages.
func leftBeside(name string, isFolder bool) bool {
	if strings.HasPrefix(name, ".") || strings.HasSuffix(name, "~") {
		return true
	}
	if isFolder {
		return name == "node_modules" || name == "__pycache__"
	}
	if name == "4913" || strings.HasPrefix(name, "#") && strings.HasSuffix(name, "#") ||
		strings.Contains(name, "___jb_") {
		return true
	}
	return slices.Contains([]string{".swp", ".swo", ".swx", ".tmp", ".bak", ".orig", ".pyc"}, filepath.Ext(name))
}

// Next waits for a change. The error is ctx's, or ErrClosed; another one comes with the change, some of whose folders
// cannot be watched, and the watch goes on.
func (w *Watcher) Next(ctx context.Context) (Batch, error) {
	for {
		pending := map[string]bool{}
		if err := w.await(ctx, pending, nil); err != nil {
			return Batch{}, err
		}
		batch := Batch{First: time.Now()}
		for {
			if err := w.settle(ctx, pending, batch.First.Add(patience)); err != nil {
				return Batch{}, err
			}
			seen, changed := w.compare(pending)
			if unfinished(w.folders, seen) && time.Since(batch.First) < w.emptyPatience {
				continue
			}
			batch.Paths = changed
			if err := w.keep(seen); err != nil {
				return batch, err
			}
			break
		}
		if len(batch.Paths) > 0 {
			return batch, nil
		}
	}
}

// settle waits until nothing has happened for a while, or until the deadline.
func (w *Watcher) settle(ctx context.Context, pending map[string]bool, deadline time.Time) error {
	for {
		timer := time.NewTimer(min(quiet, max(0, time.Until(deadline))))
		err := w.await(ctx, pending, timer.C)
		timer.Stop()
		if errors.Is(err, errQuiet) {
			return nil
		}
		if err != nil {
			return err
		}
		if time.Now().After(deadline) {
			return nil
		}
	}
}

// ErrClosed means that the watch has ended.
var ErrClosed = errors.New("watching files: the watch was closed")

var errQuiet = errors.New("nothing happens")

// await waits for a sign that something has changed and adds its folder. The error is errQuiet when timeout came first.
func (w *Watcher) await(ctx context.Context, pending map[string]bool, timeout <-chan time.Time) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timeout:
		return errQuiet
	case event, ok := <-w.events.Events:
		if !ok {
			return ErrClosed
		}
		// Of a folder itself, too, as when it is removed.
		pending[event.Name], pending[filepath.Dir(event.Name)] = true, true
		return nil
	case _, ok := <-w.events.Errors:
		if !ok {
			return ErrClosed
		}
		// Events are lost, as when there are more than the system keeps: all folders may have changed.
		for dir := range w.folders {
			pending[dir] = true
		}
		return nil
	}
}

// compare looks at the pending folders that are watched and at those that are new in the trees. It returns what it saw
// and the paths of what has changed there.
func (w *Watcher) compare(pending map[string]bool) (seen map[string]folder, changed []string) {
	seen = map[string]folder{}
	for dir := range w.folders {
		if _, err := os.Stat(dir); err != nil {
			pending[dir] = true // with a folder above it, which alone is told of
		}
	}
	for dir := range pending {
		if _, watched := w.folders[dir]; watched {
			seen[dir] = w.look(dir)
		}
	}
	for dir := range w.below() {
		if _, watched := w.folders[dir]; !watched {
			seen[dir] = w.look(dir)
		}
	}
	for dir, files := range seen {
		for _, name := range w.folders[dir].differences(files) {
			changed = append(changed, filepath.Join(dir, name))
		}
	}
	slices.Sort(changed)
	return seen, changed
}

// differences are the names of what was added, changed or removed since.
func (f folder) differences(since folder) []string {
	var names []string
	for name, e := range since {
		if before, was := f[name]; !was || before != e {
			names = append(names, name)
		}
	}
	for name := range f {
		if _, is := since[name]; !is {
			names = append(names, name)
		}
	}
	return names
}

// unfinished reports whether a file has become empty, as in the middle of a save.
func unfinished(before, seen map[string]folder) bool {
	for dir, files := range seen {
		for name, file := range files {
			if file.empty && !before[dir][name].empty {
				return true
			}
		}
	}
	return false
}

// keep remembers what was seen, and watches what is new. What is gone is forgotten first: a folder that was moved is
// known to the system under its old name. A folder that was watched is watched again, since another one may have taken
// its name.
func (w *Watcher) keep(seen map[string]folder) error {
	for dir := range seen {
		if _, err := os.Stat(dir); err != nil {
			w.forget(dir)
			delete(seen, dir)
		}
	}
	var faults []error
	for dir, files := range seen {
		_, watched := w.folders[dir]
		if err := w.add(dir); err != nil {
			faults = append(faults, err)
			continue
		}
		if watched {
			w.folders[dir] = files // what was written since is in the events
		}
	}
	return errors.Join(faults...)
}
