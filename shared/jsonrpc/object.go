package jsonrpc

import (
	"bytes"
	"encoding/json"
	"unicode/utf8"
)

// MaxDepth is how deeply a message may be nested. It is far past what a tool call needs, and far below what a recursive
// reader behind us could not take.
const MaxDepth = 128

// Member is one member of a JSON object; Value is the bytes as they were sent.
type Member struct {
	Key   string
	Value json.RawMessage
}

// Unambiguous says whether data is one JSON value that every reader understands alike: UTF-8, no key twice in one
// object, nested at most MaxDepth deep. It is for what is no message but comes from outside, too.
func Unambiguous(data []byte) error {
	if err := validate(data); err != nil {
		return err
	}
	return unambiguous(data)
}

// Members splits a valid JSON object into its members, in order. A key that comes twice is refused, since readers
// differ in which one counts (RFC 8259, section 4).
func Members(object json.RawMessage) ([]Member, error) {
	s := scanner{data: object}
	s.space()
	if s.pos >= len(s.data) || s.data[s.pos] != '{' {
		return nil, Errorf(CodeInvalidRequest, "Invalid request: not a JSON object")
	}
	var seen keySet
	var twice *Error
	members := make([]Member, 0, 8)
	s.members(func(key []byte, value json.RawMessage) {
		if !seen.add(key) && twice == nil {
			twice = duplicate(key)
		}
		members = append(members, Member{Key: string(key), Value: value})
	})
	if twice != nil {
		return nil, twice
	}
	return members, nil
}

// validate says whether body is one JSON value.
func validate(body []byte) error {
	if len(bytes.TrimLeft(body, " \t\r\n")) == 0 {
		return Errorf(CodeParseError, "Parse error: the body is empty")
	}
	if !utf8.Valid(body) {
		return Errorf(CodeParseError, "Parse error: the body is not UTF-8")
	}
	if !json.Valid(body) {
		return Errorf(CodeParseError, "Parse error: the body is not one JSON value")
	}
	return nil
}

// unambiguous says whether body, which is one JSON value, is one that every reader understands alike.
func unambiguous(body []byte) error {
	s := scanner{data: body}
	s.space()
	return s.check(0)
}

func duplicate(key []byte) *Error {
	return Errorf(CodeInvalidRequest, "Invalid request: the key %q comes twice in one object", shorten(string(key)))
}

func firstByte(body []byte) byte {
	trimmed := bytes.TrimLeft(body, " \t\r\n")
	return trimmed[0]
}

// scanner walks JSON that is known to be valid.
type scanner struct {
	data []byte
	pos  int
}

// check walks the value at the position and refuses what readers may understand differently.
func (s *scanner) check(depth int) error {
	if depth > MaxDepth {
		return Errorf(CodeInvalidRequest, "Invalid request: nested more than %d levels deep", MaxDepth)
	}
	switch s.data[s.pos] {
	case '{':
		return s.checkObject(depth)
	case '[':
		for s.enter(']') {
			if err := s.check(depth + 1); err != nil {
				return err
			}
		}
		return nil
	}
	s.skip()
	return nil
}

func (s *scanner) checkObject(depth int) error {
	var seen keySet
	for s.enter('}') {
		key := s.key()
		if !seen.add(key) {
			return duplicate(key)
		}
		if err := s.check(depth + 1); err != nil {
			return err
		}
	}
	return nil
}

// members calls member for each member of the object that the data is.
func (s *scanner) members(member func(key []byte, value json.RawMessage)) {
	s.space()
	for s.enter('}') {
		key := s.key()
		start := s.pos
		s.skip()
		member(key, s.data[start:s.pos:s.pos])
	}
}

// keySet holds the keys of one object. Few are compared one with another, which allocates nothing; many go into a map,
// so that an object made of nothing but keys costs no more than its size.
type keySet struct {
	few   [16][]byte
	count int
	many  map[string]struct{}
}

// add reports whether the key is new.
func (k *keySet) add(key []byte) bool {
	if k.many != nil {
		_, twice := k.many[string(key)]
		k.many[string(key)] = struct{}{}
		return !twice
	}
	for _, known := range k.few[:k.count] {
		if bytes.Equal(known, key) {
			return false
		}
	}
	if k.count < len(k.few) {
		k.few[k.count] = key
		k.count++
		return true
	}
	k.many = make(map[string]struct{}, 4*len(k.few))
	for _, known := range k.few {
		k.many[string(known)] = struct{}{}
	}
	k.many[string(key)] = struct{}{}
	return true
}

// enter moves from the opening bracket or a finished element to the next one, and reports whether there is one. After
// the last it moves past the closing bracket.
func (s *scanner) enter(closing byte) bool {
	s.space()
	if s.data[s.pos] == closing {
		s.pos++
		return false
	}
	s.pos++ // the opening bracket, or the comma
	s.space()
	if s.data[s.pos] == closing {
		s.pos++
		return false
	}
	return true
}

// key reads a member's key and moves to its value. The bytes are the message's own where they can be.
func (s *scanner) key() []byte {
	start := s.pos
	plain := s.skipString()
	raw := s.data[start:s.pos]
	s.space()
	s.pos++ // the colon
	s.space()
	if plain {
		return raw[1 : len(raw)-1]
	}
	var key string
	if err := json.Unmarshal(raw, &key); err != nil {
		return raw
	}
	return []byte(key)
}

// skip moves past the value at the position.
func (s *scanner) skip() {
	switch s.data[s.pos] {
	case '"':
		s.skipString()
	case '{':
		for s.enter('}') {
			s.skipString()
			s.space()
			s.pos++
			s.space()
			s.skip()
		}
	case '[':
		for s.enter(']') {
			s.skip()
		}
	default:
		for s.pos < len(s.data) && !isDelimiter(s.data[s.pos]) {
			s.pos++
		}
	}
}

// skipString moves past the string at the position and reports whether it holds no escapes.
func (s *scanner) skipString() (plain bool) {
	plain = true
	for s.pos++; s.data[s.pos] != '"'; s.pos++ {
		if s.data[s.pos] == '\\' {
			plain = false
			s.pos++
		}
	}
	s.pos++
	return plain
}

func (s *scanner) space() {
	for s.pos < len(s.data) {
		switch s.data[s.pos] {
		case ' ', '\t', '\r', '\n':
			s.pos++
		default:
			return
		}
	}
}

func isDelimiter(c byte) bool {
	switch c {
	case ',', '}', ']', ' ', '\t', '\r', '\n':
		return true
	}
	return false
}
