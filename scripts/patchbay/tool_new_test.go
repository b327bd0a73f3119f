package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// newIn runs tool new on a folder of functions in no module, where tools in Python can be made.
func newIn(t *testing.T, functions string, args ...string) (string, error) {
	t.Helper()
	return run(append([]string{"tool", "new", "--lang", "python", "--functions", functions}, args...)...)
}

// Who has made a tool reads what it is, what is left to decide and what to do next.
func TestToolNewTellsWhatIsNext(t *testing.T) {
	t.Parallel()
	functions := filepath.Join(t.TempDir(), "functions")
	out, err := newIn(t, functions, "cancel_order")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`of high risk (for the name says "cancel"; choose another by --risk)`, "app.py", "There was no ",
		`marked "Decide:" in app.py`, "order:cancel is made up", "python3 -m unittest discover functions/cancel_order",
		"go tool patchbay local --watch --auth", "--arg subject='return of a damaged lamp'",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("does not say %s:\n%s", want, out)
		}
	}
	if strings.Contains(out, "lint finds") {
		t.Errorf("lint finds something in what was just written:\n%s", out)
	}
	if out, err = newIn(t, functions, "find_parcel", "--json"); err != nil {
		t.Fatal(err)
	}
	var made newTool
	if err := json.Unmarshal([]byte(out), &made); err != nil || made.Name != "find_parcel" || len(made.Files) != 5 {
		t.Fatalf("--json gives %s, %v", out, err)
	}
	for _, file := range made.Files {
		if _, err := os.Stat(file); err != nil {
			t.Error(err)
		}
	}
}

// What is wrong with a name shows before there is code behind it.
func TestToolNewTellsWhatLintFinds(t *testing.T) {
	t.Parallel()
	functions := filepath.Join(t.TempDir(), "functions")
	if _, err := newIn(t, functions, "find_order"); err != nil {
		t.Fatal(err)
	}
	out, err := newIn(t, functions, "find_orders", "--description", "Finds parcels by their number. Use it for parcels.")
	if err != nil || !strings.Contains(out, "[name-near]") || strings.Contains(out, "[description-near]") {
		t.Errorf("%v, %s", err, out)
	}
}

// A wrong command is told from a folder that is in the way.
func TestToolNewExitCodes(t *testing.T) {
	t.Parallel()
	functions := filepath.Join(t.TempDir(), "functions")
	if _, err := newIn(t, functions, "find_order"); err != nil {
		t.Fatal(err)
	}
	for line, code := range map[string]int{
		"find_order":              exitFailed,
		"find_orders --risk none": exitUsage,
		"find_orders --state a":   exitUsage,
		"7up":                     exitUsage,
		"":                        exitUsage,
	} {
		if _, err := newIn(t, functions, strings.Fields(line)...); err == nil || exitCode(err) != code {
			t.Errorf("tool new %s: %v, exit code %d; want %d", line, err, exitCode(err), code)
		}
	}
}
