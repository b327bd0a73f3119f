// Command draft_07 has a schema that declares JSON Schema draft-07 and means something else in 2020-12.
package main

import (
	"context"
	"fmt"

	"patchbay/shared/tool"
)

type input struct {
	Pair []any  `json:"pair"`
	Code string `json:"code"`
}

func echo(_ context.Context, in input) (string, error) { return fmt.Sprint(in.Pair, in.Code), nil }

func main() { tool.Serve(echo) }
