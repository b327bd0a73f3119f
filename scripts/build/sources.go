package build

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// Sources are the folders whose files a program is made from, as absolute paths in order, for whoever watches them.
type Sources struct {
	// Dirs hold the program's packages and what these embed. Packages of the standard library and of modules that were
	// downloaded are left out: nobody edits those.
	Dirs []string
	// Missing are where packages would be that the program imports from a module which is here, and that are not there.
	Missing []string
}

// FindSources returns the sources of every package of options by its folder's name. It tells them of code that does not
// compile, too, as far as the imports can be read.
func FindSources(ctx context.Context, options GoOptions) (map[string]Sources, error) {
	args := append([]string{"list", "-e", "-deps",
		"-json=ImportPath,Dir,Standard,DepOnly,Deps,EmbedFiles,EmbedPatterns,Module,Error"}, options.flags()...)
	cmd := exec.CommandContext(ctx, "go", append(args, options.Packages...)...)
	endWithAll(cmd)
	options.prepare(cmd)
	var complaints bytes.Buffer
	cmd.Stderr = &complaints
	output, err := cmd.Output()
	if ctx.Err() != nil {
		return nil, fmt.Errorf("finding the sources of functions: %w", ctx.Err())
	}
	if err != nil {
		return nil, fmt.Errorf("finding the sources of functions: %w\n%s", err, complaints.Bytes())
	}
	return readSources(output)
}

// sourcePackage is what the go command says of a package and where it comes from.
type sourcePackage struct {
	ImportPath, Dir           string
	Standard, DepOnly         bool
	Deps                      []string
	EmbedFiles, EmbedPatterns []string
	Module                    *sourceModule
	Error                     *struct{ Err string }
}

// sourceModule is a module of the build; it is here when it is the main one, or one of a workspace, or stands in for a
// module by a folder.
type sourceModule struct {
	Path, Version, Dir string
	Main               bool
	Replace            *sourceModule
}

func (m *sourceModule) isHere() bool {
	return m != nil && (m.Main || m.Version == "" || m.Replace != nil && m.Replace.Version == "")
}

func readSources(output []byte) (map[string]Sources, error) {
	known := map[string]*sourcePackage{}
	modules := map[string]string{} // folders of modules that are here, by path
	var programs []*sourcePackage
	for decoder := json.NewDecoder(bytes.NewReader(output)); ; {
		p := &sourcePackage{}
		if err := decoder.Decode(p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, fmt.Errorf("decoding what the go command says of the functions: %w", err)
		}
		known[p.ImportPath] = p
		if p.Module.isHere() && p.Module.Dir != "" {
			modules[p.Module.Path] = p.Module.Dir
		}
		if !p.DepOnly {
			programs = append(programs, p)
		}
	}
	sources := map[string]Sources{}
	for _, program := range programs {
		var s Sources
		for _, path := range append(program.Deps, program.ImportPath) {
			s.add(path, known[path], modules)
		}
		s.tidy()
		sources[folderOf(program.ImportPath)] = s
	}
	return sources, nil
}

// add takes in a package; p is nil when the go command says nothing of it.
func (s *Sources) add(path string, p *sourcePackage, modules map[string]string) {
	if p != nil && (p.Standard || p.Module != nil && !p.Module.isHere()) {
		return
	}
	if p == nil || p.Dir == "" || p.Error != nil && !exists(p.Dir) {
		if dir := expected(path, modules); dir != "" {
			s.Missing = append(s.Missing, dir)
		}
		return
	}
	s.Dirs = append(s.Dirs, p.Dir)
	for _, file := range p.EmbedFiles {
		for dir := filepath.Dir(filepath.Join(p.Dir, file)); len(dir) > len(p.Dir); dir = filepath.Dir(dir) {
			s.Dirs = append(s.Dirs, dir)
		}
	}
	for _, pattern := range p.EmbedPatterns {
		// Of a folder that is embedded, files may come that the go command does not know yet.
		pattern = strings.TrimPrefix(pattern, "all:")
		if dir := filepath.Dir(filepath.Join(p.Dir, pattern)); len(dir) > len(p.Dir) && exists(dir) {
			s.Dirs = append(s.Dirs, dir)
		}
	}
}

// expected is the folder where a package of a module that is here would be; empty for any other package.
func expected(path string, modules map[string]string) string {
	for module, dir := range modules {
		if rest, within := strings.CutPrefix(path, module+"/"); within {
			return filepath.Join(dir, filepath.FromSlash(rest))
		}
	}
	return ""
}

func (s *Sources) tidy() {
	for _, list := range []*[]string{&s.Dirs, &s.Missing} {
		slices.Sort(*list)
		*list = slices.Compact(*list)
	}
}
