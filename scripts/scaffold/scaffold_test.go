package scaffold

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"patchbay/shared/contract"
)

// inModule is a functions folder of a module that requires the kit; it ends with the test.
func inModule(t *testing.T) string {
	t.Helper()
	root := filepath.Join(t.TempDir(), "clone")
	write(t, filepath.Join(root, "go.mod"), "module example.com/shop/v2\n\ngo 1.26\n\nrequire patchbay v0.1.0\n")
	return filepath.Join(root, "functions")
}

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// What is not asked for follows from the name: how risky the tool is, and whether it only reads.
func TestTheNameDecides(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, risk, state string
		want              contract.Risk
		reads             bool
		folder, scope     string
	}{
		{"find_order", "", "", contract.RiskLow, true, "find_order", ""},
		{"weather", "", "", contract.RiskLow, true, "weather", ""},
		{"createOrder", "", "", contract.RiskMedium, false, "create_order", ""},
		{"orders.cancel", "", "", contract.RiskHigh, false, "orders_cancel", "orders:cancel"},
		{"find_order", "medium", "", contract.RiskMedium, true, "find_order", ""},
		{"weather", "medium", "", contract.RiskMedium, false, "weather", ""},
		{"find-order", "high", "", contract.RiskHigh, false, "find_order", "order:find"},
		{"refund", "critical", "", contract.RiskCritical, false, "refund", "refund:use"},
		{"find_order", "", "orders", contract.RiskLow, false, "find_order", ""},
		{"launch_missiles", "forbidden", "", contract.RiskForbidden, false, "launch_missiles", ""},
	} {
		tool, err := New(Options{Functions: inModule(t), Name: c.name, Risk: c.risk, State: c.state})
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if tool.Risk != c.want || tool.ReadOnly() != c.reads || filepath.Base(tool.Folder) != c.folder ||
			tool.Scope != c.scope || tool.RiskByName() != (c.risk == "") {
			t.Errorf("%s of risk %q: got %+v, which reads: %v", c.name, c.risk, tool, tool.ReadOnly())
		}
	}
}

// Whoever asks for what cannot be is told what can, before anything is written.
func TestOptionsThatMeanNothing(t *testing.T) {
	t.Parallel()
	alone := filepath.Join(t.TempDir(), "functions")
	stranger := filepath.Join(t.TempDir(), "functions")
	write(t, filepath.Join(filepath.Dir(stranger), "go.mod"), "module example.com/other\n")
	for says, options := range map[string]Options{
		`language "pyton"; allowed: go, python, node; did you mean python?`:     {Name: "find_order", Language: "pyton"},
		`risk "hihg"; allowed: low, medium, high, critical, forbidden; did you`: {Name: "find_order", Risk: "hihg"},
		`state namespace "My Notes"; allowed: 1 to 32`:                          {Name: "add_note", State: "My Notes"},
		`"a" for a tool in python: state handles are kept by the Go package`:    {Name: "note", State: "a", Language: Python},
		`"a" for a tool in node`:                              {Name: "note", State: "a", Language: Node},
		`tool name "find order"; allowed: 1 to 128 of A-Z`:    {Name: "find order"},
		`tool name ""; allowed`:                               {},
		`tool name "7up": its folder would be "7up"; allowed`: {Name: "7up"},
		`tool name "...": its folder would be ""`:             {Name: "..."},
		`cannot be called internal, since the go command`:     {Name: "Internal"},
		`cannot be called dispatcher`:                         {Name: "dispatcher"},
		`is in no Go module`:                                  {Name: "find_order", Functions: alone},
		`does not require the module patchbay`:                {Name: "find_order", Functions: stranger},
	} {
		if options.Functions == "" {
			options.Functions = inModule(t)
		}
		_, err := New(options)
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%+v: %v; want %s", options, err, says)
		}
		if entries, _ := os.ReadDir(options.Functions); len(entries) > 0 {
			t.Errorf("%+v: %v was written", options, entries)
		}
	}
}

// Tools in Python and Node.js need no Go module.
func TestWithoutAModule(t *testing.T) {
	t.Parallel()
	functions := filepath.Join(t.TempDir(), "functions")
	tool, err := New(Options{Functions: functions, Name: "find_order", Language: Python})
	if err != nil {
		t.Fatal(err)
	}
	if tool.Root != filepath.Dir(functions) || tool.TestCommand != "python3 -m unittest discover functions/find_order" {
		t.Errorf("commands are given in %s: %s", tool.Root, tool.TestCommand)
	}
}

