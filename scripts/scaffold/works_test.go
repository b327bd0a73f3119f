package scaffold

import (
	"go/format"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"patchbay/scripts/evaluate"
	"patchbay/scripts/lint"
	"patchbay/scripts/localgateway"
	"patchbay/scripts/localstack"
	"patchbay/scripts/mcpcall"
	"patchbay/scripts/nodemodules"
	"patchbay/shared/contract"
	"patchbay/shared/principal"
)

// every is a tool of every language and risk, and of every kind of handler; each kind of each language once of each of
// the risks that make another handler or contract of it.
var every = []Options{
	{Name: "find_order"},
	{Name: "find_audited_order", Risk: "medium"},
	{Name: "add_order", Risk: "low"},
	{Name: "create_order"},
	{Name: "cancel_order"},
	{Name: "refund_order", Risk: "critical"},
	{Name: "launch_order", Risk: "forbidden"},
	{Name: "keep_note", Risk: "low", State: "notes"},
	{Name: "save_note", State: "a-very-long_namespace"},
	{Name: "approve_note", Risk: "critical", State: "approved"},
	{Name: "find_parcel", Language: Python},
	{Name: "find_audited_parcel", Language: Python, Risk: "medium"},
	{Name: "add_parcel", Language: Python, Risk: "low"},
	{Name: "create_parcel", Language: Python},
	{Name: "cancel_parcel", Language: Python},
	{Name: "refund_parcel", Language: Python, Risk: "critical"},
	{Name: "launch_parcel", Language: Python, Risk: "forbidden"},
	{Name: "find_invoice", Language: Node},
	{Name: "find_audited_invoice", Language: Node, Risk: "medium"},
	{Name: "add_invoice", Language: Node, Risk: "low"},
	{Name: "create_invoice", Language: Node},
	{Name: "cancel_invoice", Language: Node},
	{Name: "refund_invoice", Language: Node, Risk: "critical"},
	{Name: "launch_invoice", Language: Node, Risk: "forbidden"},
}

// written writes tools into a functions folder of this module, so that those in Go can be built, and takes it away
// again. The go command passes over it, as it lies in testdata.
func written(t *testing.T, all []Options) (functions string, tools []*Tool) {
	t.Helper()
	if err := os.MkdirAll("testdata", 0o755); err != nil {
		t.Fatal(err)
	}
	root, err := os.MkdirTemp("testdata", "module-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(root) })
	functions = filepath.Join(root, "functions")
	for _, options := range all {
		options.Functions = functions
		tool, err := New(options)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := tool.Write(); err != nil {
			t.Fatal(err)
		}
		tools = append(tools, tool)
	}
	return functions, tools
}

// A new tool has no fault, not even one that is only advice. Each is looked at alone, for two that were not edited yet
// do the same, which is worth a word.
func TestLintIsClean(t *testing.T) {
	t.Parallel()
	for _, options := range every {
		functions, tools := written(t, []Options{options})
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
		if _, err := evaluate.ReadFile(filepath.Join(tools[0].Folder, evaluate.FileName)); err != nil {
			t.Errorf("%s: %v", options.Name, err)
		}
	}
}

// The contract has what fits the risk.
func TestContractsFitTheRisk(t *testing.T) {
	t.Parallel()
	for _, options := range every {
		functions, tools := written(t, []Options{options})
		set, problems := contract.LoadDir(functions)
		if set == nil {
			t.Fatal(problems)
		}
		tool, k := tools[0], set.Tools[0].Contract
		confirmed, audited := k.Confirmation == contract.ConfirmationAlways, k.AuditEvent != ""
		recorded := k.Idempotency.Mode == contract.IdempotencyKey
		if recorded == tool.ReadOnly() || (len(k.SideEffects) == 0) != tool.ReadOnly() {
			t.Errorf("%s: records calls: %v, side effects %v", tool.Name, recorded, k.SideEffects)
		}
		dangerous := tool.Risk.NeedsConfirmation()
		if confirmed != dangerous || (len(k.Permissions) > 0) != dangerous || (k.DryRun != contract.DryRunNone) != dangerous ||
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
	for _, options := range every {
		options.Functions = inModule(t)
		tool, err := New(options)
		if err != nil {
			t.Fatal(err)
		}
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

// The test of a new tool passes at once, with nothing installed.
func TestTestsPass(t *testing.T) {
	t.Parallel()
	_, tools := written(t, every)
	var packages []string
	for _, tool := range tools {
		if tool.Language == Go {
			packages = append(packages, "./"+filepath.ToSlash(tool.Folder))
			continue
		}
		if name := strings.Fields(tool.TestCommand)[0]; !installed(t, name) {
			continue
		}
		t.Run(tool.Name, func(t *testing.T) {
			command := exec.CommandContext(t.Context(), "sh", "-c", tool.TestCommand)
			command.Dir = tool.Root
			command.Env = append(os.Environ(), "PYTHONDONTWRITEBYTECODE=1")
			if output, err := command.CombinedOutput(); err != nil {
				t.Errorf("%s: %v\n%s", tool.TestCommand, err, output)
			}
		})
	}
	for _, verb := range []string{"vet", "test"} {
		if output, err := exec.CommandContext(t.Context(), "go", append([]string{verb}, packages...)...).CombinedOutput(); err != nil {
			t.Errorf("go %s: %v\n%s", verb, err, output)
		}
	}
}

func installed(t *testing.T, program string) bool {
	t.Helper()
	if _, err := exec.LookPath(program); err != nil && nodemodules.Required(os.Getenv) {
		t.Errorf("%s is not installed: its tools are not tested", program)
		return false
	} else if err != nil {
		t.Logf("%s is not installed: its tools are not tested", program)
		return false
	}
	return true
}

// token is that of a caller who has every scope and has just signed in.
const token = "token-of-ada"

// Every tool answers on a real server as its recorded calls say, in whatever language it is; one of forbidden risk is
// not there.
func TestRecordedCallsComeTrue(t *testing.T) {
	t.Parallel()
	if _, err := nodemodules.Find("."); err != nil && !nodemodules.Required(os.Getenv) {
		t.Skip(err)
	}
	functions, tools := written(t, every)
	ada := principal.Principal{
		Subject: "ada", Issuer: "https://issuer.example", ClientID: "tests", AuthTime: time.Now().Unix(),
	}
	var files []evaluate.File
	for _, tool := range tools {
		if tool.Scope != "" {
			ada.Scopes = append(ada.Scopes, tool.Scope)
		}
		file, err := evaluate.ReadFile(filepath.Join(tool.Folder, evaluate.FileName))
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, file)
	}
	stack, err := localstack.Start(t.Context(), localstack.Options{
		Addr: "127.0.0.1:0", Functions: functions, Data: t.TempDir(), Principals: localgateway.Principals{token: ada},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(stack.Close)
	client, err := mcpcall.Connect(t.Context(), mcpcall.Options{URL: stack.URL, Token: token})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close() })
	listed, err := client.Tools(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	options := evaluate.Options{Writes: true, ReadOnly: map[string]bool{}}
	for _, tool := range listed {
		options.ReadOnly[tool.Name] = tool.Annotations.ReadOnlyHint
	}
	report, err := evaluate.Run(t.Context(), client, files, options)
	if err != nil {
		t.Fatal(err)
	}
	for _, result := range report.Tools {
		if result.Failed > 0 || result.Skipped > 0 || result.Passed == 0 {
			t.Errorf("%s: %+v", result.Tool, result)
		}
	}
	if want := 3; len(tools)-len(listed) != want {
		t.Errorf("%d tools are listed, want all but %d of %d", len(listed), want, len(tools))
	}
}
