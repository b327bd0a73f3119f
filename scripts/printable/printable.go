// Package printable shows in a terminal what somebody else wrote. Whoever can send a request can have his text in the
// logs, and a terminal obeys what is in it: escape sequences, the C1 controls that stand for them, overrides of the
// direction of writing, returns to the beginning of a line.
//
// What comes out has nothing but runes that unicode.IsPrint reports, and the line feeds that the functions name.
package printable

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// escape is how Line writes a rune, or a byte that is no UTF-8. Backslashes of paths, patterns and JSON are not
// doubled, so that such lines stay what they are; only one that looks like an escape is escaped itself.
var escape = regexp.MustCompile(`\\[ux]\{`)

// Line is text as one line: \u{1b} stands for a rune that does not print, a line feed too, \x{ff} for a byte that is no
// UTF-8. No two texts give the same line.
func Line(text string) string {
	if strings.IndexFunc(text, unprintable) < 0 && !escape.MatchString(text) {
		return text
	}
	var line strings.Builder
	for at := 0; at < len(text); {
		r, size := utf8.DecodeRuneInString(text[at:])
		switch {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&line, `\x{%x}`, text[at])
		case !unicode.IsPrint(r), r == '\\' && escape.MatchString(text[at:min(len(text), at+3)]):
			fmt.Fprintf(&line, `\u{%x}`, r)
		default:
			line.WriteRune(r)
		}
		at += size
	}
	return line.String()
}

// unprintable holds U+FFFD for what may be a byte that is no UTF-8.
func unprintable(r rune) bool { return r == utf8.RuneError || !unicode.IsPrint(r) }

// Lines is text as a line for each of its own, with indent before all but the first, so that none of them looks like
// one of the program's. A carriage return ends a line like a line feed does, since Python's tracebacks in Lambda's logs
// have it so, and their blanks that do not break are blanks; a tab is four, since those of Go have tabs.
func Lines(text, indent string) string {
	text = strings.NewReplacer("\r\n", "\n", "\r", "\n", "\t", "    ", "\u00a0", " ").Replace(text)
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		lines[i] = Line(line)
	}
	return strings.Join(lines, "\n"+indent)
}

// Word is text as one word: as it is, or quoted like a string of Go's where that would not be one word, or would not
// print, or would look quoted.
func Word(text string) string {
	if text == "" || strings.ContainsAny(text, ` "`) || strings.IndexFunc(text, unprintable) >= 0 {
		return strconv.Quote(text)
	}
	return text
}

// JSON is the same value in JSON, and on the same lines: what does not print is escaped as JSON has it. Line feeds
// stay, since in valid JSON they are between values and not in them.
func JSON(text []byte) []byte {
	var out []byte
	for at := 0; at < len(text); {
		r, size := utf8.DecodeRune(text[at:])
		at += size
		switch {
		case r == '\t', r == '\r': // between values, where a blank is as good
			out = append(out, ' ')
		case r == '\n', unicode.IsPrint(r):
			out = utf8.AppendRune(out, r)
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			out = fmt.Appendf(out, `\u%04x\u%04x`, high, low)
		default:
			out = fmt.Appendf(out, `\u%04x`, r)
		}
	}
	return out
}
