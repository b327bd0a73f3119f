package lint

import (
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"patchbay/shared/contract"
	"patchbay/shared/nearest"
)

func descriptionRules() []contract.Rule {
	const warning = contract.SeverityWarning
	return []contract.Rule{
		{ID: "description-name", Severity: warning,
			What:   "A description says more than the tool's name.",
			Why:    "A model has the name already; what it lacks is what comes back, and when to call.",
			Source: defineTools},
		{ID: "description-use", Severity: warning,
			What:   "A description says when to use the tool.",
			Why:    "It is by this that a model chooses between tools; what a tool does is only half of it.",
			Source: defineTools + "; " + openAIReasoning},
		{ID: "description-near", Severity: warning,
			What:   "No two tools have nearly the same description.",
			Why:    "A model that reads the same of two tools chooses by chance.",
			Source: writingTools},
		{ID: "description-long", Severity: warning,
			What:   "A tool's description has at most 1,024 characters.",
			Why:    "Some models' APIs refuse a longer one, and with it the whole request; others cut it short.",
			Source: openAIDescription},
		{ID: "description-unknown-tool", Severity: warning,
			What:   "Descriptions and instructions name only tools that exist.",
			Why:    "A model tries to call what it reads, and fails.",
			Source: writingTools},
		{ID: "description-directive", Severity: warning,
			What: "Descriptions tell of the tool, and give a model no orders beside it.",
			Why: "Orders in a tool's texts are how a poisoned tool takes over a model; scanners and careful hosts refuse the " +
				"tool.",
			Source: "MCP-Sentry, MCP03 tool poisoning, read 2026-11, https://mcp-sentry.vercel.app/rules/MCP03"},
		{ID: "text-invisible", Severity: warning,
			What: "A definition's texts have no characters that people cannot see.",
			Why:  "A model reads what a reviewer does not: zero-width, direction and tag characters hide instructions.",
			Source: "MCPSafe, MCP-048 covert channels and MCP-223 tag characters, read 2026-11, " +
				"https://mcpsafe.io/threats/MCP-048"},
	}
}

func checkDescriptions(c *Catalogue) contract.Problems {
	tools := served(c)
	found := checkDescriptionPairs(tools)
	for _, t := range tools {
		found = append(found, checkDescription(t)...)
		found = append(found, checkInvisible(t)...)
	}
	return append(found, checkMentions(c, tools)...)
}

// maxDescription is the longest description that every API is known to take, in characters.
const maxDescription = 1024

// sayUse finds words by which a description says when a tool is of use.
var sayUse = regexp.MustCompile(`(?i)\b(use|uses|used|using|useful|call|whenever|when|if|before|after|instead|unless|` +
	`need|needs|needed|lets|helps?|prefer|suitable|suited|good for|meant|intended|first|for (tests|questions|example)|` +
	`to (answer|find out|check|see|decide))\b`)

// sayOrders finds what poisoned tools tell models.
var sayOrders = regexp.MustCompile(`(?i)ignore (all |any |the )*(previous|prior|other|earlier|above) ` +
	`(instructions?|messages?|tools?)|<\s*/?\s*(important|system|secret|instructions?)\s*>|` +
	`(do not|don't|never) (tell|mention|inform|reveal|show)( this| it)?( to)? the user|system prompt|you must always call`)

