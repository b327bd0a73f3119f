package schema

import (
	"fmt"
	"strings"
)

const (
	// maxFailures is how many failures an Invalid lists; a model repairs no more at once.
	maxFailures = 20
	// maxText is about how many bytes the text of an Invalid may have.
	maxText = 16 << 10
)

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

// Error is a text that a model can act on: every failure, one a line, up to about 16 KB.
func (i *Invalid) Error() string {
	subject := i.subject
	if subject == "" {
		subject = "arguments"
	}
	if len(i.Failures) == 1 && i.More == 0 {
		return fmt.Sprintf("invalid %s: %s", subject, i.Failures[0])
	}
	var b strings.Builder
	total := len(i.Failures) + i.More
	fmt.Fprintf(&b, "invalid %s, %d problems:", subject, total)
	shown := 0
	for _, f := range i.Failures {
		line := f.String()
		if b.Len()+len(line) > maxText {
			break
		}
		b.WriteString("\n- " + line)
		shown++
	}
	if shown < total {
		fmt.Fprintf(&b, "\nand %d more", total-shown)
	}
	return b.String()
}
