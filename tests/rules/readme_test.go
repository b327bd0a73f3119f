package rules

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	listing = regexp.MustCompile("(?s)<!-- listing: (\\S+) -->\n```[a-z]*\n(.*?)```")
	link    = regexp.MustCompile(`\]\(([^)#]+)(?:#[^)]*)?\)`)
)

// The README's listings are files that are built and tested, to the letter.
func TestListingsInTheReadmeAreTheFiles(t *testing.T) {
	t.Parallel()
	readme := read(t, "README.md")
	matches := listing.FindAllStringSubmatch(readme, -1)
	if len(matches) == 0 {
		t.Fatal("the README has no listing; a newcomer must see a whole tool")
	}
	for _, match := range matches {
		if file := read(t, match[1]); file != match[2] {
			t.Errorf("the listing of %s is stale; copy the file into the README", match[1])
		}
	}
}

// Links between the documents lead somewhere.
func TestLinksInDocuments(t *testing.T) {
	t.Parallel()
	documents, err := filepath.Glob(filepath.Join(root, "docs", "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, document := range append(documents, filepath.Join(root, "README.md")) {
		text, err := os.ReadFile(document)
		if err != nil {
			t.Fatal(err)
		}
		for _, match := range link.FindAllStringSubmatch(string(text), -1) {
			if strings.Contains(match[1], "://") {
				continue
			}
			if _, err := os.Stat(filepath.Join(filepath.Dir(document), match[1])); err != nil {
				t.Errorf("%s links to %s: %v", filepath.Base(document), match[1], err)
			}
		}
	}
}

func read(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(root, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