func checkDescription(t *contract.Tool) contract.Problems {
	const pointer = "/description"
	var found contract.Problems
	length := utf8.RuneCountInString(t.Description)
	switch {
	case length > maxDescription:
		found = append(found, advise(t, "description-long", pointer, fmt.Sprintf("at most %d characters", maxDescription),
			fmt.Sprintf("the description has %d characters", length)))
	case utf8.RuneCountInString(strings.TrimSpace(t.Description)) < contract.MinDescription || !isEnglish(t.Description):
		// Too short is told by description-short, and other languages are not judged by English words.
	case saysTheName(t):
		found = append(found, advise(t, "description-name", pointer, "what comes back, and when to use the tool",
			"the description only repeats the tool's name"))
	case !sayUse.MatchString(t.Description):
		found = append(found, advise(t, "description-use", pointer,
			`a sentence like "Use it when …", and what to use in other cases`,
			"the description does not say when to use the tool"))
	}
	if order := sayOrders.FindString(t.Description); order != "" {
		found = append(found, advise(t, "description-directive", pointer, "what the tool does and when to use it",
			fmt.Sprintf("%q is an order to the model, and not about the tool", order)))
	}
	return found
}

func saysTheName(t *contract.Tool) bool {
	said := contentStems(t.Name)
	return !slices.ContainsFunc(contentStems(t.Description), func(word string) bool {
		return !slices.Contains(said, word)
	})
}

const (
	// minCompared is how many words two descriptions need for being alike to mean something.
	minCompared = 5
	// A share of equal words, of all that either has, makes two descriptions one.
	nearShareNumerator, nearShareDenominator = 4, 5
)

func checkDescriptionPairs(tools []*contract.Tool) contract.Problems {
	var found contract.Problems
	words := make([][]string, len(tools))
	for i, t := range tools {
		words[i] = contentStems(t.Description)
		for j, other := range tools[:i] {
			if alike(words[j], words[i]) && !toldApart(words[j], words[i], other.Name, t.Name) {
				near := advise(t, "description-near", "/description",
					"how the two differ, and when to use which; or one tool for both",
					fmt.Sprintf("%s and %s are described in nearly the same words", other.Name, t.Name))
				found = append(found, between(near, other))
			}
		}
	}
	return found
}

// alike compares two sorted sets of words.
func alike(a, b []string) bool {
	shorter, longer := min(len(a), len(b)), max(len(a), len(b))
	if shorter < minCompared || shorter*nearShareDenominator < longer*nearShareNumerator {
		return false
	}
	both := 0
	for i, j := 0, 0; i < len(a) && j < len(b); {
		switch order := strings.Compare(a[i], b[j]); {
		case order == 0:
			both, i, j = both+1, i+1, j+1
		case order < 0:
			i++
		default:
			j++
		}
	}
	return both*nearShareDenominator >= (len(a)+len(b)-both)*nearShareNumerator
}

// toldApart reports whether one description has a word of its own tool's name that the other lacks: what alerts and
// what comments have in common may be said alike.
func toldApart(a, b []string, nameA, nameB string) bool {
	return hasOwnWord(a, b, nameA) || hasOwnWord(b, a, nameB)
}

func hasOwnWord(words, others []string, name string) bool {
	return slices.ContainsFunc(contentStems(name), func(word string) bool {
		return slices.Contains(words, word) && !slices.Contains(others, word)
	})
}

// toolLike finds names of two words or more, as tools have, and what stands before them.
var toolLike = regexp.MustCompile(`(?i)(?:\b(use|using|call|calling|run|via|tool|try|prefer|see)\s+)?` +
	"[`\"']?" + `\b([a-z][a-z0-9]*(?:[._][a-z0-9]+)*_[a-z0-9]+(?:[._][a-z0-9]+)*)\b`)

func checkMentions(c *Catalogue, tools []*contract.Tool) contract.Problems {
	names, all := make([]string, len(tools)), map[string]bool{}
	for i, t := range tools {
		names[i] = t.Name
		all[t.Name] = true
	}
	var found contract.Problems
	for _, t := range tools {
		own := ownWords(t)
		maps.Copy(all, own)
		found = append(found, checkToolMentions(t, names, own)...)
	}
	for _, name := range unknownTools(c.Server.Instructions, names, all) {
		problem := contract.Problem{File: serverFile(tools), Pointer: "/instructions", ID: "description-unknown-tool",
			Severity: contract.SeverityWarning}
		problem.Message, problem.Allowed = unknownTool("the instructions name", name, names)
		found = append(found, problem)
	}
	return found
}

