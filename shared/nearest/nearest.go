// Package nearest finds the known name that a misspelt one most likely stands for, so that an error can say it.
//
// Edits are counted in characters, not bytes: one is a character that is added, dropped or replaced, or two neighbours
// that have changed places (optimal string alignment).
package nearest

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	// maxEdits is where another name is no misspelling any more, however long it is.
	maxEdits = 3
	// maxCompared is the longest name that Name compares, in characters, since that takes the square of its length.
	maxCompared = 64
	// minBeginning is how many characters tell which name was begun.
	minBeginning = 3
)

// Name returns the known name that was most likely meant: the first of those with the fewest edits, which are at most
// three and a third of the known name; else the first that begins with the given one; else "". Capital letters and
// what separates words (underscore, hyphen, space) do not count, so that project_key stands for projectKey.
func Name(given string, known []string) string {
	name := fold(given)
	if len(name) == 0 || len(name) > maxCompared {
		return ""
	}
	best, fewest, begun := "", maxEdits+1, ""
	for _, candidate := range known {
		folded := fold(candidate)
		if len(folded) > maxCompared {
			continue
		}
		if edits := distance(name, folded); edits < fewest && edits <= allowed(len(folded)) {
			best, fewest = candidate, edits
		}
		if begun == "" && len(name) >= minBeginning && strings.HasPrefix(string(folded), string(name)) {
			begun = candidate
		}
	}
	if best == "" {
		return begun
	}
	return best
}

// allowed is how many edits a name of that many characters may be away: none where nothing of it would be left.
func allowed(length int) int {
	if length < 2 {
		return 0
	}
	return min(max(1, length/3), maxEdits)
}

// fold makes the ways to write a name alike.
func fold(name string) []rune {
	return []rune(strings.Map(func(r rune) rune {
		if r == '_' || r == '-' || r == ' ' {
			return -1
		}
		return unicode.ToLower(r)
	}, name))
}

// Within reports whether that many edits or fewer make b of a. Capital letters count. It takes time by the product of
// both lengths, but only where the lengths differ by no more than the edits.
func Within(a, b string, edits int) bool {
	longer := utf8.RuneCountInString(a) - utf8.RuneCountInString(b)
	return max(longer, -longer) <= edits && distance([]rune(a), []rune(b)) <= edits
}

// distance fills the table of edits between all beginnings of a and b row by row, of which it needs the last three.
func distance(a, b []rune) int {
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := range a {
		row[0] = i + 1
		for j := range b {
			replaced := last[j]
			if a[i] != b[j] {
				replaced++
			}
			row[j+1] = min(replaced, last[j+1]+1, row[j]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}
