// Command break_output_schema returns structured content that its own output schema forbids.
package main

import (
	"context"

	"patchbay/shared/tool"
)

type weather struct {
	Kelvin float64 `json:"kelvin"`
}

func answer(context.Context, struct{}) (weather, error) { return weather{Kelvin: -273}, nil }

func main() { tool.Serve(answer) }
