package patchbaycdk

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/jsii-runtime-go"
	"github.com/google/go-cmp/cmp"

	"patchbay/infra/cdk/settings"
)

// small is a whole module with a function in each language, whose control functions are programs that do nothing.
func small() sources {
	const program = "package main\n\nfunc main() { println(\"x\") }\n"
	s := newSources().
		tool("in_go", `{}`).
		tool("in_python", `{"function": {"runtime": "python", "handler": "app.handler"}}`).
		tool("in_node", `{"function": {"runtime": "nodejs", "handler": "index.handler"}}`).
		tool("built", `{"function": {"runtime": "python", "handler": "app.handler",
			"build": ["sh", "-c", "mkdir __pycache__ && date +%s%N > __pycache__/app.pyc"]}}`).
		tool("local_one", `{"function": {"arn": "local:quote", "payload": "arguments"}}`)
	for file, text := range map[string]string{
		"go.mod":                                   "module patchbay\n\ngo 1.26.0\n",
		"dispatcher/main.go":                       program,
		"dispatcher/registrar/main.go":             program,
		"functions/in_go/main.go":                  program,
		"functions/in_go/data.csv":                 "a,b\n",
		"functions/in_python/app.py":               "def handler(event, context): return {}\n",
		"functions/in_python/lib/more.py":          "X = 1\n",
		"functions/in_python/test_app.py":          "assert True\n",
		"functions/in_python/tests/test_more.py":   "assert True\n",
		"functions/in_node/index.mjs":              "export const handler = async () => ({})\n",
		"functions/in_node/index.test.mjs":         "throw new Error('a test')\n",
		"functions/in_node/package.json":           `{"type": "module"}`,
		"functions/in_node/.npmrc":                 "//registry.example/:_authToken=secret\n",
		"functions/built/app.py":                   "def handler(event, context): return {}\n",
		"tests/integration/existing/quote/main.go": program,
	} {
		s[file] = text
	}
	return s
}

// synthBuilt builds a module in a folder of its own, and writes its stack.
func synthBuilt(s sources, stage *settings.Stage, local bool) (out *synthesized, module string) {
	module = s.write()
	out = synthStack(stage, func(stack awscdk.Stack) error {
		_, err := NewServer(stack, jsii.String("Patchbay"), &ServerProps{
			Stage: stage, Functions: filepath.Join(module, "functions"), Local: local,
		})
		return err
	})
	return out, module
}

const smallStage = `"anonymous": true,
	"functions": {"quote": "arn:aws:lambda:eu-west-1:123456789012:function:quote:live"}`

var smallServer = sync.OnceValue(func() *synthesized {
	out, _ := synthBuilt(small(), parseStage(smallStage), false)
	return out
})

// Equal sources make equal templates and assets, wherever and whenever they are built.
func TestSynthesesAreEqual(t *testing.T) {
	t.Parallel()
	again, module := synthBuilt(small(), parseStage(smallStage), false)
	checkSame(t, smallServer(), again)

	// A change of one function is a change of that function alone.
	file := filepath.Join(module, "functions", "in_python", "app.py")
	if err := os.WriteFile(file, []byte("def handler(event, context): return {'changed': True}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	stage := parseStage(smallStage)
	changed := synthStack(stage, func(stack awscdk.Stack) error {
		_, err := NewServer(stack, jsii.String("Patchbay"), &ServerProps{
			Stage: stage, Functions: filepath.Join(module, "functions"),
		})
		return err
	})
	var fresh []string
	before, after := versionIDs(smallServer()), versionIDs(changed)
	for _, id := range after {
		if !slices.Contains(before, id) {
			fresh = append(fresh, id)
		}
	}
	if len(fresh) != 1 || len(after) != len(before) {
		t.Errorf("a changed function has the new versions %v", fresh)
	}
}

func checkSame(t *testing.T, a, b *synthesized) {
	t.Helper()
	for _, pattern := range []string{"*.template.json", "*.assets.json"} {
		files, err := filepath.Glob(filepath.Join(a.dir, pattern))
		if err != nil || len(files) == 0 {
			t.Fatalf("files %v, %v", files, err)
		}
		for _, file := range files {
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			got, err := os.ReadFile(filepath.Join(b.dir, filepath.Base(file)))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), string(got)); diff != "" {
				t.Errorf("%s differs:\n%s", filepath.Base(file), diff)
			}
		}
	}
}

