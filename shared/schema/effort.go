package schema

import (
	"cmp"
	"encoding/json"
	"maps"
	"math"
	"slices"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// effort is what applying one schema costs, in units, apart from the schemas that it leads to.
type effort struct {
	schema *jsonschema.Schema
	id     int // by the order of the text

	base     float64 // for every value
	number   float64 // for a number of ordinary size
	text     float64 // for each byte of a text
	matching float64 // for each byte of a text that is no longer than longest
	longest  int
	object   float64 // for every object
	member   float64 // for each of its members
	name     float64 // for each byte of their names
	item     float64 // for each item of an array
	unique   float64 // 1 when all parts of an array are to be compared
	dynamic  float64 // 1 when all schemas on the way are looked through
}

func newEffort(s *jsonschema.Schema, tracks bool) *effort {
	e := &effort{schema: s, base: 1, member: costOfLookup, longest: math.MaxInt}
	e.addValues(s)
	e.addNumber(s)
	e.addText(s)
	e.addNames(s)
	if tracks {
		e.member += costOfTracking
		e.item += costOfTracking
	}
	if isUnique(s) {
		e.unique = 1
	}
	if s.DynamicRef != nil {
		e.dynamic = 1
	}
	return e
}

// addValues adds the comparisons of enum and const.
func (e *effort) addValues(s *jsonschema.Schema) {
	var values []any
	if s.Enum != nil {
		values = s.Enum.Values
	}
	if s.Const != nil {
		values = append(slices.Clip(values), *s.Const)
	}
	for _, value := range values {
		if number, ok := value.(json.Number); ok {
			e.number += 1 + sizeOfNumber(number.String())
			continue
		}
		e.base += costOfComparing(value)
	}
}

func costOfComparing(value any) float64 {
	cost := 0.0
	switch v := value.(type) {
	case json.Number:
		return 1 + sizeOfNumber(v.String())
	case string:
		return 0.01 + float64(len(v))/10_000
	case map[string]any:
		for name, member := range v {
			cost += costOfLookup + float64(len(name))/10_000 + costOfComparing(member)
		}
	case []any:
		for _, item := range v {
			cost += costOfComparing(item)
		}
	}
	return 0.01 + cost
}

// addNumber counts how often the library works out the exact value of a number.
func (e *effort) addNumber(s *jsonschema.Schema) {
	for _, bound := range []bool{
		s.Types != nil && slices.Contains(s.Types.ToStrings(), "integer"),
		s.Minimum != nil || s.Maximum != nil || s.ExclusiveMinimum != nil || s.ExclusiveMaximum != nil,
		s.MultipleOf != nil,
	} {
		if bound {
			e.number++
		}
	}
}

// sizeOfNumber is what working out an exact value costs.
func sizeOfNumber(text string) float64 {
	size := 1.5 + float64(len(text))/64
	if exponent, _ := scanNumber(text); exponent != "" {
		size += 1.5 // which is enough for the largest exponent
	}
	return size
}

func (e *effort) addText(s *jsonschema.Schema) {
	if s.MinLength != nil || s.MaxLength != nil {
		e.text += costOfCounting
	}
	if s.Pattern != nil {
		e.matching = costOfMatching * float64(sizeOfPattern(s.Pattern))
		if s.MaxLength != nil {
			e.longest = *s.MaxLength * 4 // in UTF-8
		}
	}
	if s.Format != nil {
		e.text += costOfReading
		if s.Format.Name == "regex" {
			e.text += costOfParsing
		}
	}
}

func (e *effort) addNames(s *jsonschema.Schema) {
	listed := len(s.Required) + len(s.DependentSchemas) + len(s.DependentRequired) + len(s.Dependencies)
	for _, names := range s.DependentRequired {
		listed += len(names)
	}
	for _, names := range s.Dependencies {
		list, _ := names.([]string)
		listed += len(list)
	}
	e.object += costOfName * float64(listed)
	for pattern := range s.PatternProperties {
		e.member += costOfLookup
		e.name += costOfMatching * float64(sizeOfPattern(pattern))
	}
}

// raise makes e the larger of both in every way.
func (e *effort) raise(other *effort) {
	e.base, e.number = max(e.base, other.base), max(e.number, other.number)
	e.text, e.matching = max(e.text, other.text), max(e.matching, other.matching)
	e.object, e.member, e.name = max(e.object, other.object), max(e.member, other.member), max(e.name, other.name)
	e.item, e.unique, e.dynamic = max(e.item, other.item), max(e.unique, other.unique), max(e.dynamic, other.dynamic)
}

// perByte bounds what applying e costs for each byte of a value and of what lies in it: a value has a byte at least.
func (e *effort) perByte() float64 {
	return e.base + e.number*sizeOfNumber("1e1") + e.text + e.matching + e.object + e.member + e.name + e.item
}

// perLevel is perByte for what grows with every level around a value.
func (e *effort) perLevel(chain float64) float64 {
	return costPerLevel*(1+e.dynamic*chain) + e.unique*costOfWeighing
}

// tally adds up how often schemas are applied.
type tally map[*effort]float64

func (t tally) add(list []applied, times float64) {
	for _, a := range list {
		t[a.effort] += a.times * times
	}
}

// list returns what was added up in the order of the schema's text.
func (t tally) list() []applied {
	list := make([]applied, 0, len(t))
	for _, e := range slices.SortedFunc(maps.Keys(t), func(a, b *effort) int { return cmp.Compare(a.id, b.id) }) {
		list = append(list, applied{e, t[e]})
	}
	return list
}
