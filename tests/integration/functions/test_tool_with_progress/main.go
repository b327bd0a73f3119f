// Command test_tool_with_progress is the conformance suite's tool that reports progress.
package main

import (
	"context"
	"time"

	"patchbay/shared/tool"
)

func work(ctx context.Context, _ struct{}) (string, error) {
	for step := 0.0; step <= 100; step += 50 {
		tool.Progress(ctx, step, 100, "working")
		time.Sleep(50 * time.Millisecond)
	}
	return "Progress reported three times.", nil
}

func main() { tool.Serve(work) }
