package schema

import (
	"encoding/binary"
	"encoding/json"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
)

// replaceRules does four keywords otherwise than the library:
//   - propertyNames: the library reports the place of a bad name by a slice that it goes on writing to, so that of two
//     objects in a list the wrong one may be named;
//   - uniqueItems: the library compares items in pairs where their hashes are equal, and its hashes are easily made so;
//   - pattern: the library tries it on texts that maxLength refuses already;
//   - format "regex": the library makes programs of them, which nobody runs.
func (ix index) replaceRules() {
	for _, e := range ix.entries {
		s := e.schema
		if names := s.PropertyNames; names != nil {
			s.PropertyNames = nil
			s.Extensions = append(s.Extensions, nameRule{names})
		}
		if s.UniqueItems {
			s.UniqueItems = false
			s.Extensions = append(s.Extensions, uniqueRule{})
		}
		if p, ok := s.Pattern.(pattern); ok && s.MaxLength != nil {
			s.Pattern = shortPattern{p, *s.MaxLength}
		}
		if s.Format != nil && s.Format.Name == "regex" {
			s.Format = &jsonschema.Format{Name: "regex", Validate: onStrings(checkPattern)}
		}
	}
}

type nameRule struct{ names *jsonschema.Schema }

// Validate implements jsonschema.SchemaExt.
func (r nameRule) Validate(ctx *jsonschema.ValidatorContext, v any) {
	object, _ := v.(map[string]any)
	for name := range object {
		var wrong *jsonschema.ValidationError
		if err := r.names.Validate(name); asValidationError(err, &wrong) {
			ctx.AddErrors([]*jsonschema.ValidationError{wrong}, &kind.PropertyNames{Property: name})
		}
	}
}

func asValidationError(err error, target **jsonschema.ValidationError) bool {
	wrong, ok := err.(*jsonschema.ValidationError)
	*target = wrong
	return ok
}

// rulesOnNames are the schemas that s applies to the names of members.
func rulesOnNames(s *jsonschema.Schema) []*jsonschema.Schema {
	var list []*jsonschema.Schema
	for _, extension := range s.Extensions {
		if rule, ok := extension.(nameRule); ok {
			list = append(list, rule.names)
		}
	}
	return list
}

type uniqueRule struct{}

func isUnique(s *jsonschema.Schema) bool {
	for _, extension := range s.Extensions {
		if _, ok := extension.(uniqueRule); ok {
			return true
		}
	}
	return false
}

// Validate implements jsonschema.SchemaExt. It reports the first item that was there before.
func (uniqueRule) Validate(ctx *jsonschema.ValidatorContext, v any) {
	array, _ := v.([]any)
	if len(array) < 2 {
		return
	}
	seen := make(map[string]int, len(array))
	for i, item := range array {
		key := string(appendCanonical(nil, item))
		if first, twice := seen[key]; twice {
			ctx.AddError(&kind.UniqueItems{Duplicates: [2]int{first, i}})
			return
		}
		seen[key] = i
	}
}

// appendCanonical writes a value so that two are the same bytes if and only if they are equal.
func appendCanonical(b []byte, value any) []byte {
	switch v := value.(type) {
	case nil:
		return append(b, 'n')
	case bool:
		return strconv.AppendBool(b, v)
	case json.Number:
		return appendNumber(append(b, 'd'), v.String())
	case string:
		return appendText(append(b, 's'), v)
	case []any:
		b = binary.AppendUvarint(append(b, 'a'), uint64(len(v)))
		for _, item := range v {
			b = appendCanonical(b, item)
		}
	case map[string]any:
		b = binary.AppendUvarint(append(b, 'o'), uint64(len(v)))
		for _, name := range sortedKeys(v) {
			b = appendCanonical(appendText(b, name), v[name])
		}
	}
	return b
}

func appendText(b []byte, text string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(text))), text...)
}

// appendNumber writes a number of JSON as its digits, without zeros at either end, and the power of ten behind them.
func appendNumber(b []byte, text string) []byte {
	mantissa, _, _ := strings.Cut(strings.ToLower(text), "e")
	exponent, _ := scanNumber(text)
	power, _ := strconv.Atoi(exponent) // 0 where there is none; parse has seen to it that it is small
	mantissa, negative := strings.CutPrefix(mantissa, "-")
	whole, fraction, _ := strings.Cut(mantissa, ".")
	all := strings.TrimLeft(whole+fraction, "0")
	digits := strings.TrimRight(all, "0")
	if digits == "" {
		return appendText(b, "0")
	}
	if negative {
		digits = "-" + digits
	}
	power += len(all) - len(strings.TrimRight(all, "0")) - len(fraction)
	return binary.AppendVarint(appendText(b, digits), int64(power))
}

// shortPattern is a pattern that is not tried on a text that maxLength refuses.
type shortPattern struct {
	pattern
	longest int
}

// MatchString reports true for a text that is too long, which is one fault and not two.
func (p shortPattern) MatchString(text string) bool {
	return longerThan(text, p.longest) || p.pattern.MatchString(text)
}

func longerThan(text string, characters int) bool {
	return len(text) > characters && (len(text)/utf8.UTFMax > characters || utf8.RuneCountInString(text) > characters)
}
