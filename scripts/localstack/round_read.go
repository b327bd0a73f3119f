package localstack

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"patchbay/shared/contract"
)

// read takes in the contracts that were saved, and what the server says of itself.
func (r *round) read() {
	folders := map[string]bool{}
	for _, path := range r.paths {
		if path == r.serverFile() {
			r.readServer()
		}
		if name, within := strings.CutPrefix(path, r.options.Functions+string(filepath.Separator)); within {
			name, _, _ = strings.Cut(name, string(filepath.Separator))
			folders[name] = true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(folders)) {
		r.readTool(name)
	}
	r.compare()
	r.readExistingFunctions()
}

// readServer holds server.json against the rules; the dispatcher reads it when it starts.
func (r *round) readServer() {
	name := r.display("server.json")
	data, err := os.ReadFile(r.serverFile())
	if err != nil {
		r.fault(name, fmt.Errorf("reading %s: %w", name, errors.Unwrap(err)))
		return
	}
	_, problems := contract.ParseServer(name, data)
	if err := problems.Err(); err != nil {
		r.fault(name, err)
		return
	}
	r.mend(name)
	r.change.Warnings = append(r.change.Warnings, problems.Warnings()...)
}

// readTool reads the contract in a folder, if that was saved or has a fault.
func (r *round) readTool(name string) {
	file := r.display(filepath.Join(name, "tool.json"))
	tool, problems := contract.LoadFolder(r.options.Functions, name)
	if err := problems.Err(); err != nil {
		r.fault(file, err)
		return
	}
	if tool == nil {
		r.mend(file)
		r.mend(name)
		delete(r.wanted, name)
		delete(r.made, name)
		delete(r.pending, name)
		return
	}
	saved := slices.Contains(r.paths, filepath.Join(r.options.Functions, name, "tool.json"))
	if !saved && r.faults[file] == nil && r.wanted[name] != nil {
		return // code alone
	}
	r.mend(file)
	r.change.Warnings = append(r.change.Warnings, problems.Warnings()...)
	if before := r.wanted[name]; before != nil {
		r.programs[tool] = r.programs[before] // how it is run stays known until it is made anew
	}
	r.wanted[name] = tool
}

// compare holds the tools that have changed against all others and the server, and goes back to what is live for those
// that do not fit.
func (r *round) compare() {
	limits := contract.ServerLimits{MaxCallSeconds: maxCallSeconds(r.answerWithin(r.set.Tools))}
	for _, name := range slices.Sorted(maps.Keys(r.wanted)) {
		tool := r.wanted[name]
		if tool == r.live[name] {
			continue
		}
		problems := contract.CheckTools(r.tools(), limits)
		own := slices.DeleteFunc(problems.Errors(), func(p contract.Problem) bool { return p.File != tool.File })
		err := own.Err()
		if err == nil {
			err = r.checkCode(tool)
		}
		if err == nil {
			continue
		}
		r.fault(tool.File, err)
		delete(r.programs, tool)
		if delete(r.wanted, name); r.live[name] != nil {
			r.wanted[name] = r.live[name]
		}
	}
}

// tools are the wanted tools in the order of their names; of two with one name, the one that is live comes first, since
// the other one is told that the name is taken.
func (r *round) tools() []*contract.Tool {
	rank := func(tool *contract.Tool) int {
		if r.live[folder(tool)] == tool {
			return 0
		}
		return 1
	}
	return slices.SortedFunc(maps.Values(r.wanted), func(a, b *contract.Tool) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), rank(a)-rank(b), cmp.Compare(a.File, b.File))
	})
}

// readExistingFunctions reads those existing functions anew of which a file was saved, since their files say how they
// are run.
func (r *round) readExistingFunctions() {
	for _, function := range r.Stack.existing {
		p := &part{name: function.name, existing: function, dir: function.dir}
		if !slices.ContainsFunc(r.paths, func(path string) bool { return r.isFrom(p, path) }) {
			continue
		}
		again, err := readExisting(function.dir)
		if err != nil {
			r.fault(function.name, err)
			continue
		}
		again.program = function.program
		*function = *again
	}
}
