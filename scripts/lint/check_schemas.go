package lint

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"patchbay/shared/contract"
	"patchbay/shared/nearest"
)

func schemaRules() []contract.Rule {
	const warning = contract.SeverityWarning
	return []contract.Rule{
		{ID: "schema-root", Severity: warning,
			What: "The root of inputSchema has none of anyOf, oneOf, allOf, not, enum, if.",
			Why: "The APIs of Anthropic and OpenAI refuse the whole request for one such tool; VS Code drops the keyword, and " +
				"the model then misses what it says.",
			Source: "Anthropic API, 2025-08-07, https://github.com/anthropics/claude-code/issues/5319; " +
				"OpenAI API, 2026-01-14, https://github.com/langchain-ai/langchainjs/issues/9804"},
		{ID: "schema-ref", Severity: warning,
			What: "inputSchema says everything where it stands, without $ref.",
			Why: "Some hosts drop $defs and pass the $ref on: the model sees a parameter without a form, and its calls are " +
				"refused.",
			Source: "GitHub Copilot CLI, 2026-03-06, https://github.com/github/copilot-cli/issues/1876; FastMCP, 2026-01-07, " +
				"https://github.com/PrefectHQ/fastmcp/pull/2808"},
		{ID: "schema-keyword", Severity: warning,
			What: "inputSchema keeps to the keywords that model APIs take.",
			Why: "OpenAI's strict mode and Gemini refuse others, and hosts drop them. The dispatcher checks them all " +
				"the same, so a model is refused for what it was not told.",
			Source: openAIStrict + "; " + geminiSchema},
		{ID: "keyword-unknown", Severity: warning,
			What: "A schema's keywords are those of JSON Schema, or begin with x-.",
			Why: `What is misspelt holds nobody to anything: with "requried" every parameter may be left out, and ` +
				`"maximun" is no bound.`,
			Source: "JSON Schema 2020-12, core, section 6.5, " +
				"https://json-schema.org/draft/2020-12/json-schema-core#section-6.5"},
		{ID: "property-name", Severity: warning,
			What: "A parameter's name has 1 to 64 of A-Z a-z 0-9 _, a letter or _ first.",
			Why: "Anthropic's API refuses the whole request for one key with other characters, Gemini also " +
				"for dots and hyphens.",
			Source: "Anthropic API, 2026-06-02, https://github.com/ComposioHQ/composio/issues/3500; " +
				geminiDeclaration},
		{ID: "array-items", Severity: warning,
			What:   `An array says what its elements are, by "items".`,
			Why:    "VS Code and Copilot refuse the tool, and with it every call of the session.",
			Source: copilotNormalizer + "; VS Code, 2025-12-19, https://github.com/microsoft/vscode/issues/284536"},
		{ID: "type-missing", Severity: warning,
			What:   "A parameter says its type.",
			Why:    "Gemini requires one, and a model has to guess whether a text, a number or an object is meant.",
			Source: geminiSchema},
		{ID: "type-list", Severity: warning,
			What: "A parameter is of one type, and null at most.",
			Why: "Gemini's schemas have one type and nullable; hosts that translate for it leave the others out, and models " +
				"send either at random.",
			Source: geminiSchema + "; " + copilotNormalizer},
		{ID: "enum-type", Severity: warning,
			What:   "The values of an enum are of the schema's type.",
			Why:    "No argument can be right where they are not; Gemini takes texts alone.",
			Source: geminiSchema},
		{ID: "format-unknown", Severity: warning,
			What:   "A format is one that JSON Schema defines.",
			Why:    "Nobody checks any other, and strict modes refuse it.",
			Source: jsonSchemaFormat},
		{ID: "required-undefined", Severity: warning,
			What:   "What is required is defined among the properties.",
			Why:    "A model is asked for something that it knows nothing of, or that is refused.",
			Source: copilotNormalizer},
		{ID: "schema-deep", Severity: warning,
			What:   "Arguments are nested at most 5 levels deep.",
			Why:    "Models put right values in wrong places; OpenAI's API has refused more than 5 levels.",
			Source: "OpenAI API, https://github.com/tidyverse/ellmer/issues/671, read 2026-11; " + openAIReasoning},
		{ID: "number-unsafe", Severity: warning,
			What:   "Numbers are within ±9007199254740991.",
			Why:    "Many clients read JSON numbers as floating point, and change larger ones.",
			Source: "RFC 8259, section 6"},
		{ID: "output-description", Severity: warning,
			What:   "Every property of a result has a description.",
			Why:    "A model passes results on; what it does not understand it explains wrongly.",
			Source: copilotTools + "; server/tools#output-schema"},
	}
}

func checkSchemas(c *Catalogue) contract.Problems {
	return each(c, func(t *contract.Tool) contract.Problems {
		nodes := schemaNodes(t.Input, "/inputSchema")
		if len(nodes) == 0 {
			return nil
		}
		found := checkRoot(t, nodes[0])
		found = append(found, checkRefs(t, nodes)...)
		found = append(found, checkDepth(t, nodes)...)
		for _, n := range nodes {
			found = append(found, checkNode(t, n)...)
		}
		for _, n := range append(nodes, schemaNodes(t.Output, "/outputSchema")...) {
			found = append(found, checkUnknown(t, n)...)
		}
		return append(found, checkOutput(t)...)
	})
}

