package authorization

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"patchbay/shared/jsonrpc"
	"patchbay/shared/nearest"
)

// checkShape says where JSON does not have the form of a Config. encoding/json alone would take members in any letter
// case, twice, and null for anything.
func checkShape(data json.RawMessage) error { return checkValue(data, reflect.TypeFor[Config](), "") }

func checkValue(raw json.RawMessage, t reflect.Type, path string) error {
	raw = json.RawMessage(strings.TrimSpace(string(raw)))
	switch t.Kind() {
	case reflect.Pointer:
		return checkValue(raw, t.Elem(), path)
	case reflect.Struct, reflect.Map:
		return checkObject(raw, t, path)
	case reflect.Slice:
		return checkList(raw, t, path)
	case reflect.Int:
		if _, err := strconv.ParseInt(string(raw), 10, 32); err != nil {
			return wrongType(path, "a whole number", raw)
		}
	default:
		if raw[0] != '"' {
			return wrongType(path, "a string", raw)
		}
	}
	return nil
}

func checkObject(raw json.RawMessage, t reflect.Type, path string) error {
	if raw[0] != '{' {
		return wrongType(path, "an object", raw)
	}
	members, err := jsonrpc.Members(raw)
	if err != nil {
		return fmt.Errorf("%s: a member comes twice", place(path))
	}
	for _, member := range members {
		below, err := memberType(t, member.Key, path)
		if err != nil {
			return err
		}
		if err := checkValue(member.Value, below, join(path, member.Key)); err != nil {
			return err
		}
	}
	return nil
}

// memberType is the type that a member of an object has; an error for one that there is not.
func memberType(t reflect.Type, key, path string) (reflect.Type, error) {
	if t.Kind() == reflect.Map {
		return t.Elem(), nil
	}
	fields := map[string]reflect.Type{}
	for field := range t.Fields() {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		fields[name] = field.Type
	}
	if found, ok := fields[key]; ok {
		return found, nil
	}
	names := slices.Sorted(maps.Keys(fields))
	hint := ""
	if near := nearest.Name(key, names); near != "" {
		hint = fmt.Sprintf(" (is %q meant?)", near)
	}
	return nil, fmt.Errorf("%s: there is no member %.100q%s; allowed: %s", place(path), key, hint,
		strings.Join(names, ", "))
}

func checkList(raw json.RawMessage, t reflect.Type, path string) error {
	var items []json.RawMessage
	if raw[0] != '[' || json.Unmarshal(raw, &items) != nil {
		return wrongType(path, "a list", raw)
	}
	for i, item := range items {
		if err := checkValue(item, t.Elem(), path+"["+strconv.Itoa(i)+"]"); err != nil {
			return err
		}
	}
	return nil
}

func wrongType(path, want string, raw json.RawMessage) error {
	return fmt.Errorf("%s: want %s, got %.100s", place(path), want, raw)
}

// place is how errors call the value at a path.
func place(path string) string {
	if path == "" {
		return "authorization"
	}
	return "authorization." + path
}

func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}
