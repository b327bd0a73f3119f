// Read_gauge is the tool that the benchmark calls: typed and checked like any other, and with nothing to do.
package main

import (
	"context"

	"patchbay/shared/tool"
)

// Input is what the caller asks for.
type Input struct {
	Station string `json:"station"`
	Unit    string `json:"unit"`
	Days    int    `json:"days"`
}

// Output is the level that is always the same.
type Output struct {
	Station string  `json:"station"`
	Level   float64 `json:"level"`
	Trend   string  `json:"trend"`
}

func main() { tool.Serve(read) }

func read(_ context.Context, in Input) (Output, error) {
	return Output{Station: in.Station, Level: 873, Trend: "falling"}, nil
}
