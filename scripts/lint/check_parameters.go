package lint

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"patchbay/shared/contract"
)

func parameterRules() []contract.Rule {
	const warning = contract.SeverityWarning
	return []contract.Rule{
		{ID: "parameter-example", Severity: warning,
			What:   "A parameter with a form of its own shows a value.",
			Why:    "Dates, codes, paths and queries have many spellings; a model takes the one that it is shown.",
			Source: defineTools + " (input_examples)"},
		{ID: "parameter-id", Severity: warning,
			What:   "A parameter that takes an id says where the id comes from.",
			Why:    "People speak in names; a model that has none to look an id up with invents one.",
			Source: writingTools},
		{ID: "parameter-unit", Severity: warning,
			What:   "A quantity says its unit, in its name or its description.",
			Why:    "A timeout of 30 is seconds to one model and milliseconds to another.",
			Source: writingTools},
		{ID: "parameter-default", Severity: warning,
			What: `A default that the description tells stands in the schema as "default".`,
			Why: "The dispatcher applies what the schema says; what only the prose says is up to each function, and forms " +
				"cannot show it.",
			Source: reference},
		{ID: "parameter-vague", Severity: warning,
			What:   "A parameter's name says what it takes.",
			Why:    "Names like data or params let a model put anything there.",
			Source: writingTools},
		{ID: "parameter-style", Severity: warning,
			What:   "A tool's parameters are spelt in one way.",
			Why:    "A model that has written fileId writes expiresAt, not expires_at; the call is refused then.",
			Source: copilotTools},
		{ID: "parameter-many", Severity: warning,
			What:   "A tool has at most 20 parameters.",
			Why:    "Beyond that models were not trained, and leave out or mix up arguments.",
			Source: openAIReasoning},
		{ID: "parameter-description-long", Severity: warning,
			What:   "A description in a schema has at most 1,024 characters.",
			Why:    "VS Code cuts longer ones for GPT-4 models; what a parameter is fits in less.",
			Source: copilotNormalizer},
		{ID: "parameter-freeform", Severity: warning,
			What:   "An object says which properties it has.",
			Why:    "A model has to guess the keys, nothing can be checked, and strict modes refuse it.",
			Source: openAIStrict},
		{ID: "parameter-json-text", Severity: warning,
			What:   "Structure is given as JSON, not as JSON inside a text.",
			Why:    "A model must escape by hand, and nothing is checked against the schema.",
			Source: writingTools},
		{ID: "parameter-secret", Severity: warning,
			What: "No parameter asks a model for a credential.",
			Why: "What a model is given stays in its context, in logs and in transcripts; a function's own secrets are " +
				"declared in its contract.",
			Source: reference},
		{ID: "enum-unclear", Severity: warning,
			What:   "Values that are numbers or single letters are explained.",
			Why:    "A model cannot know what 3 means.",
			Source: writingTools},
		{ID: "enum-many", Severity: warning,
			What:   "An enum has at most 250 values.",
			Why:    "Each is read with every request, and beyond it OpenAI's strict mode limits their length.",
			Source: openAIStrict},
		{ID: "action-mixed", Severity: warning,
			What: "One tool does not both read and change, by a parameter that chooses.",
			Why: "Hints, risk, permissions and confirmation hold for a whole tool: reading is asked for like changing, or " +
				"changing runs as freely as reading.",
			Source: toolAnnotations},
		{ID: "action-flags", Severity: warning,
			What:   "Different actions are different tools, and not flags of one.",
			Why:    "What a call does then hangs on booleans, and people who confirm it see one name for all.",
			Source: writingTools},
	}
}

func checkParameters(c *Catalogue) contract.Problems {
	names := make([]string, len(c.Tools))
	for i, t := range c.Tools {
		names[i] = t.Name
	}
	return each(c, func(t *contract.Tool) contract.Problems {
		nodes := schemaNodes(t.Input, "/inputSchema")
		found := checkParameterNames(t, parameters(nodes))
		found = append(found, checkActions(t, parameters(nodes))...)
		for _, n := range nodes[min(1, len(nodes)):] {
			p := parameter{tool: t, node: n, tools: names}
			found = append(found, p.check()...)
		}
		return found
	})
}

// parameter is one schema below the root of an inputSchema: a parameter, or a part of one.
type parameter struct {
	node
	tool *contract.Tool
	// tools are the names of all tools of the server.
	tools []string
}

func (p parameter) advise(id, allowed, format string, args ...any) contract.Problem {
	return advise(p.tool, id, p.pointer, allowed, fmt.Sprintf(format, args...))
}

