package lint

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite what the documents say of the rules")

// The page that authors read lists every rule of this package, as Rules has it.
func TestDocumentListsEveryRule(t *testing.T) {
	t.Parallel()
	const begin = "<!-- rules: written by go test ./scripts/lint -update -->\n"
	const end = "<!-- end of rules -->\n"
	name := filepath.Join("..", "..", "docs", "lint.md")
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := strings.Cut(string(data), begin)
	got, after, ended := strings.Cut(rest, end)
	if !found || !ended {
		t.Fatal("the document has lost its marks for the rules")
	}
	want := rulesTable()
	if got == want {
		return
	}
	if !*update {
		t.Fatal("the document's rules are not those of the code; run the tests of this package with -update")
	}
	if err := os.WriteFile(name, []byte(before+begin+want+end+after), 0o644); err != nil {
		t.Fatal(err)
	}
}

func rulesTable() string {
	var b strings.Builder
	b.WriteString("| rule | what is so | why | source |\n|---|---|---|---|\n")
	for _, r := range adviceRules() {
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", r.ID, r.What, r.Why, r.Source)
	}
	return b.String()
}
