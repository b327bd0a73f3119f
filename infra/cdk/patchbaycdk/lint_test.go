package patchbaycdk

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"patchbay/scripts/nodemodules"
	"patchbay/scripts/pytools"
)

// cfn-lint holds templates to CloudFormation's own descriptions of its resources. What it may let pass stands, with
// reasons, in .cfnlintrc.yaml.
func TestLinter(t *testing.T) {
	t.Parallel()
	bin, err := pytools.FindMoto(".")
	if errors.Is(err, pytools.ErrNotInstalled) && !nodemodules.Required(os.Getenv) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	settings, err := filepath.Abs("../.cfnlintrc.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for name, s := range map[string]*synthesized{
		"kept": teamServer(), "destroyed": destroyed(), "another stack": otherTeam(), "local": localServer(),
		"secured": securedServer(),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			files, err := filepath.Glob(filepath.Join(s.dir, "*.template.json"))
			if err != nil || len(files) < 2 {
				t.Fatalf("templates %v, %v", files, err)
			}
			arguments := append([]string{"--config-file", settings, "--"}, files...)
			if output, err := exec.Command(filepath.Join(bin, "cfn-lint"), arguments...).CombinedOutput(); err != nil {
				t.Errorf("%v\n%s", err, output)
			}
		})
	}
}
