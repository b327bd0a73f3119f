package localstack

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"patchbay/scripts/build"
	"patchbay/scripts/locallambda"
	"patchbay/shared/contract"
)

// ExistingAlias is the alias of every function of the folder of existing ones. Versions begin anew with every stack, so
// that a tool finds its function after a restart only by an alias.
const ExistingAlias = "live"

// existing is a function that knows nothing of Patchbay: a folder with its code, as it was when it was deployed on AWS.
type existing struct {
	name, dir string
	configuration
	program *program
}

// configuration is what is used of a function's configuration, in the words of Lambda's GetFunctionConfiguration, whose
// answer may be the file as it is: NAME.json beside the folder NAME.
type configuration struct {
	Runtime, Handler string
	// Timeout is in seconds and MemorySize in MB; 0 means AWS's defaultTimeout and 128.
	Timeout, MemorySize int
	Environment         struct{ Variables map[string]string }
}

// defaultTimeout is AWS's time limit of a function for which none was set, in seconds.
const defaultTimeout = 3

// existingFunctionARN is the ARN by which tools are published for an existing function of the local stack.
func existingFunctionARN(name string) string {
	return strings.Join([]string{"arn", "aws", "lambda", locallambda.Region, locallambda.Account, "function", name,
		ExistingAlias}, ":")
}

// LocalFunction is the ARN that stands in the local stack for the function that a contract names, whether as local:NAME
// or by the ARN that it has on AWS.
func LocalFunction(function contract.Function) string {
	return existingFunctionARN(existingName(function))
}

// existingDirs are the folders of existing functions: the one that the options name, whose functions come before others
// of their name, and the module's own, which may be missing.
func (s *Stack) existingDirs() []string {
	own := filepath.Join(s.module, "tests", "integration", "existing")
	if s.options.Existing == "" {
		return []string{own}
	}
	return []string{s.options.Existing, own}
}

// existingName is the name of an existing function: of local:NAME, or of
// arn:aws:lambda:REGION:ACCOUNT:function:NAME:ALIAS.
func existingName(function contract.Function) string {
	if name, ok := function.Local(); ok {
		return name
	}
	parts := strings.Split(function.ARN, ":")
	return parts[min(6, len(parts)-1)]
}

// readExisting finds all existing functions, whether or not contracts name them: a tool may be published for one while
// the stack runs.
func (s *Stack) readExisting() error {
	var faults []error
	for _, dir := range s.existingDirs() {
		faults = append(faults, s.readExistingIn(dir))
	}
	return errors.Join(append(faults, s.checkNames())...)
}

func (s *Stack) readExistingIn(folder string) error {
	root, err := filepath.Abs(folder)
	if err != nil {
		return fmt.Errorf("resolving the folder of existing functions: %w", err)
	}
	entries, err := os.ReadDir(root)
	if errors.Is(err, fs.ErrNotExist) && folder != s.options.Existing {
		return nil
	}
	if err != nil {
		return fmt.Errorf("reading the folder of existing functions: %w", err)
	}
	var faults []error
	for _, entry := range entries {
		name := entry.Name()
		if !entry.IsDir() || strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_") || s.existingOf(name) != nil {
			continue
		}
		function, err := readExisting(filepath.Join(root, name))
		if err != nil {
			faults = append(faults, fmt.Errorf("existing function %s: %w", name, err))
			continue
		}
		s.existing = append(s.existing, function)
	}
	return errors.Join(faults...)
}

// existingOf is the existing function of a name; nil when there is none.
func (s *Stack) existingOf(name string) *existing {
	at := slices.IndexFunc(s.existing, func(function *existing) bool { return function.name == name })
	if at < 0 {
		return nil
	}
	return s.existing[at]
}

// checkNames refuses an existing function that is called as another one of the stack.
func (s *Stack) checkNames() error {
	var faults []error
	for _, function := range s.existing {
		taken := slices.ContainsFunc(s.set.Tools, func(tool *contract.Tool) bool {
			return tool.Contract.Function.ARN == "" && folder(tool) == function.name
		})
		if taken || function.name == "dispatcher" || function.name == "authorizer" {
			faults = append(faults, fmt.Errorf("existing function %s: the stack has another function of that name; rename "+
				"the folder %s", function.name, function.dir))
		}
	}
	return errors.Join(faults...)
}

// readExisting reads the function in a folder: what its configuration says, or what the files tell where there is none.
func readExisting(dir string) (*existing, error) {
	function := &existing{name: filepath.Base(dir), dir: dir}
	data, err := os.ReadFile(dir + ".json")
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("reading its configuration: %w", err)
	}
	if err == nil {
		if err := json.Unmarshal(data, &function.configuration); err != nil {
			return nil, fmt.Errorf("decoding %s, which is to be as `aws lambda get-function-configuration` prints it: %w",
				filepath.Base(dir)+".json", err)
		}
	}
	if function.Runtime == "" {
		function.guess()
	}
	return function, function.check()
}

// guess takes a function for one that was begun in Lambda's console, whose files have names of their own.
func (f *existing) guess() {
	for _, guess := range []struct{ file, runtime, handler string }{
		{"bootstrap", "provided", ""}, {"*.go", "provided", ""},
		{"lambda_function.py", "python", "lambda_function.lambda_handler"},
		{"index.mjs", "nodejs", "index.handler"}, {"index.js", "nodejs", "index.handler"},
		{"index.cjs", "nodejs", "index.handler"},
	} {
		if f.has(guess.file) {
			f.Runtime, f.Handler = guess.runtime, guess.handler
			return
		}
	}
}