func (p parameter) check() contract.Problems {
	found := p.checkForm()
	if p.property == "" {
		return found
	}
	english := isEnglish(p.description()) && p.description() != ""
	switch {
	case p.isSecret():
		found = append(found, p.advise("parameter-secret", `"secrets" in the contract, or sign-in and "permissions"`,
			"%q asks the model for a credential", p.property))
	case english && p.isUnexplainedID():
		found = append(found, p.advise("parameter-id", "a name, or where the id comes from: the tool that returns it",
			"it is not said where the id %q comes from", p.property))
	case english && p.hasForm() && !p.showsValue():
		found = append(found, p.advise("parameter-example", `"examples", or a description with "such as …"`,
			"%q has a form of its own, but no value is shown", p.property))
	}
	if english && p.isUnitless() {
		found = append(found, p.advise("parameter-unit", "a name like timeout_seconds, or a description with the unit",
			"it is not said in what unit %q is", p.property))
	}
	if said := sayDefault.FindString(p.description()); said != "" && !p.has("default") {
		found = append(found, p.advise("parameter-default", `a "default" in the schema`,
			"the description tells a default (%q) that the schema does not have", said))
	}
	return found
}

// checkForm looks at what holds for every schema, also for those of list items.
func (p parameter) checkForm() contract.Problems {
	var found contract.Problems
	if length := utf8.RuneCountInString(p.description()); length > maxDescription {
		found = append(found, advise(p.tool, "parameter-description-long", p.pointer+"/description",
			fmt.Sprintf("at most %d characters", maxDescription), fmt.Sprintf("the description has %d characters", length)))
	}
	if p.isFreeform() {
		found = append(found, p.advise("parameter-freeform", `"properties", or a schema for "additionalProperties"`,
			"the object may have any properties"))
	}
	if p.is("string") && !p.has("enum") && (sayJSON.MatchString(p.description()) || p.holdsJSON()) {
		found = append(found, p.advise("parameter-json-text", "an object or an array with a schema of its own",
			"the text is to be JSON, which no schema checks"))
	}
	return append(found, p.checkEnum()...)
}

var (
	sayDefault = regexp.MustCompile(`(?i)\b(defaults? (to|is|are)\b|by default\b|default value\b|default: )`)
	sayJSON    = regexp.MustCompile(`(?i)\b(JSON[- ](string|encoded|text|object|array)|stringified|serialized JSON)\b`)
)

func (p parameter) holdsJSON() bool { return strings.HasSuffix(p.text("contentMediaType"), "json") }

func (p parameter) isFreeform() bool {
	if !p.is("object") || p.has("$ref") || p.has("patternProperties") || p.has("anyOf") || p.has("oneOf") ||
		p.has("allOf") {
		return false
	}
	if properties, _ := p.keywords["properties"].(map[string]any); len(properties) > 0 {
		return false
	}
	additional, isSchema := p.keywords["additionalProperties"].(map[string]any)
	return !isSchema && p.keywords["additionalProperties"] != false || isSchema && len(additional) == 0
}

// pagingWords go before token and key where those are no secrets.
var pagingWords = []string{"continuation", "csrf", "cursor", "idempotency", "max", "next", "page", "progress", "sort",
	"start", "sync"}

func (p parameter) isSecret() bool {
	if !p.is("string") {
		return false
	}
	words := splitWords(p.property)
	if slices.ContainsFunc(words, func(word string) bool { return slices.Contains(pagingWords, word) }) {
		return false
	}
	return contract.LooksSecret(p.property) || p.text("format") == "password" || p.keywords["writeOnly"] == true
}

// ownIDWords go before id where the caller makes the id up.
var ownIDWords = []string{"client", "correlation", "external", "idempotency", "request", "session", "trace"}

// sayOrigin finds what tells a reader where a value comes from.
var sayOrigin = regexp.MustCompile(`(?i)\b(returns?|returned|gives?|given|found|finds?|search|searched|lists?|listed|` +
	`look(ed)? up|ask|answer|answered|shown|shows|link|URL|address|your choice|you choose|choose)\b`)

func (p parameter) isUnexplainedID() bool {
	words := splitWords(p.property)
	if len(words) == 0 || p.property == p.tool.Contract.Idempotency.KeyArgument || p.has("enum") {
		return false
	}
	if !slices.Contains([]string{"id", "ids", "uuid", "uuids", "guid", "guids"}, words[len(words)-1]) {
		return false
	}
	if slices.ContainsFunc(words, func(word string) bool { return slices.Contains(ownIDWords, word) }) {
		return false
	}
	return !sayOrigin.MatchString(p.description()) && !p.namesTool()
}

