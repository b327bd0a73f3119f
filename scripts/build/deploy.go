package build

import (
	"context"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"patchbay/shared/contract"
)

// The managed runtimes that functions are packaged for, as Lambda names them: the newest that is in long-term support.
const (
	NodeRuntime   = "nodejs24.x"
	PythonRuntime = "python3.14"
)

// Arm64 and Amd64 are the processors that Lambda runs functions on, as the go command names them.
const (
	Arm64 = "arm64"
	Amd64 = "amd64"
)

// PackageOptions says which functions to package for deployment.
type PackageOptions struct {
	// ModuleDir is the root folder of the Go module, and Functions the folder of functions within it.
	ModuleDir, Functions string
	// Tools are those whose own functions are packaged. Existing functions are passed over.
	Tools []*contract.Tool
	// Programs are packages of control functions, like patchbay/dispatcher, and Files what lies beside them; see
	// GoOptions.
	Programs []string
	Files    map[string][]string
	// Arch is the processor; "" means Arm64.
	Arch string
	// OutDir keeps the packages from one build to the next.
	OutDir string
	// Progress gets a line for each step that takes long; nil drops them.
	Progress io.Writer
}

// Packages are folders, each the content of a function's deployment package.
type Packages struct {
	functions, programs string
}

// Function is the package of a tool's own function.
func (p Packages) Function(folder string) string { return filepath.Join(p.functions, folder) }

// Program is the package of a control function.
func (p Packages) Program(pkg string) string { return filepath.Join(p.programs, folderOf(pkg)) }

// Package makes a folder for every function with exactly what is to be deployed: no tests, caches or hidden files, and
// nothing that depends on the machine, the folder or the time of the build. What did not change is not made again.
//
// The error for Go code that does not compile is an *Error; any other names the tool's file.
func Package(ctx context.Context, options PackageOptions) (Packages, error) {
	if options.Arch == "" {
		options.Arch = Arm64
	}
	if options.Progress == nil {
		options.Progress = io.Discard
	}
	out := filepath.Join(options.OutDir, options.Arch)
	packages := Packages{functions: filepath.Join(out, "functions"), programs: filepath.Join(out, "programs")}
	if err := options.compile(ctx, packages.programs, options.Programs, options.Files); err != nil {
		return packages, err
	}
	compiled, err := options.compiled()
	if err != nil {
		return packages, err
	}
	if err := options.compile(ctx, packages.functions, compiled, nil); err != nil {
		return packages, err
	}
	for _, tool := range options.Tools {
		if tool.Contract.Function.ARN != "" || ByCompiler(tool.Contract.Function) {
			continue
		}
		if err := options.interpreted(ctx, packages, tool); err != nil {
			return packages, fmt.Errorf("building the function of %s: %w", tool.File, err)
		}
	}
	return packages, nil
}

// ByCompiler reports whether nothing but the Go compiler makes the folder's own function.
func ByCompiler(function contract.Function) bool {
	return function.Runtime == contract.RuntimeGo && len(function.Build) == 0
}

// Folder is the name of a tool's folder, which names its function.
func Folder(tool *contract.Tool) string { return path.Base(path.Dir(filepath.ToSlash(tool.File))) }

