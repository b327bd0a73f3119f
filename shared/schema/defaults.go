package schema

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

const (
	// maxDefaultDepth is how deep defaults may create objects inside one another.
	maxDefaultDepth = 32
	// maxDefaultBytes is how much text defaults may add to one value: an array of a million empty objects must not
	// grow without bound.
	maxDefaultBytes = 1 << 20
	// maxDefaultSteps is how often a member or item may be held against what one schema says about defaults. That takes
	// some tens of milliseconds.
	maxDefaultSteps = 2_000_000
)

// filler inserts defaults into the text of a value.
type filler struct{ root []*node }

// node is what one schema says about defaults. Schemas that say nothing, for themselves or further down, have none.
type node struct {
	schema     *jsonschema.Schema
	properties map[string]*property
	defaults   []*property // those with a default, in the order of the schema's text
	positions  [][]*node   // of prefixItems, or draft-07's items as a list
	items      []*node     // of all further items
	useful     bool
}

// property is a declared property: its default as compact JSON, nil if it has none, and what its schema says further.
type property struct {
	name  string
	value []byte
	from  string // JSON pointer of the default
	order int    // in the node's defaults, where it has one
	nodes []*node
}

// newFiller returns nil when the schema adds nothing, so that a Check need not look.
func newFiller(s *Schema, d *document) (*filler, []Problem) {
	b := fillerBuilder{schema: s, document: d, nodes: map[*jsonschema.Schema]*node{}}
	root := b.nodesOf(s.root)
	b.markUseful()
	for _, n := range b.order {
		b.prune(n)
	}
	if root = onlyUseful(root); len(root) == 0 {
		return nil, nil
	}
	return &filler{root}, b.check()
}

type fillerBuilder struct {
	schema   *Schema
	document *document
	nodes    map[*jsonschema.Schema]*node
	order    []*node
	spent    float64 // on checking defaults
}

// nodesOf are the nodes of a schema and of all that its $ref and allOf name.
func (b *fillerBuilder) nodesOf(s *jsonschema.Schema) []*node {
	if s == nil {
		return nil
	}
	var nodes []*node
	for _, schema := range closure([]*jsonschema.Schema{s}, certain) {
		nodes = append(nodes, b.node(schema))
	}
	return nodes
}

// certain are the schemas that apply to the same value whatever it is.
func certain(s *jsonschema.Schema) []*jsonschema.Schema {
	return present(append([]*jsonschema.Schema{s.Ref}, s.AllOf...))
}

func (b *fillerBuilder) node(s *jsonschema.Schema) *node {
	if n := b.nodes[s]; n != nil {
		return n
	}
	n := &node{schema: s, properties: map[string]*property{}}
	b.nodes[s] = n
	b.order = append(b.order, n)
	for name, declared := range s.Properties {
		n.properties[name] = b.property(name, declared)
	}
	n.defaults = b.defaultsOf(n)
	positions, _ := s.Items.([]*jsonschema.Schema)
	for _, item := range slices.Concat(s.PrefixItems, positions) {
		n.positions = append(n.positions, b.nodesOf(item))
	}
	for _, item := range []*jsonschema.Schema{s.Items2020, asSchema(s.Items), asSchema(s.AdditionalItems)} {
		n.items = append(n.items, b.nodesOf(item)...)
	}
	return n
}

func (b *fillerBuilder) property(name string, declared *jsonschema.Schema) *property {
	p := &property{name: name, nodes: b.nodesOf(declared)}
	for _, n := range p.nodes {
		if n.schema.Default == nil {
			continue
		}
		p.from = joinPointer(fragmentOf(n.schema.Location), "default")
		at := b.document.spans[p.from]
		var compact bytes.Buffer
		if json.Compact(&compact, b.document.raw[at.start:at.end]) == nil {
			p.value = compact.Bytes()
			break
		}
	}
	return p
}

func (b *fillerBuilder) defaultsOf(n *node) []*property {
	var list []*property
	for _, name := range sortedKeys(n.properties) {
		if n.properties[name].value != nil {
			list = append(list, n.properties[name])
		}
	}
	slices.SortStableFunc(list, func(p, q *property) int {
		return b.schema.index.offset(n.schema.Properties[p.name]) - b.schema.index.offset(n.schema.Properties[q.name])
	})
	for i, p := range list {
		p.order = i
	}
	return list
}

