package build

import (
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestFindSources(t *testing.T) {
	t.Parallel()
	sources, other := copyModule(t), t.TempDir()
	for name, text := range map[string]string{
		"go.mod": "module example.com/functions\n\ngo 1.26.0\n\nrequire example.com/other v0.0.0\n\n" +
			"replace example.com/other => " + other + "\n",
		"words/words.go": "package words\n\nconst Hello = \"hello\"\n",
		"deep/deep.go":   "package deep\n\nimport _ \"example.com/functions/words\"\n",
		"user/main.go": "package main\n\nimport (\n\t_ \"embed\"\n\t_ \"fmt\"\n\n" +
			"\t_ \"example.com/functions/deep\"\n\t_ \"example.com/other/tongue\"\n)\n\n" +
			"//go:embed data/far/words.txt\nvar words string\n\nfunc main() {}\n",
		"user/data/far/words.txt": "hello",
		"broken/main.go": "package main\n\nimport (\n\t_ \"example.com/elsewhere/x\"\n" +
			"\t_ \"example.com/functions/not/yet\"\n\t_ \"example.com/functions/words\"\n)\n\nfunc main() { undefinedName() }\n",
	} {
		write(t, filepath.Join(sources, filepath.FromSlash(name)), text)
	}
	write(t, filepath.Join(other, "go.mod"), "module example.com/other\n\ngo 1.26.0\n")
	write(t, filepath.Join(other, "tongue", "tongue.go"), "package tongue\n")

	got, err := FindSources(t.Context(), GoOptions{
		ModuleDir: sources, OutDir: "unused", Packages: []string{"./hello", "./user", "./broken"},
	})
	if err != nil {
		t.Fatal(err)
	}
	in := func(names ...string) []string {
		var dirs []string
		for _, name := range names {
			dirs = append(dirs, filepath.Join(sources, filepath.FromSlash(name)))
		}
		return dirs
	}
	user := Sources{Dirs: in("deep", "user", "user/data", "user/data/far", "words")}
	user.Dirs = append(user.Dirs, filepath.Join(other, "tongue"))
	user.tidy()
	want := map[string]Sources{
		"hello":  {Dirs: in("hello")},
		"user":   user,
		"broken": {Dirs: in("broken", "words"), Missing: in("not/yet")},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("sources (-want +got):\n%s", diff)
	}
}

func TestFindSourcesSaysWhatIsWrongWithTheModule(t *testing.T) {
	t.Parallel()
	sources := copyModule(t)
	write(t, filepath.Join(sources, "go.mod"), "module example.com/functions\n\nrequire nothing\n")
	if got, err := FindSources(t.Context(), GoOptions{ModuleDir: sources, Packages: []string{"./hello"}}); err == nil {
		t.Errorf("got %v of a go.mod that is broken", got)
	}
}
