package lint

import (
	"fmt"
	"slices"
	"strings"

	"patchbay/shared/contract"
	"patchbay/shared/nearest"
)

func nameRules() []contract.Rule {
	const warning = contract.SeverityWarning
	return []contract.Rule{
		{ID: "name-prefixed", Severity: warning,
			What: "The server's name and a tool's, together, have fewer than 60 characters.",
			Why: "Hosts put the server's name in front; Cursor then leaves out what has 60 characters or more, and APIs " +
				"that take 64 refuse it.",
			Source: "Cursor 1.6, 2025-09-15, https://github.com/awslabs/mcp/issues/1283; VS Code, 2025-03-14, " +
				"https://github.com/microsoft/vscode/issues/243602"},
		{ID: "name-near", Severity: warning,
			What:   "No two tools have nearly the same name.",
			Why:    "A model that finds two names for one thing takes either; a wrong call costs more than a longer name.",
			Source: writingTools},
		{ID: "name-vague", Severity: warning,
			What:   "A tool's name says what it does, and to what.",
			Why:    "Names are read before descriptions, by models and by those who search tools; run_action fits everything.",
			Source: writingTools},
		{ID: "name-style", Severity: warning,
			What:   "A server's tools spell their names in one way.",
			Why:    "A model that has seen search_issues writes create_issue, not createIssue.",
			Source: copilotTools},
		{ID: "title-missing", Severity: warning,
			What:   "A tool has a title.",
			Why:    "People who are asked to allow a call read it; without one they are shown the name for programs.",
			Source: "server/tools#tool"},
		{ID: "title-same", Severity: warning,
			What:   "No two tools have one title.",
			Why:    "People who are asked to allow a call cannot tell them apart.",
			Source: "server/tools#tool"},
	}
}

func checkNames(c *Catalogue) contract.Problems {
	tools := served(c)
	found := checkPairs(tools)
	found = append(found, checkNameStyle(tools)...)
	found = append(found, checkTitles(tools)...)
	for _, t := range tools {
		found = append(found, checkName(t, c.Server.Name)...)
	}
	return found
}

// maxPrefixed is how many characters the names of server and tool may have together where Cursor still shows the tool.
const maxPrefixed = 59

func checkName(t *contract.Tool, server string) contract.Problems {
	var found contract.Problems
	if length := len(server) + len(t.Name); server != "" && length > maxPrefixed {
		found = append(found, advise(t, "name-prefixed", "/name",
			fmt.Sprintf("at most %d characters beside the server's name %q", max(0, maxPrefixed-len(server)), server),
			fmt.Sprintf("with the server's name in front, %s has %d characters", t.Name, length)))
	}
	words := splitWords(t.Name)
	vague := func(word string) bool { return slices.Contains(vagueWords, word) }
	if len(words) > 0 && !slices.ContainsFunc(words, func(word string) bool { return !vague(word) }) {
		found = append(found, advise(t, "name-vague", "/name", "a verb and what it is done to, like create_invoice",
			fmt.Sprintf("%s would fit any tool", t.Name)))
	}
	return found
}

// vagueWords name no action and no thing in particular.
var vagueWords = []string{"action", "api", "app", "call", "command", "data", "do", "endpoint", "execute",
	"function", "generic", "get", "handle", "handler", "helper", "helpers", "info", "invoke", "item", "items",
	"main", "manage", "manager", "method", "misc", "object", "operation", "perform", "process", "request",
	"resource", "run", "service", "stuff", "task", "thing", "things", "tool", "util", "utility", "utils",
	"wrapper"}

// checkPairs compares every two names. Names are reduced once, and compared in buckets where equality says it all.
func checkPairs(tools []*contract.Tool) contract.Problems {
	var found contract.Problems
	reduced := make([][]string, len(tools))
	for i, t := range tools {
		reduced[i] = splitWords(t.Name)
	}
	for i, t := range tools {
		for j, other := range tools[:i] {
			if why := nearNames(reduced[j], reduced[i]); why != "" && other.Name != t.Name {
				near := advise(t, "name-near", "/name", "a name that says how the two differ, or one tool for both",
					fmt.Sprintf("%s and %s differ only in %s", t.Name, other.Name, why))
				found = append(found, between(near, other))
			}
		}
	}
	return found
}

