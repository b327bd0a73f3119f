package samstack

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"patchbay/infra/cdk/assembly"
	"patchbay/scripts/build"
	"patchbay/scripts/cdkapp"
	"patchbay/shared/contract"
	"patchbay/shared/handle"
	"patchbay/shared/registry"
)

// The account and the region that SAM takes for the template's.
const (
	account = "123456789012"
	region  = "us-east-1"
)

// TemplateFile is where the template lies in the data folder, whatever the stage. samconfig.toml names it.
const TemplateFile = "cdk.out/template.json"

// synthesize runs the CDK app for local use: this machine's processor, the variables declared that redirect clients of
// AWS, and where the assets lie, without which SAM does not find the code.
func (s *Stack) synthesize(ctx context.Context) error {
	fmt.Fprintf(s.options.Progress, "synthesizing the template of stage %s for this machine\n", s.options.Stage)
	given := map[string]string{"functions": s.options.Functions}
	if s.options.Auth {
		given["authorization"] = s.AuthorizationFile()
	}
	written, err := cdkapp.Synth(ctx, cdkapp.Options{
		Module: s.options.Root, App: s.options.CDK, Stage: s.options.Stage, Local: true, Context: given,
		Output: filepath.Join(s.options.Data, "cdk.out"), Progress: s.options.Progress,
	})
	if err != nil {
		return err
	}
	return s.readTemplate(written.Dir)
}

// readTemplate finds the server's stack and puts its template under the name that samconfig.toml knows.
func (s *Stack) readTemplate(out string) error {
	read, err := assembly.Open(out, assembly.Environment{Partition: "aws", Region: region, Account: account})
	if err != nil {
		return fmt.Errorf("reading the template: %w", err)
	}
	for _, stack := range read.Stacks {
		if len(stack.Resources("AWS::ApiGateway::RestApi")) > 0 {
			s.template = stack
		}
	}
	if s.template == nil {
		return fmt.Errorf("%s synthesizes no stack with an API", s.options.CDK)
	}
	from, err := findTemplate(out, s.template.Name)
	if err != nil {
		return err
	}
	data, err := os.ReadFile(from)
	if err != nil {
		return fmt.Errorf("reading the template: %w", err)
	}
	if err := os.WriteFile(s.TemplateFile(), data, 0o644); err != nil {
		return fmt.Errorf("writing the template for SAM: %w", err)
	}
	if err := s.readFunctions(); err != nil {
		return err
	}
	return s.readTools()
}

func findTemplate(out, stack string) (string, error) {
	var manifest struct {
		Artifacts map[string]struct {
			Type       string
			Properties struct{ TemplateFile, StackName string }
		}
	}
	data, err := os.ReadFile(filepath.Join(out, "manifest.json"))
	if err != nil {
		return "", fmt.Errorf("reading what was synthesized: %w", err)
	}
	if err := json.Unmarshal(data, &manifest); err != nil {
		return "", fmt.Errorf("decoding what was synthesized: %w", err)
	}
	for id, artifact := range manifest.Artifacts {
		if artifact.Type == "aws:cloudformation:stack" && (artifact.Properties.StackName == stack || id == stack) {
			return filepath.Join(out, artifact.Properties.TemplateFile), nil
		}
	}
	return "", fmt.Errorf("%s names no template of the stack %s", out, stack)
}

// TemplateFile is the template that SAM reads.
func (s *Stack) TemplateFile() string { return filepath.Join(s.options.Data, TemplateFile) }

// function is what the template says of a Lambda function.
type function struct {
	name string
	// dir is the folder of its code.
	dir string
	// environment has the declared variables; those whose value only AWS knows are empty.
	environment map[string]string
}

