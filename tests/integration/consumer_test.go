package integration

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"patchbay/infra/cdk/assembly"
	"patchbay/tests/integration/clients"
)

// A team that keeps its tools in a repository of its own requires this module, and works with `go tool patchbay`: it
// builds, tests, runs and calls its tools, and operates them, all from its own folder.
func TestConsumerModule(t *testing.T) {
	t.Parallel()
	team := newConsumer(t)
	team.mustRun(t, "go", "build", "-mod=readonly", "./...")
	team.mustRun(t, "go", "vet", "./...")
	team.mustRun(t, "go", "test", "./...")
	if unformatted := team.mustRun(t, "gofmt", "-l", "."); unformatted != "" {
		t.Errorf("not formatted: %s", unformatted)
	}

	command := startLocalIn(t, team.dir, "go", "tool", "patchbay", "local", "--addr", "127.0.0.1:0")
	report := goClient(t).Call(t, command.url,
		clients.Call{Tool: "quote_price", Arguments: json.RawMessage(`{"sku":"LAMP-1","quantity":3}`)},
		clients.Call{Tool: "quote_price", Arguments: json.RawMessage(`{"sku":"LAMP-2"}`)})
	if !slices.Equal(report.Tools, []string{"quote_price"}) || report.Server != "shop-desk" {
		t.Errorf("the server says that it is %s with the tools %v", report.Server, report.Tools)
	}
	if err := checkExample(report.Calls[0], `"cents":7470`, false); err != nil {
		t.Error(err)
	}
	if err := checkExample(report.Calls[1], "LAMP-2", true); err != nil {
		t.Error(err)
	}
	team.mustRun(t, "go", "tool", "patchbay", "tool", "disable", "quote_price")
	eventually(t, "the tool to be gone", func() bool {
		names, _, _ := list(t, command.url, "")
		return len(names) == 0
	})
	if said := command.interrupt(t, -command.Process.Pid); !strings.Contains(said, "Mcp-Name: quote_price") {
		t.Errorf("does not show how to call the team's own tool: %s", said)
	}
	if hasProc() {
		eventually(t, "every child to be gone", func() bool { return len(processesUnder(t, team.dir)) == 0 })
	}

	team.mustRun(t, "go", "tool", "patchbay", "synth", "--app", "infra", "-c", "stage=prod")
	checkConsumersStack(t, team)
}

// checkConsumersStack looks for what the team's own CDK main adds to its server.
func checkConsumersStack(t *testing.T, team consumer) {
	t.Helper()
	a, err := assembly.Open(filepath.Join(team.dir, "infra", "cdk.out"),
		assembly.Environment{Partition: "aws", Region: "eu-west-1", Account: "123456789012"})
	if err != nil {
		t.Fatal(err)
	}
	stack, err := a.Stack("shopdesk-prod")
	if err != nil {
		t.Fatal(err)
	}
	var functions, tables []string
	for _, r := range stack.Resources("AWS::Lambda::Function", "AWS::DynamoDB::Table") {
		name, err := r.Ref()
		if err != nil {
			t.Fatal(err)
		}
		if r.Type == "AWS::DynamoDB::Table" {
			tables = append(tables, name)
			continue
		}
		functions = append(functions, name)
		resolved, err := r.Stack.Resolve(r.Properties["Environment"])
		if err != nil {
			t.Fatal(err)
		}
		knows := strings.Contains(fmt.Sprint(resolved), "PRICES_TABLE:shopdesk-prod-prices")
		if knows != strings.HasPrefix(name, "shopdesk-prod-tool-quote-price-") {
			t.Errorf("%s has the environment %v", name, resolved)
		}
	}
	if len(functions) != 3 || !slices.Contains(tables, "shopdesk-prod-prices") || len(tables) != 4 {
		t.Errorf("the stack has the functions %v and the tables %v", functions, tables)
	}
}

// goClient is the Go SDK's client.
func goClient(t *testing.T) clients.Client {
	t.Helper()
	for _, client := range clients.Available(root) {
		if client.Name == "go" {
			return client
		}
	}
	t.Fatal("there is no client of the Go SDK")
	return clients.Client{}
}

// consumer is a fresh copy of the consumer's module outside of this repository.
type consumer struct{ dir string }

func newConsumer(t *testing.T) consumer {
	t.Helper()
	team := consumer{dir: filepath.Join(t.TempDir(), "desk")}
	copyModule(t, "consumer", team.dir)
	kit, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	team.mustRun(t, "go", "mod", "edit", "-replace", "patchbay="+kit)
	return team
}

// copyModule copies a module without what commands have made in it.
func copyModule(t *testing.T, from, to string) {
	t.Helper()
	made := []string{".patchbay", "cdk.out"}
	err := filepath.WalkDir(from, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if slices.Contains(made, entry.Name()) {
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

// mustRun runs a command in the team's folder and returns what it printed.
func (c consumer) mustRun(t *testing.T, name string, args ...string) string {
	t.Helper()
	command := exec.CommandContext(t.Context(), name, args...)
	command.Dir = c.dir
	output, err := command.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, output)
	}
	return string(output)
}
