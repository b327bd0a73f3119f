package evaluate

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"patchbay/scripts/mcpcall"
	"patchbay/shared/nearest"
)

// maxFile is the largest file that is read, in bytes.
const maxFile = 1 << 20

// ReadFile reads a file of recorded calls. The error names every fault with its line.
func ReadFile(path string) (File, error) {
	file, err := os.Open(path)
	if err != nil {
		return File{}, fmt.Errorf("reading recorded calls: %w", err)
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, maxFile+1))
	if err != nil {
		return File{}, fmt.Errorf("reading recorded calls: %w", err)
	}
	if len(text) > maxFile {
		return File{}, fmt.Errorf("%s is larger than %d bytes", path, maxFile)
	}
	return Parse(path, text)
}

// Parse reads the text of a file. The error names every fault with its line.
func Parse(path string, text []byte) (File, error) {
	root, err := parseYAML(path, text)
	if err != nil {
		return File{}, err
	}
	r := &reader{path: path}
	file := r.readFile(root)
	if len(r.faults) > 0 {
		slices.SortStableFunc(r.faults, func(a, b fault) int { return cmp.Compare(a.line, b.line) })
		var lines []error
		for _, f := range r.faults {
			lines = append(lines, fmt.Errorf("%s:%d: %s", path, f.line, f.text))
		}
		return File{}, errors.Join(lines...)
	}
	return file, nil
}

// yamlLine is how the parser says where it stopped.
var yamlLine = regexp.MustCompile(`^yaml: line (\d+): `)

func parseYAML(path string, text []byte) (*yaml.Node, error) {
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	var document, second yaml.Node
	if err := decoder.Decode(&document); errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%s:1: the file is empty; it needs tool and cases", path)
	} else if err != nil {
		says := err.Error()
		if at := yamlLine.FindStringSubmatch(says); at != nil {
			return nil, fmt.Errorf("%s:%s: not YAML: %s", path, at[1], says[len(at[0]):])
		}
		return nil, fmt.Errorf("%s: not YAML: %w", path, err)
	}
	if err := decoder.Decode(&second); err == nil {
		return nil, fmt.Errorf("%s:%d: a second document; a file has one", path, second.Line)
	}
	return document.Content[0], nil
}

// fault is what is wrong in a line.
type fault struct {
	line int
	text string
}

// reader reads one file and collects all that is wrong.
type reader struct {
	path   string
	faults []fault
	// saved are the names that placeholders may have at this place.
	saved map[string]bool
}

func (r *reader) fault(node *yaml.Node, format string, args ...any) {
	r.faults = append(r.faults, fault{node.Line, fmt.Sprintf(format, args...)})
}

// eachMember visits the members of a mapping whose keys are texts.
func (r *reader) eachMember(node *yaml.Node, visit func(key string, value *yaml.Node)) {
	seen := map[string]bool{}
	for i := 0; i+1 < len(node.Content); i += 2 {
		key, value := node.Content[i], node.Content[i+1]
		switch {
		case key.Kind != yaml.ScalarNode || key.Tag == "!!merge":
			r.fault(key, "a key is no text")
		case seen[key.Value]:
			r.fault(key, "%q is there twice", key.Value)
		default:
			seen[key.Value] = true
			visit(key.Value, value)
		}
	}
}

// field reads the value of one field.
type field func(*yaml.Node)

// fields reads a mapping with fields that are known and required ones.
func (r *reader) fields(node *yaml.Node, what string, known map[string]field, required ...string) {
	if node.Kind != yaml.MappingNode {
		r.fault(node, "%s is no mapping; its fields are: %s", what, names(known))
		return
	}
	var given []string
	r.eachMember(node, func(key string, value *yaml.Node) {
		given = append(given, key)
		if read, ok := known[key]; ok {
			read(value)
			return
		}
		if near := nearest.Name(key, strings.Split(names(known), ", ")); near != "" {
			r.fault(value, "%q is no field of %s; did you mean %s?", key, what, near)
			return
		}
		r.fault(value, "%q is no field of %s; allowed: %s", key, what, names(known))
	})
	for _, name := range required {
		if !slices.Contains(given, name) {
			r.fault(node, "%s has no %s", what, name)
		}
	}
}

func names(known map[string]field) string {
	var all []string
	for name := range known {
		all = append(all, name)
	}
	slices.Sort(all)
	return strings.Join(all, ", ")
}

func (r *reader) text(into *string, what string) field {
	return func(node *yaml.Node) {
		if node.Kind != yaml.ScalarNode || node.Tag != "!!str" || node.Value == "" {
			r.fault(node, "%s is a text", what)
			return
		}
		*into = node.Value
	}
}

func (r *reader) number(into *int, what string, least int) field {
	return func(node *yaml.Node) {
		if err := node.Decode(into); err != nil || node.Tag != "!!int" || *into < least {
			r.fault(node, "%s is a whole number of at least %d", what, least)
		}
	}
}

