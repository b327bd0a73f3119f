package patchbaycdk

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// A module that only requires this one builds the control functions by its own go.sum, which knows what it imports.
func TestWhatTheControlFunctionsImportIsImportedHere(t *testing.T) {
	t.Parallel()
	here := modulesOf(t, "patchbay/infra/cdk/patchbaycdk")
	for _, program := range []string{dispatcherPackage, registrarPackage, authorizerPackage} {
		for _, module := range modulesOf(t, program) {
			if !slices.Contains(here, module) {
				t.Errorf("%s needs the module %s, which nothing here imports; see imports.go", program, module)
			}
		}
	}
}

func modulesOf(t *testing.T, pkg string) []string {
	t.Helper()
	command := exec.CommandContext(t.Context(), "go", "list", "-deps", "-f", "{{with .Module}}{{.Path}}{{end}}", pkg)
	output, err := command.Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.Fields(string(output))
}
