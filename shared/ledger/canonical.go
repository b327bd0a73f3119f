package ledger

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// jsonNode is a JSON value in canonical form. Source: RFC 8785.
type jsonNode struct {
	kind     byte         // '{', '[' or 0 for all others
	scalar   []byte       // the canonical text of all others
	members  []jsonMember // sorted
	elements []jsonNode
}

type jsonMember struct {
	name  string
	value jsonNode
}

// parseJSON reads a JSON text that is within I-JSON, as RFC 8785 demands: valid UTF-8, no lone surrogates, no duplicate
// names, and only numbers that keep their value as doubles. The error is an *ArgumentError.
func parseJSON(source []byte) (jsonNode, error) {
	if !json.Valid(source) {
		return jsonNode{}, &ArgumentError{Member: "arguments", Problem: "are not valid JSON"}
	}
	if !utf8.Valid(source) {
		return jsonNode{}, &ArgumentError{Member: "arguments", Problem: "are not valid UTF-8"}
	}
	p := jsonParser{source: source}
	root, problem := p.value()
	if problem != nil {
		return jsonNode{}, problem.named()
	}
	return root, nil
}

// jsonParser reads a text that is known to be valid JSON.
type jsonParser struct {
	source []byte
	at     int
}

func (p *jsonParser) skipSpace() {
	for p.at < len(p.source) && strings.IndexByte(" \t\r\n", p.source[p.at]) >= 0 {
		p.at++
	}
}

// next skips space and then one byte, which it returns.
func (p *jsonParser) next() byte {
	p.skipSpace()
	p.at++
	return p.source[p.at-1]
}

func (p *jsonParser) value() (jsonNode, *jsonProblem) {
	switch c := p.next(); c {
	case '{':
		return p.object()
	case '[':
		return p.array()
	case '"':
		s, problem := p.text()
		return jsonNode{scalar: appendJSONString(nil, s)}, problem
	default:
		p.at--
		return p.scalar()
	}
}

func (p *jsonParser) object() (jsonNode, *jsonProblem) {
	node := jsonNode{kind: '{'}
	for c := p.next(); c != '}'; c = p.next() {
		if c == ',' {
			p.next()
		}
		name, problem := p.text()
		if problem != nil {
			return node, problem
		}
		p.next() // the colon
		value, problem := p.value()
		if problem != nil {
			return node, problem.in("." + name)
		}
		node.members = append(node.members, jsonMember{name, value})
	}
	return node, node.sort()
}

// sort puts the members in the order of their names' UTF-16 code units. Source: RFC 8785, section 3.2.3.
func (n *jsonNode) sort() *jsonProblem {
	slices.SortFunc(n.members, func(a, b jsonMember) int { return compareUTF16(a.name, b.name) })
	for i := 1; i < len(n.members); i++ {
		if name := n.members[i].name; name == n.members[i-1].name {
			return newJSONProblem("is there twice").in("." + name)
		}
	}
	return nil
}

func (p *jsonParser) array() (jsonNode, *jsonProblem) {
	node := jsonNode{kind: '['}
	for p.skipSpace(); p.source[p.at] != ']'; p.skipSpace() {
		if p.source[p.at] == ',' {
			p.at++
		}
		value, problem := p.value()
		if problem != nil {
			return node, problem.in("[" + strconv.Itoa(len(node.elements)) + "]")
		}
		node.elements = append(node.elements, value)
	}
	p.at++
	return node, nil
}

// scalar is a number, true, false or null.
func (p *jsonParser) scalar() (jsonNode, *jsonProblem) {
	start := p.at
	for p.at < len(p.source) && strings.IndexByte(" \t\r\n,]}", p.source[p.at]) < 0 {
		p.at++
	}
	literal := p.source[start:p.at]
	if literal[0] >= 'a' {
		return jsonNode{scalar: literal}, nil
	}
	number, problem := canonicalNumber(string(literal))
	return jsonNode{scalar: number}, problem
}

