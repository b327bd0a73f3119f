package iamsim

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// condition is one key of a statement's Condition, with its operator.
type condition struct {
	operator string // without what follows
	set      string // ForAllValues, ForAnyValue or empty
	ifExists bool
	key      string // in lower case: condition keys are compared regardless of case
	values   texts
}

// comparisons are the operators that compare a value of the request with one of the policy. What negates one of them
// holds when none of the policy's values does.
var comparisons = map[string]func(want, got string) bool{
	"StringEquals":           func(want, got string) bool { return want == got },
	"StringEqualsIgnoreCase": strings.EqualFold,
	"StringLike":             func(want, got string) bool { return like(want, got, false) },
	"ArnEquals":              matchARN,
	"ArnLike":                matchARN,
	"Bool":                   strings.EqualFold,
}

// negations are the operators that hold when another does not.
var negations = map[string]string{
	"StringNotEquals":           "StringEquals",
	"StringNotEqualsIgnoreCase": "StringEqualsIgnoreCase",
	"StringNotLike":             "StringLike",
	"ArnNotEquals":              "ArnEquals",
	"ArnNotLike":                "ArnLike",
}

// matchARN compares the six parts of two ARNs one by one, as the operators on ARNs do, both of which take wildcards.
func matchARN(want, got string) bool {
	wanted, given := strings.SplitN(want, ":", 6), strings.SplitN(got, ":", 6)
	if len(wanted) != 6 || len(given) != 6 {
		return false
	}
	for i, part := range wanted {
		if !like(part, given[i], false) {
			return false
		}
	}
	return true
}

func checkConditions(raw map[string]map[string]texts) ([]condition, error) {
	var all []condition
	for _, operator := range slices.Sorted(maps.Keys(raw)) {
		for _, key := range slices.Sorted(maps.Keys(raw[operator])) {
			c := condition{key: strings.ToLower(key), values: raw[operator][key]}
			if err := c.setOperator(operator); err != nil {
				return nil, err
			}
			for _, value := range c.values {
				if strings.Contains(value, "${") {
					return nil, fmt.Errorf("the value %q of the condition key %s has a policy variable, which is not known here",
						value, key)
				}
			}
			all = append(all, c)
		}
	}
	return all, nil
}

func (c *condition) setOperator(text string) error {
	c.operator = text
	if set, rest, found := strings.Cut(text, ":"); found {
		c.set, c.operator = set, rest
	}
	c.operator, c.ifExists = strings.CutSuffix(c.operator, "IfExists")
	_, compares := comparisons[c.operator]
	_, negates := negations[c.operator]
	plain := c.operator == "Null" && !c.ifExists && c.set == ""
	if !plain && !compares && !negates || !slices.Contains([]string{"", "ForAllValues", "ForAnyValue"}, c.set) {
		return fmt.Errorf("the condition operator %q is not known here", text)
	}
	return nil
}

// holds reports whether the condition is met by a request's context, whose keys are in lower case.
func (c condition) holds(context map[string][]string) (bool, error) {
	given, exists := context[c.key]
	if c.operator == "Null" {
		return len(c.values) == 1 && strings.EqualFold(c.values[0], fmt.Sprint(!exists)), nil
	}
	if !exists && c.ifExists {
		return true, nil
	}
	switch c.set {
	case "ForAllValues": // holds for no values at all
		return !slices.ContainsFunc(given, func(value string) bool { return !c.compare(value) }), nil
	case "ForAnyValue":
		return slices.ContainsFunc(given, c.compare), nil
	}
	if len(given) > 1 {
		return false, fmt.Errorf("the condition key %s has several values; %s needs ForAllValues or ForAnyValue",
			c.key, c.operator)
	}
	if !exists || len(given) == 0 {
		_, negates := negations[c.operator]
		return negates, nil
	}
	return c.compare(given[0]), nil
}

// compare compares one value of the request with the policy's values, of which one is enough, or to a negation none.
func (c condition) compare(value string) bool {
	operator, negates := negations[c.operator]
	if !negates {
		operator = c.operator
	}
	compare := comparisons[operator]
	found := slices.ContainsFunc(c.values, func(want string) bool { return compare(want, value) })
	return found != negates
}
