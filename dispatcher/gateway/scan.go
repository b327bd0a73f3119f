package gateway

import (
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf16"
	"unicode/utf8"
)

// A fieldError says which field of an event is wrong.
type fieldError struct {
	path    string
	problem string
}

func (e *fieldError) Error() string {
	if e.path == "" {
		return "gateway event: " + e.problem
	}
	return "gateway event: " + e.path + ": " + e.problem
}

// inside puts the name of the enclosing member before the path of err.
func inside(key string, err error) error {
	if field, ok := err.(*fieldError); ok {
		field.path = strings.TrimSuffix(key+"."+field.path, ".")
	}
	return err
}

func fieldErrorf(path, format string, args ...any) error {
	return &fieldError{path: path, problem: fmt.Sprintf(format, args...)}
}

// scanner reads an event once, from left to right, and decodes only what is asked for. An event holds every header
// twice and much else that nobody reads; encoding/json spends most of its time there. Values that are skipped are not
// checked beyond their brackets and quotes, since the runtime has checked the event already.
type scanner struct {
	data   string
	pos    int
	values []string // room for the lists that many returns
}

// object calls member for each member of the object at the position; member must consume the value. A null has no
// members.
func (s *scanner) object(member func(key string) error) error {
	if s.null() {
		return nil
	}
	if err := s.expect('{', "an object"); err != nil {
		return err
	}
	for first := true; ; first = false {
		if more, err := s.next('}', first); err != nil || !more {
			return err
		}
		key, err := s.text()
		if err != nil {
			return err
		}
		if err := s.expect(':', "a colon"); err != nil {
			return inside(key, err)
		}
		if err := member(key); err != nil {
			return inside(key, err)
		}
	}
}

// list calls element for each element of the array at the position. A null has no elements.
func (s *scanner) list(element func() error) error {
	if s.null() {
		return nil
	}
	if err := s.expect('[', "a list"); err != nil {
		return err
	}
	for first := true; ; first = false {
		if more, err := s.next(']', first); err != nil || !more {
			return err
		}
		if err := element(); err != nil {
			return err
		}
	}
}

// next moves to the following member or element and reports whether there is one.
func (s *scanner) next(closing byte, first bool) (bool, error) {
	switch c := s.peek(); {
	case c == closing:
		s.pos++
		return false, nil
	case first:
		return true, nil
	}
	return true, s.expect(',', "a comma or a closing bracket")
}

func (s *scanner) expect(c byte, what string) error {
	if s.peek() != c {
		return s.unexpected(what)
	}
	s.pos++
	return nil
}

// peek moves past white space and returns the byte there; 0 at the end.
func (s *scanner) peek() byte {
	for ; s.pos < len(s.data); s.pos++ {
		switch c := s.data[s.pos]; c {
		case ' ', '\t', '\r', '\n':
		default:
			return c
		}
	}
	return 0
}

func (s *scanner) unexpected(wanted string) error {
	if s.pos >= len(s.data) {
		return fieldErrorf("", "want %s, got the end of the event", wanted)
	}
	return fieldErrorf("", "want %s, got %q at byte %d", wanted, s.data[s.pos], s.pos)
}

func (s *scanner) null() bool {
	if s.peek() != 'n' || !strings.HasPrefix(s.data[s.pos:], "null") {
		return false
	}
	s.pos += len("null")
	return true
}

// text reads a string; null is the empty one.
func (s *scanner) text() (string, error) {
	if s.null() {
		return "", nil
	}
	raw, plain, err := s.quoted()
	if err != nil || plain {
		return raw, err
	}
	b, err := unescape(raw)
	return string(b), err
}

// quoted moves past a string and returns what is between its quotes; plain says that it holds no escapes.
func (s *scanner) quoted() (raw string, plain bool, err error) {
	if err := s.expect('"', "a string"); err != nil {
		return "", false, err
	}
	start, plain := s.pos, true
	for ; s.pos < len(s.data); s.pos++ {
		switch s.data[s.pos] {
		case '"':
			s.pos++
			return s.data[start : s.pos-1], plain, nil
		case '\\':
			plain = false
			s.pos++
		}
	}
	return "", false, s.unexpected("a closing quote")
}

// flag reads a boolean; null is false.
func (s *scanner) flag() (bool, error) {
	raw, err := s.value()
	if err != nil {
		return false, err
	}
	switch raw {
	case "true":
		return true, nil
	case "false", "null":
		return false, nil
	}
	return false, fieldErrorf("", "want true or false, got %s", shorten(raw))
}

