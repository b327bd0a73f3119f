package localstack

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"patchbay/scripts/build"
	"patchbay/scripts/locallambda"
	"patchbay/scripts/standins"
	"patchbay/shared/contract"
	"patchbay/shared/handle"
	"patchbay/shared/mcp"
	"patchbay/shared/registry"
	"patchbay/shared/seal"
)

// dispatcherPackage is named by its import path, so that a module that only requires this one can build it too.
const dispatcherPackage = "patchbay/dispatcher"

// folder is the name of a tool's folder, which names its function too.
func folder(tool *contract.Tool) string { return filepath.Base(filepath.Dir(tool.File)) }

// outDir is where built functions lie.
func (s *Stack) outDir() string { return filepath.Join(s.options.Data, "build") }

// sourceDir is the folder of a tool.
func (s *Stack) sourceDir(tool *contract.Tool) string {
	return filepath.Join(s.options.Functions, folder(tool))
}

// build compiles the dispatcher and every Go function with one run of the compiler, and then makes what is built in
// other ways.
func (s *Stack) build(ctx context.Context) error {
	packages := []string{dispatcherPackage}
	if s.protected() {
		packages = append(packages, authorizerPackage)
	}
	own := len(packages)
	existing, err := s.existingPackages()
	if err != nil {
		return err
	}
	packages = append(packages, existing...)
	for _, tool := range s.set.Tools {
		pkg, err := s.goPackage(tool)
		if err != nil {
			return err
		}
		if pkg != "" && !slices.Contains(packages, pkg) {
			packages = append(packages, pkg)
		}
	}
	fmt.Fprintf(s.options.Progress, "building the dispatcher and %d functions\n", len(packages)-own)
	if err := build.Go(ctx, s.goOptions(packages...)); err != nil {
		return err
	}
	if err := s.packageExisting(ctx); err != nil {
		return err
	}
	s.programs = map[*contract.Tool]*program{}
	for _, tool := range s.set.Tools {
		if tool.Contract.Function.ARN != "" || byCompiler(tool.Contract.Function) {
			continue
		}
		program, err := s.packageFunction(ctx, tool)
		if err != nil {
			return fmt.Errorf("building the function of %s: %w", tool.File, err)
		}
		s.programs[tool] = program
	}
	return nil
}

// goOptions say how packages are compiled, and what lies beside the programs.
func (s *Stack) goOptions(packages ...string) build.GoOptions {
	options := build.GoOptions{
		ModuleDir: s.module, OutDir: s.outDir(), Incremental: true, Packages: packages, Files: map[string][]string{},
	}
	for _, pkg := range packages {
		switch pkg {
		case dispatcherPackage:
			options.Files["dispatcher"] = append(options.Files["dispatcher"], s.serverFile())
			if s.protected() {
				options.Files["dispatcher"] = append(options.Files["dispatcher"], s.authorizationPath())
			}
		case authorizerPackage:
			options.Files["authorizer"] = append(options.Files["authorizer"], s.authorizationPath())
		}
	}
	return options
}

// serverFile says what the server is.
func (s *Stack) serverFile() string { return filepath.Join(s.options.Functions, "server.json") }

// byCompiler reports whether nothing but the Go compiler makes the folder's own function.
func byCompiler(function contract.Function) bool {
	return function.Runtime == contract.RuntimeGo && len(function.Build) == 0
}

// goPackage is the package that the compiler makes a tool's function from, relative to the module; empty when it is
// made in another way.
func (s *Stack) goPackage(tool *contract.Tool) (string, error) {
	if tool.Contract.Function.ARN != "" || !byCompiler(tool.Contract.Function) {
		return "", nil
	}
	relative, err := filepath.Rel(s.module, s.sourceDir(tool))
	if err != nil {
		return "", fmt.Errorf("resolving the folder of %s: %w", tool.File, err)
	}
	return "./" + filepath.ToSlash(relative), nil
}

// deployment puts built functions on the Lambda service.
type deployment struct {
	*Stack
	systems standins.Systems
	// serving are the versions that serve, by the function's name.
	serving map[string]*served
	// versions counts the folders of versions.
	versions int
}

// tools deploys every tool's function and returns what is to be published.
func (d *deployment) tools() ([]registry.Publication, error) {
	if err := d.deployExisting(); err != nil {
		return nil, err
	}
	publications := make([]registry.Publication, 0, len(d.set.Tools))
	for _, tool := range d.set.Tools {
		arn, err := d.function(tool)
		if err != nil {
			return nil, fmt.Errorf("deploying the function of %s: %w", tool.File, err)
		}
		publications = append(publications, registry.Publication{Tool: tool, Function: arn})
	}
	return publications, nil
}

func (d *deployment) function(tool *contract.Tool) (string, error) {
	if tool.Contract.Function.ARN != "" {
		return LocalFunction(tool.Contract.Function), nil
	}
	function, err := d.specification(tool)
	if err != nil {
		return "", err
	}
	return d.deploy(function)
}

