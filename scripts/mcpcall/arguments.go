package mcpcall

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"patchbay/shared/nearest"
)

// Argument is one argument as somebody writes it in a command: NAME=VALUE.
type Argument struct{ Name, Value string }

// ParseArgument reads NAME=VALUE.
func ParseArgument(text string) (Argument, error) {
	name, value, found := strings.Cut(text, "=")
	if !found || name == "" {
		return Argument{}, fmt.Errorf("%q is no argument; allowed: NAME=VALUE, as in location=Oslo", text)
	}
	return Argument{name, value}, nil
}

// parameters is what is read of an input schema.
type parameters struct {
	Properties           map[string]json.RawMessage `json:"properties"`
	AdditionalProperties json.RawMessage            `json:"additionalProperties"`
}

func parametersOf(tool *mcp.Tool) (parameters, error) {
	var schema parameters
	text, err := json.Marshal(tool.InputSchema)
	if err != nil {
		return schema, fmt.Errorf("encoding the schema of %s: %w", tool.Name, err)
	}
	if err := json.Unmarshal(text, &schema); err != nil {
		return schema, fmt.Errorf("decoding the schema of %s: %w", tool.Name, err)
	}
	return schema, nil
}

// Has reports whether a tool declares a parameter.
func Has(tool *mcp.Tool, parameter string) bool {
	schema, err := parametersOf(tool)
	if err != nil {
		return false
	}
	_, has := schema.Properties[parameter]
	return has
}

// written is how a value of a type may look in a command.
var written = map[string]string{
	"array": `'["a","b"]'`, "boolean": "true", "integer": "5", "null": "null", "number": "2.5", "object": `'{"a":1}'`,
}

// Arguments adds arguments to an object, with the types that the tool's schema has for them: what may be a number, a
// boolean, a list or an object is read as JSON, all else is text. Whether the values are right is for the server to
// say.
func Arguments(tool *mcp.Tool, object json.RawMessage, arguments []Argument) (json.RawMessage, error) {
	if len(arguments) == 0 {
		return object, nil
	}
	schema, err := parametersOf(tool)
	if err != nil {
		return nil, err
	}
	all := map[string]json.RawMessage{}
	if len(object) > 0 {
		if err := json.Unmarshal(object, &all); err != nil {
			return nil, fmt.Errorf("reading the arguments: %w", err)
		}
	}
	for _, argument := range arguments {
		if _, taken := all[argument.Name]; taken {
			return nil, fmt.Errorf("%s is given twice; write a list as JSON, as in %[1]s='[\"a\",\"b\"]'", argument.Name)
		}
		if all[argument.Name], err = schema.read(tool.Name, argument); err != nil {
			return nil, err
		}
	}
	text, err := json.Marshal(all)
	if err != nil {
		return nil, fmt.Errorf("encoding the arguments: %w", err)
	}
	return text, nil
}

func (p parameters) read(tool string, argument Argument) (json.RawMessage, error) {
	property, known := p.Properties[argument.Name]
	if !known && string(p.AdditionalProperties) == "false" {
		names := slices.Sorted(maps.Keys(p.Properties))
		if near := nearest.Name(argument.Name, names); near != "" {
			return nil, fmt.Errorf("%s has no parameter %s; did you mean %s?", tool, argument.Name, near)
		}
		if len(names) == 0 {
			return nil, fmt.Errorf("%s has no parameter %s: it takes no arguments", tool, argument.Name)
		}
		return nil, fmt.Errorf("%s has no parameter %s; allowed: %s", tool, argument.Name, strings.Join(names, ", "))
	}
	text, err := json.Marshal(argument.Value)
	if err != nil {
		return nil, fmt.Errorf("encoding %s: %w", argument.Name, err)
	}
	types := typesOf(property)
	isJSON := json.Valid([]byte(argument.Value))
	if !isJSON && len(types) > 0 && !slices.Contains(types, "string") {
		return nil, fmt.Errorf("%[1]s=%[2]s: %[1]s of %[3]s is of type %[4]s; allowed: JSON of it, as in %[1]s=%[5]s",
			argument.Name, argument.Value, tool, strings.Join(types, " or "), written[types[0]])
	}
	if isJSON && fits(types, argument.Value) {
		return json.RawMessage(argument.Value), nil
	}
	return text, nil
}

// typesOf are the types that a property's schema names; none where it names none.
func typesOf(property json.RawMessage) []string {
	var schema struct {
		Type json.RawMessage `json:"type"`
	}
	if json.Unmarshal(property, &schema) != nil {
		return nil
	}
	var one string
	if json.Unmarshal(schema.Type, &one) == nil {
		return []string{one}
	}
	var several []string
	if json.Unmarshal(schema.Type, &several) != nil {
		return nil
	}
	return several
}

// fits reports whether a value in JSON is meant as such: not where a text is a type that it may have, and it could be
// one, like the ZIP code 94105; but a list or an object is hardly meant as text.
func fits(types []string, value string) bool {
	switch first := strings.TrimSpace(value)[0]; {
	case len(types) == 0:
		return true
	case first == '[':
		return slices.Contains(types, "array") || !slices.Contains(types, "string")
	case first == '{':
		return slices.Contains(types, "object") || !slices.Contains(types, "string")
	}
	return !slices.Contains(types, "string")
}
