// Command test_logging_tool is the conformance suite's tool that logs. The server declares no logging capability, so
// the record stays in the function's own log.
package main

import (
	"context"

	"patchbay/shared/tool"
)

func answer(ctx context.Context, _ struct{}) (string, error) {
	tool.Log(ctx).Info("diagnostic trace")
	return "Logging evaluated", nil
}

func main() { tool.Serve(answer) }
