package schema

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

const (
	// maxNesting is how deep arrays and objects may lie inside one another.
	maxNesting = 256
	// maxValues is how many values there may be in one text, itself and all that lies in it included.
	maxValues = 100_000
	// maxNumberLength and maxExponent keep exact arithmetic cheap; a double needs no more than 25 characters and ±324.
	maxNumberLength = 1000
	maxExponent     = 330
	// maxFaults ends a parse that finds nothing but faults.
	maxFaults = 100
)

// fault is what is wrong with a text as JSON, before any schema is looked at.
type fault struct {
	path    []step
	message string
}

// step is one step down into a value: a member's name, or an item's index where name is empty and item is set.
type step struct {
	name  string
	index int
	item  bool
}

// span is the place of a value in its text.
type span struct{ start, end int }

// parser reads one JSON text in a single pass: exact numbers, no member given twice, bounded nesting. The standard
// decoder takes the last of two equal names silently.
type parser struct {
	data   []byte
	pos    int
	path   []step
	values int
	faults []fault
	spans  map[string]span // by JSON pointer; nil when nobody asks
	// known are the names that are likely to occur; nil when there are none. Most members of a value have one, and need
	// no text of their own.
	known *vocabulary
	// mistakable reports that a member has a name that differs only in case from one of those.
	mistakable bool
}

// parse returns the value with numbers as json.Number, or what is wrong with the text.
func parse(data []byte) (any, []fault) {
	p := parser{data: data}
	return p.document(), p.faults
}

// parseWithSpans also says where each value lies, by its JSON pointer.
func parseWithSpans(data []byte) (any, map[string]span, []fault) {
	p := parser{data: data, spans: map[string]span{}}
	return p.document(), p.spans, p.faults
}

func (p *parser) document() any {
	value, ok := p.value()
	if !ok {
		return nil
	}
	if p.space(); p.pos < len(p.data) {
		p.syntax("has text after its end")
		return nil
	}
	return value
}

// syntax records a fault after which reading cannot go on; it returns false.
func (p *parser) syntax(what string) bool {
	p.faults = append(p.faults, fault{message: fmt.Sprintf("is not valid JSON: it %s (at byte %d)", what, p.pos)})
	return false
}

// note records a fault and lets reading go on, until there are too many.
func (p *parser) note(format string, args ...any) bool {
	path := append([]step(nil), p.path...)
	p.faults = append(p.faults, fault{path, fmt.Sprintf(format, args...)})
	return len(p.faults) < maxFaults
}

func (p *parser) space() {
	for p.pos < len(p.data) {
		switch p.data[p.pos] {
		case ' ', '\t', '\n', '\r':
			p.pos++
		default:
			return
		}
	}
}

// next skips white space and returns the byte there, or 0 at the end.
func (p *parser) next() byte {
	p.space()
	if p.pos == len(p.data) {
		return 0
	}
	return p.data[p.pos]
}

func (p *parser) value() (any, bool) {
	c := p.next()
	if p.values++; p.values > maxValues {
		p.faults = []fault{{message: fmt.Sprintf("is too large to check; at most %d values are allowed, with all members "+
			"and items", maxValues)}}
		return nil, false
	}
	if p.spans == nil {
		return p.valueAt(c)
	}
	start := p.pos
	value, ok := p.valueAt(c)
	p.spans[pointerTo(p.path)] = span{start, p.pos}
	return value, ok
}

func (p *parser) valueAt(c byte) (any, bool) {
	switch {
	case c == '{':
		return p.object()
	case c == '[':
		return p.array()
	case c == '"':
		return p.string()
	case c == '-' || isDigit(c):
		return p.number()
	}
	return p.literal()
}

func (p *parser) literal() (any, bool) {
	rest := p.data[p.pos:]
	for _, l := range [...]struct {
		text  string
		value any
	}{{"true", true}, {"false", false}, {"null", nil}} {
		if len(rest) >= len(l.text) && string(rest[:len(l.text)]) == l.text {
			p.pos += len(l.text)
			return l.value, true
		}
	}
	if len(rest) == 0 {
		return nil, p.syntax("ends too early")
	}
	return nil, p.syntax("has an unexpected character where a value should be")
}

func (p *parser) descend() bool {
	if len(p.path) < maxNesting {
		return true
	}
	message := fmt.Sprintf("is nested too deeply; at most %d levels are allowed", maxNesting)
	p.faults = append(p.faults, fault{message: message}) // its path would be longer than any message
	return false
}

func (p *parser) object() (any, bool) {
	if !p.descend() {
		return nil, false
	}
	p.pos++
	object := map[string]any{}
	if p.next() == '}' {
		p.pos++
		return object, true
	}
	for {
		if ok := p.member(object); !ok {
			return nil, false
		}
		switch p.next() {
		case ',':
			p.pos++
		case '}':
			p.pos++
			return object, true
		default:
			return nil, p.syntax("lacks a comma or brace in an object")
		}
	}
}

