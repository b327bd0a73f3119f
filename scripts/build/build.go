// Package build compiles Go functions into the bootstrap programs that AWS Lambda's OS-only runtimes start.
//
// The same flags serve the local stack and a deployment, so that equal sources make equal bytes: a CDK asset is named
// by its content, and a bootstrap that differs from build to build would publish a new version of every function.
package build

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
)

// GoOptions says which Go programs to build, for what, and where to.
type GoOptions struct {
	// ModuleDir is the root folder of the Go module; "" is the current folder. Any module will do.
	ModuleDir string
	// OutDir gets a folder per program, named as the program's folder: OutDir/get_weather/bootstrap.
	OutDir string
	// Packages names the main packages relative to the module, like ./functions/get_weather. Their last elements must
	// differ, since those name the functions.
	Packages []string
	// GOOS and GOARCH are the target; "" is the local machine's. AWS Lambda wants linux with arm64 or amd64.
	GOOS, GOARCH string
	// Incremental is for building the same programs again and again on one machine: what the linker wrote is kept in
	// OutDir, with the build id by which the go command sees that nothing has changed. It makes other bytes than a build
	// for deployment.
	Incremental bool
	// Files are copied beside bootstraps: function folder name to paths of files, relative to ModuleDir. A dispatcher
	// carries its server.json so.
	Files map[string][]string
}

// flags make the output depend on the sources and the Go version alone (-trimpath, no VCS stamp, no build id), small
// (-s -w), and free of the RPC loop that only the retired go1.x runtime used (lambda.norpc).
func (o GoOptions) flags() []string {
	linker := "-ldflags=-s -w -buildid="
	if o.Incremental {
		linker = "-ldflags=-s -w"
	}
	return []string{"-trimpath", "-buildvcs=false", "-tags", "lambda.norpc", linker}
}

// Go builds all packages with one run of the go command and puts each program at OutDir/<folder name>/bootstrap.
//
// A bootstrap whose content did not change is left alone, and not even linked where it can be told before; any other is
// replaced in one step, so that a process that is starting meanwhile gets the old program or the new one, never half of
// one. The error for code that does not compile is an *Error.
func Go(ctx context.Context, options GoOptions) error {
	if err := options.check(); err != nil {
		return err
	}
	if err := os.MkdirAll(options.OutDir, 0o755); err != nil {
		return fmt.Errorf("creating the output folder: %w", err)
	}
	if err := options.programs(ctx); err != nil {
		return err
	}
	return options.copyFiles()
}

// programs makes the bootstraps.
func (o GoOptions) programs(ctx context.Context) error {
	if o.Incremental {
		return o.make(ctx)
	}
	packages, inputs, err := o.stale(ctx)
	if err != nil || len(packages) == 0 {
		return err
	}
	changed := o
	changed.Packages = packages
	if err := changed.make(ctx); err != nil {
		return err
	}
	return o.remember(packages, inputs)
}

// make compiles all packages and installs what comes out.
func (o GoOptions) make(ctx context.Context) error {
	staging, remove, err := o.staging()
	if err != nil {
		return fmt.Errorf("creating a staging folder: %w", err)
	}
	defer remove()

	if err := compile(ctx, o, staging); err != nil {
		return err
	}
	return o.install(staging)
}

// staging makes the folder that the go command writes to: beside the results, so that the last step is a rename within
// one file system. That of an incremental build stays, since the go command links a program again unless it finds it.
func (o GoOptions) staging() (dir string, remove func(), err error) {
	if o.Incremental {
		dir = filepath.Join(o.OutDir, linkedDir)
		return dir, func() {}, os.MkdirAll(dir, 0o755)
	}
	dir, err = os.MkdirTemp(o.OutDir, ".build-")
	return dir, func() { _ = os.RemoveAll(dir) }, err
}

// linkedDir is the folder of what the linker wrote in incremental builds.
const linkedDir = ".linked"

// folderOf is the name of a package's folder, which names its function.
func folderOf(pkg string) string { return path.Base(pkg) }

func (o GoOptions) check() error {
	if o.OutDir == "" {
		return errors.New("building functions: OutDir is empty; name the folder that the bootstraps go to")
	}
	if len(o.Packages) == 0 {
		return errors.New("building functions: no package is named")
	}
	folders := map[string]string{}
	for _, pkg := range o.Packages {
		folder := folderOf(pkg)
		if folder == "." || folder == ".." {
			return fmt.Errorf("building functions: package %q names no folder; write it like ./functions/get_weather", pkg)
		}
		if other, taken := folders[folder]; taken {
			return fmt.Errorf("building functions: %s and %s would both be the function %q; rename one folder",
				other, pkg, folder)
		}
		folders[folder] = pkg
	}
	for folder := range o.Files {
		if _, known := folders[folder]; !known {
			return fmt.Errorf("building functions: files are named for %q, which is not among the packages %s",
				folder, strings.Join(o.Packages, ", "))
		}
	}
	return nil
}

