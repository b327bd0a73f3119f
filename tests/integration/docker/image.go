package docker

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// pullWithin bounds one attempt at a registry; where none is reachable it fails at once.
const pullWithin = 3 * time.Minute

// Programs are what stand-ins of base images run functions with that bring no program of their own.
type Programs struct {
	// Python is an interpreter, such as a virtual environment's, that has AWS's runtime client awslambdaric.
	Python string
	// Node is a Node.js program, and NodeRuntime a script for it that speaks the Runtime API.
	Node, NodeRuntime string
}

// Ensure makes sure of a base image under its name, as in public.ecr.aws/lambda/provided:al2023-x86_64: it is there, or
// it is pulled, or, in an engine that was started here, a stand-in for it is made from the programs of this machine.
// It reports whether the image is a stand-in.
func (e *Engine) Ensure(ctx context.Context, name string, programs Programs) (standIn bool, err error) {
	if _, err := e.run(ctx, nil, "image", "inspect", name); err == nil {
		return false, nil
	}
	pulling, cancel := context.WithTimeout(ctx, pullWithin)
	defer cancel()
	_, err = e.run(pulling, nil, "pull", "--quiet", name)
	if err == nil || !e.standIns {
		return false, err
	}
	image, err := newImage(ctx, name, programs)
	if err != nil {
		return false, fmt.Errorf("making a stand-in for %s: %w", name, err)
	}
	return true, e.load(ctx, name, image)
}

// load makes an image of files.
func (e *Engine) load(ctx context.Context, name string, image *image) error {
	reader, writer := io.Pipe()
	go func() { writer.CloseWithError(image.write(writer)) }()
	defer reader.Close()
	args := []string{"import"}
	for _, change := range []string{
		"ENV PATH=/bin", "ENV LAMBDA_TASK_ROOT=/var/task", "ENV LAMBDA_RUNTIME_DIR=/var/runtime", "WORKDIR /var/task",
	} {
		args = append(args, "--change", change)
	}
	if _, err := e.run(ctx, reader, append(args, "-", name)...); err != nil {
		return fmt.Errorf("importing %s: %w", name, err)
	}
	return nil
}

// image is the files of a stand-in: from is a file of this machine, a symbolic link where link is set, else a folder or
// a text.
type image struct {
	files []file
	seen  map[string]bool
}

type file struct {
	path, from, link, text string
	mode                   fs.FileMode
}

func (i *image) add(f file) {
	f.path = strings.TrimPrefix(filepath.Clean(f.path), "/")
	if i.seen == nil {
		i.seen = map[string]bool{}
	}
	if !i.seen[f.path] {
		i.seen[f.path] = true
		i.files = append(i.files, f)
	}
}

// newImage collects what runs a function of the image's kind: a shell and common programs, the folders that Lambda has,
// and an interpreter where the functions need one.
func newImage(ctx context.Context, name string, programs Programs) (*image, error) {
	i := &image{}
	if err := i.addShell(ctx); err != nil {
		return nil, err
	}
	kind, _, _ := strings.Cut(name[strings.LastIndex(name, "/")+1:], ":")
	switch kind {
	case "provided":
		return i, nil
	case "python":
		return i, i.addPython(ctx, programs.Python)
	case "nodejs":
		return i, i.addNode(ctx, programs)
	}
	return nil, fmt.Errorf("there is no stand-in for images of %s", kind)
}

func (i *image) addShell(ctx context.Context) error {
	busybox, err := exec.LookPath("busybox")
	if err != nil {
		return err
	}
	output, err := exec.CommandContext(ctx, busybox, "--list").Output()
	if err != nil {
		return fmt.Errorf("listing the programs of busybox: %w", err)
	}
	i.add(file{path: "bin/busybox", from: busybox})
	for program := range strings.FieldsSeq(string(output)) {
		i.add(file{path: "bin/" + program, link: "busybox"})
	}
	for _, dir := range []string{"var/task", "var/runtime", "opt"} {
		i.add(file{path: dir, mode: fs.ModeDir | 0o755})
	}
	i.add(file{path: "tmp", mode: fs.ModeDir | fs.ModeSticky | 0o777})
	i.add(file{path: "etc/passwd", text: "root:x:0:0:root:/:/bin/sh\n", mode: 0o644})
	return nil
}