func (o PackageOptions) compile(ctx context.Context, out string, packages []string, files map[string][]string) error {
	if len(packages) == 0 {
		return nil
	}
	fmt.Fprintf(o.Progress, "building %s for %s\n", count(len(packages), "Go program"), o.Arch)
	return Go(ctx, GoOptions{
		ModuleDir: o.ModuleDir, OutDir: out, Packages: packages, Files: files, GOOS: "linux", GOARCH: o.Arch,
	})
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// compiled names the packages of the functions that the compiler makes.
func (o PackageOptions) compiled() ([]string, error) {
	relative, err := filepath.Rel(o.ModuleDir, o.Functions)
	if err != nil {
		return nil, fmt.Errorf("resolving the functions folder: %w", err)
	}
	var packages []string
	for _, tool := range o.Tools {
		if tool.Contract.Function.ARN == "" && ByCompiler(tool.Contract.Function) {
			packages = append(packages, "./"+path.Join(filepath.ToSlash(relative), Folder(tool)))
		}
	}
	return packages, nil
}

// interpreted packages a function that the Go compiler alone does not make.
func (o PackageOptions) interpreted(ctx context.Context, packages Packages, tool *contract.Tool) error {
	function := tool.Contract.Function
	source, target := filepath.Join(o.Functions, Folder(tool)), packages.Function(Folder(tool))
	if err := CheckDependencies(source, function); err != nil {
		return err
	}
	made, err := o.isMade(source, target, function)
	if err != nil || made {
		return err
	}
	if len(function.Build) > 0 {
		fmt.Fprintf(o.Progress, "building %s: %s\n", Folder(tool), strings.Join(function.Build, " "))
	} else if len(o.installs(source, function)) > 0 {
		fmt.Fprintf(o.Progress, "installing what %s depends on\n", Folder(tool))
	}
	if err := os.MkdirAll(packages.functions, 0o755); err != nil {
		return fmt.Errorf("creating the output folder: %w", err)
	}
	staging, err := os.MkdirTemp(packages.functions, ".package-")
	if err != nil {
		return fmt.Errorf("creating a staging folder: %w", err)
	}
	defer os.RemoveAll(staging)
	content := filepath.Join(staging, "content")
	if err := o.fill(ctx, source, content, function); err != nil {
		return err
	}
	if err := os.RemoveAll(target); err != nil {
		return fmt.Errorf("removing the package of before: %w", err)
	}
	if err := os.Rename(content, target); err != nil {
		return fmt.Errorf("putting the package in its place: %w", err)
	}
	return o.rememberMade(source, target, function)
}

// fill makes a package's content in a new folder.
func (o PackageOptions) fill(ctx context.Context, source, content string, function contract.Function) error {
	left, err := leftOut(source)
	if err != nil {
		return err
	}
	if function.Runtime == contract.RuntimeGo {
		err = o.inPlace(ctx, source, content, function.Build)
	} else {
		err = o.inCopy(ctx, source, content, function)
	}
	if err != nil {
		return err
	}
	for _, name := range left {
		if err := os.RemoveAll(filepath.Join(content, name)); err != nil {
			return fmt.Errorf("leaving out %s: %w", name, err)
		}
	}
	return normalize(content)
}

// inPlace runs the build command of a Go function in its own folder, since a copy elsewhere would not be a part of its
// module, and takes the bootstrap that the command leaves there.
func (o PackageOptions) inPlace(ctx context.Context, source, content string, command []string) error {
	if err := Run(ctx, source, command, o.environment()...); err != nil {
		return err
	}
	program := filepath.Join(source, "bootstrap")
	if !exists(program) {
		return fmt.Errorf("%s left no program bootstrap in the function's folder", strings.Join(command, " "))
	}
	if err := os.CopyFS(content, os.DirFS(source)); err != nil {
		return fmt.Errorf("copying the function: %w", err)
	}
	if err := os.Chmod(filepath.Join(content, "bootstrap"), 0o755); err != nil {
		return err
	}
	return os.Remove(program)
}

// inCopy runs the contract's own build command, else what installs the function's dependencies, in a copy.
func (o PackageOptions) inCopy(ctx context.Context, source, content string, function contract.Function) error {
	if err := os.CopyFS(content, os.DirFS(source)); err != nil {
		return fmt.Errorf("copying the function: %w", err)
	}
	command := function.Build
	if len(command) == 0 {
		command = o.installs(source, function)
	}
	if len(command) == 0 {
		return nil
	}
	if err := Run(ctx, content, command, o.environment()...); err != nil {
		return err
	}
	if programs := "bin"; function.Runtime == contract.RuntimePython && !exists(filepath.Join(source, programs)) {
		// What pip installs there begins with the path of this machine's interpreter, and no function runs it.
		return os.RemoveAll(filepath.Join(content, programs))
	}
	return nil
}

// environment tells a build command what it builds for, in the words of the tools that it may run.
func (o PackageOptions) environment() []string {
	cpu := map[string]string{Arm64: "arm64", Amd64: "x64"}[o.Arch]
	return []string{"GOOS=linux", "GOARCH=" + o.Arch, "CGO_ENABLED=0",
		"npm_config_os=linux", "npm_config_libc=glibc", "npm_config_cpu=" + cpu}
}

// installs is the command that installs what a function depends on; nil when that is nothing. Nothing is compiled:
// what is made for this machine would not run on Lambda, so there are ready-made packages for Lambda's processor or
// an error.
func (o PackageOptions) installs(source string, function contract.Function) []string {
	switch {
	case function.Runtime == contract.RuntimeNodeJS && HasLock(source):
		return []string{"npm", "ci", "--omit=dev", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"}
	case function.Runtime == contract.RuntimePython && exists(filepath.Join(source, RequirementsFile)):
		cpu := map[string]string{Arm64: "aarch64", Amd64: "x86_64"}[o.Arch]
		command := []string{"python3", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-compile",
			"--target", ".", "--only-binary=:all:", "--implementation", "cp",
			"--python-version", strings.TrimPrefix(PythonRuntime, "python"), "-r", RequirementsFile}
		for _, platform := range pythonPlatforms {
			command = append(command, "--platform", platform+"_"+cpu)
		}
		return command
	}
	return nil
}

// pythonPlatforms are the tags of wheels that run on Amazon Linux 2023, glibc 2.34. Source: PEP 600.
var pythonPlatforms = []string{"manylinux_2_34", "manylinux_2_28", "manylinux_2_17", "manylinux2014"}

// isMade reports whether a package is there and was made from the same things. What a command of the contract's own
// reads is not known, so it runs every time.
func (o PackageOptions) isMade(source, target string, function contract.Function) (bool, error) {
	if len(function.Build) > 0 || !exists(target) {
		return false, nil
	}
	inputs, err := o.madeFrom(source, function)
	if err != nil {
		return false, err
	}
	recorded, err := os.ReadFile(madeFile(target))
	return err == nil && string(recorded) == inputs, nil
}

func (o PackageOptions) rememberMade(source, target string, function contract.Function) error {
	if len(function.Build) > 0 {
		return nil
	}
	inputs, err := o.madeFrom(source, function)
	if err != nil {
		return err
	}
	if err := os.WriteFile(madeFile(target), []byte(inputs), 0o644); err != nil {
		return fmt.Errorf("recording what a package was made from: %w", err)
	}
	return nil
}

func madeFile(target string) string {
	return filepath.Join(filepath.Dir(target), "."+filepath.Base(target)+".inputs")
}

func (o PackageOptions) madeFrom(source string, function contract.Function) (string, error) {
	command := slices.Concat(o.installs(source, function), o.environment())
	return treeDigest(source, strings.Join(command, "\x00"))
}
