package build

import (
	"debug/elf"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const module = "testdata/module"

func TestGoBuildsEveryPackage(t *testing.T) {
	t.Parallel()
	out := t.TempDir()
	options := GoOptions{
		ModuleDir: module, OutDir: out, Packages: []string{"./hello", "./greet"},
		Files: map[string][]string{"hello": {"server.json"}},
	}
	if err := Go(t.Context(), options); err != nil {
		t.Fatal(err)
	}
	output, err := exec.Command(filepath.Join(out, "hello", "bootstrap")).Output()
	if err != nil || string(output) != "hello\n" {
		t.Errorf("the bootstrap of hello says %q, %v", output, err)
	}
	want := []string{".greet.inputs", ".hello.inputs", "greet/bootstrap", "hello/bootstrap", "hello/server.json"}
	if diff := cmp.Diff(want, filesIn(t, out)); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
}

func TestGoLeavesAnUnchangedBootstrapAlone(t *testing.T) {
	t.Parallel()
	for name, incremental := range map[string]bool{"from scratch": false, "incremental": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out := t.TempDir()
			sources := copyModule(t)
			options := GoOptions{
				ModuleDir: sources, OutDir: out, Packages: []string{"./hello", "./greet"}, Incremental: incremental,
			}
			hello, greet := filepath.Join(out, "hello", "bootstrap"), filepath.Join(out, "greet", "bootstrap")
			if err := Go(t.Context(), options); err != nil {
				t.Fatal(err)
			}
			helloBefore, greetBefore := stat(t, hello), stat(t, greet)
			running, err := os.Open(greet)
			if err != nil {
				t.Fatal(err)
			}
			defer running.Close()

			write(t, filepath.Join(sources, "greet", "main.go"), "package main\n\nfunc main() { println(\"changed\") }\n")
			if err := Go(t.Context(), options); err != nil {
				t.Fatal(err)
			}
			if !os.SameFile(helloBefore, stat(t, hello)) {
				t.Error("the bootstrap of hello was replaced though its source did not change")
			}
			if os.SameFile(greetBefore, stat(t, greet)) {
				t.Error("the bootstrap of greet was not replaced though its source changed")
			}
			after, err := running.Stat()
			if err != nil || after.Size() != greetBefore.Size() || after.ModTime() != greetBefore.ModTime() {
				t.Errorf("the old bootstrap of greet changed under whoever runs it: %v", err)
			}
		})
	}
}

// Linking is most of what a build takes, so it shows when the linker wrote: the go command writes a new file then.
func TestAnIncrementalBuildLinksOnlyWhatChanged(t *testing.T) {
	t.Parallel()
	out, sources := t.TempDir(), copyModule(t)
	options := GoOptions{
		ModuleDir: sources, OutDir: out, Packages: []string{"./hello", "./greet"}, Incremental: true,
	}
	linked := func() [2]os.FileInfo {
		if err := Go(t.Context(), options); err != nil {
			t.Fatal(err)
		}
		dir := filepath.Join(out, linkedDir)
		return [2]os.FileInfo{stat(t, filepath.Join(dir, "hello")), stat(t, filepath.Join(dir, "greet"))}
	}
	before := linked()
	write(t, filepath.Join(sources, "greet", "main.go"), "package main\n\nfunc main() { println(\"changed\") }\n")
	after := linked()
	if !os.SameFile(before[0], after[0]) {
		t.Error("hello was linked again though its source did not change")
	}
	if os.SameFile(before[1], after[1]) {
		t.Error("greet was not linked again though its source changed")
	}
}

func TestGoMakesEqualBytesFromAnotherFolder(t *testing.T) {
	t.Parallel()
	var digests [][]byte
	for _, sources := range []string{module, copyModule(t)} {
		out := t.TempDir()
		if err := Go(t.Context(), GoOptions{ModuleDir: sources, OutDir: out, Packages: []string{"./hello"}}); err != nil {
			t.Fatal(err)
		}
		sum, err := digest(filepath.Join(out, "hello", "bootstrap"))
		if err != nil {
			t.Fatal(err)
		}
		digests = append(digests, sum)
	}
	if diff := cmp.Diff(digests[0], digests[1]); diff != "" {
		t.Errorf("equal sources made different programs:\n%s", diff)
	}
}

func TestGoBuildsForLambda(t *testing.T) {
	t.Parallel()
	for arch, machine := range map[string]elf.Machine{"arm64": elf.EM_AARCH64, "amd64": elf.EM_X86_64} {
		out := t.TempDir()
		options := GoOptions{ModuleDir: module, OutDir: out, Packages: []string{"./hello"}, GOOS: "linux", GOARCH: arch}
		if err := Go(t.Context(), options); err != nil {
			t.Fatal(err)
		}
		program, err := elf.Open(filepath.Join(out, "hello", "bootstrap"))
		if err != nil {
			t.Fatal(err)
		}
		defer program.Close()
		if program.Machine != machine {
			t.Errorf("for %s the program is made for %v", arch, program.Machine)
		}
		if libraries, _ := program.ImportedLibraries(); len(libraries) > 0 {
			t.Errorf("for %s the program needs the libraries %v", arch, libraries)
		}
	}
}

