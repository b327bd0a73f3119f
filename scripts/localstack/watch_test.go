package localstack

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"patchbay/scripts/build"
	"patchbay/scripts/locallambda"
	"patchbay/shared/contract"
	"patchbay/shared/registry"
	"patchbay/tests/workcopy"
)

// author is somebody who edits tools in a repository of their own, beside a stack that watches.
type author struct {
	*Stack
	t       *testing.T
	dir     string
	kit     string // the folder of this repository
	changes chan Change
}

// run is t.Run for a part of what an author does.
func (a *author) run(name string, part func(t *testing.T)) {
	a.t.Run(name, func(t *testing.T) {
		whole := a.t
		a.t = t
		defer func() { a.t = whole }()
		part(t)
	})
}

// toolJSON is the contract of a tool in a folder of its name.
func toolJSON(name, description, function string) string {
	return fmt.Sprintf(`{"name":%q,"description":%q,
		"inputSchema":{"type":"object","properties":{},"additionalProperties":false},
		"annotations":{"readOnlyHint":true,"openWorldHint":false},
		"contract":{"category":"test","risk":"low","autonomous":true,"function":{%s}}}`, name, description, function)
}

const goFunction = `"runtime":"go"`

// goTool is a tool that answers with a Go expression.
func goTool(expression string, imports ...string) string {
	for i, path := range imports {
		imports[i] = fmt.Sprintf("\t%q\n", path)
	}
	return "package main\n\nimport (\n\t\"context\"\n\n" +
		strings.Join(imports, "") + "\t\"patchbay/shared/tool\"\n)\n\n" +
		"func answer(context.Context, struct{}) (string, error) { return " + expression + ", nil }\n\n" +
		"func main() { tool.Serve(answer) }\n"
}

// nodeTool is one in Node.js.
func nodeTool(expression string) string {
	return "import { readFileSync } from 'node:fs';\n\nexport async function handler() {\n" +
		"  return { content: [{ type: 'text', text: " + expression + " }] };\n}\n"
}

