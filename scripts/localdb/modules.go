package localdb

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// ErrNotInstalled means that the Node packages of package.json are not there. The local stack then installs them;
// tests are skipped, except in CI.
var ErrNotInstalled = errors.New("dynalite or its node is not installed: run npm ci in the folder of package.json")

// FindModules returns the absolute path of the nearest node_modules, at or above the working directory, that holds
// dynalite and node. The error is ErrNotInstalled when there is none.
func FindModules() (string, error) {
	at, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("looking for node_modules: %w", err)
	}
	for {
		modules := filepath.Join(at, "node_modules")
		if checkModules(modules) == nil {
			return modules, nil
		}
		up := filepath.Dir(at)
		if up == at {
			return "", ErrNotInstalled
		}
		at = up
	}
}

func checkModules(modules string) error {
	for _, path := range []string{nodePath(modules), filepath.Join(modules, "dynalite", "package.json")} {
		if _, err := os.Stat(path); err != nil {
			return fmt.Errorf("%w (%w)", ErrNotInstalled, err)
		}
	}
	return nil
}

// nodePath is the node that package.json pins; the machine's own may be too old for dynalite.
func nodePath(modules string) string { return filepath.Join(modules, "node", "bin", "node") }
