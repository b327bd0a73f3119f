package contract

import (
	"errors"
	"strings"

	"patchbay/shared/schema"
)

func (c *checker) checkSchemas(t *Tool) {
	c.require("inputSchema", `{"type": "object", "properties": {…}, "additionalProperties": false}`)
	if input := c.root.at("inputSchema"); input != nil && c.isSchema(input, "/inputSchema") {
		c.checkInputSchema(input)
		c.checkHeaderParams(t, input)
		_, err := t.InputSchema()
		c.checkCompiled(err, "/inputSchema")
	}
	if output := c.root.at("outputSchema"); output != nil && c.isSchema(output, "/outputSchema") {
		c.checkOutputSchema(output)
		_, err := t.OutputSchema()
		c.checkCompiled(err, "/outputSchema")
	}
}

func (c *checker) isSchema(n *node, pointer string) bool {
	if n.kind() == kindObject {
		return true
	}
	c.wrongType(n, pointer, "an object that is a JSON Schema")
	return false
}

func (c *checker) checkInputSchema(input *node) {
	if typ := input.at("type"); typ.text() != "object" {
		c.report("input-schema-type", "/inputSchema/type", `"type": "object"`,
			"arguments are an object, but their schema says type %s", describeType(typ))
	}
	if input.at("additionalProperties") == nil && input.at("unevaluatedProperties") == nil {
		c.report("additional-properties", "/inputSchema", `"additionalProperties": false, or true where any name is welcome`,
			"it is not decided whether arguments may have other names than those listed")
	}
	if properties := input.at("properties"); properties != nil {
		for _, p := range properties.members {
			at := child("/inputSchema/properties", p.key)
			if !described(p.value, input) {
				c.report("parameter-description", at, `a "description" that says what to put there, with an example`,
					"the parameter %q has no description", p.key)
			}
			c.checkNested(p.value, input, at)
		}
	}
}

// checkNested warns of properties further down that have no description.
func (c *checker) checkNested(n, root *node, pointer string) {
	for _, m := range n.members {
		at := child(pointer, m.key)
		switch m.key {
		case "properties":
			for _, p := range m.value.members {
				if !described(p.value, root) {
					c.report("property-description", child(at, p.key), `a "description"`,
						"the nested property %q has no description", p.key)
				}
				c.checkNested(p.value, root, child(at, p.key))
			}
		case "items", "additionalProperties":
			c.checkNested(m.value, root, at)
		}
	}
}

// described reports whether a property says what it is, itself or in the definition that it refers to.
func described(property, root *node) bool {
	if strings.TrimSpace(property.at("description").text()) != "" {
		return true
	}
	path, local := strings.CutPrefix(property.at("$ref").text(), "#/")
	if !local {
		return false
	}
	keys := strings.Split(path, "/")
	for i, key := range keys {
		keys[i] = strings.ReplaceAll(strings.ReplaceAll(key, "~1", "/"), "~0", "~")
	}
	return strings.TrimSpace(root.at(append(keys, "description")...).text()) != ""
}

func (c *checker) checkOutputSchema(output *node) {
	if typ := output.at("type"); typ.text() != "object" {
		c.report("output-schema-object", "/outputSchema/type", `"type": "object"`,
			"clients of revisions before 2026-07-28 take only objects as structured content, but this is type %s",
			describeType(typ))
	}
}

func (c *checker) checkHeaderParams(t *Tool, input *node) {
	params, faults := headerParams(input)
	t.HeaderParams = params
	for _, f := range faults {
		c.report(f.id, "/inputSchema"+f.pointer, f.allowed, "%s", f.message)
	}
}

func (c *checker) checkCompiled(err error, pointer string) {
	var invalid *schema.CompileError
	switch {
	case err == nil:
	case errors.As(err, &invalid):
		for _, p := range invalid.Problems {
			// Keys that come twice were reported for the whole file.
			if !c.reported("duplicate-key", pointer+p.Pointer) {
				c.reportSchema(p, pointer+p.Pointer)
			}
		}
	default:
		c.report("schema-invalid", pointer, "", "%v", err)
	}
}

// reportSchema adds a fault of a schema under the rule of its kind.
func (c *checker) reportSchema(p schema.Problem, pointer string) {
	switch p.Kind {
	case schema.KindOutside:
		c.report("schema-outside", pointer, p.Allowed, "%s", p.Message)
	case schema.KindBounds:
		c.report("schema-bounds", pointer, p.Allowed, "%s", p.Message)
	default:
		c.report("schema-invalid", pointer, p.Allowed, "%s", p.Message)
	}
}