// newAuthor starts a stack for the repository that files make, beside a go.mod that leads to this one.
func newAuthor(t *testing.T, files map[string]string) *author {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	// A copy, so that nobody but the test edits it.
	root := filepath.Join(dir, "kit")
	if err := workcopy.Make(t.Context(), filepath.Join("..", ".."), root); err != nil {
		t.Fatal(err)
	}
	a := &author{t: t, dir: filepath.Join(dir, "desk"), kit: root, changes: make(chan Change, 100)}
	for _, name := range []string{"go.sum", "package.json", "package-lock.json"} {
		a.write(name, read(t, filepath.Join(root, name)))
	}
	module := strings.Replace(read(t, filepath.Join(root, "go.mod")), "module patchbay\n", "module example.com/desk\n", 1)
	a.write("go.mod", module+"\nrequire patchbay v0.0.0\n\nreplace patchbay => "+root+"\n")
	if err := os.Symlink(filepath.Join(root, "node_modules"), filepath.Join(a.dir, "node_modules")); err != nil {
		t.Fatal(err)
	}
	a.write("functions/server.json", `{"name":"desk","version":"1.0.0"}`)
	for name, text := range files {
		a.write(name, text)
	}
	a.Stack, err = Start(t.Context(), Options{
		Addr: "127.0.0.1:0", Functions: filepath.Join(a.dir, "functions"), Data: t.TempDir(),
		Log:   func(function string, line []byte) { t.Logf("[%s] %s", function, line) },
		Watch: func(change Change) { a.changes <- change },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(a.Close)
	return a
}

func read(t *testing.T, file string) string {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// write saves a file as most editors do: by a new one that takes its name.
func (a *author) write(name, text string) {
	a.t.Helper()
	file := filepath.Join(a.dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		a.t.Fatal(err)
	}
	if err := os.WriteFile(file+"~", []byte(text), 0o644); err != nil {
		a.t.Fatal(err)
	}
	if err := os.Rename(file+"~", file); err != nil {
		a.t.Fatal(err)
	}
}

// expect waits for the next change, and compares what it says of tools.
func (a *author) expect(want Change) Change {
	a.t.Helper()
	select {
	case got := <-a.changes:
		a.t.Logf("%+v", got)
		short := Change{Live: got.Live, Withdrawn: got.Withdrawn, Renewed: got.Renewed, Mended: got.Mended}
		if diff := cmp.Diff(want, short); diff != "" {
			a.t.Errorf("what changed (-want +got):\n%s\nof %+v", diff, got)
		}
		return got
	case <-time.After(2 * time.Minute):
		a.t.Fatal("nothing was said of the change")
		return Change{}
	}
}

// expectFault waits for a change that is one fault alone.
func (a *author) expectFault(serving bool, of ...string) error {
	a.t.Helper()
	got := a.expect(Change{})
	if len(got.Faults) != 1 || !slices.Equal(got.Faults[0].Of, of) || got.Faults[0].Serving != serving {
		a.t.Fatalf("the faults are %+v, want one of %v", got.Faults, of)
	}
	return got.Faults[0].Err
}

// answers fails when the next call of a tool is not answered with the text.
func (a *author) answers(tool, text string) {
	a.t.Helper()
	if _, body := call(a.t, a.Stack, tool, "", http.StatusOK); !strings.Contains(body, `"text":"`+text+`"`) {
		a.t.Errorf("%s answers %s, want %q", tool, body, text)
	}
}

// serves is the version that calls of a tool go to, as a fresh look into the catalogue says.
func (a *author) serves(tool string) string {
	a.t.Helper()
	entry, err := registry.NewReader(a.db, Table, registry.ReaderOptions{}).Lookup(a.t.Context(), tool)
	if err != nil {
		a.t.Fatal(err)
	}
	return entry.Function
}

// The next call after a change sees it, and only what is made from it is made anew.
func TestWatch(t *testing.T) {
	t.Parallel()
	a := newAuthor(t, map[string]string{
		"words/words.go":            "package words\n\nconst Word = \"shared\"\n",
		"functions/shout/main.go":   goTool(`words.Word + "!"`, "example.com/desk/words"),
		"functions/shout/tool.json": toolJSON("shout", "Says a word loudly, for tests.", goFunction),
		"functions/ask/main.go":     goTool(`words.Word + "?"`, "example.com/desk/words"),
		"functions/ask/tool.json":   toolJSON("ask", "Asks for a word, for tests.", goFunction),
		"functions/alone/main.go":   goTool(`"alone"`),
		"functions/alone/tool.json": toolJSON("alone", "Says one thing, for tests.", goFunction),
		"functions/noted/app.mjs":   nodeTool("JSON.parse(readFileSync(process.env.PATCHBAY_SECRETS_FILE)).note"),
		"functions/noted/tool.json": toolJSON("noted", "Tells a note that is a secret, for tests.",
			`"runtime":"nodejs","handler":"app.handler","secrets":["note"]`),
		"secrets.local.json": `{"note":"first"}`,
	})
	a.answers("shout", "shared!")

	a.run("code of one function", func(t *testing.T) {
		ask := a.serves("ask")
		a.write("functions/shout/main.go", goTool(`"new " + words.Word`, "example.com/desk/words"))
		a.expect(Change{Live: []string{"shout"}})
		a.answers("shout", "new shared")
		if a.serves("ask") != ask {
			t.Error("another function was deployed, too")
		}
	})
	a.run("a contract alone", func(t *testing.T) {
		before := a.serves("alone")
		a.write("functions/alone/tool.json", toolJSON("alone", "Says one thing, and says so.", goFunction))
		if got := a.expect(Change{Live: []string{"alone"}}); got.Times.Build != 0 {
			t.Errorf("something was built: %+v", got.Times)
		}
		if a.serves("alone") != before {
			t.Error("the function was deployed anew")
		}
	})
	a.run("what a contract says of the function", func(t *testing.T) {
		before := a.serves("alone")
		a.write("functions/alone/tool.json",
			toolJSON("alone", "Says one thing, and says so.", goFunction+`,"environment":{"WORD":"x"}`))
		if got := a.expect(Change{Live: []string{"alone"}}); got.Times.Build != 0 || a.serves("alone") == before {
			t.Errorf("%s serves after %+v", a.serves("alone"), got.Times)
		}
	})
	a.run("shared code", func(t *testing.T) {
		alone := a.serves("alone")
		a.write("words/words.go", "package words\n\nconst Word = \"common\"\n")
		a.expect(Change{Live: []string{"ask", "shout"}})
		a.answers("ask", "common?")
		a.answers("shout", "new common")
		if a.serves("alone") != alone {
			t.Error("a function that does not import it was deployed")
		}
	})
	a.run("what no function is made from", func(t *testing.T) {
		a.write("functions/alone/main_test.go", "package main\n\nfunc broken() { nope() }\n")
		a.write("functions/alone/eval.yaml", "- nothing\n")
		a.write("words/words.go", "package words\n\nconst Word = \"common\" // which changes no byte of a program\n")
		a.write("functions/shout/main.go", goTool(`"loud"`))
		a.expect(Change{Live: []string{"shout"}})
	})
	a.run("a function in Node.js", func(t *testing.T) {
		a.answers("noted", "first")
		a.write("functions/noted/app.mjs", nodeTool("'noted'"))
		a.expect(Change{Live: []string{"noted"}})
		a.answers("noted", "noted")
	})
	a.run("a secret", func(t *testing.T) {
		a.write("functions/noted/app.mjs", nodeTool("JSON.parse(readFileSync(process.env.PATCHBAY_SECRETS_FILE)).note"))
		a.expect(Change{Live: []string{"noted"}})
		a.write("secrets.local.json", `{"note":"second"}`)
		a.expect(Change{Live: []string{"noted"}})
		a.answers("noted", "second")
	})
	a.run("a tool comes and goes", func(t *testing.T) {
		a.write("functions/later/main.go", goTool(`"later"`))
		a.write("functions/later/tool.json", toolJSON("later", "Comes later, for tests.", goFunction))
		a.expect(Change{Live: []string{"later"}})
		a.answers("later", "later")
		functions := filepath.Join(a.dir, "functions")
		if err := os.Rename(filepath.Join(functions, "later"), filepath.Join(functions, "moved")); err != nil {
			t.Fatal(err)
		}
		a.expect(Change{Live: []string{"later"}})
		a.answers("later", "later")
		a.write("functions/moved/tool.json", toolJSON("renamed", "Comes later, for tests.", goFunction))
		a.expect(Change{Live: []string{"renamed"}, Withdrawn: []string{"later"}})
		// At once, since a folder that is removed file by file may be seen with half of them.
		if err := os.Rename(filepath.Join(functions, "moved"), filepath.Join(functions, ".gone")); err != nil {
			t.Fatal(err)
		}
		a.expect(Change{Withdrawn: []string{"renamed"}})
		call(t, a.Stack, "renamed", "", http.StatusOK)
	})
	a.run("what the server says of itself", func(t *testing.T) {
		a.write("functions/server.json", `{"name":"desk","version":"2.0.0"}`)
		a.expect(Change{Renewed: []string{"dispatcher"}})
		if _, body := call(t, a.Stack, "shout", "", http.StatusOK); !strings.Contains(body, `"version":"2.0.0"`) {
			t.Errorf("the server says %s", body)
		}
	})
	a.run("the kit", func(t *testing.T) {
		file := filepath.Join(a.kit, "dispatcher", "main.go")
		text := strings.Replace(read(t, file), "func main() {\n", "func main() {\n\tprintln(\"edited\")\n", 1)
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		a.expect(Change{Renewed: []string{"dispatcher"}})
		file = filepath.Join(a.kit, "scripts", "localstack", "watch.go")
		if err := os.WriteFile(file, []byte(read(t, file)+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		got := a.expect(Change{})
		if len(got.Restart) != 1 || !strings.Contains(got.Restart[0], filepath.Dir(file)) {
			t.Errorf("what needs another start: %q", got.Restart)
		}
	})
	a.Close()
	if left := a.changes; len(left) > 0 {
		t.Errorf("one more change was told: %+v", <-left)
	}
}

// What has a fault changes nothing, is told with its place, and is told to be good again.
func TestWatchKeepsWhatServesFromFaults(t *testing.T) {
	t.Parallel()
	a := newAuthor(t, map[string]string{
		"words/words.go":            "package words\n\nconst Word = \"shared\"\n",
		"functions/shout/main.go":   goTool(`words.Word + "!"`, "example.com/desk/words"),
		"functions/shout/tool.json": toolJSON("shout", "Says a word loudly, for tests.", goFunction),
		"functions/ask/main.go":     goTool(`words.Word + "?"`, "example.com/desk/words"),
		"functions/ask/tool.json":   toolJSON("ask", "Asks for a word, for tests.", goFunction),
		"functions/node/app.mjs":    nodeTool("'node'"),
		"functions/node/tool.json": toolJSON("node", "Answers from Node.js, for tests.",
			`"runtime":"nodejs","handler":"app.handler"`),
	})
	a.run("code that does not compile", func(t *testing.T) {
		a.write("words/words.go", "package words\n\nconst Word = missing\n")
		err := a.expectFault(true, "ask", "shout")
		if !errors.As(err, new(*build.Error)) || !strings.Contains(err.Error(), "words/words.go:3:14: undefined: missing") {
			t.Errorf("the fault is %v", err)
		}
		a.answers("shout", "shared!")
		// What has no fault goes on, and what serves on may get another contract meanwhile.
		a.write("functions/node/app.mjs", nodeTool("'other'"))
		if got := a.expect(Change{Live: []string{"node"}}); len(got.Faults) > 0 {
			t.Errorf("the fault is told again: %+v", got.Faults)
		}
		a.write("words/words.go", "package words\n\nconst Word = \"mended\"\n")
		a.expect(Change{Live: []string{"ask", "shout"}, Mended: []string{"ask", "shout"}})
		a.answers("shout", "mended!")
	})
	a.run("one of two functions", func(t *testing.T) {
		a.write("functions/shout/main.go", goTool(`"loud"`))
		a.write("functions/ask/main.go", goTool(`nothing`))
		got := a.expect(Change{Live: []string{"shout"}})
		for len(got.Faults) == 0 { // where they were taken for two changes
			got = a.expect(Change{})
		}
		a.write("functions/ask/main.go", goTool(`"asked"`))
		a.expect(Change{Live: []string{"ask"}, Mended: []string{"ask"}})
	})
	a.run("a package that comes later than its import", func(t *testing.T) {
		a.write("functions/ask/main.go", goTool(`later.Word`, "example.com/desk/deep/later"))
		if err := a.expectFault(true, "ask"); !strings.Contains(err.Error(), "functions/ask/main.go:6:2") {
			t.Errorf("the fault is %v", err)
		}
		a.write("deep/later/later.go", "package later\n\nconst Word = \"came\"\n")
		a.expect(Change{Live: []string{"ask"}, Mended: []string{"ask"}})
		a.answers("ask", "came")
		a.write("deep/later/later.go", "package later\n\nconst Word = \"is watched\"\n")
		a.expect(Change{Live: []string{"ask"}})
		a.answers("ask", "is watched")
	})
	a.run("a contract", func(t *testing.T) {
		good := toolJSON("shout", "Says a word loudly, for tests.", goFunction)
		a.write("functions/shout/main.go", goTool(`"loudest"`))
		a.write("functions/shout/tool.json", strings.Replace(good, "low", "lwo", 1))
		got := a.expect(Change{Live: []string{"shout"}}) // by the contract from before
		for len(got.Faults) == 0 {
			got = a.expect(Change{})
		}
		var problems contract.Problems
		if !errors.As(got.Faults[0].Err, &problems) || problems[0].Pointer != "/contract/risk" || !got.Faults[0].Serving {
			t.Errorf("the faults are %+v", got.Faults)
		}
		a.answers("shout", "loudest")
		a.write("functions/shout/tool.json", good)
		a.expect(Change{Live: []string{"shout"}, Mended: []string{"functions/shout/tool.json"}})
	})
	a.run("a name that is taken", func(t *testing.T) {
		a.write("functions/second/tool.json", toolJSON("shout", "Says a word loudly, too.", goFunction))
		err := a.expectFault(false, "functions/second/tool.json")
		if !strings.Contains(err.Error(), "functions/shout/tool.json") {
			t.Errorf("the fault is %v", err)
		}
		if err := os.RemoveAll(filepath.Join(a.dir, "functions", "second")); err != nil {
			t.Fatal(err)
		}
		a.expect(Change{Mended: []string{"functions/second/tool.json"}})
	})
	a.run("a name that another source has", func(t *testing.T) {
		tool, problems := contract.Parse("elsewhere.json", []byte(toolJSON("taken", "Is published elsewhere.", goFunction)))
		if err := problems.Err(); err != nil {
			t.Fatal(err)
		}
		elsewhere := registry.Publication{Tool: tool, Function: "arn:aws:lambda:us-east-1:000000000000:function:elsewhere:1"}
		if _, err := a.Publisher().Publish(t.Context(), "elsewhere", []registry.Publication{elsewhere}); err != nil {
			t.Fatal(err)
		}
		a.write("functions/taken/main.go", goTool(`"taken"`))
		a.write("functions/taken/tool.json", toolJSON("taken", "Is here, too, for tests.", goFunction))
		if err := a.expectFault(true, "the catalogue"); !errors.As(err, new(*registry.ConflictError)) {
			t.Errorf("the fault is %v", err)
		}
		a.write("functions/taken/tool.json", toolJSON("free", "Is here, too, for tests.", goFunction))
		a.expect(Change{Live: []string{"free"}, Mended: []string{"the catalogue"}})
		a.answers("free", "taken")
	})
	a.run("a function that does not come to life", func(t *testing.T) {
		a.write("functions/shout/main.go", goTool(`"dead"`)+"\nfunc init() { panic(\"at start\") }\n")
		var failed *locallambda.InitError
		if err := a.expectFault(true, "shout"); !errors.As(err, &failed) {
			t.Errorf("the fault is %v", err)
		}
		a.answers("shout", "loudest")
		a.write("functions/node/app.mjs", nodeTool("'node'")+"const = 3;\n")
		if err := a.expectFault(true, "node"); !strings.Contains(err.Error(), "functions/node/app.mjs:6\nconst = 3;") {
			t.Errorf("the fault is %v", err)
		}
		a.answers("node", "other")
		a.write("functions/node/app.mjs", nodeTool("'again'"))
		a.expect(Change{Live: []string{"node"}, Mended: []string{"node"}})
		a.write("functions/shout/main.go", goTool(`"alive"`))
		a.expect(Change{Live: []string{"shout"}, Mended: []string{"shout"}})
		a.answers("shout", "alive")
	})
	a.run("what the server says of itself", func(t *testing.T) {
		a.write("functions/server.json", `{"name":"desk"}`)
		a.expectFault(true, "functions/server.json")
		a.write("functions/server.json", `{"name":"desk","version":"1.0.0"}`)
		a.expect(Change{Mended: []string{"functions/server.json"}})
	})
	a.run("the module", func(t *testing.T) {
		module := read(t, filepath.Join(a.dir, "go.mod"))
		a.write("go.mod", module+"\nrequire nothing\n")
		got := a.expect(Change{})
		if len(got.Faults) != 1 || !slices.Contains(got.Faults[0].Of, "shout") ||
			!strings.Contains(got.Faults[0].Err.Error(), "go.mod") {
			t.Errorf("the faults are %+v", got.Faults)
		}
		a.answers("shout", "alive")
		a.write("go.mod", module)
		got = a.expectMended()
		if len(got.Live) > 0 {
			t.Errorf("the same programs were deployed: %v", got.Live)
		}
	})
}

// expectMended waits for a change that mends something.
func (a *author) expectMended() Change {
	a.t.Helper()
	select {
	case got := <-a.changes:
		if len(got.Mended) == 0 || len(got.Faults) > 0 {
			a.t.Errorf("what changed is %+v", got)
		}
		return got
	case <-time.After(2 * time.Minute):
		a.t.Fatal("nothing was said of the change")
		return Change{}
	}
}

// A call that was under way when its function changed ends with what it began with, however often that changes.
func TestWatchLetsCallsEnd(t *testing.T) {
	t.Parallel()
	gate := filepath.Join(t.TempDir(), "gate")
	waiting := func(word string) string {
		return "import { existsSync, writeFileSync } from 'node:fs';\n\nexport async function handler() {\n" +
			"  writeFileSync('" + gate + ".waits', '');\n" +
			"  while (!existsSync('" + gate + "')) await new Promise((resolve) => setTimeout(resolve, 10));\n" +
			"  const { end } = await import('./end.mjs');\n" + // which is read only now
			"  return { content: [{ type: 'text', text: '" + word + "' + end }] };\n}\n"
	}
	a := newAuthor(t, map[string]string{
		"functions/slow/app.mjs": waiting("old"),
		"functions/slow/end.mjs": "export const end = ' end';\n",
		"functions/slow/tool.json": strings.Replace(toolJSON("slow", "Waits, for tests.",
			`"runtime":"nodejs","handler":"app.handler"`), `"risk"`, `"execution":{"timeoutSeconds":600},"risk"`, 1),
	})
	var under sync.WaitGroup
	under.Go(func() { a.answers("slow", "old end") })
	for !exists(gate + ".waits") {
		time.Sleep(10 * time.Millisecond)
	}
	for _, word := range []string{"newer", "newest"} {
		a.write("functions/slow/app.mjs", nodeTool("'"+word+"'"))
		a.expect(Change{Live: []string{"slow"}})
		a.answers("slow", word)
	}
	if err := os.WriteFile(gate, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	under.Wait()
	// Folders of versions go with their last instances, of which nobody waits for the end.
	for range 3000 {
		if len(a.versionFolders()) <= 4 {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Errorf("the folders %v are kept; want those of two versions of tool and dispatcher", a.versionFolders())
}

func (a *author) versionFolders() []os.DirEntry {
	a.t.Helper()
	versions, err := os.ReadDir(a.versionsDir())
	if err != nil {
		a.t.Fatal(err)
	}
	return versions
}

func exists(file string) bool {
	_, err := os.Stat(file)
	return err == nil
}
