// Package nodemodules finds and installs the Node packages that the module's package.json pins: the DynamoDB engine and
// the Node that runs it, and for development the official clients and the conformance suite.
package nodemodules

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
)

// ErrNotInstalled means that the engine's packages are not there. The commands install them; tests are skipped, unless
// they are told that the engine must be there.
var ErrNotInstalled = errors.New("dynalite or its node is not installed: run go tool patchbay install")

// pinned is where InstallFor puts the packages for a module whose own lock file does not name them.
var pinned = filepath.Join(".patchbay", "node")

// Find returns the absolute path of the nearest node_modules, at or above dir, that holds dynalite and node, that of
// InstallFor included. The error is ErrNotInstalled when there is none.
func Find(dir string) (string, error) {
	at, err := filepath.Abs(dir)
	if err != nil {
		return "", fmt.Errorf("looking for node_modules: %w", err)
	}
	for {
		for _, folder := range []string{at, filepath.Join(at, pinned)} {
			if modules := filepath.Join(folder, "node_modules"); Check(modules) == nil {
				return modules, nil
			}
		}
		up := filepath.Dir(at)
		if up == at {
			return "", ErrNotInstalled
		}
		at = up
	}
}

// Check returns an ErrNotInstalled unless the folder modules holds dynalite and node.
func Check(modules string) error {
	for _, path := range []string{Node(modules), filepath.Join(modules, "dynalite", "package.json")} {
		if _, err := os.Stat(path); err != nil {
			return fmt.Errorf("%w (%w)", ErrNotInstalled, err)
		}
	}
	return nil
}

// Node is the program that package.json pins; the machine's own may be too old for what it is to run.
func Node(modules string) string { return filepath.Join(modules, "node", "bin", "node") }

// Lock files of npm, format 3: what is to be installed, and npm's own record of what is, which npm ci removes first and
// writes last, so that an installation that was broken off has none.
// Source: docs.npmjs.com/cli/configuring-npm/package-lock-json, "Hidden Lockfiles".
const (
	lockFile   = "package-lock.json"
	recordFile = ".package-lock.json"
)

// lock is a lock file's packages by their folders, without the module itself.
type lock map[string]entry

type entry struct {
	Version   string `json:"version"`
	Integrity string `json:"integrity"`
	Dev       bool   `json:"dev"`
	Optional  bool   `json:"optional"`
}

// readLock returns an empty lock for a file that does not exist.
func readLock(file string) (lock, error) {
	data, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading a lock file: %w", err)
	}
	var content struct {
		Packages lock `json:"packages"`
	}
	if err := json.Unmarshal(data, &content); err != nil {
		return nil, fmt.Errorf("decoding %s: %w", file, err)
	}
	delete(content.Packages, "")
	return content.Packages, nil
}

// hasDev reports whether packages for development are among them.
func (l lock) hasDev() bool {
	for _, e := range l {
		if e.Dev {
			return true
		}
	}
	return false
}

// missing returns what the lock wants and the record of an installation has not, or has in another version. Optional
// packages are of other systems; npm decides which it installs.
func (l lock) missing(record lock, dev bool) []string {
	var missing []string
	for _, folder := range slices.Sorted(maps.Keys(l)) {
		want, have := l[folder], record[folder]
		if want.Optional || want.Dev && !dev {
			continue
		}
		if have.Version != want.Version || have.Integrity != want.Integrity {
			missing = append(missing, folder)
		}
	}
	return missing
}

// Required reports whether tests that find ErrNotInstalled must fail instead of being skipped: in CI, and where the
// command that runs them has installed the packages and says so by PATCHBAY_REQUIRE_ENGINE.
func Required(getenv func(string) string) bool {
	return getenv("CI") != "" || getenv("PATCHBAY_REQUIRE_ENGINE") != ""
}
