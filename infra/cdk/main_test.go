package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"patchbay/infra/cdk/assembly"
	"patchbay/infra/cdk/settings"
	"patchbay/scripts/cdkapp"
	"patchbay/scripts/nodemodules"
	"patchbay/shared/authorization"
)

// modules finds the pinned Node packages, the CDK's command line among them.
func modules(t *testing.T) string {
	t.Helper()
	found, err := nodemodules.Find(".")
	if err == nil {
		_, err = os.Stat(filepath.Join(found, "aws-cdk", "bin", "cdk"))
	}
	if err != nil && !nodemodules.Required(os.Getenv) {
		t.Skip("the CDK's command line is not installed: run go tool patchbay install")
	}
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func options(t *testing.T, stage string) cdkapp.Options {
	t.Helper()
	return cdkapp.Options{Module: "../..", Stage: stage, Output: t.TempDir()}
}

// The repository's app writes the same templates by ./scripts/synth as by the CDK's own command line.
func TestSynthIsTheCommandLines(t *testing.T) {
	t.Parallel()
	modules := modules(t)
	o := options(t, "examples")
	assembly, err := cdkapp.Synth(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	said := fmt.Sprint(assembly.Messages)
	for _, want := range []string{"aws lambda add-permission", "emails.send_external is hidden there"} {
		if !strings.Contains(said, want) {
			t.Errorf("the constructs say %s; want that they say %q", said, want)
		}
	}
	other := t.TempDir()
	command := exec.CommandContext(t.Context(), nodemodules.Node(modules), filepath.Join(modules, "aws-cdk", "bin", "cdk"),
		"synth", "--quiet", "-c", "stage=examples", "--output", other)
	command.Env = append(os.Environ(),
		"PATH="+filepath.Dir(nodemodules.Node(modules))+string(os.PathListSeparator)+os.Getenv("PATH"))
	if output, err := command.CombinedOutput(); err != nil {
		t.Fatalf("cdk synth: %v\n%s", err, output)
	}
	files, err := filepath.Glob(filepath.Join(o.Output, "*.template.json"))
	if err != nil || len(files) != 2 {
		t.Fatalf("templates %v, %v", files, err)
	}
	for _, file := range files {
		if diff := cmp.Diff(read(t, filepath.Join(other, filepath.Base(file))), read(t, file)); diff != "" {
			t.Errorf("%s (-command line +synth):\n%s", filepath.Base(file), diff)
		}
	}
}

// A stage that asks for tokens is synthesized like any other, and its functions know whose tokens are taken.
func TestSecuredIsSynthesized(t *testing.T) {
	t.Parallel()
	modules(t)
	o := options(t, "secured")
	said, err := cdkapp.Synth(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if len(said.Messages) > 0 {
		t.Errorf("the constructs say %s", said.Messages)
	}
	opened, err := assembly.Open(o.Output, assembly.Environment{
		Partition: "aws", Region: "eu-west-1", Account: "123456789012",
	})
	if err != nil {
		t.Fatal(err)
	}
	stack, err := opened.Stack("patchbay-secured")
	if err != nil {
		t.Fatal(err)
	}
	stage, err := settings.Read("patchbay.json", "secured", "")
	if err != nil {
		t.Fatal(err)
	}
	checked := 0
	for _, function := range stack.Own() {
		name, _ := function.Properties["FunctionName"].(string)
		if name != "patchbay-secured-dispatcher" && name != "patchbay-secured-authorizer" {
			continue
		}
		checked++
		raw := stack.Template["Resources"].(map[string]any)[function.ID].(map[string]any)
		asset, _ := raw["Metadata"].(map[string]any)["aws:asset:path"].(string)
		config, err := authorization.ReadFile(filepath.Join(o.Output, asset, "authorization.json"))
		if err != nil {
			t.Error(err)
			continue
		}
		if diff := cmp.Diff(stage.Authorization, config); diff != "" {
			t.Errorf("%s (-settings +package):\n%s", name, diff)
		}
	}
	if checked != 2 {
		t.Errorf("%d functions that know whose tokens are taken", checked)
	}
}

// The template for SAM has an authorizer when it is asked for, by a configuration of this machine.
func TestLocalAuthorization(t *testing.T) {
	t.Parallel()
	modules(t)
	file := filepath.Join(t.TempDir(), "authorization.json")
	if err := os.WriteFile(file, []byte(`{"issuers": [{"issuer": "http://127.0.0.1:3002"}]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	for stage, given := range map[string]map[string]string{"secured": nil, "dev": {"authorization": file}} {
		o := options(t, stage)
		o.Local, o.Context = true, given
		if _, err := cdkapp.Synth(t.Context(), o); err != nil {
			t.Fatal(err)
		}
		text := read(t, filepath.Join(o.Output, "patchbay-"+stage+".template.json"))
		for _, want := range []string{
			`"patchbay-` + stage + `-authorizer"`, `"PATCHBAY_AUTHORIZATION_FILE": "authorization.json"`,
			`"PATCHBAY_RESOURCE": "http://127.0.0.1:3000/mcp"`, `"Type": "AWS::ApiGateway::Authorizer"`,
		} {
			if strings.Contains(text, want) != (given != nil) {
				t.Errorf("stage %s with %v: %s is there: %v", stage, given, want, given == nil)
			}
		}
	}
}

func read(t *testing.T, file string) string {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// A fresh clone deploys as it is: stage dev has those examples that need nothing from outside.
func TestDevIsDeployedFromAFreshClone(t *testing.T) {
	t.Parallel()
	modules(t)
	o := options(t, "") // the stage of whoever names none
	var said strings.Builder
	o.Progress = &said
	if _, err := cdkapp.Synth(t.Context(), o); err != nil {
		t.Fatalf("%v\n%s", err, said.String())
	}
	opened, err := assembly.Open(o.Output, assembly.Environment{
		Partition: "aws", Region: "eu-west-1", Account: "123456789012",
	})
	if err != nil {
		t.Fatal(err)
	}
	stack, err := opened.Stack("patchbay-dev")
	if err != nil {
		t.Fatal(err)
	}
	publications := stack.Resources("Custom::PatchbayTools")
	if len(publications) != 1 {
		t.Fatalf("%d publications", len(publications))
	}
	functions, _ := publications[0].Properties["Functions"].(map[string]any)
	want := []string{"add_item", "convert_units", "create_basket", "execute_sql", "get_weather", "view_basket"}
	if diff := cmp.Diff(want, slices.Sorted(maps.Keys(functions))); diff != "" {
		t.Errorf("tools of stage dev (-want +got):\n%s", diff)
	}
	// Whoever has nothing but an account has none of these.
	for _, function := range stack.Resources("AWS::Lambda::Function") {
		text, err := json.Marshal(function.Properties)
		if err != nil {
			t.Fatal(err)
		}
		for _, outside := range []string{"PATCHBAY_SECRETS", "VpcConfig"} {
			if strings.Contains(string(text), outside+`"`) {
				t.Errorf("%s needs %s", function.ID, outside)
			}
		}
	}
}

// Without tools of its own stage prod is told what to do.
func TestSynthSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	modules(t)
	for stage, want := range map[string]string{
		"prod": `functions has no tool to deploy: all 14 are examples`,
		"prdo": `patchbay.json: there is no stage "prdo" (did you mean "prod"?); allowed: dev, examples, prod, secured`,
	} {
		_, err := cdkapp.Synth(t.Context(), options(t, stage))
		refused, ok := errors.AsType[*cdkapp.AppError](err)
		if !ok || !strings.Contains(refused.Said, want) || strings.Contains(refused.Said, "goroutine") {
			t.Errorf("stage %s: %v; want %s", stage, err, want)
		}
	}
}
