// Command hold makes the file STARTED and runs until the file UNTIL exists. Its reserved concurrency is one, so a
// second call meanwhile is throttled.
package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"patchbay/shared/tool"
)

type input struct {
	Started string `json:"started"`
	Until   string `json:"until"`
}

func hold(ctx context.Context, in input) (string, error) {
	if err := os.WriteFile(in.Started, nil, 0o600); err != nil {
		return "", fmt.Errorf("saying that the call has begun: %w", err)
	}
	for {
		if _, err := os.Stat(in.Until); err == nil {
			return "released", nil
		}
		select {
		case <-ctx.Done():
			return "", fmt.Errorf("waiting for %s: %w", in.Until, ctx.Err())
		case <-time.After(5 * time.Millisecond):
		}
	}
}

func main() { tool.Serve(hold) }
