package benchmark

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"patchbay/scripts/cdkapp"
)

// synthesisGoal is how long the templates of the example tools may take when nothing has changed.
const synthesisGoal = 10 * time.Second

// syntheses is part (g): templates from contracts, when all packages are made, and how that grows with the tools.
func (b *bench) syntheses(ctx context.Context) error {
	few, many := 10, pick(b, 300, 60)
	measured := []*synthesis{
		{what: "synthesis of the example tools"},
		{what: fmt.Sprintf("synthesis of %d tools", few), tools: few},
		{what: fmt.Sprintf("synthesis of %d tools", many), tools: many},
	}
	for _, s := range measured {
		s.options.Stage = "examples" // the one that deploys all that a folder has
		remove, err := s.prepare(ctx, b.Module)
		defer remove()
		if err != nil {
			return fmt.Errorf("preparing the %s: %w", s.what, err)
		}
	}
	for range pick(b, 3, 1) {
		for _, s := range measured {
			if err := s.measure(ctx); err != nil {
				return fmt.Errorf("the %s: %w", s.what, err)
			}
		}
	}
	examples, least, most := measured[0], measured[1], measured[2]
	b.report.add(Row{Part: "g", What: examples.what, Unit: nanoseconds, Measured: examples.median(),
		Goal: float64(synthesisGoal), Rounds: examples.times})
	b.report.add(Row{Part: "g", What: most.what, Unit: nanoseconds, Measured: most.median(), Rounds: most.times,
		AnchorName: fmt.Sprintf("%d tools", few), Anchor: least.median(), AnchorRounds: least.times})
	return nil
}

// synthesis is one kind of synthesis with its times.
type synthesis struct {
	what    string
	options cdkapp.Options
	tools   int // how many are made for it; 0 for those that are there
	times   []float64
}

// prepare synthesizes once, so that everything is built. remove takes away what was made for it, also after an error.
func (s *synthesis) prepare(ctx context.Context, module string) (remove func(), err error) {
	// Within the module, since the functions of a deployment belong to one.
	dir, err := os.MkdirTemp(filepath.Join(module, ".patchbay"), "bench-synthesis-")
	if err != nil {
		return func() {}, fmt.Errorf("making a folder: %w", err)
	}
	remove = func() { _ = os.RemoveAll(dir) }
	if dir, err = filepath.Abs(dir); err != nil {
		return remove, fmt.Errorf("locating the folder: %w", err)
	}
	s.options.Module, s.options.Output = module, filepath.Join(dir, "out")
	if s.tools > 0 {
		functions := filepath.Join(dir, "functions")
		s.options.Context = map[string]string{"functions": functions}
		if err := writeTools(functions, s.tools); err != nil {
			return remove, err
		}
	}
	_, err = cdkapp.Synth(ctx, s.options)
	return remove, err
}

func (s *synthesis) measure(ctx context.Context) error {
	began := time.Now()
	_, err := cdkapp.Synth(ctx, s.options)
	s.times = append(s.times, float64(time.Since(began)))
	return err
}

func (s *synthesis) median() float64 { return percentile(s.times, 50) }

// writeTools writes n tools in one program, which is the same for all of them.
func writeTools(dir string, n int) error {
	files := map[string][]byte{"server.json": []byte(`{"name": "bench", "version": "1.0.0"}`)}
	for i := range n {
		folder := fmt.Sprintf("answers_question_%d", i)
		files[filepath.Join(folder, "app.py")] = []byte("def handler(event, context):\n    return {'content': []}\n")
		files[filepath.Join(folder, "tool.json")] = fmt.Appendf(nil, `{
			"name": %q, "description": "Answers one question for a benchmark, always in the same words.",
			"inputSchema": {"type": "object", "properties": {}, "additionalProperties": false},
			"contract": {"function": {"runtime": "python", "handler": "app.handler", "state": ["notes"]}}
		}`, folder)
	}
	return writeFiles(dir, files)
}
