package costmodel

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"

	"patchbay/scripts/benchmark"
)

// The figures of `bench` that durations are taken from.
const (
	warmCall   = "warm call, 1 client, p50"
	authorizer = "of that: the authorizer"
)

// Overhead returns from the figures of `bench --json` how many milliseconds a call takes beside its tool's work: a
// whole warm call there, of a tool that does nothing. Lambda gives a function of 256 MB a seventh of a processor, so it
// is a lower bound of what is billed.
func Overhead(figures []byte) (float64, error) {
	measured, err := milliseconds(figures, "b", warmCall)
	if err == nil && measured == 0 {
		return 0, errors.New("the figures of bench have no " + warmCall +
			"; measure it with `bench --parts b --json FILE`")
	}
	return measured, err
}

// Authorizer returns from the same figures for how many whole milliseconds the authorizer is asked, with what it takes
// to ask it, which Lambda does not bill; 0 where that was not measured.
func Authorizer(figures []byte) (float64, error) {
	measured, err := milliseconds(figures, "h", authorizer)
	return math.Ceil(measured), err
}

// milliseconds is a figure; 0 where it is not there.
func milliseconds(figures []byte, part, what string) (float64, error) {
	var report benchmark.Report
	if err := json.Unmarshal(figures, &report); err != nil {
		return 0, fmt.Errorf("decoding the figures of bench: %w", err)
	}
	for _, row := range report.Rows {
		if row.Part == part && row.What == what && row.Unit == "ns" {
			return row.Measured / 1e6, nil
		}
	}
	return 0, nil
}
