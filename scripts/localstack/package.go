package localstack

import (
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"patchbay/scripts/build"
	"patchbay/scripts/locallambda"
	"patchbay/scripts/nodemodules"
	"patchbay/shared/contract"
)

// pythonRequirements pins AWS's runtime interface client, which speaks the Runtime API for Python functions.
//
//go:embed python-requirements.txt
var pythonRequirements []byte

// nodeRuntime speaks the Runtime API for Node.js functions.
//
//go:embed node-runtime.mjs
var nodeRuntime []byte

// packageFunction makes the package of a function that the Go compiler alone does not make, and returns how it is run;
// nil for its bootstrap.
func (s *Stack) packageFunction(ctx context.Context, tool *contract.Tool) (*program, error) {
	function := tool.Contract.Function
	if function.Runtime == contract.RuntimeGo {
		return nil, s.buildInPlace(ctx, tool)
	}
	dir := filepath.Join(s.outDir(), folder(tool))
	if err := copyFunction(dir, s.sourceDir(tool)); err != nil {
		return nil, fmt.Errorf("copying the function: %w", err)
	}
	if len(function.Build) > 0 {
		fmt.Fprintf(s.options.Progress, "building %s: %s\n", folder(tool), strings.Join(function.Build, " "))
		if err := build.Run(ctx, dir, function.Build); err != nil {
			return nil, err
		}
	}
	if function.Runtime == contract.RuntimePython {
		return s.python(ctx, dir, function)
	}
	return s.node(ctx, dir, function)
}

// buildInPlace runs the build command of a Go function in its own folder, since a copy elsewhere would not be a part of
// its module, and takes the bootstrap that the command leaves there.
func (s *Stack) buildInPlace(ctx context.Context, tool *contract.Tool) error {
	fmt.Fprintf(s.options.Progress, "building %s: %s\n", folder(tool), strings.Join(tool.Contract.Function.Build, " "))
	source := s.sourceDir(tool)
	if err := build.Run(ctx, source, tool.Contract.Function.Build); err != nil {
		return err
	}
	target := filepath.Join(s.outDir(), folder(tool))
	if err := replaceDir(target, source); err != nil {
		return fmt.Errorf("copying the function: %w", err)
	}
	if err := os.Chmod(filepath.Join(target, "bootstrap"), 0o755); err != nil {
		return fmt.Errorf("a Go function's build command must leave the program bootstrap in its folder: %w", err)
	}
	return os.Remove(filepath.Join(source, "bootstrap"))
}

// program is how a function is run.
type program struct {
	command     []string
	environment map[string]string
}

// apply makes function run the program. What the contract sets of the same name comes behind it.
func (p *program) apply(function *locallambda.Function) {
	if p == nil {
		return
	}
	function.Command = p.command
	for name, value := range p.environment {
		if own := function.Env[name]; own != "" {
			value += string(os.PathListSeparator) + own
		}
		function.Env[name] = value
	}
}

// node runs a handler on the Node that package.json pins.
func (s *Stack) node(ctx context.Context, dir string, function contract.Function) (*program, error) {
	if len(function.Build) == 0 && build.HasLock(dir) {
		if err := installPackages(ctx, dir); err != nil {
			return nil, err
		}
	}
	runtime := filepath.Join(s.options.Data, "node-runtime.mjs")
	if err := os.WriteFile(runtime, nodeRuntime, 0o644); err != nil {
		return nil, fmt.Errorf("writing the runtime client for Node: %w", err)
	}
	return &program{
		command:     []string{nodemodules.Node(s.modules), runtime},
		environment: map[string]string{"_HANDLER": function.Handler},
	}, nil
}

// installPackages makes node_modules what the lock file says, unless it is that already.
func installPackages(ctx context.Context, dir string) error {
	digest := packagesDigest(dir)
	mark := filepath.Join(dir, "node_modules", installedMark)
	if installed, err := os.ReadFile(mark); err == nil && string(installed) == digest {
		return nil
	}
	command := []string{"npm", "ci", "--omit=dev", "--no-audit", "--no-fund", "--loglevel=error"}
	if err := build.Run(ctx, dir, command); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(mark), 0o755); err != nil {
		return fmt.Errorf("making node_modules, which npm does not make for no package: %w", err)
	}
	if err := os.WriteFile(mark, []byte(digest), 0o644); err != nil {
		return fmt.Errorf("recording what was installed: %w", err)
	}
	return nil
}

// installedMark is a file in node_modules that holds the packagesDigest which they were installed for.
const installedMark = ".patchbay-installed"

