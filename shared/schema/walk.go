package schema

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"slices"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// walk goes through one value and knows at each place which schemas are applied there, and how often.
type walk struct {
	*guard
	root    *jsonschema.Schema
	inOrder bool // members by their names
	spent   float64
	onText  float64 // of that, what was spent on trying patterns and formats
	path    []step
	states  map[string]*state
}

// state is the schemas that are applied to one value. Values in like places have one state between them.
type state struct {
	applied []applied
	total   effort    // of all of them
	times   float64   // how many they are
	texts   []applied // those with a pattern
	leads   []applied // those that lead down into members or items
	names   *state    // what applies to the names of members

	// Where the members and items lead, as far as they have been met.
	members  map[string]*state
	others   *state // of members that no schema names
	items    []*state
	rest     *state // of all further items
	position int    // how many items have places of their own
	hasOther bool
	hasRest  bool
}

func (w *walk) start() *state { return w.state(tally{w.efforts[w.root]: 1}) }

// state returns the state of a value to which the given schemas are applied, with all that those apply to it; nil for
// none.
func (w *walk) state(direct tally) *state {
	if len(direct) == 0 {
		return nil
	}
	given := direct.list()
	key := keyOf(given)
	if st := w.states[key]; st != nil {
		return st
	}
	if w.states == nil {
		w.states = map[string]*state{}
	}
	st := w.newState(given)
	w.states[key] = st
	return st
}

func keyOf(list []applied) string {
	key := make([]byte, 0, 10*len(list))
	for _, a := range list {
		key = binary.AppendUvarint(key, uint64(a.id))
		key = binary.LittleEndian.AppendUint64(key, math.Float64bits(a.times))
	}
	return string(key)
}

func (w *walk) newState(given []applied) *state {
	sum := tally{}
	for _, a := range given {
		sum.add(w.closures[a.schema], a.times)
	}
	st := &state{applied: sum.list()}
	names := tally{}
	for _, a := range st.applied {
		st.add(a)
		for _, rule := range rulesOnNames(a.schema) {
			names[w.efforts[rule]] += a.times
		}
		positions, _ := a.schema.Items.([]*jsonschema.Schema)
		st.position = max(st.position, len(a.schema.PrefixItems)+len(positions))
		if len(w.below(a.schema)) > 0 {
			st.leads = append(st.leads, a)
		}
	}
	st.names = w.state(names)
	w.spent += costOfLookup * float64(len(st.applied))
	return st
}

func (st *state) add(a applied) {
	t := &st.total
	st.times += a.times
	t.base += a.times * a.base
	t.number += a.times * a.number
	t.text += a.times * a.text
	t.object += a.times * a.object
	t.member += a.times * a.member
	t.name += a.times * a.name
	t.item += a.times * a.item
	t.unique += a.times * a.unique
	t.dynamic += a.times * a.dynamic
	if a.matching > 0 {
		st.texts = append(st.texts, a)
	}
}

// visit adds what the value and all that lies in it cost. It reports false when that is too much, and leaves the path
// where it was found.
func (w *walk) visit(st *state, value any) bool {
	depth := float64(len(w.path))
	w.spent += st.total.base + depth*costPerLevel*(st.times+st.total.dynamic*w.chain)
	switch v := value.(type) {
	case json.Number:
		w.spent += st.total.number * sizeOfNumber(v.String())
	case string:
		w.spendOnText(st.costOfText(len(v)))
	case map[string]any:
		w.spent += st.total.object + st.total.member*float64(len(v))
		return w.within() && w.visitMembers(st, v)
	case []any:
		w.spent += st.total.item * float64(len(v))
		if st.total.unique > 0 && w.within() {
			w.weigh(v, st.total.unique)
		}
		return w.within() && w.visitItems(st, v)
	}
	return w.within()
}

// within reports that it is not yet too much. The comparison is false for NaN.
func (w *walk) within() bool { return w.spent <= maxCost }

func (w *walk) spendOnText(cost float64) {
	w.spent += cost
	w.onText += cost
}

func (st *state) costOfText(length int) float64 {
	cost := st.total.text * float64(length)
	for _, a := range st.texts {
		cost += a.times * a.matching * float64(min(length, a.longest))
	}
	return cost
}

// weigh adds what it costs to write down a value and all that lies in it, to compare it with others.
func (w *walk) weigh(value any, times float64) {
	w.spent += times * costOfWeighing
	switch v := value.(type) {
	case json.Number:
		w.spent += times * costOfReading * float64(len(v))
	case string:
		w.spent += times * costOfReading * float64(len(v))
	case map[string]any:
		for name, member := range v {
			if w.spent += times * costOfReading * float64(len(name)); !w.within() {
				return
			}
			w.weigh(member, times)
		}
	case []any:
		for _, item := range v {
			if !w.within() {
				return
			}
			w.weigh(item, times)
		}
	}
}

func (w *walk) visitMembers(st *state, object map[string]any) bool {
	if len(st.leads) == 0 && st.names == nil {
		return true
	}
	if w.inOrder {
		for _, name := range sortedKeys(object) {
			if !w.visitMember(st, name, object[name]) {
				return false
			}
		}
		return true
	}
	for name, member := range object {
		if !w.visitMember(st, name, member) {
			return false
		}
	}
	return true
}

