package locallambda

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"time"
)

// Function is what to deploy.
type Function struct {
	// Name is up to 64 letters, digits, hyphens and underscores.
	Name string
	// Dir is the task root, the instances' working directory. Nothing in it may change while the version lives: later
	// instances start from what is there then.
	Dir string
	// Command starts the runtime; empty means Dir/bootstrap. Its first element is a path, absolute or relative to Dir:
	// no PATH is searched.
	Command []string
	// Env is added to the environment that Lambda gives. Nothing of the service's own environment reaches a function.
	Env map[string]string
	// Timeout bounds one invocation; 0 means AWS's 3 seconds. At most 15 minutes.
	Timeout time.Duration
	// MemoryMB bounds the resident memory of an instance and its children, in MiB; 0 means AWS's 128. At most 10,240.
	MemoryMB int
	// Concurrency is the reserved concurrency: how many invocations may run at once, in all versions together (the last
	// deployment's value counts). 0 reserves nothing, and the account's limit holds.
	Concurrency int
}

// namePattern follows docs.aws.amazon.com/lambda/latest/api/API_CreateFunction.html.
var namePattern = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)

func (f Function) withDefaults() Function {
	f.Timeout = cmp.Or(f.Timeout, 3*time.Second)
	f.MemoryMB = cmp.Or(f.MemoryMB, 128)
	if len(f.Command) == 0 {
		f.Command = []string{filepath.Join(f.Dir, "bootstrap")}
	}
	return f
}

func (f Function) check() error {
	if !namePattern.MatchString(f.Name) {
		return fmt.Errorf("function name %q: 1 to 64 letters, digits, hyphens and underscores", f.Name)
	}
	if f.Timeout < 0 || f.Timeout > 15*time.Minute {
		return fmt.Errorf("timeout %s: up to 15 minutes", f.Timeout)
	}
	if f.MemoryMB < 0 || f.MemoryMB > 10240 {
		return fmt.Errorf("memory %d MB: up to 10240", f.MemoryMB)
	}
	if f.Concurrency < 0 {
		return fmt.Errorf("reserved concurrency %d: at least 1, or 0 for none", f.Concurrency)
	}
	return f.checkFiles()
}

func (f Function) checkFiles() error {
	dir, err := os.Stat(f.Dir)
	if err != nil {
		return fmt.Errorf("task root: %w", err)
	}
	if !dir.IsDir() {
		return fmt.Errorf("task root %s is not a folder", f.Dir)
	}
	return f.checkProgram()
}

// program is the path of what is started.
func (f Function) program() string {
	program := "bootstrap"
	if len(f.Command) > 0 {
		program = f.Command[0]
	}
	if filepath.IsAbs(program) {
		return program
	}
	return filepath.Join(f.Dir, program)
}

func (f Function) checkProgram() error {
	program := f.program()
	info, err := os.Stat(program)
	if err != nil {
		return fmt.Errorf("program: %w", err)
	}
	if info.IsDir() || info.Mode()&0o111 == 0 {
		return fmt.Errorf("program %s is not an executable file", program)
	}
	return checkInterpreter(program)
}

// function is a deployed name.
type function struct {
	name     string
	place    place
	reserved int
	versions map[string]*version
	latest   *version
	// last is the last version number given; numbers are never given twice.
	last    int
	aliases map[string]string

	// active counts the invocations in flight: from the decision to run one until its instance asks for more work or
	// is gone.
	active int
	// finishing counts those of them that have answered.
	finishing int
	waiters   []*waiter
}

// version is one deployment of a function. Its code and configuration never change.
type version struct {
	Function
	function *function
	number   string
	removed  bool
	// ended is closed when the version was removed and has no instance left, which over says.
	ended     chan struct{}
	over      bool
	finishing int
	// idle is a stack: the instance used last is used first, so that the others stay unused.
	idle []*instance
}

func (v *version) arn() string { return v.function.place.arn(v.Name) + ":" + v.number }

// place is where functions are.
type place struct{ region, account string }

func (o Options) place() place { return place{o.Region, o.Account} }

// arn is that of the function of a name.
func (p place) arn(name string) string {
	return "arn:aws:lambda:" + p.region + ":" + p.account + ":function:" + name
}

// Deploy publishes a new version of a function and returns its ARN with the version: versions are numbered "1", "2", …
// The newest is $LATEST. Older versions and their instances are not disturbed; they stay until they are removed.
func (s *Service) Deploy(f Function) (arn string, err error) {
	if err := f.check(); err != nil {
		return "", fmt.Errorf("deploying %s: %w", f.Name, err)
	}
	dir, err := filepath.Abs(f.Dir)
	if err != nil {
		return "", fmt.Errorf("deploying %s: resolving %s: %w", f.Name, f.Dir, err)
	}
	f.Dir = dir

	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return "", fmt.Errorf("deploying %s: %w", f.Name, errClosed())
	}
	deployed := s.function(f.Name)
	s.reserve(deployed, f.Concurrency)
	return deployed.publish(f.withDefaults()).arn(), nil
}