func TestGoNamesTheBrokenFunction(t *testing.T) {
	t.Parallel()
	sources := copyModule(t)
	write(t, filepath.Join(sources, "shared", "shared.go"), "package shared\n\nconst Word = missing\n")
	write(t, filepath.Join(sources, "library", "library.go"), "package library\n")
	write(t, filepath.Join(sources, "user", "main.go"),
		"package main\n\nimport \"example.com/functions/shared\"\n\nfunc main() { println(shared.Word) }\n")
	write(t, filepath.Join(sources, "broken", "main.go"), "package main\n\nfunc main() { undefinedName() }\n")

	cases := map[string]struct {
		packages, functions []string
		text                string
	}{
		"its own fault":      {[]string{"./hello", "./broken"}, []string{"broken"}, "undefined: undefinedName"},
		"a shared package's": {[]string{"./hello", "./user"}, []string{"user"}, "undefined: missing"},
		"a missing folder":   {[]string{"./hello", "./nowhere"}, []string{"nowhere"}, "nowhere"},
		"not a program":      {[]string{"./library"}, []string{"library"}, "no main packages"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out := t.TempDir()
			err := Go(t.Context(), GoOptions{ModuleDir: sources, OutDir: out, Packages: c.packages})
			var buildError *Error
			if !errors.As(err, &buildError) {
				t.Fatalf("got %v, want an *Error", err)
			}
			if diff := cmp.Diff(c.functions, buildError.Functions); diff != "" {
				t.Errorf("functions (-want +got):\n%s", diff)
			}
			if !strings.Contains(err.Error(), c.text) || !strings.Contains(err.Error(), "function "+c.functions[0]) {
				t.Errorf("the error lacks %q or the function's name:\n%v", c.text, err)
			}
			if files := filesIn(t, out); len(files) > 0 {
				t.Errorf("a failed build left %v", files)
			}
		})
	}
}

func TestGoRefusesBadOptions(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		options GoOptions
		text    string
	}{
		"no output":      {GoOptions{Packages: []string{"./hello"}}, "OutDir"},
		"no package":     {GoOptions{OutDir: "out"}, "no package"},
		"one name twice": {GoOptions{OutDir: "out", Packages: []string{"./a/hello", "./b/hello"}}, `"hello"`},
		"no folder name": {GoOptions{OutDir: "out", Packages: []string{"."}}, "names no folder"},
		"files of none": {
			GoOptions{OutDir: "out", Packages: []string{"./hello"}, Files: map[string][]string{"other": {"x"}}}, `"other"`,
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if err := Go(t.Context(), c.options); err == nil || !strings.Contains(err.Error(), c.text) {
				t.Errorf("got %v, want an error that says %s", err, c.text)
			}
		})
	}
}

func copyModule(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(module)); err != nil {
		t.Fatal(err)
	}
	return dir
}

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func stat(t *testing.T, file string) os.FileInfo {
	t.Helper()
	info, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	return info
}

// filesIn lists the files under dir, hidden ones too, so that leftovers of a build show.
func filesIn(t *testing.T, dir string) []string {
	t.Helper()
	var files []string
	err := filepath.WalkDir(dir, func(path string, entry os.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			relative, _ := filepath.Rel(dir, path)
			files = append(files, filepath.ToSlash(relative))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func TestSameContent(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	long := strings.Repeat("x", 200<<10)
	for name, c := range map[string]struct {
		a, b string
		same bool
	}{
		"equal":            {long, long, true},
		"empty":            {"", "", true},
		"another end":      {long + "a", long + "b", false},
		"another size":     {long, long + "x", false},
		"another begin":    {"a" + long, "b" + long, false},
		"whole blocks":     {long[:128<<10], long[:128<<10], true},
		"a block is other": {long[:64<<10] + "a", long[:64<<10] + "b", false},
	} {
		a, b := filepath.Join(dir, name+".a"), filepath.Join(dir, name+".b")
		write(t, a, c.a)
		write(t, b, c.b)
		if same, err := sameContent(a, b); err != nil || same != c.same {
			t.Errorf("%s: %t, %v", name, same, err)
		}
	}
	if same, err := sameContent(filepath.Join(dir, "equal.a"), filepath.Join(dir, "none")); same || err != nil {
		t.Errorf("a file that is not there: %t, %v", same, err)
	}
}