// The first tool of a repository brings what the server says of itself; nothing that is there is ever touched.
func TestNothingIsOverwritten(t *testing.T) {
	t.Parallel()
	functions := inModule(t)
	add := func(name string) ([]string, error) {
		t.Helper()
		tool, err := New(Options{Functions: functions, Name: name, Language: Node})
		if err != nil {
			t.Fatal(err)
		}
		return tool.Write()
	}
	written, err := add("find_order")
	if err != nil || len(written) != 6 || filepath.Base(written[5]) != "server.json" {
		t.Fatalf("wrote %v, %v; want five files and server.json", written, err)
	}
	server, err := os.ReadFile(written[5])
	if err != nil || !strings.Contains(string(server), `"name": "shop"`) {
		t.Errorf("the server says %s, %v", server, err)
	}
	mine := filepath.Join(functions, "find_order", "app.mjs")
	write(t, mine, "mine")
	write(t, filepath.Join(functions, "server.json"), "mine")
	if _, err := add("find-order"); err == nil || !strings.Contains(err.Error(), "exists already") {
		t.Errorf("a folder that is there: %v", err)
	}
	write(t, filepath.Join(functions, "other", "tool.json"), `{"name": "create_order"}`)
	if _, err := add("create_order"); err == nil || !strings.Contains(err.Error(), "other/tool.json has the name") {
		t.Errorf("a name that is there: %v", err)
	}
	if written, err := add("list_orders"); err != nil || len(written) != 5 {
		t.Errorf("a second tool: wrote %v, %v", written, err)
	}
	for _, file := range []string{mine, filepath.Join(functions, "server.json")} {
		if text, err := os.ReadFile(file); string(text) != "mine" {
			t.Errorf("%s has %q, %v", file, text, err)
		}
	}
	left, err := filepath.Glob(filepath.Join(functions, ".*"))
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// What a description promises of state stands there whoever wrote the rest; every text survives the way into JSON.
func TestDescription(t *testing.T) {
	t.Parallel()
	const own = `Keeps "quotes" & <tags> in notes. Use it when something must not be forgotten.`
	tool, err := New(Options{Functions: inModule(t), Name: "add_note", State: "notes", Description: own})
	if err != nil {
		t.Fatal(err)
	}
	files, err := tool.Files()
	if err != nil {
		t.Fatal(err)
	}
	at := slices.IndexFunc(files, func(f File) bool { return f.Name == "tool.json" })
	parsed, problems := contract.Parse("tool.json", files[at].Content)
	if len(problems) > 0 || parsed.Description != own+retention {
		t.Errorf("the description is %q, %v", parsed.Description, problems)
	}
}

// The commands that are told work from where they are told to be given, whatever the folders are called.
func TestSteps(t *testing.T) {
	t.Parallel()
	functions := filepath.Join(filepath.Dir(inModule(t)), "my tools")
	tool, err := New(Options{Functions: functions, Name: "refund_order", Risk: "critical", Language: Python})
	if err != nil {
		t.Fatal(err)
	}
	var commands []string
	for _, step := range tool.Steps() {
		commands = append(commands, step.Command)
	}
	want := []string{
		"python3 -m unittest discover 'my tools/refund_order'",
		"go tool patchbay tool lint refund_order --functions 'my tools'",
		"go tool patchbay local --watch --auth --functions 'my tools'",
		"go tool patchbay tool call refund_order --arg subject='return of a damaged lamp' --dry-run",
		"go tool patchbay tool eval 'my tools/refund_order/eval.yaml'",
	}
	if !slices.Equal(commands, want) {
		t.Errorf("got\n%s", strings.Join(commands, "\n"))
	}
	if !strings.Contains(tool.Note(), "--auth") {
		t.Errorf("the note says %q", tool.Note())
	}
	forbidden, err := New(Options{Functions: functions, Name: "refund_order", Risk: "forbidden", Language: Python})
	if err != nil {
		t.Fatal(err)
	}
	if len(forbidden.Steps()) != 2 || !strings.Contains(forbidden.Note(), "does not exist for clients") {
		t.Errorf("a tool that no client can call: %v, %q", forbidden.Steps(), forbidden.Note())
	}
}
