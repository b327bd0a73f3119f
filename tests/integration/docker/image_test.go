package docker

import (
	"archive/tar"
	"bytes"
	"errors"
	"io"
	"os/exec"
	"strings"
	"testing"
)

// A stand-in has what SAM and Lambda's runtimes take for granted: a shell and mv to put SAM's own program in place, and
// the folders of code and runtime.
func TestStandIn(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("busybox"); err != nil {
		t.Skip(err)
	}
	image, err := newImage(t.Context(), "public.ecr.aws/lambda/provided:al2023-x86_64", Programs{})
	if err != nil {
		t.Fatal(err)
	}
	var archive bytes.Buffer
	if err := image.write(&archive); err != nil {
		t.Fatal(err)
	}
	found := map[string]byte{}
	for reader := tar.NewReader(&archive); ; {
		header, err := reader.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		found[header.Name] = header.Typeflag
	}
	for name, kind := range map[string]byte{
		"bin/busybox": tar.TypeReg, "bin/sh": tar.TypeSymlink, "bin/mv": tar.TypeSymlink, "bin/chmod": tar.TypeSymlink,
		"var/task": tar.TypeDir, "var/runtime": tar.TypeDir, "tmp": tar.TypeDir,
	} {
		if got, ok := found[name]; !ok || got != kind {
			t.Errorf("%s is %q, want %q", name, got, kind)
		}
	}
}

func TestImagesWithoutAStandIn(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("busybox"); err != nil {
		t.Skip(err)
	}
	_, err := newImage(t.Context(), "public.ecr.aws/lambda/java:21-x86_64", Programs{})
	if err == nil || !strings.Contains(err.Error(), "java") {
		t.Errorf("error %v", err)
	}
}
