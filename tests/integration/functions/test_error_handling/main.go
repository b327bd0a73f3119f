// Command test_error_handling is the conformance suite's tool that always fails.
package main

import (
	"context"

	"patchbay/shared/tool"
)

func fail(context.Context, struct{}) (string, error) {
	return "", tool.Fail("intended", "This tool intentionally returns an error for testing")
}

func main() { tool.Serve(fail) }