// namesTool reports whether the description of the parameter or of the tool names another tool, which may give the
// value.
func (p parameter) namesTool() bool {
	text := p.description() + "\n" + p.tool.Description
	return slices.ContainsFunc(p.tools, func(name string) bool {
		return name != p.tool.Name && strings.Contains(text, name)
	})
}

// formWords are last words of names whose values have a form of their own.
var formWords = []string{"at", "color", "colour", "coordinates", "country", "cron", "currency", "date",
	"datetime", "expr", "expression", "filter", "jq", "jsonpath", "lang", "language", "locale", "path", "query",
	"range", "regex", "regexp", "schedule", "selector", "since", "sku", "sql", "time", "timestamp", "timezone",
	"until", "uri", "url", "version", "zone"}

// hasForm reports whether a text has to be written in a certain way that its name or its format only hints at. A format
// that everybody writes alike, such as an e-mail address, needs no example.
func (p parameter) hasForm() bool {
	if !p.is("string") || p.has("enum") || p.has("const") || p.has("x-mcp-header") {
		return false
	}
	words := splitWords(p.property)
	if len(words) > 0 && slices.Contains(formWords, words[len(words)-1]) {
		return true
	}
	if format := p.text("format"); format != "" && !slices.Contains([]string{"email", "uuid", "uri", "hostname"}, format) {
		return true
	}
	return fixesForm(p.text("pattern"))
}

// fixesForm reports whether a pattern prescribes a form. One that only keeps characters out, or blanks, does not.
func fixesForm(pattern string) bool {
	return strings.HasPrefix(pattern, "^") && strings.HasSuffix(pattern, "$") && !strings.Contains(pattern, "[^")
}

func (p parameter) showsValue() bool {
	return len(p.list("examples")) > 0 || p.has("default") || sayExample.MatchString(p.description()) ||
		p.namesToolItself()
}

// namesToolItself reports whether the parameter's own description names a tool, which gives the value.
func (p parameter) namesToolItself() bool {
	return slices.ContainsFunc(p.tools, func(name string) bool { return strings.Contains(p.description(), name) })
}

var (
	quantities = []string{"age", "bandwidth", "delay", "depth", "distance", "duration", "elevation", "height",
		"interval", "latency", "length", "memory", "period", "pressure", "radius", "size", "speed", "temperature",
		"timeout", "ttl", "volume", "wait", "weight", "width", "amount", "budget", "cost", "fee", "price", "salary"}
	// countWords are words before which a size or a depth is a number of things.
	countWords = []string{"batch", "chunk", "page", "pool", "sample", "tree"}
	sayUnit    = regexp.MustCompile(`(?i)\b((milli|micro|nano)?seconds?|secs?|ms|minutes?|mins?|hours?|days?|weeks?|` +
		`months?|years?|(kilo|mega|giga)?bytes?|[KMGT]i?B|bits?|(kilo|centi|milli)?met(re|er)s?|km|cm|mm|miles?|feet|ft|` +
		`inch(es)?|(kilo|milli)?grams?|kg|lbs?|pounds?|ounces?|tons?|lit(re|er)s?|ml|celsius|fahrenheit|kelvin|degrees|` +
		`percent|cents?|dollars?|euros?|USD|EUR|GBP|currency|pixels?|px|points?|levels?|entries|items|rows|results|` +
		`elements|characters|tokens|lines|pages|pieces|people|watts?|volts?|pascals?|hPa|bar|mph|km/h|knots?|hertz|` +
		`k?Hz)\b|%|°`)
)

func (p parameter) isUnitless() bool {
	words := splitWords(p.property)
	if !p.is("integer", "number") || p.has("enum") || len(words) == 0 {
		return false
	}
	last := len(words) - 1
	if !slices.Contains(quantities, words[last]) || last > 0 && slices.Contains(countWords, words[last-1]) {
		return false
	}
	return !sayUnit.MatchString(p.description())
}

const maxEnum = 250

func (p parameter) checkEnum() contract.Problems {
	values := p.list("enum")
	var found contract.Problems
	if len(values) > maxEnum {
		found = append(found, p.advise("enum-many",
			fmt.Sprintf("at most %d values, or a text and a tool that finds one", maxEnum),
			"the enum has %d values", len(values)))
	}
	if len(values) > 1 && !slices.ContainsFunc(values, isClear) && !p.explains(values) {
		found = append(found, p.advise("enum-unclear", "words as values, or a description that says what each means",
			"the values do not say what they mean"))
	}
	return found
}