// nearNames says in what two names differ when it is next to nothing; else it returns "".
func nearNames(a, b []string) string {
	if len(a) > len(b) {
		a, b = b, a
	}
	switch {
	case len(b)-len(a) > 1:
		return ""
	case len(a) == len(b):
		return nearWords(a, b)
	case len(a) > 0 && slices.Equal(a, b[:len(a)]) && slices.Contains(emptyEndings, b[len(a)]):
		return fmt.Sprintf("the word %q, which says little", b[len(a)])
	}
	return ""
}

// emptyEndings are last words that do not tell a tool from the one without them.
var emptyEndings = []string{"data", "detail", "details", "info", "information", "item", "new", "object", "one",
	"record", "result", "results", "tool", "v1", "v2", "v3", "1", "2", "3"}

func nearWords(a, b []string) string {
	differing := -1
	for i := range a {
		if a[i] == b[i] {
			continue
		}
		if differing >= 0 {
			return nearSets(a, b)
		}
		differing = i
	}
	if differing < 0 {
		return "how they are spelt"
	}
	return nearWord(a[differing], b[differing])
}

func nearSets(a, b []string) string {
	if slices.Equal(slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b))) {
		return "the order of the words"
	}
	return ""
}

// minNearWord is how long words are of which a single letter makes no other word.
const minNearWord = 5

func nearWord(a, b string) string {
	switch {
	case stem(a) == stem(b):
		return fmt.Sprintf("the forms %q and %q of one word", a, b)
	case synonymous(a, b):
		return fmt.Sprintf("the words %q and %q, which mean the same", a, b)
	case min(len(a), len(b)) >= minNearWord && nearest.Within(a, b, 1):
		return fmt.Sprintf("a letter of %q and %q", a, b)
	}
	return ""
}

// synonyms are verbs that models and people take for one another.
var synonyms = [][]string{
	{"get", "fetch", "retrieve", "read", "load", "lookup"},
	{"delete", "remove", "erase", "destroy"},
	{"create", "make", "new"},
	{"update", "edit", "modify", "change"},
	{"find", "search", "query"},
	{"run", "execute", "invoke"},
}

func synonymous(a, b string) bool {
	return slices.ContainsFunc(synonyms, func(words []string) bool {
		return slices.Contains(words, a) && slices.Contains(words, b)
	})
}

// checkNameStyle finds the tools that do not spell their names as most do. Where no way has more than half of the
// names, nobody is in the wrong.
func checkNameStyle(tools []*contract.Tool) contract.Problems {
	counts, styled := map[string]int{}, 0
	for _, t := range tools {
		if style := nameStyle(t.Name); style != "" {
			counts[style]++
			styled++
		}
	}
	var found contract.Problems
	for _, t := range tools {
		style := nameStyle(t.Name)
		for usual, count := range counts {
			if style != "" && style != usual && count*2 > styled {
				found = append(found, advise(t, "name-style", "/name", usual,
					fmt.Sprintf("%s is spelt in %s, unlike %d of the server's tools", t.Name, style, count)))
			}
		}
	}
	return found
}

// nameStyle returns how the words of a name are told apart; "" when it has one word. Dots group names and are of no
// style.
func nameStyle(name string) string {
	switch {
	case strings.Contains(name, "_"):
		return "snake_case"
	case strings.Contains(name, "-"):
		return "kebab-case"
	}
	for _, part := range strings.Split(name, ".") {
		if len(splitWords(part)) > 1 {
			return "camelCase"
		}
	}
	return ""
}

func checkTitles(tools []*contract.Tool) contract.Problems {
	var found contract.Problems
	first := map[string]*contract.Tool{}
	for _, t := range tools {
		title, pointer := t.Title, "/title"
		if title == "" && t.Annotations.Title != "" {
			title, pointer = t.Annotations.Title, "/annotations/title"
		}
		key := strings.ToLower(title)
		switch other := first[key]; {
		case title == "":
			found = append(found, advise(t, "title-missing", "", `a "title" of a few words`,
				"the tool has no name for people"))
		case other != nil:
			same := advise(t, "title-same", pointer, "a title of its own",
				fmt.Sprintf("%s has the title %q, too", other.Name, title))
			found = append(found, between(same, other))
		default:
			first[key] = t
		}
	}
	return found
}
