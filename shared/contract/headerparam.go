package contract

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"patchbay/shared/mcp"
)

// headerAnnotation is the schema keyword by which a parameter is mirrored into an HTTP header.
const headerAnnotation = "x-mcp-header"

// HeaderParam is one parameter that clients mirror into an HTTP header.
// Source: MCP 2026-07-28, basic/transports/streamable-http#custom-headers-from-tool-parameters.
type HeaderParam struct {
	// Header is the whole header name, like Mcp-Param-Region; names are compared without regard to case.
	Header string
	// Path is the chain of property names from the arguments object to the value.
	Path []string
	// Type is string, integer or boolean.
	Type string
}

// headerFault is a violation of the rules for header parameters.
type headerFault struct{ id, pointer, message, allowed string }

// headerParams returns the header parameters of an input schema in its order, and every violation of their rules.
func headerParams(schema *node) ([]HeaderParam, []headerFault) {
	w := headerWalk{}
	w.schema(schema, "", nil, true)
	return w.params, w.faults
}

type headerWalk struct {
	params []HeaderParam
	faults []headerFault
}

// schema visits one schema. path leads to its value in the arguments; static says that it consists of properties keys
// alone, so that a client can find the value without running the schema.
func (w *headerWalk) schema(n *node, pointer string, path []string, static bool) {
	for _, m := range n.members {
		at := child(pointer, m.key)
		switch m.key {
		case headerAnnotation:
			w.annotation(n, m.value, at, path, static)
		case "properties":
			for _, p := range m.value.members {
				w.schema(p.value, child(at, p.key), append(slices.Clone(path), p.key), static)
			}
		case "$defs", "definitions", "patternProperties", "dependentSchemas", "dependencies":
			for _, p := range m.value.members {
				w.schema(p.value, child(at, p.key), nil, false)
			}
		case "default", "const", "enum", "examples":
			// Data, in which the word means nothing.
		default:
			w.subschemas(m.value, at)
		}
	}
}

// subschemas visits whatever may be a schema in the value of a keyword: an unknown keyword is no place to hide one.
func (w *headerWalk) subschemas(n *node, pointer string) {
	w.schema(n, pointer, nil, false)
	for i, element := range n.items {
		w.subschemas(element, item(pointer, i))
	}
}

func (w *headerWalk) annotation(schema, value *node, pointer string, path []string, static bool) {
	name, typ := value.text(), schema.at("type")
	switch {
	case !static || len(path) == 0:
		w.fault("header-param-place", pointer, "x-mcp-header is not on a parameter that properties alone lead to",
			"parameters, nested ones too, but none behind items, $ref, $defs, anyOf, if and the like")
		return
	case !isToken(name):
		w.fault("header-param-name", pointer, "this is "+describe(value)+", no part of a header name",
			"one or more of A-Z a-z 0-9 ! # $ % & ' * + - . ^ _ ` | ~")
		return
	case !isHeaderType(typ.text()):
		w.fault("header-param-type", pointer, "a parameter of type "+describeType(typ)+" cannot be sent in a header",
			`"type": "string", "integer" or "boolean", one of them alone`)
		return
	}
	w.checkSecret(schema, pointer, path, name)
	w.add(HeaderParam{Header: mcp.HeaderParamPrefix + name, Path: path, Type: typ.text()}, pointer)
}

func (w *headerWalk) add(param HeaderParam, pointer string) {
	for _, other := range w.params {
		if strings.EqualFold(other.Header, param.Header) {
			w.fault("header-param-duplicate", pointer, "the header "+param.Header+" already mirrors "+
				strings.Join(other.Path, "."), "a name of its own, whatever the case of its letters")
			return
		}
	}
	w.params = append(w.params, param)
}

func (w *headerWalk) checkSecret(schema *node, pointer string, path []string, name string) {
	parameter := path[len(path)-1]
	hidden := schema.at("writeOnly").isTrue() || schema.at("format").text() == "password"
	if !hidden && !LooksSecret(parameter) && !LooksSecret(name) {
		return
	}
	w.fault("header-param-secret", pointer, "the parameter "+parameter+" looks like a secret, and headers are logged "+
		"on their way", "the parameter without x-mcp-header")
}

func (w *headerWalk) fault(id, pointer, message, allowed string) {
	w.faults = append(w.faults, headerFault{id, pointer, message, allowed})
}

func isHeaderType(t string) bool { return t == "string" || t == "integer" || t == "boolean" }

// describeType shows the value of a schema's "type".
func describeType(t *node) string {
	if t == nil {
		return "any"
	}
	var b bytes.Buffer
	// Compacting valid JSON cannot fail.
	_ = json.Compact(&b, t.raw)
	return b.String()
}

// isToken reports whether s is a token: 1*tchar (RFC 9110, section 5.6.2).
func isToken(s string) bool {
	for i := range len(s) {
		if !isAlphanumeric(s[i]) && !strings.ContainsRune("!#$%&'*+-.^_`|~", rune(s[i])) {
			return false
		}
	}
	return s != ""
}

func isAlphanumeric(c byte) bool {
	return 'a' <= lower(c) && lower(c) <= 'z' || '0' <= c && c <= '9'
}
