package schema

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"

	"patchbay/shared/nearest"
)

func (e explainer) entry(location string) *entry {
	if e.schema == nil {
		return nil
	}
	return e.schema.index.entries[location]
}

// broken is the schema that refused the value; an empty one when it is not known.
func (e explainer) broken(l leaf) *jsonschema.Schema {
	if entry := e.entry(l.location); entry != nil {
		return entry.schema
	}
	return &jsonschema.Schema{}
}

// describe puts one leaf into words.
func (e explainer) describe(l leaf) Failure {
	path := stepsIn(e.value, l.path)
	if l.name != "" {
		path = append(path, step{name: l.name})
	} else if _, absent := l.kind.(missing); absent {
		path = append(path, step{}) // a member whose name is empty
	}
	value, known := e.valueAt(l)
	shown := e.shown(path, value, known)
	f := Failure{Path: readablePath(e.subject, path), Value: shown}
	f.Problem, f.Allowed = e.words(l, path, value, shown != "")
	if value == nil && known && wantsValue(l.kind) {
		f.Problem = e.noValue(path, shown != "")
	}
	if l.note != "" {
		f.Problem += " (" + l.note + ")"
	}
	f.Problem, f.Allowed = shorten(f.Problem, maxSentence), shorten(f.Allowed, maxSentence)
	return f
}

// wantsValue reports that a kind is about what a value is, and not about what it has.
func wantsValue(k any) bool {
	switch k.(type) {
	case *kind.Type, *kind.Enum, *kind.Const, oneOfAll:
		return true
	}
	return false
}

// noValue is about null where it is not allowed. It is mostly meant for nothing, which is written by leaving it out.
func (e explainer) noValue(path []step, shown bool) string {
	problem := "is no value here"
	if !shown {
		problem = "is null, which is no value here"
	}
	switch {
	case len(path) == 0:
		return problem
	case path[len(path)-1].item:
		return problem + "; give one, or leave the item out"
	case e.isRequired(path):
		return problem + ", and one is needed"
	}
	return problem + "; give one, or leave " + strconv.Quote(shorten(path[len(path)-1].name, maxShown)) + " out"
}

func (e explainer) isRequired(path []step) bool {
	last := len(path) - 1
	return slices.ContainsFunc(e.at(path)[last], func(s *jsonschema.Schema) bool {
		return slices.Contains(s.Required, path[last].name)
	})
}

// valueAt is the value that the leaf is about; a leaf about a name has none that is worth showing.
func (e explainer) valueAt(l leaf) (value any, known bool) {
	switch l.kind.(type) {
	case missing, unknown, miscased, badName:
		return nil, false
	}
	value = e.value
	for _, token := range l.path {
		value, known = child(value, token)
		if !known {
			return nil, false
		}
	}
	return value, true
}

// shown is the value as a message may show it. Where some part of the schema is secret no object or array is shown at
// all, since the secret may lie in it.
func (e explainer) shown(path []step, value any, known bool) string {
	if !known {
		return ""
	}
	if e.schema == nil {
		return shortJSON(value)
	}
	if e.schema.index.secrets && (isComposite(value) || e.isSecret(path)) {
		return ""
	}
	at, found := e.locate(path)
	if !found {
		return shortJSON(value)
	}
	return shortRaw(e.raw[at.start:at.end])
}

func isComposite(value any) bool {
	switch value.(type) {
	case map[string]any, []any:
		return true
	}
	return false
}

// isSecret reports that the value, or something around it, must not be shown.
func (e explainer) isSecret(path []step) bool {
	for _, level := range e.at(path) {
		for _, s := range level {
			if entry := e.entry(s.Location); entry != nil && entry.secret {
				return true
			}
		}
	}
	return false
}

// about is the first description of a place, in brackets, if the schema has one.
func (e explainer) about(path []step) string {
	levels := e.at(path)
	for _, s := range levels[len(path)] {
		if s.Description != "" {
			return " (" + oneLine(s.Description) + ")"
		}
	}
	return ""
}

func (e explainer) words(l leaf, path []step, value any, shown bool) (problem, allowed string) {
	switch k := l.kind.(type) {
	case *kind.Type:
		return wrongType(k, value, shown), strings.Join(k.Want, " or ") + e.about(path)
	case *kind.Enum:
		return notAllowed(value, jsonTexts(k.Want), shown)
	case *kind.Const:
		return notAllowed(value, []string{fullJSON(k.Want)}, shown)
	case oneOfAll:
		return notAllowed(value, e.wanted(l), shown)
	case *kind.Format:
		return "is not a valid " + k.Want, k.Want + " such as " + formatExample(k.Want) + e.about(path)
	case *kind.Pattern:
		return "does not match the pattern", e.wordsOnPattern(l, k.Want, path)
	case missing, unknown, miscased, badName, needsOneOf, *kind.FalseSchema:
		return e.wordsOnNames(l, path)
	case *kind.Not:
		return "is not allowed", "anything but " + e.excluded(l)
	case *kind.OneOf:
		return fmt.Sprintf("fits more than one alternative (%s and %s)", e.alternative(l, k.Subschemas[0]),
			e.alternative(l, k.Subschemas[1])), "exactly one alternative"
	}
	return e.wordsOnSizes(l, shown)
}

