package tooltest

import (
	"bytes"
	"encoding"
	"encoding/json"
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"
	"time"
)

// node is what a comparison needs of one schema.
type node struct {
	raw        json.RawMessage
	types      []string
	properties map[string]json.RawMessage
	order      []string // names of properties, sorted
	required   map[string]bool
	items      json.RawMessage
	additional json.RawMessage // additionalProperties, when it is a schema
	values     []json.RawMessage
	enumerated bool
	least      float64 // the least integer that is allowed; -Inf where it is not said
	most       float64
}

func (n node) allows(name string) bool { return len(n.types) == 0 || contains(n.types, name) }

// resolve reads a schema and follows its $ref inside the document. It reports false for true, false and what cannot be
// read, about which there is nothing to compare.
func (c *comparison) resolve(path string, raw json.RawMessage) (node, bool) {
	for range 32 { // a $ref may lead to another; a circle was refused when the schema was compiled
		var reference struct {
			Ref string `json:"$ref"`
		}
		if json.Unmarshal(raw, &reference) != nil {
			return node{}, false
		}
		if reference.Ref == "" {
			return read(raw)
		}
		if raw = c.target(reference.Ref); raw == nil {
			c.report(path, "$ref %s is not found by this check; allowed: #/… inside the schema", reference.Ref)
			return node{}, false
		}
	}
	return node{}, false
}

// target finds what a JSON Pointer in a $ref names; nil when there is nothing.
func (c *comparison) target(ref string) json.RawMessage {
	pointer, ok := strings.CutPrefix(ref, "#")
	if !ok {
		return nil
	}
	at := c.root
	for part := range strings.SplitSeq(strings.TrimPrefix(pointer, "/"), "/") {
		if pointer == "" {
			break
		}
		var members map[string]json.RawMessage
		if json.Unmarshal(at, &members) != nil {
			return nil
		}
		at = members[strings.NewReplacer("~1", "/", "~0", "~").Replace(part)]
	}
	return at
}

func read(raw json.RawMessage) (node, bool) {
	var schema struct {
		Type       json.RawMessage            `json:"type"`
		Properties map[string]json.RawMessage `json:"properties"`
		Required   []string                   `json:"required"`
		Items      json.RawMessage            `json:"items"`
		Additional json.RawMessage            `json:"additionalProperties"`
		Enum       []json.RawMessage          `json:"enum"`
		Const      json.RawMessage            `json:"const"`
		Default    json.RawMessage            `json:"default"`
		Minimum    *float64                   `json:"minimum"`
		Maximum    *float64                   `json:"maximum"`
		Above      *float64                   `json:"exclusiveMinimum"`
		Below      *float64                   `json:"exclusiveMaximum"`
	}
	if json.Unmarshal(raw, &schema) != nil {
		return node{}, false
	}
	n := node{
		raw: raw, types: typesOf(schema.Type), properties: schema.Properties, required: map[string]bool{},
		order: slices.Sorted(maps.Keys(schema.Properties)), items: schema.Items, values: schema.Enum,
		enumerated: schema.Enum != nil || schema.Const != nil, least: math.Inf(-1), most: math.Inf(1),
	}
	if schema.Minimum != nil {
		n.least = *schema.Minimum
	}
	if schema.Above != nil {
		n.least = max(n.least, math.Floor(*schema.Above)+1)
	}
	if schema.Maximum != nil {
		n.most = *schema.Maximum
	}
	if schema.Below != nil {
		n.most = min(n.most, math.Ceil(*schema.Below)-1)
	}
	for _, name := range schema.Required {
		n.required[name] = true
	}
	for _, value := range []json.RawMessage{schema.Const, schema.Default} {
		if value != nil {
			n.values = append(n.values, value)
		}
	}
	if bytes.HasPrefix(schema.Additional, []byte("{")) {
		n.additional = schema.Additional
	}
	return n, true
}

// typesOf reads "type", which is a name or a list of names.
func typesOf(raw json.RawMessage) []string {
	var one string
	if json.Unmarshal(raw, &one) == nil {
		return []string{one}
	}
	var many []string
	if json.Unmarshal(raw, &many) == nil {
		return many
	}
	return nil
}

// field is one member that encoding/json reads and writes for a struct.
type field struct {
	name, goName string
	goType       reflect.Type
	optional     bool // omitempty or omitzero
	quoted       bool // ",string"
}

// fieldsOf lists the members of a struct, those of embedded structs among them.
func fieldsOf(goType reflect.Type) map[string]field {
	fields := map[string]field{}
	for _, f := range reflect.VisibleFields(goType) {
		tag, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		dashed, promoting := tag == "-" && options == "", f.Anonymous && tag == ""
		if dashed || promoting || !f.IsExported() && !f.Anonymous || hidden(goType, f) {
			continue
		}
		if tag == "" {
			tag = f.Name
		}
		list := strings.Split(options, ",")
		fields[tag] = field{
			name: tag, goName: f.Name, goType: f.Type, quoted: contains(list, "string"),
			optional: contains(list, "omitempty") || contains(list, "omitzero"),
		}
	}
	return fields
}

// hidden reports whether a field of an embedded struct is not promoted in JSON, since the struct has a name there.
func hidden(goType reflect.Type, f reflect.StructField) bool {
	for depth := 1; depth < len(f.Index); depth++ {
		tag, _, _ := strings.Cut(goType.FieldByIndex(f.Index[:depth]).Tag.Get("json"), ",")
		if tag != "" {
			return true
		}
	}
	return false
}

func sorted(fields map[string]field) []field {
	return slices.SortedFunc(maps.Values(fields), func(a, b field) int { return strings.Compare(a.name, b.name) })
}

// isOpen reports whether a type takes JSON of any form: any, and what decodes itself.
func isOpen(goType reflect.Type) bool {
	if goType == reflect.TypeFor[time.Time]() || goType == reflect.TypeFor[*time.Time]() {
		return false
	}
	return goType.Kind() == reflect.Interface ||
		implements[json.Unmarshaler](goType) || implements[json.Marshaler](goType)
}

// isText reports whether a type is a JSON string by its own methods.
func isText(goType reflect.Type) bool {
	return goType == reflect.TypeFor[time.Time]() ||
		implements[encoding.TextUnmarshaler](goType) || implements[encoding.TextMarshaler](goType)
}

func implements[T any](goType reflect.Type) bool {
	return goType.Implements(reflect.TypeFor[T]()) || reflect.PointerTo(goType).Implements(reflect.TypeFor[T]())
}

func contains(list []string, name string) bool { return slices.Contains(list, name) }
