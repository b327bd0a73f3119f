package patchbaycdk

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"patchbay/infra/cdk/settings"
	"patchbay/scripts/build"
	"patchbay/shared/contract"
	"patchbay/shared/nearest"
)

// The control functions, by their import paths, so that a module that only requires this one builds them too.
const (
	dispatcherPackage = "patchbay/dispatcher"
	registrarPackage  = "patchbay/dispatcher/registrar"
	authorizerPackage = "patchbay/dispatcher/authorizer"
)

// project is a folder of functions that is to be deployed, and where its packages are made.
type project struct {
	stage     *settings.Stage
	functions string // absolute
	module    string // the root of its Go module
	local     bool
	// all are the folder's tools, and tools those of them that are deployed.
	all, tools []*contract.Tool
	packages   packages
	// existingFolder has the code of local:NAME functions, for SAM; empty for the module's own.
	existingFolder string
}

// packages are the folders that functions are deployed from.
type packages interface {
	Function(folder string) string
	Program(pkg string) string
}

// loadProject reads and checks the contracts, and tells all that stands in the way of deploying them.
func loadProject(functions string, stage *settings.Stage, local bool) (*project, error) {
	if stage == nil {
		return nil, errors.New("no stage's settings are given; settings.Read reads them from patchbay.json")
	}
	if functions == "" {
		functions = "functions"
	}
	absolute, err := filepath.Abs(functions)
	if err != nil {
		return nil, fmt.Errorf("resolving the functions folder: %w", err)
	}
	p := &project{stage: stage, functions: absolute, local: local}
	if p.module, err = moduleRoot(absolute); err != nil {
		return nil, err
	}
	set, problems := contract.LoadDir(absolute)
	if err := problems.Err(); err != nil {
		return nil, err
	}
	p.all = set.Tools
	if p.tools, err = p.deployed(set.Tools, functions); err != nil {
		return nil, err
	}
	return p, p.check()
}

// moduleRoot returns the nearest folder at or above dir that has a go.mod.
func moduleRoot(dir string) (string, error) {
	for at := dir; ; at = filepath.Dir(at) {
		if _, err := os.Stat(filepath.Join(at, "go.mod")); err == nil {
			return at, nil
		}
		if at == filepath.Dir(at) {
			return "", fmt.Errorf("%s is in no Go module: no go.mod at or above it", dir)
		}
	}
}

// deployed leaves out the examples that the stage does not ask for; on this machine what they call is there.
func (p *project) deployed(tools []*contract.Tool, functions string) ([]*contract.Tool, error) {
	if len(tools) == 0 {
		return nil, fmt.Errorf("%s has no tools; a tool is a folder with a tool.json", functions)
	}
	if p.stage.Examples.All || p.local {
		return tools, nil
	}
	if err := p.checkExamples(tools, functions); err != nil {
		return nil, err
	}
	chosen := slices.DeleteFunc(slices.Clone(tools), func(t *contract.Tool) bool {
		return t.Contract.Example && !slices.Contains(p.stage.Examples.Names, t.Name)
	})
	if len(chosen) == 0 {
		return nil, fmt.Errorf("%s has no tool to deploy: all %d are examples; write one of your own (a folder with a "+
			"tool.json), or deploy examples by \"examples\": true, or a list of their names, in the settings of stage %q",
			functions, len(tools), p.stage.Name)
	}
	return chosen, nil
}

// checkExamples wants every name that the stage lists to be that of an example.
func (p *project) checkExamples(tools []*contract.Tool, functions string) error {
	var examples, own []string
	for _, tool := range tools {
		if tool.Contract.Example {
			examples = append(examples, tool.Name)
		} else {
			own = append(own, tool.Name)
		}
	}
	slices.Sort(examples)
	allowed := "none, since there are no examples"
	if len(examples) > 0 {
		allowed = strings.Join(examples, ", ")
	}
	var faults []error
	for _, name := range p.stage.Examples.Names {
		if slices.Contains(examples, name) {
			continue
		}
		what := "is not a tool of " + functions
		if near := nearest.Name(name, examples); slices.Contains(own, name) {
			what = "is no example, and is deployed anyway"
		} else if near != "" {
			what += fmt.Sprintf(" (did you mean %q?)", near)
		}
		faults = append(faults, fmt.Errorf("stage %q lists under \"examples\" the tool %q, which %s; allowed: %s",
			p.stage.Name, name, what, allowed))
	}
	return errors.Join(faults...)
}

