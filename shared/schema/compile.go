package schema

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Problem is one fault of a schema.
type Problem struct {
	// Kind says what sort of fault it is.
	Kind Kind
	// Pointer is a JSON pointer into the schema (RFC 6901); empty for the schema as a whole.
	Pointer string
	// Message says what is wrong.
	Message string
	// Allowed says what would be right; it may be empty.
	Allowed string
}

// Kind is a sort of fault; those of one kind matter for one reason.
type Kind int

const (
	// KindInvalid is what a schema of the dialect cannot have, or what is not supported.
	KindInvalid Kind = iota
	// KindOutside is a reference that leads out of the schema.
	KindOutside
	// KindBounds is what would be right if there were less of it: text, depth, subschemas, work for one value.
	KindBounds
)

func (p Problem) String() string {
	text := p.Message
	if p.Pointer != "" {
		text = p.Pointer + ": " + text
	}
	if p.Allowed != "" {
		text += "; allowed: " + p.Allowed
	}
	return text
}

// CompileError lists everything that was found wrong with a schema, in the order of its text.
type CompileError struct{ Problems []Problem }

// Error lists the problems, one a line.
func (e *CompileError) Error() string {
	lines := make([]string, len(e.Problems))
	for i, p := range e.Problems {
		lines[i] = p.String()
	}
	return "the schema is not valid: " + strings.Join(lines, "\n")
}

// documentURL is the base of a schema that has no $id. Nothing is ever loaded from it.
const documentURL = "schema://document/"

// Compile reads, checks and compiles a schema within limits. The error is a *CompileError.
func Compile(raw json.RawMessage, limits Limits) (*Schema, error) {
	limits = limits.withDefaults()
	if problem := limits.checkSize(len(raw)); problem != nil {
		return nil, &CompileError{[]Problem{*problem}}
	}
	d, problems := readDocument(raw, limits)
	if d == nil {
		return nil, &CompileError{problems}
	}
	for _, pointer := range d.elsewhere {
		problems = append(problems, d.checkElsewhere(pointer, problems)...)
	}
	root, g, err := compileDocument(d)
	problems = append(problems, d.problemsOf(err, problems)...)
	if len(problems) > 0 {
		return nil, &CompileError{d.inOrder(problems)}
	}
	return assemble(root, g, d)
}

// assemble builds what Check needs beside the compiled schema.
func assemble(root *jsonschema.Schema, g graph, d *document) (*Schema, error) {
	s := &Schema{root: root, index: newIndex(root, g, d), subject: "arguments"}
	if problem := s.index.checkCost(); problem != nil {
		return nil, &CompileError{[]Problem{*problem}}
	}
	s.index.replaceRules()
	s.guard = newGuard(root, s.index)
	filler, problems := newFiller(s, d)
	if len(problems) > 0 {
		return nil, &CompileError{d.inOrder(problems)}
	}
	s.filler = filler
	return s, nil
}

// readDocument parses the text and checks what the library does not. The document is nil when going on makes no sense.
func readDocument(raw json.RawMessage, limits Limits) (*document, []Problem) {
	value, spans, faults := parseWithSpans(raw)
	if len(faults) > 0 {
		return nil, problemsOfFaults(faults)
	}
	switch value.(type) {
	case map[string]any, bool:
	default:
		return nil, []Problem{{Message: "the schema is " + shortJSON(value), Allowed: "an object or a boolean"}}
	}
	draft, problem := dialectOf(value)
	if problem != nil {
		return nil, []Problem{*problem}
	}
	d := &document{raw: raw, value: value, spans: spans, draft: draft, limits: limits}
	d.patterns.known = map[string]pattern{}
	if problem := d.walk(); problem != nil {
		return nil, []Problem{*problem}
	}
	problems := d.check()
	return d, problems
}

func problemsOfFaults(faults []fault) []Problem {
	problems := make([]Problem, len(faults))
	for i, f := range faults {
		message := f.message
		if len(f.path) == 0 {
			message = "the schema " + message
		}
		problems[i] = Problem{Pointer: pointerTo(f.path), Message: message}
	}
	return problems
}

// refuseLoading is the library's way out of the document, closed.
type refuseLoading struct{}

func (refuseLoading) Load(url string) (any, error) {
	return nil, fmt.Errorf("loading %s: references outside the schema are not followed", url)
}

