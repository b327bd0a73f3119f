package tool

import (
	"bytes"
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"

	"patchbay/shared/jsonrpc"
	"patchbay/shared/mcp"
)

// shape is what has to be known of a Go type so that encoding/json reads arguments into it as their schema means them.
// By itself it reads otherwise in two ways: a member's name also stands for a field that it differs from in case, so
// that {"Query": …} would pass a schema that knows only "query" and still be read; and 20.0, which is an integer to a
// schema, is none for an int. A nil shape has neither: texts, booleans, any, and what decodes itself.
type shape struct {
	goType reflect.Type
	fields map[string]*shape // of a struct, by their names in JSON
	inner  *shape            // of the values of a map, the items of a slice or array
}

// shapeOf returns the shape of a type. Known are those that it is part of, since types may be recursive.
func shapeOf(goType reflect.Type, known map[reflect.Type]*shape) *shape {
	for goType.Kind() == reflect.Pointer && !decodesItself(goType) {
		goType = goType.Elem()
	}
	if decodesItself(goType) {
		return nil
	}
	if s, found := known[goType]; found {
		return s
	}
	s := &shape{goType: goType}
	switch kind := goType.Kind(); {
	case kind == reflect.Struct:
		known[goType] = s
		s.fields = map[string]*shape{}
		s.addFields(goType, known, map[reflect.Type]bool{})
	case kind == reflect.Map || kind == reflect.Slice || kind == reflect.Array:
		known[goType] = s
		s.inner = shapeOf(goType.Elem(), known)
	case !isInteger(kind) && kind != reflect.Float32 && kind != reflect.Float64:
		return nil
	}
	return s
}

func isInteger(kind reflect.Kind) bool { return kind >= reflect.Int && kind <= reflect.Uintptr }

func decodesItself(goType reflect.Type) bool {
	for _, t := range []reflect.Type{goType, reflect.PointerTo(goType)} {
		if t.Implements(reflect.TypeFor[json.Unmarshaler]()) || t.Implements(reflect.TypeFor[encoding.TextUnmarshaler]()) {
			return true
		}
	}
	return false
}

// addFields adds the fields of a struct, and of the structs embedded in it those whose names it does not have itself.
func (s *shape) addFields(goType reflect.Type, known map[reflect.Type]*shape, within map[reflect.Type]bool) {
	within[goType] = true
	var embedded []reflect.Type
	for i := range goType.NumField() {
		field := goType.Field(i)
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		fieldType := field.Type
		if fieldType.Kind() == reflect.Pointer {
			fieldType = fieldType.Elem()
		}
		switch {
		case name == "-" && options == "":
		case field.Anonymous && name == "" && fieldType.Kind() == reflect.Struct:
			if !within[fieldType] {
				embedded = append(embedded, fieldType)
			}
		case field.IsExported():
			if name == "" {
				name = field.Name
			}
			s.addField(name, options, field.Type, known)
		}
	}
	for _, inner := range embedded {
		s.addFields(inner, known, within)
	}
}

func (s *shape) addField(name, options string, goType reflect.Type, known map[reflect.Type]*shape) {
	if _, taken := s.fields[name]; taken {
		return
	}
	s.fields[name] = nil
	for option := range strings.SplitSeq(options, ",") {
		if option == "string" { // a number in quotation marks
			return
		}
	}
	s.fields[name] = shapeOf(goType, known)
}

// read decodes arguments into a value of the shape's type. The error is a *misfit for a number that the type does not
// hold.
func (s *shape) read(arguments json.RawMessage, into any) error {
	exact, err := s.exact(arguments)
	if err != nil {
		return err
	}
	return json.Unmarshal(exact, into)
}

// exact returns the JSON with only those members whose names are exactly those of fields, and with integers written as
// such; the same slice when nothing is to be done. What is no JSON of the shape is left to encoding/json to refuse.
func (s *shape) exact(raw json.RawMessage) (json.RawMessage, error) {
	if s == nil {
		return raw, nil
	}
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 {
		return raw, nil
	}
	switch kind := s.goType.Kind(); {
	case raw[0] == '{' && (kind == reflect.Struct || s.inner != nil):
		return s.exactObject(raw)
	case raw[0] == '[' && s.inner != nil:
		return s.exactArray(raw)
	case raw[0] != '-' && (raw[0] < '0' || raw[0] > '9'):
		return raw, nil
	case isInteger(kind):
		return s.exactInteger(raw)
	case kind == reflect.Float32 || kind == reflect.Float64:
		return raw, s.checkFloat(raw)
	}
	return raw, nil
}