// addPython adds an interpreter with its library where they lie on this machine, and the runtime client.
func (i *image) addPython(ctx context.Context, python string) error {
	const question = `import sys, sysconfig, os
print(os.path.realpath(sys.executable)); print(sysconfig.get_path("stdlib")); print(sysconfig.get_path("purelib"))`
	output, err := exec.CommandContext(ctx, python, "-c", question).Output()
	if err != nil {
		return fmt.Errorf("asking %s for its folders: %w", python, err)
	}
	lines := strings.Split(strings.TrimSpace(string(output)), "\n")
	if len(lines) != 3 {
		return fmt.Errorf("%s told %q of its folders", python, output)
	}
	interpreter, library, packages := lines[0], lines[1], lines[2]
	i.add(file{path: interpreter, from: interpreter})
	if err := i.addTree(library, library); err != nil {
		return err
	}
	if err := i.addTree("var/runtime", packages); err != nil {
		return err
	}
	i.add(file{path: "var/runtime/bootstrap", mode: 0o755, text: "#!/bin/sh\n" +
		"export PYTHONPATH=/var/task:/var/runtime\nexec " + interpreter + ` -m awslambdaric "$_HANDLER"` + "\n"})
	return i.addLibraries(ctx)
}

func (i *image) addNode(ctx context.Context, programs Programs) error {
	i.add(file{path: "bin/node", from: programs.Node})
	i.add(file{path: "var/runtime/runtime.mjs", from: programs.NodeRuntime})
	i.add(file{path: "var/runtime/bootstrap", mode: 0o755,
		text: "#!/bin/sh\nexec /bin/node /var/runtime/runtime.mjs\n"})
	return i.addLibraries(ctx)
}

// left out of a copied folder: what no function needs.
var leftOut = map[string]bool{
	"__pycache__": true, "test": true, "tests": true, "site-packages": true, "dist-packages": true, "idlelib": true,
	"ensurepip": true, "pip": true, "setuptools": true, "tkinter": true, "lib2to3": true,
}

// addTree adds the files of a folder under another path.
func (i *image) addTree(path, from string) error {
	return filepath.WalkDir(from, func(at string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && at != from && (leftOut[entry.Name()] || strings.HasPrefix(entry.Name(), "config-")) {
			return fs.SkipDir
		}
		if entry.IsDir() {
			return nil
		}
		relative, err := filepath.Rel(from, at)
		if err == nil {
			i.add(file{path: filepath.Join(path, relative), from: at})
		}
		return err
	})
}

// addLibraries adds the shared libraries that the image's programs and modules are linked with, under the paths by
// which they are found on this machine.
func (i *image) addLibraries(ctx context.Context) error {
	var linked []string
	for _, f := range i.files {
		if name := filepath.Base(f.path); f.from != "" && (strings.Contains(name, ".so") || filepath.Ext(name) == "" ||
			strings.HasPrefix(name, "python")) {
			linked = append(linked, f.from)
		}
	}
	// ldd fails for what is no program, such as a static one, and still tells of the others.
	output, _ := exec.CommandContext(ctx, "ldd", linked...).Output()
	for line := range strings.Lines(string(output)) {
		for word := range strings.FieldsSeq(line) {
			if filepath.IsAbs(word) && strings.Contains(word, ".so") && !strings.HasSuffix(word, ":") {
				i.add(file{path: word, from: word})
			}
		}
	}
	return nil
}

// write writes the image's files as a tar archive.
func (i *image) write(w io.Writer) error {
	archive := tar.NewWriter(w)
	for _, f := range i.files {
		if err := f.write(archive); err != nil {
			return fmt.Errorf("adding %s: %w", f.path, err)
		}
	}
	return archive.Close()
}

func (f file) write(archive *tar.Writer) error {
	header := &tar.Header{Name: f.path, Mode: int64(f.mode.Perm())}
	switch {
	case f.link != "":
		header.Typeflag, header.Linkname = tar.TypeSymlink, f.link
	case f.mode.IsDir():
		header.Typeflag = tar.TypeDir
		if f.mode&fs.ModeSticky != 0 {
			header.Mode |= 0o1000
		}
	case f.from != "":
		return f.copy(archive, header)
	}
	header.Size = int64(len(f.text))
	if err := archive.WriteHeader(header); err != nil {
		return err
	}
	_, err := io.WriteString(archive, f.text)
	return err
}

// copy writes a file of this machine, whatever links lead to it.
func (f file) copy(archive *tar.Writer, header *tar.Header) error {
	source, err := os.Open(f.from)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // a link that leads nowhere
	}
	if err != nil {
		return err
	}
	defer source.Close()
	info, err := source.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return err
	}
	header.Size, header.Mode = info.Size(), int64(info.Mode().Perm()|0o444)
	if err := archive.WriteHeader(header); err != nil {
		return err
	}
	_, err = io.Copy(archive, source)
	return err
}
