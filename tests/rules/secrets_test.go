package rules

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"patchbay/shared/contract"
)

// What reads secrets is for tools that declare some: the clients of two services make a program larger by a third.
func TestOnlyToolsWithSecretsLinkWhatReadsThem(t *testing.T) {
	t.Parallel()
	const services = "github.com/aws/aws-sdk-go-v2/service/"
	with, without := 0, 0
	for _, p := range packages(t) {
		if !strings.HasPrefix(p.ImportPath, "patchbay/functions/") || p.Name != "main" {
			continue
		}
		file := filepath.Join("functions", filepath.Base(p.Dir), "tool.json")
		tool, problems := contract.Parse(file, []byte(read(t, file)))
		if err := problems.Err(); err != nil {
			t.Fatal(err)
		}
		declares := len(tool.Contract.Function.Secrets) > 0
		links := slices.Contains(p.Deps, services+"secretsmanager") || slices.Contains(p.Deps, services+"ssm")
		switch {
		case links && !declares:
			t.Errorf("%s links what reads secrets, and its contract names none under function.secrets", p.ImportPath)
		case !links && declares:
			t.Errorf("%s declares secrets and does not open them; see shared/secret", p.ImportPath)
		case declares:
			with++
		default:
			without++
		}
	}
	if with == 0 || without == 0 {
		t.Errorf("%d tools with secrets and %d without; the rule needs both kinds", with, without)
	}
}