// markUseful marks the nodes behind which a default lies. Schemas may be recursive, so it goes on until nothing
// changes.
func (b *fillerBuilder) markUseful() {
	for changed := true; changed; {
		changed = false
		for _, n := range b.order {
			if !n.useful && n.leadsToDefault() {
				n.useful, changed = true, true
			}
		}
	}
}

func (n *node) leadsToDefault() bool {
	useful := func(nodes []*node) bool { return slices.ContainsFunc(nodes, func(n *node) bool { return n.useful }) }
	if len(n.defaults) > 0 || useful(n.items) || slices.ContainsFunc(n.positions, useful) {
		return true
	}
	for _, p := range n.properties {
		if useful(p.nodes) {
			return true
		}
	}
	return false
}

func (b *fillerBuilder) prune(n *node) {
	n.items = onlyUseful(n.items)
	for i := range n.positions {
		n.positions[i] = onlyUseful(n.positions[i])
	}
	for _, p := range n.properties {
		p.nodes = onlyUseful(p.nodes)
	}
}

func onlyUseful(nodes []*node) []*node {
	return slices.DeleteFunc(slices.Clone(nodes), func(n *node) bool { return !n.useful })
}

// check tries every default: it must not go on creating defaults without end, and its own schema must take it.
func (b *fillerBuilder) check() []Problem {
	var problems []Problem
	added, steps := 0, 0 // by all of them, so that a hostile schema cannot make this take long
	for _, n := range b.order {
		for _, p := range n.defaults {
			one := edit{added: added, steps: steps}
			value, err := one.run(p.nodes, p.value)
			if err != nil {
				return append(problems, Problem{Pointer: p.from, Message: "the default " + err.Error()})
			}
			added, steps = one.added, one.steps
			if problem := b.checkDefault(n.schema.Properties[p.name], p, value); problem != nil {
				problems = append(problems, *problem)
			}
		}
	}
	return problems
}

func (b *fillerBuilder) checkDefault(declared *jsonschema.Schema, p *property, text []byte) *Problem {
	value, faults := parse(text)
	if len(faults) > 0 {
		return &Problem{Pointer: p.from, Message: "the default " + faults[0].message}
	}
	if b.spent += b.schema.guard.cost(declared, value); b.spent > maxCost {
		return &Problem{KindBounds, p.from, "the default is too large to check, or all before it were",
			"fewer or smaller defaults"}
	}
	alone := *b.schema
	alone.root = declared
	alone.subject = "the default"
	err := alone.validateParsed(value, text)
	if err == nil {
		return nil
	}
	return &Problem{Pointer: p.from, Message: "the default is refused by its own schema: " + err.Failures[0].String()}
}

// fill returns instance with its defaults, or instance itself when it lacks none. Text that is not JSON comes back as
// it is. An error completes the sentence "the value …".
func (f *filler) fill(instance []byte) ([]byte, error) {
	e := edit{}
	return e.run(f.root, instance)
}

// edit collects what is to be inserted into one text. The texts of defaults are filled by edits of their own.
type edit struct {
	text   []byte
	at     []int // ascending
	insert [][]byte
	depth  int // of defaults inside defaults
	added  int
	steps  int
	err    error
}

func (e *edit) run(nodes []*node, text []byte) ([]byte, error) {
	if len(nodes) == 0 {
		return text, nil
	}
	e.text = text
	e.value(nodes, skipSpace(text, 0), 0)
	if e.err != nil || len(e.at) == 0 {
		return text, e.err
	}
	grown := len(text)
	for _, member := range e.insert {
		grown += len(member)
	}
	filled := make([]byte, 0, grown)
	from := 0
	for i, at := range e.at {
		filled = append(append(filled, text[from:at]...), e.insert[i]...)
		from = at
	}
	return append(filled, text[from:]...), nil
}

// value fills the value at pos and returns its end, or -1 when it cannot be read or an error has occurred.
func (e *edit) value(nodes []*node, pos, nesting int) int {
	if len(nodes) == 0 || nesting == maxNesting {
		return skipValue(e.text, pos)
	}
	switch byteAt(e.text, pos) {
	case '{':
		return e.object(nodes, pos, nesting)
	case '[':
		return e.array(nodes, pos, nesting)
	}
	return skipValue(e.text, pos)
}

