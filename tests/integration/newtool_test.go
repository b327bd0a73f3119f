package integration

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"patchbay/scripts/evaluate"
	"patchbay/scripts/localgateway"
	"patchbay/scripts/localstack"
	"patchbay/scripts/mcpcall"
	"patchbay/scripts/scaffold"
	"patchbay/shared/contract"
	"patchbay/shared/principal"
)

// newTools writes a tool of every language and risk, and of every kind of handler, into a functions folder of this
// module, so that those in Go can be built, and takes it away again. The go command passes over it, as it lies in
// testdata.
func newTools(t *testing.T) (functions string, tools []*scaffold.Tool) {
	t.Helper()
	root, err := os.MkdirTemp("testdata", "module-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(root) })
	functions = filepath.Join(root, "functions")
	add := func(options scaffold.Options) {
		options.Functions = functions
		tool, err := scaffold.New(options)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := tool.Write(); err != nil {
			t.Fatal(err)
		}
		tools = append(tools, tool)
	}
	for _, language := range scaffold.Languages {
		add(scaffold.Options{Name: "find_" + language, Language: language})
		add(scaffold.Options{Name: "find_audited_" + language, Language: language, Risk: "medium"})
		for _, risk := range scaffold.Risks {
			add(scaffold.Options{Name: "create_" + risk + "_" + language, Language: language, Risk: risk})
		}
	}
	for _, risk := range []string{"low", "high", "critical"} {
		add(scaffold.Options{Name: "keep_" + risk, Risk: risk, State: "notes-" + risk})
	}
	return functions, tools
}

// The test of a new tool passes at once, with nothing installed.
func TestTestsOfNewToolsPass(t *testing.T) {
	t.Parallel()
	_, tools := newTools(t)
	var packages []string
	for _, tool := range tools {
		if tool.Language == scaffold.Go {
			packages = append(packages, "./"+filepath.ToSlash(tool.Folder))
			continue
		}
		t.Run(tool.Name, func(t *testing.T) {
			program := strings.Fields(tool.TestCommand)[0]
			if _, err := exec.LookPath(program); err != nil && !required {
				t.Skip(err)
			}
			command := exec.CommandContext(t.Context(), "sh", "-c", tool.TestCommand)
			command.Dir = tool.Root
			if output, err := command.CombinedOutput(); err != nil {
				t.Errorf("%s: %v\n%s", tool.TestCommand, err, output)
			}
		})
	}
	for _, verb := range []string{"vet", "test"} {
		command := exec.CommandContext(t.Context(), "go", append([]string{verb}, packages...)...)
		if output, err := command.CombinedOutput(); err != nil {
			t.Errorf("go %s: %v\n%s", verb, err, output)
		}
	}
}

// Every new tool answers as its recorded calls say, in whatever language it is; one of forbidden risk is not there.
func TestRecordedCallsOfNewToolsComeTrue(t *testing.T) {
	t.Parallel()
	functions, tools := newTools(t)
	ada := principal.Principal{
		Subject: "ada", Issuer: "https://issuer.example", ClientID: "tests", AuthTime: time.Now().Unix(),
	}
	var files []evaluate.File
	forbidden := 0
	for _, tool := range tools {
		if tool.Scope != "" {
			ada.Scopes = append(ada.Scopes, tool.Scope)
		}
		if tool.Risk == contract.RiskForbidden {
			forbidden++
		}
		file, err := evaluate.ReadFile(filepath.Join(tool.Folder, evaluate.FileName))
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, file)
	}
	const token = "token-of-ada"
	server, err := start(t.Context(), localstack.Options{
		Functions: functions, Data: t.TempDir(), Principals: localgateway.Principals{token: ada},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	client, err := mcpcall.Connect(t.Context(), mcpcall.Options{URL: server.URL, Token: token})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close() })
	listed, err := client.Tools(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(listed) != len(tools)-forbidden {
		t.Errorf("%d tools are listed, want all of %d but %d", len(listed), len(tools), forbidden)
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
}
