package tooltest

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"testing"

	"patchbay/shared/contract"
	"patchbay/shared/tool"
)

// Check fails the test where the handler's types and the schemas of its tool.json (or of the given file) do not agree:
//
//   - a property without a field, or a field without a property;
//   - a field whose Go type does not hold what its property allows, nested ones, items, enums and defaults included; so
//     the property of an int16 needs a minimum and a maximum, while for 64 bits they may be left out;
//   - an output field that may be left out (omitempty) or be null (a pointer) though its property is required or not
//     nullable.
//
// What a schema leaves open (no type, anyOf, a map, any, json.RawMessage) agrees with everything.
func Check[In, Out any](t testing.TB, _ func(context.Context, In) (Out, error), file ...string) {
	t.Helper()
	if len(file) > 1 {
		t.Fatalf("%d files given; allowed: one", len(file))
	}
	definition := load(t, append(file, "")[0])
	for _, problem := range disagreements(definition, reflect.TypeFor[In](), reflect.TypeFor[Out]()) {
		t.Error(problem)
	}
}

// disagreements lists what is wrong between the types and the schemas of a tool.
func disagreements(definition *contract.Tool, in, out reflect.Type) []string {
	problems := compare("inputSchema", definition.Input, in, false)
	switch {
	case out == reflect.TypeFor[tool.Result]() || out == reflect.TypeFor[*tool.Result]():
		return problems // it says at run time what it holds; Call checks that
	case definition.Output == nil:
		return problems
	case out.Kind() == reflect.String:
		return append(problems, "outputSchema: the handler returns a string, which is sent as text alone")
	}
	return append(problems, compare("outputSchema", definition.Output, out, true)...)
}

func compare(name string, raw json.RawMessage, goType reflect.Type, output bool) []string {
	c := &comparison{root: raw, output: output, seen: map[visit]bool{}}
	if goType.Kind() == reflect.Pointer {
		goType = goType.Elem() // a nil one is a defect, not null
	}
	c.compare(name, raw, goType)
	return c.problems
}

// comparison walks a schema and a Go type side by side.
type comparison struct {
	root     json.RawMessage
	output   bool
	seen     map[visit]bool
	problems []string
}

// visit is one pair that was compared; recursive schemas and types come back to it.
type visit struct {
	schema string
	goType reflect.Type
}

func (c *comparison) report(path, format string, args ...any) {
	c.problems = append(c.problems, path+": "+fmt.Sprintf(format, args...))
}

func (c *comparison) compare(path string, raw json.RawMessage, goType reflect.Type) {
	node, ok := c.resolve(path, raw)
	if !ok || c.seen[visit{string(node.raw), goType}] {
		return
	}
	c.seen[visit{string(node.raw), goType}] = true
	c.compareValues(path, node, goType)
	if isOpen(goType) {
		return
	}
	if goType.Kind() == reflect.Pointer {
		c.compare(path, node.raw, goType.Elem())
		return
	}
	if isText(goType) {
		c.expect(path, node, goType, "string")
		return
	}
	c.compareKind(path, node, goType)
}

func (c *comparison) compareKind(path string, node node, goType reflect.Type) {
	switch goType.Kind() {
	case reflect.String:
		c.expect(path, node, goType, "string")
	case reflect.Bool:
		c.expect(path, node, goType, "boolean")
	case reflect.Float32, reflect.Float64:
		c.expect(path, node, goType, "number", "integer")
	case reflect.Slice, reflect.Array:
		c.compareArray(path, node, goType)
	case reflect.Map:
		if c.expect(path, node, goType, "object") && node.additional != nil {
			c.compare(path+".*", node.additional, goType.Elem())
		}
	case reflect.Struct:
		if c.expect(path, node, goType, "object") {
			c.compareObject(path, node, goType)
		}
	default:
		c.compareInteger(path, node, goType)
	}
}

// compareInteger expects "integer"; an integer field would refuse the fractions of "number", and an unsigned one what
// is below zero. An output field may be narrower than its property.
func (c *comparison) compareInteger(path string, node node, goType reflect.Type) {
	if goType.Kind() < reflect.Int || goType.Kind() > reflect.Uintptr {
		c.report(path, "Go type %v has no JSON form", goType)
		return
	}
	if c.output {
		c.expect(path, node, goType, "integer", "number")
		return
	}
	if c.expect(path, node, goType, "integer") && !node.enumerated {
		c.compareRange(path, node, goType)
	}
}

