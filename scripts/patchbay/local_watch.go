package main

import (
	"fmt"
	"io"
	"strings"
	"time"

	"patchbay/scripts/localstack"
	"patchbay/scripts/printable"
)

// tellChange writes what became of saved files, for whoever reads the terminal. What it quotes of compilers and of
// functions may not act on it.
func tellChange(w io.Writer) func(localstack.Change) {
	return func(c localstack.Change) {
		var b strings.Builder
		say := func(format string, args ...any) {
			fmt.Fprintln(&b, printable.Lines(fmt.Sprintf("[watch] "+format, args...), "[watch]   "))
		}
		for _, warning := range c.Warnings {
			say("%s", warning)
		}
		for _, fault := range c.Faults {
			say("%s: %s\n%v", strings.Join(fault.Of, ", "), whatServes(fault.Serving), fault.Err)
		}
		if len(c.Mended) > 0 {
			say("good again: %s", strings.Join(c.Mended, ", "))
		}
		if len(c.Withdrawn) > 0 {
			say("withdrawn: %s", strings.Join(c.Withdrawn, ", "))
		}
		if live := append(c.Live, c.Renewed...); len(live) > 0 {
			say("live: %s (%s)", strings.Join(live, ", "), times(c.Times))
		}
		for _, restart := range c.Restart {
			say("%s; stop and start again to take it in", restart)
		}
		fmt.Fprint(w, b.String())
	}
}

func whatServes(before bool) string {
	if before {
		return "not taken in; what was there before serves on"
	}
	return "not taken in"
}

// times tells how long the steps took that there were.
func times(t localstack.Times) string {
	text := "after " + seconds(t.Total)
	for _, step := range []struct {
		name string
		took time.Duration
	}{{"build", t.Build}, {"start", t.Start}, {"publish", t.Publish}} {
		if step.took > 0 {
			text += ", " + step.name + " " + seconds(step.took)
		}
	}
	return text
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.2f s", d.Seconds()) }
