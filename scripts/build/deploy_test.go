package build

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"patchbay/shared/contract"
)

// folders writes functions into a module and returns what packages them.
func folders(t *testing.T, files map[string]string, functions map[string]string) PackageOptions {
	t.Helper()
	module := t.TempDir()
	write(t, filepath.Join(module, "go.mod"), "module example.com/functions\n\ngo 1.26.0\n")
	for name, text := range files {
		write(t, filepath.Join(module, "functions", name), text)
	}
	options := PackageOptions{
		ModuleDir: module, Functions: filepath.Join(module, "functions"), OutDir: filepath.Join(module, "out"),
	}
	for folder, function := range functions {
		options.Tools = append(options.Tools, parseTool(t, folder, function))
	}
	return options
}

func parseTool(t *testing.T, folder, function string) *contract.Tool {
	t.Helper()
	text := fmt.Sprintf(`{"name": %q, "description": "Answers for a test, and does nothing else.",
		"inputSchema": {"type": "object", "properties": {}, "additionalProperties": false},
		"contract": {"function": %s}}`, folder, function)
	tool, problems := contract.Parse("functions/"+folder+"/tool.json", []byte(text))
	if err := problems.Err(); err != nil {
		t.Fatal(err)
	}
	return tool
}

// Lambda's packages hold what runs there: nothing of tests, of registries' credentials, or of how they were made.
func TestPackageTrims(t *testing.T) {
	t.Parallel()
	options := folders(t, map[string]string{
		"py/app.py": "", "py/tool.json": "{}", "py/eval.yaml": "", "py/test_app.py": "", "py/app_test.py": "",
		"py/conftest.py": "", "py/tests/a.py": "", "py/lib/__pycache__/x.pyc": "", "py/.env": "TOKEN=1", "py/bin/run": "kept",
		"js/index.mjs": "", "js/index.test.mjs": "", "js/a.spec.ts": "", "js/__tests__/b.js": "", "js/.npmrc": "token",
		"js/node_modules/dep/test/index.js": "a dependency's own", "js/node_modules/.package-lock.json": "{}",
		"js/node_modules/.bin/tool": "", "js/package.json": "{}",
		"made/main.go": "package main", "made/data.csv": "a",
	}, map[string]string{
		"py":   `{"runtime": "python", "handler": "app.handler"}`,
		"js":   `{"runtime": "nodejs", "handler": "index.handler"}`,
		"made": `{"runtime": "go", "build": ["sh", "-c", "echo $GOOS-$GOARCH-$CGO_ENABLED > bootstrap"]}`,
	})
	packages, err := Package(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	for folder, want := range map[string][]string{
		"py":   {"app.py", "bin/run"},
		"js":   {"index.mjs", "node_modules/dep/test/index.js", "package.json"},
		"made": {"bootstrap", "data.csv"},
	} {
		if diff := cmp.Diff(want, filesIn(t, packages.Function(folder))); diff != "" {
			t.Errorf("package of %s (-want +got):\n%s", folder, diff)
		}
	}
	text, err := os.ReadFile(filepath.Join(packages.Function("made"), "bootstrap"))
	if err != nil || string(text) != "linux-arm64-0\n" {
		t.Errorf("the build command saw %q, %v", text, err)
	}
	if left := filepath.Join(options.Functions, "made", "bootstrap"); exists(left) {
		t.Errorf("%s is left in the source", left)
	}
	info := stat(t, filepath.Join(packages.Function("py"), "app.py"))
	if !info.ModTime().Equal(made) || info.Mode().Perm() != 0o644 {
		t.Errorf("a file of a package is of %v, mode %v", info.ModTime(), info.Mode())
	}
}

// What did not change is not made again; what a command of the contract's own reads is not known, so it runs each time.
func TestPackageMakesWhatChanged(t *testing.T) {
	t.Parallel()
	options := folders(t, map[string]string{"same/app.py": "1", "other/app.py": "1", "own/app.py": "1"}, map[string]string{
		"same":  `{"runtime": "python", "handler": "app.handler"}`,
		"other": `{"runtime": "python", "handler": "app.handler"}`,
		"own":   `{"runtime": "python", "handler": "app.handler", "build": ["true"]}`,
	})
	packages, err := Package(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	before := map[string]os.FileInfo{}
	for _, folder := range []string{"same", "other", "own"} {
		before[folder] = stat(t, packages.Function(folder))
	}
	write(t, filepath.Join(options.Functions, "other", "app.py"), "2")
	if _, err := Package(t.Context(), options); err != nil {
		t.Fatal(err)
	}
	for folder, again := range map[string]bool{"same": false, "other": true, "own": true} {
		if same := os.SameFile(before[folder], stat(t, packages.Function(folder))); same == again {
			t.Errorf("%s was made again: %v; want %v", folder, !same, again)
		}
	}
}

func TestPackageTellsWhatIsWrong(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ files, function, want string }{
		"no version": {"requirements.txt", `{"runtime": "python", "handler": "a.b"}`, `allowed: NAME==VERSION`},
		"no lock":    {"package.json", `{"runtime": "nodejs", "handler": "a.b"}`, "package-lock.json does not exist"},
		"a build":    {"x", `{"runtime": "python", "handler": "a.b", "build": ["sh", "-c", "echo why; exit 3"]}`, "why"},
		"a program":  {"x", `{"runtime": "go", "build": ["true"]}`, "left no program bootstrap"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			content := `{"dependencies": {"left-pad": "1.0.0"}}`
			if strings.HasSuffix(test.files, ".txt") {
				content = "requests\n"
			}
			options := folders(t, map[string]string{"a/" + test.files: content}, map[string]string{"a": test.function})
			_, err := Package(t.Context(), options)
			if err == nil || !strings.Contains(err.Error(), test.want) ||
				!strings.Contains(err.Error(), "functions/a/tool.json") {
				t.Errorf("got %v, want an error that says %s and names the tool", err, test.want)
			}
		})
	}
}

