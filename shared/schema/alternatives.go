package schema

import (
	"fmt"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6/kind"
)

// branch is one alternative of anyOf or oneOf and why it does not fit.
type branch struct {
	number int
	leaves []leaf
	more   int // leaves beyond those
}

// alternatives says in a usable way why no alternative fits. All reasons of all of them would bury the one that
// counts, so it looks, in this order, for a plain choice of values and types, for a member that tells the
// alternatives apart, for a choice of names, and at last takes the alternative that is nearest.
func (e explainer) alternatives(at leaf) []leaf {
	branches := make([]branch, len(at.causes))
	for i, cause := range at.causes {
		leaves, more := e.leaves(cause)
		branches[i] = branch{i + 1, leaves, more}
	}
	at.causes = nil
	fitting := slices.DeleteFunc(slices.Clone(branches), func(b branch) bool { return b.missesKind(at) })
	if len(fitting) == 0 {
		return e.plainChoice(at, branches)
	}
	if l, found := discriminator(at, fitting); found {
		return []leaf{l}
	}
	if l, found := choiceOfNames(at, fitting); found {
		return []leaf{l}
	}
	return e.nearestBranch(at, branches, fitting)
}

// missesKind reports that the value as a whole has the wrong type or is none of the values wanted.
func (b branch) missesKind(at leaf) bool {
	return slices.ContainsFunc(b.leaves, func(l leaf) bool {
		if len(l.path) != len(at.path) {
			return false
		}
		switch l.kind.(type) {
		case *kind.Type, *kind.Const, *kind.Enum, oneOfAll:
			return true
		}
		return false
	})
}

// plainChoice merges what the alternatives want of the value as a whole.
func (e explainer) plainChoice(at leaf, branches []branch) []leaf {
	var choice oneOfAll
	for _, b := range branches {
		for _, l := range b.leaves {
			if len(l.path) == len(at.path) {
				choice.wants = append(choice.wants, l)
			}
		}
	}
	at.kind = choice
	return []leaf{at}
}

// wanted lists the values and types that a leaf asks for, each once.
func (e explainer) wanted(l leaf) []string {
	switch k := l.kind.(type) {
	case *kind.Type:
		return e.typesWanted(l, k.Want)
	case *kind.Const:
		return []string{fullJSON(k.Want)}
	case *kind.Enum:
		return jsonTexts(k.Want)
	case oneOfAll:
		var all []string
		for _, want := range k.wants {
			all = append(all, e.wanted(want)...)
		}
		return withoutRepeats(all)
	}
	return nil
}

// typesWanted names the type, with the title of the alternative, so that two kinds of object can be told apart.
func (e explainer) typesWanted(l leaf, types []string) []string {
	text := "any " + strings.Join(types, " or ")
	if len(types) == 1 && types[0] == "null" {
		text = "null"
	}
	if entry := e.entry(l.location); entry != nil && entry.schema.Title != "" {
		text += " (" + entry.schema.Title + ")"
	}
	return []string{text}
}

// discriminator finds the member whose constant differs between all alternatives, and none of them fits: then that
// member is what is wrong.
func discriminator(at leaf, branches []branch) (leaf, bool) {
	for _, first := range branches[0].leaves {
		if len(first.path) != len(at.path)+1 {
			continue
		}
		var choice oneOfAll
		for _, b := range branches {
			want, found := b.valuesWantedAt(first.path)
			if !found {
				choice.wants = nil
				break
			}
			choice.wants = append(choice.wants, want)
		}
		if choice.wants != nil {
			merged := first
			merged.kind = choice
			return merged, true
		}
	}
	return leaf{}, false
}

// valuesWantedAt finds the leaf that lists the values for a place.
func (b branch) valuesWantedAt(path []string) (leaf, bool) {
	for _, l := range b.leaves {
		if !slices.Equal(l.path, path) {
			continue
		}
		switch l.kind.(type) {
		case *kind.Const, *kind.Enum:
			return l, true
		}
	}
	return leaf{}, false
}

// choiceOfNames is the idiom anyOf: [{required: [a]}, {required: [b]}].
func choiceOfNames(at leaf, branches []branch) (leaf, bool) {
	if len(branches) < 2 {
		return leaf{}, false
	}
	for _, b := range branches {
		for _, l := range b.leaves {
			if _, absent := l.kind.(missing); !absent || len(l.path) != len(at.path) {
				return leaf{}, false
			}
		}
	}
	at.kind = needsOneOf{branches}
	return at, true
}

// needsOneOf is a choice of sets of names of which one must be given.
type needsOneOf struct{ branches []branch }

func (n needsOneOf) sets() []string {
	sets := make([]string, len(n.branches))
	for i, b := range n.branches {
		names := make([]string, len(b.leaves))
		for j, l := range b.leaves {
			names[j] = fullJSON(l.name)
		}
		slices.Sort(names)
		sets[i] = strings.Join(names, " with ")
	}
	return withoutRepeats(sets)
}

// nearestBranch takes the alternative whose discriminating member fits, and of those the one with the fewest failures.
func (e explainer) nearestBranch(at leaf, all, fitting []branch) []leaf {
	best := slices.MinFunc(fitting, func(a, b branch) int {
		if order := a.wrongConstants(at) - b.wrongConstants(at); order != 0 {
			return order
		}
		return len(a.leaves) + a.more - len(b.leaves) - b.more
	})
	if len(all) == 1 {
		return best.leaves
	}
	note := fmt.Sprintf("by alternative %d of %d%s, the nearest", best.number, len(all), e.titleOf(at, best.number))
	for i := range best.leaves {
		if best.leaves[i].note == "" {
			best.leaves[i].note = note
		}
	}
	return best.leaves
}

func (b branch) wrongConstants(at leaf) int {
	n := 0
	for _, l := range b.leaves {
		switch l.kind.(type) {
		case *kind.Const, *kind.Enum:
			if len(l.path) == len(at.path)+1 {
				n++
			}
		}
	}
	return n
}

func (e explainer) titleOf(at leaf, number int) string {
	entry := e.entry(at.location)
	if entry == nil {
		return ""
	}
	list := entry.schema.AnyOf
	if _, one := at.kind.(*kind.OneOf); one {
		list = entry.schema.OneOf
	}
	if number > len(list) {
		return ""
	}
	s := list[number-1]
	for s.Title == "" && s.Ref != nil {
		s = s.Ref
	}
	if s.Title == "" {
		return ""
	}
	return fmt.Sprintf(" (%s)", s.Title)
}

func withoutRepeats(list []string) []string {
	seen := make(map[string]bool, len(list))
	var unique []string
	for _, text := range list {
		if !seen[text] {
			seen[text] = true
			unique = append(unique, text)
		}
	}
	return unique
}
