package tutorial

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const sample = "# How\n\nText.\n\n<!-- file: a/b.txt -->\n```go\npackage a\n```\n\n" +
	"<!-- keep running -->\n```sh\nserve\n```\n" +
	"```sh\nls\n```\nprints\n```text\na …\n```\n\n```text\nnot an output\n```\n<!-- fails -->\n```sh\nfalse\n```\n" +
	"<!-- interrupt -->\n<!-- not run: it opens a browser -->\n```sh\nopen\n```\n"

func TestReadDocument(t *testing.T) {
	t.Parallel()
	steps, err := readDocument(write(t, sample))
	if err != nil {
		t.Fatal(err)
	}
	output := "a …\n"
	want := []step{
		{kind: writeFile, line: 7, path: "a/b.txt", text: "package a\n"},
		{kind: keepRunning, line: 12, text: "serve\n"},
		{kind: runCommand, line: 15, text: "ls\n", output: &output},
		{kind: runCommand, line: 27, text: "false\n", fails: true},
		{kind: interrupt, line: 29},
	}
	if diff := cmp.Diff(want, steps, cmp.AllowUnexported(step{})); diff != "" {
		t.Errorf("steps (-want +got):\n%s", diff)
	}
}

// A slip of the pen in a tutorial must not make its test run less.
func TestDocumentsThatSayNothingClear(t *testing.T) {
	t.Parallel()
	for text, says := range map[string]string{
		"```sh\nls\n":                             "without an end",
		"<!-- keep runing -->\n```sh\nls\n```\n":  "allowed: file: PATH",
		"<!-- fails -->\n\nText.\n":               "has no block behind it",
		"<!-- fails -->\n```go\npackage a\n```\n": "before a block of",
		"``` sh\nls\n```\n":                       "allowed: ``` and a language",
		"<!-- not run -->\n```sh\nls\n```\n":      "not run: REASON",
	} {
		if _, err := readDocument(write(t, text)); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %v; want an error that says %s", text, err, says)
		}
	}
}

func TestMatches(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		shown, output string
		want          bool
	}{
		{"ok\n", "ok\n", true},
		{"ok\n", "ok", true},
		{"ok\n", "ok\nmore\n", false},
		{"ok …\n", "ok 1.2s\n", true},
		{"ok … B\n", "ok 1\n2 B\n", false},
		{"a\n…\nb\n", "a\nb\n", true},
		{"a\n…\nb\n", "a\nx\ny\nb\n", true},
		{"…\nb\n", "x\nb\n", true},
		{"a.c\n", "abc\n", false},
		{"", "", true},
		{"", "x\n", false},
	} {
		if got := matches(test.shown, test.output); got != test.want {
			t.Errorf("%q shows %q: %t", test.shown, test.output, got)
		}
	}
}

func write(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "tutorial.md")
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}