// compileDocument runs the library, whose errors it returns. The library is not made for hostile schemas, so a panic
// in it is one more way to say no.
func compileDocument(d *document) (root *jsonschema.Schema, g graph, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("compiling the schema: %v", r)
		}
	}()
	c := d.newCompiler()
	if err = c.AddResource(documentURL, d.value); err != nil {
		return nil, graph{}, err
	}
	if root, err = c.Compile(documentURL); err != nil {
		return nil, graph{}, err
	}
	g, err = d.compileDynamicAnchors(c)
	return root, g, err
}

func (d *document) newCompiler() *jsonschema.Compiler {
	c := jsonschema.NewCompiler()
	c.DefaultDraft(d.draft)
	c.AssertFormat()
	c.UseLoader(refuseLoading{})
	c.UseRegexpEngine(d.patterns.compile)
	registerFormats(c)
	return c
}

// compileDynamicAnchors asks for the schemas that only a $dynamicRef leads to; the library has compiled them already.
func (d *document) compileDynamicAnchors(c *jsonschema.Compiler) (graph, error) {
	g := graph{map[string][]*jsonschema.Schema{}}
	if d.draft == jsonschema.Draft7 {
		return g, nil
	}
	for _, s := range d.schemas {
		object, _ := s.value.(map[string]any)
		name, ok := object["$dynamicAnchor"].(string)
		if !ok {
			continue
		}
		schema, err := c.Compile(documentURL + "#" + (&url.URL{Path: s.pointer}).EscapedPath())
		if err != nil {
			return g, err
		}
		g.dynamic[name] = append(g.dynamic[name], schema)
	}
	return g, nil
}

// problemsOf takes the library's error apart, leaving out what is known already.
func (d *document) problemsOf(err error, known []Problem) []Problem {
	if err == nil {
		return nil
	}
	var invalid *jsonschema.SchemaValidationError
	base := ""
	if errors.As(err, &invalid) {
		base = fragmentOf(invalid.URL)
	}
	if len(known) > 0 && (invalid == nil || base != "") {
		return nil // a consequence of what was found before, and which one differs from run to run
	}
	if invalid != nil {
		return d.problemsOfMeta(base, invalid, known)
	}
	message := strings.ReplaceAll(err.Error(), documentURL, "")
	return []Problem{{Message: "the schema cannot be compiled: " + message}}
}

// checkElsewhere holds a schema against its dialect that stands where none is expected. The library does so when it
// comes upon a reference, in no certain order, and stops at the first.
func (d *document) checkElsewhere(pointer string, known []Problem) []Problem {
	value, _ := lookup(d.value, pointer)
	c := d.newCompiler()
	if err := c.AddResource(documentURL, value); err != nil {
		return []Problem{{Pointer: pointer, Message: err.Error()}}
	}
	_, err := c.Compile(documentURL)
	var invalid *jsonschema.SchemaValidationError
	if !errors.As(err, &invalid) {
		return nil // its references need the whole document
	}
	return d.problemsOfMeta(pointer, invalid, known)
}

// problemsOfMeta explains where the schema at base breaks its dialect's own schema.
func (d *document) problemsOfMeta(base string, invalid *jsonschema.SchemaValidationError, known []Problem) []Problem {
	taken := map[string]bool{}
	for _, p := range known {
		taken[p.Pointer] = true
	}
	value, _ := lookup(d.value, base)
	var explained *jsonschema.ValidationError
	if !errors.As(invalid.Err, &explained) {
		return []Problem{{Pointer: base, Message: invalid.Err.Error()}}
	}
	e := explainer{value: value, subject: "the schema"}
	var problems []Problem
	leaves, _ := e.leaves(explained)
	for _, l := range leaves {
		pointer := base + pointerTo(stepsIn(value, l.path))
		if f := e.describe(l); !taken[pointer] {
			taken[pointer] = true
			problems = append(problems, Problem{KindInvalid, pointer,
				strings.TrimSpace(f.Value + " " + f.Problem), f.Allowed})
		}
	}
	return problems
}

// inOrder sorts problems by their place in the text and drops what is said twice.
func (d *document) inOrder(problems []Problem) []Problem {
	slices.SortStableFunc(problems, func(a, b Problem) int {
		if order := d.offset(a.Pointer) - d.offset(b.Pointer); order != 0 {
			return order
		}
		return strings.Compare(a.Pointer+a.Message, b.Pointer+b.Message)
	})
	return slices.Compact(problems)
}

func (d *document) offset(pointer string) int { return d.spans[pointer].start }

// sortedKeys makes walks over maps repeatable.
func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
