package benchmark

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"patchbay/scripts/lint"
)

// lintPart is the letter of this part.
const lintPart = "j"

// lintGoal is how long an author may wait for what is found in manyLinted tools.
const lintGoal = 5 * time.Second

// The catalogues that are looked at. Since some faults are between two tools, the time grows faster than their number.
const (
	fewLinted  = 10
	manyLinted = 300
)

// lint is part (j): every check over a large catalogue, beside a small one.
func (b *bench) lint(ctx context.Context) error {
	began := time.Now()
	if _, err := lint.O200kBase().Count("a word"); err != nil {
		return fmt.Errorf("counting a word's tokens: %w", err)
	}
	vocabulary := float64(time.Since(began))
	few, many := &linted{tools: fewLinted}, &linted{tools: manyLinted}
	for _, l := range []*linted{few, many} {
		remove, err := l.prepare(b.Module)
		defer remove()
		if err != nil {
			return fmt.Errorf("preparing %d tools: %w", l.tools, err)
		}
	}
	for range pick(b, 7, 3) {
		for _, l := range []*linted{few, many} {
			if err := ctx.Err(); err != nil {
				return err
			}
			if err := l.measure(); err != nil {
				return fmt.Errorf("looking at %d tools: %w", l.tools, err)
			}
		}
	}
	median := percentile(many.times, 50)
	b.report.add(Row{Part: lintPart, What: fmt.Sprintf("tool lint, %d tools", manyLinted), Unit: nanoseconds,
		Measured: median, Goal: float64(lintGoal), Rounds: many.times})
	b.report.add(Row{Part: lintPart, What: "of that, for each tool", Unit: nanoseconds, Measured: median / manyLinted,
		AnchorName: fmt.Sprintf("with %d tools", fewLinted), Anchor: percentile(few.times, 50) / fewLinted})
	b.report.add(Row{Part: lintPart, What: "beside that, once: the vocabulary of tokens", Unit: nanoseconds,
		Measured: vocabulary})
	return nil
}

// linted is a catalogue with the times of looks at it.
type linted struct {
	tools     int
	functions string
	times     []float64
}

// prepare writes the tools. remove takes them away, also after an error.
func (l *linted) prepare(module string) (remove func(), err error) {
	dir, err := os.MkdirTemp("", "bench-lint-")
	if err != nil {
		return func() {}, fmt.Errorf("making a folder: %w", err)
	}
	remove = func() { _ = os.RemoveAll(dir) }
	l.functions = filepath.Join(dir, "functions")
	model, err := os.ReadFile(filepath.Join(module, "functions", "tracker_search_issues", "tool.json"))
	if err != nil {
		return remove, fmt.Errorf("reading the tool that the others are like: %w", err)
	}
	return remove, writeCatalogue(l.functions, model, l.tools)
}

// writeCatalogue writes n tools like the model, each with a name and a description of its own, as on a server that has
// grown: otherwise all that is found would be that they are alike.
func writeCatalogue(dir string, model []byte, n int) error {
	verbs := []string{"archive", "assign", "close", "count", "create", "delete", "describe", "export", "import", "list",
		"merge", "move", "rename", "search", "share"}
	nouns := []string{"account", "badge", "calendar", "contract", "desk", "event", "folder", "group", "holiday", "invoice",
		"journal", "key", "lease", "meeting", "notice", "order", "parcel", "quote", "room", "shift"}
	files := map[string][]byte{"server.json": []byte(`{"name": "bench", "version": "1.0.0"}`)}
	for i := range n {
		verb, noun := verbs[i/len(nouns)%len(verbs)], nouns[i%len(nouns)]
		name := verb + "_" + noun
		text, err := likeTool(model, name, fmt.Sprintf("Helps to %s the %s that a person of the office has in mind, and "+
			"tells what became of it. Use it when somebody asks to %[1]s a %[2]s.", verb, noun))
		if err != nil {
			return fmt.Errorf("making %s: %w", name, err)
		}
		files[filepath.Join(name, "tool.json")] = text
	}
	return writeFiles(dir, files)
}

// likeTool is a tool.json with another name, title and description.
func likeTool(model []byte, name, description string) ([]byte, error) {
	var tool map[string]any
	if err := json.Unmarshal(model, &tool); err != nil {
		return nil, fmt.Errorf("decoding the model: %w", err)
	}
	tool["name"], tool["title"], tool["description"] = name, name, description
	text, err := json.MarshalIndent(tool, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("encoding the tool: %w", err)
	}
	return text, nil
}

func writeFiles(dir string, files map[string][]byte) error {
	for name, text := range files {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return fmt.Errorf("making a tool's folder: %w", err)
		}
		if err := os.WriteFile(file, text, 0o644); err != nil {
			return fmt.Errorf("writing a tool: %w", err)
		}
	}
	return nil
}

// measure looks once. A catalogue of real tools has no errors, which would keep checks from being made.
func (l *linted) measure() error {
	began := time.Now()
	report, err := lint.Run(l.functions, lint.Options{})
	if err != nil {
		return err
	}
	l.times = append(l.times, float64(time.Since(began)))
	if report.Errors > 0 || report.Tools != l.tools {
		return fmt.Errorf("%d errors in %d tools", report.Errors, report.Tools)
	}
	return nil
}
