package schema

import "strings"

// maxCompared keeps the comparison of names, which is quadratic in their length, cheap.
const maxCompared = 64

// nearest returns the allowed name that a misspelt one most likely stands for, or "" when none is near: within a third
// of its length in edits, at most three.
func nearest(name string, allowed []string) string {
	best, bestDistance := "", 4
	for _, candidate := range allowed {
		if len(candidate) > maxCompared || len(name) > maxCompared {
			continue
		}
		d := editDistance(foldName(name), foldName(candidate))
		if d < bestDistance && d <= max(1, len(candidate)/3) {
			best, bestDistance = candidate, d
		}
	}
	return best
}

// foldName drops what differs between naming styles, so that project_key stands near projectKey.
func foldName(name string) []rune {
	return []rune(strings.ToLower(strings.NewReplacer("_", "", "-", "", " ", "").Replace(name)))
}

// editDistance counts insertions, deletions, replacements and swaps of neighbours (optimal string alignment).
func editDistance(a, b []rune) int {
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range row {
		last[j] = j
	}
	for i := range a {
		row[0] = i + 1
		for j := range b {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			row[j+1] = min(last[j+1]+1, row[j]+1, last[j]+cost)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}
