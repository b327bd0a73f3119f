package evaluate

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"patchbay/shared/nearest"
	"patchbay/shared/schema"
)

// What a mapping may say of a value beside the keywords of JSON Schema.
const (
	keywordAbsent = "$absent"
	keywordHas    = "$has"
)

// keywords are those of JSON Schema 2020-12 that say something of a value, without the $ in front.
var keywords = []string{
	"type", "enum", "const", "multipleOf", "maximum", "exclusiveMaximum", "minimum", "exclusiveMinimum", "maxLength",
	"minLength", "pattern", "format", "maxItems", "minItems", "uniqueItems", "contains", "maxContains", "minContains",
	"items", "prefixItems", "maxProperties", "minProperties", "required", "properties", "patternProperties",
	"additionalProperties", "propertyNames", "allOf", "anyOf", "oneOf", "not",
}

// isMatcher reports whether a mapping says something of a value, instead of being one.
func isMatcher(object map[string]any) bool {
	for key := range object {
		if strings.HasPrefix(key, "$") {
			return true
		}
	}
	return false
}

// checkMatcher refuses what could match nothing, or would match everything by a misspelled keyword.
func checkMatcher(value any) error {
	switch value := value.(type) {
	case []any:
		for _, element := range value {
			if err := checkMatcher(element); err != nil {
				return err
			}
		}
	case map[string]any:
		if isMatcher(value) {
			return checkKeywords(value)
		}
		for _, key := range slices.Sorted(maps.Keys(value)) {
			if err := checkMatcher(value[key]); err != nil {
				return err
			}
		}
	}
	return nil
}

func checkKeywords(matcher map[string]any) error {
	for _, key := range slices.Sorted(maps.Keys(matcher)) {
		switch {
		case !strings.HasPrefix(key, "$"):
			return fmt.Errorf("%q stands beside keys with $ in front; an object that has such keys is written as { $const: … }",
				key)
		case key == keywordAbsent:
			if matcher[key] != true || len(matcher) > 1 {
				return errors.New("$absent is true, and stands alone")
			}
		case key == keywordHas:
			elements, isList := matcher[key].([]any)
			if !isList || len(elements) == 0 {
				return errors.New("$has is a list with at least one element")
			}
			if err := checkMatcher(elements); err != nil {
				return err
			}
		case !slices.Contains(keywords, key[1:]):
			if near := nearest.Name(key[1:], append([]string{"absent", "has"}, keywords...)); near != "" {
				return fmt.Errorf("%s says nothing of a value; did you mean $%s?", key, near)
			}
			return fmt.Errorf("%s says nothing of a value; allowed: %s, %s, and $ before a keyword of JSON Schema: %s", key,
				keywordAbsent, keywordHas, strings.Join(keywords, ", "))
		}
	}
	if hasPlaceholder(matcher) {
		return nil
	}
	_, err := compileMatcher(matcher)
	return err
}

func hasPlaceholder(value any) bool { return placeholder.MatchString(asJSON(value)) }

// compileMatcher makes a schema of the keywords of JSON Schema; nil when there is none.
func compileMatcher(matcher map[string]any) (*schema.Schema, error) {
	members := map[string]any{}
	for key, value := range matcher {
		if key != keywordAbsent && key != keywordHas {
			members[key[1:]] = value
		}
	}
	if len(members) == 0 {
		return nil, nil
	}
	text, err := json.Marshal(members)
	if err != nil {
		return nil, fmt.Errorf("encoding %s: %w", asJSON(matcher), err)
	}
	compiled, err := schema.Compile(text, schema.Limits{})
	if err != nil {
		return nil, fmt.Errorf("%s is no JSON Schema: %w", text, err)
	}
	return compiled.For("it"), nil
}

// mismatch is a place where what came is not what was expected.
type mismatch struct {
	// at is a JSON Pointer behind the name of what was looked at.
	at, text string
}

func (m mismatch) String() string { return m.at + ": " + m.text }

// absent is what is not there.
type absent struct{}

// match compares what came with what is wanted; wanted has no placeholders any more.
func match(at string, wanted, got any) []mismatch {
	if object, isObject := wanted.(map[string]any); isObject {
		if isMatcher(object) {
			return matchKeywords(at, object, got)
		}
		return matchObject(at, object, got)
	}
	if _, missing := got.(absent); missing {
		return []mismatch{{at, "not there, want " + asJSON(wanted)}}
	}
	if list, isList := wanted.([]any); isList {
		return matchList(at, list, got)
	}
	if !equalScalars(wanted, got) {
		return []mismatch{{at, fmt.Sprintf("%s, want %s", shown(got), shown(wanted))}}
	}
	return nil
}

func matchObject(at string, wanted map[string]any, got any) []mismatch {
	object, isObject := got.(map[string]any)
	if !isObject {
		return []mismatch{{at, fmt.Sprintf("%s, want an object", shown(got))}}
	}
	var all []mismatch
	for _, key := range slices.Sorted(maps.Keys(wanted)) {
		member, there := object[key]
		if !there {
			member = absent{}
		}
		all = append(all, match(at+"/"+escapePointer(key), wanted[key], member)...)
	}
	return all
}

