// Package schema compiles the JSON Schemas of tools within bounds, fills in defaults, and says what is wrong with a
// value in words that a model can act on.
//
// The dialect is JSON Schema 2020-12, or draft-07 where $schema declares it; any other is refused by name. Source:
// MCP 2026-07-28, basic/index, "JSON Schema Usage". Nothing is ever loaded from a network or a disk: a reference must
// stay inside its own document. Numbers are exact, whatever their size, and 1.0 is an integer.
//
// # Defaults
//
// [Schema.Check] adds an absent property that has a default. A default is looked for in the property's schema and,
// behind it, in what its $ref and allOf name; the first one found counts. Objects are reached through properties,
// items, prefixItems, $ref and allOf. An absent object is created only if it has a default of its own (which may be
// {}), and its properties' defaults are then filled in as well. What the caller sent is kept byte for byte: text is
// inserted, and nothing is encoded again.
//
// # Deviations
//
// These are not done, or are done otherwise than the specification says:
//   - No default is taken from anyOf, oneOf, if/then/else, not, $dynamicRef, dependentSchemas, patternProperties or
//     additionalProperties, where it could depend on the value.
//   - A default that its own schema refuses is a fault of the schema; the specification only advises against it.
//   - format is asserted in both dialects: date-time, date, time, duration, email, hostname, ipv4, ipv6, uri,
//     uri-reference, iri, iri-reference (both as URIs that may hold any letter), uri-template, uuid, json-pointer,
//     relative-json-pointer, regex, and semver and period. Any other format is an annotation.
//   - contentEncoding, contentMediaType and contentSchema are annotations.
//   - Patterns run on RE2, in linear time: lookahead, lookbehind and backreferences are refused at compile time, as is
//     a counted repeat beyond 1,000. What RE2 spells otherwise (\u0041, \cJ, \s, the dot) is translated, but \S inside
//     brackets stays ASCII.
//   - One value may meet no more than 1,000 schemas through references and alternatives, and 64 in a row.
//   - $recursiveRef (2019-09), custom vocabularies and $schema inside a subschema that names another dialect are
//     refused. So is a reference that leads back to itself without going down into the value.
//   - Numbers with more than 1,000 characters or an exponent beyond ±330 are refused, and texts of more than 100,000
//     values. So is any value whose check would take too many steps, which are counted beforehand: schemas applied to
//     parts of it, bytes of text tried on the instructions of patterns. A check takes some tenths of a second at most.
//   - A pattern is not tried on a text that maxLength refuses. All patterns of a schema together may take 100,000
//     instructions.
//   - [Schema.Check] refuses a member whose name differs only in case from that of a property declared beside it.
//   - Text that is not UTF-8 is refused.
package schema

import (
	"encoding/json"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Schema is a compiled schema. It is immutable and safe for concurrent use. Compile makes one.
type Schema struct {
	root    *jsonschema.Schema
	index   index
	guard   *guard
	filler  *filler
	subject string
}

// For returns the same schema with another name for the value as a whole in its messages, for example "result".
// Compile names it "arguments".
func (s *Schema) For(subject string) *Schema {
	renamed := *s
	renamed.subject = subject
	return &renamed
}

// Check fills in the defaults that instance lacks and validates the outcome, which it returns. When nothing was added
// that is the same slice. Beside what the schema says it refuses a member whose name differs only in case from that of
// a declared property, since the program behind it may take one for the other. The error is an *Invalid, also for text
// that is not JSON, and then no value is returned.
func (s *Schema) Check(instance json.RawMessage) (json.RawMessage, error) {
	filled := instance
	if s.filler != nil {
		var err error
		if filled, err = s.filler.fill(instance); err != nil {
			return nil, s.refuse(err.Error())
		}
	}
	value, mistakable, invalid := s.parse(filled)
	if invalid == nil {
		invalid = s.validateParsed(value, filled)
	}
	if invalid == nil && mistakable {
		invalid = s.checkCase(value, filled)
	}
	if invalid != nil {
		return nil, invalid
	}
	return filled, nil
}

// Validate checks instance as it stands, without defaults and by nothing but the schema. The error is an *Invalid, also
// for text that is not JSON.
func (s *Schema) Validate(instance json.RawMessage) error {
	value, _, invalid := s.parse(instance)
	if invalid == nil {
		invalid = s.validateParsed(value, instance)
	}
	if invalid != nil {
		return invalid
	}
	return nil
}

func (s *Schema) parse(instance json.RawMessage) (value any, mistakable bool, invalid *Invalid) {
	p := parser{data: instance, known: s.index.names}
	value = p.document()
	if len(p.faults) > 0 {
		return nil, false, s.refuseFaults(p.faults)
	}
	return value, p.mistakable, nil
}

// validateParsed validates a value, which raw is the text of.
func (s *Schema) validateParsed(value any, raw []byte) *Invalid {
	if too := s.guard.check(s.root, value, len(raw)); too != nil {
		failure := Failure{Path: readablePath(s.subject, too.path), Problem: too.problem, Allowed: too.allowed}
		return &Invalid{Failures: []Failure{failure}, subject: s.subject}
	}
	err := s.root.Validate(value)
	if err == nil {
		return nil
	}
	return s.explain(err, value, raw)
}

func (s *Schema) refuse(problem string) *Invalid {
	return &Invalid{Failures: []Failure{{Path: s.subject, Problem: problem}}, subject: s.subject}
}

func (s *Schema) refuseFaults(faults []fault) *Invalid {
	failures := make([]Failure, 0, min(len(faults), maxFailures))
	for _, f := range faults[:min(len(faults), maxFailures)] {
		failures = append(failures, Failure{Path: readablePath(s.subject, f.path), Problem: f.message})
	}
	return &Invalid{Failures: failures, More: len(faults) - len(failures), subject: s.subject}
}
