package scaffold

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"golang.org/x/mod/modfile"

	"patchbay/shared/mcp"
)

// kit is the module that a tool in Go imports.
const kit = "patchbay"

// locate finds the module that the tool's folder lies in, and what its test is run by.
func (t *Tool) locate() error {
	functions, err := filepath.Abs(t.options.Functions)
	if err != nil {
		return fmt.Errorf("locating %s: %w", t.options.Functions, err)
	}
	t.Root = filepath.Dir(functions)
	file, err := findModule(functions)
	if err != nil {
		return err
	}
	switch {
	case file != "":
		t.Root = filepath.Dir(file)
	case t.Language == Go:
		return fmt.Errorf("%s is in no Go module, so a tool in go could not be built there; allowed: a folder below a "+
			"go.mod, or a tool in %s or %s", functions, Python, Node)
	}
	if t.Language == Go {
		if err := requiresKit(file); err != nil {
			return err
		}
	}
	relative, err := filepath.Rel(t.Root, filepath.Join(functions, filepath.Base(t.Folder)))
	if err != nil {
		return fmt.Errorf("locating %s from %s: %w", t.Folder, t.Root, err)
	}
	t.TestCommand = testCommand(t.Language, filepath.ToSlash(relative))
	return nil
}

func testCommand(language, folder string) string {
	switch language {
	case Python:
		return "python3 -m unittest discover " + shellWord(folder)
	case Node:
		return "node --test " + shellWord(folder+"/app.test.mjs")
	}
	return "go test " + shellWord("./"+folder)
}

// findModule returns the go.mod at or above a folder, which need not exist; empty when there is none.
func findModule(dir string) (string, error) {
	for {
		file := filepath.Join(dir, "go.mod")
		switch _, err := os.Stat(file); {
		case err == nil:
			return file, nil
		case !errors.Is(err, fs.ErrNotExist):
			return "", fmt.Errorf("looking for the module of the functions: %w", err)
		case dir == filepath.Dir(dir):
			return "", nil
		}
		dir = filepath.Dir(dir)
	}
}

// requiresKit refuses a module in which a tool in Go could not be built.
func requiresKit(file string) error {
	data, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("reading the module of the functions: %w", err)
	}
	module, err := modfile.ParseLax(file, data, nil)
	if err != nil {
		return fmt.Errorf("reading the module of the functions: %w", err)
	}
	if module.Module != nil && module.Module.Mod.Path == kit {
		return nil
	}
	for _, require := range module.Require {
		if require.Mod.Path == kit {
			return nil
		}
	}
	return fmt.Errorf("%s does not require the module %s, so a tool in go could not be built; docs/own-repository.md "+
		"has the commands that require it", file, kit)
}

// Write writes the tool's folder, all at once, so that whoever watches the functions never sees half of it. It
// overwrites nothing. It returns the paths of what was written, the folder's files first.
func (t *Tool) Write() ([]string, error) {
	files, err := t.Files()
	if err != nil {
		return nil, err
	}
	if err := t.checkPlace(); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(t.options.Functions, 0o755); err != nil {
		return nil, fmt.Errorf("making the functions folder: %w", err)
	}
	written, err := t.place(files)
	if err != nil {
		return nil, err
	}
	server, err := t.ensureServer()
	if err != nil {
		return nil, err
	}
	return append(written, server...), nil
}

// checkPlace refuses to write over a folder, and to give two tools one name.
func (t *Tool) checkPlace() error {
	if _, err := os.Lstat(t.Folder); err == nil {
		return fmt.Errorf("%s exists already, and nothing is overwritten; choose another name, or remove it", t.Folder)
	}
	contracts, err := filepath.Glob(filepath.Join(t.options.Functions, "*", "tool.json"))
	if err != nil {
		return fmt.Errorf("looking for other tools: %w", err)
	}
	for _, file := range contracts {
		// One that cannot be read is told by lint; here it only has no name.
		data, _ := os.ReadFile(file)
		var other struct {
			Name string `json:"name"`
		}
		if json.Unmarshal(data, &other) == nil && other.Name == t.Name {
			return fmt.Errorf("%s has the name %s already, and a call names its tool by nothing else; choose another name",
				file, t.Name)
		}
	}
	return nil
}

// place makes the folder beside its place, where the loader of tools passes over it, and moves it there.
func (t *Tool) place(files []File) ([]string, error) {
	fresh, err := os.MkdirTemp(t.options.Functions, ".new-")
	if err != nil {
		return nil, fmt.Errorf("making a folder for the new tool: %w", err)
	}
	defer os.RemoveAll(fresh)
	var written []string
	for _, file := range files {
		if err := os.WriteFile(filepath.Join(fresh, file.Name), file.Content, 0o644); err != nil {
			return nil, fmt.Errorf("writing %s: %w", file.Name, err)
		}
		written = append(written, filepath.Join(t.Folder, file.Name))
	}
	if err := os.Chmod(fresh, 0o755); err != nil {
		return nil, fmt.Errorf("opening the new tool's folder to others: %w", err)
	}
	if err := os.Rename(fresh, t.Folder); err != nil {
		return nil, fmt.Errorf("moving the new tool to its place: %w", err)
	}
	return written, nil
}

// ensureServer writes the least server.json where there is none, named after the repository.
func (t *Tool) ensureServer() ([]string, error) {
	name := filepath.Join(t.options.Functions, "server.json")
	data, err := json.MarshalIndent(mcp.Implementation{Name: path.Base(filepath.ToSlash(t.Root)), Version: "0.1.0"}, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("encoding server.json: %w", err)
	}
	file, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("writing what the server says of itself: %w", err)
	}
	_, err = fmt.Fprintln(file, strings.TrimSpace(string(data)))
	if err = errors.Join(err, file.Close()); err != nil {
		return nil, fmt.Errorf("writing what the server says of itself: %w", err)
	}
	return []string{name}, nil
}
