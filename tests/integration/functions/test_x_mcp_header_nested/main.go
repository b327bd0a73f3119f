// Command test_x_mcp_header_nested has a boolean, an integer and a nested string that are mirrored into headers.
package main

import (
	"context"
	"encoding/json"

	"patchbay/shared/tool"
)

type input struct {
	Verbose bool `json:"verbose"`
	// Limit is kept as text: the schema allows integers of any size and spelling.
	Limit  json.Number `json:"limit"`
	Target struct {
		Zone string `json:"zone"`
	} `json:"target"`
}

func echo(_ context.Context, in input) (string, error) {
	text, err := json.Marshal(in)
	return string(text), err
}

func main() { tool.Serve(echo) }