func (f *existing) has(pattern string) bool {
	found, err := filepath.Glob(filepath.Join(f.dir, pattern))
	return err == nil && len(found) > 0
}

// check refuses what cannot be run here.
func (f *existing) check() error {
	if f.Runtime == "" {
		return fmt.Errorf("nothing says how it is run; write its configuration into %s.json, as `aws lambda "+
			"get-function-configuration` prints it: {\"Runtime\": \"python3.13\", \"Handler\": \"main.handler\"}", f.name)
	}
	if f.language() == "" {
		return fmt.Errorf("the local stack does not run the runtime %s; allowed: python…, nodejs… and provided…", f.Runtime)
	}
	if f.language() != contract.RuntimeGo && f.Handler == "" {
		return fmt.Errorf("%s.json names no Handler, as in \"main.handler\"", f.name)
	}
	if f.language() == contract.RuntimeGo && !f.has("bootstrap") && !f.has("*.go") {
		return fmt.Errorf("the runtime %s starts the program bootstrap; there is neither that nor Go code", f.Runtime)
	}
	return build.CheckDependencies(f.dir, f.function())
}

// language is the runtime in the words of contracts: Go for a program that is started as it is, empty for what does not
// run here.
func (f *existing) language() contract.Runtime {
	switch {
	case strings.HasPrefix(f.Runtime, "python"):
		return contract.RuntimePython
	case strings.HasPrefix(f.Runtime, "nodejs"):
		return contract.RuntimeNodeJS
	case strings.HasPrefix(f.Runtime, "provided"), strings.HasPrefix(f.Runtime, "go1."):
		return contract.RuntimeGo
	}
	return ""
}

// function is the function in the words of contracts.
func (f *existing) function() contract.Function {
	return contract.Function{Runtime: f.language(), Handler: f.Handler}
}

// compiled reports whether the Go compiler makes the function together with all others of the module.
func (f *existing) compiled() bool {
	return f.language() == contract.RuntimeGo && !f.has("bootstrap") && !f.has("go.mod")
}

// existingPackages are those of existing functions that the Go compiler makes together with the folder's own.
func (s *Stack) existingPackages() ([]string, error) {
	var packages []string
	for _, function := range s.existing {
		if !function.compiled() {
			continue
		}
		relative, err := filepath.Rel(s.module, function.dir)
		if err != nil {
			return nil, fmt.Errorf("resolving the folder of the existing function %s: %w", function.name, err)
		}
		if strings.HasPrefix(relative, "..") {
			return nil, fmt.Errorf("existing function %s: its Go code is in no module; give the folder a go.mod, or the "+
				"program bootstrap that is deployed", function.name)
		}
		packages = append(packages, "./"+filepath.ToSlash(relative))
	}
	return packages, nil
}

// packageExisting makes the packages of existing functions that the Go compiler did not make.
func (s *Stack) packageExisting(ctx context.Context) error {
	for _, function := range s.existing {
		if function.compiled() {
			continue
		}
		if err := s.packageOne(ctx, function); err != nil {
			return fmt.Errorf("building the existing function %s: %w", function.name, err)
		}
	}
	return nil
}

func (s *Stack) packageOne(ctx context.Context, function *existing) (err error) {
	dir := filepath.Join(s.outDir(), function.name)
	if function.language() == contract.RuntimeGo && !function.has("bootstrap") {
		return build.Run(ctx, function.dir, []string{"go", "build", "-trimpath", "-tags", "lambda.norpc",
			"-o", filepath.Join(dir, "bootstrap"), "."})
	}
	if err := copyFunction(dir, function.dir); err != nil {
		return fmt.Errorf("copying it: %w", err)
	}
	switch function.language() {
	case contract.RuntimePython:
		function.program, err = s.python(ctx, dir, function.function())
	case contract.RuntimeNodeJS:
		function.program, err = s.node(ctx, dir, function.function())
	default:
		err = os.Chmod(filepath.Join(dir, "bootstrap"), 0o755) // which an unpacked archive may have lost
	}
	return err
}

// deployExisting puts all existing functions on the Lambda service.
func (d *deployment) deployExisting() error {
	for _, function := range d.Stack.existing {
		if err := d.deployOne(function); err != nil {
			return fmt.Errorf("deploying the existing function %s: %w", function.name, err)
		}
	}
	return nil
}

func (d *deployment) deployOne(function *existing) error {
	_, err := d.deployLive(d.existingSpecification(function))
	return err
}

// existingSpecification is what an existing function's configuration makes of it.
func (d *deployment) existingSpecification(function *existing) locallambda.Function {
	environment := map[string]string{}
	for name, value := range function.Environment.Variables {
		environment[name] = value
	}
	deployed := locallambda.Function{
		Name: function.name, Dir: filepath.Join(d.outDir(), function.name), Env: environment,
		Timeout: time.Duration(function.Timeout) * time.Second, MemoryMB: function.MemorySize,
	}
	function.program.apply(&deployed)
	return deployed
}

// checkExisting refuses a contract whose function is not among the existing ones, or may run for longer than it says.
func (s *Stack) checkExisting(named contract.Function, timeoutSeconds int) error {
	name := existingName(named)
	function := s.existingOf(name)
	if function == nil {
		return fmt.Errorf("the local stack looks for the code of the function %s in a folder %s of %s, which is not there",
			named.ARN, name, strings.Join(s.existingDirs(), " or "))
	}
	if most := cmp.Or(function.Timeout, defaultTimeout); most > timeoutSeconds {
		return fmt.Errorf("function %s may run for %d seconds, and the contract's execution.timeoutSeconds is %d", named.ARN,
			most, timeoutSeconds)
	}
	return nil
}