// text is the rest of a string, after its opening quote.
func (p *jsonParser) text() (string, *jsonProblem) {
	var out []byte
	for {
		c := p.source[p.at]
		p.at++
		switch c {
		case '"':
			return string(out), nil
		case '\\':
			r := p.escape()
			if utf16.IsSurrogate(r) {
				return "", newJSONProblem("has a string with half of a surrogate pair")
			}
			out = utf8.AppendRune(out, r)
		default:
			out = append(out, c)
		}
	}
}

// escape is the character of an escape sequence, after its backslash; a surrogate when its other half is missing.
func (p *jsonParser) escape() rune {
	c := p.source[p.at]
	p.at++
	if c != 'u' {
		return rune("\"\\/\b\f\n\r\t"[strings.IndexByte(`"\/bfnrt`, c)])
	}
	r := p.hex()
	if !utf16.IsSurrogate(r) || p.source[p.at] != '\\' || p.source[p.at+1] != 'u' {
		return r
	}
	p.at += 2
	if pair := utf16.DecodeRune(r, p.hex()); pair != utf8.RuneError {
		return pair
	}
	return r
}

func (p *jsonParser) hex() rune {
	n, _ := strconv.ParseUint(string(p.source[p.at:p.at+4]), 16, 16) // The text is valid JSON.
	p.at += 4
	return rune(n)
}

// jsonProblem is an ArgumentError on its way up to the root. steps are the path to the member, the last step first.
type jsonProblem struct {
	steps            []string
	problem, allowed string
}

func newJSONProblem(problem string) *jsonProblem { return &jsonProblem{problem: problem} }

func (p *jsonProblem) in(step string) *jsonProblem {
	p.steps = append(p.steps, step)
	return p
}

// maxShownMember bounds the member's path in a text.
const maxShownMember = 200

func (p *jsonProblem) named() *ArgumentError {
	slices.Reverse(p.steps)
	member := strings.TrimPrefix(strings.Join(p.steps, ""), ".")
	if len(member) > maxShownMember {
		member = strings.ToValidUTF8(member[:maxShownMember], "") + "…"
	}
	if member == "" {
		member = "arguments"
	}
	return &ArgumentError{Member: member, Problem: p.problem, Allowed: p.allowed}
}

func (n *jsonNode) append(out []byte) []byte {
	switch n.kind {
	case '{':
		out = append(out, '{')
		for i, m := range n.members {
			if i > 0 {
				out = append(out, ',')
			}
			out = append(appendJSONString(out, m.name), ':')
			out = m.value.append(out)
		}
		return append(out, '}')
	case '[':
		out = append(out, '[')
		for i := range n.elements {
			if i > 0 {
				out = append(out, ',')
			}
			out = n.elements[i].append(out)
		}
		return append(out, ']')
	}
	return append(out, n.scalar...)
}

// appendJSONString escapes what must be escaped and nothing else. Source: RFC 8785, section 3.2.2.2.
func appendJSONString(out []byte, s string) []byte {
	out = append(out, '"')
	for i := range len(s) {
		c := s[i]
		switch at := strings.IndexByte("\b\t\n\f\r\"\\", c); {
		case at >= 0:
			out = append(out, '\\', `btnfr"\`[at])
		case c < 0x20:
			out = fmt.Appendf(out, `\u%04x`, c)
		default:
			out = append(out, c)
		}
	}
	return append(out, '"')
}

// compareUTF16 compares by UTF-16 code units, in which a character beyond U+FFFF, being a pair of surrogates, comes
// before U+E000.
func compareUTF16(a, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	for n > 0 && (n < len(a) && !utf8.RuneStart(a[n]) || n < len(b) && !utf8.RuneStart(b[n])) {
		n--
	}
	if n == len(a) || n == len(b) {
		return len(a) - len(b)
	}
	x, _ := utf8.DecodeRuneInString(a[n:])
	y, _ := utf8.DecodeRuneInString(b[n:])
	return slices.Compare(utf16.Encode([]rune{x}), utf16.Encode([]rune{y}))
}
