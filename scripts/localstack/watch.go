package localstack

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"patchbay/scripts/build"
	"patchbay/scripts/filewatch"
	"patchbay/shared/contract"
)

// Change is what became of files that were saved while the stack runs.
type Change struct {
	// Live are the names of the tools that serve now what was saved; Withdrawn are those that are gone.
	Live, Withdrawn []string
	// Renewed are functions beside those of tools that serve now what was saved: dispatcher, authorizer, existing ones.
	Renewed []string
	// Faults are what keeps the old from being replaced. A fault is told again when something that it is about was saved.
	Faults []Fault
	// Mended are what had a fault before that is gone now.
	Mended []string
	// Warnings are what is worth knowing of the contracts that were saved.
	Warnings contract.Problems
	// Restart are sentences that say what only another start of the stack takes in.
	Restart []string
	Times   Times
}

// Fault is what is wrong with what was saved.
type Fault struct {
	// Of are what has the fault: names of functions, or a file of the functions folder such as functions/greet/tool.json.
	Of []string
	// Err tells what is wrong and where; it wraps contract.Problems, a *build.Error, a *locallambda.InitError, or another.
	Err error
	// Serving says that what was there before goes on serving, of all of them; a new tool has nothing before it.
	Serving bool
}

// Times are how long the steps of a change took; steps that there were no need for took nothing. Steps of several
// functions run beside each other.
type Times struct {
	// Total is from the first sign of the change to where the next call sees it.
	Total time.Duration
	// Notice is until the change was known to be whole.
	Notice time.Duration
	// Build is for making functions, Start for starting an instance of each, and Publish for the catalogue.
	Build, Start, Publish time.Duration
}

// empty reports whether there is nothing to say.
func (c *Change) empty() bool {
	return len(c.Live)+len(c.Withdrawn)+len(c.Renewed)+len(c.Faults)+len(c.Mended)+len(c.Warnings)+len(c.Restart) == 0
}

// watch takes in what is saved. But for close it is one goroutine's.
type watch struct {
	*deployment
	files *filewatch.Watcher
	stop  context.CancelFunc
	done  chan struct{}

	// wanted are the tools as their files last were without a fault, and live those that are published, by folder.
	wanted, live map[string]*contract.Tool
	// faults are what is known to be wrong, by what has it.
	faults map[string]error
	// pending are functions that were built and do not serve yet, by name.
	pending map[string]bool
	// made is how tools' functions were last made, by name.
	made map[string]contract.Function
	// sources are the folders that compiled functions are made from, by name, and unknown the packages of which that is
	// yet to be found out.
	sources map[string]build.Sources
	unknown []string
	// retiring are the versions that the last change superseded. A dispatcher that looked a tool up before may still call
	// them; by the next change it has done so.
	retiring []*served
	// outdated says that the stack itself has changed, which is told once.
	outdated bool
}

// openWatch begins to watch the functions folder, before anything of it is read.
func (s *Stack) openWatch() error {
	if s.options.Watch == nil {
		return nil
	}
	files, err := filewatch.New(filewatch.Options{Ignore: isTest})
	if err != nil {
		return err
	}
	s.watching = &watch{files: files, stop: func() {}, done: make(chan struct{})}
	_, err = files.Watch([]string{s.options.Functions}, []string{s.module})
	return err
}

// isTest reports whether a file is of a function's tests, which a function is not made from.
func isTest(name string, isFolder bool) bool {
	stem := strings.TrimSuffix(name, filepath.Ext(name))
	switch filepath.Ext(name) {
	case ".go":
		return strings.HasSuffix(stem, "_test")
	case ".py":
		return strings.HasPrefix(stem, "test_") || strings.HasSuffix(stem, "_test") || stem == "conftest"
	case ".js", ".mjs", ".cjs", ".ts", ".mts", ".cts":
		return strings.HasSuffix(stem, ".test") || strings.HasSuffix(stem, ".spec")
	}
	return !isFolder && name == "eval.yaml"
}

// startWatch follows the files until close.
func (s *Stack) startWatch() {
	w := s.watching
	if w == nil {
		return
	}
	w.deployment = s.deployment
	w.live, w.faults, w.pending = map[string]*contract.Tool{}, map[string]error{}, map[string]bool{}
	w.made = map[string]contract.Function{}
	for _, tool := range s.set.Tools {
		w.live[folder(tool)] = tool
		w.made[folder(tool)] = tool.Contract.Function
	}
	w.wanted = maps.Clone(w.live)
	ctx, stop := context.WithCancel(context.Background())
	w.stop = stop
	go w.run(ctx)
}

// close begins to end the watch.
func (w *watch) close() {
	if w != nil {
		w.stop()
		_ = w.files.Close()
	}
}

// wait returns when the watch has ended, once nothing that it waits for can come.
func (w *watch) wait() {
	if w != nil && w.deployment != nil {
		<-w.done
	}
}

func (w *watch) run(ctx context.Context) {
	defer close(w.done)
	w.follow(ctx, w.parts())
	// What compiled functions are made from was not watched while the stack started.
	w.work(ctx, w.round(w.compiled()))
	for {
		batch, err := w.files.Next(ctx)
		if ctx.Err() != nil || errors.Is(err, filewatch.ErrClosed) {
			return
		}
		if err != nil {
			w.complain(ctx, err)
		}
		r := w.round(nil)
		r.began, r.paths = batch.First, batch.Paths
		r.change.Times.Notice = time.Since(batch.First)
		w.take(ctx, r)
	}
}

