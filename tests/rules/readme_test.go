package rules

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"patchbay/shared/contract"
)

var (
	listing = regexp.MustCompile("(?s)<!-- listing: (\\S+) -->\n```[a-z]*\n(.*?)```")
	message = regexp.MustCompile("(?s)<!-- message: (\\S+) (\\{[^\n]*\\}) -->\n```[a-z]*\n(.*?)\n```")
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

// saysInvalid is how package toolcall tells a model of arguments that its schema refuses.
const saysInvalid = "The call of %s has %s"

// The README's examples of what a model reads are what it reads: a marker before a block names a tool's folder and
// the arguments of a call.
func TestMessagesInTheReadmeAreReal(t *testing.T) {
	t.Parallel()
	if source := read(t, "dispatcher/toolcall/arguments.go"); !strings.Contains(source, strconv.Quote(saysInvalid)) {
		t.Errorf("package toolcall does not say %q any more; this test must say what it does", saysInvalid)
	}
	matches := message.FindAllStringSubmatch(read(t, "README.md"), -1)
	if len(matches) == 0 {
		t.Error("the README shows no message; a newcomer must see what a model reads when it is wrong")
	}
	for _, match := range matches {
		file := match[1] + "/tool.json"
		tool, problems := contract.Parse(file, []byte(read(t, file)))
		if err := problems.Err(); err != nil {
			t.Fatal(err)
		}
		schema, err := tool.InputSchema()
		if err != nil {
			t.Fatal(err)
		}
		_, invalid := schema.Check(json.RawMessage(match[2]))
		if invalid == nil {
			t.Fatalf("%s takes the arguments %s", tool.Name, match[2])
		}
		if want := fmt.Sprintf(saysInvalid, tool.Name, invalid.Error()); match[3] != want {
			t.Errorf("the message of %s is stale; a model that calls with %s reads:\n%s", tool.Name, match[2], want)
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
