package localstack

import (
	"maps"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"patchbay/shared/contract"
)

// folderOf makes a folder with files, by their paths in it.
func folderOf(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	writeFiles(t, dir, files)
	return dir
}

// What a function is started by is told by its configuration, or by the names that Lambda's console gives to files.
func TestReadExisting(t *testing.T) {
	t.Parallel()
	type started struct {
		language contract.Runtime
		handler  string
		compiled bool
	}
	for name, test := range map[string]struct {
		files map[string]string
		want  started
	}{
		"console, Python": {map[string]string{"f/lambda_function.py": ""},
			started{contract.RuntimePython, "lambda_function.lambda_handler", false}},
		"console, Node.js": {map[string]string{"f/index.mjs": ""}, started{contract.RuntimeNodeJS, "index.handler", false}},
		"CommonJS":         {map[string]string{"f/index.js": ""}, started{contract.RuntimeNodeJS, "index.handler", false}},
		"Go of the module": {map[string]string{"f/main.go": ""}, started{contract.RuntimeGo, "", true}},
		"Go of its own module": {map[string]string{"f/main.go": "", "f/go.mod": "module f"},
			started{contract.RuntimeGo, "", false}},
		"a program": {map[string]string{"f/bootstrap": ""}, started{contract.RuntimeGo, "", false}},
		"configured": {map[string]string{"f/app.py": "", "f/index.js": "",
			"f.json": `{"Runtime":"python3.9","Handler":"app.main","Timeout":7,"CodeSha256":"x","Layers":null}`},
			started{contract.RuntimePython, "app.main", false}},
		"configured in part": {map[string]string{"f/lambda_function.py": "", "f.json": `{"Timeout":7}`},
			started{contract.RuntimePython, "lambda_function.lambda_handler", false}},
	} {
		function, err := readExisting(filepath.Join(folderOf(t, test.files), "f"))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		got := started{function.language(), function.Handler, function.compiled()}
		if diff := cmp.Diff(test.want, got, cmp.AllowUnexported(started{})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if _, configured := test.files["f.json"]; configured && function.Timeout != 7 {
			t.Errorf("%s: the time limit is %d", name, function.Timeout)
		}
	}
}

func TestExistingFunctionsThatDoNotRunHere(t *testing.T) {
	t.Parallel()
	app := map[string]string{"f/app.py": ""}
	for _, test := range []struct {
		files         map[string]string
		configuration string
		says          string
	}{
		{app, "", "nothing says how it is run; write its configuration into f.json"},
		{app, `{"Runtime":"java21"}`, "does not run the runtime java21; allowed: python…"},
		{app, `{"Runtime":"python3.13"}`, "f.json names no Handler"},
		{app, `{"Runtime":"provided.al2023"}`, "there is neither that nor Go code"},
		{app, `[]`, "decoding f.json, which is to be as"},
		{map[string]string{"f/lambda_function.py": "", "f/requirements.txt": "requests"}, "", `"requests" names no version`},
	} {
		files := maps.Clone(test.files)
		if test.configuration != "" {
			files["f.json"] = test.configuration
		}
		function, err := readExisting(filepath.Join(folderOf(t, files), "f"))
		if err == nil || !strings.Contains(err.Error(), test.says) {
			t.Errorf("read %+v, %v; want an error that says %q", function, err, test.says)
		}
	}
}

// Functions are looked for in the folder that is named first, and may not be called as what the stack has itself.
func TestExistingFolders(t *testing.T) {
	t.Parallel()
	named := folderOf(t, map[string]string{
		"a/index.mjs": "", "_not/index.mjs": "", ".nor/index.mjs": "", "b.json": "{}", "readme.md": "",
	})
	module := folderOf(t, map[string]string{
		"tests/integration/existing/a/main.go": "", "tests/integration/existing/b/main.go": "",
	})
	s := &Stack{module: module, set: &contract.Set{}, options: Options{Existing: named}}
	if err := s.readExisting(); err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, function := range s.existing {
		found = append(found, function.name+" "+function.Runtime)
	}
	if diff := cmp.Diff([]string{"a nodejs", "b provided"}, found); diff != "" {
		t.Errorf("functions (-want +got):\n%s", diff)
	}
	for name, timeout := range map[string]int{"local:a": 3, "arn:aws:lambda:eu-west-1:111111111111:function:b:live": 3} {
		if err := s.checkExisting(contract.Function{ARN: name}, timeout); err != nil {
			t.Error(err)
		}
	}
	for name, says := range map[string]string{"local:c": "in a folder c of ", "local:a": "may run for 3 seconds"} {
		if err := s.checkExisting(contract.Function{ARN: name}, 2); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: error %v, want one that says %q", name, err, says)
		}
	}
	s = &Stack{module: module, set: &contract.Set{Tools: []*contract.Tool{{File: "functions/a/tool.json"}}}}
	if err := s.readExisting(); err == nil || !strings.Contains(err.Error(), "has another function of that name") {
		t.Errorf("a function that is called as a tool's: %v", err)
	}
	s = &Stack{module: module, set: &contract.Set{}, options: Options{Existing: filepath.Join(named, "nowhere")}}
	if err := s.readExisting(); err == nil {
		t.Error("a folder that is not there is passed over")
	}
}
