package smokecheck

import (
	"encoding/json"
	"fmt"
)

// choose returns the tool to call and its arguments. Whatever is asked for, a tool that does not say that it only reads
// is never called.
func (r *run) choose(name string, arguments json.RawMessage) (listed, json.RawMessage, error) {
	if len(r.tools) == 0 {
		return listed{}, nil, &skip{"no tools are listed"}
	}
	for _, tool := range r.tools {
		if name != "" && tool.Name != name {
			continue
		}
		if !tool.readOnly() {
			if name != "" {
				return listed{}, nil, fmt.Errorf("%s does not say that it only reads (readOnlyHint), so it is not called", name)
			}
			continue
		}
		if len(arguments) > 0 {
			return tool, arguments, nil
		}
		made, ok := makeArguments(tool.schema)
		if ok {
			return tool, made, nil
		}
		if name != "" {
			return listed{}, nil, fmt.Errorf("the schema of %s gives no arguments; name some with --arguments", name)
		}
	}
	if name != "" {
		return listed{}, nil, fmt.Errorf("%s is not listed", name)
	}
	return listed{}, nil, &skip{"no tool that only reads has arguments that its schema gives; name some with --tool and " +
		"--arguments"}
}

// property is what a schema says of a value, as far as a value can be taken from it.
type property struct {
	Const    json.RawMessage            `json:"const"`
	Default  json.RawMessage            `json:"default"`
	Examples []json.RawMessage          `json:"examples"`
	Enum     []json.RawMessage          `json:"enum"`
	Props    map[string]json.RawMessage `json:"properties"`
	Required []string                   `json:"required"`
}

// makeArguments makes arguments from what a schema gives for all that it requires; ok is false where it gives nothing.
func makeArguments(schema json.RawMessage) (arguments json.RawMessage, ok bool) {
	var root property
	if json.Unmarshal(schema, &root) != nil {
		return nil, false
	}
	values := map[string]json.RawMessage{}
	for _, name := range root.Required {
		value, ok := value(root.Props[name])
		if !ok {
			return nil, false
		}
		values[name] = value
	}
	made, err := json.Marshal(values)
	return made, err == nil
}

// value is one that a schema itself gives: an example first, since its author meant it to be sent.
func value(schema json.RawMessage) (json.RawMessage, bool) {
	var p property
	if len(schema) == 0 || json.Unmarshal(schema, &p) != nil {
		return nil, false
	}
	switch {
	case len(p.Examples) > 0:
		return p.Examples[0], true
	case p.Const != nil:
		return p.Const, true
	case p.Default != nil:
		return p.Default, true
	case len(p.Enum) > 0:
		return p.Enum[0], true
	case p.Props != nil:
		return makeArguments(schema)
	}
	return nil, false
}
