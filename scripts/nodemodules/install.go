package nodemodules

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
)

// Options say what to install.
type Options struct {
	// Root is the folder of package-lock.json.
	Root string
	// Dev adds the packages for development: the clients and the conformance suite.
	Dev bool
	// Progress gets a line when something is installed; nil drops it.
	Progress io.Writer
}

// Install makes Root/node_modules hold what the lock file says, and does nothing when it does. Packages for development
// that are there are kept up to date, not removed. Commands that install at the same time wait for each other. The
// error wraps ErrNotInstalled when Root has no lock file that names the engine.
func Install(ctx context.Context, o Options) (modules string, err error) {
	root, err := filepath.Abs(o.Root)
	if err != nil {
		return "", fmt.Errorf("locating %s: %w", o.Root, err)
	}
	unlock, err := exclusively(root)
	if err != nil {
		return "", err
	}
	defer unlock()
	return o.install(ctx, root)
}

// InstallFor installs what a module's local stack needs: by the module's own lock file where that names the engine, as
// the kit's own does, else by the kit's, in .patchbay/node of the module. The kit itself may lie in a module cache,
// where nothing can be installed.
func InstallFor(ctx context.Context, o Options) (modules string, err error) {
	modules, err = Install(ctx, o)
	if !errors.Is(err, ErrNotInstalled) {
		return modules, err
	}
	kit, err := kitFolder(ctx, o.Root)
	if err != nil {
		return "", err
	}
	return o.installPinned(ctx, os.DirFS(kit))
}

// kitFolder is where the go command has the kit's module for a module that requires it.
func kitFolder(ctx context.Context, root string) (string, error) {
	command := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", "patchbay")
	command.Dir = root
	output, err := command.Output()
	folder := strings.TrimSpace(string(output))
	if err != nil || folder == "" {
		return "", fmt.Errorf("%w; the module in %s does not require patchbay, whose package-lock.json names what is "+
			"needed", ErrNotInstalled, root)
	}
	return folder, nil
}

// installPinned installs what the lock file in pins says.
func (o Options) installPinned(ctx context.Context, pins fs.FS) (modules string, err error) {
	root, err := filepath.Abs(filepath.Join(o.Root, pinned))
	if err != nil {
		return "", fmt.Errorf("locating %s: %w", o.Root, err)
	}
	unlock, err := exclusively(o.Root)
	if err != nil {
		return "", err
	}
	defer unlock()
	if err := writePins(root, pins); err != nil {
		return "", fmt.Errorf("writing what pins the Node packages: %w", err)
	}
	return o.install(ctx, root)
}

func writePins(dir string, pins fs.FS) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for _, name := range []string{"package.json", lockFile} {
		data, err := fs.ReadFile(pins, name)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o644); err != nil {
			return err
		}
	}
	return nil
}

func (o Options) install(ctx context.Context, root string) (modules string, err error) {
	want, err := readLock(filepath.Join(root, lockFile))
	if err != nil {
		return "", err
	}
	if _, ok := want["node_modules/dynalite"]; !ok {
		return "", fmt.Errorf("%w; %s has no %s that names dynalite", ErrNotInstalled, root, lockFile)
	}
	modules = filepath.Join(root, "node_modules")
	record, err := readLock(filepath.Join(modules, recordFile))
	if err != nil {
		return "", err
	}
	dev := o.Dev || record.hasDev()
	if len(want.missing(record, dev)) == 0 && Check(modules) == nil {
		return modules, nil
	}
	if o.Progress != nil {
		fmt.Fprintln(o.Progress, "installing the Node packages of package-lock.json (npm ci)")
	}
	if err := npmCI(ctx, root, dev); err != nil {
		return "", err
	}
	return modules, Check(modules)
}

// exclusively waits for other installations into root. The lock ends with the process that holds it.
func exclusively(root string) (unlock func(), err error) {
	dir := filepath.Join(root, ".patchbay")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("making the folder for what is installed: %w", err)
	}
	file, err := os.OpenFile(filepath.Join(dir, "install.lock"), os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, fmt.Errorf("locking the installation: %w", err)
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX); err != nil {
		file.Close()
		return nil, fmt.Errorf("locking the installation: %w", err)
	}
	return func() { file.Close() }, nil
}

func npmCI(ctx context.Context, root string, dev bool) error {
	args := []string{"ci", "--no-audit", "--no-fund", "--loglevel=error"}
	if !dev {
		args = append(args, "--omit=dev")
	}
	command := exec.CommandContext(ctx, "npm", args...)
	command.Dir = root
	output, err := command.CombinedOutput()
	if errors.Is(err, exec.ErrNotFound) {
		return fmt.Errorf("npm is not installed, and the DynamoDB engine comes from it: %w", err)
	}
	if err != nil {
		return fmt.Errorf("running npm ci in %s: %w\n%s", root, err, output)
	}
	return nil
}
