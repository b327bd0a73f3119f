package assembly

import (
	"fmt"
	"regexp"
	"strings"
)

// absent is what AWS::NoValue comes to: the property that holds it is left out.
type absent struct{}

// Text resolves a value that comes to a text.
func (s *Stack) Text(value any) (string, error) {
	resolved, err := s.Resolve(value)
	if err != nil {
		return "", err
	}
	text, ok := resolved.(string)
	if !ok {
		return "", fmt.Errorf("%v is no text", value)
	}
	return text, nil
}

// Resolve replaces the intrinsic functions in a value by what they come to: names where resources have one, ids made of
// the logical ones where only AWS could tell. What it does not know is an error.
func (s *Stack) Resolve(value any) (any, error) {
	switch value := value.(type) {
	case map[string]any:
		return s.resolveObject(value)
	case []any:
		list := make([]any, 0, len(value))
		for _, one := range value {
			resolved, err := s.Resolve(one)
			if err != nil {
				return nil, err
			}
			if resolved != (absent{}) {
				list = append(list, resolved)
			}
		}
		return list, nil
	}
	return value, nil
}

func (s *Stack) resolveObject(object map[string]any) (any, error) {
	for name, argument := range object {
		if len(object) == 1 && (name == "Ref" || strings.HasPrefix(name, "Fn::")) {
			resolved, err := s.call(name, argument)
			if err != nil {
				return nil, fmt.Errorf("%s in %s: %w", name, s.Name, err)
			}
			return resolved, nil
		}
	}
	resolved := make(map[string]any, len(object))
	for name, value := range object {
		v, err := s.Resolve(value)
		if err != nil {
			return nil, err
		}
		if v != (absent{}) {
			resolved[name] = v
		}
	}
	return resolved, nil
}

// call evaluates one intrinsic function.
func (s *Stack) call(function string, argument any) (any, error) {
	if function == "Ref" {
		return s.ref(fmt.Sprint(argument))
	}
	if function == "Fn::GetAtt" {
		return s.attribute(argument)
	}
	if function == "Fn::Sub" {
		return s.substitute(argument)
	}
	resolved, err := s.Resolve(argument)
	if err != nil {
		return nil, err
	}
	arguments, _ := resolved.([]any)
	if len(arguments) != 2 {
		return nil, fmt.Errorf("%v are not its two arguments", argument)
	}
	switch function {
	case "Fn::Join":
		return join(arguments)
	case "Fn::Select":
		return choose(arguments)
	case "Fn::Split":
		return split(arguments)
	}
	return nil, fmt.Errorf("the function is not known here")
}

func join(arguments []any) (any, error) {
	separator, _ := arguments[0].(string)
	list, ok := arguments[1].([]any)
	if !ok {
		return nil, fmt.Errorf("%v is no list", arguments[1])
	}
	parts := make([]string, 0, len(list))
	for _, part := range list {
		parts = append(parts, fmt.Sprint(part))
	}
	return strings.Join(parts, separator), nil
}

func choose(arguments []any) (any, error) {
	var index int
	if _, err := fmt.Sscan(fmt.Sprint(arguments[0]), &index); err != nil {
		return nil, fmt.Errorf("reading the index %v: %w", arguments[0], err)
	}
	list, ok := arguments[1].([]any)
	if !ok || index < 0 || index >= len(list) {
		return nil, fmt.Errorf("%v has no element %d", arguments[1], index)
	}
	return list[index], nil
}

func split(arguments []any) (any, error) {
	separator, _ := arguments[0].(string)
	text, ok := arguments[1].(string)
	if !ok {
		return nil, fmt.Errorf("%v is no text", arguments[1])
	}
	var list []any
	for _, part := range strings.Split(text, separator) {
		list = append(list, part)
	}
	return list, nil
}

// place is a part of a text that Fn::Sub replaces: ${Name}, ${Name.Attribute}, or ${!Literal}.
var place = regexp.MustCompile(`\$\{([^}]+)\}`)

func (s *Stack) substitute(argument any) (any, error) {
	text, ok := argument.(string)
	variables := map[string]any{}
	if list, isList := argument.([]any); isList && len(list) == 2 {
		text, ok = list[0].(string)
		variables, _ = list[1].(map[string]any)
	}
	if !ok {
		return nil, fmt.Errorf("%v is no text", argument)
	}
	var failure error
	replaced := place.ReplaceAllStringFunc(text, func(found string) string {
		value, err := s.substituted(found[2:len(found)-1], variables)
		if err != nil {
			failure = err
		}
		return value
	})
	return replaced, failure
}

func (s *Stack) substituted(name string, variables map[string]any) (string, error) {
	if literal, ok := strings.CutPrefix(name, "!"); ok {
		return "${" + literal + "}", nil
	}
	if value, ok := variables[name]; ok {
		return s.Text(value)
	}
	if strings.Contains(name, ".") {
		return s.Text(map[string]any{"Fn::GetAtt": name})
	}
	return s.Text(map[string]any{"Ref": name})
}
