package schema

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// maxApplied is how many schemas may be applied to one and the same value through references and alternatives.
const maxApplied = 1000

// maxChained is how many of those may follow one from another. The library looks through all of them again at each.
const maxChained = 64

// graph says which schemas a schema leads to.
type graph struct {
	// dynamic lists the schemas by their $dynamicAnchor. Which of them a $dynamicRef means depends on the way to it,
	// so it counts as leading to all.
	dynamic map[string][]*jsonschema.Schema
}

// index knows every compiled schema by its location, and where it stands in the text.
type index struct {
	graph
	entries map[string]*entry // by location
	names   *vocabulary
	secrets bool // some value must never be shown
}

type entry struct {
	schema  *jsonschema.Schema
	pointer string
	offset  int
	secret  bool
}

func newIndex(root *jsonschema.Schema, g graph, d *document) index {
	ix := index{graph: g, entries: map[string]*entry{}, names: newVocabulary()}
	queue := []*jsonschema.Schema{root}
	for len(queue) > 0 {
		s := queue[0]
		queue = queue[1:]
		if ix.entries[s.Location] != nil {
			continue
		}
		pointer := fragmentOf(s.Location)
		value, _ := lookup(d.value, pointer)
		e := &entry{s, pointer, d.offset(pointer), isSecret(value)}
		ix.entries[s.Location] = e
		ix.secrets = ix.secrets || e.secret
		for name := range s.Properties {
			ix.names.add(name)
		}
		queue = append(queue, ix.inPlace(s)...)
		queue = append(queue, ix.below(s)...)
	}
	return ix
}

// isSecret looks at the schema's text, since draft-07 ignores what stands beside a $ref and a secret must not depend
// on that.
func isSecret(value any) bool {
	object, _ := value.(map[string]any)
	return object["writeOnly"] == true || object["format"] == "password"
}

// offset is where a schema stands in the text; unknown ones (of a dialect) come first.
func (ix index) offset(s *jsonschema.Schema) int {
	if e := ix.entries[s.Location]; e != nil {
		return e.offset
	}
	return -1
}

// inPlace are the schemas that s applies to the same value.
func (g graph) inPlace(s *jsonschema.Schema) []*jsonschema.Schema {
	list := []*jsonschema.Schema{s.Ref, s.Not, s.If, s.Then, s.Else}
	if s.DynamicRef != nil {
		list = append(list, s.DynamicRef.Ref)
		for _, other := range g.dynamic[s.DynamicRef.Anchor] {
			if other != s.DynamicRef.Ref {
				list = append(list, other)
			}
		}
	}
	list = slices.Concat(list, s.AllOf, s.AnyOf, s.OneOf)
	for _, dependent := range s.DependentSchemas {
		list = append(list, dependent)
	}
	for _, dependency := range s.Dependencies {
		list = append(list, asSchema(dependency))
	}
	return present(list)
}

// below are the schemas that s applies to members, items and names.
func (g graph) below(s *jsonschema.Schema) []*jsonschema.Schema {
	list := []*jsonschema.Schema{s.PropertyNames, asSchema(s.AdditionalProperties), s.UnevaluatedProperties, s.Contains,
		asSchema(s.Items), asSchema(s.AdditionalItems), s.Items2020, s.UnevaluatedItems}
	for _, property := range s.Properties {
		list = append(list, property)
	}
	for _, property := range s.PatternProperties {
		list = append(list, property)
	}
	positions, _ := s.Items.([]*jsonschema.Schema)
	return present(slices.Concat(list, s.PrefixItems, positions))
}

func asSchema(v any) *jsonschema.Schema {
	s, _ := v.(*jsonschema.Schema)
	return s
}

func present(list []*jsonschema.Schema) []*jsonschema.Schema {
	return slices.DeleteFunc(list, func(s *jsonschema.Schema) bool { return s == nil })
}

// checkCost refuses schemas that would loop on one value, or apply too much to it.
func (ix index) checkCost() *Problem {
	paths := newPathCounter(ix.inPlace)
	chain := chainCounter{ix.inPlace, map[*jsonschema.Schema]int{}}
	for _, e := range ix.inTextOrder() {
		switch n := paths.count(e.schema); {
		case math.IsInf(n, 1) && slices.Contains(closure(ix.inPlace(e.schema), ix.inPlace), e.schema):
			return &Problem{KindInvalid, e.pointer, "the reference leads back to itself without going down into the value",
				"recursion through properties or items"}
		case n > maxApplied && !math.IsInf(n, 1):
			return &Problem{KindBounds, e.pointer, fmt.Sprintf("references multiply to more than %d schemas for one value",
				maxApplied),
				"fewer references inside allOf, anyOf and oneOf"}
		case !math.IsInf(n, 1) && chain.length(e.schema) > maxChained:
			return &Problem{KindBounds, e.pointer, fmt.Sprintf("references follow one another more than %d times for one value",
				maxChained),
				"shorter chains of $ref and allOf"}
		}
	}
	return nil
}