// isClear reports whether a value says something: a word of two characters or more.
func isClear(value any) bool {
	text, ok := value.(string)
	if !ok {
		return false
	}
	return utf8.RuneCountInString(text) > 1 && strings.ContainsFunc(text, func(r rune) bool { return r < '0' || r > '9' })
}

// explains reports whether the description mentions at least half of the values.
func (p parameter) explains(values []any) bool {
	words, mentioned := strings.FieldsFunc(p.description(), func(r rune) bool {
		return strings.ContainsRune(" ,;:.()=–-\"'`/", r)
	}), 0
	for _, value := range values {
		if slices.Contains(words, fmt.Sprint(value)) {
			mentioned++
		}
	}
	return mentioned*2 >= len(values)
}

const maxParameters = 20

func checkParameterNames(t *contract.Tool, parameters []node) contract.Problems {
	var found contract.Problems
	if len(parameters) > maxParameters {
		found = append(found, advise(t, "parameter-many", "/inputSchema/properties",
			fmt.Sprintf("at most %d, or several tools", maxParameters),
			fmt.Sprintf("the tool has %d parameters", len(parameters))))
	}
	for _, p := range parameters {
		words := splitWords(p.property)
		if len(words) == 1 && slices.Contains(vagueParameters, strings.TrimRight(words[0], "0123456789")) {
			found = append(found, advise(t, "parameter-vague", p.pointer, "a name that says what it takes, like invoice_number",
				fmt.Sprintf("%q may take anything", p.property)))
		}
	}
	return append(found, checkParameterStyle(t, parameters)...)
}

var vagueParameters = []string{"arg", "args", "argument", "arguments", "bar", "data", "foo", "info", "input",
	"inputs", "misc", "obj", "object", "param", "parameter", "parameters", "params", "payload", "stuff", "thing",
	"tmp", "val", "var"}

// dryRunParameter is spelt by Patchbay, whatever the others are.
const dryRunParameter = "dryRun"

func checkParameterStyle(t *contract.Tool, parameters []node) contract.Problems {
	first := map[string]node{}
	for _, p := range parameters {
		style := nameStyle(p.property)
		if _, seen := first[style]; style != "" && p.property != dryRunParameter && !seen {
			first[style] = p
		}
	}
	snake, camel := first["snake_case"], first["camelCase"]
	if snake.property == "" || camel.property == "" {
		return nil
	}
	return contract.Problems{advise(t, "parameter-style", camel.pointer, "one spelling for all parameters of a tool",
		fmt.Sprintf("%q is spelt otherwise than %q", camel.property, snake.property))}
}

// choosing are names of parameters that choose what a tool does.
var choosing = []string{"action", "command", "do", "method", "mode", "op", "operation", "verb"}

func checkActions(t *contract.Tool, parameters []node) contract.Problems {
	var found contract.Problems
	var flags []node
	for _, p := range parameters {
		if slices.Contains(choosing, p.property) {
			found = append(found, checkChoice(t, p)...)
		}
		if p.is("boolean") && p.property != dryRunParameter && flagVerb(p.property) {
			flags = append(flags, p)
		}
	}
	if len(flags) == 0 || len(flags) == 1 && !isTrue(t.Annotations.ReadOnlyHint) {
		return found
	}
	names := make([]string, len(flags))
	for i, flag := range flags {
		names[i] = flag.property
	}
	return append(found, advise(t, "action-flags", flags[0].pointer, "a tool for each action",
		fmt.Sprintf("what the tool does hangs on %s", strings.Join(names, ", "))))
}

// flagVerb reports whether a flag's name begins with the word for an action.
func flagVerb(name string) bool {
	words := splitWords(name)
	if len(words) == 0 {
		return false
	}
	kind := kindOf(words[0])
	return kind == verbChanging || kind == verbDestroying
}

func checkChoice(t *contract.Tool, p node) contract.Problems {
	var reading, changing string
	for _, value := range p.enumTexts() {
		words := splitWords(value)
		if len(words) == 0 {
			continue
		}
		switch kindOf(words[0]) {
		case verbReading:
			reading = value
		case verbChanging, verbDestroying:
			changing = value
		}
	}
	if reading == "" || changing == "" {
		return nil
	}
	return contract.Problems{advise(t, "action-mixed", p.pointer, "a tool that reads, and others that change",
		fmt.Sprintf("%q reads and %q changes, under one risk and one set of hints", reading, changing))}
}

func isTrue(hint *bool) bool { return hint != nil && *hint }