func (s *Service) function(name string) *function {
	if s.functions[name] == nil {
		s.functions[name] = &function{
			name: name, place: s.options.place(), versions: map[string]*version{}, aliases: map[string]string{},
		}
	}
	return s.functions[name]
}

func (f *function) publish(spec Function) *version {
	f.last++
	f.latest = &version{Function: spec, function: f, number: strconv.Itoa(f.last), ended: make(chan struct{})}
	f.versions[f.latest.number] = f.latest
	return f.latest
}

// Alias makes a name for a version, or moves it to another one. The error is a *Error when there is no such version.
func (s *Service) Alias(name, alias, number string) error {
	if !namePattern.MatchString(alias) || numberPattern.MatchString(alias) {
		return invalidParameter("alias %q: letters, digits, hyphens and underscores, and not a number", alias)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	v, err := s.find(name, number)
	if err != nil {
		return err
	}
	v.function.aliases[alias] = number
	return nil
}

var numberPattern = regexp.MustCompile(`^[0-9]+$`)

// Remove deletes the version that a number or an alias names: it cannot be invoked any more, its idle instances end at
// once, the others when their invocation ends. The error is a *Error when there is no such version. With its last
// version a function is gone, but its numbers are not given again.
func (s *Service) Remove(name, number string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	v, err := s.find(name, number)
	if err != nil {
		return err
	}
	v.removed = true
	delete(v.function.versions, v.number)
	if v.function.latest == v {
		v.function.latest = v.function.newest()
	}
	for _, in := range v.idle {
		in.state = ending
		in.kill("")
	}
	v.idle = nil
	s.endIfOver(v)
	return nil
}

// Ended returns a channel that is closed when the version that the ARN names was removed and its last instance has
// ended: nothing reads its files any more. The error is a *Error when there is no such version.
func (s *Service) Ended(arn string) (<-chan struct{}, error) {
	to, err := s.options.place().target(arn, "")
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	v, err := s.find(to.name, to.qualifier)
	if err != nil {
		return nil, err
	}
	return v.ended, nil
}

// endIfOver tells who waits for the end of a version, once that has come. The lock must be held.
func (s *Service) endIfOver(v *version) {
	if !v.removed || v.over {
		return
	}
	for in := range s.instances {
		if in.version == v {
			return
		}
	}
	v.over = true
	close(v.ended)
}

func (f *function) newest() *version {
	for number := f.last; number > 0; number-- {
		if v := f.versions[strconv.Itoa(number)]; v != nil {
			return v
		}
	}
	return nil
}

// find returns the version for a qualifier: a number, an alias, "$LATEST" or "". The lock must be held.
func (s *Service) find(name, qualifier string) (*version, error) {
	arn := s.options.place().arn(name)
	if qualifier != "" {
		arn += ":" + qualifier
	}
	f := s.functions[name]
	if f == nil {
		return nil, notFound(arn)
	}
	v := f.latest
	if qualifier != "" && qualifier != "$LATEST" {
		v = f.versions[cmp.Or(f.aliases[qualifier], qualifier)]
	}
	if v == nil {
		return nil, notFound(arn)
	}
	return v, nil
}

// target names what to invoke: a function and a version, an alias, "$LATEST" or nothing.
type target struct {
	place           place
	name, qualifier string
}

// targetPattern is the FunctionName of docs.aws.amazon.com/lambda/latest/api/API_Invoke.html: a name, a partial ARN
// (ACCOUNT:function:NAME) or a full one, each with or without a qualifier.
var targetPattern = regexp.MustCompile(
	`^(?:(?:arn:aws[a-zA-Z-]*:lambda:)?(?:([a-z]{2}(?:-[a-z]+)+-\d):)?(?:(\d{12}):)?(?:function:))?` +
		`([a-zA-Z0-9_-]{1,64})(?::(\$LATEST|[a-zA-Z0-9_-]+))?$`)

// target reads a FunctionName and, from the query, a Qualifier that may stand beside it but not contradict it.
func (p place) target(name, qualifier string) (target, error) {
	parts := targetPattern.FindStringSubmatch(name)
	if parts == nil {
		return target{}, invalidParameter("function %q: give a name, or an ARN, with or without :VERSION", name)
	}
	region, account, inName := parts[1], parts[2], parts[4]
	if inName != "" && qualifier != "" && inName != qualifier {
		return target{}, invalidParameter(
			"The derived qualifier from the function name does not match the specified qualifier.")
	}
	if cmp.Or(region, p.region) != p.region || cmp.Or(account, p.account) != p.account {
		return target{}, notFound(name)
	}
	return target{place: p, name: parts[3], qualifier: cmp.Or(inName, qualifier)}, nil
}

// arn is the ARN as it was invoked, which the function sees.
func (t target) arn() string {
	if t.qualifier == "" {
		return t.place.arn(t.name)
	}
	return t.place.arn(t.name) + ":" + t.qualifier
}
