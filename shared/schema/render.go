package schema

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/big"
	"strings"
)

const (
	// maxShown is how many characters of a value, maxNote how many of a description a message shows.
	maxShown = 80
	maxNote  = 160
	// maxListed is how many characters the list of what is allowed may have, maxPath how many a path.
	maxListed = 1000
	maxPath   = 400
	// maxSentence is for what bounds itself in the ordinary course, such as a pattern.
	maxSentence = 1500
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

// shorten cuts a text to n characters.
func shorten(text string, n int) string {
	if len(text) <= n {
		return text
	}
	last, count := 0, 0
	for i := range text {
		if count++; count == n {
			last = i
		} else if count > n {
			return text[:last] + "…"
		}
	}
	return text
}

// shortenMiddle cuts what lies between the beginning and the end of a text, to n bytes or fewer.
func shortenMiddle(text string, n int) string {
	if len(text) <= n {
		return text
	}
	begin, end := text[:n/2-1], text[len(text)-n/2+2:]
	return strings.ToValidUTF8(begin, "") + "…" + strings.ToValidUTF8(end, "")
}

// listed joins what is allowed. Of a long list it names the nearest, if there is one, the first ones and the number.
func listed(texts []string, nearest string) string {
	length := 0
	for _, text := range texts {
		length += len(text) + len(", ")
	}
	if length <= maxListed {
		return strings.Join(texts, ", ")
	}
	shown := nearest
	for _, text := range texts {
		switch {
		case text == nearest:
			continue
		case shown == "":
			shown = shorten(text, maxShown)
			continue
		case len(shown) > maxListed/2:
			return fmt.Sprintf("%s, … (%d in all)", shown, len(texts))
		}
		shown += ", " + shorten(text, maxShown)
	}
	return shown
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