// compareRange reports integers that the schema allows and the type does not hold. Where the schema of a 64-bit field
// says nothing of large numbers, there is nothing to report: a call that has one is answered with the range.
func (c *comparison) compareRange(path string, node node, goType reflect.Type) {
	bits := goType.Bits()
	least, most := -math.Ldexp(1, bits-1), math.Ldexp(1, bits-1)-1
	unsigned := goType.Kind() >= reflect.Uint
	if unsigned {
		least, most = 0, math.Ldexp(1, bits)-1
	}
	unsaid := func(bound float64) bool { return bits == 64 && math.IsInf(bound, 0) }
	switch {
	case unsigned && node.least < 0:
		c.report(path, "Go type %v holds no negative numbers, and the schema has no minimum of 0", goType)
	case node.least < least && !unsaid(node.least):
		c.report(path, "Go type %v holds nothing below %.0f, and the schema has no minimum of that or more", goType, least)
	}
	if node.most > most && !unsaid(node.most) {
		c.report(path, "Go type %v holds nothing above %.0f, and the schema has no maximum of that or less", goType, most)
	}
}

func (c *comparison) compareArray(path string, node node, goType reflect.Type) {
	if goType.Elem().Kind() == reflect.Uint8 && goType.Kind() == reflect.Slice {
		c.expect(path, node, goType, "string") // encoding/json: Base64
		return
	}
	if c.expect(path, node, goType, "array") && node.items != nil {
		c.compare(path+"[]", node.items, goType.Elem())
	}
}

func (c *comparison) compareObject(path string, node node, goType reflect.Type) {
	fields := fieldsOf(goType)
	for _, name := range node.order {
		field, ok := fields[name]
		if !ok {
			c.report(path+"."+name, "no field of %v has this JSON name", goType)
			continue
		}
		if c.output {
			c.compareAbsence(path+"."+name, node, field)
		}
		c.compareField(path+"."+name, node.properties[name], field)
	}
	for _, field := range sorted(fields) {
		if _, ok := node.properties[field.name]; !ok {
			c.report(path+"."+field.name, "field %s of %v is no property of the schema", field.goName, goType)
		}
	}
}

func (c *comparison) compareField(path string, raw json.RawMessage, field field) {
	goType := field.goType
	if field.quoted {
		goType = reflect.TypeFor[string]()
	}
	c.compare(path, raw, goType)
}

// compareAbsence checks what an output field writes when it has nothing to say.
func (c *comparison) compareAbsence(path string, parent node, field field) {
	if parent.required[field.name] {
		if field.optional {
			c.report(path, "required, but field %s is left out when it is empty", field.goName)
		}
	}
	if field.optional || field.goType.Kind() != reflect.Pointer {
		return
	}
	if node, ok := c.resolve(path, parent.properties[field.name]); ok && !node.allows("null") {
		c.report(path, "field %s is null when it is nil, which the schema does not allow; add omitempty or \"null\"",
			field.goName)
	}
}

// expect reports a node none of whose types the Go type holds, or, of an input, one of whose types it does not hold.
func (c *comparison) expect(path string, node node, goType reflect.Type, allowed ...string) bool {
	matches := 0
	for _, name := range node.types {
		switch {
		case contains(allowed, name):
			matches++
		case name == "null":
		case !c.output:
			c.report(path, "the schema allows %s, which Go type %v does not hold", name, goType)
			return false
		}
	}
	if len(node.types) > 0 && matches == 0 {
		c.report(path, "the schema allows %v, which Go type %v does not hold", node.types, goType)
		return false
	}
	return true
}

// compareValues decodes every value that the schema names into the type, as the handler will have to.
func (c *comparison) compareValues(path string, node node, goType reflect.Type) {
	for _, value := range node.values {
		if err := json.Unmarshal(value, reflect.New(goType).Interface()); err != nil {
			c.report(path, "the schema's value %s does not decode into Go type %v", value, goType)
		}
	}
}