func (s *shape) exactObject(raw json.RawMessage) (json.RawMessage, error) {
	members, err := jsonrpc.Members(raw)
	if err != nil {
		return nil, err
	}
	changed := false
	object := []byte{'{'}
	for _, member := range members {
		inner, known := s.fields[member.Key]
		if s.fields == nil {
			inner, known = s.inner, true
		}
		if !known {
			changed = true
			continue
		}
		value, err := inner.exact(member.Value)
		if err != nil {
			return nil, within(err, "."+member.Key)
		}
		changed = changed || len(value) != len(member.Value) || !bytes.Equal(value, member.Value)
		name, err := encode(member.Key)
		if err != nil {
			return nil, err
		}
		object = append(append(append(append(object, name...), ':'), value...), ',')
	}
	if !changed {
		return raw, nil
	}
	return append(bytes.TrimSuffix(object, []byte(",")), '}'), nil
}

func (s *shape) exactArray(raw json.RawMessage) (json.RawMessage, error) {
	var items []json.RawMessage
	if err := json.Unmarshal(raw, &items); err != nil {
		return nil, err
	}
	changed := false
	array := []byte{'['}
	for i, item := range items {
		value, err := s.inner.exact(item)
		if err != nil {
			return nil, within(err, fmt.Sprintf("[%d]", i))
		}
		changed = changed || !bytes.Equal(value, item)
		array = append(append(array, value...), ',')
	}
	if !changed {
		return raw, nil
	}
	return append(bytes.TrimSuffix(array, []byte(",")), ']'), nil
}

// exactInteger writes 20.0 and 2e1 as 20. A fraction is left for encoding/json to refuse: a schema that allows it does
// not agree with the type.
func (s *shape) exactInteger(raw json.RawMessage) (json.RawMessage, error) {
	text, ok := jsonrpc.CanonicalInteger(string(raw))
	if !ok && !isBeyond64Bits(string(raw)) {
		return raw, nil
	}
	if !ok {
		text = string(raw) // has hundreds of digits
	}
	bits := s.goType.Bits()
	if reflect.Zero(s.goType).CanInt() {
		if _, err := strconv.ParseInt(text, 10, bits); err != nil {
			least := int64(math.MinInt64) >> (64 - bits)
			return nil, misfitOf(raw, fmt.Sprintf("an integer from %d to %d", least, -(least+1)))
		}
		return json.RawMessage(text), nil
	}
	if _, err := strconv.ParseUint(text, 10, bits); err != nil {
		return nil, misfitOf(raw, fmt.Sprintf("an integer from 0 to %d", uint64(math.MaxUint64)>>(64-bits)))
	}
	return json.RawMessage(text), nil
}

func isBeyond64Bits(text string) bool {
	number, _ := strconv.ParseFloat(text, 64) // infinite beyond its own range
	return math.Abs(number) >= 1<<63
}

func (s *shape) checkFloat(raw json.RawMessage) error {
	_, err := strconv.ParseFloat(string(raw), s.goType.Bits())
	if !errors.Is(err, strconv.ErrRange) {
		return nil
	}
	most := math.MaxFloat64
	if s.goType.Bits() == 32 {
		most = math.MaxFloat32
	}
	return misfitOf(raw, fmt.Sprintf("a number from %g to %g", -most, most))
}

// misfit is a number that its schema allows and its Go type does not hold.
type misfit struct{ path, number, allowed string }

func misfitOf(raw json.RawMessage, allowed string) *misfit {
	const shown = 40
	number := string(raw)
	if len(number) > shown {
		number = number[:shown] + "…"
	}
	return &misfit{number: number, allowed: allowed}
}

// within says where in a value an error lies, if it is a misfit.
func within(err error, step string) error {
	if m, ok := errors.AsType[*misfit](err); ok {
		return &misfit{step + m.path, m.number, m.allowed}
	}
	return err
}

// Error is a text that a model can act on.
func (m *misfit) Error() string {
	place := strings.TrimPrefix(m.path, ".")
	if place == "" {
		place = "arguments"
	}
	return fmt.Sprintf("invalid arguments: %s: %s is out of range; allowed: %s", place, m.number, m.allowed)
}

// result is the misfit as a tool error.
func (m *misfit) result() (json.RawMessage, error) {
	wire, err := wireOf(Result{Content: []mcp.Content{Text(m.Error())}, IsError: true})
	if err != nil {
		return nil, err
	}
	return encode(wire)
}
