package schema

import (
	"cmp"
	"errors"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
)

// explainer turns the library's tree of errors into failures. Its schema is nil when the value is itself a schema,
// held against its dialect; then there are no descriptions to add.
type explainer struct {
	schema  *Schema
	value   any
	raw     []byte
	subject string
	memory  *memory
}

// memory is what an explainer has looked up: failures often lie in one another's neighbourhood.
type memory struct {
	spans map[string]place
	root  *level
}

type place struct {
	span
	found bool
}

// leaf is one error that stands for itself, with the names that it is about taken apart.
type leaf struct {
	path     []string
	location string                        // of the schema that was broken
	kind     any                           // one of package kind, or of the kinds below
	name     string                        // what is missing or unknown
	note     string                        // which alternative the leaf belongs to
	causes   []*jsonschema.ValidationError // of alternatives that are not looked into yet
}

// Kinds beside the library's.
type (
	missing  struct{ with string } // with: the member that demands it
	unknown  struct{}
	oneOfAll struct{ wants []leaf } // no alternative fits; what each wants
	badName  struct{ why leaf }
)

func (s *Schema) newExplainer(value any, raw []byte) explainer {
	return explainer{s, value, raw, s.subject, &memory{spans: map[string]place{}}}
}

func (s *Schema) explain(err error, value any, raw []byte) *Invalid {
	var root *jsonschema.ValidationError
	if !errors.As(err, &root) {
		return s.refuse("cannot be checked: " + err.Error())
	}
	e := s.newExplainer(value, raw)
	return e.invalid(e.leaves(root))
}

// invalid describes the first of the leaves, which are in order, and counts the others.
func (e explainer) invalid(leaves []leaf, more int) *Invalid {
	listed := leaves[:min(len(leaves), maxFailures)]
	invalid := &Invalid{More: more + len(leaves) - len(listed), subject: e.subject}
	for _, l := range e.inTextOrder(listed) {
		if f := e.describe(l); !slices.Contains(invalid.Failures, f) { // schemas in allOf may say the same
			invalid.Failures = append(invalid.Failures, f)
		}
	}
	return invalid
}

// leaves lists what is wrong, each once, in an order that does not depend on the library's maps, and counts what is
// left out because it comes late in that order. Alternatives are looked into only where they come early.
func (e explainer) leaves(root *jsonschema.ValidationError) (leaves []leaf, more int) {
	var found findings
	e.collect(root, &found)
	found.settle()
	for _, l := range found.leaves {
		if l.causes == nil {
			leaves = append(leaves, l)
		} else {
			leaves = append(leaves, e.alternatives(l)...)
		}
	}
	return inOrderOnce(leaves), found.more
}

// maxKept is how many leaves are kept of however many there are. It is more than are shown, since some say the same.
const maxKept = 100

// findings are the first leaves in their order of all that were added.
type findings struct {
	leaves []leaf
	full   bool // the leaves up to maxKept are in order, and a leaf behind those is not wanted
	more   int
}

func (f *findings) add(l leaf) {
	if f.full && compareLeaves(l, f.leaves[maxKept-1]) > 0 {
		f.more++
		return
	}
	f.leaves = append(f.leaves, l)
	if len(f.leaves) == 2*maxKept {
		f.settle()
	}
}

func (f *findings) settle() {
	f.leaves = inOrderOnce(f.leaves)
	if len(f.leaves) >= maxKept {
		f.more += len(f.leaves) - maxKept
		f.leaves = f.leaves[:maxKept]
		f.full = true
	}
}

func inOrderOnce(leaves []leaf) []leaf {
	slices.SortStableFunc(leaves, compareLeaves)
	return slices.CompactFunc(leaves, func(a, b leaf) bool {
		return keywordOf(a.kind) != "" && compareLeaves(a, b) == 0 // one schema, reached in two ways
	})
}

// compareLeaves looks further only where it must: there may be many leaves.
func compareLeaves(a, b leaf) int {
	if order := slices.CompareFunc(a.path, b.path, compareTokens); order != 0 {
		return order
	}
	if order := strings.Compare(a.name, b.name); order != 0 {
		return order
	}
	if order := strings.Compare(a.location, b.location); order != 0 {
		return order
	}
	return strings.Compare(keywordOf(a.kind), keywordOf(b.kind))
}

// keywordOf tells kinds apart for sorting.
func keywordOf(k any) string {
	if named, ok := k.(jsonschema.ErrorKind); ok {
		return strings.Join(named.KeywordPath(), "/")
	}
	return ""
}

