package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/aymanbagabas/go-udiff"

	"patchbay/dispatcher/registrar/order"
	"patchbay/scripts/printable"
	"patchbay/shared/contract"
)

// published is what `tool publish --json` writes.
type published struct {
	Source string `json:"source"`
	// Live is the snapshot that the source served before; empty for none.
	Live     string         `json:"live,omitempty"`
	Changes  []order.Change `json:"changes"`
	Kept     []string       `json:"kept"`
	Warnings []string       `json:"warnings"`
	// Snapshot is what was published; empty for nothing.
	Snapshot string `json:"snapshot,omitempty"`
}

func newPublished(source string, answer order.Answer) published {
	return published{
		Source: source, Live: answer.Live, Changes: append([]order.Change{}, answer.Changes...),
		Kept: append([]string{}, answer.Kept...), Warnings: append([]string{}, answer.Warnings...),
		Snapshot: answer.Snapshot,
	}
}

// changedNames are the changes in short, + for a new tool, - for one that goes, ~ for one that is another.
func changedNames(answer order.Answer) []string {
	var names []string
	for _, change := range answer.Changes {
		names = append(names, mark(change)+change.Name)
	}
	return names
}

func mark(change order.Change) string {
	switch {
	case change.Before == nil:
		return "+"
	case change.After == nil:
		return "-"
	}
	return "~"
}

// planWriter writes what would change.
type planWriter struct {
	io.Writer
	coloured bool
}

// writePlan says what would change, whole for what changes in a tool that is there already.
func writePlan(out io.Writer, target, source string, plan order.Answer, files map[string]string) error {
	var text bytes.Buffer
	w := planWriter{Writer: &text, coloured: coloured(out)}
	now := "nothing"
	if plan.Live != "" {
		now = "snapshot " + plan.Live
	}
	w.line("source %s of %s, which serves %s", source, target, now)
	for _, change := range plan.Changes {
		if err := w.change(change, files[change.Name]); err != nil {
			return err
		}
	}
	if len(plan.Kept) > 0 {
		w.line("as before: %s", strings.Join(plan.Kept, ", "))
	}
	for _, warning := range plan.Warnings {
		w.line("warning: %s", warning)
	}
	if _, err := out.Write(text.Bytes()); err != nil {
		return fmt.Errorf("writing what would change: %w", err)
	}
	return nil
}

func (w planWriter) line(format string, args ...any) {
	w.paint(printable.Line(fmt.Sprintf(format, args...)))
}

// paint writes a line, as git does in the colour of its first mark.
func (w planWriter) paint(line string) {
	colour := ""
	switch {
	case !w.coloured:
	case strings.HasPrefix(line, "+"):
		colour = "\x1b[32m"
	case strings.HasPrefix(line, "-"):
		colour = "\x1b[31m"
	case strings.HasPrefix(line, "@@"):
		colour = "\x1b[36m"
	}
	if colour != "" {
		line = colour + line + "\x1b[m"
	}
	fmt.Fprintln(w, line)
}

func (w planWriter) change(change order.Change, file string) error {
	if change.After == nil {
		w.line("- %s  %s", change.Name, change.Before.Function)
		return nil
	}
	w.line("%s %s  %s", mark(change), change.Name, change.After.Function)
	if change.Before == nil {
		return w.facts(change.After.Contract)
	}
	return w.difference(change, file)
}

// facts are what whoever publishes a new tool should see once more: who may call it, and how.
func (w planWriter) facts(encoded json.RawMessage) error {
	var c contract.Contract
	if err := json.Unmarshal(encoded, &c); err != nil {
		return fmt.Errorf("decoding a contract: %w", err)
	}
	who := "everybody may call it"
	if len(c.Permissions) > 0 {
		who = "callers need " + strings.Join(c.Permissions, " ")
	}
	w.line("    risk %s, confirmation %s, %s", c.Risk, c.Confirmation, who)
	w.line("    gets the %s, within %d seconds", c.Function.Payload, c.Execution.TimeoutSeconds)
	return nil
}

// difference is what changes in all that is published of a tool.
func (w planWriter) difference(change order.Change, file string) error {
	before, err := document(change.Before)
	if err != nil {
		return err
	}
	after, err := document(change.After)
	if err != nil {
		return err
	}
	for line := range strings.Lines(udiff.Unified("published", file, before, after)) {
		w.line("%s", strings.TrimSuffix(line, "\n"))
	}
	return nil
}

// document is all that is published of a tool, a member on each line.
func document(state *order.State) (string, error) {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(state); err != nil {
		return "", fmt.Errorf("encoding a tool: %w", err)
	}
	return text.String(), nil
}
