package resource_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/cfn"

	"patchbay/scripts/pytools"
)

const reference = "../../../docs/registrar.md"

// decode prints a template as JSON, with the long forms of intrinsic functions.
const decode = `import json, sys
import cfnlint.decode
template, problems = cfnlint.decode.decode(sys.argv[1])
assert not problems, problems
print(json.dumps(template))`

// The template in the reference is one that AWS's rules allow, as cfn-lint knows them, and its properties, as
// CloudFormation would send them, are published.
func TestDocumentedTemplate(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	template := f.documentedTemplate()
	resource, ok := template.Resources["Tools"]
	if !ok || resource.Type != "Custom::PatchbayTools" {
		t.Fatalf("the template has no resource Tools of the type Custom::PatchbayTools: %+v", resource)
	}
	if parameter := template.Parameters["Registrar"]; parameter.Type != "AWS::SSM::Parameter::Value<String>" ||
		parameter.Default != "/"+deployment+"/registrar" {
		t.Errorf("the service token is taken from %+v", parameter)
	}
	properties := resolve(t, resource.Properties, map[string]string{
		"Registrar": registrarARN, "Version1": "arn:aws:lambda:us-east-1:123456789012:function:" + documented + ":1",
	})
	f.succeeds("create-other-stack", func(e *cfn.Event) {
		e.LogicalResourceID = "Tools"
		e.ResourceProperties = properties.(map[string]any)
	})
	f.wantTools("quote_shipping:1")
	if strings.Contains(f.log.String(), `"level":"WARN"`) {
		t.Errorf("the documented contract has warnings: %s", f.log)
	}
}

type template struct {
	Parameters map[string]struct{ Type, Default string }
	Resources  map[string]struct {
		Type       string
		Properties map[string]any
	}
}

// documentedTemplate takes the template out of the reference, asks cfn-lint about it, and decodes it.
func (f *fixture) documentedTemplate() template {
	f.Helper()
	text, err := os.ReadFile(reference)
	if err != nil {
		f.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "```yaml\n")
	yaml, _, found := strings.Cut(rest, "```")
	if !found {
		f.Fatal("the reference has no template")
	}
	file := filepath.Join(f.TempDir(), "template.yaml")
	if err := os.WriteFile(file, []byte(yaml), 0o600); err != nil {
		f.Fatal(err)
	}
	bin, err := pytools.FindMoto(".")
	if err != nil {
		f.Fatal(err)
	}
	lint := exec.CommandContext(f.Context(), filepath.Join(bin, "cfn-lint"), "--regions", "us-east-1", "--", file)
	if output, err := lint.CombinedOutput(); err != nil {
		f.Errorf("cfn-lint: %v\n%s", err, output)
	}
	output, err := exec.CommandContext(f.Context(), filepath.Join(bin, "python"), "-c", decode, file).Output()
	if err != nil {
		f.Fatalf("decoding the template: %v", err)
	}
	var decoded template
	if err := json.Unmarshal(output, &decoded); err != nil {
		f.Fatal(err)
	}
	return decoded
}

// resolve does what CloudFormation does to properties before it sends them: references get their values, and everything
// that is neither list nor object becomes text.
func resolve(t *testing.T, value any, references map[string]string) any {
	t.Helper()
	switch v := value.(type) {
	case string:
		return v
	case []any:
		for i := range v {
			v[i] = resolve(t, v[i], references)
		}
		return v
	case map[string]any:
		if name, ok := v["Ref"].(string); ok {
			if references[name] == "" {
				t.Fatalf("nothing is known of %s", name)
			}
			return references[name]
		}
		for name := range v {
			v[name] = resolve(t, v[name], references)
		}
		return v
	}
	return encode(value)
}

// Every property of the resource is in the reference, and nothing else is called one.
func TestDocumentedProperties(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(reference)
	if err != nil {
		t.Fatal(err)
	}
	f := newFixture(t)
	answer := f.fails("create")(func(e *cfn.Event) { e.ResourceProperties["Xyzzy"] = "1" })
	_, list, _ := strings.Cut(answer.Reason, "allowed: ")
	names := strings.Split(list, ", ")
	if len(names) < 5 {
		t.Fatalf("reason %q", answer.Reason)
	}
	for _, name := range names {
		if !strings.Contains(string(text), "\n| `"+name+"` |") {
			t.Errorf("property %s is not in the reference", name)
		}
	}
}
