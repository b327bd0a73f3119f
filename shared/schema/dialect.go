package schema

import (
	"fmt"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

const allowedDialects = `"https://json-schema.org/draft/2020-12/schema" (the default) or ` +
	`"http://json-schema.org/draft-07/schema#"`

// dialectOf reads the root's $schema. Without one the dialect is 2020-12.
// Source: MCP 2026-07-28, basic/index, "Schema Dialect".
func dialectOf(doc any) (*jsonschema.Draft, *Problem) {
	object, _ := doc.(map[string]any)
	declared, found := object["$schema"]
	if !found {
		return jsonschema.Draft2020, nil
	}
	if draft := draftNamed(declared); draft != nil {
		return draft, nil
	}
	return nil, &Problem{
		Pointer: "/$schema",
		Message: fmt.Sprintf("the dialect %s is not supported", shortJSON(declared)),
		Allowed: allowedDialects,
	}
}

// draftNamed accepts http and https, and an empty fragment, since all four spellings are in use. It returns nil for a
// dialect that is not supported.
func draftNamed(declared any) *jsonschema.Draft {
	name, _ := declared.(string)
	name = strings.TrimSuffix(name, "#")
	name, found := strings.CutPrefix(name, "http://")
	if !found {
		name, found = strings.CutPrefix(name, "https://")
	}
	switch {
	case found && name == "json-schema.org/draft/2020-12/schema":
		return jsonschema.Draft2020
	case found && name == "json-schema.org/draft-07/schema":
		return jsonschema.Draft7
	}
	return nil
}
