package tracker

import (
	"fmt"
	"strings"
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
		if len(text) > 1 && strings.Contains(name, text) {
			return true
		}
		for _, part := range append(strings.Fields(name), name) {
			if distance(text, part) <= len([]rune(part))/3 {
				return true
			}
		}
	}
	return false
}

// distance is how many letters have to be added, removed, replaced or swapped with their neighbour to make b of a
// (optimal string alignment).
func distance(a, b string) int {
	from, to := []rune(a), []rune(b)
	table := make([][]int, len(from)+1)
	for i := range table {
		table[i] = make([]int, len(to)+1)
		table[i][0] = i
	}
	for j := range table[0] {
		table[0][j] = j
	}
	for i := 1; i <= len(from); i++ {
		for j := 1; j <= len(to); j++ {
			replaced := table[i-1][j-1]
			if from[i-1] != to[j-1] {
				replaced++
			}
			table[i][j] = min(replaced, table[i-1][j]+1, table[i][j-1]+1)
			if i > 1 && j > 1 && from[i-1] == to[j-2] && from[i-2] == to[j-1] {
				table[i][j] = min(table[i][j], table[i-2][j-2]+1)
			}
		}
	}
	return table[len(from)][len(to)]
}
