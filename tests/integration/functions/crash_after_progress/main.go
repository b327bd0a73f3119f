// Command crash_after_progress dies in the middle of a stream.
package main

import (
	"context"
	"os"
	"time"

	"patchbay/shared/tool"
)

func work(ctx context.Context, _ struct{}) (string, error) {
	tool.Progress(ctx, 1, 2, "about to crash")
	// The report must have left the process, or there would be no stream to break off.
	time.Sleep(200 * time.Millisecond)
	os.Exit(3)
	return "", nil
}

func main() { tool.Serve(work) }
