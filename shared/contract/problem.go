package contract

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
)

// Severity says whether a problem stops a tool from being published.
type Severity string

// An error stops the tool; a warning is shown and nothing more.
const (
	SeverityError   Severity = "error"
	SeverityWarning Severity = "warning"
)

// Problem is one fault of a tool.json or server.json.
type Problem struct {
	// File is the file's name as it was given to the reader.
	File string `json:"file"`
	// Line and Column are where the fault is in the file, counted from 1, columns in characters; 0 when it is of no place.
	Line   int `json:"line,omitempty"`
	Column int `json:"column,omitempty"`
	// Pointer is the JSON Pointer (RFC 6901) of the value at fault; empty for the whole file.
	Pointer string `json:"pointer"`
	// Related is the file of the other tool, where a fault is between two; empty where it is not.
	Related string `json:"related,omitempty"`
	// ID names the rule; Explain tells why it exists.
	ID string `json:"id"`
	// Message is what is wrong.
	Message string `json:"message"`
	// Allowed is what would be right; empty when the message says it all.
	Allowed  string   `json:"allowed,omitempty"`
	Severity Severity `json:"severity"`
}

// String is the problem in one line: "file:line:column pointer: what is wrong; allowed: what would be right [id]". Many
// terminals and editors lead from its beginning to the place.
func (p Problem) String() string {
	var b strings.Builder
	b.WriteString(p.Place())
	if p.Pointer != "" {
		b.WriteString(" " + p.Pointer)
	}
	b.WriteString(": ")
	if p.Severity == SeverityWarning {
		b.WriteString("warning: ")
	}
	b.WriteString(p.Message)
	if p.Allowed != "" {
		b.WriteString("; allowed: " + p.Allowed)
	}
	b.WriteString(" [" + p.ID + "]")
	return strings.Map(func(r rune) rune {
		if r == '\n' || r == '\r' {
			return ' '
		}
		return r
	}, b.String())
}

// Place is the file, with line and column where they are known, as in "functions/get_weather/tool.json:12:5".
func (p Problem) Place() string {
	if p.Line == 0 {
		return p.File
	}
	return p.File + ":" + strconv.Itoa(p.Line) + ":" + strconv.Itoa(p.Column)
}

// Problems is every fault that was found, in the order of file, pointer and id. It is an error; to return it as one,
// use Err, since a list that holds warnings alone is no failure.
type Problems []Problem

// Error lists all problems, one per line.
func (ps Problems) Error() string {
	lines := make([]string, len(ps))
	for i, p := range ps {
		lines[i] = p.String()
	}
	return strings.Join(lines, "\n")
}

// Errors returns the problems that stop a tool.
func (ps Problems) Errors() Problems { return ps.only(SeverityError) }

// Warnings returns the problems that do not stop a tool.
func (ps Problems) Warnings() Problems { return ps.only(SeverityWarning) }

// Err returns nil when there are no errors, else the errors (without the warnings) as an error.
func (ps Problems) Err() error {
	if errors := ps.Errors(); len(errors) > 0 {
		return errors
	}
	return nil
}

func (ps Problems) only(s Severity) Problems {
	var found Problems
	for _, p := range ps {
		if p.Severity == s {
			found = append(found, p)
		}
	}
	return found
}

// sorted orders the problems, so that the same file gives the same text every time.
func (ps Problems) sorted() Problems {
	slices.SortStableFunc(ps, func(a, b Problem) int {
		return cmp.Or(
			strings.Compare(a.File, b.File),
			strings.Compare(a.Pointer, b.Pointer),
			strings.Compare(a.ID, b.ID),
			strings.Compare(a.Message, b.Message),
		)
	})
	return ps
}