// oneOf reads one of a few words.
func (r *reader) oneOf(into *string, what string, words ...string) field {
	return func(node *yaml.Node) {
		if !slices.Contains(words, node.Value) {
			r.fault(node, "%s is %q; allowed: %s", what, node.Value, strings.Join(words, ", "))
			return
		}
		*into = node.Value
	}
}

func (r *reader) object(into *map[string]any, what string) field {
	return func(node *yaml.Node) {
		if node.Kind != yaml.MappingNode {
			r.fault(node, "%s is a mapping", what)
			return
		}
		*into, _ = r.readValue(node).(map[string]any)
	}
}

func (r *reader) readFile(node *yaml.Node) File {
	file := File{Path: r.path}
	r.fields(node, "the file", map[string]field{
		"tool": r.text(&file.Tool, "tool"),
		"cases": func(node *yaml.Node) {
			if node.Kind != yaml.SequenceNode || len(node.Content) == 0 {
				r.fault(node, "cases is a list with at least one case")
				return
			}
			for _, element := range node.Content {
				file.Cases = append(file.Cases, r.readCase(element))
			}
		},
	}, "tool", "cases")
	lines := map[string]int{}
	for i, c := range file.Cases {
		if at, taken := lines[c.Name]; taken && c.Name != "" {
			r.faults = append(r.faults, fault{c.Line, fmt.Sprintf("%q is the name of the case in line %d, too", c.Name, at)})
		}
		lines[c.Name] = c.Line
		for j := range c.Steps {
			if c.Steps[j].Tool == "" {
				file.Cases[i].Steps[j].Tool = file.Tool
			}
		}
	}
	return file
}

func (r *reader) readCase(node *yaml.Node) Case {
	c := Case{Line: node.Line}
	r.saved = map[string]bool{placeholderRun: true, placeholderNow: true}
	// Steps know what those before them saved, so they are read in their order and save last.
	steps, own := false, Step{Line: node.Line, Repeat: 1}
	fields := r.stepFields(&own)
	ownGiven := ""
	for name, read := range fields {
		fields[name] = func(node *yaml.Node) { ownGiven = name; read(node) }
	}
	fields["name"] = r.text(&c.Name, "name")
	fields["steps"] = func(node *yaml.Node) {
		steps = true
		if node.Kind != yaml.SequenceNode || len(node.Content) == 0 {
			r.fault(node, "steps is a list with at least one step")
			return
		}
		for _, element := range node.Content {
			step := Step{Line: element.Line, Repeat: 1}
			r.fields(element, "a step", r.stepFields(&step))
			r.checkStep(step)
			c.Steps = append(c.Steps, step)
		}
	}
	r.fields(node, "a case", fields, "name")
	if steps && ownGiven != "" {
		r.fault(node, "a case has steps, or the fields of its only one; %s is beside steps", ownGiven)
	}
	if !steps {
		r.checkStep(own)
		c.Steps = []Step{own}
	}
	return c
}

func (r *reader) stepFields(step *Step) map[string]field {
	return map[string]field{
		"tool":      r.text(&step.Tool, "tool"),
		"arguments": r.object(&step.Arguments, "arguments"),
		"key": func(node *yaml.Node) {
			r.text(&step.Key, "key")(node)
			r.checkPlaceholders(node)
		},
		"confirm": r.oneOf(&step.Confirm, "confirm", mcpcall.Accept, mcpcall.Decline, mcpcall.Cancel),
		"answers": func(node *yaml.Node) { step.Answers = r.readAnswers(node) },
		"repeat":  r.number(&step.Repeat, "repeat", 1),
		"expect":  func(node *yaml.Node) { step.Expect = r.readExpect(node) },
		"save":    func(node *yaml.Node) { step.Save = r.readSave(node) },
	}
}

// checkStep looks at what fields say together, and lets later steps use what this one saves.
func (r *reader) checkStep(step Step) {
	at := &yaml.Node{Line: step.Line}
	expect := step.Expect
	switch {
	case expect.Refused != nil && (expect.IsError || expect.Result != nil || expect.Text != nil ||
		expect.Content != nil || expect.Meta != nil || expect.MaxResultBytes > 0 || len(step.Save) > 0):
		r.fault(at, "a request that is refused has no result, so refused stands beside nothing that looks at one")
	case expect.Asked != nil && !step.attended():
		r.fault(at, "asked needs confirm or answers: without them nobody can be asked")
	}
	for _, saving := range step.Save {
		r.saved[saving.Name] = true
	}
}

func (r *reader) readAnswers(node *yaml.Node) []Reply {
	if node.Kind != yaml.SequenceNode || len(node.Content) == 0 {
		r.fault(node, "answers is a list with at least one { action, content }")
		return nil
	}
	var replies []Reply
	for _, element := range node.Content {
		var reply Reply
		r.fields(element, "an answer", map[string]field{
			"action":  r.oneOf(&reply.Action, "action", mcpcall.Accept, mcpcall.Decline, mcpcall.Cancel),
			"content": r.object(&reply.Content, "content"),
		}, "action")
		replies = append(replies, reply)
	}
	return replies
}

