package lint

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// node is one schema of a tool's inputSchema or outputSchema.
type node struct {
	// pointer is the JSON Pointer of the schema in tool.json.
	pointer string
	// keywords are the schema's members; numbers are json.Number.
	keywords map[string]any
	// property is the name of the property that the schema describes; empty for any other schema.
	property string
	// top says that it is a parameter: a property of the root.
	top bool
	// depth is how many objects and arrays the value lies in; 0 for the root.
	depth int
}

// schemaNodes returns every schema of a JSON Schema, the root first and each before those within. It returns nil when
// the bytes are no object.
func schemaNodes(raw json.RawMessage, pointer string) []node {
	root, isObject := decode(raw).(map[string]any)
	if !isObject {
		return nil
	}
	w := walk{}
	w.visit(node{pointer: pointer, keywords: root})
	return w.nodes
}

// decode reads JSON with its numbers as written; nil when it is none.
func decode(raw json.RawMessage) any {
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	var value any
	if decoder.Decode(&value) != nil {
		return nil
	}
	return value
}

type walk struct{ nodes []node }

func (w *walk) visit(n node) {
	w.nodes = append(w.nodes, n)
	for _, keyword := range slices.Sorted(maps.Keys(n.keywords)) {
		value, at := n.keywords[keyword], child(n.pointer, keyword)
		switch keyword {
		case "properties":
			w.properties(n, value, at)
		case "$defs", "definitions", "patternProperties", "dependentSchemas":
			w.members(n, value, at)
		case "items", "prefixItems", "additionalProperties", "unevaluatedProperties", "additionalItems",
			"unevaluatedItems", "contains", "propertyNames":
			w.schemas(value, at, n.depth+1)
		case "allOf", "anyOf", "oneOf", "not", "if", "then", "else":
			w.schemas(value, at, n.depth)
		}
	}
}

func (w *walk) properties(n node, value any, at string) {
	properties, _ := value.(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		if keywords, ok := properties[name].(map[string]any); ok {
			top := n.depth == 0 && !strings.Contains(strings.TrimPrefix(n.pointer, "/"), "/")
			w.visit(node{pointer: child(at, name), keywords: keywords, property: name, top: top, depth: n.depth + 1})
		}
	}
}

func (w *walk) members(n node, value any, at string) {
	members, _ := value.(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(members)) {
		w.schemas(members[name], child(at, name), n.depth+1)
	}
}

// schemas visits one schema or a list of them.
func (w *walk) schemas(value any, at string, depth int) {
	switch value := value.(type) {
	case map[string]any:
		w.visit(node{pointer: at, keywords: value, depth: depth})
	case []any:
		for i, item := range value {
			w.schemas(item, child(at, strconv.Itoa(i)), depth)
		}
	}
}

// child returns the JSON Pointer of a member.
func child(pointer, key string) string {
	return pointer + "/" + strings.ReplaceAll(strings.ReplaceAll(key, "~", "~0"), "/", "~1")
}

func (n node) has(keyword string) bool {
	_, there := n.keywords[keyword]
	return there
}

// text returns a keyword's string; "" when it is none.
func (n node) text(keyword string) string {
	text, _ := n.keywords[keyword].(string)
	return text
}

func (n node) description() string { return n.text("description") }

// types returns the types that the schema allows by name; nil when it says none.
func (n node) types() []string {
	switch value := n.keywords["type"].(type) {
	case string:
		return []string{value}
	case []any:
		var types []string
		for _, item := range value {
			if name, ok := item.(string); ok {
				types = append(types, name)
			}
		}
		return types
	}
	return nil
}

func (n node) is(types ...string) bool {
	return slices.ContainsFunc(n.types(), func(t string) bool { return slices.Contains(types, t) })
}

// list returns a keyword's array; nil when it is none.
func (n node) list(keyword string) []any {
	list, _ := n.keywords[keyword].([]any)
	return list
}

// enumTexts returns those values of an enum that are strings.
func (n node) enumTexts() []string {
	var texts []string
	for _, value := range n.list("enum") {
		if text, ok := value.(string); ok {
			texts = append(texts, text)
		}
	}
	return texts
}

// parameters returns the schemas of a tool's parameters, by name.
func parameters(nodes []node) []node {
	var top []node
	for _, n := range nodes {
		if n.top {
			top = append(top, n)
		}
	}
	return top
}