// Dependencies are installed for Lambda's processor and Python, whatever this machine's are, and nothing is compiled.
func TestPackageInstallsForLambda(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, filepath.Join(dir, RequirementsFile), "x==1\n")
	write(t, filepath.Join(dir, npmLockFile), "{}")
	for arch, want := range map[string]string{Arm64: "manylinux2014_aarch64", Amd64: "manylinux2014_x86_64"} {
		o := PackageOptions{Arch: arch}
		command := strings.Join(o.installs(dir, contract.Function{Runtime: contract.RuntimePython}), " ")
		for _, part := range []string{want, "--only-binary=:all:", "--python-version 3.14", "--target ."} {
			if !strings.Contains(command, part) {
				t.Errorf("%s lacks %s", command, part)
			}
		}
		node := strings.Join(o.installs(dir, contract.Function{Runtime: contract.RuntimeNodeJS}), " ")
		if !strings.Contains(node, "npm ci --omit=dev --ignore-scripts") {
			t.Errorf("command %s", node)
		}
	}
	got := strings.Join((PackageOptions{Arch: Amd64}).environment(), " ")
	if !strings.Contains(got, "npm_config_cpu=x64") {
		t.Errorf("environment %s", got)
	}
}

// A program is not even linked when nothing that it is made from has changed.
func TestGoDoesNotLinkWhatIsTheSame(t *testing.T) {
	t.Parallel()
	options := GoOptions{ModuleDir: copyModule(t), OutDir: t.TempDir(), Packages: []string{"./hello", "./greet"}}
	if err := Go(t.Context(), options); err != nil {
		t.Fatal(err)
	}
	check := func(what string, want []string) {
		t.Helper()
		stale, _, err := options.stale(t.Context())
		if diff := cmp.Diff(want, stale); err != nil || diff != "" {
			t.Errorf("%s: to be made, %v (-want +got):\n%s", what, err, diff)
		}
	}
	check("nothing has changed", nil)
	if err := os.Remove(filepath.Join(options.OutDir, "hello", "bootstrap")); err != nil {
		t.Fatal(err)
	}
	check("a program is gone", []string{"./hello"})
	main := filepath.Join(options.ModuleDir, "greet", "main.go")
	source, err := os.ReadFile(main)
	if err != nil {
		t.Fatal(err)
	}
	write(t, main, string(bytes.Replace(source, []byte("{"), []byte("{\n\tprintln(1)\n"), 1)))
	check("a source has changed", []string{"./hello", "./greet"})
	options.GOARCH = "arm64"
	check("another target", []string{"./hello", "./greet"})
}