func (p *parser) member(object map[string]any) bool {
	if p.next() != '"' {
		return p.syntax("lacks a member's name in an object")
	}
	name, ok := p.text()
	if !ok {
		return false
	}
	if p.next() != ':' {
		return p.syntax("lacks a colon after a member's name")
	}
	p.pos++
	p.mistakable = p.mistakable || p.known != nil && p.known.mayMistake(name)
	p.path = append(p.path, step{name: name})
	defer p.up()
	if _, twice := object[name]; twice && !p.note("is given twice") {
		return false
	}
	value, ok := p.value()
	object[name] = value
	return ok
}

func (p *parser) up() { p.path = p.path[:len(p.path)-1] }

func (p *parser) array() (any, bool) {
	if !p.descend() {
		return nil, false
	}
	p.pos++
	array := []any{}
	if p.next() == ']' {
		p.pos++
		return array, true
	}
	for {
		p.path = append(p.path, step{index: len(array), item: true})
		item, ok := p.value()
		p.up()
		if !ok {
			return nil, false
		}
		array = append(array, item)
		switch p.next() {
		case ',':
			p.pos++
		case ']':
			p.pos++
			return array, true
		default:
			return nil, p.syntax("lacks a comma or bracket in an array")
		}
	}
}

func (p *parser) string() (any, bool) {
	text, ok := p.text()
	return text, ok
}

// text reads the string that starts at the current byte.
func (p *parser) text() (string, bool) {
	end, plain := endOfString(p.data, p.pos)
	if end < 0 {
		return "", p.syntax("has a string without an end")
	}
	quoted := p.data[p.pos:end]
	if !utf8.Valid(quoted) {
		return "", p.syntax("has a string that is not UTF-8")
	}
	if plain {
		p.pos = end
		inner := quoted[1 : len(quoted)-1]
		if p.known != nil {
			if name, known := p.known.names[string(inner)]; known {
				return name, true
			}
		}
		return string(inner), true
	}
	var text string
	if err := json.Unmarshal(quoted, &text); err != nil {
		return "", p.syntax("has a string with a wrong escape or a control character")
	}
	p.pos = end
	return text, true
}

// endOfString finds the end of the string that starts at start, -1 if there is none. A plain string means what it
// says, without escapes or control characters.
func endOfString(data []byte, start int) (end int, plain bool) {
	plain = true
	for i := start + 1; i < len(data); i++ {
		switch c := data[i]; {
		case c == '"':
			return i + 1, plain
		case c == '\\':
			plain = false
			i++
		case c < ' ':
			plain = false
		}
	}
	return -1, false
}

func (p *parser) number() (any, bool) {
	start := p.pos
	for p.pos < len(p.data) && strings.IndexByte("+-.0123456789Ee", p.data[p.pos]) >= 0 {
		p.pos++
	}
	text := string(p.data[start:p.pos])
	exponent, ok := scanNumber(text)
	if !ok {
		p.pos = start
		return nil, p.syntax("has a malformed number")
	}
	if len(text) > maxNumberLength || len(exponent) > 6 || exponentBeyond(exponent) {
		ok := p.note("has too many digits; at most %d and an exponent within ±%d are allowed", maxNumberLength, maxExponent)
		return json.Number("0"), ok
	}
	return json.Number(text), true
}

func exponentBeyond(exponent string) bool {
	if exponent == "" {
		return false
	}
	n, err := strconv.Atoi(exponent)
	return err != nil || n > maxExponent || n < -maxExponent
}

// scanNumber checks the grammar of RFC 8259, section 6, and returns the exponent's text, if there is one.
func scanNumber(s string) (exponent string, ok bool) {
	s = strings.TrimPrefix(s, "-")
	whole := digits(s)
	if whole == 0 || whole > 1 && s[0] == '0' {
		return "", false
	}
	s = s[whole:]
	if strings.HasPrefix(s, ".") {
		n := digits(s[1:])
		if n == 0 {
			return "", false
		}
		s = s[1+n:]
	}
	if s == "" {
		return "", true
	}
	if s[0] != 'e' && s[0] != 'E' {
		return "", false
	}
	exponent = s[1:]
	unsigned := strings.TrimLeft(exponent, "+-")
	if len(exponent)-len(unsigned) > 1 || unsigned == "" || digits(unsigned) != len(unsigned) {
		return "", false
	}
	return exponent, true
}

func digits(s string) int {
	n := 0
	for n < len(s) && isDigit(s[n]) {
		n++
	}
	return n
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }
