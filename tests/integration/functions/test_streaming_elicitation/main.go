// Command test_streaming_elicitation is the conformance suite's tool whose stream must hold no requests of the server.
package main

import (
	"context"

	"patchbay/shared/tool"
)

func work(ctx context.Context, _ struct{}) (string, error) {
	tool.Progress(ctx, 50, 100, "half done")
	return "Streaming complete", nil
}

func main() { tool.Serve(work) }
