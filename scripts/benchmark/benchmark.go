// Package benchmark measures what Patchbay costs. Every figure stands beside an anchor that was measured in the same
// run, in turn with it, on the same machine: the official Go SDK for the handler, two bare Lambda hops for a call, a
// bare Lambda function for a start, a small catalogue for a large one, a plain call for one under rules, few tools for
// many, a call without the authorizer for one with it. Ratios can be compared between machines.
package benchmark

import (
	"context"
	"fmt"
	"io"
	"runtime"
	"strings"
	"time"
)

// Options say what to measure. The zero value measures everything.
type Options struct {
	// Module is the root folder of this module; "" means the current folder.
	Module string
	// Parts are the letters of the parts to measure; "" means all of them, "abcdefghij".
	Parts string
	// Short measures fewer rounds, for CI: the whole takes less than two minutes.
	Short bool
	// Progress gets a line for each step; nil drops them.
	Progress io.Writer
}

// parts in the order in which they are measured.
var parts = []struct {
	letter string
	what   string
	run    func(*bench, context.Context) error
}{
	{"a", "the handler in process", (*bench).handler},
	{"b", "warm calls on the local stack", (*bench).warm},
	{"c", "process start to first answer", (*bench).start},
	{"d", "binary sizes", (*bench).sizes},
	{"e", "large catalogues", (*bench).catalogues},
	{"f", "the rules of a contract", (*bench).contracts},
	{"g", "templates for a deployment", (*bench).syntheses},
	{authorizerPart, "the authorizer", (*bench).authorizer},
	{savePart, "saves while the local stack watches", (*bench).saves},
	{lintPart, "the checks of tool lint", (*bench).lint},
}

// bench is one run.
type bench struct {
	Options
	report *Report
	// stand is the local stack with the floor beside it, from the first part that needs it on.
	stand *stand
}

// Run measures and returns the report. It needs no network but the loopback interface.
func Run(ctx context.Context, options Options) (*Report, error) {
	if options.Module == "" {
		options.Module = "."
	}
	if options.Progress == nil {
		options.Progress = io.Discard
	}
	if unknown := strings.Trim(options.Parts, "abcdefghij"); unknown != "" {
		return nil, fmt.Errorf("parts %q: allowed are the letters a to j", options.Parts)
	}
	b := &bench{Options: options, report: newReport(options.Short)}
	defer b.close()
	for _, part := range parts {
		if options.Parts != "" && !strings.Contains(options.Parts, part.letter) {
			continue
		}
		began := time.Now()
		fmt.Fprintf(b.Progress, "(%s) %s\n", part.letter, part.what)
		if err := part.run(b, ctx); err != nil {
			return nil, fmt.Errorf("measuring %s: %w", part.what, err)
		}
		fmt.Fprintf(b.Progress, "(%s) took %s\n", part.letter, time.Since(began).Round(time.Second))
	}
	return b.report, nil
}

func (b *bench) close() {
	if b.stand != nil {
		b.stand.close()
	}
}

// pick chooses between the full and the short measure of something.
func pick[T any](b *bench, full, short T) T {
	if b.Short {
		return short
	}
	return full
}

func machine() string {
	return fmt.Sprintf("%s/%s, %d CPUs, %s", runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), runtime.Version())
}
