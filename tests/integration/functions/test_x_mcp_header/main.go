// Command test_x_mcp_header is the conformance suite's tool with a parameter that is mirrored into a header.
package main

import (
	"context"
	"fmt"

	"patchbay/shared/tool"
)

type input struct {
	Region string `json:"region"`
	// Level is a number and not an int64, since the schema allows integers of any size.
	Level float64 `json:"level"`
}

func echo(_ context.Context, in input) (string, error) {
	return fmt.Sprintf("region %q, level %v", in.Region, in.Level), nil
}

func main() { tool.Serve(echo) }
