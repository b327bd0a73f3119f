package nodemodules

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const wanted = `{"packages": {
	"": {"name": "x"},
	"node_modules/dynalite": {"version": "4.0.0", "integrity": "a"},
	"node_modules/node": {"version": "24.0.0", "integrity": "b"},
	"node_modules/suite": {"version": "1.0.0", "integrity": "c", "dev": true},
	"node_modules/other-system": {"version": "1.0.0", "integrity": "d", "optional": true}
}}`

func TestMissing(t *testing.T) {
	t.Parallel()
	const (
		engine = `"node_modules/dynalite": {"version": "4.0.0", "integrity": "a"}`
		node   = `"node_modules/node": {"version": "24.0.0", "integrity": "b"}`
		suite  = `"node_modules/suite": {"version": "1.0.0", "integrity": "c", "dev": true}`
	)
	for name, test := range map[string]struct {
		record string
		dev    bool
		want   []string
	}{
		"nothing installed":       {"", false, []string{"node_modules/dynalite", "node_modules/node"}},
		"all without development": {engine + "," + node, false, nil},
		"the suite is wanted":     {engine + "," + node, true, []string{"node_modules/suite"}},
		"all with development":    {engine + "," + node + "," + suite, true, nil},
		"more than is wanted":     {engine + "," + node + "," + suite, false, nil},
		"an old engine": {strings.Replace(engine, "4.0.0", "3.0.0", 1) + "," + node, false,
			[]string{"node_modules/dynalite"}},
		"another package of the name": {strings.Replace(engine, `"a"`, `"z"`, 1) + "," + node, false,
			[]string{"node_modules/dynalite"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			write(t, filepath.Join(dir, lockFile), wanted)
			if test.record != "" {
				write(t, filepath.Join(dir, recordFile), `{"packages": {`+test.record+`}}`)
			}
			want, err := readLock(filepath.Join(dir, lockFile))
			if err != nil {
				t.Fatal(err)
			}
			record, err := readLock(filepath.Join(dir, recordFile))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, want.missing(record, test.dev)); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

// An npm of this test's own, in front of the real one, leaves its arguments and installs what the lock says.
const npm = `#!/bin/sh
echo "$@" >> npm-was-run
mkdir -p node_modules/node/bin node_modules/dynalite
touch node_modules/node/bin/node node_modules/dynalite/package.json
cp package-lock.json node_modules/.package-lock.json
`

// Commands that need more, or an engine of another version, install again; others do not.
func TestInstallRunsNpmWhenTheLockSaysSo(t *testing.T) {
	root, bin := t.TempDir(), t.TempDir()
	write(t, filepath.Join(bin, "npm"), npm)
	if err := os.Chmod(filepath.Join(bin, "npm"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	runs := func() string {
		data, _ := os.ReadFile(filepath.Join(root, "npm-was-run")) // none is no run
		_ = os.Remove(filepath.Join(root, "npm-was-run"))
		return string(data)
	}
	const common, production = "ci --no-audit --no-fund --loglevel=error", " --omit=dev"
	withoutDev := strings.Replace(wanted, `, "dev": true`, `, "dev": true, "optional": true`, 1)
	for i, step := range []struct {
		lock, want string
		dev        bool
	}{
		{withoutDev, common + production + "\n", false},
		{withoutDev, "", false},
		{wanted, common + "\n", true}, // the record has dev packages from here on
		{wanted, "", true},
		{strings.Replace(wanted, "4.0.0", "4.0.1", 1), common + "\n", false},
		{strings.Replace(wanted, "4.0.0", "4.0.1", 1), "", true},
	} {
		write(t, filepath.Join(root, lockFile), step.lock)
		if i == 2 {
			write(t, filepath.Join(root, "node_modules", recordFile), `{"packages":{}}`)
		}
		modules, err := Install(t.Context(), Options{Root: root, Dev: step.dev})
		if err != nil || modules != filepath.Join(root, "node_modules") {
			t.Fatalf("step %d: %s, %v", i, modules, err)
		}
		if got := runs(); got != step.want {
			t.Errorf("step %d: npm was run with %q, want %q", i, got, step.want)
		}
	}
	// A part of an installation that somebody deleted is installed again, whatever npm's record says.
	if err := os.Remove(Node(filepath.Join(root, "node_modules"))); err != nil {
		t.Fatal(err)
	}
	if _, err := Install(t.Context(), Options{Root: root}); err != nil || runs() == "" {
		t.Errorf("npm was not run for a node that is gone: %v", err)
	}
}

// A module with Node packages of its own, or none, gets the kit's in its .patchbay, and keeps its own files.
func TestInstallForAModuleThatPinsOtherThings(t *testing.T) {
	root, bin := t.TempDir(), t.TempDir()
	write(t, filepath.Join(bin, "npm"), npm)
	if err := os.Chmod(filepath.Join(bin, "npm"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	const others = `{"packages": {"node_modules/left-pad": {"version": "1.0.0"}}}`
	write(t, filepath.Join(root, lockFile), others)
	kit := t.TempDir()
	write(t, filepath.Join(kit, "go.mod"), "module patchbay\n\ngo 1.26.0\n")
	write(t, filepath.Join(kit, "package.json"), `{"name": "kit"}`)
	write(t, filepath.Join(root, "go.mod"),
		"module team\n\ngo 1.26.0\n\nrequire patchbay v0.0.0\n\nreplace patchbay => "+kit+"\n")
	within := filepath.Join(root, ".patchbay", "node")
	for _, version := range []string{"4.0.0", "4.0.0", "4.0.1"} {
		write(t, filepath.Join(kit, lockFile), strings.Replace(wanted, "4.0.0", version, 1))
		modules, err := InstallFor(t.Context(), Options{Root: root})
		if err != nil || modules != filepath.Join(within, "node_modules") {
			t.Fatalf("%s: %s, %v", version, modules, err)
		}
	}
	runs, err := os.ReadFile(filepath.Join(within, "npm-was-run"))
	if got := strings.Count(string(runs), "\n"); err != nil || got != 2 {
		t.Errorf("npm was run %d times for two versions: %q, %v", got, runs, err)
	}
	if got, err := os.ReadFile(filepath.Join(root, lockFile)); err != nil || string(got) != others {
		t.Errorf("the module's own lock file became %q, %v", got, err)
	}
	write(t, filepath.Join(root, "go.mod"), "module team\n\ngo 1.26.0\n")
	if _, err := InstallFor(t.Context(), Options{Root: root}); !errors.Is(err, ErrNotInstalled) {
		t.Errorf("a module that does not require the kit: %v, want ErrNotInstalled", err)
	}
}

func TestInstallNeedsALockThatNamesTheEngine(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	for _, lock := range []string{"", `{"packages": {"node_modules/left-pad": {"version": "1.0.0"}}}`} {
		if lock != "" {
			write(t, filepath.Join(root, lockFile), lock)
		}
		if _, err := Install(t.Context(), Options{Root: root}); !errors.Is(err, ErrNotInstalled) {
			t.Errorf("%q: error %v, want %v", lock, err, ErrNotInstalled)
		}
	}
}

func TestFindLooksUpwards(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	below := filepath.Join(root, "a", "b")
	if err := os.MkdirAll(below, 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := Find(below); !errors.Is(err, ErrNotInstalled) {
		t.Errorf("error %v, want %v", err, ErrNotInstalled)
	}
	for _, folder := range []string{".patchbay/node", "."} {
		modules := filepath.Join(root, folder, "node_modules")
		write(t, Node(modules), "")
		write(t, filepath.Join(modules, "dynalite", "package.json"), "{}")
		if got, err := Find(below); got != modules {
			t.Errorf("found %s, %v; want %s", got, err, modules)
		}
	}
}

func write(t *testing.T, file, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}