// work runs a round and tells what came of it.
func (w *watch) work(ctx context.Context, r *round) {
	r.run(ctx)
	if ctx.Err() == nil && !r.change.empty() {
		w.options.Watch(r.change)
	}
}

// take runs a round, and finds out what is to be watched from then on.
func (w *watch) take(ctx context.Context, r *round) {
	w.work(ctx, r)
	if ctx.Err() != nil {
		return
	}
	// Code that was saved may import what nobody watched until now, and what happened there was not noticed. To build once
	// more takes little where nothing has.
	if added := w.follow(ctx, r.chosen); len(added) > 0 && ctx.Err() == nil {
		w.take(ctx, w.round(added))
	}
}

// part is a function that is made from files here.
type part struct {
	name string
	// pkg is the package that the compiler makes it from; empty for a part made in another way from the folder dir.
	pkg, dir string
	tool     *contract.Tool
	existing *existing
}

// parts are the functions of the stack, as their files say.
func (w *watch) parts() []*part {
	all := []*part{{name: "dispatcher", pkg: dispatcherPackage}}
	if w.protected() {
		all = append(all, &part{name: "authorizer", pkg: authorizerPackage})
	}
	for name, tool := range w.wanted {
		if tool.Contract.Function.ARN != "" {
			continue
		}
		p := &part{name: name, tool: tool, dir: w.sourceDir(tool)}
		// The folder is in the module, or the stack would not have started.
		p.pkg, _ = w.goPackage(tool)
		all = append(all, p)
	}
	for _, function := range w.Stack.existing {
		p := &part{name: function.name, existing: function, dir: function.dir}
		if function.compiled() {
			p.pkg = w.relative(function.dir)
		}
		all = append(all, p)
	}
	slices.SortFunc(all, func(a, b *part) int { return strings.Compare(a.name, b.name) })
	return all
}

// compiled are the parts that the compiler makes.
func (w *watch) compiled() []*part {
	return slices.DeleteFunc(w.parts(), func(p *part) bool { return p.pkg == "" })
}

// relative is a folder of the module as a package of it; another folder is what it is.
func (w *watch) relative(dir string) string {
	name, err := filepath.Rel(w.module, dir)
	if err != nil || !filepath.IsLocal(name) {
		return dir
	}
	return "./" + filepath.ToSlash(name)
}

// follow finds out what the compiled ones among parts are made from, and watches it. It returns those of them that are
// made from folders which were not watched before.
func (w *watch) follow(ctx context.Context, parts []*part) (added []*part) {
	w.find(ctx, parts)
	dirs, err := w.files.Watch(w.trees(), w.folders())
	if err != nil {
		w.complain(ctx, err)
	}
	for _, p := range parts {
		if slices.ContainsFunc(w.sources[p.name].Dirs, func(dir string) bool { return slices.Contains(dirs, dir) }) {
			added = append(added, p)
		}
	}
	return added
}

// find finds out what the compiled ones among parts are made from. Where that fails, as while go.mod is being edited,
// it is tried again after the next change.
func (w *watch) find(ctx context.Context, parts []*part) {
	packages := w.unknown
	for _, p := range parts {
		if p.pkg != "" && !slices.Contains(packages, p.pkg) {
			packages = append(packages, p.pkg)
		}
	}
	if w.sources == nil {
		w.sources = map[string]build.Sources{}
		packages = append(packages, stackPackage)
	}
	if len(packages) == 0 {
		return
	}
	found, err := build.FindSources(ctx, w.goOptions(packages...))
	if err != nil {
		if len(w.unknown) > 0 && len(w.faults) == 0 {
			w.complain(ctx, err)
		}
		w.unknown = packages
		return
	}
	w.unknown = nil
	for name, sources := range found {
		w.sources[name] = sources
	}
}

// stackPackage is the stack itself, by its import path.
const stackPackage = "patchbay/scripts/localstack"

// complain says that files are not watched, unless that is because the watch ends.
func (w *watch) complain(ctx context.Context, err error) {
	if ctx.Err() == nil {
		w.options.Watch(Change{Restart: []string{fmt.Sprintf("not all files are watched: %v", err)}})
	}
}

// trees are the folders that are watched with all that is in them.
func (w *watch) trees() []string {
	trees := []string{w.options.Functions}
	for _, dir := range w.existingDirs() {
		if dir, err := filepath.Abs(dir); err == nil && len(w.Stack.existing) > 0 {
			trees = append(trees, dir)
		}
	}
	return trees
}

// folders are the folders beside the trees that are watched: the module's, which has go.mod and the local secrets,
// those of packages, and where packages may come.
func (w *watch) folders() []string {
	folders := []string{w.module}
	for name, sources := range w.sources {
		if _, serves := w.serving[name]; !serves && w.wanted[name] == nil && name != filepath.Base(stackPackage) {
			delete(w.sources, name)
			continue
		}
		folders = append(folders, sources.Dirs...)
		for _, dir := range sources.Missing {
			folders = append(folders, nearest(dir))
		}
	}
	return folders
}

// nearest is the folder itself, or the nearest one above it that exists.
func nearest(dir string) string {
	for dir != filepath.Dir(dir) {
		if info, err := os.Stat(dir); err == nil && info.IsDir() {
			break
		}
		dir = filepath.Dir(dir)
	}
	return dir
}

// isModuleFile reports whether a file says which modules code is compiled with.
func (w *watch) isModuleFile(path string) bool {
	return filepath.Dir(path) == w.module &&
		slices.Contains([]string{"go.mod", "go.sum", "go.work", "go.work.sum"}, filepath.Base(path))
}
