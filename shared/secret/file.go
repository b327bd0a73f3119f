package secret

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
)

// File is a Source for one machine: the path of a JSON object of names and values, {"tracker-token": "…"}. Every Get
// reads the file anew, so that an edit counts at once; a Cache in front of it delays that.
type File string

// Get returns the secret of that name from the file.
func (f File) Get(_ context.Context, name string) (Value, error) {
	values, err := f.read()
	if err != nil {
		return Value{}, err
	}
	value, ok := values[name]
	if !ok {
		return Value{}, fmt.Errorf("%w: %q is not in %s, which has %s", ErrNotFound, name, string(f), names(values))
	}
	return NewValue(value), nil
}

func (f File) read() (map[string]string, error) {
	if f == "" {
		return nil, errors.New("no secrets file is configured; set its path in PATCHBAY_SECRETS_FILE")
	}
	data, err := os.ReadFile(string(f))
	if err != nil {
		return nil, fmt.Errorf("reading secrets: %w", err)
	}
	var values map[string]string
	if err := json.Unmarshal(data, &values); err != nil || values == nil {
		// The decoder's own text quotes what it stumbled over, which may be a part of a secret.
		return nil, fmt.Errorf("%s is not a JSON object whose values are strings%s", string(f), position(err))
	}
	return values, nil
}

func position(err error) string {
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
		return fmt.Sprintf(" (at byte %d)", syntax.Offset)
	}
	if kind, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return fmt.Sprintf(" (at byte %d)", kind.Offset)
	}
	return ""
}

func names[V any](values map[string]V) string {
	if len(values) == 0 {
		return "none"
	}
	return strings.Join(slices.Sorted(maps.Keys(values)), ", ")
}
