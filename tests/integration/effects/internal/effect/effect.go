// Package effect is the effect of the counting fixture tools: one line in a file, the tool's own count of how often it
// ran, with gates before and behind it at which a test can stop the tool.
package effect

import (
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"strconv"
	"time"
)

// Input is what every counting tool takes.
type Input struct {
	// File gets one line for each effect.
	File string `json:"file"`
	// Gate is the beginning of the paths of the gates; empty for none. The tool writes its process id to Gate.begun, waits
	// for Gate.effect, has its effect, writes Gate.done, waits for Gate.answer, and answers.
	Gate   string `json:"gate"`
	DryRun bool   `json:"dryRun"`
}

// Count has the effect and returns the line, which is different each time. A dry run has none.
func Count(ctx context.Context, in Input) (string, error) {
	if in.DryRun {
		return "would add a line", nil
	}
	if err := pass(ctx, in.Gate, "begun", "effect"); err != nil {
		return "", err
	}
	line := rand.Text()
	if err := add(in.File, line); err != nil {
		return "", err
	}
	if err := pass(ctx, in.Gate, "done", "answer"); err != nil {
		return "", err
	}
	return line, nil
}

// add appends with one write, so that lines of two processes never mix.
func add(file, line string) error {
	f, err := os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("opening the count: %w", err)
	}
	defer f.Close()
	if _, err := f.WriteString(line + "\n"); err != nil {
		return fmt.Errorf("counting: %w", err)
	}
	return nil
}

// pass says that the tool has come to a gate and waits until it is open.
func pass(ctx context.Context, gate, here, open string) error {
	if gate == "" {
		return nil
	}
	// Renamed into place, so that whoever sees the file sees all of it.
	temporary := gate + "." + rand.Text()
	if err := os.WriteFile(temporary, []byte(strconv.Itoa(os.Getpid())), 0o600); err != nil {
		return fmt.Errorf("coming to a gate: %w", err)
	}
	if err := os.Rename(temporary, gate+"."+here); err != nil {
		return fmt.Errorf("coming to a gate: %w", err)
	}
	for {
		if _, err := os.Stat(gate + "." + open); err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("waiting for the gate %s: %w", open, ctx.Err())
		case <-time.After(5 * time.Millisecond):
		}
	}
}
