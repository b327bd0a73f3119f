package build

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"path"
	"slices"
	"strings"
)

// Error says which functions do not build and why.
type Error struct {
	// Functions are the folder names of the functions that do not build, in name order. A package that several
	// functions share and that does not compile names all of them. Empty when the go command failed before it could
	// tell, as with a broken go.mod.
	Functions []string
	// Output is what the go command printed.
	Output string

	cause error
}

// Error names the functions and gives the compiler's text.
func (e *Error) Error() string {
	what := "the functions"
	if len(e.Functions) > 0 {
		what = "function " + strings.Join(e.Functions, ", ")
	}
	if e.Output == "" {
		return fmt.Sprintf("building %s: %v", what, e.cause)
	}
	return fmt.Sprintf("building %s:\n%s", what, e.Output)
}

// Unwrap returns what ended the go command.
func (e *Error) Unwrap() error { return e.cause }

func newError(ctx context.Context, options GoOptions, output string, cause error) *Error {
	return &Error{
		Functions: brokenFunctions(ctx, options, compiledPackages(output)),
		Output:    strings.TrimSpace(output),
		cause:     cause,
	}
}

// compiledPackages reads the import paths that the go command names above the errors of each package: "# the/path".
func compiledPackages(output string) []string {
	var paths []string
	for line := range strings.Lines(output) {
		if name, found := strings.CutPrefix(line, "# "); found {
			fields := strings.Fields(name)
			paths = append(paths, fields[0])
		}
	}
	return paths
}

// listed is what `go list -json` tells of one package.
type listed struct {
	ImportPath string
	Name       string
	Deps       []string
	Error      *struct{ Err string }
	DepsErrors []struct{ Err string }
}

// brokenFunctions asks the go command which of the packages are no programs, are broken, or import a broken one. It
// only makes an error more telling, so its own failures are left out.
func brokenFunctions(ctx context.Context, options GoOptions, broken []string) []string {
	args := append([]string{"list", "-e", "-json=ImportPath,Name,Deps,Error,DepsErrors"}, options.Packages...)
	cmd := exec.CommandContext(ctx, "go", args...)
	endWithAll(cmd)
	options.prepare(cmd)
	output, err := cmd.Output()
	if err != nil {
		return nil
	}
	var functions []string
	decoder := json.NewDecoder(bytes.NewReader(output))
	for {
		var pkg listed
		if decoder.Decode(&pkg) != nil {
			break
		}
		if pkg.isBroken(broken) {
			functions = append(functions, path.Base(pkg.ImportPath))
		}
	}
	slices.Sort(functions)
	return functions
}

func (p listed) isBroken(broken []string) bool {
	if p.Name != "main" || p.Error != nil || len(p.DepsErrors) > 0 || slices.Contains(broken, p.ImportPath) {
		return true
	}
	return slices.ContainsFunc(p.Deps, func(dep string) bool { return slices.Contains(broken, dep) })
}
