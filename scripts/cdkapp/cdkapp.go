// Package cdkapp synthesizes a CDK app that is written in Go: what the CDK's command line does, with the Node that the
// kit pins, an app that is built once and kept, and without what a synthesis does not need.
package cdkapp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"patchbay/scripts/nodemodules"
)

// Options say which app to synthesize.
type Options struct {
	// Module is the root folder of the Go module whose packages and Node modules are kept in .patchbay.
	Module string
	// App is the folder of the app's main package, with cdk.json; empty means infra/cdk in the module.
	App string
	// Stage is the stage; empty leaves it to the app.
	Stage string
	// Local asks for the template that SAM runs on this machine.
	Local bool
	// Context are further values for the app, as in -c NAME=VALUE.
	Context map[string]string
	// Output is the folder of the cloud assembly; empty means cdk.out in the app's folder.
	Output string
	// Progress gets a line for each step that takes long, and what the app prints; nil drops them.
	Progress io.Writer
}

// Message is something that a construct says about itself.
type Message struct {
	// Level is "info", "warning" or "error".
	Level string
	// Path is the construct's place in the tree.
	Path string
	Text string
}

func (m Message) String() string { return fmt.Sprintf("%s: %s (%s)", m.Level, m.Text, m.Path) }

// Assembly is what a synthesis wrote.
type Assembly struct {
	// Dir holds the templates and the assets.
	Dir string
	// Messages are what the constructs say, errors not among them.
	Messages []Message
}

// Synth writes the app's cloud assembly. The error of an app that refuses its settings is what the app says.
func Synth(ctx context.Context, o Options) (*Assembly, error) {
	if err := o.resolve(); err != nil {
		return nil, err
	}
	modules, err := nodemodules.InstallFor(ctx, nodemodules.Options{
		Root: o.Module, Progress: o.Progress,
	})
	if err != nil {
		return nil, err
	}
	program, err := o.build(ctx)
	if err != nil {
		return nil, err
	}
	if err := removeOldTemplates(o.Output); err != nil {
		return nil, err
	}
	if err := o.run(ctx, program, nodemodules.Node(modules)); err != nil {
		return nil, err
	}
	if err := removeOldAssets(o.Output); err != nil {
		return nil, err
	}
	return o.read()
}

func (o *Options) resolve() error {
	if o.Progress == nil {
		o.Progress = io.Discard
	}
	module, err := filepath.Abs(o.Module)
	if err != nil {
		return fmt.Errorf("locating the module: %w", err)
	}
	o.Module = module
	if o.App == "" {
		o.App = filepath.Join(module, "infra", "cdk")
	}
	if o.App, err = filepath.Abs(o.App); err != nil {
		return fmt.Errorf("locating the app: %w", err)
	}
	if _, err := os.Stat(filepath.Join(o.App, "cdk.json")); err != nil {
		return fmt.Errorf("%s is no folder of a CDK app: it has no cdk.json; name the folder with --app", o.App)
	}
	if o.Output == "" {
		o.Output = filepath.Join(o.App, "cdk.out")
	}
	o.Output, err = filepath.Abs(o.Output)
	return err
}

// build compiles the app. The go command itself finds out that nothing has changed.
func (o *Options) build(ctx context.Context) (string, error) {
	program := filepath.Join(o.Module, ".patchbay", "bin", "cdk-app")
	if _, err := os.Stat(program); errors.Is(err, fs.ErrNotExist) {
		fmt.Fprintln(o.Progress, "compiling the CDK app, which takes a minute the first time")
	}
	// The CDK's tag no_runtime_type_checking would leave out half of what is compiled, but its release 2.277.0 does not
	// compile with it: files of package cxapi lack an import then.
	command := exec.CommandContext(ctx, "go", "build", "-o", program, ".")
	command.Dir = o.App
	if output, err := command.CombinedOutput(); err != nil {
		return "", fmt.Errorf("compiling the CDK app in %s: %w\n%s", o.App, err, output)
	}
	return program, nil
}

// run starts the app as the CDK's command line does.
func (o *Options) run(ctx context.Context, program, node string) error {
	values, err := o.context()
	if err != nil {
		return err
	}
	encoded, err := json.Marshal(values)
	if err != nil {
		return fmt.Errorf("encoding the app's context: %w", err)
	}
	command := exec.CommandContext(ctx, program)
	command.Dir = o.App
	// The CDK's libraries run on Node; the machine's own may be older than they support.
	command.Env = append(command.Environ(),
		"JSII_NODE="+node, "CDK_OUTDIR="+o.Output, "CDK_CONTEXT_JSON="+string(encoded))
	var said strings.Builder
	command.Stdout = o.Progress
	command.Stderr = io.MultiWriter(o.Progress, &said)
	if err := command.Run(); err != nil {
		return &AppError{Said: strings.TrimSpace(said.String()), cause: err}
	}
	return nil
}

// AppError says that the app ended without an assembly.
type AppError struct {
	// Said is what the app wrote, with the sentence about what is wrong at its end.
	Said  string
	cause error
}

func (e *AppError) Error() string { return "the CDK app wrote no templates: " + e.cause.Error() }

// Unwrap returns how the app ended.
func (e *AppError) Unwrap() error { return e.cause }

