package contract

import "strings"

// nearest returns the word of known that someone most likely meant by word, or "" when none is close: one that word
// begins, or one that a few letters turn into word.
func nearest(word string, known []string) string {
	best, bestDistance := "", len(word)/3+1
	for _, k := range known {
		if len(word) > 2 && strings.HasPrefix(k, word) {
			return k
		}
		if d := distance(word, k); d <= bestDistance && (best == "" || d < bestDistance) {
			best, bestDistance = k, d
		}
	}
	return best
}

// distance is the number of letters to insert, delete or replace to make b of a; capital letters count as small ones.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			replace := diagonal
			if lower(a[i]) != lower(b[j]) {
				replace++
			}
			diagonal = row[j+1]
			row[j+1] = min(replace, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}

func lower(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		return c + 'a' - 'A'
	}
	return c
}
