package contract

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
)

// node is one JSON value with its bytes as written. encoding/json alone loses what the checks need: the order of keys,
// the spelling of numbers, keys that come twice.
type node struct {
	raw     json.RawMessage
	start   int      // where raw begins in the file
	members []member // of an object, in order, repeated keys included
	items   []*node  // of an array
}

type member struct {
	key    string
	rawKey json.RawMessage
	start  int // where rawKey begins in the file
	value  *node
}

// kind is the JSON type of a value, in the words of messages.
type kind string

const (
	kindObject  kind = "an object"
	kindArray   kind = "an array"
	kindString  kind = "a string"
	kindNumber  kind = "a number"
	kindBoolean kind = "a boolean"
	kindNull    kind = "null"
)

func (n *node) kind() kind {
	switch n.raw[0] {
	case '{':
		return kindObject
	case '[':
		return kindArray
	case '"':
		return kindString
	case 't', 'f':
		return kindBoolean
	case 'n':
		return kindNull
	}
	return kindNumber
}

// at follows keys through objects and returns nil where one is missing. It may be called on nil.
func (n *node) at(keys ...string) *node {
	for _, key := range keys {
		if n == nil {
			return nil
		}
		n = n.member(key)
	}
	return n
}

func (n *node) member(key string) *node {
	for _, m := range n.members {
		if m.key == key {
			return m.value
		}
	}
	return nil
}

// text returns the value of a string, and "" for anything else, nil included.
func (n *node) text() string {
	if n == nil || n.kind() != kindString {
		return ""
	}
	return unquote(n.raw)
}

// isTrue reports whether the value is the literal true. It may be called on nil.
func (n *node) isTrue() bool { return n != nil && n.raw[0] == 't' }

// child returns the JSON Pointer of a member or an item.
func child(pointer, key string) string {
	key = strings.ReplaceAll(key, "~", "~0")
	return pointer + "/" + strings.ReplaceAll(key, "/", "~1")
}

func item(pointer string, i int) string { return pointer + "/" + strconv.Itoa(i) }

// parseTree reads JSON that is known to be valid.
func parseTree(data []byte) *node {
	r := treeReader{data: data}
	return r.value()
}

type treeReader struct {
	data []byte
	pos  int
}

func (r *treeReader) value() *node {
	r.space()
	start, n := r.pos, &node{start: r.pos}
	switch r.data[r.pos] {
	case '{':
		for r.next('}') {
			n.members = append(n.members, r.memberHere())
		}
	case '[':
		for r.next(']') {
			n.items = append(n.items, r.value())
		}
	case '"':
		r.str()
	default:
		r.literal()
	}
	n.raw = r.data[start:r.pos:r.pos]
	return n
}

func (r *treeReader) memberHere() member {
	start := r.pos
	raw := r.str()
	r.space()
	r.pos++ // the colon
	return member{key: unquote(raw), rawKey: raw, start: start, value: r.value()}
}

// next moves past the opening bracket or a comma to the next element; past the closing bracket when there is none. At
// the opening bracket and at a comma one step leads on; an empty object or array closes only after it.
func (r *treeReader) next(closing byte) bool {
	r.space()
	if r.data[r.pos] != closing {
		r.pos++
		r.space()
		if r.data[r.pos] != closing {
			return true
		}
	}
	r.pos++
	return false
}

func (r *treeReader) str() json.RawMessage {
	start := r.pos
	for r.pos++; r.data[r.pos] != '"'; r.pos++ {
		if r.data[r.pos] == '\\' {
			r.pos++
		}
	}
	r.pos++
	return r.data[start:r.pos:r.pos]
}

func (r *treeReader) literal() {
	for r.pos < len(r.data) && strings.IndexByte(",]} \t\r\n", r.data[r.pos]) < 0 {
		r.pos++
	}
}

func (r *treeReader) space() {
	for r.pos < len(r.data) && strings.IndexByte(" \t\r\n", r.data[r.pos]) >= 0 {
		r.pos++
	}
}

// unquote decodes a JSON string that is known to be valid.
func unquote(raw json.RawMessage) string {
	if bytes.IndexByte(raw, '\\') < 0 {
		return string(raw[1 : len(raw)-1])
	}
	var s string
	// A valid string cannot fail to decode.
	_ = json.Unmarshal(raw, &s)
	return s
}