func checkRoot(t *contract.Tool, root node) contract.Problems {
	var found contract.Problems
	for _, keyword := range []string{"allOf", "anyOf", "enum", "if", "not", "oneOf"} {
		if root.has(keyword) {
			found = append(found, advise(t, "schema-root", child(root.pointer, keyword),
				"optional parameters, and a description that says which go together; the function checks",
				fmt.Sprintf("model APIs take no %s at the root", keyword)))
		}
	}
	return found
}

// checkRefs tells the first reference alone: who resolves one resolves all.
func checkRefs(t *contract.Tool, nodes []node) contract.Problems {
	for _, n := range nodes {
		if n.has("$ref") || n.has("$dynamicRef") {
			return contract.Problems{advise(t, "schema-ref", n.pointer, "the schema itself, where it is meant",
				fmt.Sprintf("some hosts lose what %s refers to", n.text("$ref")))}
		}
	}
	return nil
}

const maxDepth = 5

// checkDepth tells the first schema that is too deep, since those below it follow.
func checkDepth(t *contract.Tool, nodes []node) contract.Problems {
	for _, n := range nodes {
		if n.depth > maxDepth {
			return contract.Problems{advise(t, "schema-deep", n.pointer, "flat parameters",
				fmt.Sprintf("the value lies %d levels deep", n.depth))}
		}
	}
	return nil
}

func checkNode(t *contract.Tool, n node) contract.Problems {
	found := checkKeywords(t, n)
	if n.top && !propertyName.MatchString(n.property) {
		found = append(found, advise(t, "property-name", n.pointer, "1 to 64 of A-Z a-z 0-9 _, a letter or _ first",
			fmt.Sprintf("model APIs do not take the name %q", n.property)))
	}
	found = append(found, checkTypes(t, n)...)
	found = append(found, checkRequired(t, n)...)
	return append(found, checkNumbers(t, n)...)
}

