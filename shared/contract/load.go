package contract

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// Set is a server and its tools, in the order of their names.
type Set struct {
	Server Server
	Tools  []*Tool
}

// LoadDir reads dir/server.json and dir/*/tool.json. Folders without a tool.json, and those that begin with "_" or ".",
// are passed over. The problems of all files come together, and name them from the last element of dir on, like
// functions/get_weather/tool.json; the set is nil exactly when there are errors.
func LoadDir(dir string) (*Set, Problems) {
	l := loader{dir: dir}
	set := &Set{}
	if data, ok := l.read("server.json"); ok {
		server, problems := ParseServer(l.display("server.json"), data)
		l.problems = append(l.problems, problems...)
		if server != nil {
			set.Server = *server
		}
	}
	set.Tools = l.tools()
	l.problems = append(l.problems, CheckTools(set.Tools, ServerLimits{})...)
	problems := l.problems.sorted()
	if problems.Err() != nil {
		return nil, problems
	}
	return set, problems
}

type loader struct {
	dir      string
	problems Problems
}

// display is a file's name in problems.
func (l *loader) display(name string) string {
	return path.Join(filepath.ToSlash(filepath.Base(l.dir)), filepath.ToSlash(name))
}

func (l *loader) read(name string) ([]byte, bool) {
	data, err := os.ReadFile(filepath.Join(l.dir, name))
	switch {
	case err == nil:
		return data, true
	case errors.Is(err, fs.ErrNotExist):
		l.report(name, "file-missing", "", "the file does not exist")
	default:
		l.report(name, "file-unreadable", "", fmt.Sprintf("reading the file: %v", pathless(err)))
	}
	return nil, false
}

// pathless drops the path from an error about a file, since problems name the file in their own way.
func pathless(err error) error {
	var pathError *fs.PathError
	if errors.As(err, &pathError) {
		return pathError.Err
	}
	return err
}

// tools reads every tool, in the order of their names; those with errors are left out.
func (l *loader) tools() []*Tool {
	entries, err := os.ReadDir(l.dir)
	if err != nil {
		l.report("", "file-unreadable", "", fmt.Sprintf("reading the folder: %v", pathless(err)))
		return nil
	}
	var tools []*Tool
	for _, entry := range entries {
		if t := l.tool(entry.Name()); t != nil {
			tools = append(tools, t)
		}
	}
	slices.SortStableFunc(tools, func(a, b *Tool) int { return strings.Compare(a.Name, b.Name) })
	return tools
}

// tool reads the tool in a folder; nil when there is none, or one with errors.
func (l *loader) tool(folder string) *Tool {
	name := filepath.Join(folder, "tool.json")
	if strings.HasPrefix(folder, "_") || strings.HasPrefix(folder, ".") || !l.exists(name) {
		return nil
	}
	if !folderName.match(folder) {
		l.report(folder, "folder-name", "a-z, then a-z 0-9 _; the tool's name may differ from it",
			"a tool's folder cannot have this name")
	}
	data, ok := l.read(name)
	if !ok {
		return nil
	}
	t, problems := Parse(l.display(name), data)
	l.problems = append(l.problems, problems...)
	if t != nil {
		t.Folder = filepath.Join(l.dir, folder)
	}
	return t
}

// folderName is what Go packages, Lambda functions and every file system take alike.
var folderName = lazily(`^[a-z][a-z0-9_]*$`)

func (l *loader) exists(name string) bool {
	_, err := os.Lstat(filepath.Join(l.dir, name))
	return err == nil
}

func (l *loader) report(name, id, allowed, message string) {
	l.problems = append(l.problems, problem(l.display(name), id, "", allowed, message))
}