// savedName is what a saved value may be called.
var savedName = regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_]*$`)

func (r *reader) readSave(node *yaml.Node) []Saving {
	if node.Kind != yaml.MappingNode {
		r.fault(node, "save is a mapping of names to JSON Pointers")
		return nil
	}
	var all []Saving
	r.eachMember(node, func(name string, value *yaml.Node) {
		saving := Saving{Name: name}
		switch {
		case !savedName.MatchString(name) || name == placeholderRun || name == placeholderNow:
			r.fault(value, "%q is no name for a saved value; allowed: letters, digits and _, but not %s and %s", name,
				placeholderRun, placeholderNow)
		case value.Kind == yaml.MappingNode:
			var pattern string
			r.fields(value, "what is saved", map[string]field{"pattern": r.text(&pattern, "pattern")}, "pattern")
			saving.Pattern = r.compile(value, pattern)
		case value.Value == "" || strings.HasPrefix(value.Value, "/"):
			saving.Pointer = value.Value
		default:
			r.fault(value, "%q is no JSON Pointer; it begins with a slash, as in /basket_id", value.Value)
		}
		all = append(all, saving)
	})
	return all
}

func (r *reader) compile(node *yaml.Node, pattern string) *regexp.Regexp {
	compiled, err := regexp.Compile(pattern)
	if err != nil {
		r.fault(node, "the pattern is wrong: %v", err)
		return nil
	}
	return compiled
}

// checkPlaceholders refuses names that nothing was saved under.
func (r *reader) checkPlaceholders(node *yaml.Node) {
	for _, found := range placeholder.FindAllStringSubmatch(node.Value, -1) {
		name := found[1]
		if found[0] == "$$(" || r.saved[name] {
			continue
		}
		if span, isNow := strings.CutPrefix(name, placeholderNow); isNow && strings.IndexAny(span, "+-") == 0 {
			if _, err := shift("2000-01-01T00:00:00Z", span); err != nil {
				r.fault(node, "%v", err)
			}
			continue
		}
		var saved []string
		for one := range r.saved {
			saved = append(saved, "$("+one+")")
		}
		slices.Sort(saved)
		r.fault(node, "%s has no value here; allowed: %s, or $$( for the text $(", found[0], strings.Join(saved, ", "))
	}
}

func (r *reader) readExpect(node *yaml.Node) Expect {
	var expect Expect
	value := func(into *any) field {
		return func(node *yaml.Node) {
			*into = r.readValue(node)
			r.checkMatcher(node, *into)
		}
	}
	parts := func(into *any, what string) field {
		return func(node *yaml.Node) {
			value(into)(node)
			if !isParts(*into) {
				r.fault(node, "%s is a text, a list of texts, or a mapping such as { $pattern: … }", what)
			}
		}
	}
	r.fields(node, "expect", map[string]field{
		"result":         value(&expect.Result),
		"content":        value(&expect.Content),
		"meta":           value(&expect.Meta),
		"text":           parts(&expect.Text, "text"),
		"asked":          parts(&expect.Asked, "asked"),
		"error":          func(node *yaml.Node) { expect.IsError, expect.Failure = r.readError(node) },
		"refused":        func(node *yaml.Node) { expect.Refused = r.readRefused(node) },
		"minProgress":    r.number(&expect.MinProgress, "minProgress", 1),
		"maxResultBytes": r.number(&expect.MaxResultBytes, "maxResultBytes", 1),
	})
	return expect
}

func isParts(value any) bool {
	switch value := value.(type) {
	case string, map[string]any:
		return true
	case []any:
		return !slices.ContainsFunc(value, func(part any) bool { _, isText := part.(string); return !isText })
	}
	return false
}

func (r *reader) readError(node *yaml.Node) (isError bool, failure string) {
	switch {
	case node.Tag == "!!bool" && node.Value == "true":
		return true, ""
	case node.Tag == "!!str" && node.Value != "":
		return true, node.Value
	}
	r.fault(node, "error is true, or the code of a failure mode; without it the result must be none")
	return false, ""
}

func (r *reader) readRefused(node *yaml.Node) *Refused {
	refused := &Refused{}
	if node.Tag == "!!bool" && node.Value == "true" {
		return refused
	}
	if node.Kind != yaml.MappingNode {
		r.fault(node, "refused is true, or a mapping of status, code and text")
		return refused
	}
	r.fields(node, "refused", map[string]field{
		"status": r.number(&refused.Status, "status", 100),
		"code": func(node *yaml.Node) {
			if err := node.Decode(&refused.Code); err != nil || node.Tag != "!!int" {
				r.fault(node, "code is a whole number, as -32602")
			}
		},
		"text": r.text(&refused.Text, "text"),
	})
	return refused
}

// checkMatcher refuses a mapping that says of the value what nothing can be.
func (r *reader) checkMatcher(node *yaml.Node, value any) {
	if err := checkMatcher(value); err != nil {
		r.fault(node, "%v", err)
	}
}
