package costmodel

import (
	"encoding/json"
	"errors"
	"fmt"

	"patchbay/scripts/benchmark"
)

// warmCall is the figure of `bench` that the overhead is taken from.
const warmCall = "warm call, 1 client, p50"

// Overhead returns from the figures of `bench --json` how many milliseconds a call takes beside its tool's work: a
// whole warm call there, of a tool that does nothing. Lambda gives a function of 256 MB a seventh of a processor, so it
// is a lower bound of what is billed.
func Overhead(figures []byte) (float64, error) {
	var report benchmark.Report
	if err := json.Unmarshal(figures, &report); err != nil {
		return 0, fmt.Errorf("decoding the figures of bench: %w", err)
	}
	for _, row := range report.Rows {
		if row.Part == "b" && row.What == warmCall && row.Unit == "ns" {
			return row.Measured / 1e6, nil
		}
	}
	return 0, errors.New("the figures of bench have no " + warmCall + "; measure it with `bench --parts b --json FILE`")
}
