package keycloak

import (
	"archive/zip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"syscall"
)

const (
	// version is the release of Keycloak, Apache-2.0.
	version  = "26.4.0"
	artifact = "org.keycloak:keycloak-quarkus-dist:" + version + ":zip"
	// copyGoal is the part of Maven that fetches one file. It is pinned: without a version Maven takes an old one.
	copyGoal = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy"
	// leastJava is the oldest Java that this release runs on.
	leastJava = 17
	// maxFile bounds a file of the distribution; the largest has a few megabytes.
	maxFile = 256 << 20
)

// ErrNotInstalled means that programs are missing that Keycloak needs. Tests are skipped then, unless they are told
// that they must not be.
var ErrNotInstalled = errors.New("what Keycloak needs is not installed")

// install makes sure that a built distribution is in .patchbay of the module at root. Whoever installs at the same time
// waits.
func install(ctx context.Context, root string, progress io.Writer) (distribution, java string, err error) {
	if java, err = findJava(ctx); err != nil {
		return "", "", err
	}
	cache, err := filepath.Abs(filepath.Join(root, ".patchbay", "keycloak"))
	if err != nil {
		return "", "", fmt.Errorf("locating %s: %w", root, err)
	}
	distribution = filepath.Join(cache, version)
	unlock, err := exclusively(cache)
	if err != nil {
		return "", "", err
	}
	defer unlock()
	if _, err := os.Stat(distribution); err == nil {
		return distribution, java, nil
	}
	if progress != nil {
		fmt.Fprintf(progress, "installing Keycloak %s (Maven, once)\n", version)
	}
	return distribution, java, construct(ctx, cache, distribution, java)
}

// construct fetches, unpacks and builds in a folder of its own, which gets its name when all of that is done: a build
// that was broken off leaves a distribution that never starts.
func construct(ctx context.Context, cache, distribution, java string) error {
	dir, err := os.MkdirTemp(cache, "making-")
	if err != nil {
		return fmt.Errorf("making a folder: %w", err)
	}
	defer os.RemoveAll(dir)
	archive, err := fetch(ctx, dir)
	if err != nil {
		return err
	}
	if err := unpack(archive, dir); err != nil {
		return fmt.Errorf("unpacking %s: %w", filepath.Base(archive), err)
	}
	made := filepath.Join(dir, "keycloak-"+version)
	// Where it lies is not part of what is built.
	build := exec.CommandContext(ctx, filepath.Join(made, "bin", "kc.sh"), "build", "--db=dev-mem")
	build.Env = append(build.Environ(), "JAVA="+java, "JAVA_OPTS_KC_HEAP="+heap)
	if output, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("building Keycloak: %w\n%s", err, output)
	}
	if err := os.Rename(made, distribution); err != nil {
		return fmt.Errorf("putting Keycloak in its place: %w", err)
	}
	return nil
}

func exclusively(cache string) (unlock func(), err error) {
	if err := os.MkdirAll(cache, 0o755); err != nil {
		return nil, fmt.Errorf("making the folder for Keycloak: %w", err)
	}
	file, err := os.OpenFile(filepath.Join(cache, "install.lock"), os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, fmt.Errorf("locking the installation: %w", err)
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX); err != nil {
		file.Close()
		return nil, fmt.Errorf("locking the installation: %w", err)
	}
	return func() { file.Close() }, nil
}

// javaVersion is in the first line of what java -version says: 17.0.15, 21, or 1.8.0 before Java 9.
var javaVersion = regexp.MustCompile(`version "(\d+)`)

func findJava(ctx context.Context) (string, error) {
	java, err := exec.LookPath("java")
	if err != nil {
		return "", fmt.Errorf("%w: there is no java; Java %d or later is needed (%w)", ErrNotInstalled, leastJava, err)
	}
	output, err := exec.CommandContext(ctx, java, "-version").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("asking java for its version: %w\n%s", err, output)
	}
	return java, checkJava(string(output))
}

func checkJava(output string) error {
	found := javaVersion.FindStringSubmatch(output)
	if found == nil {
		return fmt.Errorf("%w: java does not say its version: %q", ErrNotInstalled, output)
	}
	if major, err := strconv.Atoi(found[1]); err != nil || major < leastJava {
		return fmt.Errorf("%w: java is version %s; Java %d or later is needed", ErrNotInstalled, found[1], leastJava)
	}
	return nil
}

// fetch has Maven bring the zip, from its own cache if it is there.
func fetch(ctx context.Context, dir string) (archive string, err error) {
	maven, err := exec.LookPath("mvn")
	if err != nil {
		return "", fmt.Errorf("%w: there is no mvn; Maven brings Keycloak (%w)", ErrNotInstalled, err)
	}
	command := exec.CommandContext(ctx, maven, "--quiet", "--batch-mode", copyGoal, "-Dartifact="+artifact,
		"-DoutputDirectory="+dir)
	command.Dir = dir // there is no project here
	if output, err := command.CombinedOutput(); err != nil {
		return "", fmt.Errorf("fetching %s by Maven: %w\n%s", artifact, err, output)
	}
	return filepath.Join(dir, "keycloak-quarkus-dist-"+version+".zip"), nil
}

func unpack(archive, dir string) error {
	reader, err := zip.OpenReader(archive)
	if err != nil {
		return err
	}
	defer reader.Close()
	for _, file := range reader.File {
		if err := unpackFile(file, dir); err != nil {
			return fmt.Errorf("%s: %w", file.Name, err)
		}
	}
	return nil
}

func unpackFile(file *zip.File, dir string) error {
	if !filepath.IsLocal(file.Name) {
		return errors.New("the name leads out of the folder")
	}
	path := filepath.Join(dir, file.Name)
	if file.FileInfo().IsDir() {
		return os.MkdirAll(path, 0o755)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	from, err := file.Open()
	if err != nil {
		return err
	}
	defer from.Close()
	to, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, file.Mode().Perm())
	if err != nil {
		return err
	}
	if _, err := io.Copy(to, io.LimitReader(from, maxFile)); err != nil {
		to.Close()
		return err
	}
	return to.Close()
}
