// Package pytools installs the Python programs that tests and commands run: moto, an emulator of AWS that is not of
// this project, with cfn-lint, and the SAM command line.
//
// Each set lies in a virtual environment of its own under the module's .patchbay folder, made from a list of packages
// that is part of this package and names every version. It is installed once; whatever is there of another list is left
// alone, so that two branches of a checkout do not install in turns.
package pytools

import (
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// ErrNotInstalled means that programs are not there. Commands install them; tests are skipped, unless they are told
// that their engines must be there.
var ErrNotInstalled = errors.New("python programs are not installed: run go tool patchbay install --dev, " +
	"or ./scripts/test, which does")

//go:embed moto-requirements.txt
var motoRequirements []byte

//go:embed sam-requirements.txt
var samRequirements []byte

// set is what is installed together.
type set struct {
	name         string
	requirements []byte
}

var (
	moto = set{"moto", motoRequirements}
	sam  = set{"sam", samRequirements}
)

// Moto makes sure that moto_server and cfn-lint are installed under the module at root and returns the folder of the
// programs. Progress gets a line when something is installed; nil drops it. Whoever installs at the same time waits.
func Moto(ctx context.Context, root string, progress io.Writer) (bin string, err error) {
	return moto.install(ctx, root, progress)
}

// SAM makes sure that sam is installed, as Moto does.
func SAM(ctx context.Context, root string, progress io.Writer) (bin string, err error) {
	return sam.install(ctx, root, progress)
}

// FindMoto returns the folder that Moto returns, for the module at or above dir. The error is ErrNotInstalled when Moto
// has not installed there what this release wants.
func FindMoto(dir string) (bin string, err error) { return moto.find(dir) }

// FindSAM returns the folder that SAM returns, as FindMoto does.
func FindSAM(dir string) (bin string, err error) { return sam.find(dir) }

// dir is the environment's folder. Its name has a digest of the list of packages, so that another list is another
// environment.
func (s set) dir(root string) string {
	digest := sha256.Sum256(s.requirements)
	return filepath.Join(root, ".patchbay", "python", s.name+"-"+hex.EncodeToString(digest[:6]))
}

// complete marks an environment that is whole. It is written last: a half-made one is never taken for it.
func complete(dir string) string { return filepath.Join(dir, "complete") }

func (s set) installed(root string) bool {
	_, err := os.Stat(complete(s.dir(root)))
	return err == nil
}

func (s set) find(dir string) (string, error) {
	at, err := filepath.Abs(dir)
	if err != nil {
		return "", fmt.Errorf("looking for %s: %w", s.name, err)
	}
	for {
		if s.installed(at) {
			return filepath.Join(s.dir(at), "bin"), nil
		}
		up := filepath.Dir(at)
		if up == at {
			return "", fmt.Errorf("looking for %s: %w", s.name, ErrNotInstalled)
		}
		at = up
	}
}

func (s set) install(ctx context.Context, root string, progress io.Writer) (string, error) {
	at, err := filepath.Abs(root)
	if err != nil {
		return "", fmt.Errorf("locating %s: %w", root, err)
	}
	root = at
	bin := filepath.Join(s.dir(root), "bin")
	if s.installed(root) {
		return bin, nil
	}
	unlock, err := exclusively(filepath.Join(root, ".patchbay"), s.name)
	if err != nil {
		return "", fmt.Errorf("installing %s: %w", s.name, err)
	}
	defer unlock()
	if s.installed(root) { // by whoever held the lock
		return bin, nil
	}
	if progress != nil {
		fmt.Fprintf(progress, "installing %s for Python (pip, once)\n", s.name)
	}
	if err := s.fill(ctx, s.dir(root)); err != nil {
		return "", fmt.Errorf("installing %s: %w", s.name, err)
	}
	return bin, nil
}

// fill makes the environment in dir anew. Programs of an environment hold its path, so it is made where it is to be.
func (s set) fill(ctx context.Context, dir string) error {
	if err := os.RemoveAll(dir); err != nil {
		return fmt.Errorf("removing what is half installed: %w", err)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("making the environment's folder: %w", err)
	}
	requirements := filepath.Join(dir, "requirements.txt")
	if err := os.WriteFile(requirements, s.requirements, 0o644); err != nil {
		return fmt.Errorf("writing the list of packages: %w", err)
	}
	if err := run(ctx, "python3", "-m", "venv", dir); err != nil {
		return err
	}
	err := run(ctx, filepath.Join(dir, "bin", "python"), "-m", "pip", "install", "--quiet", "--no-deps",
		"--disable-pip-version-check", "-r", requirements)
	if err != nil {
		return err
	}
	return os.WriteFile(complete(dir), nil, 0o644)
}

// exclusively waits for other installations of the name. The lock ends with the process that holds it.
func exclusively(dir, name string) (unlock func(), err error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("making the folder for what is installed: %w", err)
	}
	file, err := os.OpenFile(filepath.Join(dir, name+".lock"), os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, fmt.Errorf("locking the installation: %w", err)
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX); err != nil {
		file.Close()
		return nil, fmt.Errorf("locking the installation: %w", err)
	}
	return func() { file.Close() }, nil
}

// run runs a program. The error quotes what it printed.
func run(ctx context.Context, name string, args ...string) error {
	cmd := exec.CommandContext(ctx, name, args...)
	// What a person's Python is told to load would be loaded here too.
	cmd.Env = slices.DeleteFunc(cmd.Environ(), func(variable string) bool {
		return strings.HasPrefix(variable, "PYTHON") || strings.HasPrefix(variable, "VIRTUAL_ENV=")
	})
	output, err := cmd.CombinedOutput()
	if errors.Is(err, exec.ErrNotFound) {
		return fmt.Errorf("%s is not installed: %w", name, err)
	}
	if err != nil {
		return fmt.Errorf("%s %s: %w\n%s", name, strings.Join(args, " "), err, output)
	}
	return nil
}
