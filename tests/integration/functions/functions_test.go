// Package functions_test checks the fixture tools before any stack serves them.
package functions_test

import (
	"testing"

	"patchbay/shared/contract"
)

// The fixtures are published like real tools, so their contracts must lint clean.
func TestContracts(t *testing.T) {
	t.Parallel()
	set, problems := contract.LoadDir(".")
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	if set.Server.Name != "patchbay-fixtures" {
		t.Errorf("server name %q", set.Server.Name)
	}
	if len(set.Tools) < 30 {
		t.Errorf("%d tools, want at least 30", len(set.Tools))
	}
}

// The conformance suite takes the first tool of the list for its header checks, with no arguments, and the first one
// with a mirrored parameter for its parameter checks, which must be a string.
func TestOrder(t *testing.T) {
	t.Parallel()
	set, problems := contract.LoadDir(".")
	if set == nil {
		t.Fatal(problems)
	}
	first := set.Tools[0]
	schema, err := first.InputSchema()
	if err != nil {
		t.Fatal(err)
	}
	if err := schema.Validate([]byte(`{}`)); err != nil {
		t.Errorf("%s is the first tool and must take no arguments: %v", first.Name, err)
	}
	for _, tool := range set.Tools {
		if len(tool.HeaderParams) == 0 {
			continue
		}
		if param := tool.HeaderParams[0]; param.Type != "string" || len(param.Path) != 1 {
			t.Errorf("%s is the first tool with a mirrored parameter, but %v is no string", tool.Name, param.Path)
		}
		return
	}
	t.Error("no tool has a mirrored parameter")
}
