package localstack

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"patchbay/scripts/locallambda"
)

// A Go function's command runs in the module, and leaves nothing behind there.
func TestBuildInPlace(t *testing.T) {
	t.Parallel()
	functions := t.TempDir()
	writeFiles(t, filepath.Join(functions, "probe"), map[string]string{"main.go": "package main", "data.txt": "x"})
	s := &Stack{options: Options{Functions: functions, Data: t.TempDir(), Progress: io.Discard}}
	tool := parse(t, functions, `"function":{"runtime":"go","build":["sh","-c","echo program > bootstrap"]}`)
	program, err := s.packageFunction(t.Context(), tool)
	if err != nil || program != nil {
		t.Fatalf("got %v, %v", program, err)
	}
	info, err := os.Stat(filepath.Join(s.outDir(), "probe", "bootstrap"))
	if err != nil || info.Mode()&0o111 == 0 {
		t.Errorf("the bootstrap is %v, %v", info, err)
	}
	if _, err := os.Stat(filepath.Join(s.outDir(), "probe", "data.txt")); err != nil {
		t.Errorf("what lies beside the program is missing: %v", err)
	}
	if _, err := os.Stat(filepath.Join(functions, "probe", "bootstrap")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the bootstrap is left in the source: %v", err)
	}
	none := parse(t, functions, `"function":{"runtime":"go","build":["true"]}`)
	if _, err := s.packageFunction(t.Context(), none); err == nil || !strings.Contains(err.Error(), "bootstrap") {
		t.Errorf("a command that leaves no program: %v", err)
	}
}

func TestInstallTakesNothingHalfMade(t *testing.T) {
	t.Parallel()
	s := &Stack{options: Options{Data: t.TempDir()}}
	fills := 0
	fill := func(failure error) func(string) error {
		return func(dir string) error {
			fills++
			if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("filling what is there: %v", err)
			}
			if err := os.Mkdir(dir, 0o755); err != nil {
				return err
			}
			return failure
		}
	}
	broken := errors.New("broken")
	if _, err := s.install("x", []byte("a"), fill(broken)); !errors.Is(err, broken) {
		t.Errorf("error %v", err)
	}
	for _, from := range []string{"a", "a", "b"} {
		if _, err := s.install("x", []byte(from), fill(nil)); err != nil {
			t.Error(err)
		}
	}
	if fills != 3 {
		t.Errorf("filled %d times, want once for the failure and once for each content", fills)
	}
}

// What npm installed stays while the files that say what to install do.
func TestCopyFunctionKeepsInstalledPackages(t *testing.T) {
	t.Parallel()
	source, target := t.TempDir(), filepath.Join(t.TempDir(), "probe")
	writeFiles(t, source, map[string]string{"app.mjs": "1", "package.json": "{}", "package-lock.json": "{}"})
	if err := copyFunction(target, source); err != nil {
		t.Fatal(err)
	}
	writeFiles(t, target, map[string]string{
		"node_modules/x/index.js": "x", "node_modules/" + installedMark: packagesDigest(target), "gone.txt": "",
	})
	for _, c := range []struct {
		name, text string
		keeps      bool
	}{{"app.mjs", "2", true}, {"package-lock.json", `{"x":1}`, false}} {
		writeFiles(t, source, map[string]string{c.name: c.text})
		if err := copyFunction(target, source); err != nil {
			t.Fatal(err)
		}
		if data, err := os.ReadFile(filepath.Join(target, c.name)); err != nil || string(data) != c.text {
			t.Errorf("%s holds %q, %v", c.name, data, err)
		}
		if kept := exists(filepath.Join(target, "node_modules", "x", "index.js")); kept != c.keeps {
			t.Errorf("after a change of %s the packages are kept: %t", c.name, kept)
		}
		if exists(filepath.Join(target, "gone.txt")) {
			t.Errorf("after a change of %s there is what the source does not have", c.name)
		}
	}
}

func TestProgramKeepsWhatTheContractSets(t *testing.T) {
	t.Parallel()
	function := locallambda.Function{Env: map[string]string{"PYTHONPATH": "own"}}
	(&program{command: []string{"python"}, environment: map[string]string{"PYTHONPATH": "packages"}}).apply(&function)
	if got := function.Env["PYTHONPATH"]; got != "packages:own" || len(function.Command) != 1 {
		t.Errorf("got %+v", function)
	}
}
