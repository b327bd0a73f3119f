package deployment

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"patchbay/infra/cdk/assembly"
	"patchbay/scripts/cdkapp"
	"patchbay/scripts/nodemodules"
)

// team is a copy of the module of a team that keeps its tools in a repository of its own, outside of this one.
type team struct {
	dir      string
	releases int
}

func newTeam(t *testing.T) *team {
	t.Helper()
	c := &team{dir: filepath.Join(t.TempDir(), "desk")}
	copyModule(t, filepath.Join(root, "tests", "integration", "consumer"), c.dir)
	kit, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	command := exec.CommandContext(t.Context(), "go", "mod", "edit", "-replace", "patchbay="+kit)
	command.Dir = c.dir
	if output, err := command.CombinedOutput(); err != nil {
		t.Fatalf("naming the kit: %v\n%s", err, output)
	}
	// The Node packages are those of this repository, in their place, so that nothing is installed for this test alone.
	modules, err := nodemodules.Find(root)
	if errors.Is(err, nodemodules.ErrNotInstalled) && !nodemodules.Required(os.Getenv) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	node := filepath.Join(c.dir, ".patchbay", "node")
	if err := os.MkdirAll(node, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(modules, filepath.Join(node, "node_modules")); err != nil {
		t.Fatal(err)
	}
	return c
}

// copyModule copies a module without what commands have made in it.
func copyModule(t *testing.T, from, to string) {
	t.Helper()
	err := filepath.WalkDir(from, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if slices.Contains([]string{".patchbay", "cdk.out"}, entry.Name()) {
			return fs.SkipDir
		}
		target := filepath.Join(to, strings.TrimPrefix(path, from))
		if entry.IsDir() {
			return os.MkdirAll(target, 0o755)
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(target, data, 0o644)
	})
	if err != nil {
		t.Fatal(err)
	}
}

// write writes a file of the module.
func (c *team) write(t *testing.T, name, text string) {
	t.Helper()
	file := filepath.Join(c.dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// edit replaces a text in a file of the module, where it stands once.
func (c *team) edit(t *testing.T, name, old, fresh string) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(c.dir, filepath.FromSlash(name)))
	if err != nil {
		t.Fatal(err)
	}
	if strings.Count(string(data), old) != 1 {
		t.Fatalf("%s does not have %q once", name, old)
	}
	c.write(t, name, strings.Replace(string(data), old, fresh, 1))
}

// release synthesizes what the module is now, and returns its only stack.
func (c *team) release(t *testing.T, w *world) *assembly.Stack {
	t.Helper()
	c.releases++
	out := filepath.Join(c.dir, fmt.Sprintf("release-%d", c.releases))
	_, err := cdkapp.Synth(t.Context(), cdkapp.Options{
		Module: c.dir, App: filepath.Join(c.dir, "infra"), Stage: "dev", Output: out,
	})
	var refused *cdkapp.AppError
	if errors.As(err, &refused) {
		t.Fatal(refused.Said)
	}
	if err != nil {
		t.Fatal(err)
	}
	a, err := assembly.Open(out, w.place())
	if err != nil {
		t.Fatal(err)
	}
	if len(a.Stacks) != 1 {
		t.Fatalf("%d stacks came out", len(a.Stacks))
	}
	return a.Stacks[0]
}

// toolsAlone makes the module one that deploys its tools alone, into the catalogue of a server that is there already.
func (c *team) toolsAlone(t *testing.T, stack string) {
	t.Helper()
	c.write(t, "infra/main.go", strings.ReplaceAll(toolsMain, "STACK", stack))
}

const toolsMain = `// Command infra is the CDK app of a team that has tools and no server.
package main

import (
	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/jsii-runtime-go"

	"patchbay/infra/cdk/patchbaycdk"
)

func main() {
	defer jsii.Close()
	app := awscdk.NewApp(nil)
	stage, err := patchbaycdk.ReadStage(app, "patchbay.json", "../functions")
	if err != nil {
		panic(err)
	}
	stack := awscdk.NewStack(app, jsii.String("STACK"), &awscdk.StackProps{AnalyticsReporting: jsii.Bool(false)})
	_, err = patchbaycdk.NewTools(stack, jsii.String("Tools"), &patchbaycdk.ToolsProps{
		Stage: stage, Functions: "../functions",
	})
	if err != nil {
		panic(err)
	}
	app.Synth(nil)
}
`

// addTool adds a tool that answers with a text.
func (c *team) addTool(t *testing.T, name, answer string) {
	t.Helper()
	c.write(t, "functions/"+name+"/tool.json", fmt.Sprintf(`{
		"name": %q, "description": "Tells something that everybody in the shop knows by heart.",
		"inputSchema": {"type": "object", "properties": {}, "additionalProperties": false},
		"contract": {"risk": "low", "autonomous": true, "function": {"runtime": "go"}}
	}`, name))
	c.write(t, "functions/"+name+"/main.go", fmt.Sprintf(`// Command %s is a tool of a test.
package main

import (
	"context"

	"patchbay/shared/tool"
)

func main() { tool.Serve(func(context.Context, struct{}) (string, error) { return %q, nil }) }
`, name, answer))
}
