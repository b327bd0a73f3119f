// Package rules holds the repository's rules as tests. Each failure says why the rule is there.
package rules

import (
	"encoding/json"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const root = "../.."

// pkg is what `go list` tells of a package.
type pkg struct {
	ImportPath, Dir, Name, Doc string
	GoFiles, Imports, Deps     []string
}

// packages lists the packages of the module.
func packages(t *testing.T) []pkg {
	t.Helper()
	command := exec.Command("go", "list", "-json=ImportPath,Dir,Name,Doc,GoFiles,Imports,Deps", "./...")
	command.Dir = root
	command.Stderr = os.Stderr
	output, err := command.Output()
	if err != nil {
		t.Fatalf("listing packages: %v", err)
	}
	var all []pkg
	decoder := json.NewDecoder(strings.NewReader(string(output)))
	for {
		var p pkg
		if err := decoder.Decode(&p); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Fatalf("reading the list of packages: %v", err)
		}
		all = append(all, p)
	}
}

// syntax parses the files of a package that are no tests.
func syntax(t *testing.T, p pkg) (*token.FileSet, []*ast.File) {
	t.Helper()
	set := token.NewFileSet()
	files := make([]*ast.File, 0, len(p.GoFiles))
	for _, name := range p.GoFiles {
		file, err := parser.ParseFile(set, filepath.Join(p.Dir, name), nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, file)
	}
	return set, files
}

func TestEveryPackageHasOneDocComment(t *testing.T) {
	t.Parallel()
	for _, p := range packages(t) {
		if len(p.GoFiles) == 0 {
			continue
		}
		_, files := syntax(t, p)
		docs := 0
		for _, file := range files {
			if file.Doc != nil {
				docs++
			}
		}
		if docs != 1 {
			t.Errorf("%s has %d package comments; exactly one tells a reader what the package is for", p.ImportPath, docs)
		}
	}
}

func TestFunctionsStandAlone(t *testing.T) {
	t.Parallel()
	for _, p := range packages(t) {
		if !strings.HasPrefix(p.ImportPath, "patchbay/functions/") || p.Name != "main" {
			continue
		}
		for _, imported := range p.Deps {
			library := strings.HasPrefix(imported, "patchbay/functions/internal/")
			if strings.HasPrefix(imported, "patchbay/functions/") && !library {
				t.Errorf("%s links %s; a function that needs another cannot be deployed, changed or removed alone",
					p.ImportPath, imported)
			}
			if strings.HasPrefix(imported, "patchbay/dispatcher") || strings.HasPrefix(imported, "patchbay/scripts") {
				t.Errorf("%s links %s; a function depends on shared packages alone", p.ImportPath, imported)
			}
		}
	}
}

// A rule is that no package within a path links what is banned.
func TestWhatIsNotLinked(t *testing.T) {
	t.Parallel()
	const aws, cdk = "github.com/aws/aws-sdk-go-v2", "github.com/aws/aws-cdk-go"
	const oauth = "golang.org/x/oauth2"
	rules := []struct{ within, banned, why string }{
		{"patchbay/shared/tool", aws, "a plain tool must stay small and start fast; what needs AWS is a package of its own"},
		{"patchbay/shared/tool", oauth, "only a tool that calls an API with tokens of its own imports package upstream"},
		{"patchbay/functions/", cdk, "the CDK is for deploying; linked into a function it would multiply its size"},
		{"patchbay/dispatcher", cdk, "the CDK is for deploying; linked into the dispatcher it would multiply its size"},
		{"patchbay/scripts/", cdk,
			"whoever runs the local stack does not wait for the CDK to compile; synth starts it as a program"},
		{"patchbay/infra/cdk/settings", cdk, "commands read the settings without the CDK"},
		{"patchbay/dispatcher", "github.com/modelcontextprotocol/go-sdk",
			"the SDK is a test oracle; on the path of a call it costs too much"},
		{"patchbay/shared/jsonrpc", aws, "the wire's packages are standard library only"},
		{"patchbay/shared/mcp", aws, "the wire's packages are standard library only"},
		{"patchbay/dispatcher", aws + "/config",
			"its search for configuration costs every cold start; Lambda gives all of it in the environment"},
		{"patchbay/dispatcher/discovery", "github.com/go-jose/go-jose",
			"the authorizer alone reads tokens; the dispatcher starts without what that takes"},
	}
	all := packages(t)
	for _, rule := range rules {
		matched := false
		for _, p := range all {
			if !strings.HasPrefix(p.ImportPath, rule.within) {
				continue
			}
			matched = true
			for _, dependency := range p.Deps {
				if dependency == rule.banned || strings.HasPrefix(dependency, rule.banned+"/") {
					t.Errorf("%s links %s: %s", p.ImportPath, dependency, rule.why)
					break
				}
			}
		}
		if !matched {
			t.Errorf("a rule is about %s, which does not exist any more", rule.within)
		}
	}
}

