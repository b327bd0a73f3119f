package localstack

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"

	"patchbay/scripts/localdb"
)

// nodeModules returns the folder with the DynamoDB engine and the Node that runs it. What is missing is installed as the
// module's lock file says.
func nodeModules(ctx context.Context, module string, progress io.Writer) (string, error) {
	modules := filepath.Join(module, "node_modules")
	if installed(modules) {
		return modules, nil
	}
	if found, err := localdb.FindModules(); err == nil {
		return found, nil
	}
	if _, err := os.Stat(filepath.Join(module, "package-lock.json")); err != nil {
		return "", fmt.Errorf("%w; %s has no package-lock.json to install it from", localdb.ErrNotInstalled, module)
	}
	fmt.Fprintln(progress, "installing the DynamoDB engine (npm ci, once)")
	command := exec.CommandContext(ctx, "npm", "ci", "--omit=dev", "--no-audit", "--no-fund", "--loglevel=error")
	command.Dir = module
	output, err := command.CombinedOutput()
	if errors.Is(err, exec.ErrNotFound) {
		return "", fmt.Errorf("the local stack needs npm to install its DynamoDB engine: %w", err)
	}
	if err != nil {
		return "", fmt.Errorf("installing the DynamoDB engine with npm ci in %s: %w\n%s", module, err, output)
	}
	return modules, nil
}

func installed(modules string) bool {
	for _, name := range []string{"dynalite", "node"} {
		if _, err := os.Stat(filepath.Join(modules, name, "package.json")); err != nil {
			return false
		}
	}
	return true
}
