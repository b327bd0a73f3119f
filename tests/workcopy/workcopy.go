// Package workcopy gives a test what somebody has after `git clone`: everything that is under version control, as it is
// in the work tree now, in a folder of its own.
package workcopy

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// modules is the folder of what npm installs. It is linked, so that no test waits for npm again.
const modules = "node_modules"

// Make copies the repository at root into dir, which it makes. Files that git does not know yet are copied too, unless
// they are ignored; files that were removed are not.
func Make(ctx context.Context, root, dir string) error {
	root, err := filepath.Abs(root)
	if err != nil {
		return fmt.Errorf("locating %s: %w", root, err)
	}
	list := exec.CommandContext(ctx, "git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	list.Dir = root
	names, err := list.Output()
	if err != nil {
		return fmt.Errorf("listing what is under version control in %s: %w", root, err)
	}
	for name := range strings.SplitSeq(strings.TrimSuffix(string(names), "\x00"), "\x00") {
		err := copyFile(filepath.Join(root, name), filepath.Join(dir, name))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("copying %s: %w", name, err)
		}
	}
	return os.Symlink(filepath.Join(root, modules), filepath.Join(dir, modules))
}

func copyFile(from, to string) error {
	info, err := os.Stat(from)
	if err != nil {
		return err
	}
	data, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	return os.WriteFile(to, data, info.Mode())
}
