// Execute_sql is a tool that runs one read-only SQL statement on a small SQLite database.
package main

import (
	"context"

	"patchbay/shared/tool"
)

// Input is a statement and where to run it.
type Input struct {
	Region string `json:"region"`
	Query  string `json:"query"`
}

// Output is the rows that a statement returned.
type Output struct {
	Columns   []string `json:"columns"`
	Rows      [][]any  `json:"rows"`
	Truncated bool     `json:"truncated"`
	Hint      string   `json:"hint,omitempty"`
}

func main() { tool.Serve(execute(openRegions())) }

// execute makes the handler from the databases of all regions; the schema's enum allows no other region.
func execute(regions map[string]*database) func(context.Context, Input) (Output, error) {
	return func(ctx context.Context, in Input) (Output, error) {
		return regions[in.Region].query(ctx, in.Query)
	}
}
