package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"patchbay/scripts/lint"
)

// lintFolder writes a module with one tool, which has a warning, and maybe an error.
func lintFolder(t *testing.T, risk string) string {
	t.Helper()
	module := t.TempDir()
	for name, text := range map[string]string{
		"go.mod":                   "module example.com/door\n",
		"functions/server.json":    `{"name": "office", "version": "1.0.0"}`,
		"functions/door/tool.json": doorTool(risk),
		"infra/cdk/patchbay.json":  `{"name": "office", "stages": {"prod": {"anonymous": true, "maxCallSeconds": 5}}}`,
	} {
		file := filepath.Join(module, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return module
}

func doorTool(risk string) string {
	return `{
  "name": "open.door",
  "title": "Open the door",
  "description": "Opens the door of the office. Use it when somebody rings.",
  "inputSchema": {"type": "object", "additionalProperties": false},
  "annotations": {"destructiveHint": false, "openWorldHint": false},
  "contract": {"risk": "` + risk + `", "sideEffects": ["Opens the door; a repeat opens it again."]}
}`
}

func TestLintExitCodes(t *testing.T) {
	t.Parallel()
	const warns, fails = "low", "hihg"
	for line, test := range map[string]struct {
		risk string
		code int
		says string
	}{
		"":                           {warns, 0, "1 tool: no errors, 1 warning\n"},
		"--strict":                   {warns, exitFailed, "--strict takes no warnings, and 1 were found"},
		"open.door":                  {fails, exitFailed, "1 of it are errors"},
		"door --strict":              {fails, exitFailed, "1 of it are errors"},
		"open_door":                  {warns, exitFailed, "did you mean open.door?"},
		"--stage prod":               {warns, exitFailed, "the server ends a call after 5 seconds, this tool after 10"},
		"--stage prd":                {warns, exitFailed, `there is no stage "prd"`},
		"--app infra":                {warns, exitUsage, "name the stage with --stage"},
		"--json --sarif -":           {warns, exitUsage, "allowed: one of them"},
		"--rules --explain all":      {warns, exitUsage, "allowed: one of them"},
		"door --rules":               {warns, exitUsage, "tell of the checks alone"},
		"--explain name-neer":        {warns, exitUsage, "did you mean name-near?"},
		"--explain name-of-the-rose": {warns, exitUsage, "those that begin alike: name-charset, "},
		"--explain xyzzy":            {warns, exitUsage, "`tool lint --rules` lists them"},
		"--functions nowhere":        {warns, exitFailed, "no such file or directory"},
	} {
		t.Run(line, func(t *testing.T) {
			t.Parallel()
			args := append([]string{"tool", "lint", "--root", lintFolder(t, test.risk)}, strings.Fields(line)...)
			out, err := run(args...)
			code := 0
			if err != nil {
				out, code = out+err.Error(), exitCode(err)
			}
			if code != test.code || !strings.Contains(out, test.says) {
				t.Errorf("exit code %d, want %d and %q in:\n%s", code, test.code, test.says, out)
			}
		})
	}
}

// Programs get one document on standard output, with paths from the module's root.
func TestLintForPrograms(t *testing.T) {
	t.Parallel()
	module := lintFolder(t, "hihg")
	out, err := run("tool", "lint", "--root", module, "--json")
	var report lint.Report
	if decoding := json.Unmarshal([]byte(out), &report); decoding != nil || err == nil {
		t.Fatalf("%v, %v in:\n%s", decoding, err, out)
	}
	if report.Errors != 1 || len(report.Findings) != 2 {
		t.Fatalf("findings: %+v", report.Findings)
	}
	for _, f := range report.Findings {
		if f.File != "functions/door/tool.json" || f.Line == 0 || f.Tool != "open.door" || f.Why == "" {
			t.Errorf("a finding: %+v", f)
		}
	}
	file := filepath.Join(t.TempDir(), "lint.sarif")
	out, err = run("tool", "lint", "--root", module, "--sarif", file)
	if err == nil || !strings.Contains(out, "[wrong-value]") {
		t.Errorf("beside SARIF: %v\n%s", err, out)
	}
	text, err := os.ReadFile(file)
	if err != nil || !strings.Contains(string(text), `"uri": "functions/door/tool.json"`) {
		t.Errorf("SARIF: %v\n%s", err, text)
	}
	if out, _ = run("tool", "lint", "--root", module, "--sarif", "-"); out != string(text) {
		t.Errorf("SARIF on standard output is not that of the file:\n%s", out)
	}
}

func TestLintExplains(t *testing.T) {
	t.Parallel()
	out, err := run("tool", "lint", "--explain", "name-near")
	if err != nil || !strings.Contains(out, "wrong:") || !strings.Contains(out, "source: ") {
		t.Errorf("%v\n%s", err, out)
	}
	var rules []shownRule
	if out, err = run("tool", "lint", "--rules", "--json"); err != nil || json.Unmarshal([]byte(out), &rules) != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	all, err := run("tool", "lint", "--explain", "all")
	list, listErr := run("tool", "lint", "--rules")
	if err != nil || listErr != nil || len(rules) != len(lint.Rules()) {
		t.Fatalf("%v, %v, %d rules", err, listErr, len(rules))
	}
	for _, rule := range rules {
		if !strings.Contains(all, rule.Why) || !strings.Contains(list, rule.ID) {
			t.Errorf("%s is missing in one of the lists", rule.ID)
		}
	}
	if out, err = run("__complete", "tool", "lint", "--explain", ""); err != nil || !slices.Contains(
		strings.Split(out, "\n"), "name-near") {
		t.Errorf("completion: %v\n%s", err, out)
	}
}