// compile leaves one program per package in dir, under the package's folder name.
func compile(ctx context.Context, options GoOptions, dir string) error {
	out, err := filepath.Abs(dir)
	if err != nil {
		return fmt.Errorf("resolving the staging folder: %w", err)
	}
	// A trailing separator makes the go command write into the folder also when it builds a single package.
	args := append([]string{"build"}, options.flags()...)
	args = append(args, "-o", out+string(filepath.Separator))
	cmd := exec.CommandContext(ctx, "go", append(args, options.Packages...)...)
	endWithAll(cmd)
	options.prepare(cmd)
	output, err := cmd.CombinedOutput()
	if ctx.Err() != nil {
		return fmt.Errorf("building functions: %w", ctx.Err())
	}
	if err != nil {
		return newError(ctx, options, string(output), err)
	}
	return nil
}

// prepare makes a go command run in the module, for the target.
func (o GoOptions) prepare(cmd *exec.Cmd) {
	cmd.Dir = o.ModuleDir
	// Without cgo a program runs on any Linux of its architecture, whatever C library that has.
	cmd.Env = append(cmd.Environ(), "CGO_ENABLED=0")
	if o.GOOS != "" {
		cmd.Env = append(cmd.Env, "GOOS="+o.GOOS)
	}
	if o.GOARCH != "" {
		cmd.Env = append(cmd.Env, "GOARCH="+o.GOARCH)
	}
}

func (o GoOptions) install(staging string) error {
	for _, pkg := range o.Packages {
		folder := folderOf(pkg)
		program, err := findProgram(staging, folder)
		if err != nil {
			return fmt.Errorf("building %s: %w", pkg, err)
		}
		if err := o.place(program, filepath.Join(o.OutDir, folder, "bootstrap")); err != nil {
			return fmt.Errorf("installing the bootstrap of %s: %w", pkg, err)
		}
	}
	return nil
}

func (o GoOptions) copyFiles() error {
	for folder, files := range o.Files {
		for _, file := range files {
			if err := o.copyBeside(folder, file); err != nil {
				return fmt.Errorf("copying %s beside the bootstrap of %s: %w", file, folder, err)
			}
		}
	}
	return nil
}

// place moves a program to where it runs from. What is kept for the next build is linked to instead, which takes no
// room: the go command writes a new file when it links again, so the old one stays as it is for whoever runs it.
func (o GoOptions) place(program, target string) error {
	if !o.Incremental {
		return replace(program, target, 0o755)
	}
	fresh := program + ".new"
	if err := os.Remove(fresh); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := os.Link(program, fresh); err != nil {
		return err
	}
	defer os.Remove(fresh)
	return replace(fresh, target, 0o755)
}

// findProgram looks for what the go command wrote for a package: nothing when the package is not a program.
func findProgram(staging, folder string) (string, error) {
	for _, name := range []string{folder, folder + ".exe"} {
		program := filepath.Join(staging, name)
		if _, err := os.Stat(program); err == nil {
			return program, nil
		}
	}
	return "", errors.New("no program came out; a function's package must be `package main`")
}

func (o GoOptions) copyBeside(folder, file string) error {
	source := file
	if !filepath.IsAbs(source) {
		source = filepath.Join(o.ModuleDir, file)
	}
	target := filepath.Join(o.OutDir, folder, filepath.Base(file))
	data, err := os.ReadFile(source)
	if err != nil {
		return err
	}
	temporary := filepath.Join(o.OutDir, folder, "."+filepath.Base(file)+".new")
	defer os.Remove(temporary)
	if err := os.WriteFile(temporary, data, 0o644); err != nil {
		return err
	}
	return replace(temporary, target, 0o644)
}

// replace moves a new file over an old one unless both have the same content.
func replace(source, target string, mode fs.FileMode) error {
	same, err := sameContent(source, target)
	if err != nil || same {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
		return err
	}
	if err := os.Chmod(source, mode); err != nil {
		return err
	}
	return os.Rename(source, target)
}

func sameContent(source, target string) (bool, error) {
	there, err := os.Stat(target)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if came, err := os.Stat(source); err != nil || os.SameFile(came, there) || came.Size() != there.Size() {
		return err == nil && os.SameFile(came, there), err
	}
	return equalBytes(source, target)
}

// equalBytes reports whether two files of one size hold the same. Programs that differ do so near their beginnings, in
// their build ids.
func equalBytes(a, b string) (bool, error) {
	first, err := os.Open(a)
	if err != nil {
		return false, err
	}
	defer first.Close()
	second, err := os.Open(b)
	if err != nil {
		return false, err
	}
	defer second.Close()
	left, right := make([]byte, 64<<10), make([]byte, 64<<10)
	for {
		n, err := io.ReadFull(first, left)
		m, other := io.ReadFull(second, right)
		if n != m || !bytes.Equal(left[:n], right[:m]) {
			return false, nil
		}
		if err != nil || other != nil {
			return isEnd(err) && isEnd(other), errors.Join(unlessEnd(err), unlessEnd(other))
		}
	}
}

func isEnd(err error) bool { return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) }

func unlessEnd(err error) error {
	if isEnd(err) {
		return nil
	}
	return err
}

func digest(file string) ([]byte, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	hash := sha256.New()
	if _, err := io.Copy(hash, f); err != nil {
		return nil, err
	}
	return hash.Sum(nil), nil
}
