package localstack

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"patchbay/scripts/locallambda"
)

// served is a version of a function that was deployed.
type served struct {
	// function is what it was made from, with the folder that is built into.
	function locallambda.Function
	// arn names the version, and dir is its own folder; empty where it has none.
	arn, dir string
}

// number is the version's.
func (v *served) number() string { return v.arn[strings.LastIndexByte(v.arn, ':')+1:] }

// versionsDir is where each version has its folder, and its secrets beside it.
func (s *Stack) versionsDir() string { return filepath.Join(s.options.Data, "versions") }

// clearVersions removes what a stack before left.
func (s *Stack) clearVersions() error {
	if err := os.RemoveAll(s.versionsDir()); err != nil {
		return fmt.Errorf("removing the functions of the last start: %w", err)
	}
	if err := os.MkdirAll(s.versionsDir(), 0o700); err != nil {
		return fmt.Errorf("making the folder of functions: %w", err)
	}
	return nil
}

// deploy publishes a version that serves from now on, and returns its ARN.
func (d *deployment) deploy(function locallambda.Function) (string, error) {
	v, err := d.prepare(function)
	if err != nil {
		return "", err
	}
	d.serving[function.Name] = v
	return v.arn, nil
}

// deployLive is deploy for a function that callers name by its alias, whose ARN it returns.
func (d *deployment) deployLive(function locallambda.Function) (string, error) {
	v, err := d.prepare(function)
	if err != nil {
		return "", err
	}
	return d.pointAt(v)
}

// pointAt makes the alias of a function that callers name by it lead to a version.
func (d *deployment) pointAt(v *served) (string, error) {
	if err := d.lambda.Alias(v.function.Name, ExistingAlias, v.number()); err != nil {
		return "", err
	}
	d.serving[v.function.Name] = v
	return existingFunctionARN(v.function.Name), nil
}

// prepare publishes a version that nobody calls yet. Where files are watched it gets a folder of its own, since what is
// built next replaces what was built before, and a version that has calls in flight may start another instance.
func (d *deployment) prepare(function locallambda.Function) (*served, error) {
	v := &served{function: function}
	if d.options.Watch != nil {
		d.versions++
		v.dir = filepath.Join(d.versionsDir(), function.Name+"-"+strconv.Itoa(d.versions))
		if err := linkTree(v.dir, function.Dir); err != nil {
			return nil, fmt.Errorf("giving a version of %s its folder: %w", function.Name, err)
		}
		function.Dir = v.dir
	}
	arn, err := d.lambda.Deploy(function)
	v.arn = arn
	return v, err
}

// retire removes a version; its calls in flight go on to their end, and its folder stays for as long, since a function
// may read it at any time.
func (d *deployment) retire(v *served) {
	// A version that is gone already is what is wanted, and a folder that stays is removed at the next start.
	ended, err := d.lambda.Ended(v.arn)
	_ = d.lambda.Remove(v.function.Name, v.number())
	if err != nil || v.dir == "" {
		return
	}
	go func() {
		<-ended
		_ = os.RemoveAll(v.dir)
	}()
}

// front deploys the functions before all tools, which the gateway calls by their aliases.
func (d *deployment) front() (dispatcher, authorizer string, err error) {
	if d.protected() {
		if authorizer, err = d.deployLive(d.authorizer()); err != nil {
			return "", "", fmt.Errorf("deploying the authorizer: %w", err)
		}
	}
	function, err := d.dispatcher()
	if err != nil {
		return "", "", err
	}
	dispatcher, err = d.deployLive(function)
	return dispatcher, authorizer, err
}

// linkTree makes target a copy of source that shares its files with it, which takes neither room nor time: what is
// built is never changed, only replaced.
func linkTree(target, source string) error {
	return filepath.WalkDir(source, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(source, path)
		if err != nil {
			return err
		}
		to := filepath.Join(target, name)
		switch {
		case entry.IsDir():
			return os.MkdirAll(to, 0o755)
		case entry.Type()&fs.ModeSymlink != 0:
			leads, err := os.Readlink(path)
			if err != nil {
				return err
			}
			return os.Symlink(leads, to)
		}
		return os.Link(path, to)
	})
}
