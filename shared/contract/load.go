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
// are passed over. The problems of all files come together, without those that the files suppress, and name them from
// the last element of dir on, like functions/get_weather/tool.json; the set is nil exactly when there are errors.
func LoadDir(dir string) (*Set, Problems) {
	s := Look(dir, ServerLimits{})
	problems := s.unsuppressed()
	if problems.Err() != nil {
		return nil, problems
	}
	return &Set{Server: s.Server, Tools: s.Tools}, problems
}

type loader struct {
	dir string
	// documents are the files that could be read, by their names in problems.
	documents map[string]*document
	problems  Problems
}

func newLoader(dir string) *loader { return &loader{dir: dir, documents: map[string]*document{}} }

// display is a file's name in problems.
func (l *loader) display(name string) string {
	return path.Join(filepath.ToSlash(filepath.Base(l.dir)), filepath.ToSlash(name))
}

func (l *loader) read(name string) ([]byte, bool) {
	data, err := ReadFile(filepath.Join(l.dir, name))
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

// maxFile is the largest file that is read, in bytes: many times what the bounds of schemas leave room for.
const maxFile = 16 << 20

// ReadFile reads a contract's file, or the one that a link leads to. It refuses pipes and devices, which may have no
// end, and what is larger than any contract.
func ReadFile(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() && !info.IsDir() { // that it is a folder, the system says
		return nil, &fs.PathError{Op: "read", Path: path, Err: errors.New("it is no regular file")}
	}
	if info.Size() > maxFile {
		tooLarge := fmt.Errorf("it has %d bytes; allowed: at most %d", info.Size(), maxFile)
		return nil, &fs.PathError{Op: "read", Path: path, Err: tooLarge}
	}
	return os.ReadFile(path)
}

// pathless drops the path from an error about a file, since problems name the file in their own way.
func pathless(err error) error {
	var pathError *fs.PathError
	if errors.As(err, &pathError) {
		return pathError.Err
	}
	return err
}

// add keeps what a file says, and its problems.
func (l *loader) add(name string, d *document) *document {
	l.documents[l.display(name)] = d
	l.problems = append(l.problems, d.problems...)
	return d
}

// server reads server.json as far as it can be read; nil when it is not there.
func (l *loader) server() *document {
	const name = "server.json"
	data, ok := l.read(name)
	if !ok {
		return nil
	}
	return l.add(name, readServer(l.display(name), data))
}

// tools reads every tool as far as it can be read, in the order of their names.
func (l *loader) tools() []*Tool {
	entries, err := os.ReadDir(l.dir)
	if err != nil {
		l.report("", "file-unreadable", "", fmt.Sprintf("reading the folder: %v", pathless(err)))
		return nil
	}
	var tools []*Tool
	for _, entry := range entries {
		if d := l.tool(entry.Name()); d != nil && d.tool != nil {
			tools = append(tools, d.tool)
		}
	}
	slices.SortStableFunc(tools, func(a, b *Tool) int { return strings.Compare(a.Name, b.Name) })
	return tools
}

// tool reads the tool in a folder as far as it can be read; nil when there is none.
func (l *loader) tool(folder string) *document {
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
	d := l.add(name, readTool(l.display(name), data))
	if d.tool != nil {
		d.tool.Folder = filepath.Join(l.dir, folder)
	}
	return d
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