func (e *edit) array(nodes []*node, pos, nesting int) int {
	end := eachItem(e.text, pos, func(i, value int) int {
		var below []*node
		for _, n := range nodes {
			if i < len(n.positions) {
				below = e.join(below, n.positions[i])
			} else {
				below = e.join(below, n.items)
			}
		}
		if !e.spend(len(nodes)) {
			return -1
		}
		return e.value(below, value, nesting+1)
	})
	return past(end)
}

// spend counts steps. It reports false, with an error set, when there were too many.
func (e *edit) spend(steps int) bool {
	if e.steps += steps; e.steps > maxDefaultSteps && e.err == nil {
		e.err = errors.New("is too large to fill in defaults; give fewer items or members")
	}
	return e.err == nil
}

// past goes over the closing brace or bracket at end.
func past(end int) int {
	if end < 0 {
		return end
	}
	return end + 1
}

func (e *edit) object(nodes []*node, pos, nesting int) int {
	seen := make([]bool, countDefaults(nodes))
	if !e.spend(len(nodes) + len(seen)) {
		return -1
	}
	empty := true
	end := eachMember(e.text, pos, func(name string, value int) int {
		empty = false
		var below []*node
		first := 0
		for _, n := range nodes {
			if p := n.properties[name]; p != nil {
				below = e.join(below, p.nodes)
				if p.value != nil {
					seen[first+p.order] = true
				}
			}
			first += len(n.defaults)
		}
		if !e.spend(len(nodes)) {
			return -1
		}
		return e.value(below, value, nesting+1)
	})
	if end < 0 {
		return end
	}
	e.addDefaults(nodes, seen, end, empty)
	if e.err != nil {
		return -1
	}
	return past(end)
}

func countDefaults(nodes []*node) int {
	n := 0
	for _, node := range nodes {
		n += len(node.defaults)
	}
	return n
}

// addDefaults inserts before the closing brace at end what was not seen. Where two schemas give a default for one
// name, the first wins.
func (e *edit) addDefaults(nodes []*node, seen []bool, end int, empty bool) {
	var done []string
	first := 0
	for _, n := range nodes {
		for i, p := range n.defaults {
			if seen[first+i] || slices.Contains(done, p.name) {
				continue
			}
			if !e.spend(len(nodes) + len(done)) {
				return
			}
			done = append(done, p.name)
			if e.add(p, nodes, end, empty && len(done) == 1); e.err != nil {
				return
			}
		}
		first += len(n.defaults)
	}
}

func (e *edit) add(p *property, nodes []*node, end int, first bool) {
	var below []*node
	for _, n := range nodes {
		if same := n.properties[p.name]; same != nil {
			below = e.join(below, same.nodes)
		}
	}
	if e.depth == maxDefaultDepth {
		e.err = fmt.Errorf("creates defaults inside defaults more than %d levels deep (at %s)",
			maxDefaultDepth, strconv.Quote(p.name))
		return
	}
	inner := edit{depth: e.depth + 1, added: e.added, steps: e.steps}
	value, err := inner.run(below, p.value)
	e.steps = inner.steps
	if err != nil {
		e.err = err
		return
	}
	e.put(p.name, value, end, first)
}

func (e *edit) put(name string, value []byte, end int, first bool) {
	var member []byte
	if !first {
		member = append(member, ',')
	}
	member = append(member, fullJSON(name)...)
	member = append(append(member, ':'), value...)
	e.added += len(member)
	if e.added > maxDefaultBytes {
		e.err = fmt.Errorf("would grow by more than %d bytes of defaults; give fewer items", maxDefaultBytes)
		return
	}
	e.at = append(e.at, end)
	e.insert = append(e.insert, member)
}

// join adds to nodes those of more that it lacks. It does not write to the slices of the schema.
func (e *edit) join(nodes, more []*node) []*node {
	if nodes == nil {
		return more
	}
	e.steps += len(nodes) * len(more)
	nodes = slices.Clip(nodes)
	for _, n := range more {
		if !slices.Contains(nodes, n) {
			nodes = append(nodes, n)
		}
	}
	return nodes
}
