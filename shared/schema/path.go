package schema

import (
	"strconv"
	"strings"
)

// pointerTo writes a path as a JSON pointer (RFC 6901).
func pointerTo(path []step) string {
	var b strings.Builder
	for _, s := range path {
		b.WriteByte('/')
		if s.item {
			b.WriteString(strconv.Itoa(s.index))
		} else {
			b.WriteString(escapeToken(s.name))
		}
	}
	return b.String()
}

func escapeToken(name string) string {
	return strings.ReplaceAll(strings.ReplaceAll(name, "~", "~0"), "/", "~1")
}

func unescapeToken(token string) string {
	return strings.ReplaceAll(strings.ReplaceAll(token, "~1", "/"), "~0", "~")
}

func joinPointer(pointer string, tokens ...string) string {
	for _, t := range tokens {
		pointer += "/" + escapeToken(t)
	}
	return pointer
}

// lookup follows a JSON pointer into a value. It reports false where the pointer leads nowhere.
func lookup(value any, pointer string) (any, bool) {
	for _, token := range strings.Split(pointer, "/")[1:] {
		next, found := child(value, unescapeToken(token))
		if !found {
			return nil, false
		}
		value = next
	}
	return value, true
}

func child(value any, token string) (any, bool) {
	switch v := value.(type) {
	case map[string]any:
		member, found := v[token]
		return member, found
	case []any:
		i, err := strconv.Atoi(token)
		if err != nil || i < 0 || i >= len(v) {
			return nil, false
		}
		return v[i], true
	}
	return nil, false
}

// stepsIn tells names from indexes in a location: the tokens alone cannot, the value they lead through can.
func stepsIn(value any, location []string) []step {
	steps := make([]step, len(location))
	for i, token := range location {
		steps[i] = step{name: token}
		if _, array := value.([]any); array {
			index, _ := strconv.Atoi(token)
			steps[i] = step{index: index, item: true}
		}
		value, _ = child(value, token)
	}
	return steps
}

// tokensOf is the location that stepsIn reads.
func tokensOf(path []step) []string {
	tokens := make([]string, len(path))
	for i, s := range path {
		tokens[i] = s.name
		if s.item {
			tokens[i] = strconv.Itoa(s.index)
		}
	}
	return tokens
}

// readablePath writes a path as people and models write it: items[0].sku. The value as a whole is called subject,
// and a name that would be misread is quoted: items["unit price"]. What is too long is cut, its middle first.
func readablePath(subject string, path []step) string {
	if len(path) == 0 {
		return subject
	}
	var b strings.Builder
	for i, s := range path {
		name := shorten(s.name, maxShown)
		switch {
		case s.item:
			b.WriteString("[" + strconv.Itoa(s.index) + "]")
		case !isPlainName(name):
			b.WriteString("[" + strconv.Quote(name) + "]")
		default:
			if i > 0 {
				b.WriteByte('.')
			}
			b.WriteString(name)
		}
	}
	text := b.String()
	if strings.HasPrefix(text, "[") {
		text = subject + text
	}
	return shortenMiddle(text, maxPath)
}

func isPlainName(name string) bool {
	for _, r := range name {
		letter := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
		if !letter && r != '_' && r != '-' && r != '$' {
			return false
		}
	}
	return name != ""
}
