package resource

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"patchbay/shared/nearest"
)

// properties are those of the resource, in either of two forms.
type properties struct {
	// catalogue names a file in S3 with the contracts; nil in the other form.
	catalogue *location
	// functions are the qualified ARNs by tool, beside a catalogue.
	functions map[string]string
	// tools are written out, in the form without a catalogue.
	tools []inlineTool
}

// location is where a file is in S3.
type location struct{ bucket, key string }

func (l location) String() string { return "s3://" + l.bucket + "/" + l.key }

// inlineTool is a tool whose contract is in the template.
type inlineTool struct{ contract, function string }

// CloudFormation adds the first two to what the template says.
var propertyNames = []string{"ServiceToken", "ServiceTimeout", "Catalogue", "Functions", "Tools"}

// parseProperties reads the properties. The error lists everything that is wrong with them.
func parseProperties(given map[string]any) (*properties, error) {
	p := parser{}
	p.onlyKnown("", given, propertyNames)
	_, hasCatalogue := given["Catalogue"]
	_, hasTools := given["Tools"]
	switch {
	case hasCatalogue && hasTools:
		p.fault("the properties have both Catalogue and Tools; allowed: Catalogue with Functions, or Tools alone")
	case hasCatalogue:
		return p.catalogue(given)
	case hasTools:
		return p.inline(given)
	default:
		p.fault("the properties have neither Catalogue nor Tools; allowed: Catalogue with Functions, or Tools alone")
	}
	return nil, p.err()
}

// parser collects faults.
type parser struct{ faults []string }

func (p *parser) fault(format string, args ...any) {
	p.faults = append(p.faults, fmt.Sprintf(format, args...))
}

func (p *parser) err() error {
	if len(p.faults) == 0 {
		return nil
	}
	return errors.New(strings.Join(p.faults, "\n"))
}

// onlyKnown refuses names that nobody reads: a misspelt one would be a wish that nobody fulfils.
func (p *parser) onlyKnown(at string, object map[string]any, known []string) {
	for _, name := range slices.Sorted(maps.Keys(object)) {
		if slices.Contains(known, name) {
			continue
		}
		if near := nearest.Name(name, known); near != "" {
			p.fault("property %s%s is unknown; did you mean %s?", at, name, near)
			continue
		}
		p.fault("property %s%s is unknown; allowed: %s", at, name, strings.Join(known, ", "))
	}
}

func (p *parser) catalogue(given map[string]any) (*properties, error) {
	result := &properties{catalogue: &location{}, functions: map[string]string{}}
	if object := p.object(given, "", "Catalogue"); object != nil {
		p.onlyKnown("Catalogue.", object, []string{"Bucket", "Key"})
		result.catalogue.bucket = p.text(object, "Catalogue.", "Bucket")
		result.catalogue.key = p.text(object, "Catalogue.", "Key")
	}
	object := p.object(given, "", "Functions")
	for _, tool := range slices.Sorted(maps.Keys(object)) {
		result.functions[tool] = p.text(object, "Functions.", tool)
	}
	return result, p.err()
}

func (p *parser) inline(given map[string]any) (*properties, error) {
	result := &properties{}
	if _, ok := given["Functions"]; ok {
		p.fault("property Functions is only for Catalogue; beside Tools each tool names its own Function")
	}
	list, ok := given["Tools"].([]any)
	if !ok {
		p.fault("property Tools is %s; it must be a list of {Contract, Function}", kind(given["Tools"]))
	}
	for i, element := range list {
		at := fmt.Sprintf("Tools[%d]", i)
		object, ok := element.(map[string]any)
		if !ok {
			p.fault("property %s is %s; it must be an object {Contract, Function}", at, kind(element))
			continue
		}
		p.onlyKnown(at+".", object, []string{"Contract", "Function"})
		tool := inlineTool{contract: p.contract(object, at+".")}
		if _, ok := object["Function"]; ok { // A contract that names an existing function needs none.
			tool.function = p.text(object, at+".", "Function")
		}
		result.tools = append(result.tools, tool)
	}
	return result, p.err()
}

// contract reads a contract's text. An object instead is what YAML makes easy to write, and CloudFormation would have
// made strings of all numbers and booleans in it.
func (p *parser) contract(object map[string]any, at string) string {
	if _, ok := object["Contract"].(map[string]any); ok {
		p.fault("property %sContract is an object; it must be text, the whole of a tool.json, since CloudFormation makes "+
			"strings of the numbers and booleans of objects; in YAML begin it with a bar, |", at)
		return ""
	}
	return p.text(object, at, "Contract")
}

func (p *parser) object(parent map[string]any, at, name string) map[string]any {
	value, ok := parent[name]
	if !ok {
		p.fault("property %s%s is missing", at, name)
		return nil
	}
	object, ok := value.(map[string]any)
	if !ok {
		p.fault("property %s%s is %s; it must be an object", at, name, kind(value))
	}
	return object
}

func (p *parser) text(parent map[string]any, at, name string) string {
	value, ok := parent[name]
	if !ok {
		p.fault("property %s%s is missing", at, name)
		return ""
	}
	text, ok := value.(string)
	if !ok || text == "" {
		p.fault("property %s%s is %s; it must be text", at, name, kind(value))
	}
	return text
}

// kind says what a value is, for messages.
func kind(value any) string {
	switch v := value.(type) {
	case nil:
		return "null"
	case string:
		if v == "" {
			return "empty"
		}
		return "text"
	case []any:
		return "a list"
	case map[string]any:
		return "an object"
	case bool:
		return "a boolean"
	case float64, json.Number:
		return "a number"
	}
	return fmt.Sprintf("a %T", value)
}

// longestPublisher is the length of a logical id that is told in full.
const longestPublisher = 40

// publisherName is a resource within its stack, in the catalogue's HEAD, which has little room: a long logical id is
// cut and told apart by its digest.
func publisherName(logicalID string) string {
	if len(logicalID) <= longestPublisher {
		return logicalID
	}
	digest := sha256.Sum256([]byte(logicalID))
	return logicalID[:longestPublisher] + "-" + hex.EncodeToString(digest[:8])
}