// context is what the CDK's command line gives an app: the values of cdk.json and of look-ups, what asks for the marks
// in templates that tools read, and the options.
func (o *Options) context() (map[string]any, error) {
	values := map[string]any{
		// SAM would take functions' names from the paths, and warns of every one that it does not understand.
		"aws:cdk:enable-path-metadata":          !o.Local,
		"aws:cdk:enable-asset-metadata":         true,
		"aws:cdk:disable-creation-stack-traces": true,
		"aws:cdk:bundling-stacks":               []string{"**"},
		"aws:cdk:disable-version-reporting":     true,
	}
	var settings struct {
		Context map[string]any `json:"context"`
	}
	if err := readJSON(filepath.Join(o.App, "cdk.json"), &settings); err != nil {
		return nil, err
	}
	maps.Copy(values, settings.Context)
	found := map[string]any{}
	if err := readJSON(filepath.Join(o.App, "cdk.context.json"), &found); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	maps.Copy(values, found)
	for name, value := range o.Context {
		values[name] = value
	}
	if o.Stage != "" {
		values["stage"] = o.Stage
	}
	if o.Local {
		values["local"] = "true"
	}
	return values, nil
}

func readJSON(file string, value any) error {
	data, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("reading what the CDK keeps: %w", err)
	}
	if err := json.Unmarshal(data, value); err != nil {
		return fmt.Errorf("decoding %s: %w", file, err)
	}
	return nil
}

// read returns what the constructs say. The error is what is an error to them.
func (o *Options) read() (*Assembly, error) {
	messages, err := readMessages(o.Output)
	if err != nil {
		return nil, err
	}
	var faults []error
	for _, message := range messages {
		if message.Level == "error" {
			faults = append(faults, errors.New(message.String()))
		}
	}
	if len(faults) > 0 {
		return nil, errors.Join(faults...)
	}
	return &Assembly{Dir: o.Output, Messages: messages}, nil
}

// metadata is what constructs note, by their paths.
type metadata map[string][]struct {
	Type string `json:"type"`
	Data any    `json:"data"`
}

func readMessages(dir string) ([]Message, error) {
	var manifest struct {
		Artifacts map[string]struct {
			Metadata               metadata `json:"metadata"`
			AdditionalMetadataFile string   `json:"additionalMetadataFile"`
		} `json:"artifacts"`
	}
	if err := readJSON(filepath.Join(dir, "manifest.json"), &manifest); err != nil {
		return nil, err
	}
	var messages []Message
	for _, name := range slices.Sorted(maps.Keys(manifest.Artifacts)) {
		artifact := manifest.Artifacts[name]
		messages = append(messages, artifact.Metadata.messages()...)
		if artifact.AdditionalMetadataFile == "" {
			continue
		}
		var more metadata
		if err := readJSON(filepath.Join(dir, artifact.AdditionalMetadataFile), &more); err != nil {
			return nil, err
		}
		messages = append(messages, more.messages()...)
	}
	return messages, nil
}

func (m metadata) messages() []Message {
	var messages []Message
	for _, path := range slices.Sorted(maps.Keys(m)) {
		for _, entry := range m[path] {
			level, found := strings.CutPrefix(entry.Type, "aws:cdk:")
			if !found || !slices.Contains([]string{"info", "warning", "error"}, level) {
				continue
			}
			text, _, _ := strings.Cut(fmt.Sprint(entry.Data), " [ack: ")
			messages = append(messages, Message{Level: level, Path: path, Text: text})
		}
	}
	return messages
}

// removeOldTemplates removes what an earlier synthesis said, maybe of another stage, so that nobody takes it for this
// one's. Assets stay: most of them are the same again.
func removeOldTemplates(dir string) error {
	for _, pattern := range []string{"manifest.json", "*.template.json", "*.assets.json", "*.metadata.json"} {
		files, err := filepath.Glob(filepath.Join(dir, pattern))
		if err != nil {
			return fmt.Errorf("looking for old templates: %w", err)
		}
		for _, file := range files {
			if err := os.Remove(file); err != nil {
				return fmt.Errorf("removing an old template: %w", err)
			}
		}
	}
	return nil
}

// removeOldAssets removes the assets of earlier syntheses, which would add up: a copy of every program that changed.
func removeOldAssets(dir string) error {
	manifests, err := filepath.Glob(filepath.Join(dir, "*.assets.json"))
	if err != nil {
		return fmt.Errorf("looking for manifests of assets: %w", err)
	}
	used := map[string]bool{}
	for _, file := range manifests {
		var manifest struct {
			Files map[string]struct {
				Source struct {
					Path string `json:"path"`
				} `json:"source"`
			} `json:"files"`
		}
		if err := readJSON(file, &manifest); err != nil {
			return err
		}
		for _, asset := range manifest.Files {
			used[asset.Source.Path] = true
		}
	}
	assets, err := filepath.Glob(filepath.Join(dir, "asset.*"))
	if err != nil {
		return fmt.Errorf("looking for assets: %w", err)
	}
	for _, asset := range assets {
		if used[filepath.Base(asset)] {
			continue
		}
		if err := os.RemoveAll(asset); err != nil {
			return fmt.Errorf("removing an old asset: %w", err)
		}
	}
	return nil
}
