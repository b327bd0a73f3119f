package build

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"patchbay/shared/contract"
)

// Files that say what a function depends on.
const (
	// RequirementsFile names the Python packages of a function.
	RequirementsFile = "requirements.txt"
	packageFile      = "package.json"
	npmLockFile      = "package-lock.json"
)

// CheckDependencies demands that what a function's folder says of its dependencies can be installed alike everywhere: a
// function that was tested is the one that is deployed. A build command of the contract's own decides for itself.
func CheckDependencies(dir string, function contract.Function) error {
	if len(function.Build) > 0 {
		return nil
	}
	switch function.Runtime {
	case contract.RuntimePython:
		return checkRequirements(filepath.Join(dir, RequirementsFile))
	case contract.RuntimeNodeJS:
		return checkPackage(dir)
	}
	return nil
}

// checkRequirements demands exact versions.
func checkRequirements(file string) error {
	data, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("reading Python requirements: %w", err)
	}
	var faults []error
	for line := range strings.Lines(strings.ReplaceAll(string(data), "\\\n", " ")) {
		requirement, _, _ := strings.Cut(line, "#")
		requirement = strings.TrimSpace(requirement)
		if requirement == "" || strings.HasPrefix(requirement, "-") || strings.Contains(requirement, "==") {
			continue
		}
		faults = append(faults,
			fmt.Errorf("%s: %q names no version; allowed: NAME==VERSION", filepath.Base(file), requirement))
	}
	return errors.Join(faults...)
}

// checkPackage demands a lock file where there is something to lock.
func checkPackage(dir string) error {
	data, err := os.ReadFile(filepath.Join(dir, packageFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("reading %s: %w", packageFile, err)
	}
	var content struct {
		Dependencies map[string]string `json:"dependencies"`
	}
	if err := json.Unmarshal(data, &content); err != nil {
		return fmt.Errorf("decoding %s: %w", packageFile, err)
	}
	if len(content.Dependencies) > 0 && !HasLock(dir) {
		return fmt.Errorf("%s has dependencies and %s does not exist; make it with npm install", packageFile, npmLockFile)
	}
	return nil
}

// HasLock reports whether a folder has npm's lock file.
func HasLock(dir string) bool { return exists(filepath.Join(dir, npmLockFile)) }

func exists(file string) bool {
	_, err := os.Stat(file)
	return err == nil
}
