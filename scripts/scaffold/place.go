package scaffold

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/module"

	"patchbay/shared/contract"
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
	t.Root, t.server = filepath.Dir(functions), filepath.Base(filepath.Dir(functions))
	file, err := findModule(functions)
	if err != nil {
		return err
	}
	switch {
	case file != "":
		t.Root = filepath.Dir(file)
		if err := t.readModule(file); err != nil {
			return err
		}
	case t.Language == Go:
		return fmt.Errorf("%s is in no Go module, so a tool in go could not be built there; allowed: a folder below a "+
			"go.mod, or a tool in %s or %s", functions, Python, Node)
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

// readModule takes the server's name from its module, and refuses one in which a tool in Go could not be built.
func (t *Tool) readModule(file string) error {
	data, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("reading the module of the functions: %w", err)
	}
	parsed, err := modfile.ParseLax(file, data, nil)
	if err != nil {
		return fmt.Errorf("reading the module of the functions: %w", err)
	}
	if parsed.Module != nil {
		if name, _, ok := module.SplitPathVersion(parsed.Module.Mod.Path); ok {
			t.server = path.Base(name)
		}
	}
	own := parsed.Module != nil && parsed.Module.Mod.Path == kit
	requires := slices.ContainsFunc(parsed.Require, func(r *modfile.Require) bool { return r.Mod.Path == kit })
	if t.Language != Go || own || requires {
		return nil
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
		data, _ := contract.ReadFile(file)
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

// ensureServer writes the least server.json where there is none, named after the module, or the folder above.
func (t *Tool) ensureServer() ([]string, error) {
	name := filepath.Join(t.options.Functions, "server.json")
	data, err := json.MarshalIndent(mcp.Implementation{Name: t.server, Version: "0.1.0"}, "", "  ")
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
