// Package wire holds conversations with an MCP endpoint as data, and plays them.
//
// A case is one or more HTTP requests, sent byte for byte, and what each answer must be. The cases lie in
// testdata/*.wire by topic, in a line format that leaves out what is the same in every request; doc.go describes it.
// Every case says whether the specification demands the answer ("spec") or leaves it open and this project chose it
// ("policy"), and where that is written.
package wire

import (
	"context"
	"embed"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"testing"
	"time"
)

//go:embed testdata/*.wire testdata/guarded/*.wire
var data embed.FS

// answerWithin bounds one request and its answer, so that a hanging server fails a case instead of the test run.
const answerWithin = 30 * time.Second

// Case is one conversation.
type Case struct {
	// Name is unique among all cases.
	Name string
	// Level is "spec" or "policy".
	Level string
	// Source is the specification page or document that the expectation comes from.
	Source string
	// File and Line say where the case begins.
	File string
	Line int
	// Steps are played in order; the first one that falls short ends the case.
	Steps []*Step
}

// Names returns the names of all files of cases, without the extension, sorted.
func Names() []string {
	files, err := fs.Glob(data, "testdata/*.wire")
	if err != nil {
		panic(err) // The pattern is a constant.
	}
	names := make([]string, len(files))
	for i, file := range files {
		names[i] = strings.TrimSuffix(path.Base(file), ".wire")
	}
	slices.Sort(names)
	return names
}

// Guarded names the file of cases for a server that asks its callers for tokens. It is none of Names, since what its
// cases need must be given to them.
const Guarded = "guarded/authorization"

// Load parses one file of cases, named as Names does, or Guarded. The error names file and line of what is wrong.
func Load(name string) ([]*Case, error) {
	text, err := data.ReadFile("testdata/" + name + ".wire")
	if err != nil {
		return nil, fmt.Errorf("reading wire cases %q: %w", name, err)
	}
	return parse(name+".wire", string(text))
}

// Run plays the cases of the named files against the MCP endpoint at url, each as a subtest; without names those of
// all files.
func Run(t *testing.T, url string, files ...string) {
	t.Helper()
	if len(files) == 0 {
		files = Names()
	}
	for _, file := range files {
		runFile(t, url, nil, file)
	}
}

// RunGuarded plays the cases of Guarded as Run does. Given are the variables that they find, such as tokens.
func RunGuarded(t *testing.T, url string, given map[string]string) {
	t.Helper()
	runFile(t, url, given, Guarded)
}

func runFile(t *testing.T, url string, given map[string]string, file string) {
	t.Helper()
	cases, err := Load(file)
	if err != nil {
		t.Fatal(err)
	}
	t.Run(file, func(t *testing.T) { runAll(t, url, given, cases) })
}

func runAll(t *testing.T, url string, given map[string]string, cases []*Case) {
	for _, c := range cases {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			if err := c.play(t.Context(), url, given); err != nil {
				t.Errorf("%s:%d [%s: %s]: %v", c.File, c.Line, c.Level, c.Source, err)
			}
		})
	}
}

// Play sends the requests of the case to url and checks their answers. The error says which step fell short and lists
// everything that was wrong with its answer.
func (c *Case) Play(ctx context.Context, url string) error { return c.play(ctx, url, nil) }

func (c *Case) play(ctx context.Context, url string, given map[string]string) error {
	variables := map[string]any{}
	for name, value := range given {
		variables[name] = value
	}
	for i, step := range c.Steps {
		if err := step.play(ctx, url, variables); err != nil {
			return fmt.Errorf("step %d: %w", i+1, err)
		}
	}
	return nil
}

func (s *Step) play(ctx context.Context, url string, variables map[string]any) error {
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	request, err := s.request(url, variables)
	if err != nil {
		return err
	}
	answer, err := send(ctx, url, request)
	if err != nil {
		return err
	}
	return s.check(answer, variables)
}
