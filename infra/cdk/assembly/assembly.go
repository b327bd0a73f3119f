// Package assembly reads the cloud assembly that a CDK synth writes, without the CDK: its stacks with those nested in
// them, their resources with the names and ARNs that they will have, and the assets to upload. Tests ask it what would
// be deployed, and deploy it where no CDK command can.
package assembly

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Environment is where the stacks are taken to be deployed, for what templates leave open.
type Environment struct {
	Partition, Region, Account string
	// Parameter reads a parameter of Systems Manager that a template's parameter names; nil: its name stands for it.
	Parameter func(name string) (string, error)
}

// Assembly is what one synth wrote.
type Assembly struct {
	// Dir is the folder that it lies in, often cdk.out.
	Dir string
	// Stacks are in the order of their names, without nested ones.
	Stacks []*Stack
}

// Stack is a stack or a nested one.
type Stack struct {
	// Name is the stack's name; of a nested one, that of its parent with its logical id.
	Name string
	// Template is the template as it was written, decoded. Whoever changes it changes what is read from it.
	Template map[string]any
	// Assets are what the templates of the stack and of those nested in it name; nil in a nested stack.
	Assets []Asset

	environment Environment
	parent      *Stack
	// arguments are the values of the parameters, as the parent gives them.
	arguments map[string]any
	nested    map[string]*Stack
	// versions are the numbers of functions' versions, as far as they are known.
	versions map[string]string
}

// Asset is a file or a folder that a deployment uploads to S3.
type Asset struct {
	// Hash names the content.
	Hash string
	// Path is where it lies.
	Path string
	// Zip says that the folder is uploaded as an archive.
	Zip bool
	// Bucket is that of the account's CDK bootstrap, as a value for Stack.Text.
	Bucket any
	// Key is its name in the bucket.
	Key string
}

// manifest is the part of manifest.json that tells of stacks.
type manifest struct {
	Artifacts map[string]struct {
		Type       string
		Properties struct {
			TemplateFile string
			StackName    string
			File         string
		}
		Dependencies []string
	}
}

// Open reads the assembly in dir.
func Open(dir string, environment Environment) (*Assembly, error) {
	a := &Assembly{Dir: dir}
	var m manifest
	if err := readJSON(filepath.Join(dir, "manifest.json"), &m); err != nil {
		return nil, err
	}
	for _, id := range slices.Sorted(maps.Keys(m.Artifacts)) {
		artifact := m.Artifacts[id]
		if artifact.Type != "aws:cloudformation:stack" {
			continue
		}
		stack := &Stack{Name: cmp.Or(artifact.Properties.StackName, id), environment: environment}
		for _, dependency := range artifact.Dependencies {
			if m.Artifacts[dependency].Type != "cdk:asset-manifest" {
				continue
			}
			var err error
			if stack.Assets, err = readAssets(dir, m.Artifacts[dependency].Properties.File); err != nil {
				return nil, err
			}
		}
		if err := stack.read(filepath.Join(dir, artifact.Properties.TemplateFile), stack.Assets); err != nil {
			return nil, fmt.Errorf("reading the stack %s: %w", stack.Name, err)
		}
		a.Stacks = append(a.Stacks, stack)
	}
	return a, nil
}

// Stack returns the stack of that name.
func (a *Assembly) Stack(name string) (*Stack, error) {
	var names []string
	for _, stack := range a.Stacks {
		if stack.Name == name {
			return stack, nil
		}
		names = append(names, stack.Name)
	}
	return nil, fmt.Errorf("the assembly in %s has no stack %s; it has %s", a.Dir, name, strings.Join(names, ", "))
}

func readAssets(dir, file string) ([]Asset, error) {
	var content struct {
		Files map[string]struct {
			Source       struct{ Path, Packaging string }
			Destinations map[string]struct{ BucketName, ObjectKey string }
		}
	}
	if err := readJSON(filepath.Join(dir, file), &content); err != nil {
		return nil, err
	}
	var assets []Asset
	for _, hash := range slices.Sorted(maps.Keys(content.Files)) {
		entry := content.Files[hash]
		for _, destination := range entry.Destinations {
			assets = append(assets, Asset{
				Hash: hash,
				Path: filepath.Join(dir, entry.Source.Path),
				Zip:  entry.Source.Packaging == "zip",
				// The assembly's own files use the form of Fn::Sub without its name.
				Bucket: map[string]any{"Fn::Sub": destination.BucketName},
				Key:    destination.ObjectKey,
			})
		}
	}
	return assets, nil
}

// read reads a template and those of the stacks nested in it, which are assets like any other file.
func (s *Stack) read(file string, assets []Asset) error {
	if err := readJSON(file, &s.Template); err != nil {
		return err
	}
	s.nested = map[string]*Stack{}
	for _, r := range s.Own() {
		if r.Type != nestedStackType {
			continue
		}
		asset, err := s.templateAsset(r, assets)
		if err != nil {
			return err
		}
		arguments, _ := r.Properties["Parameters"].(map[string]any)
		nested := &Stack{
			Name: s.Name + "-" + r.ID, environment: s.environment, parent: s, arguments: arguments,
		}
		if err := nested.read(asset.Path, assets); err != nil {
			return fmt.Errorf("reading the nested stack %s: %w", r.ID, err)
		}
		s.nested[r.ID] = nested
	}
	return nil
}

// templateAsset finds a nested stack's template by its address, which ends in the asset's name.
func (s *Stack) templateAsset(r Resource, assets []Asset) (Asset, error) {
	url, err := s.Text(r.Properties["TemplateURL"])
	if err != nil {
		return Asset{}, fmt.Errorf("finding the template of the nested stack %s: %w", r.ID, err)
	}
	for _, asset := range assets {
		if strings.HasSuffix(url, "/"+asset.Key) {
			return asset, nil
		}
	}
	return Asset{}, fmt.Errorf("the template of the nested stack %s is %s, which is not among the assets", r.ID, url)
}

func readJSON(file string, into any) error {
	data, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("reading the assembly: %w", err)
	}
	if err := json.Unmarshal(data, into); err != nil {
		return fmt.Errorf("decoding %s: %w", file, err)
	}
	return nil
}

// New returns a stack of a template that no synth wrote.
func New(name string, template []byte, environment Environment) (*Stack, error) {
	s := &Stack{Name: name, environment: environment}
	if err := json.Unmarshal(template, &s.Template); err != nil {
		return nil, fmt.Errorf("decoding the template of %s: %w", name, err)
	}
	return s, nil
}