func versionIDs(s *synthesized) []string {
	var ids []string
	for _, version := range s.Resources("AWS::Lambda::Version") {
		ids = append(ids, version.ID)
	}
	return ids
}

// A package holds what the function needs and nothing else.
func TestPackagesAreTrimmed(t *testing.T) {
	t.Parallel()
	s := smallServer()
	for tool, want := range map[string][]string{
		"in_go":     {"bootstrap"},
		"in_python": {"app.py", "lib/more.py"},
		"in_node":   {"index.mjs", "package.json"},
		"built":     {"app.py"},
	} {
		if diff := cmp.Diff(want, packaged(t, s, s.nameOf(t, tool))); diff != "" {
			t.Errorf("package of %s (-want +got):\n%s", tool, diff)
		}
	}
	if diff := cmp.Diff([]string{"bootstrap", "server.json"}, packaged(t, s, "tools-prod-dispatcher")); diff != "" {
		t.Errorf("package of the dispatcher (-want +got):\n%s", diff)
	}
}

// packaged lists the files of a function's asset.
func packaged(t *testing.T, s *synthesized, function string) []string {
	t.Helper()
	dir := packageDir(t, s, function)
	var files []string
	err := filepath.WalkDir(dir, func(file string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		name, err := filepath.Rel(dir, file)
		files = append(files, filepath.ToSlash(name))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// packageDir is the folder of a function's asset.
func packageDir(t *testing.T, s *synthesized, function string) string {
	t.Helper()
	resource := s.find(t, "AWS::Lambda::Function", "FunctionName", function)
	raw := resource.Stack.Template["Resources"].(map[string]any)[resource.ID].(map[string]any)
	return filepath.Join(s.dir, raw["Metadata"].(map[string]any)["aws:asset:path"].(string))
}

var localServer = sync.OnceValue(func() *synthesized {
	out, _ := synthBuilt(small().tool("keeps", `{"function": {"runtime": "python", "handler": "app.handler",
		"state": ["carts"], "secrets": ["token"]}, "execution": {"network": "vpc"}}`), parseStage(``), true)
	return out
})

// The template for SAM is the same stack with what SAM needs: the machine's processor, the variables that it sets, and
// the functions that exist in the local stack alone.
func TestLocalTemplate(t *testing.T) {
	t.Parallel()
	s := localServer()
	dispatcher := s.function(t, "tools-prod-dispatcher")
	variables := dispatcher["Environment"].(map[string]any)["Variables"]
	checkHas(t, "dispatcher", variables, map[string]any{
		"AWS_ENDPOINT_URL_DYNAMODB": "", "AWS_ENDPOINT_URL_LAMBDA": "", "AWS_ENDPOINT_URL_SECRETS_MANAGER": "",
		"PATCHBAY_SEAL_KEYS_FILE": "", "PATCHBAY_SEAL_KEYS_SECRET": "tools-prod/seal-keys",
		"PATCHBAY_LOOPBACK_ORIGINS": "true", "PATCHBAY_TABLE": "tools-prod-registry",
	})
	keeps := s.function(t, s.nameOf(t, "keeps"))
	checkHas(t, "a tool", keeps["Environment"].(map[string]any)["Variables"], map[string]any{
		"AWS_ENDPOINT_URL_DYNAMODB": "", "AWS_ENDPOINT_URL_SECRETS_MANAGER": "", "AWS_ENDPOINT_URL_SSM": "",
		"PATCHBAY_SECRETS_FILE": "", "PATCHBAY_STATE_TABLE": "tools-prod-state",
	})
	processor := map[string]string{"amd64": "x86_64", "arm64": "arm64"}[runtime.GOARCH]
	for _, function := range s.Resources("AWS::Lambda::Function") {
		checkHas(t, function.ID, properties(t, function), map[string]any{
			"Architectures": []any{processor}, "VpcConfig": nil,
		})
	}
	if diff := cmp.Diff([]string{"bootstrap"}, packaged(t, s, "tools-prod-existing-quote")); diff != "" {
		t.Errorf("package of the existing function (-want +got):\n%s", diff)
	}
	functions := properties(t, s.Resources("Custom::PatchbayTools")[0])["Functions"].(map[string]any)
	if arn := functions["local_one"].(string); !strings.Contains(arn, ":function:tools-prod-existing-quote:") {
		t.Errorf("local_one is published with %s", arn)
	}
}
