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

// The listings of the README and of the documents are files that are built and tested, to the letter.
func TestListingsAreTheFiles(t *testing.T) {
	t.Parallel()
	if !listing.MatchString(read(t, "README.md")) {
		t.Error("the README has no listing; a newcomer must see a whole tool")
	}
	for _, document := range documents(t) {
		for _, match := range listing.FindAllStringSubmatch(read(t, document), -1) {
			if file := read(t, match[1]); file != match[2] {
				t.Errorf("%s: the listing of %s is stale; copy the file into it", document, match[1])
			}
		}
	}
}

// documents are the README and what is under docs, seen from the root.
func documents(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root, "docs", "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	names := []string{"README.md"}
	for _, file := range files {
		names = append(names, filepath.Join("docs", filepath.Base(file)))
	}
	return names
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

// codeBlock is what is no text, where brackets and parentheses are no link.
var codeBlock = regexp.MustCompile("(?ms)^```.*?^```$")

// Links between the documents lead somewhere.
func TestLinksInDocuments(t *testing.T) {
	t.Parallel()
	for _, document := range documents(t) {
		text := codeBlock.ReplaceAllString(read(t, document), "")
		for _, match := range link.FindAllStringSubmatch(text, -1) {
			if strings.Contains(match[1], "://") {
				continue
			}
			if _, err := os.Stat(filepath.Join(root, filepath.Dir(document), match[1])); err != nil {
				t.Errorf("%s links to %s: %v", document, match[1], err)
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