// compareTokens sorts indexes by their value.
func compareTokens(a, b string) int {
	if isIndex(a) && isIndex(b) && len(a) != len(b) {
		return len(a) - len(b)
	}
	return strings.Compare(a, b)
}

func isIndex(token string) bool {
	return token != "" && digits(token) == len(token) && (token[0] != '0' || len(token) == 1)
}

// inTextOrder sorts by the place in the value; what is missing follows what is there, in the schema's order.
func (e explainer) inTextOrder(leaves []leaf) []leaf {
	type placed struct {
		leaf
		place, declared int
	}
	list := make([]placed, len(leaves))
	for i, l := range leaves {
		list[i] = placed{l, e.place(l), e.declared(l)}
	}
	slices.SortStableFunc(list, func(a, b placed) int {
		return cmp.Or(a.place-b.place, a.declared-b.declared)
	})
	sorted := make([]leaf, len(list))
	for i, p := range list {
		sorted[i] = p.leaf
	}
	return sorted
}

func (e explainer) place(l leaf) int {
	path := stepsIn(e.value, l.path)
	at, found := e.locate(path)
	if _, absent := l.kind.(missing); found && absent {
		return at.end
	}
	if l.name != "" {
		if member, found := e.locate(append(path, step{name: l.name})); found {
			return member.start
		}
	}
	return at.start
}

// locate is the place of a value in the text, which is looked for once.
func (e explainer) locate(path []step) (span, bool) {
	pointer := pointerTo(path)
	known, found := e.memory.spans[pointer]
	if !found {
		known.span, known.found = locate(e.raw, path)
		e.memory.spans[pointer] = known
	}
	return known.span, known.found
}

// declared is where the schema speaks of what the leaf is about.
func (e explainer) declared(l leaf) int {
	entry := e.schema.index.entries[l.location]
	if entry == nil {
		return 0
	}
	if property := entry.schema.Properties[l.name]; property != nil {
		return e.schema.index.offset(property)
	}
	return entry.offset
}

func (e explainer) collect(err *jsonschema.ValidationError, found *findings) {
	at := leaf{path: err.InstanceLocation, location: err.SchemaURL, kind: err.ErrorKind}
	switch k := err.ErrorKind.(type) {
	case *kind.Schema, *kind.Group, *kind.AllOf, *kind.Reference:
		for _, cause := range err.Causes {
			e.collect(cause, found)
		}
		return
	case *kind.AnyOf:
		at.causes = err.Causes
	case *kind.OneOf:
		if k.Subschemas == nil {
			at.causes = err.Causes
		}
	case *kind.Required:
		at.addNamed(missing{}, k.Missing, found)
		return
	case *kind.DependentRequired:
		at.addNamed(missing{k.Prop}, k.Missing, found)
		return
	case *kind.Dependency:
		at.addNamed(missing{k.Prop}, k.Missing, found)
		return
	case *kind.AdditionalProperties:
		at.addNamed(unknown{}, k.Properties, found)
		return
	case *kind.PropertyNames:
		e.addBadNames(at, k.Property, err.Causes, found)
		return
	case *kind.FalseSchema:
		at = e.forbidden(at)
	}
	found.add(at)
}

func (l leaf) addNamed(kind any, names []string, found *findings) {
	for _, name := range names {
		found.add(leaf{path: l.path, location: l.location, kind: kind, name: name})
	}
}

func (e explainer) addBadNames(at leaf, name string, causes []*jsonschema.ValidationError, found *findings) {
	for _, cause := range causes {
		leaves, more := e.leaves(cause)
		found.more += more
		for _, why := range leaves {
			found.add(leaf{path: at.path, location: at.location, kind: badName{why}, name: name})
		}
	}
}

// forbidden is a member that unevaluatedProperties: false (or false for all others) refuses, or a value that the
// schema false refuses.
func (e explainer) forbidden(at leaf) leaf {
	parent, rest := at.location, ""
	if slash := strings.LastIndexByte(at.location, '/'); slash >= 0 {
		parent, rest = at.location[:slash], at.location[slash+1:]
	}
	if rest != "unevaluatedProperties" && rest != "additionalProperties" || len(at.path) == 0 {
		return at
	}
	last := len(at.path) - 1
	return leaf{path: at.path[:last], location: parent, kind: unknown{}, name: at.path[last]}
}