// check finds what contracts ask of the deployment's settings and do not get.
func (p *project) check() error {
	limits := contract.ServerLimits{MaxCallSeconds: p.stage.MaxCallSeconds}
	faults := []error{contract.CheckTools(p.tools, limits).Err()}
	for _, tool := range p.tools {
		faults = append(faults, p.checkEnvironment(tool), p.checkSize(tool), p.checkNetwork(tool), p.checkExisting(tool))
	}
	return errors.Join(append(faults, p.checkPolicySize())...)
}

// checkCallers keeps a server from being open to everybody because nobody said anything.
func (p *project) checkCallers() error {
	if p.stage.Anonymous || p.stage.Authorization != nil || p.local {
		return nil
	}
	return fmt.Errorf("stage %q does not say who may call; allowed in patchbay.json, one of them: \"authorization\", "+
		"which names the authorization servers whose access tokens are taken, or \"anonymous\": true, by which everybody "+
		"may who reaches the endpoint", p.stage.Name)
}

// programs are the control functions of a server.
func (p *project) programs() []string {
	if p.stage.Authorization == nil {
		return []string{dispatcherPackage, registrarPackage}
	}
	return []string{dispatcherPackage, registrarPackage, authorizerPackage}
}

func (p *project) checkEnvironment(tool *contract.Tool) error {
	if p.local {
		return nil // whoever starts SAM gives the values
	}
	var missing []string
	for name, value := range tool.Contract.Function.Environment {
		if _, given := p.stage.Environment[name]; value == "" && !given {
			missing = append(missing, name)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	slices.Sort(missing)
	return fmt.Errorf("%s leaves %s to the deployment; add the value under \"environment\" of stage %q in patchbay.json",
		tool.File, strings.Join(missing, ", "), p.stage.Name)
}

// ownVariableBytes is room for the variables that are not the contract's: where state and secrets lie.
func (p *project) ownVariableBytes(function contract.Function) int {
	size := 0
	if len(function.State) > 0 {
		size += len("PATCHBAY_STATE_TABLE") + len(stateTable(p.stage.Prefix()))
	}
	for _, name := range function.Secrets {
		// The parts of the ARN that are not known yet are at most as long as this.
		where := p.stage.Secret(name)
		size += len(`"":"",arn:aws-us-gov:secretsmanager:ap-southeast-1:123456789012:secret:`) + len(name) +
			len(where.Secret) + len(where.Parameter)
	}
	return size
}

// checkSize holds what the settings fill in to Lambda's bound, to which the contract alone was held before.
func (p *project) checkSize(tool *contract.Tool) error {
	function := tool.Contract.Function
	size := p.ownVariableBytes(function)
	for name, value := range function.Environment {
		if value == "" {
			value = p.stage.Environment[name]
		}
		size += len(name) + len(value)
	}
	if size <= contract.MaxEnvironmentBytes {
		return nil
	}
	return fmt.Errorf("%s: its variables have %d bytes with what stage %q sets; allowed: %d together",
		tool.File, size, p.stage.Name, contract.MaxEnvironmentBytes)
}

func (p *project) checkNetwork(tool *contract.Tool) error {
	if tool.Contract.Execution.Network != contract.NetworkVPC || p.stage.Networks.VPC != nil || p.local {
		return nil
	}
	return fmt.Errorf("%s runs in the network \"vpc\"; say which under \"networks\" of stage %q in patchbay.json",
		tool.File, p.stage.Name)
}

func (p *project) checkExisting(tool *contract.Tool) error {
	name, isLocal := tool.Contract.Function.Local()
	if !isLocal || p.local || p.stage.Functions[name] != "" {
		return nil
	}
	return fmt.Errorf("%s calls the function local:%s, which is in the local stack alone; name the one on AWS, with its "+
		"version or alias, under \"functions\" of stage %q in patchbay.json", tool.File, name, p.stage.Name)
}

// checkPolicySize bounds what policies list one by one.
func (p *project) checkPolicySize() error {
	existing := p.existing()
	size := 0
	for _, arn := range existing {
		size += len(`"",`) + len(arn) + len(`"",`) + len(unqualified(arn))
	}
	if size <= MaxExistingBytes {
		return nil
	}
	return fmt.Errorf("contracts and settings name %d existing functions, whose ARNs with and without version or alias "+
		"take %d characters of a policy that grants them one by one; allowed: %d; let a tool with a function of its own "+
		"call some of them", len(existing), size, MaxExistingBytes)
}

// existingARN is the ARN of a tool's existing function; empty for the folder's own.
func (p *project) existingARN(tool *contract.Tool) string {
	if name, ok := tool.Contract.Function.Local(); ok {
		return p.stage.Functions[name]
	}
	return tool.Contract.Function.ARN
}

// existing are the ARNs of the existing functions that the server may call and read, each once, sorted: those that
// contracts name, and all in the settings, since the contracts of other stacks may name them.
func (p *project) existing() []string {
	var arns []string
	if !p.local {
		arns = slices.Collect(maps.Values(p.stage.Functions))
	}
	for _, tool := range p.tools {
		if _, isLocal := tool.Contract.Function.Local(); isLocal && p.local {
			continue
		}
		if arn := p.existingARN(tool); arn != "" {
			arns = append(arns, arn)
		}
	}
	slices.Sort(arns)
	return slices.Compact(arns)
}

// longestSeconds is the longest time-out of a contract: what the settings allow to those of other stacks, too, where
// they say so, else that of the slowest of these.
func (p *project) longestSeconds() int {
	if p.stage.MaxCallSeconds > 0 {
		return p.stage.MaxCallSeconds
	}
	longest := 0
	for _, tool := range p.tools {
		longest = max(longest, tool.Contract.Execution.TimeoutSeconds)
	}
	return longest
}

// maxCallSeconds is how long the gateway waits for a call: the setting, else what the slowest contract needs, with ten
// seconds for the start of an instance.
func (p *project) maxCallSeconds() int {
	if p.stage.MaxCallSeconds > 0 {
		return p.stage.MaxCallSeconds
	}
	return min(max(29, p.longestSeconds()+10), contract.MaxTimeoutSeconds)
}

// buildDir keeps packages from one synthesis to the next.
func (p *project) buildDir() string { return filepath.Join(p.module, ".patchbay", "deploy") }

// pack makes the deployment packages.
func (p *project) pack(ctx context.Context, programs ...string) error {
	existing, err := p.existingPrograms()
	if err != nil {
		return err
	}
	options := build.PackageOptions{
		ModuleDir: p.module, Functions: p.functions, Tools: p.tools, Programs: append(programs, existing...), Arch: p.arch(),
		OutDir: p.buildDir(), Progress: os.Stderr,
	}
	if slices.Contains(programs, dispatcherPackage) {
		options.Files = map[string][]string{"dispatcher": {filepath.Join(p.functions, "server.json")}}
	}
	made, err := build.Package(ctx, options)
	p.packages = made
	return err
}

// catalogueFile writes what is published, without the functions, and returns the file. Its name follows from its
// content.
func (p *project) catalogueFile() (string, error) {
	type entry struct {
		Contract string `json:"contract"`
		File     string `json:"file"`
	}
	catalogue := struct {
		FormatVersion int     `json:"formatVersion"`
		Tools         []entry `json:"tools"`
	}{FormatVersion: 1}
	for _, tool := range p.tools {
		text, err := os.ReadFile(filepath.Join(p.functions, build.Folder(tool), "tool.json"))
		if err != nil {
			return "", fmt.Errorf("reading a contract for the catalogue: %w", err)
		}
		catalogue.Tools = append(catalogue.Tools, entry{Contract: string(text), File: tool.File})
	}
	data, err := json.Marshal(catalogue)
	if err != nil {
		return "", fmt.Errorf("encoding the catalogue: %w", err)
	}
	sum := sha256.Sum256(data)
	file := filepath.Join(p.buildDir(), "catalogue-"+hex.EncodeToString(sum[:8])+".json")
	if err := os.MkdirAll(p.buildDir(), 0o755); err != nil {
		return "", fmt.Errorf("creating the folder for the catalogue: %w", err)
	}
	if err := os.WriteFile(file, data, 0o644); err != nil {
		return "", fmt.Errorf("writing the catalogue: %w", err)
	}
	return file, nil
}
