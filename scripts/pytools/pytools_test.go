package pytools

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// A Python of this test's own, in front of the real one, makes an environment whose pip only says that it was run.
const python = `#!/bin/sh
[ "$1 $2" = "-m venv" ] || exit 1
mkdir -p "$3/bin"
cat > "$3/bin/python" <<'END'
#!/bin/sh
echo run >> "$(dirname "$0")/../../../../pip-was-run"
END
chmod +x "$3/bin/python"
`

func standIn(t *testing.T, program string) {
	t.Helper()
	bin := t.TempDir()
	if err := os.WriteFile(filepath.Join(bin, "python3"), []byte(program), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin+string(os.PathListSeparator)+os.Getenv("PATH"))
}

func runs(t *testing.T, root string) int {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(root, "pip-was-run"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	return strings.Count(string(data), "run")
}

func TestInstallOnceForAllWhoAsk(t *testing.T) {
	standIn(t, python)
	root := t.TempDir()
	if _, err := FindMoto(root); !errors.Is(err, ErrNotInstalled) {
		t.Errorf("error %v, want %v", err, ErrNotInstalled)
	}
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			if _, err := Moto(t.Context(), root, nil); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if n := runs(t, root); n != 1 {
		t.Errorf("pip was run %d times", n)
	}
	bin, err := Moto(t.Context(), root, nil)
	if err != nil {
		t.Fatal(err)
	}
	below := filepath.Join(root, "a", "b")
	if err := os.MkdirAll(below, 0o755); err != nil {
		t.Fatal(err)
	}
	if found, err := FindMoto(below); err != nil || found != bin {
		t.Errorf("found %s, %v; want %s", found, err, bin)
	}
	if _, err := FindSAM(below); !errors.Is(err, ErrNotInstalled) {
		t.Errorf("moto's environment was taken for another: %v", err)
	}
}

// What an installation that was broken off left is made anew.
func TestHalfInstalledIsNotInstalled(t *testing.T) {
	standIn(t, python)
	root := t.TempDir()
	if err := os.MkdirAll(filepath.Join(moto.dir(root), "bin"), 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := Moto(t.Context(), root, nil); err != nil || runs(t, root) != 1 {
		t.Errorf("pip was run %d times, %v", runs(t, root), err)
	}
}

func TestAnotherListIsAnotherEnvironment(t *testing.T) {
	t.Parallel()
	other := moto
	other.requirements = []byte("moto==1.0.0\n")
	if a, b := moto.dir("/m"), other.dir("/m"); a == b {
		t.Errorf("both are in %s", a)
	}
}

func TestFailureQuotesTheProgram(t *testing.T) {
	standIn(t, "#!/bin/sh\necho no room left; exit 1\n")
	root := t.TempDir()
	if _, err := Moto(t.Context(), root, nil); err == nil || !strings.Contains(err.Error(), "no room left") {
		t.Errorf("error %v", err)
	}
	if _, err := FindMoto(root); !errors.Is(err, ErrNotInstalled) {
		t.Errorf("error %v, want %v", err, ErrNotInstalled)
	}
}

// Every package is pinned, so that an installation tomorrow is today's.
func TestRequirementsArePinned(t *testing.T) {
	t.Parallel()
	for _, s := range []set{moto, sam} {
		for line := range strings.Lines(string(s.requirements)) {
			if strings.Count(line, "==") != 1 {
				t.Errorf("%s: %q names no version", s.name, line)
			}
		}
	}
}
