// Command slow_progress reports step n when the file GATE.n exists, and answers after the last step. A test that makes
// each file after it has read the report before sees whether reports travel while the tool runs.
package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"patchbay/shared/tool"
)

type input struct {
	Gate  string `json:"gate"`
	Steps int    `json:"steps"`
}

func work(ctx context.Context, in input) (string, error) {
	for step := 1; step <= in.Steps; step++ {
		if err := waitFor(ctx, fmt.Sprintf("%s.%d", in.Gate, step)); err != nil {
			return "", err
		}
		tool.Progress(ctx, float64(step), float64(in.Steps), fmt.Sprintf("step %d", step))
	}
	return fmt.Sprintf("%d steps", in.Steps), nil
}

// waitFor returns when the file exists.
func waitFor(ctx context.Context, path string) error {
	for {
		if _, err := os.Stat(path); err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("waiting for %s: %w", path, ctx.Err())
		case <-time.After(5 * time.Millisecond):
		}
	}
}

func main() { tool.Serve(work) }