// wrongType also says when only quotation marks are wrong, the mistake that models make most.
func wrongType(k *kind.Type, value any, shown bool) string {
	text, isText := value.(string)
	if isText && shown && fitsWithoutQuotes(text, k.Want) {
		return "is a string; write " + text + " without quotation marks"
	}
	if k.Got == "number" && slices.Contains(k.Want, "integer") {
		return "is not an integer"
	}
	return "is of type " + k.Got
}

func fitsWithoutQuotes(text string, want []string) bool {
	value, faults := parse([]byte(text))
	if len(faults) > 0 || len(text) > maxShown {
		return false
	}
	for _, name := range want {
		schema := jsonschema.Schema{Types: new(jsonschema.Types)}
		schema.Types.Add(name)
		if schema.Validate(value) == nil {
			return true
		}
	}
	return false
}

func notAllowed(value any, allowed []string, shown bool) (problem, allowedText string) {
	problem, near := "is not allowed", ""
	if text, ok := value.(string); ok && shown {
		if near = nearest.Name(fullJSON(text), allowed); near != "" {
			problem += didYouMean(near)
		}
	}
	return problem, listed(allowed, near)
}

func didYouMean(near string) string { return " (did you mean " + near + "?)" }

// wordsOnPattern leaves out the pattern where the description gives an example: that is easier to follow.
func (e explainer) wordsOnPattern(l leaf, source string, path []step) string {
	about := e.about(path)
	p := e.broken(l).Pattern
	if p == nil || !strings.HasPrefix(source, "^") || !strings.HasSuffix(source, "$") {
		return source + about
	}
	for _, word := range strings.Fields(about) {
		if word = strings.Trim(word, `.,;:!?()"'`+"`"); word != "" && p.MatchString(word) {
			return strings.TrimSuffix(strings.TrimPrefix(about, " ("), ")")
		}
	}
	return source + about
}

func (e explainer) wordsOnNames(l leaf, path []step) (problem, allowed string) {
	switch k := l.kind.(type) {
	case missing:
		if k.with != "" {
			return "is missing; it is needed together with " + strconv.Quote(k.with), e.expected(path)
		}
		return "is missing", e.expected(path)
	case unknown:
		return e.unknownName(l)
	case miscased:
		return "is not a known name" + didYouMean(fullJSON(k.declared)), "names in exactly the case of the schema"
	case badName:
		why := l.kind.(badName).why
		problem, allowed = e.words(why, nil, l.name, true)
		return "has a name that " + problem, allowed
	case needsOneOf:
		return "lacks a member", "one of " + listed(k.sets(), "")
	}
	return "is not allowed here", ""
}

// expected says what to put where something is missing: the type or the values, and the description.
func (e explainer) expected(path []step) string {
	levels := e.at(path)
	for _, s := range levels[len(path)] {
		if text := expectation(s); text != "" {
			return text + e.about(path)
		}
	}
	return strings.Trim(e.about(path), " ()")
}

func expectation(s *jsonschema.Schema) string {
	switch {
	case s.Const != nil:
		return fullJSON(*s.Const)
	case s.Enum != nil:
		return listed(jsonTexts(s.Enum.Values), "")
	case s.Format != nil && formatExample(s.Format.Name) != "":
		return s.Format.Name + " such as " + formatExample(s.Format.Name)
	case s.Types != nil:
		return strings.Join(s.Types.ToStrings(), " or ")
	}
	return ""
}

func (e explainer) unknownName(l leaf) (problem, allowed string) {
	names := e.declaredNames(l)
	problem = "is not a known name"
	if len(names) == 0 {
		return problem, "no names at all"
	}
	near := nearest.Name(l.name, names)
	quoted := make([]string, len(names))
	for i, name := range names {
		quoted[i] = fullJSON(name)
	}
	if near != "" {
		near = fullJSON(near)
		problem += didYouMean(near)
	}
	return problem, listed(quoted, near)
}

// declaredNames are the properties that the schema knows, in its order. additionalProperties only sees those beside
// it, unevaluatedProperties those of every schema that applies.
func (e explainer) declaredNames(l leaf) []string {
	schemas := []*jsonschema.Schema{e.broken(l)}
	if schemas[0].UnevaluatedProperties != nil {
		levels := e.at(stepsIn(e.value, l.path))
		schemas = levels[len(levels)-1]
	}
	offsets := map[string]int{}
	for _, s := range schemas {
		for name, property := range s.Properties {
			offsets[name] = e.schema.index.offset(property)
		}
	}
	names := sortedKeys(offsets)
	slices.SortStableFunc(names, func(a, b string) int { return offsets[a] - offsets[b] })
	return names
}

// excluded shows what a not refuses.
func (e explainer) excluded(l leaf) string {
	not := e.broken(l).Not
	if not == nil {
		return "this"
	}
	if not.Description != "" {
		return oneLine(not.Description)
	}
	if text := expectation(not); text != "" {
		return text
	}
	if len(not.Required) > 0 {
		return "an object with " + strings.Join(not.Required, " and ")
	}
	return "what the schema's \"not\" describes"
}

func (e explainer) alternative(l leaf, i int) string {
	return strconv.Itoa(i+1) + e.titleOf(l, i+1)
}
