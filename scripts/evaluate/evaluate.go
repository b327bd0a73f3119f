// Package evaluate runs recorded calls of tools and compares what comes back with what was written down. The format of
// its files is described in docs/eval.md.
package evaluate

import (
	"encoding/json"
	"regexp"
)

// FileName is the name of the file of recorded calls in a tool's folder.
const FileName = "eval.yaml"

// File is a file of recorded calls.
type File struct {
	// Path is how the file was named.
	Path string
	// Tool is what its steps call that name no other.
	Tool  string
	Cases []Case
}

// Case is one thing that is so of a tool.
type Case struct {
	Name string
	// Line is where the case begins in its file; the first line is 1.
	Line  int
	Steps []Step
}

// Step is a call, or several equal ones, and what must come back. Its values may have placeholders, $(name).
type Step struct {
	Line int
	Tool string
	// Arguments is an object.
	Arguments map[string]any
	// Key is the idempotency key; empty sends none.
	Key string
	// Confirm is what a person does when asked to confirm the call, Answers what when the tool asks something, one
	// question after another. Without either nobody can be asked.
	Confirm string
	Answers []Reply
	// Repeat is how often the call is made, at least once.
	Repeat int
	Expect Expect
	Save   []Saving
}

// attended reports whether there is a person to ask.
func (s Step) attended() bool { return s.Confirm != "" || len(s.Answers) > 0 }

// Reply is what a person does with a question of the tool.
type Reply struct {
	Action  string
	Content map[string]any
}

// Saving takes a value out of a result, for later steps.
type Saving struct {
	Name string
	// Pointer is a JSON Pointer into the structured content; else Pattern is searched in the text.
	Pointer string
	Pattern *regexp.Regexp
}

// Expect is what must come back. Nil is not looked at; values are matched as docs/eval.md says.
type Expect struct {
	// Result, Content and Meta are matched with the members structuredContent, content and _meta of the result.
	Result, Content, Meta any
	// Text and Asked are matched with the text of the result and with the questions to a person: a string or a list of
	// strings, which are parts of it, or a mapping.
	Text, Asked any
	// IsError: the result is an error, and where Failure is not empty, the declared failure mode of that code.
	IsError bool
	Failure string
	// Refused: there is no result.
	Refused *Refused
	// MinProgress is how many reports of progress come at least, MaxResultBytes how large the result may be; 0 is any.
	MinProgress, MaxResultBytes int
}

// Refused is what must be so of a request that is refused; zero values are not looked at.
type Refused struct {
	Status int
	Code   int64
	Text   string
}

// null is how a value that must be null is told from one that is not looked at.
var null = json.RawMessage("null")
