package schema

import (
	"slices"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// maxCost is what checking one value may cost. A unit is about what the library needs to apply a schema to a value that
// does not fit: half a microsecond and half a kilobyte. So nothing takes much longer than a quarter of a second, or
// much more than 150 MB.
const maxCost = 300_000

// Prices of single steps, in units.
const (
	costOfLookup   = 0.1      // looking one name or item up in one schema
	costOfTracking = 0.4      // remembering one name or item for unevaluatedProperties and unevaluatedItems
	costOfName     = 0.15     // naming one missing member
	costOfMatching = 0.03     // one byte of text in one instruction of a pattern
	costOfReading  = 0.01     // one byte of text in a format
	costOfParsing  = 10       // one byte of text in the format "regex", of which three can stand for all letters there are
	costOfCounting = 0.002    // one byte of text whose characters are counted
	costOfWeighing = 0.5      // one value of an array whose items must differ
	costPerLevel   = 1.0 / 32 // telling where a fault lies
)

// guard foresees what a validation costs. The library has no bounds of its own: it tries every schema on every item,
// every pattern on the whole text, and keeps every error. Two alternatives that both lead down to one recursive schema
// even double the work with every level of the value.
//
// A short value is let pass by its length alone. For any other the cost is added up in one walk over the value, in
// which equal work is counted together and not repeated; the sum is an upper bound.
type guard struct {
	graph
	efforts  map[*jsonschema.Schema]*effort
	closures map[*jsonschema.Schema][]applied
	chain    float64 // the most schemas that follow one from another for one value

	// What a value costs for each of its bytes at most, and for each byte and level of nesting; infinite where every
	// level may multiply it.
	perByte, perLevel float64
}

// applied is a schema that is applied so many times.
type applied struct {
	*effort
	times float64
}

// newGuard is called when it is known that no reference loops on one value.
func newGuard(root *jsonschema.Schema, ix index) *guard {
	g := &guard{
		graph:    ix.graph,
		efforts:  make(map[*jsonschema.Schema]*effort, len(ix.entries)),
		closures: make(map[*jsonschema.Schema][]applied, len(ix.entries)),
	}
	tracks := false
	for _, e := range ix.entries {
		tracks = tracks || e.schema.UnevaluatedProperties != nil || e.schema.UnevaluatedItems != nil
	}
	chain := chainCounter{ix.inPlace, map[*jsonschema.Schema]int{}}
	var most effort
	for i, e := range ix.inTextOrder() {
		effort := newEffort(e.schema, tracks)
		effort.id = i
		g.efforts[e.schema] = effort
		g.chain = max(g.chain, float64(chain.length(e.schema)))
		most.raise(effort)
	}
	times := g.mostApplied(root)
	g.perByte, g.perLevel = times*most.perByte(), times*most.perLevel(g.chain)
	return g
}

// mostApplied bounds how often schemas are applied to one value, wherever it lies.
func (g *guard) mostApplied(root *jsonschema.Schema) float64 {
	most, growth, onNames := 0.0, 0.0, 0.0
	for s := range g.efforts {
		times, down, names := 0.0, 0.0, 0.0
		for _, a := range g.closureOf(s) {
			times += a.times
			down += a.times * mostSteps(a.schema)
			names += a.times * float64(len(rulesOnNames(a.schema)))
		}
		most, growth, onNames = max(most, times), max(growth, down), max(onNames, names)
	}
	if growth <= 1 { // then no level of a value has more schemas than the one above
		return most * (1 + onNames)
	}
	return newPathCounter(g.all).count(root)
}

// mostSteps is to how many schemas s leads at most for one and the same member or item.
func mostSteps(s *jsonschema.Schema) float64 {
	named := len(present([]*jsonschema.Schema{s.UnevaluatedProperties})) + len(s.PatternProperties)
	if len(s.Properties) > 0 || asSchema(s.AdditionalProperties) != nil {
		named++
	}
	placed := len(present([]*jsonschema.Schema{s.Contains, s.UnevaluatedItems}))
	if s.Items != nil || s.Items2020 != nil || s.AdditionalItems != nil || s.PrefixItems != nil {
		placed++
	}
	return float64(max(named, placed))
}

// all are the schemas that s leads to in any way.
func (g *guard) all(s *jsonschema.Schema) []*jsonschema.Schema {
	return slices.Concat(g.inPlace(s), g.below(s), rulesOnNames(s))
}

// check returns nil when applying root to the value, whose text has that many bytes, is within bounds.
func (g *guard) check(root *jsonschema.Schema, value any, bytes int) *excess {
	n := float64(bytes)
	if n*(g.perByte+min(n, maxNesting)*g.perLevel) <= maxCost {
		return nil
	}
	w := walk{guard: g, root: root}
	if w.visit(w.start(), value) {
		return nil
	}
	again := walk{guard: g, root: root, inOrder: true} // what is blamed must not depend on the order of a map
	again.visit(again.start(), value)
	return again.blame(value)
}

// cost is what applying root to the value costs; beyond maxCost it is not added up.
func (g *guard) cost(root *jsonschema.Schema, value any) float64 {
	w := walk{guard: g, root: root}
	w.visit(w.start(), value)
	return w.spent
}

// closureOf counts how often each schema is applied to a value that s is applied to.
func (g *guard) closureOf(s *jsonschema.Schema) []applied {
	if list := g.closures[s]; list != nil {
		return list
	}
	next := g.inPlace(s)
	list := []applied{{g.efforts[s], 1}}
	if len(next) > 0 {
		sum := tally{g.efforts[s]: 1}
		for _, schema := range next {
			sum.add(g.closureOf(schema), 1)
		}
		list = sum.list()
	}
	g.closures[s] = list
	return list
}
