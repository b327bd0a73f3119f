package tracker

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"patchbay/shared/nearest"
)

// maxNamed is how many names a text lists before it only counts the rest.
const maxNamed = 20

// didYouMean is a sentence with a space before it; empty without names.
func didYouMean(names []string) string {
	if len(names) == 0 {
		return ""
	}
	const most = 5
	return " Did you mean " + strings.Join(names[:min(len(names), most)], " or ") + "?"
}

// enumerate lists names for a sentence.
func enumerate(names []string) string {
	if len(names) == 0 {
		return "(none)"
	}
	if rest := len(names) - maxNamed; rest > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:maxNamed], ", "), rest)
	}
	return strings.Join(names, ", ")
}

// alike reports whether the text could be meant for one of the names: it is a part of the name, or one of few letters'
// difference from it or from one of its words.
func alike(text string, names ...string) bool {
	text = strings.ToLower(strings.TrimSpace(text))
	for _, name := range names {
		name = strings.ToLower(name)
		if utf8.RuneCountInString(text) > 1 && strings.Contains(name, text) {
			return true
		}
		for _, part := range append(strings.Fields(name), name) {
			if nearest.Within(text, part, utf8.RuneCountInString(part)/3) {
				return true
			}
		}
	}
	return false
}