var propertyName = regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_]{0,63}$`)

// refused are the keywords below the root that model APIs refuse or hosts drop, and what to write instead.
var refused = map[string]string{
	"allOf":                 "one schema with the keywords of all",
	"contains":              "a description of what the array must have",
	"dependentRequired":     "a description that says which go together",
	"dependentSchemas":      "a description that says which go together",
	"dependencies":          "a description that says which go together",
	"if":                    "a description of the condition, or two tools",
	"not":                   "what is allowed",
	"oneOf":                 "anyOf, or one form",
	"patternProperties":     `a list of objects with a "name" and a "value"`,
	"prefixItems":           "an object with a name for each element",
	"propertyNames":         `a list of objects with a "name" and a "value"`,
	"unevaluatedItems":      `"items"`,
	"unevaluatedProperties": `"additionalProperties"`,
}

func checkKeywords(t *contract.Tool, n node) contract.Problems {
	var found contract.Problems
	root := n.pointer == "/inputSchema"
	for _, keyword := range slices.Sorted(maps.Keys(refused)) {
		// What is at the root is told by schema-root; without properties to check, unevaluatedProperties is harmless there.
		if !n.has(keyword) || root && slices.Contains([]string{"allOf", "if", "not", "oneOf"}, keyword) {
			continue
		}
		found = append(found, advise(t, "schema-keyword", child(n.pointer, keyword), refused[keyword],
			fmt.Sprintf("not every model API takes %s", keyword)))
	}
	if len(n.list("items")) > 0 {
		found = append(found, advise(t, "schema-keyword", child(n.pointer, "items"), refused["prefixItems"],
			"not every model API takes a list of schemas for an array's elements"))
	}
	return found
}

// known are the keywords of JSON Schema 2020-12 and draft-07. Validators take all others for notes.
var known = []string{"$anchor", "$comment", "$defs", "$dynamicAnchor", "$dynamicRef", "$id", "$ref", "$schema",
	"$vocabulary", "additionalItems", "additionalProperties", "allOf", "anyOf", "const", "contains", "contentEncoding",
	"contentMediaType", "contentSchema", "default", "definitions", "dependencies", "dependentRequired",
	"dependentSchemas", "deprecated", "description", "else", "enum", "examples", "exclusiveMaximum", "exclusiveMinimum",
	"format", "if", "items", "maxContains", "maxItems", "maxLength", "maxProperties", "maximum", "minContains",
	"minItems", "minLength", "minProperties", "minimum", "multipleOf", "not", "oneOf", "pattern", "patternProperties",
	"prefixItems", "properties", "propertyNames", "readOnly", "required", "then", "title", "type", "unevaluatedItems",
	"unevaluatedProperties", "uniqueItems", "writeOnly"}

func checkUnknown(t *contract.Tool, n node) contract.Problems {
	var found contract.Problems
	for _, keyword := range slices.Sorted(maps.Keys(n.keywords)) {
		if slices.Contains(known, keyword) || strings.HasPrefix(keyword, "x-") {
			continue
		}
		message := fmt.Sprintf("JSON Schema has no keyword %q", keyword)
		if near := nearest.Name(keyword, known); near != "" {
			message += fmt.Sprintf("; did you mean %q?", near)
		}
		found = append(found, advise(t, "keyword-unknown", child(n.pointer, keyword),
			"keywords of JSON Schema, and notes of your own that begin with x-", message))
	}
	return found
}

// typing are keywords that say what a value is without "type".
var typing = []string{"type", "enum", "const", "$ref", "$dynamicRef", "anyOf", "oneOf", "allOf", "not", "if"}

func checkTypes(t *contract.Tool, n node) contract.Problems {
	var found contract.Problems
	if n.is("array") && !n.has("items") && !n.has("prefixItems") {
		found = append(found, advise(t, "array-items", n.pointer, `"items" with the schema of an element`,
			"the array does not say what its elements are"))
	}
	if n.property != "" && !slices.ContainsFunc(typing, n.has) {
		found = append(found, advise(t, "type-missing", n.pointer, `a "type"`,
			fmt.Sprintf("%q may be of any type", n.property)))
	}
	if types := slices.DeleteFunc(n.types(), func(name string) bool { return name == "null" }); len(types) > 1 {
		found = append(found, advise(t, "type-list", child(n.pointer, "type"), "one type, or two parameters",
			fmt.Sprintf("the value may be %s", strings.Join(types, " or "))))
	}
	if value, off := n.mistypedEnum(); off {
		found = append(found, advise(t, "enum-type", child(n.pointer, "enum"), "values of the type "+n.text("type"),
			fmt.Sprintf("%v is not of the type %s", value, n.text("type"))))
	}
	if format := n.text("format"); format != "" && n.is("string") && !slices.Contains(formats, format) {
		allowed := nearest.Name(format, formats)
		if allowed == "" {
			allowed = strings.Join(formats, ", ")
		}
		found = append(found, advise(t, "format-unknown", child(n.pointer, "format"), allowed,
			fmt.Sprintf("JSON Schema has no format %q", format)))
	}
	return found
}

var formats = []string{"date-time", "date", "time", "duration", "email", "idn-email", "hostname",
	"idn-hostname", "ipv4", "ipv6", "uri", "uri-reference", "iri", "iri-reference", "uuid", "uri-template",
	"json-pointer", "relative-json-pointer", "regex", "password"}

// mistypedEnum returns the first value of an enum that is not of the schema's type.
func (n node) mistypedEnum() (any, bool) {
	for _, value := range n.list("enum") {
		if types := n.types(); len(types) > 0 && !slices.ContainsFunc(types, func(t string) bool { return isOf(value, t) }) {
			return value, true
		}
	}
	return nil, false
}

func isOf(value any, typeName string) bool {
	switch value := value.(type) {
	case nil:
		return typeName == "null"
	case bool:
		return typeName == "boolean"
	case string:
		return typeName == "string"
	case json.Number:
		return typeName == "number" || typeName == "integer" && !strings.ContainsAny(value.String(), ".eE")
	case []any:
		return typeName == "array"
	}
	return typeName == "object"
}

func checkRequired(t *contract.Tool, n node) contract.Problems {
	properties, _ := n.keywords["properties"].(map[string]any)
	if !n.is("object") || n.has("patternProperties") {
		return nil
	}
	var found contract.Problems
	for i, value := range n.list("required") {
		name, _ := value.(string)
		if _, defined := properties[name]; !defined {
			found = append(found, advise(t, "required-undefined", child(child(n.pointer, "required"), strconv.Itoa(i)),
				"a name among the properties", fmt.Sprintf("%q is required, but not defined", name)))
		}
	}
	return found
}

// maxSafe is the largest whole number that floating point keeps, with all below it.
const maxSafe = 1<<53 - 1

func checkNumbers(t *contract.Tool, n node) contract.Problems {
	var found contract.Problems
	for _, keyword := range []string{"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "default", "const"} {
		number, _ := n.keywords[keyword].(json.Number)
		value, err := number.Float64()
		if n.is("integer") && err == nil && (value > maxSafe || value < -maxSafe) {
			found = append(found, advise(t, "number-unsafe", child(n.pointer, keyword), "a smaller number, or a text",
				fmt.Sprintf("clients may change %s", number)))
		}
	}
	return found
}

// checkOutput names the properties of a result that have no description, all in one finding.
func checkOutput(t *contract.Tool) contract.Problems {
	var silent []string
	pointer := ""
	for _, n := range schemaNodes(t.Output, "/outputSchema") {
		conditional := slices.ContainsFunc([]string{"/if/", "/then/", "/else/", "/not/"}, func(part string) bool {
			return strings.Contains(n.pointer, part)
		})
		if n.property == "" || conditional || strings.TrimSpace(n.description()) != "" || n.has("$ref") {
			continue
		}
		silent = append(silent, n.property)
		if pointer == "" {
			pointer = n.pointer
		}
	}
	if len(silent) == 0 {
		return nil
	}
	return contract.Problems{advise(t, "output-description", pointer, `a "description" for each`,
		"the result's properties have no description: "+strings.Join(silent, ", "))}
}
