package localstack

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"patchbay/shared/contract"
	"patchbay/shared/mcp"
)

// check refuses options that mean nothing. What it lets through is read once more by the dispatcher, whose error would
// come with the first request.
func (o Options) check() error {
	var faults []error
	switch o.CacheScope {
	case "", mcp.CachePublic, mcp.CachePrivate:
	default:
		faults = append(faults,
			fmt.Errorf("cache scope %q: allowed: %s, %s", o.CacheScope, mcp.CachePublic, mcp.CachePrivate))
	}
	if o.CacheTTL != nil && *o.CacheTTL < 0 {
		faults = append(faults, fmt.Errorf("cache TTL %s: allowed: 0 or more", *o.CacheTTL))
	}
	for _, origin := range o.Origins {
		if u, err := url.Parse(origin); err != nil || u.Host == "" || u.Scheme+"://"+u.Host != origin {
			faults = append(faults, fmt.Errorf("origin %q: allowed: a scheme, a host and a port as a browser sends them, "+
				"like https://app.example.com", origin))
		}
	}
	return errors.Join(faults...)
}

// checkTools refuses what could not be built, run or published, before anything is built.
func (s *Stack) checkTools(tools []*contract.Tool) error {
	limits := contract.ServerLimits{MaxCallSeconds: maxCallSeconds(s.answerWithin(tools))}
	problems := contract.CheckTools(tools, limits)
	var faults []error
	for _, tool := range tools {
		if err := s.checkCode(tool); err != nil {
			faults = append(faults, fmt.Errorf("%s: %w", tool.File, err))
		}
	}
	return errors.Join(append([]error{problems.Err()}, faults...)...)
}

// checkCode finds the code of a tool's function, and what it says that it depends on.
func (s *Stack) checkCode(tool *contract.Tool) error {
	function := tool.Contract.Function
	if function.ARN != "" {
		dir := filepath.Join(s.existingDir(), existingName(function))
		if _, err := os.Stat(dir); err != nil {
			return fmt.Errorf("the local stack looks for the code of the function %s in %s: %w", function.ARN, dir, err)
		}
		return nil
	}
	if len(function.Build) > 0 {
		return nil
	}
	switch dir := s.sourceDir(tool); function.Runtime {
	case contract.RuntimeGo:
		return nil
	case contract.RuntimePython:
		return checkRequirements(filepath.Join(dir, requirementsFile))
	case contract.RuntimeNodeJS:
		return checkPackage(dir)
	}
	return fmt.Errorf("the local stack runs functions in %s, %s and %s, not in %s",
		contract.RuntimeGo, contract.RuntimeNodeJS, contract.RuntimePython, function.Runtime)
}

// checkRequirements demands exact versions, so that a function that was tested is the one that is deployed.
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
	data, err := os.ReadFile(filepath.Join(dir, "package.json"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("reading package.json: %w", err)
	}
	var content struct {
		Dependencies map[string]string `json:"dependencies"`
	}
	if err := json.Unmarshal(data, &content); err != nil {
		return fmt.Errorf("decoding package.json: %w", err)
	}
	if len(content.Dependencies) > 0 && !hasLock(dir) {
		return fmt.Errorf("package.json has dependencies and %s does not exist; make it with npm install", npmLockFile)
	}
	return nil
}

func hasLock(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, npmLockFile))
	return err == nil
}