// milliseconds reads a time as milliseconds since the Unix epoch; null is the zero time.
func (s *scanner) milliseconds() (time.Time, error) {
	raw, err := s.value()
	if err != nil || raw == "null" {
		return time.Time{}, err
	}
	n, err := strconv.ParseInt(raw, 10, 64)
	if err != nil {
		return time.Time{}, fieldErrorf("", "want milliseconds since 1970, got %s", shorten(raw))
	}
	return time.UnixMilli(n), nil
}

// scalar reads a string, number or boolean as text. ok is false for what is none of them.
func (s *scanner) scalar() (text string, ok bool, err error) {
	switch s.peek() {
	case '"':
		text, err = s.text()
		return text, true, err
	case '{', '[', 'n':
		return "", false, s.skip()
	}
	raw, err := s.value()
	return raw, true, err
}

// value moves past any value and returns its bytes.
func (s *scanner) value() (string, error) {
	s.peek()
	start := s.pos
	err := s.skip()
	return s.data[start:min(s.pos, len(s.data))], err
}

// skip moves past any value. It counts brackets instead of descending, so that no event is too deep.
func (s *scanner) skip() error {
	switch s.peek() {
	case '"':
		_, _, err := s.quoted()
		return err
	case '{', '[':
		return s.skipNested()
	}
	start := s.pos
	for s.pos < len(s.data) && !delimiter(s.data[s.pos]) {
		s.pos++
	}
	if s.pos == start {
		return s.unexpected("a value")
	}
	return nil
}

// delimiter reports whether c ends a number or a word.
func delimiter(c byte) bool {
	switch c {
	case ',', ':', ']', '}', '[', '{', '"', ' ', '\t', '\r', '\n':
		return true
	}
	return false
}

func (s *scanner) skipNested() error {
	for depth := 0; s.pos < len(s.data); {
		switch s.data[s.pos] {
		case '"':
			if _, _, err := s.quoted(); err != nil {
				return err
			}
			continue
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		}
		s.pos++
		if depth == 0 {
			return nil
		}
	}
	return s.unexpected("a closing bracket")
}

// unescape decodes the inside of a JSON string. Bytes that are not UTF-8 stay as they are, so that whoever reads the
// body sees what was sent.
func unescape(raw string) ([]byte, error) {
	out := make([]byte, 0, len(raw))
	for {
		i := strings.IndexByte(raw, '\\')
		if i < 0 {
			return append(out, raw...), nil
		}
		out = append(out, raw[:i]...)
		c, size := escape(raw[i:])
		if size == 0 {
			return nil, fieldErrorf("", "a string holds an escape that is not JSON")
		}
		out = utf8.AppendRune(out, c)
		raw = raw[i+size:]
	}
}

// escape decodes the escape at the start of raw; the size is 0 when there is none.
func escape(raw string) (c rune, size int) {
	if len(raw) < 2 {
		return 0, 0
	}
	switch raw[1] {
	case '"', '\\', '/':
		return rune(raw[1]), 2
	case 'b':
		return '\b', 2
	case 'f':
		return '\f', 2
	case 'n':
		return '\n', 2
	case 'r':
		return '\r', 2
	case 't':
		return '\t', 2
	case 'u':
		return unicodeEscape(raw)
	}
	return 0, 0
}

// unicodeEscape decodes \uXXXX, and two of them where they are a surrogate pair. Half a pair is U+FFFD, as in
// encoding/json.
func unicodeEscape(raw string) (c rune, size int) {
	const one, two = len(`\uXXXX`), len(`\uXXXX\uXXXX`)
	c, ok := hexadecimal(raw)
	if !ok {
		return 0, 0
	}
	if !utf16.IsSurrogate(c) {
		return c, one
	}
	low, ok := hexadecimal(raw[one:])
	if pair := utf16.DecodeRune(c, low); ok && pair != utf8.RuneError {
		return pair, two
	}
	return utf8.RuneError, one
}

// hexadecimal reads the number of the \uXXXX at the start of raw.
func hexadecimal(raw string) (rune, bool) {
	if len(raw) < len(`\uXXXX`) || raw[0] != '\\' || raw[1] != 'u' {
		return 0, false
	}
	n, err := strconv.ParseUint(raw[2:6], 16, 32)
	return rune(n), err == nil
}

func shorten(raw string) string {
	const enough = 40
	if len(raw) > enough {
		return raw[:enough] + "…"
	}
	return raw
}
