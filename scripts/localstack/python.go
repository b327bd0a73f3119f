package localstack

import (
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"patchbay/scripts/locallambda"
	"patchbay/shared/contract"
)

// pythonRequirements pins AWS's runtime interface client, which speaks the Runtime API for Python functions.
//
//go:embed python-requirements.txt
var pythonRequirements []byte

// python makes function run a Python handler on AWS's own runtime client.
func (d *deployment) python(ctx context.Context, function *locallambda.Function, tool *contract.Tool) error {
	interpreter, err := d.pythonEnvironment(ctx)
	if err != nil {
		return err
	}
	if err := replaceDir(function.Dir, filepath.Join(d.options.Functions, folder(tool))); err != nil {
		return fmt.Errorf("copying the function: %w", err)
	}
	function.Command = []string{interpreter, "-m", "awslambdaric", tool.Contract.Function.Handler}
	return nil
}

// pythonEnvironment returns the interpreter of a virtual environment with the pinned requirements, made when it is not
// there yet. Its folder is named by what is in it, so a half-made one is never taken for whole.
func (d *deployment) pythonEnvironment(ctx context.Context) (string, error) {
	digest := sha256.Sum256(pythonRequirements)
	dir := filepath.Join(d.options.Data, "python-"+hex.EncodeToString(digest[:6]))
	interpreter := filepath.Join(dir, "bin", "python")
	done := filepath.Join(dir, "complete")
	if _, err := os.Stat(done); err == nil {
		return interpreter, nil
	}
	fmt.Fprintln(d.options.Progress, "installing the Lambda runtime client for Python (pip, once)")
	requirements := filepath.Join(d.options.Data, "python-requirements.txt")
	if err := os.WriteFile(requirements, pythonRequirements, 0o644); err != nil {
		return "", fmt.Errorf("writing Python requirements: %w", err)
	}
	for _, command := range [][]string{
		{"python3", "-m", "venv", "--clear", dir},
		{interpreter, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-r", requirements},
	} {
		if err := run(ctx, command); err != nil {
			return "", fmt.Errorf("installing the Lambda runtime client for Python: %w", err)
		}
	}
	return interpreter, os.WriteFile(done, nil, 0o644)
}

func run(ctx context.Context, command []string) error {
	output, err := exec.CommandContext(ctx, command[0], command[1:]...).CombinedOutput()
	if errors.Is(err, exec.ErrNotFound) {
		return fmt.Errorf("a function is written in Python, and %s is not installed: %w", command[0], err)
	}
	if err != nil {
		return fmt.Errorf("%s: %w\n%s", command[0], err, output)
	}
	return nil
}

// replaceDir makes target a fresh copy of source.
func replaceDir(target, source string) error {
	if err := os.RemoveAll(target); err != nil {
		return err
	}
	return os.CopyFS(target, os.DirFS(source))
}
