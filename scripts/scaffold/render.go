package scaffold

import (
	"bytes"
	"embed"
	"encoding/json"
	"fmt"
	"go/format"
	"path/filepath"
	"strings"
	"text/template"

	"go.yaml.in/yaml/v3"

	"patchbay/scripts/evaluate"
	"patchbay/shared/contract"
)

//go:embed templates
var templates embed.FS

// File is one file of a tool's folder.
type File struct {
	// Name is the file's name, and About what it is for.
	Name, About string
	Content     []byte
}

// source is a file and the template that it is made from; a template is named after the folder templates.
type source struct{ name, template, about string }

func (t *Tool) sources() []source {
	kind := string(t.kind)
	code := map[string][]source{
		Go: {
			{"main.go", "go/" + kind + "/main.go", "the handler"},
			{"main_test.go", "go/" + kind + "/main_test.go", "its test"},
		},
		Python: {
			{"app.py", "python/" + kind + "/app.py", "the handler"},
			{"test_app.py", "python/" + kind + "/test_app.py", "its test"},
			{"envelope.py", "python/envelope.py", "what the handler and the dispatcher send each other; leave it as it is"},
		},
		Node: {
			{"app.mjs", "node/" + kind + "/app.mjs", "the handler"},
			{"app.test.mjs", "node/" + kind + "/app.test.mjs", "its test"},
			{"envelope.mjs", "node/envelope.mjs", "what the handler and the dispatcher send each other; leave it as it is"},
		},
	}
	calls := kind
	if t.Risk == contract.RiskForbidden {
		calls = "forbidden"
	}
	return append(code[t.Language],
		source{"tool.json", "contract/" + kind + ".json", "the contract: what clients see, and what is enforced"},
		source{evaluate.FileName, "eval/" + calls + ".yaml", "calls of the running tool, and what must come back"})
}

// values are what templates are made with.
type values struct {
	Name, Title, Description, Folder, Language string
	Risk                                       contract.Risk
	Destroys                                   bool
	// Audited says that calls leave a record, of the name AuditEvent.
	Audited    bool
	AuditEvent string
	// Confirmed says that a person is asked before each call, StepUp that the sign-in must be a fresh one, and Hidden that
	// the tool is not there for callers without its Scope.
	Confirmed, StepUp, Hidden bool
	Scope                     string
	// DryRun is the contract's; empty for none.
	DryRun string
	// KeyArgument says that a parameter takes an idempotency key. TTL is how long a call is remembered by one.
	KeyArgument bool
	TTL         string
	// CallsPerMinute are those of one caller; 0 for any number.
	CallsPerMinute int
	// State is the namespace of state handles, and Prefix what they begin with.
	State, Prefix string
	// TestCommand and EvalCommand are for comments.
	TestCommand, EvalCommand string
}

func (t *Tool) values() values {
	v := values{
		Name: t.Name, Title: titleOf(t.Name), Description: t.description(), Folder: filepath.Base(t.Folder),
		Language: t.Language, Risk: t.Risk, Destroys: t.Verb.Destroys, Scope: t.Scope, AuditEvent: t.Name, TTL: "24h",
		State: t.options.State, Prefix: prefixOf(t.options.State), TestCommand: t.TestCommand,
		EvalCommand: "go tool patchbay tool eval " + filepath.Base(t.Folder),
	}
	switch t.Risk {
	case contract.RiskMedium:
		v.Audited, v.KeyArgument, v.CallsPerMinute = true, true, 60
	case contract.RiskHigh:
		v.Audited, v.KeyArgument, v.CallsPerMinute = true, true, 20
		v.Confirmed, v.DryRun, v.TTL = true, string(contract.DryRunSupported), "7d"
	case contract.RiskCritical:
		v.Audited, v.KeyArgument, v.CallsPerMinute = true, true, 5
		v.Confirmed, v.DryRun, v.TTL = true, string(contract.DryRunRequired), "7d"
		v.StepUp, v.Hidden = true, true
	}
	return v
}

// How the new handlers are described to models.
const (
	readsDescription = "Finds words of a small glossary about tools, such as dry run or scope, and returns what each " +
		"means. Use it when a word about tools and what they are allowed to do is not clear. A part of a word or of its " +
		"meaning is enough."
	changesDescription = "Issues a new reference number and returns it. Use it once for each matter that somebody has " +
		"to quote a number for. The number is random and can be had from this answer alone: pass it on."
	stateDescription = "Adds a line of text to a list and returns the whole list. Leave list_id out to begin a new " +
		"list, and use the list_id that comes back to go on with it. A repeated call adds its line again."
	// retention is behind every description of a tool that keeps state, which must say for how long.
	retention = " A list is kept for 24 hours after it was last changed, and for 7 days after its creation at most; " +
		"then it is gone and a new one has to be begun."
	dryRunFirst = " Every real call needs a dry run first: call with dryRun true, show the user what would be done, and " +
		"when the user agrees call again with the same arguments and without dryRun; the user confirms that call once more."
	confirmedFirst = " The user confirms every call; with dryRun true it only says what would be done."
)

func (t *Tool) description() string {
	text := t.options.Description
	if text == "" {
		text = map[kind]string{reads: readsDescription, changes: changesDescription, stateful: stateDescription}[t.kind]
		switch t.Risk {
		case contract.RiskHigh:
			text += confirmedFirst
		case contract.RiskCritical:
			text += dryRunFirst
		}
	}
	if t.kind == stateful {
		text += retention
	}
	return text
}

// Files makes the files of the tool's folder.
func (t *Tool) Files() ([]File, error) {
	parts := template.New("").Funcs(template.FuncMap{"json": asJSON, "yaml": asYAML})
	parts, err := parts.ParseFS(templates, "templates/contract/parts.tmpl")
	if err != nil {
		return nil, fmt.Errorf("reading the templates of contracts: %w", err)
	}
	values := t.values()
	var files []File
	for _, source := range t.sources() {
		content, err := render(parts, source.template, values)
		if err != nil {
			return nil, fmt.Errorf("making %s: %w", source.name, err)
		}
		files = append(files, File{Name: source.name, About: source.about, Content: content})
	}
	return files, nil
}

func render(parts *template.Template, name string, values values) ([]byte, error) {
	text, err := templates.ReadFile("templates/" + name + ".tmpl")
	if err != nil {
		return nil, err
	}
	whole, err := template.Must(parts.Clone()).New(name).Parse(string(text))
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	if err := whole.Execute(&out, values); err != nil {
		return nil, err
	}
	if strings.HasSuffix(name, ".go") {
		return format.Source(out.Bytes())
	}
	return out.Bytes(), nil
}

// asJSON writes a text as JSON does, with the letters that only HTML would mind.
func asJSON(value any) (string, error) {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(value)
	return strings.TrimSpace(out.String()), err
}

// asYAML writes a text as YAML does: in quotes where it would be something else.
func asYAML(text string) (string, error) {
	out, err := yaml.Marshal(text)
	return strings.TrimSpace(string(out)), err
}
