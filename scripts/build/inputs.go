package build

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// inputsFile is beside a bootstrap's folder and holds the digest of what the bootstrap was made from.
func (o GoOptions) inputsFile(folder string) string {
	return filepath.Join(o.OutDir, "."+folder+".inputs")
}

// stale returns the packages whose programs are to be made anew, with the digests of what all of them are made from. A
// program without a build id cannot say itself what it was made from, and linking a dozen takes seconds.
func (o GoOptions) stale(ctx context.Context) (packages []string, inputs map[string]string, err error) {
	if inputs, err = o.inputs(ctx); err != nil {
		return nil, nil, err
	}
	for _, pkg := range o.Packages {
		folder := folderOf(pkg)
		made, err := os.ReadFile(o.inputsFile(folder))
		if err != nil || string(made) != inputs[folder] || !exists(filepath.Join(o.OutDir, folder, "bootstrap")) {
			packages = append(packages, pkg)
		}
	}
	return packages, inputs, nil
}

// packageFacts is what the go command says of a package.
type packageFacts struct {
	ImportPath, Name, BuildID string
	Deps                      []string
	Module                    *struct{ Path, Version, GoVersion string }
}

// inputs returns, by folder, a digest of all that a program's bytes depend on: the build ids of its packages, which
// cover sources, flags, target and compiler; the versions of its modules, which are written into it; and the linker's
// flags. Packages that do not compile are the compiler's to tell, so their folders are left out.
func (o GoOptions) inputs(ctx context.Context) (map[string]string, error) {
	args := append([]string{"list", "-e", "-export", "-deps", "-json=ImportPath,Name,BuildID,Deps,Module"}, o.flags()...)
	cmd := exec.CommandContext(ctx, "go", append(args, o.Packages...)...)
	endWithAll(cmd)
	o.prepare(cmd)
	output, err := cmd.Output()
	if ctx.Err() != nil {
		return nil, fmt.Errorf("building functions: %w", ctx.Err())
	}
	if err != nil {
		return map[string]string{}, nil
	}
	known := map[string]packageFacts{}
	var programs []packageFacts
	for decoder := json.NewDecoder(bytes.NewReader(output)); ; {
		var p packageFacts
		if err := decoder.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, fmt.Errorf("decoding what the go command says of the functions: %w", err)
		}
		known[p.ImportPath] = p
		if p.Name == "main" {
			programs = append(programs, p)
		}
	}
	digests := map[string]string{}
	for _, program := range programs {
		digests[folderOf(program.ImportPath)] = o.digestOf(program, known)
	}
	return digests, nil
}

func (o GoOptions) digestOf(program packageFacts, known map[string]packageFacts) string {
	hash := sha256.New()
	fmt.Fprintln(hash, strings.Join(o.flags(), " "))
	for _, path := range append(program.Deps, program.ImportPath) {
		p := known[path]
		fmt.Fprintln(hash, path, p.BuildID)
		if p.Module != nil {
			fmt.Fprintln(hash, p.Module.Path, p.Module.Version, p.Module.GoVersion)
		}
	}
	return hex.EncodeToString(hash.Sum(nil))
}

// remember records what the programs of packages were made from.
func (o GoOptions) remember(packages []string, inputs map[string]string) error {
	for _, pkg := range packages {
		folder := folderOf(pkg)
		if inputs[folder] == "" {
			continue
		}
		if err := os.WriteFile(o.inputsFile(folder), []byte(inputs[folder]), 0o644); err != nil {
			return fmt.Errorf("recording what %s was made from: %w", pkg, err)
		}
	}
	return nil
}
