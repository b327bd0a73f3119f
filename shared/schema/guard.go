package schema

import (
	"math"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// maxApplications is how often schemas may be applied in one validation; that is a second or two.
const maxApplications = 2_000_000

// guard foresees what a validation costs. Two alternatives that both lead down to the same recursive schema double the
// work with every level of the value, so a small hostile value could keep the validator busy for years. The count is
// an upper bound, found in one walk over the value: equal applications are counted together, not repeated.
type guard struct {
	graph
	applied map[*jsonschema.Schema]map[*jsonschema.Schema]float64
	leads   map[*jsonschema.Schema]bool // down into members or items
}

// stepCost is what looking for a schema's members costs, in applications.
const stepCost = 0.1

// newGuard returns nil when no value can be expensive: then each part of a value meets no more than maxApplied
// schemas.
func newGuard(root *jsonschema.Schema, gr graph) *guard {
	all := func(s *jsonschema.Schema) []*jsonschema.Schema { return append(gr.inPlace(s), gr.below(s)...) }
	if newPathCounter(all).count(root) <= maxApplied {
		return nil
	}
	g := &guard{gr, map[*jsonschema.Schema]map[*jsonschema.Schema]float64{}, map[*jsonschema.Schema]bool{}}
	for _, s := range closure([]*jsonschema.Schema{root}, all) {
		g.leads[s] = len(gr.below(s)) > 0
		g.closureOf(s)
	}
	return g
}

// closureOf counts how often each schema is applied to a value that s is applied to. References do not loop here:
// checkCost has seen to that.
func (g *guard) closureOf(s *jsonschema.Schema) map[*jsonschema.Schema]float64 {
	if known := g.applied[s]; known != nil {
		return known
	}
	counts := map[*jsonschema.Schema]float64{s: 1}
	for _, next := range g.inPlace(s) {
		for schema, n := range g.closureOf(next) {
			counts[schema] += n
		}
	}
	g.applied[s] = counts
	return counts
}

func (g *guard) allows(root *jsonschema.Schema, value any) bool {
	return g.cost(map[*jsonschema.Schema]float64{root: 1}, value, 0) <= maxApplications
}

// cost adds what applying the schemas to value costs to spent. It stops once that is too much.
func (g *guard) cost(schemas map[*jsonschema.Schema]float64, value any, spent float64) float64 {
	here := map[*jsonschema.Schema]float64{}
	for s, times := range schemas {
		for applied, n := range g.applied[s] {
			spent += times * n
			if g.leads[applied] {
				here[applied] += times * n
			}
		}
	}
	if spent > maxApplications || math.IsNaN(spent) {
		return math.Inf(1)
	}
	if len(here) == 0 {
		return spent
	}
	switch v := value.(type) {
	case map[string]any:
		for name, member := range v {
			spent = g.costOfStep(here, step{name: name}, member, spent)
		}
	case []any:
		for i, item := range v {
			spent = g.costOfStep(here, step{index: i, item: true}, item, spent)
		}
	}
	return spent
}

func (g *guard) costOfStep(here map[*jsonschema.Schema]float64, st step, value any, spent float64) float64 {
	if spent > maxApplications {
		return spent
	}
	spent += stepCost * float64(len(here))
	down := map[*jsonschema.Schema]float64{}
	for s, times := range here {
		for _, next := range stepInto(s, st) {
			down[next] += times
		}
	}
	if len(down) == 0 {
		return spent
	}
	return g.cost(down, value, spent)
}
