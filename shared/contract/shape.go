package contract

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"patchbay/shared/nearest"
)

// The shape of a file is the shape of the Go type that it is decoded into: checkShape walks both together, so that a
// field is declared once. encoding/json alone would stop at the first fault, take keys in any letter case, take null
// for anything and drop what it does not know.

// choice is a string type with a closed list of values.
type choice interface{ values() []string }

// checkShape reports where n does not have the form of t: unknown keys, wrong types, values outside a closed list.
func (c *checker) checkShape(n *node, t reflect.Type, pointer string) {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t == reflect.TypeFor[json.RawMessage]() {
		return
	}
	if want := kindOf(t); n.kind() != want {
		c.wrongType(n, pointer, strings.Replace(string(want), "a number", "a whole number", 1))
		return
	}
	switch t.Kind() {
	case reflect.Struct:
		c.checkMembers(n, t, pointer)
	case reflect.Map:
		for _, m := range n.members {
			c.checkShape(m.value, t.Elem(), child(pointer, m.key))
		}
	case reflect.Slice:
		for i, element := range n.items {
			c.checkShape(element, t.Elem(), item(pointer, i))
		}
	case reflect.Int:
		c.checkInteger(n, pointer)
	case reflect.String:
		c.checkString(n, t, pointer)
	}
}

// kindOf is the JSON type that a Go type is written as.
func kindOf(t reflect.Type) kind {
	switch t.Kind() {
	case reflect.Struct, reflect.Map:
		return kindObject
	case reflect.Slice:
		return kindArray
	case reflect.Bool:
		return kindBoolean
	case reflect.Int:
		return kindNumber
	}
	return kindString
}

func (c *checker) checkMembers(n *node, t reflect.Type, pointer string) {
	fields := jsonFields(t)
	known := slices.Sorted(maps.Keys(fields))
	for _, m := range n.members {
		if field, ok := fields[m.key]; ok {
			c.checkShape(m.value, field, child(pointer, m.key))
			continue
		}
		c.unknownField(child(pointer, m.key), m.key, known)
	}
}

func (c *checker) unknownField(pointer, key string, known []string) {
	if near := nearest.Name(key, known); near != "" {
		c.report("unknown-field", pointer, quoteList(known), "there is no field %q here; %q is near", key, near)
		return
	}
	c.report("unknown-field", pointer, quoteList(known), "there is no field %q here", key)
}

// jsonFields maps the JSON names of a struct's fields, embedded ones included, to their types.
func jsonFields(t reflect.Type) map[string]reflect.Type {
	fields := map[string]reflect.Type{}
	for field := range t.Fields() {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if field.Anonymous && name == "" {
			maps.Copy(fields, jsonFields(field.Type))
			continue
		}
		fields[name] = field.Type
	}
	return fields
}

func (c *checker) checkInteger(n *node, pointer string) {
	if _, err := strconv.ParseInt(string(n.raw), 10, 32); err != nil {
		c.wrongType(n, pointer, "a whole number, written without fraction or exponent")
	}
}

func (c *checker) checkString(n *node, t reflect.Type, pointer string) {
	list, ok := reflect.Zero(t).Interface().(choice)
	if !ok || slices.Contains(list.values(), n.text()) {
		return
	}
	c.report("wrong-value", pointer, quoteList(list.values()), "%q is not a value of this field%s",
		n.text(), near(n.text(), list.values()))
	c.broken[pointer] = true
}

func near(word string, known []string) string {
	if found := nearest.Name(word, known); found != "" {
		return ", " + strconv.Quote(found) + " is near"
	}
	return ""
}

func (c *checker) wrongType(n *node, pointer, want string) {
	c.report("wrong-type", pointer, want, "this is %s", describe(n))
	c.broken[pointer] = true
}

// describe says what a value is; of short ones also which.
func describe(n *node) string {
	const short = 40
	switch n.kind() {
	case kindNumber, kindBoolean, kindString:
		if len(n.raw) <= short {
			return string(n.kind()) + ", " + string(n.raw)
		}
	}
	return string(n.kind())
}

func quoteList(words []string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = strconv.Quote(w)
	}
	return strings.Join(quoted, ", ")
}
