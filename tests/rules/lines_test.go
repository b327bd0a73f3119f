package rules

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"
)

// maxColumns is the longest line of Go code in characters; a tab counts as one.
const maxColumns = 120

func TestLinesFitOnAScreen(t *testing.T) {
	t.Parallel()
	files := 0
	for _, path := range goFiles(t) {
		files++
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		number := 0
		for line := range strings.Lines(string(text)) {
			number++
			if columns := utf8.RuneCountInString(strings.TrimRight(line, "\r\n")); columns > maxColumns && !isLink(line) {
				t.Errorf("%s:%d has %d columns; more than %d do not fit beside a second file on a screen",
					strings.TrimPrefix(path, root+"/"), number, columns, maxColumns)
			}
		}
	}
	if files < 100 {
		t.Errorf("found %d Go files only; the rule looks in the wrong place", files)
	}
}

// isLink reports whether a line is a comment with one address, which cannot be broken.
func isLink(line string) bool {
	words := strings.Fields(line)
	return len(words) <= 3 && words[0] == "//" && strings.Contains(words[len(words)-1], "://")
}

// goFiles returns the module's Go files. Test data, and what is installed or built here, is not ours to format.
func goFiles(t *testing.T) []string {
	t.Helper()
	var files []string
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		name := entry.Name()
		switch {
		case err != nil:
			return err
		case path == root:
		case entry.IsDir() && (name[0] == '.' || name == "testdata" || name == "node_modules"):
			return fs.SkipDir
		case filepath.Ext(name) == ".go":
			files = append(files, path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}
