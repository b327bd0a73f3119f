package build

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// leftOut names what a function's folder has that its package does not: tests, hidden files, which may hold credentials
// of a registry, and what only says how the function is made. A build may still read it.
func leftOut(source string) ([]string, error) {
	var names []string
	err := fs.WalkDir(os.DirFS(source), ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || name == "." {
			return err
		}
		if entry.IsDir() && entry.Name() == "node_modules" {
			return fs.SkipDir
		}
		if isLeftOut(name, entry.IsDir()) {
			names = append(names, filepath.FromSlash(name))
			if entry.IsDir() {
				return fs.SkipDir
			}
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("reading the function's folder: %w", err)
	}
	return names, nil
}

func isLeftOut(name string, isFolder bool) bool {
	base := path.Base(name)
	if strings.HasPrefix(base, ".") {
		return true
	}
	if isFolder {
		return slices.Contains([]string{"test", "tests", "__tests__"}, base)
	}
	if slices.Contains([]string{"tool.json", "eval.yaml", npmLockFile, RequirementsFile}, name) || base == "conftest.py" {
		return true
	}
	stem, extension := strings.TrimSuffix(base, path.Ext(base)), path.Ext(base)
	switch extension {
	case ".go":
		return true
	case ".py":
		return strings.HasPrefix(stem, "test_") || strings.HasSuffix(stem, "_test")
	case ".js", ".mjs", ".cjs", ".ts", ".mts", ".cts":
		return strings.HasSuffix(stem, ".test") || strings.HasSuffix(stem, ".spec")
	}
	return false
}

// made is when every file of a package was made, as far as it says: ZIP files begin in 1980.
var made = time.Date(1980, 1, 1, 0, 0, 0, 0, time.UTC)

// normalize takes out of a package what depends on the machine or the time: caches, what installers note about
// themselves and where they were run, the modes that the umask gave, and times.
func normalize(content string) error {
	var doomed []string
	err := filepath.WalkDir(content, func(file string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(content, file)
		if err != nil {
			return err
		}
		if isResidue(filepath.ToSlash(name), entry) {
			doomed = append(doomed, file)
			if entry.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		return unify(file, entry)
	})
	for _, file := range doomed {
		err = errors.Join(err, os.RemoveAll(file))
	}
	if err != nil {
		return fmt.Errorf("removing what differs between builds: %w", err)
	}
	return nil
}

// isResidue reports whether a file says more about the build than about the function.
func isResidue(name string, entry fs.DirEntry) bool {
	base, folder := path.Base(name), path.Base(path.Dir(name))
	if entry.IsDir() {
		links := folder == "node_modules" && base == ".bin"
		return links || slices.Contains([]string{"__pycache__", ".pytest_cache", ".cache"}, base)
	}
	if strings.HasSuffix(folder, ".dist-info") {
		return slices.Contains([]string{"RECORD", "INSTALLER", "REQUESTED", "direct_url.json"}, base)
	}
	return path.Ext(base) == ".pyc" || folder == "node_modules" && base == ".package-lock.json"
}

func unify(file string, entry fs.DirEntry) error {
	if entry.Type()&fs.ModeSymlink != 0 {
		return nil
	}
	info, err := entry.Info()
	if err != nil {
		return err
	}
	mode := fs.FileMode(0o644)
	if entry.IsDir() || info.Mode()&0o111 != 0 {
		mode = 0o755
	}
	if err := os.Chmod(file, mode); err != nil {
		return err
	}
	return os.Chtimes(file, made, made)
}

// treeDigest is a digest of the names and contents of all files of a folder, and of what else counts.
func treeDigest(dir, salt string) (string, error) {
	hash := sha256.New()
	fmt.Fprintln(hash, salt)
	err := filepath.WalkDir(dir, func(file string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		name, err := filepath.Rel(dir, file)
		if err != nil {
			return err
		}
		sum, err := digest(file)
		fmt.Fprintf(hash, "%q %x\n", filepath.ToSlash(name), sum)
		return err
	})
	if err != nil {
		return "", fmt.Errorf("reading the function's folder: %w", err)
	}
	return hex.EncodeToString(hash.Sum(nil)), nil
}
