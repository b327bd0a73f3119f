package schema

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"strconv"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// document is a schema's text and what was found in it before it is compiled.
type document struct {
	raw       json.RawMessage
	value     any
	spans     map[string]span
	draft     *jsonschema.Draft
	limits    Limits
	schemas   []*subschema // in the order of discovery
	byPointer map[string]*subschema
	resources map[string]*resource // by URL without fragment
	elsewhere []string             // pointers to schemas that only a reference makes one
	patterns  patterns
	twice     []Problem // URLs and anchors that two schemas claim
}

// subschema is one schema inside a document, the root included.
type subschema struct {
	pointer string
	value   any
	depth   int
	base    *resource
}

// Where schemas lie inside a schema, in either dialect. Keywords of the other dialect are looked into as well: the
// library does so too, and a bound that counts too much is on the safe side.
const (
	oneSchema = iota + 1
	listOfSchemas
	mapOfSchemas
)

func placeOfSchemas(keyword string) int {
	switch keyword {
	case "not", "if", "then", "else", "items", "additionalItems", "contains", "unevaluatedItems",
		"additionalProperties", "propertyNames", "unevaluatedProperties", "contentSchema":
		return oneSchema
	case "allOf", "anyOf", "oneOf", "prefixItems":
		return listOfSchemas
	case "properties", "patternProperties", "$defs", "definitions", "dependentSchemas", "dependencies":
		return mapOfSchemas
	}
	return 0
}

// walk finds all subschemas; it returns a problem where there are too many, or where they nest too deeply.
func (d *document) walk() *Problem {
	d.byPointer = map[string]*subschema{}
	d.resources = map[string]*resource{}
	base := d.addResource(documentURL, "")
	return d.visit("", d.value, 1, base)
}

func (d *document) visit(pointer string, value any, depth int, base *resource) *Problem {
	object, isObject := value.(map[string]any)
	if _, isBool := value.(bool); !isObject && !isBool || d.byPointer[pointer] != nil {
		return nil // the dialect's own schema refuses what is neither
	}
	if depth > d.limits.MaxDepth {
		return &Problem{KindBounds, pointer, "the schema nests too deeply here",
			fmt.Sprintf("at most %d levels", d.limits.MaxDepth)}
	}
	if len(d.schemas) == d.limits.MaxSubschemas {
		return &Problem{KindBounds, pointer, "the schema holds too many subschemas",
			fmt.Sprintf("at most %d", d.limits.MaxSubschemas)}
	}
	s := &subschema{pointer, value, depth, d.enterResource(object, pointer, base)}
	d.schemas = append(d.schemas, s)
	d.byPointer[pointer] = s
	d.addAnchors(object, s)
	for _, keyword := range sortedKeys(object) {
		if problem := d.visitKeyword(s, keyword, object[keyword]); problem != nil {
			return problem
		}
	}
	return nil
}

func (d *document) visitKeyword(s *subschema, keyword string, value any) *Problem {
	place := placeOfSchemas(keyword)
	if place == 0 {
		return nil
	}
	pointer := joinPointer(s.pointer, keyword)
	if list, ok := value.([]any); ok && (place == listOfSchemas || keyword == "items") {
		for i, item := range list {
			if problem := d.visit(pointer+"/"+strconv.Itoa(i), item, s.depth+1, s.base); problem != nil {
				return problem
			}
		}
	}
	if object, ok := value.(map[string]any); ok && place == mapOfSchemas {
		for _, name := range sortedKeys(object) {
			if problem := d.visit(joinPointer(pointer, name), object[name], s.depth+1, s.base); problem != nil {
				return problem
			}
		}
	}
	if place == oneSchema {
		return d.visit(pointer, value, s.depth+1, s.base)
	}
	return nil
}

// check reports what the dialect's own schema cannot know or says badly. References may lead to places that are no
// subschemas by their keyword, so the list can grow while it is walked.
func (d *document) check() []Problem {
	var problems []Problem
	for i := 0; i < len(d.schemas); i++ {
		s := d.schemas[i]
		if object, ok := s.value.(map[string]any); ok {
			problems = append(problems, d.checkDialect(s, object)...)
			problems = append(problems, d.checkReferences(s, object)...)
			problems = append(problems, d.checkPatterns(s, object)...)
			problems = append(problems, checkCounts(s, object)...)
		}
	}
	return append(problems, d.twice...)
}

func (d *document) checkDialect(s *subschema, object map[string]any) []Problem {
	var problems []Problem
	if declared, found := object["$schema"]; found && draftNamed(declared) != d.draft {
		problems = append(problems, Problem{KindInvalid, joinPointer(s.pointer, "$schema"),
			fmt.Sprintf("a subschema declares another dialect, %s", shortJSON(declared)),
			"the root's dialect, or no $schema here"})
	}
	if _, list := object["items"].([]any); list && d.draft == jsonschema.Draft2020 {
		problems = append(problems, Problem{KindInvalid, joinPointer(s.pointer, "items"),
			"a list of schemas is draft-07", "one schema; schemas by position are called prefixItems in 2020-12"})
	}
	if _, found := object["$recursiveRef"]; found {
		problems = append(problems, Problem{KindInvalid, joinPointer(s.pointer, "$recursiveRef"),
			"$recursiveRef belongs to 2019-09, which is not supported", `"$ref": "#" or $dynamicRef`})
	}
	return problems
}

func (d *document) checkPatterns(s *subschema, object map[string]any) []Problem {
	var problems []Problem
	check := func(pointer, source string) {
		_, err := d.patterns.compile(source)
		switch {
		case errors.Is(err, errManySteps):
			problems = append(problems, Problem{KindBounds, pointer, err.Error(),
				fmt.Sprintf("at most %d in all patterns together, "+
					"where each character and class is one, as often as it is repeated", maxInstructions)})
		case err != nil:
			problems = append(problems, Problem{KindInvalid, pointer, err.Error(),
				"RE2 syntax: no lookahead, lookbehind or backreference, no repeat beyond 1,000"})
		}
	}
	if source, ok := object["pattern"].(string); ok {
		check(joinPointer(s.pointer, "pattern"), source)
	}
	if named, ok := object["patternProperties"].(map[string]any); ok {
		for _, source := range sortedKeys(named) {
			check(joinPointer(s.pointer, "patternProperties", source), source)
		}
	}
	return problems
}

// checkCounts refuses counts that the library would cut to 64 bits without a word.
func checkCounts(s *subschema, object map[string]any) []Problem {
	const most = 1<<31 - 1
	var problems []Problem
	for _, keyword := range []string{"minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties",
		"minContains", "maxContains"} {
		number, ok := object[keyword].(json.Number)
		if !ok {
			continue
		}
		if n, ok := new(big.Rat).SetString(number.String()); ok && n.Cmp(big.NewRat(most, 1)) > 0 {
			problems = append(problems, Problem{KindInvalid, joinPointer(s.pointer, keyword),
				fmt.Sprintf("%s is too large", shortJSON(number)), fmt.Sprintf("at most %d", most)})
		}
	}
	return problems
}
