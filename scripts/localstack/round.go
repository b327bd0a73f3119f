package localstack

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// round takes in what changed at about the same time: it reads, builds, starts and publishes, in this order, and what
// has a fault stays as it was.
type round struct {
	*watch
	began time.Time
	// paths are the files that were saved, and folders that came or went.
	paths []string
	// chosen are the parts that are made.
	chosen []*part
	change Change
	// known are the faults that there were before.
	known map[string]error

	mu sync.Mutex
	// fresh are the versions that are to serve, by the function's name.
	fresh map[string]*served
}

// round begins one in which parts are made, whether or not anything of them was saved.
func (w *watch) round(parts []*part) *round {
	return &round{
		watch: w, began: time.Now(), chosen: parts, known: maps.Clone(w.faults), fresh: map[string]*served{},
	}
}

// run works the round off. It leaves it half done when ctx ends.
func (r *round) run(ctx context.Context) {
	r.read()
	r.choose()
	r.build(ctx)
	if ctx.Err() != nil {
		return
	}
	r.start(ctx)
	r.publish(ctx)
	r.tell()
}

// fault notes what is wrong with a function, by its name, or with a file of the functions folder.
func (r *round) fault(of string, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.faults[of] = err
}

// mend notes that nothing is wrong with it.
func (r *round) mend(of string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.faults, of)
}

// tell puts together what is to be said. A fault that was known is told again when what it is about was saved.
func (r *round) tell() {
	for _, of := range slices.Sorted(maps.Keys(r.faults)) {
		err, known := r.faults[of], r.known[of]
		if known == nil || known.Error() != err.Error() || r.isAbout(of) {
			r.addFault(of, err)
		}
	}
	for _, of := range slices.Sorted(maps.Keys(r.known)) {
		if r.faults[of] == nil {
			r.change.Mended = append(r.change.Mended, of)
		}
	}
	r.noteStack()
	r.noteScopes()
	r.change.Times.Total = time.Since(r.began)
}

// addFault adds a fault to what is told, once for all who have the same, as when code that they share does not compile.
func (r *round) addFault(of string, err error) {
	for i, other := range r.change.Faults {
		if other.Err.Error() == err.Error() {
			r.change.Faults[i].Of = append(other.Of, of)
			r.change.Faults[i].Serving = other.Serving && r.serves(of)
			return
		}
	}
	r.change.Faults = append(r.change.Faults, Fault{Of: []string{of}, Err: err, Serving: r.serves(of)})
}

// isAbout reports whether a file was saved that a fault is about.
func (r *round) isAbout(of string) bool {
	for _, p := range r.chosen {
		if p.name == of && slices.ContainsFunc(r.paths, func(path string) bool { return r.isFrom(p, path) }) {
			return true
		}
	}
	return slices.ContainsFunc(r.paths, func(path string) bool {
		return r.display(strings.TrimPrefix(path, r.options.Functions)) == of
	})
}

// serves reports whether something before a faulty function or file goes on serving.
func (r *round) serves(of string) bool {
	if r.serving[of] != nil || of == r.display("server.json") || of == catalogueFault {
		return true
	}
	return r.live[filepath.Base(filepath.Dir(filepath.FromSlash(of)))] != nil
}

// display is how a file of the functions folder is named to people.
func (r *round) display(name string) string {
	return filepath.ToSlash(filepath.Join(filepath.Base(r.options.Functions), name))
}

// noteStack says once that what the stack itself is made from has changed.
func (r *round) noteStack() {
	for _, path := range r.paths {
		own := r.sources[filepath.Base(stackPackage)].Dirs
		if r.outdated || filepath.Ext(path) != ".go" || !slices.Contains(own, filepath.Dir(path)) {
			continue
		}
		r.outdated = true
		r.change.Restart = append(r.change.Restart, fmt.Sprintf("the local stack itself is made from %s, too: the gateway "+
			"and what else is no function goes on as it was", r.relative(filepath.Dir(path))))
	}
}

// noteScopes says which permissions the authorization server cannot give, since it has known all since it started.
func (r *round) noteScopes() {
	if r.AuthServer == nil || r.options.AuthServer.Scopes != nil {
		return
	}
	known := permissions(r.set.Tools)
	for _, tool := range r.live {
		if !slices.Contains(r.change.Live, tool.Name) {
			continue
		}
		for _, scope := range tool.Contract.Permissions {
			if !slices.Contains(known, scope) {
				r.change.Restart = append(r.change.Restart, fmt.Sprintf("the authorization server does not know the permission "+
					"%s of %s, so nobody has it", scope, tool.Name))
			}
		}
	}
	slices.Sort(r.change.Restart)
}
