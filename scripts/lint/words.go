package lint

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// splitWords splits a name where its case changes and at everything that is no letter or digit, in small letters.
func splitWords(name string) []string {
	var words []string
	var word []rune
	end := func() {
		if len(word) > 0 {
			words = append(words, strings.ToLower(string(word)))
			word = nil
		}
	}
	lower := false
	for _, r := range name {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			end()
			continue
		}
		if unicode.IsUpper(r) && lower {
			end()
		}
		lower = !unicode.IsUpper(r)
		word = append(word, r)
	}
	end()
	return words
}

// stem takes the endings of plural and verb forms off a word, so that "creates" and "create", "issues" and "issue" are
// one. It need not give a word of the language, only the same one for both.
func stem(word string) string {
	for _, ending := range []string{"ing", "ies", "es", "ed", "s", "y"} {
		if rest, cut := strings.CutSuffix(word, ending); cut && len(rest) >= 3 {
			word = rest
			break
		}
	}
	return strings.TrimSuffix(strings.TrimSuffix(word, "e"), "i")
}

// contentStems returns the stems of a text's words without those that only hold a sentence together, each once, sorted.
func contentStems(text string) []string {
	var stems []string
	for _, word := range splitWords(text) {
		if !slices.Contains(fillers, word) {
			stems = append(stems, stem(word))
		}
	}
	slices.Sort(stems)
	return slices.Compact(stems)
}

// fillers are words that say nothing about what a tool does.
var fillers = []string{
	"a", "all", "an", "and", "any", "are", "as", "at", "be", "by", "can", "does", "for", "from", "function", "given", "in",
	"into", "is", "it", "its", "of", "on", "one", "or", "some", "that", "the", "their", "this", "to", "tool", "used",
	"which", "with", "you", "your",
}

// isEnglish reports whether a text may be judged by English words. What is plainly in another language is not: better
// to miss a fault than to invent one.
func isEnglish(text string) bool {
	letters, latin, foreign := 0, 0, map[string]bool{}
	for _, r := range text {
		if unicode.IsLetter(r) {
			letters++
			if unicode.Is(unicode.Latin, r) {
				latin++
			}
		}
	}
	for _, word := range splitWords(text) {
		if slices.Contains(foreignWords, word) {
			foreign[word] = true
		}
	}
	return latin*5 >= letters*4 && len(foreign) < 2
}

// foreignWords are frequent in the languages that share the Latin alphabet, and are no English words.
var foreignWords = []string{
	"aus", "das", "der", "ein", "eine", "einen", "einer", "für", "mit", "nicht", "oder", "und", "zu",
	"avec", "dans", "des", "est", "et", "les", "par", "pour", "une",
	"con", "del", "el", "la", "las", "los", "para", "que", "una", "y",
	"che", "dei", "della", "di", "il", "per", "com", "da", "do", "em", "os", "uma",
	"av", "det", "en", "ett", "het", "och", "op", "som", "van", "voor", "dla", "jest", "nie", "się",
}

// verb is what a name says that its tool does.
type verb int

const (
	verbUnknown verb = iota
	// A reading tool leaves things as they are.
	verbReading
	// A changing tool makes, changes or sends something.
	verbChanging
	// A destroying tool removes or replaces something; it is a changing one, too.
	verbDestroying
)

var verbs = map[verb][]string{
	verbReading: {"browse", "count", "describe", "fetch", "find", "get", "inspect", "list", "lookup", "peek", "query",
		"read", "retrieve", "search", "show", "view"},
	verbChanging: {"add", "approve", "archive", "assign", "book", "buy", "close", "create", "deploy", "disable",
		"dismiss", "edit", "enable", "fork", "grant", "insert", "invite", "mark", "merge", "modify", "move", "notify",
		"patch", "pay", "post", "publish", "push", "put", "register", "rename", "reply", "resolve", "save", "send", "set",
		"start", "stop", "submit", "transfer", "trigger", "update", "upload", "write"},
	verbDestroying: {"cancel", "clear", "delete", "destroy", "drop", "erase", "kill", "overwrite", "purge", "remove",
		"reset", "revoke", "terminate", "truncate", "uninstall", "unpublish", "wipe"},
}

// verbOf returns what the first word of a name that is a verb says; names like contacts_search have theirs at the end.
func verbOf(name string) (kind verb, word string) {
	for _, word := range splitWords(name) {
		if kind := kindOf(word); kind != verbUnknown {
			return kind, word
		}
	}
	return verbUnknown, ""
}

func kindOf(word string) verb {
	for kind, words := range verbs {
		if slices.Contains(words, word) {
			return kind
		}
	}
	return verbUnknown
}

// sayExample finds what shows a reader a value: an introduction, a quoted text, or a standard that fixes the form.
var sayExample = regexp.MustCompile(`(?i)\b(such as|for (example|instance)|e\.g|example|like|(ISO|RFC)[ -]?\d|IANA)\b` +
	"|\"[^\"]+\"|`[^`]+`|'[^' ]+'|“[^”]+”")
