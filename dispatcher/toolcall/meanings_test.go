package toolcall

import (
	"go/ast"
	"go/parser"
	"go/token"
	"regexp"
	"strconv"
	"testing"
)

// Every outcome counts as something, and what it counts as is written in one place.
func TestEveryOutcomeHasAMeaning(t *testing.T) {
	t.Parallel()
	file, err := parser.ParseFile(token.NewFileSet(), "outcome.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	ast.Inspect(file, func(node ast.Node) bool {
		spec, ok := node.(*ast.ValueSpec)
		if !ok {
			return true
		}
		if kind, ok := spec.Type.(*ast.Ident); !ok || kind.Name != "outcome" {
			return true
		}
		for i, name := range spec.Names {
			found++
			value, err := strconv.Unquote(spec.Values[i].(*ast.BasicLit).Value)
			if err != nil {
				t.Fatal(err)
			}
			if _, known := meanings[outcome(value)]; !known {
				t.Errorf("%s has no meaning; say in measure.go what it counts as", name.Name)
			}
		}
		return true
	})
	if found != len(meanings) || found < 30 {
		t.Errorf("outcome.go has %d outcomes, and %d have a meaning", found, len(meanings))
	}
}

// A refusal's outcome is the value of a dimension.
func TestMeaningsAreClear(t *testing.T) {
	t.Parallel()
	word := regexp.MustCompile(`^[a-z_]{2,40}$`)
	for outcome, means := range meanings {
		if !word.MatchString(string(outcome)) {
			t.Errorf("the outcome %q is no word", outcome)
		}
		if means.failed && means.refused {
			t.Errorf("%s is a failure on this side and on the caller's", outcome)
		}
	}
}
