package schema

import (
	"slices"
	"strings"
	"unicode"
)

// vocabulary is the names of all properties that a schema declares anywhere.
type vocabulary struct {
	names map[string]string // each by itself
	// folded holds the names without regard to case, and whether two of them differ in nothing else.
	folded map[string]bool
	mixed  bool // some do
}

func newVocabulary() *vocabulary {
	return &vocabulary{names: map[string]string{}, folded: map[string]bool{}}
}

func (v *vocabulary) add(name string) {
	if _, known := v.names[name]; known {
		return
	}
	v.names[name] = name
	_, other := v.folded[fold(name)]
	v.folded[fold(name)] = other
	v.mixed = v.mixed || other
}

// mayMistake reports that a name might be taken for a declared one by a reader that does not regard case.
func (v *vocabulary) mayMistake(name string) bool {
	if _, known := v.names[name]; known {
		return v.mixed && v.folded[fold(name)]
	}
	_, near := v.folded[fold(name)]
	return near
}

// fold makes names equal that differ only in case, as strings.EqualFold has it: also ſ and s.
func fold(name string) string { return strings.Map(foldRune, name) }

// foldRune returns the smallest of the characters that are r in another case.
func foldRune(r rune) rune {
	for {
		next := unicode.SimpleFold(r)
		if next <= r {
			return next
		}
		r = next
	}
}

// checkCase refuses members whose names differ from a declared one beside them only in case. The schema holds such a
// member for one that it does not know, and so has nothing against it where it is open; but encoding/json and others
// like it take the member for the declared one, whatever that was to be checked for.
func (s *Schema) checkCase(value any, raw []byte) *Invalid {
	c := caseCheck{walk: walk{guard: s.guard, root: s.root, inOrder: true}}
	c.visit(c.start(), value)
	if len(c.leaves) == 0 {
		return nil
	}
	return s.newExplainer(value, raw).invalid(c.leaves, c.more)
}

// caseCheck looks at the names of all members of a value.
type caseCheck struct {
	walk
	leaves []leaf
	more   int
	folded map[*state]map[string]string
}

// miscased is a name that differs from a declared one only in case.
type miscased struct{ declared string }

func (c *caseCheck) visit(st *state, value any) {
	if st == nil {
		return
	}
	switch v := value.(type) {
	case map[string]any:
		for _, name := range sortedKeys(v) {
			c.checkName(st, name)
			c.down(c.member(st, name), step{name: name}, v[name])
		}
	case []any:
		for i, item := range v {
			c.down(c.item(st, i), step{index: i, item: true}, item)
		}
	}
}

func (c *caseCheck) down(st *state, to step, value any) {
	c.path = append(c.path, to)
	c.visit(st, value)
	c.path = c.path[:len(c.path)-1]
}

func (c *caseCheck) checkName(st *state, name string) {
	declared, near := c.declaredIn(st)[fold(name)]
	if !near || slices.ContainsFunc(st.applied, func(a applied) bool { return a.schema.Properties[name] != nil }) {
		return
	}
	if len(c.leaves) == maxFailures {
		c.more++
		return
	}
	c.leaves = append(c.leaves, leaf{path: tokensOf(c.path), kind: miscased{declared}, name: name})
}

// declaredIn is the declared names of a state, by their folded form; of several the first.
func (c *caseCheck) declaredIn(st *state) map[string]string {
	if names := c.folded[st]; names != nil {
		return names
	}
	names := map[string]string{}
	for _, a := range st.applied {
		for _, name := range sortedKeys(a.schema.Properties) {
			if _, taken := names[fold(name)]; !taken {
				names[fold(name)] = name
			}
		}
	}
	if c.folded == nil {
		c.folded = map[*state]map[string]string{}
	}
	c.folded[st] = names
	return names
}