// specification is what the contract and the stack make of a tool's own function.
func (d *deployment) specification(tool *contract.Tool) (locallambda.Function, error) {
	environment, err := d.environment(tool)
	if err != nil {
		return locallambda.Function{}, err
	}
	function := locallambda.Function{
		Name:        folder(tool),
		Dir:         filepath.Join(d.outDir(), folder(tool)),
		Env:         environment,
		Timeout:     time.Duration(tool.Contract.Execution.TimeoutSeconds) * time.Second,
		MemoryMB:    tool.Contract.Execution.MemoryMB,
		Concurrency: tool.Contract.Execution.Concurrency,
	}
	d.programs[tool].apply(&function)
	return function, nil
}

// environment is what the contract names. An empty value is a setting of the deployment: here a stand-in's, else the
// variable of the same name that the stack was started with. Secrets go to a file that holds only the function's own.
func (d *deployment) environment(tool *contract.Tool) (map[string]string, error) {
	environment := map[string]string{}
	for name, value := range tool.Contract.Function.Environment {
		if value == "" {
			value = d.systems.Setting(name)
		}
		environment[name] = value
	}
	if len(tool.Contract.Function.State) > 0 {
		environment[handle.TableVariable] = StateTable
		environment["AWS_ENDPOINT_URL_DYNAMODB"] = d.DatabaseURL
	}
	if len(tool.Contract.Function.Secrets) == 0 {
		return environment, nil
	}
	file, err := d.writeSecrets(tool)
	environment["PATCHBAY_SECRETS_FILE"] = file
	return environment, err
}

func (d *deployment) writeSecrets(tool *contract.Tool) (string, error) {
	own := map[string]string{}
	for _, name := range tool.Contract.Function.Secrets {
		value, err := standins.Secret(d.module, name)
		if err != nil {
			return "", err
		}
		own[name] = value
	}
	data, err := json.Marshal(own)
	if err != nil {
		return "", fmt.Errorf("encoding the secrets of %s: %w", tool.Name, err)
	}
	// The name changes with the content, so that a version keeps what it was deployed with.
	digest := sha256.Sum256(data)
	file := filepath.Join(d.versionsDir(), folder(tool)+"."+hex.EncodeToString(digest[:6])+".secrets.json")
	if err := os.WriteFile(file, data, 0o600); err != nil {
		return "", fmt.Errorf("writing the secrets of %s: %w", tool.Name, err)
	}
	return file, nil
}

// dispatcher is what the stack makes of the dispatcher.
func (d *deployment) dispatcher() (locallambda.Function, error) {
	keys, err := d.sealKeys()
	if err != nil {
		return locallambda.Function{}, err
	}
	environment := map[string]string{
		"PATCHBAY_TABLE":            Table,
		"PATCHBAY_LEDGER_TABLE":     LedgerTable,
		"PATCHBAY_LOOPBACK_ORIGINS": "true",
		"PATCHBAY_CACHE_TTL_MS":     strconv.FormatInt(d.cacheTTL().Milliseconds(), 10),
		"PATCHBAY_ANSWER_WITHIN_MS": strconv.FormatInt(d.answerWithin(d.set.Tools).Milliseconds(), 10),
		"PATCHBAY_SEAL_KEYS_FILE":   keys,
		// What is published, disabled or rolled back beside the stack shows soon.
		"PATCHBAY_CATALOGUE_MAX_AGE_MS": "2000",
		"AWS_ENDPOINT_URL_LAMBDA":       d.LambdaURL,
		"AWS_ENDPOINT_URL_DYNAMODB":     d.DatabaseURL,
	}
	maps.Copy(environment, d.authorizationVariables())
	if len(d.options.Origins) > 0 {
		environment["PATCHBAY_ORIGINS"] = strings.Join(d.options.Origins, " ")
	}
	if d.options.CacheScope != "" {
		environment["PATCHBAY_CACHE_SCOPE"] = d.options.CacheScope
	}
	if d.options.Principals != nil {
		// What one caller may see, another may not.
		environment["PATCHBAY_CACHE_SCOPE"] = mcp.CachePrivate
	}
	if d.options.PageTools > 0 {
		environment["PATCHBAY_PAGE_TOOLS"] = strconv.Itoa(d.options.PageTools)
	}
	if d.options.PageBytes > 0 {
		environment["PATCHBAY_PAGE_BYTES"] = strconv.Itoa(d.options.PageBytes)
	}
	if d.options.Dispatcher != nil {
		d.options.Dispatcher(environment)
	}
	return locallambda.Function{
		Name:     "dispatcher",
		Dir:      filepath.Join(d.outDir(), "dispatcher"),
		Env:      environment,
		Timeout:  min(d.answerWithin(d.set.Tools)+10*time.Second, 15*time.Minute),
		MemoryMB: 512,
	}, nil
}

// sealKeys returns the file with the keys that seal requestState, made at the first start and kept, so that a round
// that was open over a restart can go on.
func (d *deployment) sealKeys() (string, error) {
	file := filepath.Join(d.options.Data, "seal-keys.json")
	if _, err := os.Stat(file); err == nil {
		return file, nil
	}
	keys, err := seal.NewRing().Encode()
	if err != nil {
		return "", fmt.Errorf("making the keys for requestState: %w", err)
	}
	if err := os.WriteFile(file, keys, 0o600); err != nil {
		return "", fmt.Errorf("writing the keys for requestState: %w", err)
	}
	return file, nil
}
