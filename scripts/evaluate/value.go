package evaluate

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

// readValue reads what JSON can say too: objects as map[string]any, lists as []any, numbers as json.Number, and null as
// the value null, since nil is what is not there.
func (r *reader) readValue(node *yaml.Node) any {
	switch node.Kind {
	case yaml.MappingNode:
		object := map[string]any{}
		r.eachMember(node, func(key string, value *yaml.Node) { object[key] = r.readValue(value) })
		return object
	case yaml.SequenceNode:
		list := []any{}
		for _, element := range node.Content {
			list = append(list, r.readValue(element))
		}
		return list
	case yaml.ScalarNode:
		return r.readScalar(node)
	}
	r.fault(node, "aliases are not read; write the value out")
	return nil
}

func (r *reader) readScalar(node *yaml.Node) any {
	switch node.Tag {
	case "!!str", "!!timestamp": // JSON has no times, so an unquoted one is its text
		r.checkPlaceholders(node)
		return node.Value
	case "!!null":
		return null
	case "!!bool":
		return strings.EqualFold(node.Value, "true")
	case "!!int", "!!float":
		number := strings.TrimPrefix(node.Value, "+")
		if !json.Valid([]byte(number)) {
			r.fault(node, "%q is no number of JSON; allowed: digits as in 12, 0.5 or 1e6, or a text in quotes", node.Value)
		}
		return json.Number(number)
	}
	r.fault(node, "the tag %s is not read; allowed are texts, numbers, true, false and null", node.Tag)
	return nil
}

// placeholder is $(name) or its escape. Names of times have a span behind them.
var placeholder = regexp.MustCompile(`\$\$\(|\$\(([^()]*)\)`)

// Placeholders that every step has.
const (
	placeholderRun = "run"
	placeholderNow = "now"
)

// values are what placeholders stand for.
type values map[string]any

// lookup finds the value of a placeholder.
func (v values) lookup(name string) (any, error) {
	if span, found := strings.CutPrefix(name, placeholderNow); found && span != "" {
		if now, isTime := v[placeholderNow].(string); isTime && strings.ContainsAny(span[:1], "+-") {
			return shift(now, span)
		}
	}
	value, known := v[name]
	if !known {
		return nil, fmt.Errorf("$(%s) has no value", name)
	}
	return value, nil
}

func shift(now, span string) (string, error) {
	by, err := time.ParseDuration(span)
	if err != nil {
		return "", fmt.Errorf("$(now%s): %q is no span of time; allowed: as in +48h or -90m", span, span)
	}
	at, err := time.Parse(time.RFC3339, now)
	if err != nil {
		return "", fmt.Errorf("reading the time %s: %w", now, err)
	}
	return at.Add(by).Format(time.RFC3339), nil
}

// fill replaces the placeholders in all texts of a value.
func (v values) fill(value any) (any, error) {
	switch value := value.(type) {
	case string:
		return v.fillText(value)
	case map[string]any:
		filled := make(map[string]any, len(value))
		for key, member := range value {
			var err error
			if filled[key], err = v.fill(member); err != nil {
				return nil, err
			}
		}
		return filled, nil
	case []any:
		filled := make([]any, len(value))
		for i, element := range value {
			var err error
			if filled[i], err = v.fill(element); err != nil {
				return nil, err
			}
		}
		return filled, nil
	}
	return value, nil
}

// fillText keeps the type of a value that is the whole text.
func (v values) fillText(text string) (any, error) {
	if found := placeholder.FindStringSubmatch(text); found != nil && found[0] == text && found[0] != "$$(" {
		return v.lookup(found[1])
	}
	var failed error
	filled := placeholder.ReplaceAllStringFunc(text, func(found string) string {
		if found == "$$(" {
			return "$("
		}
		value, err := v.lookup(found[2 : len(found)-1])
		if err != nil {
			failed = err
			return ""
		}
		return plainText(value)
	})
	return filled, failed
}

// plainText is a value as a part of a text.
func plainText(value any) string {
	if text, ok := value.(string); ok {
		return text
	}
	return asJSON(value)
}

// asJSON is a value for people.
func asJSON(value any) string {
	var text strings.Builder
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return fmt.Sprint(value)
	}
	return strings.TrimSuffix(text.String(), "\n")
}