// packagesDigest is a digest of the files that say which packages a function in Node.js gets.
func packagesDigest(dir string) string {
	hash := sha256.New()
	for _, name := range []string{"package.json", "package-lock.json", ".npmrc"} {
		data, err := os.ReadFile(filepath.Join(dir, name))
		fmt.Fprintf(hash, "%s %t %d\n%s", name, err == nil, len(data), data)
	}
	return hex.EncodeToString(hash.Sum(nil))
}

// copyFunction makes target a fresh copy of a function's folder. The packages that npm installed into it stay, if they
// would be the same again: to install them takes seconds, and a function is saved often.
func copyFunction(target, source string) error {
	modules := filepath.Join(target, "node_modules")
	installed, err := os.ReadFile(filepath.Join(modules, installedMark))
	if err != nil || string(installed) != packagesDigest(source) {
		return replaceDir(target, source)
	}
	aside := target + ".node_modules"
	if err := os.RemoveAll(aside); err != nil {
		return err
	}
	if err := os.Rename(modules, aside); err != nil {
		return err
	}
	if err := replaceDir(target, source); err != nil {
		return err
	}
	if err := os.RemoveAll(modules); err != nil {
		return err
	}
	return os.Rename(aside, modules)
}

// python runs a handler on AWS's own runtime client, with the packages that the function requires.
func (s *Stack) python(ctx context.Context, dir string, function contract.Function) (*program, error) {
	interpreter, err := s.pythonEnvironment(ctx)
	if err != nil {
		return nil, err
	}
	p := &program{command: []string{interpreter, "-m", "awslambdaric", function.Handler}}
	requirements, err := os.ReadFile(filepath.Join(dir, build.RequirementsFile))
	if len(function.Build) > 0 || errors.Is(err, os.ErrNotExist) {
		return p, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading Python requirements: %w", err)
	}
	packages, err := s.install("python-packages", requirements, func(target string) error {
		fmt.Fprintf(s.options.Progress, "installing the Python packages of %s (pip, once)\n", filepath.Base(dir))
		return build.Run(ctx, dir, []string{interpreter, "-m", "pip", "install", "--quiet", "--disable-pip-version-check",
			"--target", target, "-r", build.RequirementsFile})
	})
	if err != nil {
		return nil, fmt.Errorf("installing what %s names: %w", build.RequirementsFile, err)
	}
	p.environment = map[string]string{"PYTHONPATH": packages}
	return p, nil
}

// pythonEnvironment returns the interpreter of a virtual environment with the runtime client.
func (s *Stack) pythonEnvironment(ctx context.Context) (string, error) {
	dir, err := s.install("python", pythonRequirements, func(dir string) error {
		fmt.Fprintln(s.options.Progress, "installing the Lambda runtime client for Python (pip, once)")
		requirements := filepath.Join(s.options.Data, "python-requirements.txt")
		if err := os.WriteFile(requirements, pythonRequirements, 0o644); err != nil {
			return fmt.Errorf("writing Python requirements: %w", err)
		}
		if err := build.Run(ctx, s.options.Data, []string{"python3", "-m", "venv", dir}); err != nil {
			return err
		}
		return build.Run(ctx, s.options.Data, []string{filepath.Join(dir, "bin", "python"), "-m", "pip", "install", "--quiet",
			"--disable-pip-version-check", "-r", requirements})
	})
	if err != nil {
		return "", fmt.Errorf("installing the Lambda runtime client for Python: %w", err)
	}
	return filepath.Join(dir, "bin", "python"), nil
}

// install returns a folder of the data folder that fill has filled. It is named by what it is made from, so that it is
// made anew when that changes, and marked when it is whole, so that a half-made one is never taken for it.
func (s *Stack) install(name string, from []byte, fill func(dir string) error) (string, error) {
	digest := sha256.Sum256(from)
	dir := filepath.Join(s.options.Data, name+"-"+hex.EncodeToString(digest[:6]))
	done := filepath.Join(dir, "complete")
	if _, err := os.Stat(done); err == nil {
		return dir, nil
	}
	if err := os.RemoveAll(dir); err != nil {
		return "", fmt.Errorf("removing what is half installed: %w", err)
	}
	if err := fill(dir); err != nil {
		return "", err
	}
	return dir, os.WriteFile(done, nil, 0o644)
}

// replaceDir makes target a fresh copy of source.
func replaceDir(target, source string) error {
	if err := os.RemoveAll(target); err != nil {
		return err
	}
	return os.CopyFS(target, os.DirFS(source))
}