func (ix index) inTextOrder() []*entry {
	var entries []*entry
	for _, location := range sortedKeys(ix.entries) {
		entries = append(entries, ix.entries[location])
	}
	slices.SortStableFunc(entries, func(a, b *entry) int { return a.offset - b.offset })
	return entries
}

// pathCounter counts the ways that lead from a schema along edges, itself included; infinitely many where they loop.
type pathCounter struct {
	edges func(*jsonschema.Schema) []*jsonschema.Schema
	known map[*jsonschema.Schema]float64
}

func newPathCounter(edges func(*jsonschema.Schema) []*jsonschema.Schema) pathCounter {
	return pathCounter{edges, map[*jsonschema.Schema]float64{}}
}

func (c pathCounter) count(s *jsonschema.Schema) float64 {
	if n, found := c.known[s]; found {
		return n
	}
	c.known[s] = math.Inf(1) // met again before it is counted: a loop
	n := 1.0
	for _, next := range c.edges(s) {
		n += c.count(next)
	}
	c.known[s] = n
	return n
}

// chainCounter measures the longest way from a schema along edges, itself included. The edges must not loop.
type chainCounter struct {
	edges func(*jsonschema.Schema) []*jsonschema.Schema
	known map[*jsonschema.Schema]int
}

func (c chainCounter) length(s *jsonschema.Schema) int {
	if n, found := c.known[s]; found {
		return n
	}
	longest := 0
	for _, next := range c.edges(s) {
		longest = max(longest, c.length(next))
	}
	c.known[s] = longest + 1
	return longest + 1
}

// closure is the schemas and all that apply to the same value with them, each once, the given ones first.
func closure(schemas []*jsonschema.Schema, edges func(*jsonschema.Schema) []*jsonschema.Schema) []*jsonschema.Schema {
	list := make([]*jsonschema.Schema, 0, len(schemas))
	seen := map[*jsonschema.Schema]bool{}
	var add func(*jsonschema.Schema)
	add = func(s *jsonschema.Schema) {
		if !seen[s] {
			seen[s] = true
			list = append(list, s)
			for _, next := range edges(s) {
				add(next)
			}
		}
	}
	for _, s := range schemas {
		add(s)
	}
	return list
}

// level is the schemas that may say something about one value.
type level struct {
	schemas []*jsonschema.Schema
	below   map[step]*level
}

// at lists the schemas that may say something about the value at each step of a path, the root's first.
func (e explainer) at(path []step) [][]*jsonschema.Schema {
	levels := make([][]*jsonschema.Schema, 0, len(path)+1)
	if e.schema == nil {
		return levels[:len(path)+1]
	}
	if e.memory.root == nil {
		e.memory.root = e.schema.newLevel([]*jsonschema.Schema{e.schema.root})
	}
	l := e.memory.root
	levels = append(levels, l.schemas)
	for _, st := range path {
		if l.below[st] == nil {
			var next []*jsonschema.Schema
			for _, schema := range l.schemas {
				next = append(next, stepInto(schema, st)...)
			}
			l.below[st] = e.schema.newLevel(next)
		}
		l = l.below[st]
		levels = append(levels, l.schemas)
	}
	return levels
}

func (s *Schema) newLevel(schemas []*jsonschema.Schema) *level {
	return &level{closure(schemas, s.inPlaceInOrder), map[step]*level{}}
}

// inPlaceInOrder is inPlace in the order of the text, since maps have none.
func (s *Schema) inPlaceInOrder(schema *jsonschema.Schema) []*jsonschema.Schema {
	list := s.index.inPlace(schema)
	slices.SortStableFunc(list, func(a, b *jsonschema.Schema) int {
		if order := s.index.offset(a) - s.index.offset(b); order != 0 {
			return order
		}
		return strings.Compare(a.Location, b.Location)
	})
	return list
}

func stepInto(s *jsonschema.Schema, st step) []*jsonschema.Schema {
	if st.item {
		return stepIntoItem(s, st.index)
	}
	var list []*jsonschema.Schema
	if property := s.Properties[st.name]; property != nil {
		list = append(list, property)
	}
	for re, property := range s.PatternProperties {
		if re.MatchString(st.name) {
			list = append(list, property)
		}
	}
	if len(list) == 0 {
		list = append(list, asSchema(s.AdditionalProperties))
	}
	slices.SortFunc(list, func(a, b *jsonschema.Schema) int { return strings.Compare(locationOf(a), locationOf(b)) })
	return present(append(list, s.UnevaluatedProperties))
}

func locationOf(s *jsonschema.Schema) string {
	if s == nil {
		return ""
	}
	return s.Location
}

func stepIntoItem(s *jsonschema.Schema, i int) []*jsonschema.Schema {
	positions, _ := s.Items.([]*jsonschema.Schema)
	positions = slices.Concat(s.PrefixItems, positions)
	if i < len(positions) {
		return present([]*jsonschema.Schema{positions[i], s.Contains})
	}
	return present([]*jsonschema.Schema{s.Items2020, asSchema(s.Items), asSchema(s.AdditionalItems), s.Contains,
		s.UnevaluatedItems})
}
