package contract

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// The reference that authors read is held to the code: fields, examples and checks.
func reference() string { return filepath.Join("..", "..", "docs", "tool-json.md") }

func TestReferenceNamesEveryField(t *testing.T) {
	t.Parallel()
	text := string(readFile(t, reference()))
	for _, kind := range []reflect.Type{reflect.TypeFor[definition](), reflect.TypeFor[authoredServer]()} {
		for _, path := range fieldPaths(kind, "") {
			if !strings.Contains(text, "\n| `"+path+"` | ") {
				t.Errorf("the reference has no row for %s", path)
			}
		}
	}
}

// fieldPaths lists the fields that hold values, the way that the reference writes them. The icons of a server are
// described with those of a tool.
func fieldPaths(t reflect.Type, prefix string) []string {
	var paths []string
	for name, field := range jsonFields(t) {
		path := prefix + name
		if field.Kind() == reflect.Pointer {
			field = field.Elem()
		}
		switch {
		case t == reflect.TypeFor[authoredServer]() && name == "icons":
			paths = append(paths, path)
		case field.Kind() == reflect.Struct:
			paths = append(paths, fieldPaths(field, path+".")...)
		case field.Kind() == reflect.Slice && field.Elem().Kind() == reflect.Struct:
			paths = append(paths, fieldPaths(field.Elem(), path+"[].")...)
		default:
			paths = append(paths, path)
		}
	}
	return paths
}

func TestReferenceExamplesAreGood(t *testing.T) {
	t.Parallel()
	const mark = "<!-- example -->\n```json\n"
	parts := strings.Split(string(readFile(t, reference())), mark)
	if len(parts) < 3 {
		t.Fatalf("the reference has %d examples, want at least 2", len(parts)-1)
	}
	for _, part := range parts[1:] {
		example, _, _ := strings.Cut(part, "```")
		if _, problems := Parse("docs/tool-json.md", []byte(example)); len(problems) > 0 {
			t.Errorf("an example has problems:\n%s", problems.Error())
		}
	}
}

func TestReferenceListsEveryCheck(t *testing.T) {
	t.Parallel()
	const begin = "<!-- checks: written by go test ./shared/contract -update -->\n"
	const end = "<!-- end of checks -->\n"
	text := string(readFile(t, reference()))
	before, rest, found := strings.Cut(text, begin)
	got, after, ended := strings.Cut(rest, end)
	if !found || !ended {
		t.Fatal("the reference has lost its marks for the checks")
	}
	want := checksTable()
	if got == want {
		return
	}
	if !*update {
		t.Fatal("the reference's checks are not those of Rules; run the tests of this package with -update")
	}
	if err := os.WriteFile(reference(), []byte(before+begin+want+end+after), 0o644); err != nil {
		t.Fatal(err)
	}
}

func checksTable() string {
	var b strings.Builder
	b.WriteString("| check | | what is so | why | source |\n|---|---|---|---|---|\n")
	for _, r := range Rules() {
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s |\n", r.ID, r.Severity, r.What, r.Why, r.Source)
	}
	return b.String()
}

// Bounds and lists of values stand in the reference too.
func TestReferenceHasTheBounds(t *testing.T) {
	t.Parallel()
	text := string(readFile(t, reference()))
	for path, want := range map[string]string{
		"contract.execution.timeoutSeconds": fmt.Sprintf("1–%d", MaxTimeoutSeconds),
		"contract.execution.memoryMB":       fmt.Sprintf("%d–%d", MinMemoryMB, MaxMemoryMB),
		"contract.execution.concurrency":    fmt.Sprintf("0–%d", MaxConcurrency),
		"contract.maxResultBytes":           fmt.Sprintf("1–%d; at most %d", MaxResultBytes, MaxRecordedResultBytes),
		"contract.function.environment":     fmt.Sprintf("at most %d bytes", MaxEnvironmentBytes),
		"contract.risk":                     codeList(RiskLow),
		"contract.confirmation":             codeList(ConfirmationNever),
		"contract.visibility":               codeList(VisibilityAlways),
		"contract.failureModes[].effect":    codeList(EffectNone),
		"contract.idempotency.mode":         codeList(IdempotencyNone),
		"contract.dryRun":                   codeList(DryRunNone),
		"contract.execution.network":        codeList(NetworkVPC),
		"contract.function.payload":         codeList(PayloadEnvelope),
		"contract.function.runtime":         codeList(RuntimeGo),
	} {
		rows := strings.Split(text, "\n")
		i := slices.IndexFunc(rows, func(row string) bool { return strings.HasPrefix(row, "| `"+path+"` |") })
		if i < 0 || !strings.Contains(rows[i], want) {
			t.Errorf("the row of %s does not say %s", path, want)
		}
	}
}

func codeList(c choice) string { return "`" + strings.Join(c.values(), "`, `") + "`" }

// The stored form and the file have the same field names, so that an operator reads in the catalogue what an author
// wrote.
func TestStoredContractHasTheAuthorsNames(t *testing.T) {
	t.Parallel()
	stored, err := json.Marshal(everything())
	if err != nil {
		t.Fatal(err)
	}
	c := newChecker("stored", stored)
	c.checkShape(c.root, reflect.TypeFor[Contract](), "")
	if len(c.problems) > 0 {
		t.Errorf("the stored form is none that an author could write:\n%s", c.problems.Error())
	}
}