func TestOnlyMainReadsTheEnvironment(t *testing.T) {
	t.Parallel()
	readers := []string{"Getenv", "LookupEnv", "Environ", "ExpandEnv"}
	for _, p := range packages(t) {
		if p.Name == "main" {
			continue
		}
		set, files := syntax(t, p)
		for _, file := range files {
			ast.Inspect(file, func(node ast.Node) bool {
				selector, ok := node.(*ast.SelectorExpr)
				if !ok || !slices.Contains(readers, selector.Sel.Name) {
					return true
				}
				if x, ok := selector.X.(*ast.Ident); ok && x.Name == "os" {
					t.Errorf("%s: os.%s; only main reads the environment, so that what a package does is told by its arguments",
						set.Position(node.Pos()), selector.Sel.Name)
				}
				return true
			})
		}
	}
}

// What a tool author sees says what it means.
func TestExportedNamesOfTheAuthorsAPIAreDocumented(t *testing.T) {
	t.Parallel()
	authors := []string{"patchbay/shared/tool", "patchbay/shared/tool/tooltest", "patchbay/shared/secret",
		"patchbay/shared/upstream", "patchbay/shared/principal", "patchbay/shared/invoke", "patchbay/shared/mcp"}
	for _, p := range packages(t) {
		if !slices.Contains(authors, p.ImportPath) {
			continue
		}
		set, files := syntax(t, p)
		for _, file := range files {
			for _, declaration := range file.Decls {
				for _, name := range undocumented(declaration) {
					t.Errorf("%s: %s is exported and has no comment; tool authors read the documentation, not the code",
						set.Position(declaration.Pos()), name)
				}
			}
		}
	}
}

// undocumented returns the exported names of a declaration that no comment describes. The comment of a group counts for
// constants and variables.
func undocumented(declaration ast.Decl) []string {
	switch d := declaration.(type) {
	case *ast.FuncDecl:
		if d.Name.IsExported() && d.Doc == nil && !implementsInterface(d) {
			return []string{d.Name.Name}
		}
	case *ast.GenDecl:
		var names []string
		for _, spec := range d.Specs {
			switch s := spec.(type) {
			case *ast.TypeSpec:
				if s.Name.IsExported() && s.Doc == nil && d.Doc == nil {
					names = append(names, s.Name.Name)
				}
			case *ast.ValueSpec:
				if s.Names[0].IsExported() && s.Doc == nil && s.Comment == nil && d.Doc == nil {
					names = append(names, s.Names[0].Name)
				}
			}
		}
		return names
	}
	return nil
}

// implementsInterface tells the methods whose meaning every Go reader knows.
func implementsInterface(d *ast.FuncDecl) bool {
	return d.Recv != nil && slices.Contains([]string{"Error", "Unwrap", "Is", "String"}, d.Name.Name)
}

func TestModuleHasNoReplace(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		if strings.HasPrefix(strings.TrimSpace(line), "replace") {
			t.Errorf("go.mod has %q; a replaced dependency is lost on whoever requires this module", line)
		}
	}
}
