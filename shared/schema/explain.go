package schema

import (
	"cmp"
	"errors"
	"slices"
	"strconv"
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
}

// leaf is one error that stands for itself, with the names that it is about taken apart.
type leaf struct {
	path     []string
	location string // of the schema that was broken
	kind     any    // one of package kind, or of the kinds below
	name     string // what is missing or unknown
	note     string // which alternative the leaf belongs to
}

// Kinds beside the library's.
type (
	missing  struct{ with string } // with: the member that demands it
	unknown  struct{}
	oneOfAll struct{ allowed []string } // no alternative fits; what each wants
	badName  struct{ why leaf }
)

func (s *Schema) explain(err error, value any, raw []byte) *Invalid {
	var root *jsonschema.ValidationError
	if !errors.As(err, &root) {
		return s.refuse("cannot be checked: " + err.Error())
	}
	e := explainer{s, value, raw, s.subject}
	leaves := e.leaves(root)
	listed := leaves[:min(len(leaves), maxFailures)]
	invalid := &Invalid{More: len(leaves) - len(listed), subject: s.subject}
	for _, l := range e.inTextOrder(listed) {
		if f := e.describe(l); !slices.Contains(invalid.Failures, f) { // schemas in allOf may say the same
			invalid.Failures = append(invalid.Failures, f)
		}
	}
	return invalid
}

// leaves lists what is wrong, each once, in an order that does not depend on the library's maps.
func (e explainer) leaves(root *jsonschema.ValidationError) []leaf {
	leaves := e.collect(root)
	slices.SortStableFunc(leaves, compareLeaves)
	return slices.CompactFunc(leaves, func(a, b leaf) bool {
		return keywordOf(a.kind) != "" && compareLeaves(a, b) == 0 // one schema, reached in two ways
	})
}

// compareLeaves looks further only where it must: there may be a million leaves.
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

func compareTokens(a, b string) int {
	if a == b {
		return 0
	}
	m, errA := strconv.Atoi(a)
	n, errB := strconv.Atoi(b)
	if errA == nil && errB == nil {
		return m - n
	}
	return strings.Compare(a, b)
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
	at, found := locate(e.raw, path)
	if _, absent := l.kind.(missing); found && absent {
		return at.end
	}
	if l.name != "" {
		if member, found := locate(e.raw, append(path, step{name: l.name})); found {
			return member.start
		}
	}
	return at.start
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

func (e explainer) collect(err *jsonschema.ValidationError) []leaf {
	at := leaf{path: err.InstanceLocation, location: err.SchemaURL, kind: err.ErrorKind}
	switch k := err.ErrorKind.(type) {
	case *kind.Schema, *kind.Group, *kind.AllOf, *kind.Reference:
		return e.collectAll(err.Causes)
	case *kind.AnyOf:
		return e.alternatives(at, err.Causes)
	case *kind.OneOf:
		if k.Subschemas == nil {
			return e.alternatives(at, err.Causes)
		}
	case *kind.Required:
		return at.named(missing{}, k.Missing)
	case *kind.DependentRequired:
		return at.named(missing{k.Prop}, k.Missing)
	case *kind.Dependency:
		return at.named(missing{k.Prop}, k.Missing)
	case *kind.AdditionalProperties:
		return at.named(unknown{}, k.Properties)
	case *kind.PropertyNames:
		return e.badNames(at, k.Property, err.Causes)
	case *kind.FalseSchema:
		return []leaf{e.forbidden(at)}
	}
	return []leaf{at}
}

func (e explainer) collectAll(causes []*jsonschema.ValidationError) []leaf {
	var leaves []leaf
	for _, cause := range causes {
		leaves = append(leaves, e.collect(cause)...)
	}
	return leaves
}

func (l leaf) named(kind any, names []string) []leaf {
	leaves := make([]leaf, len(names))
	for i, name := range names {
		leaves[i] = leaf{path: l.path, location: l.location, kind: kind, name: name}
	}
	return leaves
}

func (e explainer) badNames(at leaf, name string, causes []*jsonschema.ValidationError) []leaf {
	var leaves []leaf
	for _, why := range e.collectAll(causes) {
		leaves = append(leaves, leaf{path: at.path, location: at.location, kind: badName{why}, name: name})
	}
	return leaves
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