// readFunctions reads every function of the template.
func (s *Stack) readFunctions() error {
	for _, r := range s.template.Resources("AWS::Lambda::Function") {
		name, err := r.Text("FunctionName")
		if err != nil {
			return fmt.Errorf("reading the name of function %s: %w", r.ID, err)
		}
		dir, err := assetOf(r)
		if err != nil {
			return err
		}
		f := function{name: name, dir: filepath.Join(s.options.Data, "cdk.out", dir), environment: map[string]string{}}
		declared, _ := r.Properties["Environment"].(map[string]any)
		variables, _ := declared["Variables"].(map[string]any)
		for variable, value := range variables {
			text, _ := r.Stack.Text(value)
			f.environment[variable] = text
		}
		s.functions = append(s.functions, f)
	}
	return nil
}

// assetOf is the folder of a function's code, as the template's metadata gives it.
func assetOf(r assembly.Resource) (string, error) {
	resources, _ := r.Stack.Template["Resources"].(map[string]any)
	written, _ := resources[r.ID].(map[string]any)
	metadata, _ := written["Metadata"].(map[string]any)
	dir, _ := metadata["aws:asset:path"].(string)
	if dir == "" {
		return "", fmt.Errorf("the template does not say where the code of function %s lies; the CDK app leaves out the "+
			"metadata of assets", r.ID)
	}
	return dir, nil
}

// variable is the first value that a function declares for a variable; empty when none does.
func (s *Stack) variable(name string) string {
	for _, f := range s.functions {
		if value := f.environment[name]; value != "" {
			return value
		}
	}
	return ""
}

// readTools reads which tools the template publishes, each with its function. On AWS the registrar reads the same
// properties; SAM runs no custom resources.
func (s *Stack) readTools() error {
	resources := s.template.Resources("Custom::PatchbayTools")
	if len(resources) != 1 {
		return fmt.Errorf("the template publishes tools %d times; allowed: once", len(resources))
	}
	value, err := resources[0].Stack.Resolve(resources[0].Properties["Functions"])
	if err != nil {
		return fmt.Errorf("reading which functions are published: %w", err)
	}
	arns, _ := value.(map[string]any)
	set, problems := contract.LoadDir(s.options.Functions)
	if err := problems.Err(); err != nil {
		return err
	}
	s.Tools, s.Names = map[string]string{}, map[string]string{}
	for _, tool := range set.Tools {
		arn, ok := arns[tool.Name].(string)
		if !ok {
			continue
		}
		s.published = append(s.published, registry.Publication{Tool: tool, Function: arn})
		s.Tools[tool.Name] = arn
		if parts := strings.Split(arn, ":"); len(parts) > 6 {
			s.Names[build.Folder(tool)] = parts[6]
		}
	}
	if len(s.published) != len(arns) {
		return fmt.Errorf("the template publishes %d tools, of which %s has %d", len(arns), s.options.Functions,
			len(s.published))
	}
	return nil
}

// publish creates the tables and publishes the catalogue.
func (s *Stack) publish(ctx context.Context) error {
	tables := map[string]func(context.Context, string) error{
		"PATCHBAY_TABLE":        s.createRegistry,
		"PATCHBAY_LEDGER_TABLE": s.createLedger,
		handle.TableVariable:    s.createState,
	}
	for variable, create := range tables {
		name := s.variable(variable)
		if name == "" {
			continue // no tool keeps state
		}
		if err := create(ctx, name); err != nil {
			return fmt.Errorf("creating the table %s: %w", name, err)
		}
	}
	publisher := registry.NewPublisher(s.db, s.variable("PATCHBAY_TABLE"), registry.PublisherOptions{})
	seconds, err := strconv.Atoi(s.variable("PATCHBAY_MAX_CALL_SECONDS"))
	if err != nil {
		return errors.New("the template does not say how long a call may take")
	}
	if err := publisher.Configure(ctx, registry.Settings{MaxCallSeconds: seconds}); err != nil {
		return fmt.Errorf("setting how long a call may take: %w", err)
	}
	if _, err := publisher.Publish(ctx, source, s.published); err != nil {
		return fmt.Errorf("publishing the catalogue: %w", err)
	}
	if _, err := publisher.Prune(ctx); err != nil {
		return fmt.Errorf("pruning the catalogue: %w", err)
	}
	return nil
}
