package schema

import (
	"bytes"
	"encoding/json"
	"math/big"
	"strings"
	"unicode/utf8"
)

const (
	// maxShown is how many characters of a value, maxNote how many of a description a message shows.
	maxShown = 80
	maxNote  = 160
)

// fullJSON writes a value as JSON, as a model would have to write it.
func fullJSON(v any) string {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		return "?"
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func jsonTexts(values []any) []string {
	texts := make([]string, len(values))
	for i, v := range values {
		texts[i] = fullJSON(v)
	}
	return texts
}

func shortJSON(v any) string { return shorten(fullJSON(v), maxShown) }

// shorten cuts a text to about n characters.
func shorten(text string, n int) string {
	if utf8.RuneCountInString(text) <= n {
		return text
	}
	return string([]rune(text)[:n-1]) + "…"
}

// shortRaw shows a value as it was written, on one line. What is long is cut before it is made compact.
func shortRaw(raw []byte) string {
	var b bytes.Buffer
	if len(raw) < 16*maxShown && json.Compact(&b, raw) == nil {
		return shorten(b.String(), maxShown)
	}
	cut := raw[:min(len(raw), 16*maxShown)]
	return shorten(strings.Join(strings.Fields(strings.ToValidUTF8(string(cut), "")), " "), maxShown)
}

func oneLine(text string) string {
	return shorten(strings.Join(strings.Fields(text), " "), maxNote)
}

// decimal writes a number without a fraction bar. Every number of a schema is a decimal, so this is exact.
func decimal(r *big.Rat) string {
	n, _ := r.FloatPrec()
	return r.FloatString(n)
}
