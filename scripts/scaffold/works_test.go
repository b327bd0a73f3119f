package scaffold

import (
	"go/format"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"patchbay/scripts/evaluate"
	"patchbay/scripts/lint"
	"patchbay/shared/contract"
)

// every returns a tool of every language and risk, and of every kind of handler.
func every() []Options {
	var all []Options
	for _, language := range Languages {
		for _, risk := range Risks {
			for _, verb := range []string{"find", "create", "cancel"} {
				all = append(all, Options{Name: verb + "_order", Language: language, Risk: risk})
			}
		}
		for _, name := range []string{"weather", "findOrder", "create_order", "cancel-order"} {
			all = append(all, Options{Name: name, Language: language})
		}
	}
	for _, risk := range Risks {
		all = append(all, Options{Name: "find_note", Risk: risk, State: "a-very-long_namespace"})
	}
	// Destroying at low risk is what lint warns of, and nobody gets it without asking for it.
	return slices.DeleteFunc(all, func(o Options) bool { return o.Name == "cancel_order" && o.Risk == "low" })
}

// written writes one tool, alone, into the functions folder that it returns.
func written(t *testing.T, options Options) (string, *Tool) {
	t.Helper()
	options.Functions = inModule(t)
	tool, err := New(options)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tool.Write(); err != nil {
		t.Fatal(err)
	}
	return options.Functions, tool
}

// A new tool has no fault, not even one that is only advice. Each is looked at alone, for two that were not edited yet
// do the same, which is worth a word.
func TestLintIsClean(t *testing.T) {
	t.Parallel()
	for _, options := range every() {
		functions, tool := written(t, options)
		if _, problems := contract.LoadDir(functions); len(problems) > 0 {
			t.Errorf("%s: %v", options.Name, problems)
		}
		report, err := lint.Run(functions, lint.Options{})
		if err != nil {
			t.Fatal(err)
		}
		for _, finding := range report.Findings {
			t.Errorf("%s: %v", options.Name, finding.Problem)
		}
		if _, err := evaluate.ReadFile(filepath.Join(tool.Folder, evaluate.FileName)); err != nil {
			t.Errorf("%s: %v", options.Name, err)
		}
	}
}

// The contract has what fits the risk.
func TestContractsFitTheRisk(t *testing.T) {
	t.Parallel()
	for _, options := range every() {
		functions, tool := written(t, options)
		set, problems := contract.LoadDir(functions)
		if set == nil {
			t.Fatal(problems)
		}
		k := set.Tools[0].Contract
		confirmed, audited := k.Confirmation == contract.ConfirmationAlways, k.AuditEvent != ""
		recorded := k.Idempotency.Mode == contract.IdempotencyKey
		if recorded == tool.ReadOnly() || (len(k.SideEffects) == 0) != tool.ReadOnly() {
			t.Errorf("%s: records calls: %v, side effects %v", tool.Name, recorded, k.SideEffects)
		}
		dangerous := tool.Risk.NeedsConfirmation()
		if confirmed != dangerous || (len(k.Permissions) > 0) != dangerous ||
			(k.DryRun != contract.DryRunNone) != dangerous ||
			audited != (dangerous || tool.Risk == contract.RiskMedium) {
			t.Errorf("%s of %s risk: %+v", tool.Name, tool.Risk, k)
		}
		if critical := tool.Risk == contract.RiskCritical; (k.StepUp != nil) != critical ||
			(k.DryRun == contract.DryRunRequired) != critical || (k.Visibility == contract.VisibilityPermitted) != critical {
			t.Errorf("%s of %s risk: %+v", tool.Name, tool.Risk, k)
		}
	}
}

// The files read as if somebody had written them: formatted, within the width of a screen, and with a place that is
// the author's to decide.
func TestFilesAreInForm(t *testing.T) {
	t.Parallel()
	for _, options := range every() {
		_, tool := written(t, options)
		files, err := tool.Files()
		if err != nil {
			t.Fatal(err)
		}
		if handler := string(files[0].Content); !strings.Contains(handler, "Decide: ") {
			t.Errorf("%s: %s leaves nothing to decide", tool.Name, files[0].Name)
		}
		for _, file := range files {
			text := string(file.Content)
			if formatted, err := format.Source(file.Content); filepath.Ext(file.Name) == ".go" && string(formatted) != text {
				t.Errorf("%s: %s is not formatted, %v", tool.Name, file.Name, err)
			}
			if strings.Contains(text, "{{") || strings.Contains(text, "\n\n\n\n") || !strings.HasSuffix(text, "\n") ||
				strings.HasSuffix(text, "\n\n") || strings.Contains(text, " \n") {
				t.Errorf("%s: %s is not in form:\n%s", tool.Name, file.Name, text)
			}
			for line := range strings.Lines(text) {
				if len(line) > 121 && filepath.Ext(file.Name) != ".json" {
					t.Errorf("%s: %s has a line of %d columns: %s", tool.Name, file.Name, len(line)-1, line)
				}
			}
		}
	}
}
