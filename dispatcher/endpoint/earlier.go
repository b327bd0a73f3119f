package endpoint

import (
	"encoding/json"

	"patchbay/shared/jsonrpc"
)

// forEarlier returns a definition that clients of earlier revisions can read: there an outputSchema has the type
// object, and one of another type makes the official clients refuse the whole list. The tool's text says the same as
// its structured content. Every other definition is returned as it is, byte for byte. Source: schema 2025-11-25, Tool.
func forEarlier(definition json.RawMessage) json.RawMessage {
	members, err := jsonrpc.Members(definition)
	if err != nil {
		return definition
	}
	for i, m := range members {
		if m.Key == "outputSchema" && !isObjectSchema(m.Value) {
			return without(members, i)
		}
	}
	return definition
}

func isObjectSchema(schema json.RawMessage) bool {
	var root struct {
		Type any `json:"type"`
	}
	return json.Unmarshal(schema, &root) == nil && root.Type == "object"
}

// without writes the members but for one.
func without(members []jsonrpc.Member, left int) json.RawMessage {
	out := []byte{'{'}
	for i, m := range members {
		if i == left {
			continue
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		key, err := json.Marshal(m.Key)
		if err != nil {
			panic("encoding a key: " + err.Error())
		}
		out = append(append(append(out, key...), ':'), m.Value...)
	}
	return append(out, '}')
}
