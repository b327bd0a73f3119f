package main

import (
	"fmt"
	"io"
	"strings"
	"time"

	"patchbay/scripts/localstack"
	"patchbay/scripts/printable"
)

// watchLabel is before each line of what became of saved files.
const watchLabel = "[watch]"

// Codes of ECMA-48's SGR for colours, which terminals map to their own theme.
const (
	red    = "31"
	green  = "32"
	yellow = "33"
)

// tellChange writes what became of saved files, for whoever reads the terminal. What it quotes of compilers and of
// functions may not act on it.
func tellChange(w io.Writer, colours bool) func(localstack.Change) {
	return func(c localstack.Change) {
		var b strings.Builder
		say := func(colour, format string, args ...any) {
			label := watchLabel
			if colours {
				label = "\x1b[" + colour + "m" + label + "\x1b[0m"
			}
			fmt.Fprintln(&b, label+" "+printable.Lines(fmt.Sprintf(format, args...), watchLabel+"   "))
		}
		for _, warning := range c.Warnings {
			say(yellow, "%s", warning)
		}
		for _, fault := range c.Faults {
			say(red, "%s: %s\n%v", strings.Join(fault.Of, ", "), whatServes(fault.Serving), fault.Err)
		}
		if len(c.Mended) > 0 {
			say(green, "good again: %s", strings.Join(c.Mended, ", "))
		}
		if len(c.Withdrawn) > 0 {
			say(green, "withdrawn: %s", strings.Join(c.Withdrawn, ", "))
		}
		if live := append(c.Live, c.Renewed...); len(live) > 0 {
			say(green, "live: %s (%s)", strings.Join(live, ", "), times(c.Times))
		}
		for _, restart := range c.Restart {
			say(yellow, "%s; stop and start again to take it in", restart)
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