func matchList(at string, wanted []any, got any) []mismatch {
	list, isList := got.([]any)
	if !isList {
		return []mismatch{{at, fmt.Sprintf("%s, want a list", shown(got))}}
	}
	if len(list) != len(wanted) {
		return []mismatch{{at, fmt.Sprintf("%d elements, want %d: %s", len(list), len(wanted), shown(got))}}
	}
	var all []mismatch
	for i := range wanted {
		all = append(all, match(at+"/"+strconv.Itoa(i), wanted[i], list[i])...)
	}
	return all
}

func matchKeywords(at string, matcher map[string]any, got any) []mismatch {
	_, missing := got.(absent)
	if matcher[keywordAbsent] == true {
		if missing {
			return nil
		}
		return []mismatch{{at, shown(got) + ", want nothing there"}}
	}
	if missing {
		return []mismatch{{at, "not there, want " + asJSON(matcher)}}
	}
	var all []mismatch
	if wanted, ok := matcher[keywordHas].([]any); ok {
		all = append(all, matchHas(at, wanted, got)...)
	}
	compiled, err := compileMatcher(matcher)
	if err != nil {
		return append(all, mismatch{at, err.Error()})
	}
	if compiled == nil {
		return all
	}
	if err := compiled.Validate(json.RawMessage(asJSON(got))); err != nil {
		all = append(all, mismatch{at, schemaFault(err, got)})
	}
	return all
}

// schemaFault is the first thing that a schema finds wrong with a value.
func schemaFault(err error, got any) string {
	var invalid *schema.Invalid
	if errors.As(err, &invalid) && len(invalid.Failures) > 0 {
		return invalid.Failures[0].String()
	}
	return shown(got) + ": " + err.Error()
}

func matchHas(at string, wanted []any, got any) []mismatch {
	list, isList := got.([]any)
	if !isList {
		return []mismatch{{at, fmt.Sprintf("%s, want a list", shown(got))}}
	}
	var all []mismatch
	for _, one := range wanted {
		if !slices.ContainsFunc(list, func(element any) bool { return len(match("", one, element)) == 0 }) {
			all = append(all, mismatch{at, fmt.Sprintf("no element matches %s: %s", asJSON(one), shown(got))})
		}
	}
	return all
}

// matchText looks for parts in a text, or matches it.
func matchText(at string, wanted any, got string) []mismatch {
	var parts []any
	switch wanted := wanted.(type) {
	case []any:
		parts = wanted
	case map[string]any:
		return match(at, wanted, got)
	default:
		parts = []any{wanted}
	}
	var all []mismatch
	for _, part := range parts {
		if text := plainText(part); !strings.Contains(got, text) {
			all = append(all, mismatch{at, fmt.Sprintf("does not have %q: %s", text, shown(got))})
		}
	}
	return all
}

func equalScalars(wanted, got any) bool {
	if number, ok := wanted.(json.Number); ok {
		other, ok := got.(json.Number)
		return ok && equalNumbers(number.String(), other.String())
	}
	if raw, ok := wanted.(json.RawMessage); ok {
		return string(raw) == "null" && got == nil
	}
	switch got.(type) {
	case map[string]any, []any, json.Number:
		return false
	}
	return wanted == got
}

// equalNumbers compares values, so that 1.0 is 1. Exponents are bounded, since a server may send any.
func equalNumbers(a, b string) bool {
	if a == b {
		return true
	}
	const bits = 256
	left, _, err := big.ParseFloat(a, 10, bits, big.ToNearestEven)
	if err != nil {
		return false
	}
	right, _, err := big.ParseFloat(b, 10, bits, big.ToNearestEven)
	return err == nil && left.Cmp(right) == 0
}

// shown is a value in a report, cut where it is long.
func shown(value any) string {
	if _, missing := value.(absent); missing {
		return "not there"
	}
	const longest = 300
	text := []rune(asJSON(value))
	if len(text) <= longest {
		return string(text)
	}
	return fmt.Sprintf("%s… (%d characters)", string(text[:longest]), len(text))
}

func escapePointer(key string) string {
	return strings.NewReplacer("~", "~0", "/", "~1").Replace(key)
}

// resolve finds what a JSON Pointer names. Source: RFC 6901.
func resolve(value any, pointer string) (any, bool) {
	if pointer == "" {
		return value, true
	}
	for _, token := range strings.Split(pointer[1:], "/") {
		token = strings.NewReplacer("~1", "/", "~0", "~").Replace(token)
		switch at := value.(type) {
		case map[string]any:
			member, there := at[token]
			if !there {
				return nil, false
			}
			value = member
		case []any:
			index, err := strconv.Atoi(token)
			if err != nil || index < 0 || index >= len(at) {
				return nil, false
			}
			value = at[index]
		default:
			return nil, false
		}
	}
	return value, true
}
