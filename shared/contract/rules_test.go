package contract

import (
	"bytes"
	"flag"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite the golden files of testdata")

// generated is the rules whose bad file is made here, since it would be a burden to the repository.
func generated() map[string][]byte {
	return map[string][]byte{"json-size": bytes.Repeat([]byte(" "), MaxFileBytes+1)}
}

// Every rule has a folder of its own with a file that breaks it, and every problem found there in problems.txt.
func TestRulesAreBroken(t *testing.T) {
	t.Parallel()
	for _, rule := range Rules() {
		t.Run(rule.ID, func(t *testing.T) {
			t.Parallel()
			problems := badProblems(t, rule.ID)
			if !slices.ContainsFunc(problems, func(p Problem) bool { return p.ID == rule.ID && p.Severity == rule.Severity }) {
				t.Errorf("no problem is of rule %s with severity %s:\n%s", rule.ID, rule.Severity, problems.Error())
			}
			if _, made := generated()[rule.ID]; !made {
				checkGolden(t, filepath.Join("testdata", "bad", rule.ID, "problems.txt"), problems.Error()+"\n")
			}
		})
	}
}

// badProblems reads what testdata has for a rule: one tool.json, or a folder of tools.
func badProblems(t *testing.T, id string) Problems {
	t.Helper()
	if data, ok := generated()[id]; ok {
		_, problems := Parse("tool.json", data)
		return problems
	}
	dir := filepath.Join("testdata", "bad", id)
	data, err := os.ReadFile(filepath.Join(dir, "tool.json"))
	if err != nil {
		return folderProblems(dir)
	}
	_, problems := Parse("tool.json", data)
	return problems
}

func folderProblems(dir string) Problems {
	set, problems := LoadDir(dir)
	if set != nil {
		problems = append(problems, CheckTools(set.Tools, ServerLimits{MaxCallSeconds: 29})...)
	}
	return problems
}

func checkGolden(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatalf("%v (run the tests of this package with -update)", err)
	}
	if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got, "\n")); diff != "" {
		t.Errorf("%s differs (-want +got):\n%s", file, diff)
	}
}

func TestRulesAreComplete(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, rule := range Rules() {
		if seen[rule.ID] {
			t.Errorf("the rule %s is listed twice", rule.ID)
		}
		seen[rule.ID] = true
		if rule.What == "" || rule.Why == "" || rule.Source == "" {
			t.Errorf("the rule %s lacks What, Why or Source: %+v", rule.ID, rule)
		}
		if got, ok := Explain(rule.ID); !ok || got != rule {
			t.Errorf("Explain(%q) = %+v, %v", rule.ID, got, ok)
		}
	}
	if _, ok := Explain("no-such-rule"); ok {
		t.Error("Explain knows a rule that does not exist")
	}
}

// A problem whose id is not in the table would have no explanation; an id that no code uses explains nothing.
func TestRulesAreUsed(t *testing.T) {
	t.Parallel()
	used := usedIDs(t)
	for _, rule := range Rules() {
		if !used[rule.ID] {
			t.Errorf("no code reports the rule %s", rule.ID)
		}
		delete(used, rule.ID)
	}
	for id := range used {
		t.Errorf("the id %q is reported, but is not in the table", id)
	}
}

// usedIDs collects the first constant string of every call that reports a problem.
func usedIDs(t *testing.T) map[string]bool {
	t.Helper()
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	used := map[string]bool{}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(parsed, func(n ast.Node) bool {
			if call, ok := n.(*ast.CallExpr); ok {
				collectID(call, used)
			}
			return true
		})
	}
	return used
}

// collectID knows where each reporting function has its id.
func collectID(call *ast.CallExpr, used map[string]bool) {
	name := ""
	switch f := call.Fun.(type) {
	case *ast.Ident:
		name = f.Name
	case *ast.SelectorExpr:
		name = f.Sel.Name
	}
	index, reports := map[string]int{"report": 0, "fault": 0, "checkNames": 0, "problem": 1, "reportAt": 1}[name]
	if !reports {
		return
	}
	for _, argument := range call.Args[index:min(index+2, len(call.Args))] {
		literal, ok := argument.(*ast.BasicLit)
		if !ok || literal.Kind != token.STRING {
			continue
		}
		if id, err := strconv.Unquote(literal.Value); err == nil && strings.Contains(id, "-") {
			used[id] = true
			return
		}
	}
}
