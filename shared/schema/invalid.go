package schema

import (
	"fmt"
	"strings"
)

// maxFailures is how many failures an Invalid lists; a model repairs no more at once.
const maxFailures = 20

// Invalid says everything that is wrong with a value, in the order of its text.
type Invalid struct {
	// Failures are at most 20.
	Failures []Failure
	// More is how many failures there are beyond those.
	More int

	subject string
}

// Failure is one wrong, missing or unknown place in a value.
type Failure struct {
	// Path is readable: items[0].sku; the value as a whole is called "arguments" (see [Schema.For]).
	Path string
	// Value is what was given, as JSON, cut to about 80 characters. It is empty for what is missing or unknown, and
	// for what must not be shown: anything that the schema marks writeOnly or as format password.
	Value string
	// Problem completes the sentence that Path and Value begin: "is not allowed".
	Problem string
	// Allowed says what would be right; it may be empty.
	Allowed string
}

func (f Failure) String() string {
	text := f.Path
	if f.Value != "" {
		text += ": " + f.Value
	}
	text += " " + f.Problem
	if f.Allowed != "" {
		text += "; allowed: " + f.Allowed
	}
	return text
}

// Error is a text that a model can act on: every failure, one a line.
func (i *Invalid) Error() string {
	subject := i.subject
	if subject == "" {
		subject = "arguments"
	}
	if len(i.Failures) == 1 && i.More == 0 {
		return fmt.Sprintf("invalid %s: %s", subject, i.Failures[0])
	}
	var b strings.Builder
	fmt.Fprintf(&b, "invalid %s, %d problems:", subject, len(i.Failures)+i.More)
	for _, f := range i.Failures {
		b.WriteString("\n- " + f.String())
	}
	if i.More > 0 {
		fmt.Fprintf(&b, "\nand %d more", i.More)
	}
	return b.String()
}
