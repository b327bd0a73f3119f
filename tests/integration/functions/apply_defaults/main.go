// Command apply_defaults shows which arguments reach a tool: those that were given, and the schema's defaults.
package main

import (
	"context"

	"patchbay/shared/tool"
)

type arguments struct {
	Limit  int     `json:"limit"`
	Order  string  `json:"order"`
	Since  string  `json:"since,omitempty"`
	Paging *paging `json:"paging,omitempty"`
}

type paging struct {
	Size int `json:"size"`
}

func echo(_ context.Context, in arguments) (arguments, error) { return in, nil }

func main() { tool.Serve(echo) }