func checkToolMentions(t *contract.Tool, names []string, own map[string]bool) contract.Problems {
	var found contract.Problems
	texts := []node{{pointer: "", keywords: map[string]any{"description": t.Description}}}
	texts = append(texts, schemaNodes(t.Input, "/inputSchema")...)
	for _, n := range texts {
		for _, name := range unknownTools(n.description(), names, own) {
			message, allowed := unknownTool("the description names", name, names)
			found = append(found, advise(t, "description-unknown-tool", n.pointer+"/description", allowed, message))
		}
	}
	return found
}

func unknownTool(subject, name string, names []string) (message, allowed string) {
	message = fmt.Sprintf("%s the tool %s, which does not exist", subject, name)
	if near := nearest.Name(name, names); near != "" {
		return message, near
	}
	return message, "names of this server's tools"
}

// unknownTools returns the names in a text that are meant for tools and are none: what is to be called or used, and
// what is nearly a tool's name. Words that are known otherwise are passed over.
func unknownTools(text string, names []string, known map[string]bool) []string {
	var unknown []string
	for _, match := range toolLike.FindAllStringSubmatch(text, -1) {
		introduction, name := match[1], match[2]
		if known[name] || slices.Contains(names, name) || slices.Contains(unknown, name) {
			continue
		}
		if introduction != "" || nearest.Name(name, names) != "" {
			unknown = append(unknown, name)
		}
	}
	return unknown
}

// ownWords are the words of a tool that look like tools' names: its properties, its values and its failures' codes.
func ownWords(t *contract.Tool) map[string]bool {
	words := map[string]bool{}
	for _, n := range slices.Concat(schemaNodes(t.Input, "/inputSchema"), schemaNodes(t.Output, "/outputSchema")) {
		words[n.property] = true
		for _, value := range n.enumTexts() {
			words[value] = true
		}
	}
	for _, mode := range t.Contract.FailureModes {
		words[mode.Code] = true
	}
	return words
}

// serverFile is the name of the server.json that lies beside the tools' folders.
func serverFile(tools []*contract.Tool) string {
	if len(tools) == 0 {
		return "server.json"
	}
	return path.Join(path.Dir(path.Dir(tools[0].File)), "server.json")
}

func checkInvisible(t *contract.Tool) contract.Problems {
	var found contract.Problems
	eachText(decode(t.Definition), "", func(text, pointer string) {
		if i := strings.IndexFunc(text, isInvisible); i >= 0 {
			r, _ := utf8.DecodeRuneInString(text[i:])
			found = append(found, advise(t, "text-invisible", pointer, "characters that people can see",
				fmt.Sprintf("the text has the invisible character %U at byte %d", r, i)))
		}
	})
	return found
}

// eachText visits every string of a JSON value.
func eachText(value any, pointer string, visit func(text, pointer string)) {
	switch value := value.(type) {
	case string:
		visit(value, pointer)
	case []any:
		for i, item := range value {
			eachText(item, child(pointer, fmt.Sprint(i)), visit)
		}
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(value)) {
			eachText(value[key], child(pointer, key), visit)
		}
	}
}

// isInvisible reports whether a character is one that hides: of direction, of no width, a tag, or a control character.
// The joiners U+200C and U+200D are parts of scripts and of emoji.
func isInvisible(r rune) bool {
	switch {
	case r == '\n' || r == '\t' || r == '\r' || r == 0x200C || r == 0x200D:
		return false
	case unicode.IsControl(r), r == 0x00AD, r == 0x180E, r == 0xFEFF, r == 0x200B:
		return true
	}
	return 0x200E <= r && r <= 0x200F || 0x202A <= r && r <= 0x202E || 0x2060 <= r && r <= 0x206F ||
		0xE0000 <= r && r <= 0xE007F
}
