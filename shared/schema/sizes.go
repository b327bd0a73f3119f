package schema

import (
	"fmt"
	"math/big"
	"strconv"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
)

// wordsOnSizes speaks of bounds. It names both ends of a range, whichever was passed, so that a repair does not run
// into the other one.
func (e explainer) wordsOnSizes(l leaf, shown bool) (problem, allowed string) {
	s := e.broken(l)
	switch k := l.kind.(type) {
	case *kind.Minimum, *kind.ExclusiveMinimum:
		return "is too small", numberRange(s, l.kind)
	case *kind.Maximum, *kind.ExclusiveMaximum:
		return "is too large", numberRange(s, l.kind)
	case *kind.MultipleOf:
		return "is not a multiple of " + decimal(k.Want), "multiples of " + decimal(k.Want)
	case *kind.MinLength:
		return "is too short" + counted(shown, k.Got, "character"), countRange(&k.Want, s.MaxLength, "character")
	case *kind.MaxLength:
		return "is too long" + counted(shown, k.Got, "character"), countRange(s.MinLength, &k.Want, "character")
	case *kind.MinProperties:
		return "has too few members" + counted(true, k.Got, "member"), countRange(&k.Want, s.MaxProperties, "member")
	case *kind.MaxProperties:
		return "has too many members" + counted(true, k.Got, "member"), countRange(s.MinProperties, &k.Want, "member")
	}
	return wordsOnItems(l, s)
}

func wordsOnItems(l leaf, s *jsonschema.Schema) (problem, allowed string) {
	switch k := l.kind.(type) {
	case *kind.MinItems:
		return "has too few items" + counted(true, k.Got, "item"), countRange(&k.Want, s.MaxItems, "item")
	case *kind.MaxItems:
		return "has too many items" + counted(true, k.Got, "item"), countRange(s.MinItems, &k.Want, "item")
	case *kind.AdditionalItems:
		return "has too many items", plural(k.Count, "item") + " fewer"
	case *kind.UniqueItems:
		return fmt.Sprintf("repeats an item: positions %d and %d are equal", k.Duplicates[0], k.Duplicates[1]),
			"items that all differ"
	case *kind.Contains:
		return "holds no item that fits", "at least one that is " + contained(s)
	case *kind.MinContains:
		return fmt.Sprintf("holds %d that fit", len(k.Got)), fmt.Sprintf("at least %d that are %s", k.Want, contained(s))
	case *kind.MaxContains:
		return fmt.Sprintf("holds %d that fit", len(k.Got)), fmt.Sprintf("at most %d that are %s", k.Want, contained(s))
	}
	return "is not allowed", ""
}

func contained(s *jsonschema.Schema) string {
	if s.Contains == nil {
		return "as the schema's \"contains\" describes"
	}
	if s.Contains.Description != "" {
		return oneLine(s.Contains.Description)
	}
	if text := expectation(s.Contains); text != "" {
		return text
	}
	return "as the schema's \"contains\" describes"
}

func counted(shown bool, n int, unit string) string {
	if !shown {
		return ""
	}
	return " (" + plural(n, unit) + ")"
}

func plural(n int, unit string) string {
	if n == 1 {
		return "1 " + unit
	}
	return strconv.Itoa(n) + " " + unit + "s"
}

func countRange(low, high *int, unit string) string {
	switch {
	case low != nil && high != nil && *low == *high:
		return "exactly " + plural(*low, unit)
	case low != nil && high != nil:
		return strconv.Itoa(*low) + " to " + plural(*high, unit)
	case low != nil:
		return "at least " + plural(*low, unit)
	}
	return "at most " + plural(*high, unit)
}

// numberRange names the bounds of the schema; broken is the one that was passed, for a schema that is not known.
func numberRange(s *jsonschema.Schema, broken any) string {
	low, high := lowerBound(s), upperBound(s)
	switch k := broken.(type) {
	case *kind.Minimum:
		low = bound("at least ", k.Want)
	case *kind.ExclusiveMinimum:
		low = bound("more than ", k.Want)
	case *kind.Maximum:
		high = bound("at most ", k.Want)
	case *kind.ExclusiveMaximum:
		high = bound("less than ", k.Want)
	}
	if low == "" || high == "" {
		return low + high
	}
	return low + " and " + high
}

func bound(words string, value *big.Rat) string {
	if value == nil {
		return ""
	}
	return words + decimal(value)
}

func lowerBound(s *jsonschema.Schema) string {
	if s.Minimum != nil {
		return bound("at least ", s.Minimum)
	}
	return bound("more than ", s.ExclusiveMinimum)
}

func upperBound(s *jsonschema.Schema) string {
	if s.Maximum != nil {
		return bound("at most ", s.Maximum)
	}
	return bound("less than ", s.ExclusiveMaximum)
}
