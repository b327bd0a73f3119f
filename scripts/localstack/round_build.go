package localstack

import (
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"patchbay/scripts/build"
)

// choose finds the parts that are to be made: those of which a file was saved, that are made in another way than
// before, that could not be made, or that are new.
func (r *round) choose() {
	for _, p := range r.parts() {
		chosen := slices.ContainsFunc(r.chosen, func(other *part) bool { return other.name == p.name })
		if !chosen && r.isStale(p) {
			r.chosen = append(r.chosen, p)
		}
	}
}

func (r *round) isStale(p *part) bool {
	fault := r.known[p.name]
	if fault != nil && !errors.As(fault, new(*startFault)) || p.tool != nil && r.isMadeOtherwise(p) {
		return true
	}
	return slices.ContainsFunc(r.paths, func(path string) bool { return r.isFrom(p, path) })
}

// isMadeOtherwise reports whether a tool's function was not made yet, or is made in another way by its new contract.
func (r *round) isMadeOtherwise(p *part) bool {
	was, is := r.made[p.name], p.tool.Contract.Function
	return was.Runtime != is.Runtime || was.Handler != is.Handler || !slices.Equal(was.Build, is.Build)
}

// isFrom reports whether a part is made from a file.
func (r *round) isFrom(p *part, path string) bool {
	if filepath.Base(path) == "tool.json" {
		return false
	}
	if p.name == "dispatcher" && path == r.serverFile() {
		return true
	}
	if p.pkg != "" {
		return r.isModuleFile(path) || slices.Contains(r.sources[p.name].Dirs, filepath.Dir(path))
	}
	return strings.HasPrefix(path, p.dir+string(filepath.Separator)) || p.existing != nil && path == p.dir+".json"
}

// build makes what was chosen. Afterwards those are pending that are other than before.
func (r *round) build(ctx context.Context) {
	if len(r.chosen) == 0 {
		return
	}
	began := time.Now()
	var compiled []*part
	for _, p := range r.chosen {
		switch {
		case p.pkg == "":
			r.makePackage(ctx, p)
		case p.name != "dispatcher" || r.faults[r.display("server.json")] == nil:
			compiled = append(compiled, p)
		}
	}
	r.compile(ctx, compiled)
	r.change.Times.Build = time.Since(began)
}

// makePackage makes a part that is not the compiler's.
func (r *round) makePackage(ctx context.Context, p *part) {
	if p.existing != nil {
		r.note(ctx, p, r.packageOne(ctx, p.existing))
		return
	}
	program, err := r.packageFunction(ctx, p.tool)
	if err == nil {
		r.programs[p.tool] = program
	}
	r.note(ctx, p, err)
}

// note notes what came of making a part that is other than before, or has a fault.
func (r *round) note(ctx context.Context, p *part, err error) {
	if ctx.Err() != nil {
		return
	}
	if p.tool != nil {
		r.made[p.name] = p.tool.Contract.Function
	}
	if err != nil {
		r.fault(p.name, err)
		delete(r.pending, p.name)
		return
	}
	r.mend(p.name)
	r.pending[p.name] = true
}

// compile makes parts with one run of the compiler, and where some of them have a fault, the others with another one.
func (r *round) compile(ctx context.Context, parts []*part) {
	if len(parts) == 0 {
		return
	}
	before := map[string]fileset{}
	var packages []string
	for _, p := range parts {
		before[p.name] = filesOf(filepath.Join(r.outDir(), p.name))
		packages = append(packages, p.pkg)
	}
	err := build.Go(ctx, r.goOptions(packages...))
	if broken := new(build.Error); errors.As(err, &broken) && len(broken.Functions) > 0 {
		var good []*part
		for _, p := range parts {
			if slices.Contains(broken.Functions, p.name) {
				r.note(ctx, p, err)
			} else {
				good = append(good, p)
			}
		}
		if len(good) < len(parts) && ctx.Err() == nil {
			r.compile(ctx, good)
			return
		}
	}
	for _, p := range parts {
		same := before[p.name].same(filesOf(filepath.Join(r.outDir(), p.name)))
		if err != nil || !same || r.serving[p.name] == nil {
			r.note(ctx, p, err)
			delete(r.programs, p.tool) // how it was run when it was made in another way
		} else {
			r.mend(p.name) // what serves, or waits to, is what the files say
		}
	}
}

// fileset are the files of a folder, by name.
type fileset map[string]os.FileInfo

func filesOf(dir string) fileset {
	files := fileset{}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return files
	}
	for _, entry := range entries {
		if info, err := entry.Info(); err == nil {
			files[entry.Name()] = info
		}
	}
	return files
}

// same reports whether no file was replaced: a build leaves alone what would stay as it is.
func (f fileset) same(other fileset) bool { return maps.EqualFunc(f, other, os.SameFile) }
