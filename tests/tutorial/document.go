// Package tutorial runs the tutorials of docs/ as a reader would: in a fresh clone, every command as it is written,
// every file with the content that is shown, and every output held against what the text says.
//
// What a tutorial says is told by its Markdown alone. A block of sh is run; the block of text behind it is what it
// prints, where … stands for whatever is different each time, and a line of … alone for any number of lines. A comment
// before a block says what else is to be done with it:
//
//	<!-- file: PATH -->          the block is the whole content of this file
//	<!-- keep running -->        the command runs until the tutorial ends, in a terminal of its own
//	<!-- interrupt -->           the reader presses Ctrl-C in that terminal; stands alone
//	<!-- when it is live -->     the reader tries again until what was saved is served
//	<!-- fails -->               the command ends with another exit code than 0
//	<!-- not run: REASON -->     the command is for the reader only
package tutorial

import (
	"fmt"
	"os"
	"regexp"
	"strings"
)

// kind is what a reader does at a step.
type kind string

const (
	writeFile   kind = "file"
	runCommand  kind = "run"
	keepRunning kind = "keep running"
	interrupt   kind = "interrupt"
)

// step is one thing that a reader does.
type step struct {
	kind kind
	// line is where the step is in the document.
	line int
	// path is the file that is written, and text its content or the command.
	path, text string
	// fails: the command has another exit code than 0. again: it is given again until it is as the text says.
	fails, again bool
	// output is what the command prints; nil where the text does not say.
	output *string
}

var (
	comment = regexp.MustCompile(`^<!-- (.*) -->$`)
	fence   = regexp.MustCompile("^```([a-z]*)$")
)

// readDocument returns the steps of a tutorial.
func readDocument(path string) ([]step, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("reading a tutorial: %w", err)
	}
	r := reader{path: path, lines: strings.Split(string(data), "\n")}
	for r.at < len(r.lines) {
		if err := r.next(); err != nil {
			return nil, err
		}
	}
	return r.steps, nil
}

// reader is on its way through a document.
type reader struct {
	path  string
	lines []string
	at    int
	// said is the comment before the current block.
	said  string
	steps []step
	// answers: the next block of text is what the last step prints.
	answers bool
}

func (r *reader) next() error {
	line := r.lines[r.at]
	r.at++
	if match := comment.FindStringSubmatch(line); match != nil {
		r.said = match[1]
		if r.said == string(interrupt) {
			r.steps, r.said, r.answers = append(r.steps, step{kind: interrupt, line: r.at}), "", false
		}
		return nil
	}
	if match := fence.FindStringSubmatch(line); match != nil {
		return r.block(match[1])
	}
	if strings.HasPrefix(line, "```") {
		return fmt.Errorf("%s:%d: a block that begins with %q; allowed: ``` and a language", r.path, r.at, line)
	}
	if strings.TrimSpace(line) != "" && r.said != "" {
		return fmt.Errorf("%s:%d: <!-- %s --> has no block behind it", r.path, r.at, r.said)
	}
	return nil
}

// block reads what a fence of a language encloses.
func (r *reader) block(language string) error {
	began := r.at
	var text strings.Builder
	for ; r.at < len(r.lines) && r.lines[r.at] != "```"; r.at++ {
		text.WriteString(r.lines[r.at] + "\n")
	}
	if r.at == len(r.lines) {
		return fmt.Errorf("%s:%d: a block without an end", r.path, began)
	}
	r.at++
	said := r.said
	r.said = ""
	made, err := r.step(language, said, text.String())
	if err != nil {
		return fmt.Errorf("%s:%d: %w", r.path, began, err)
	}
	if made == nil {
		return nil
	}
	made.line = began + 1
	r.steps, r.answers = append(r.steps, *made), made.kind == runCommand
	return nil
}

// step is what a reader does with a block; nil for one that is only read.
func (r *reader) step(language, said, text string) (*step, error) {
	if path, isFile := strings.CutPrefix(said, "file: "); isFile {
		return &step{kind: writeFile, path: path, text: text}, nil
	}
	if language == "text" && r.answers {
		r.steps[len(r.steps)-1].output, r.answers = &text, false
		return nil, nil
	}
	if language != "sh" {
		if said != "" && !strings.HasPrefix(said, "listing: ") {
			return nil, fmt.Errorf("<!-- %s --> before a block of %q", said, language)
		}
		return nil, nil
	}
	switch {
	case said == "":
		return &step{kind: runCommand, text: text}, nil
	case said == "fails":
		return &step{kind: runCommand, text: text, fails: true}, nil
	case said == "when it is live":
		return &step{kind: runCommand, text: text, again: true}, nil
	case said == string(keepRunning):
		return &step{kind: keepRunning, text: text}, nil
	case strings.HasPrefix(said, "not run: "):
		return nil, nil
	}
	return nil, fmt.Errorf("<!-- %s -->; allowed: file: PATH, keep running, interrupt, fails, when it is live, "+
		"not run: REASON", said)
}

// matches reports whether an output is as a tutorial shows it.
func matches(shown, output string) bool {
	var pattern strings.Builder
	pattern.WriteString(`^`)
	for line := range strings.Lines(shown) {
		if line == "…\n" {
			pattern.WriteString(`(?:[^\n]*\n)*`)
			continue
		}
		parts := strings.Split(line, "…")
		for i, part := range parts {
			parts[i] = regexp.QuoteMeta(part)
		}
		pattern.WriteString(strings.Join(parts, `[^\n]*`))
	}
	pattern.WriteString(`$`)
	if output != "" && !strings.HasSuffix(output, "\n") {
		output += "\n"
	}
	return regexp.MustCompile(pattern.String()).MatchString(output)
}
