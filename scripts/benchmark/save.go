package benchmark

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"patchbay/scripts/localstack"
)

// saveGoal is how long it may take from a save to the answer of a call that shows it.
const saveGoal = 2 * time.Second

// nodeTool is the benchmark's tool once more, in Node.js.
const nodeTool = "read_gauge_node"

// savePart is the letter of this part.
const savePart = "i"

// watchedDesk is a folder of tools that are edited, with a stack that watches it.
type watchedDesk struct {
	*localstack.Stack
	dir     string
	changes chan localstack.Change
	// closed is closed when nobody listens to changes any more.
	closed chan struct{}
}

// edit is a file that is saved again and again, each time with another number in it.
type edit struct {
	what, tool, file string
	// text is the file with a number, which the tool's answer has if it shows.
	text  func(number string) string
	shows bool

	times []float64
	steps []localstack.Times
}

// saves is part (i): from the save of a file to the answer of the next call, which shows what was saved.
func (b *bench) saves(ctx context.Context) error {
	desk, edits, err := b.startDesk(ctx)
	defer func() { desk.close() }()
	if err != nil {
		return err
	}
	for round := range pick(b, 15, 5) {
		for _, e := range edits {
			if err := desk.measure(ctx, e, strconv.Itoa(1000+round)); err != nil {
				return fmt.Errorf("saving %s: %w", e.what, err)
			}
		}
	}
	for _, e := range edits {
		b.addSaves(e)
	}
	return nil
}

// startDesk copies the benchmark's tool within the module, which the functions of a server belong to. The desk is to be
// closed after an error, too.
func (b *bench) startDesk(ctx context.Context) (*watchedDesk, []*edit, error) {
	d := &watchedDesk{changes: make(chan localstack.Change, 1), closed: make(chan struct{})}
	parent, err := filepath.Abs(filepath.Join(b.Module, ".patchbay"))
	if err != nil {
		return d, nil, fmt.Errorf("locating the data folder: %w", err)
	}
	if err := os.MkdirAll(parent, 0o755); err != nil {
		return d, nil, fmt.Errorf("making the data folder: %w", err)
	}
	if d.dir, err = os.MkdirTemp(parent, "bench-saves-"); err != nil {
		return d, nil, fmt.Errorf("making a folder: %w", err)
	}
	tools := filepath.Join(b.Module, "scripts", "benchmark", "functions")
	if err := os.CopyFS(d.functions(), os.DirFS(tools)); err != nil {
		return d, nil, fmt.Errorf("copying the benchmark's tool: %w", err)
	}
	edits, err := d.edits()
	if err != nil {
		return d, nil, err
	}
	d.Stack, err = localstack.Start(ctx, localstack.Options{
		Addr: "127.0.0.1:0", Functions: d.functions(), Data: filepath.Join(d.dir, "stack"), Progress: b.Progress,
		Watch: d.tell,
	})
	return d, edits, err
}

func (d *watchedDesk) functions() string { return filepath.Join(d.dir, "functions") }

// tell hands a change to whoever measures; after an error nobody does, and the stack must not wait.
func (d *watchedDesk) tell(change localstack.Change) {
	select {
	case d.changes <- change:
	case <-d.closed:
	}
}

func (d *watchedDesk) close() {
	close(d.closed)
	if d.Stack != nil {
		d.Stack.Close()
	}
	if d.dir != "" {
		_ = os.RemoveAll(d.dir)
	}
}

// edits are what is measured. They make the tool in Node.js, too.
func (d *watchedDesk) edits() ([]*edit, error) {
	code, err := os.ReadFile(filepath.Join(d.functions(), toolName, "main.go"))
	if err != nil {
		return nil, fmt.Errorf("reading the benchmark's tool: %w", err)
	}
	contract, err := os.ReadFile(filepath.Join(d.functions(), toolName, "tool.json"))
	if err != nil {
		return nil, fmt.Errorf("reading the benchmark's contract: %w", err)
	}
	edits := []*edit{
		{what: "code in Go", tool: toolName, file: "main.go", shows: true, text: func(number string) string {
			return strings.Replace(string(code), "873", number, 1)
		}},
		{what: "code in Node.js", tool: nodeTool, file: "app.mjs", shows: true, text: nodeCode},
		{what: "a contract", tool: toolName, file: "tool.json", text: func(number string) string {
			return strings.Replace(string(contract), "a tool costs.", "a tool costs, "+number+" times.", 1)
		}},
	}
	node := strings.NewReplacer(
		`"name": "`+toolName+`"`, `"name": "`+nodeTool+`"`,
		`"runtime": "go"`, `"runtime": "nodejs", "handler": "app.handler"`,
	).Replace(string(contract))
	if err := os.Mkdir(filepath.Join(d.functions(), nodeTool), 0o755); err != nil {
		return nil, fmt.Errorf("making the tool in Node.js: %w", err)
	}
	return edits, errors.Join(d.save(nodeTool, "tool.json", node), d.save(nodeTool, "app.mjs", nodeCode("873")))
}

func nodeCode(number string) string {
	return `export async function handler(event) {
  const structuredContent = { station: event.arguments.station, level: ` + number + `, trend: 'falling' };
  return { content: [{ type: 'text', text: JSON.stringify(structuredContent) }], structuredContent };
}
`
}

// save writes a file as editors do: by a new one that takes the name of the old one.
func (d *watchedDesk) save(tool, name, text string) error {
	file := filepath.Join(d.functions(), tool, name)
	if err := os.WriteFile(file+"~", []byte(text), 0o644); err != nil {
		return fmt.Errorf("saving %s: %w", name, err)
	}
	return os.Rename(file+"~", file)
}

// measure saves a file, waits until the stack says what became of it, and calls.
func (d *watchedDesk) measure(ctx context.Context, e *edit, number string) error {
	began := time.Now()
	if err := d.save(e.tool, e.file, e.text(number)); err != nil {
		return err
	}
	var change localstack.Change
	select {
	case change = <-d.changes:
	case <-ctx.Done():
		return ctx.Err()
	}
	answer, err := post(ctx, http.DefaultClient, d.URL, callOf(e.tool))
	if err != nil {
		return err
	}
	e.times = append(e.times, float64(time.Since(began)))
	e.steps = append(e.steps, change.Times)
	if len(change.Live) == 0 || e.shows && !strings.Contains(answer, number) {
		return fmt.Errorf("the next call is answered with %.300q after the change %+v", answer, change)
	}
	return nil
}

// addSaves adds the row of an edit, and of the steps that it took.
func (b *bench) addSaves(e *edit) {
	b.report.add(Row{Part: savePart, What: "save to live: " + e.what, Unit: nanoseconds, Goal: float64(saveGoal),
		Measured: percentile(e.times, 50), Rounds: e.times})
	for _, step := range []struct {
		what string
		took func(localstack.Times) time.Duration
	}{
		{"noticing that it is whole", func(t localstack.Times) time.Duration { return t.Notice }},
		{"building", func(t localstack.Times) time.Duration { return t.Build }},
		{"starting an instance", func(t localstack.Times) time.Duration { return t.Start }},
		{"publishing", func(t localstack.Times) time.Duration { return t.Publish }},
	} {
		var took []float64
		for _, t := range e.steps {
			took = append(took, float64(step.took(t)))
		}
		if median := percentile(took, 50); median > 0 {
			b.report.add(Row{Part: savePart, What: "of that: " + step.what, Unit: nanoseconds, Measured: median, Rounds: took})
		}
	}
}
