package schema

import (
	"fmt"
	"net/url"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// resource is a part of a document with a URL of its own ($id), within which anchors and pointers resolve.
type resource struct {
	url     string
	pointer string
	anchors map[string]string // to JSON pointers
}

func (d *document) addResource(address, pointer string) *resource {
	if first := d.resources[address]; first != nil {
		d.twice = append(d.twice, Problem{KindInvalid, joinPointer(pointer, "$id"),
			fmt.Sprintf("the URL %q is that of another schema in the document, at %q", address, first.pointer), ""})
		return first
	}
	r := &resource{address, pointer, map[string]string{}}
	d.resources[address] = r
	return r
}

// enterResource returns the resource that a schema belongs to: its own when it has an $id. In draft-07 whatever stands
// beside a $ref is ignored, and an $id that is only a fragment is an anchor.
func (d *document) enterResource(object map[string]any, pointer string, base *resource) *resource {
	id, ok := object["$id"].(string)
	if _, hasRef := object["$ref"]; !ok || hasRef && d.draft == jsonschema.Draft7 {
		return base
	}
	id, _, _ = strings.Cut(id, "#")
	if id == "" {
		return base
	}
	address, _, err := resolveURL(base.url, id)
	if err != nil {
		return base // reported by the library as an $id that cannot be read
	}
	return d.addResource(address, pointer)
}

func (d *document) addAnchors(object map[string]any, s *subschema) {
	if d.draft == jsonschema.Draft7 {
		id, _ := object["$id"].(string)
		if _, anchor, found := strings.Cut(id, "#"); found && anchor != "" {
			d.addAnchor(s, "$id", anchor)
		}
		return
	}
	for _, keyword := range []string{"$anchor", "$dynamicAnchor"} {
		if anchor, ok := object[keyword].(string); ok {
			d.addAnchor(s, keyword, anchor)
		}
	}
}

func (d *document) addAnchor(s *subschema, keyword, anchor string) {
	if first, found := s.base.anchors[anchor]; found && first != s.pointer {
		d.twice = append(d.twice, Problem{KindInvalid, joinPointer(s.pointer, keyword),
			fmt.Sprintf("the anchor %q is that of another schema in the document, at %q", anchor, first), ""})
		return
	}
	s.base.anchors[anchor] = s.pointer
}

// checkReferences reports references that leave the document or lead nowhere, and visits what they lead to.
func (d *document) checkReferences(s *subschema, object map[string]any) []Problem {
	var problems []Problem
	for _, keyword := range []string{"$ref", "$dynamicRef"} {
		ref, ok := object[keyword].(string)
		if !ok || keyword == "$dynamicRef" && d.draft == jsonschema.Draft7 {
			continue
		}
		if problem := d.checkReference(s, joinPointer(s.pointer, keyword), ref); problem != nil {
			problems = append(problems, *problem)
		}
	}
	return problems
}

// Source: MCP 2026-07-28, basic/index, "$ref Resolution": a reference to a network address must not be followed, and a
// schema with one should be refused.
func (d *document) checkReference(s *subschema, at, ref string) *Problem {
	const inside = "a reference inside this schema, such as \"#/$defs/name\""
	address, fragment, err := resolveURL(s.base.url, ref)
	if err != nil {
		return &Problem{KindInvalid, at, fmt.Sprintf("the reference %q is not a URI", ref), inside}
	}
	target := d.resources[address]
	if target == nil {
		return &Problem{KindOutside, at, fmt.Sprintf("the reference %q leads out of the schema; nothing is loaded", ref),
			inside}
	}
	pointer, found := target.resolve(fragment)
	value, exists := lookup(d.value, pointer)
	if !found || !exists {
		return &Problem{KindInvalid, at, fmt.Sprintf("the reference %q leads to nothing in the schema", ref), inside}
	}
	switch value.(type) {
	case bool, map[string]any:
		if d.byPointer[pointer] == nil {
			d.elsewhere = append(d.elsewhere, pointer)
		}
		return d.visit(pointer, value, 1, d.resourceAt(pointer))
	}
	return &Problem{KindInvalid, at, fmt.Sprintf("the reference %q leads to %s, which is not a schema", ref,
		shortJSON(value)), inside}
}

func (r *resource) resolve(fragment string) (pointer string, found bool) {
	if fragment == "" || fragment[0] == '/' {
		return r.pointer + fragment, true
	}
	pointer, found = r.anchors[fragment]
	return pointer, found
}

// resourceAt is the innermost resource around a place.
func (d *document) resourceAt(pointer string) *resource {
	for {
		if s := d.byPointer[pointer]; s != nil {
			return s.base
		}
		slash := strings.LastIndexByte(pointer, '/')
		if slash < 0 {
			return d.resources[documentURL]
		}
		pointer = pointer[:slash]
	}
}

// resolveURL joins a reference to its base and parts off the decoded fragment.
func resolveURL(base, ref string) (address, fragment string, err error) {
	ref, fragment, _ = strings.Cut(ref, "#")
	if fragment, err = url.PathUnescape(fragment); err != nil {
		return "", "", err
	}
	from, err := url.Parse(base)
	if err != nil {
		return "", "", err
	}
	to, err := url.Parse(ref)
	if err != nil {
		return "", "", err
	}
	joined := from.ResolveReference(to)
	if !to.IsAbs() && from.Opaque != "" {
		joined.Opaque = from.Opaque // net/url forgets it: golang.org/issue/66084
	}
	return joined.String(), fragment, nil
}

// fragmentOf is the JSON pointer in a location that the library reports.
func fragmentOf(location string) string {
	_, fragment, _ := strings.Cut(location, "#")
	if decoded, err := url.PathUnescape(fragment); err == nil {
		return decoded
	}
	return fragment
}
