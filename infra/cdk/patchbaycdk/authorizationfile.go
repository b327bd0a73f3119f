package patchbaycdk

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"patchbay/shared/authorization"
	"path/filepath"
)

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
		if err := addFile(p.packages.Program(pkg), dir, text); err != nil {
			return fmt.Errorf("packaging %s: %w", pkg, err)
		}
		made.programs[pkg] = dir
	}
	p.packages = made
	return nil
}

// addFile makes dir a package with the configuration in it. Its other files take no room of their own. Everything is
// replaced in one step, and made beside the folder, since another synthesis may be reading it.
func addFile(pkg, dir string, configuration []byte) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	staging, err := os.MkdirTemp(filepath.Dir(dir), ".staging-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(staging)
	if err := os.WriteFile(filepath.Join(staging, authorization.FileName), configuration, 0o644); err != nil {
		return err
	}
	entries, err := os.ReadDir(pkg)
	if err != nil {
		return err
	}
	names := []string{authorization.FileName}
	for _, entry := range entries {
		if err := os.Link(filepath.Join(pkg, entry.Name()), filepath.Join(staging, entry.Name())); err != nil {
			return err
		}
		names = append(names, entry.Name())
	}
	for _, name := range names {
		if err := os.Rename(filepath.Join(staging, name), filepath.Join(dir, name)); err != nil {
			return err
		}
	}
	return nil
}
