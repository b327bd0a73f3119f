package lint

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"patchbay/scripts/printable"
	"patchbay/shared/contract"
)

// Style is how a report is written for people.
type Style struct {
	// Colour uses the colours of a terminal.
	Colour bool
	// Columns is where lines are wrapped; 0 wraps none.
	Columns int
	// Suppressed writes the findings that are suppressed, too, with their reasons.
	Suppressed bool
}

// Parts of a terminal's repertoire (ECMA-48, SGR).
const (
	red    = "\x1b[31m"
	yellow = "\x1b[33m"
	bold   = "\x1b[1m"
	dim    = "\x1b[2m"
	normal = "\x1b[0m"
)

func (s Style) paint(code, text string) string {
	if !s.Colour {
		return text
	}
	return code + text + normal
}

// Write writes the findings, the cost of the tools and, in the last line, how many findings there are. What a contract
// says appears without anything that a terminal would obey.
func (r Report) Write(w io.Writer, style Style) error {
	out := bufio.NewWriter(w)
	for _, f := range r.Findings {
		if f.Suppressed == "" || style.Suppressed {
			style.finding(out, f)
		}
	}
	r.Cost.write(out, style)
	fmt.Fprintln(out, r.summary(style))
	return out.Flush()
}

// finding begins with what editors and terminals read as a place: file:line:column, then the severity.
func (s Style) finding(out io.Writer, f Finding) {
	what := s.paint(red, "error")
	switch {
	case f.Suppressed != "":
		what = s.paint(dim, "suppressed")
	case f.Severity == contract.SeverityWarning:
		what = s.paint(yellow, "warning")
	}
	fmt.Fprintf(out, "%s: %s: %s [%s]\n", s.paint(bold, printable.Line(f.Place())), what, printable.Line(f.Message), f.ID)
	if f.Pointer != "" {
		s.line(out, "at", f.Pointer)
	}
	if f.Allowed != "" {
		s.line(out, "allowed", f.Allowed)
	}
	if f.Suppressed != "" {
		s.line(out, "reason", f.Suppressed)
	} else if f.Why != "" {
		s.line(out, "why", f.Why+" ("+f.Source+")")
	}
	fmt.Fprintln(out)
}

// line writes a part of a finding below it.
func (s Style) line(out io.Writer, label, text string) {
	const indent = "    "
	lines := wrap(label+": "+printable.Line(text), s.Columns-len(indent))
	for i, line := range lines {
		if label == "why" {
			line = s.paint(dim, line)
		}
		if i > 0 {
			line = "  " + line
		}
		fmt.Fprintln(out, indent+line)
	}
}

// wrap breaks a text between words; a word that is too long stays whole.
func wrap(text string, columns int) []string {
	if columns <= 0 {
		return []string{text}
	}
	const continued = 2
	var lines []string
	line, length := "", 0
	for word := range strings.FieldsSeq(text) {
		size := utf8.RuneCountInString(word)
		if line != "" && length+1+size > columns {
			lines = append(lines, line)
			line, length = word, continued+size
			continue
		}
		if line != "" {
			line, length = line+" ", length+1
		}
		line, length = line+word, length+size
	}
	return append(lines, line)
}

// maxCostRows is how many tools the table of costs has; beyond, it has the heaviest.
const maxCostRows = 20

func (c Cost) write(out io.Writer, style Style) {
	if len(c.Tools) == 0 {
		return
	}
	fmt.Fprintln(out, style.paint(bold, "Tokens of the definitions, as "+c.Estimator+" counts them; other models count "+
		"otherwise"))
	fmt.Fprintf(out, "%8s %8s  %s\n", "listed", "model", "tool")
	heavier := func(a, b ToolCost) int { return cmp.Compare(b.Listed, a.Listed) }
	shown := slices.SortedStableFunc(slices.Values(c.Tools), heavier)
	rest := ToolCost{Listed: c.Listed, Model: c.Model}
	for _, tool := range shown[:min(len(shown), maxCostRows)] {
		fmt.Fprintf(out, "%8d %8d  %s\n", tool.Listed, tool.Model, printable.Line(tool.Name))
		rest.Listed, rest.Model = rest.Listed-tool.Listed, rest.Model-tool.Model
	}
	if more := len(shown) - maxCostRows; more > 0 {
		fmt.Fprintf(out, "%8d %8d  %s\n", rest.Listed, rest.Model, counted(more, "lighter tool"))
	}
	fmt.Fprintf(out, "%8d %8d  all %d\n", c.Listed, c.Model, len(c.Tools))
	fmt.Fprintln(out, style.paint(dim, "listed: the definition as tools/list sends it; model: name, description and "+
		"inputSchema, which is what most hosts give to a model"))
	fmt.Fprintln(out)
}

func (r Report) summary(style Style) string {
	errors, warnings := counted(r.Errors, "error"), counted(r.Warnings, "warning")
	if r.Errors > 0 {
		errors = style.paint(red, errors)
	}
	if r.Warnings > 0 {
		warnings = style.paint(yellow, warnings)
	}
	summary := counted(r.Tools, "tool") + ": " + errors + ", " + warnings
	if r.Suppressed == 0 {
		return summary
	}
	summary += fmt.Sprintf(", %d suppressed", r.Suppressed)
	if style.Suppressed {
		return summary
	}
	return summary + " (--all shows them)"
}

func counted(n int, noun string) string {
	switch n {
	case 0:
		return "no " + noun + "s"
	case 1:
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// Write writes all that there is to know of a rule.
func (r Rule) Write(w io.Writer, style Style) error {
	out := bufio.NewWriter(w)
	fmt.Fprintf(out, "%s (%s)\n", style.paint(bold, r.ID), r.Severity)
	for _, part := range []struct{ label, text string }{{"what", r.What}, {"why", r.Why}, {"source", r.Source}} {
		style.line(out, part.label, part.text)
	}
	place := ""
	if r.Place != "" {
		place = ", in " + r.Place
	}
	writeExample(out, "wrong"+place, r.Wrong)
	writeExample(out, "right"+place, r.Right)
	return out.Flush()
}

func writeExample(out io.Writer, label, text string) {
	const indent = "      "
	fmt.Fprintf(out, "    %s:\n%s%s\n", label, indent, strings.ReplaceAll(text, "\n", "\n"+indent))
}

// WriteRules lists rules, a line for each.
func WriteRules(w io.Writer, rules []Rule) error {
	out := bufio.NewWriter(w)
	longest := 0
	for _, rule := range rules {
		longest = max(longest, len(rule.ID))
	}
	for _, rule := range rules {
		fmt.Fprintf(out, "%-*s  %-7s  %s\n", longest, rule.ID, rule.Severity, rule.What)
	}
	return out.Flush()
}
