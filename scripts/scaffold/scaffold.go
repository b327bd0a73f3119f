// Package scaffold writes the folder of a new tool: a contract, a handler that does something small, its test, and
// calls to evaluate. What it writes has no faults, and its test passes; comments in it that begin with "Decide:" are
// where the author has to choose.
package scaffold

import (
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"patchbay/scripts/lint"
	"patchbay/shared/contract"
	"patchbay/shared/nearest"
)

// Languages of which a tool can be made, as they are named to New.
const (
	Go     = "go"
	Python = "python"
	Node   = "node"
)

// Languages and Risks are what Options can name.
var (
	Languages = []string{Go, Python, Node}
	Risks     = []string{string(contract.RiskLow), string(contract.RiskMedium), string(contract.RiskHigh),
		string(contract.RiskCritical), string(contract.RiskForbidden)}
)

// Options say what tool is wanted. Functions and Name are needed.
type Options struct {
	// Functions is the folder that gets the tool's folder; it is made, with a server.json, if it does not exist.
	Functions string
	// Name is the tool's name, as clients will see it.
	Name string
	// Language is one of Languages; empty means Go.
	Language string
	// Risk is one of Risks; empty means what the name says: low for a tool that reads, medium for one that changes
	// something, high for one that destroys something.
	Risk string
	// State is the namespace in which the tool keeps state handles; empty when it keeps none. Go only.
	State string
	// Description is for models; empty means one of what the new handler does.
	Description string
}

// Tool is a tool that can be written.
type Tool struct {
	// Name is the tool's name, Folder the path of its folder, and Language one of Languages.
	Name, Folder, Language string
	Risk                   contract.Risk
	// Verb is what the name says; its word decided the risk where none was wanted.
	Verb lint.NameVerb
	// Scope is the OAuth scope that callers need; empty for none.
	Scope string
	// TestCommand runs the tool's own test; paths in it are relative to Root.
	TestCommand string
	// Example are arguments of a call, by name.
	Example Argument
	// Root is the folder from which commands are given: the module that the folder lies in, else that of the functions.
	Root string

	options Options
	kind    kind
	server  string // the name for a server that has none
}

// Argument is an argument of a call.
type Argument struct{ Name, Value string }

// New plans a tool and writes nothing. Its errors are those of options that mean nothing; each says what is allowed.
func New(options Options) (*Tool, error) {
	t := &Tool{Name: options.Name, Language: options.Language, Verb: lint.VerbOf(options.Name), options: options}
	if t.Language == "" {
		t.Language = Go
	}
	if err := oneOf("language", t.Language, Languages); err != nil {
		return nil, err
	}
	if options.Risk != "" {
		if err := oneOf("risk", options.Risk, Risks); err != nil {
			return nil, err
		}
	}
	if err := t.checkState(); err != nil {
		return nil, err
	}
	folder, err := FolderOf(options.Name)
	if err != nil {
		return nil, err
	}
	t.Folder = filepath.Join(options.Functions, folder)
	t.settle()
	return t, t.locate()
}

func oneOf(what, given string, allowed []string) error {
	if slices.Contains(allowed, given) {
		return nil
	}
	hint := ""
	if near := nearest.Name(given, allowed); near != "" {
		hint = fmt.Sprintf("; did you mean %s?", near)
	}
	return fmt.Errorf("%s %q; allowed: %s%s", what, given, strings.Join(allowed, ", "), hint)
}

// namespace is the form of the contract's check state-name.
var namespace = regexp.MustCompile(`^[a-z][a-z0-9_-]{0,31}$`)

// checkState refuses a namespace that no contract could have, and one for a function that could do nothing with it:
// handles are a Go package, and the form in which it keeps them is no interface for others.
func (t *Tool) checkState() error {
	switch state := t.options.State; {
	case state == "":
		return nil
	case t.Language != Go:
		return fmt.Errorf("state namespace %q for a tool in %s: state handles are kept by the Go package shared/handle, "+
			"which holds every value to its caller; other languages have nothing like it, and the form in which values are "+
			"stored may change. Allowed: a tool in go, or one without a namespace that keeps what it must in a system of "+
			"its own", state, t.Language)
	case !namespace.MatchString(state):
		return fmt.Errorf("state namespace %q; allowed: 1 to 32 of a-z 0-9 _ -, a letter first", state)
	}
	return nil
}

// kind is what the new handler does, and the name of the templates for it.
type kind string

const (
	reads    kind = "reads"
	changes  kind = "changes"
	stateful kind = "state"
)

// settle chooses what is not wanted otherwise.
func (t *Tool) settle() {
	t.Risk = contract.Risk(t.options.Risk)
	switch {
	case t.Risk != "":
	case t.Verb.Destroys:
		t.Risk = contract.RiskHigh
	case t.Verb.Changes:
		t.Risk = contract.RiskMedium
	default:
		t.Risk = contract.RiskLow
	}
	switch {
	case t.options.State != "":
		t.kind, t.Example = stateful, Argument{"line", "call the supplier on Monday"}
	case t.mayRead():
		t.kind, t.Example = reads, Argument{"query", "confirm"}
	default:
		t.kind, t.Example = changes, Argument{"subject", "return of a damaged lamp"}
	}
	if t.Risk.NeedsConfirmation() {
		t.Scope = scopeOf(t.Name, t.Verb)
	}
}

// mayRead reports whether the tool is a read-only one: calls of high and critical risk are confirmed, which hosts do
// not expect of reading; beside that the name decides, and the risk where the name says nothing.
func (t *Tool) mayRead() bool {
	if t.Risk.NeedsConfirmation() || t.Verb.Changes {
		return false
	}
	return t.Verb.Reads || t.Risk == contract.RiskLow
}

// ReadOnly reports whether the new handler only reads.
func (t *Tool) ReadOnly() bool { return t.kind == reads }