func (w *walk) visitMember(st *state, name string, member any) bool {
	w.path = append(w.path, step{name: name})
	if w.spendOnText(st.total.name * float64(len(name))); !w.within() {
		return false
	}
	if st.names != nil && !w.visit(st.names, name) {
		return false
	}
	if next := w.member(st, name); next != nil && !w.visit(next, member) {
		return false
	}
	w.path = w.path[:len(w.path)-1]
	return true
}

func (w *walk) visitItems(st *state, array []any) bool {
	if len(st.leads) == 0 {
		return true
	}
	for i, item := range array {
		next := w.item(st, i)
		if next == nil && i >= st.position {
			return true
		}
		w.path = append(w.path, step{index: i, item: true})
		if next != nil && !w.visit(next, item) {
			return false
		}
		w.path = w.path[:len(w.path)-1]
	}
	return true
}

// member is the state of the member of that name.
func (w *walk) member(st *state, name string) *state {
	if next, known := st.members[name]; known {
		return next
	}
	if w.speaksOf(st, name) {
		next := w.step(st, step{name: name})
		if st.members == nil {
			st.members = map[string]*state{}
		}
		st.members[name] = next
		return next
	}
	if !st.hasOther {
		st.others, st.hasOther = w.step(st, step{name: name}), true
	}
	return st.others
}

func (w *walk) speaksOf(st *state, name string) bool {
	w.spent += costOfLookup * float64(len(st.leads))
	return slices.ContainsFunc(st.leads, func(a applied) bool {
		return a.schema.Properties[name] != nil || len(a.schema.PatternProperties) > 0
	})
}

func (w *walk) item(st *state, i int) *state {
	if i >= st.position {
		if !st.hasRest {
			st.rest, st.hasRest = w.step(st, step{index: i, item: true}), true
		}
		return st.rest
	}
	for len(st.items) <= i {
		st.items = append(st.items, w.step(st, step{index: len(st.items), item: true}))
	}
	return st.items[i]
}

func (w *walk) step(st *state, to step) *state {
	w.spent += costOfLookup * float64(len(st.leads))
	down := tally{}
	for _, a := range st.leads {
		for _, next := range stepInto(a.schema, to) {
			down[w.efforts[next]] += a.times
		}
	}
	return w.state(down)
}

// excess is where a value is too large, in words.
type excess struct {
	path             []step
	problem, allowed string
}

// manyParts is from where on a value is too large by its length; below, its schemas are what multiplies.
const manyParts = 100

// blame names what is too large: the text or name at which the walk stopped, or the longest of the values around it.
func (w *walk) blame(value any) *excess {
	var longest any
	at, st := 0, w.start()
	for i := 0; ; i++ {
		if longest == nil || partsOf(value) > partsOf(longest) {
			longest, at = value, i
		}
		if i == len(w.path) || st == nil {
			break
		}
		if name := w.path[i].name; st.costOfName(name) > maxCost/2 {
			return w.blameText("name", len(name), st.costOfName(name))
		}
		st, value = w.follow(st, w.path[i]), childAt(value, w.path[i])
	}
	if text, ok := value.(string); ok && st != nil && st.costOfText(len(text)) > maxCost/2 {
		return w.blameText("text", len(text), st.costOfText(len(text)))
	}
	if w.onText > maxCost/2 {
		return &excess{problem: "is too large to check: its texts together are more than their patterns and formats can " +
			"be tried on", allowed: "shorter texts"}
	}
	if partsOf(longest) < manyParts {
		return &excess{problem: "meets too many alternatives or values of the schema to be checked; give a smaller value"}
	}
	return w.blameParts(at, longest)
}

func (w *walk) follow(st *state, to step) *state {
	if to.item {
		return w.item(st, to.index)
	}
	return w.member(st, to.name)
}

func (st *state) costOfName(name string) float64 {
	cost := st.total.name * float64(len(name))
	if st.names != nil {
		cost += st.names.costOfText(len(name))
	}
	return cost
}

func (w *walk) blameText(what string, length int, cost float64) *excess {
	return &excess{w.path,
		fmt.Sprintf("is too large to check: its %s of %d bytes is more than its pattern or format can be tried on",
			what, length),
		fmt.Sprintf("at most about %d bytes", int(maxCost/cost*float64(length)))}
}

func (w *walk) blameParts(at int, longest any) *excess {
	unit, allowed := "member", "fewer members"
	if _, array := longest.([]any); array {
		unit, allowed = "item", "fewer items"
		if at < len(w.path) && w.path[at].index > 0 {
			allowed = "at most about " + plural(w.path[at].index, unit)
		}
	}
	return &excess{w.path[:at], fmt.Sprintf("is too large to check: its %s meet more schemas than can be applied",
		plural(partsOf(longest), unit)), allowed}
}

func partsOf(value any) int {
	switch v := value.(type) {
	case map[string]any:
		return len(v)
	case []any:
		return len(v)
	}
	return 0
}

func childAt(value any, to step) any {
	switch v := value.(type) {
	case map[string]any:
		return v[to.name]
	case []any:
		return v[to.index]
	}
	return nil
}
