package schema

import (
	"bytes"
	"encoding/json"
)

// These walk over text without building values. They trust it to be JSON no further than to stay inside it and to end;
// whoever uses them parses the text as well.

func skipSpace(data []byte, pos int) int {
	for pos < len(data) && (data[pos] == ' ' || data[pos] == '\t' || data[pos] == '\n' || data[pos] == '\r') {
		pos++
	}
	return pos
}

func byteAt(data []byte, pos int) byte {
	if pos >= len(data) {
		return 0
	}
	return data[pos]
}

// skipValue returns the end of the value at pos, or -1.
func skipValue(data []byte, pos int) int {
	switch byteAt(data, pos) {
	case '"':
		return skipString(data, pos)
	case '{', '[':
		return skipNested(data, pos)
	}
	start := pos
	for pos < len(data) && !endsScalar(data[pos]) {
		pos++
	}
	if pos == start {
		return -1
	}
	return pos
}

func endsScalar(c byte) bool {
	switch c {
	case ',', ':', '{', '}', '[', ']', '"', ' ', '\t', '\n', '\r':
		return true
	}
	return false
}

// skipString is endOfString for one who does not read the string.
func skipString(data []byte, start int) int {
	for pos := start + 1; ; {
		quote := bytes.IndexByte(data[pos:], '"')
		if quote < 0 {
			return -1
		}
		escapes := 0
		for pos+quote-escapes > start+1 && data[pos+quote-escapes-1] == '\\' {
			escapes++
		}
		pos += quote + 1
		if escapes%2 == 0 {
			return pos
		}
	}
}

func skipNested(data []byte, pos int) int {
	for depth := 0; pos < len(data); {
		switch data[pos] {
		case '"':
			if pos = skipString(data, pos); pos < 0 {
				return -1
			}
			continue
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return pos + 1
			}
		}
		pos++
	}
	return -1
}

// readName returns the member's name that starts at pos, and the start of its value.
func readName(data []byte, pos int) (name string, value int, ok bool) {
	if byteAt(data, pos) != '"' {
		return "", 0, false
	}
	end, plain := endOfString(data, pos)
	if end < 0 {
		return "", 0, false
	}
	name = string(data[pos+1 : end-1])
	if !plain && json.Unmarshal(data[pos:end], &name) != nil {
		return "", 0, false
	}
	end = skipSpace(data, end)
	if byteAt(data, end) != ':' {
		return "", 0, false
	}
	return name, skipSpace(data, end+1), true
}

// locate finds the value that a path leads to.
func locate(data []byte, path []step) (span, bool) {
	pos := skipSpace(data, 0)
	for _, st := range path {
		next, found := locateStep(data, pos, st)
		if !found {
			return span{}, false
		}
		pos = next
	}
	end := skipValue(data, pos)
	return span{pos, end}, end >= 0
}

func locateStep(data []byte, pos int, st step) (int, bool) {
	found := -1
	visit := func(name string, index, value int) int {
		if found < 0 && (st.item && index == st.index || !st.item && name == st.name) {
			found = value
			return -1
		}
		return skipValue(data, value)
	}
	if st.item {
		eachItem(data, pos, func(index, value int) int { return visit("", index, value) })
	} else {
		eachMember(data, pos, func(name string, value int) int { return visit(name, -1, value) })
	}
	return found, found >= 0
}

// eachMember calls visit for every member of the object at pos; visit returns the end of the value, or -1 to stop. The
// result is the place of the closing brace, or -1 when there is no well-formed end.
func eachMember(data []byte, pos int, visit func(name string, value int) int) int {
	if byteAt(data, pos) != '{' {
		return -1
	}
	pos = skipSpace(data, pos+1)
	if byteAt(data, pos) == '}' {
		return pos
	}
	for {
		name, value, ok := readName(data, pos)
		if !ok {
			return -1
		}
		end := visit(name, value)
		if end < 0 {
			return -1
		}
		pos = skipSpace(data, end)
		switch byteAt(data, pos) {
		case '}':
			return pos
		case ',':
			pos = skipSpace(data, pos+1)
		default:
			return -1
		}
	}
}

// eachItem is eachMember for the array at pos.
func eachItem(data []byte, pos int, visit func(index, value int) int) int {
	if byteAt(data, pos) != '[' {
		return -1
	}
	pos = skipSpace(data, pos+1)
	if byteAt(data, pos) == ']' {
		return pos
	}
	for i := 0; ; i++ {
		end := visit(i, pos)
		if end < 0 {
			return -1
		}
		pos = skipSpace(data, end)
		switch byteAt(data, pos) {
		case ']':
			return pos
		case ',':
			pos = skipSpace(data, pos+1)
		default:
			return -1
		}
	}
}
