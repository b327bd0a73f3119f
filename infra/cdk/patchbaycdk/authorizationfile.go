package patchbaycdk

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// authorizationFile is the name of the file beside programs that says whose tokens are taken.
const authorizationFile = "authorization.json"

// withAuthorization are packages of which some programs have the authorization configuration beside them.
type withAuthorization struct {
	packages
	programs map[string]string // folders by import path
}

func (w withAuthorization) Program(pkg string) string {
	if dir, ok := w.programs[pkg]; ok {
		return dir
	}
	return w.packages.Program(pkg)
}

// addAuthorization puts the configuration as it was read and checked beside the programs that go by it, in folders of
// its own: the programs' folders are those of all stages. On an anonymous server it does nothing.
func (p *project) addAuthorization() error {
	if p.stage.Authorization == nil {
		return nil
	}
	text, err := json.Marshal(p.stage.Authorization)
	if err != nil {
		return fmt.Errorf("encoding the authorization configuration: %w", err)
	}
	sum := sha256.Sum256(text)
	made := withAuthorization{packages: p.packages, programs: map[string]string{}}
	for _, pkg := range []string{dispatcherPackage, authorizerPackage} {
		dir := filepath.Join(p.buildDir(), p.arch(), "authorized-"+hex.EncodeToString(sum[:8]), filepath.Base(pkg))
		if err := linkFiles(p.packages.Program(pkg), dir); err != nil {
			return fmt.Errorf("packaging %s: %w", pkg, err)
		}
		if err := os.WriteFile(filepath.Join(dir, authorizationFile), text, 0o644); err != nil {
			return fmt.Errorf("writing the authorization configuration: %w", err)
		}
		made.programs[pkg] = dir
	}
	p.packages = made
	return nil
}

// linkFiles makes dir have the files of a package, which take no room of their own there. Each is replaced in one step,
// since another synthesis may read them.
func linkFiles(pkg, dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	entries, err := os.ReadDir(pkg)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		target := filepath.Join(dir, entry.Name())
		fresh := target + ".new"
		if err := os.Remove(fresh); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if err := os.Link(filepath.Join(pkg, entry.Name()), fresh); err != nil {
			return err
		}
		if err := os.Rename(fresh, target); err != nil {
			return err
		}
		// Where both are the same file already, a rename leaves the new name.
		if err := os.Remove(fresh); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}
