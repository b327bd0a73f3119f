package contract

import (
	"bytes"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// document is one file as it was read, right or wrong.
type document struct {
	data []byte
	// root is nil when the file is no JSON object.
	root *node
	// tool and server are what the file says, as far as it could be read; one of them, or neither without a root.
	tool   *Tool
	server *Server
	// suppress is what the file says of its own warnings, and problems are all that were found, suppressed or not.
	suppress []Suppression
	problems Problems
}

// document returns what the checker has read and found so far.
func (c *checker) document() *document {
	return &document{data: c.data, root: c.root, problems: c.found()}
}

// unsuppressed returns the problems without those that the file suppresses.
func (d *document) unsuppressed() Problems {
	return slices.DeleteFunc(slices.Clone(d.problems), func(p Problem) bool { return isCovered(p, d.suppress) })
}

// region returns where the value of a JSON Pointer is.
func (d *document) region(pointer string) Region {
	if d.root == nil {
		return Region{}
	}
	var r Region
	start, end := d.root.locate(pointer)
	r.Line, r.Column = position(d.data, start)
	r.EndLine, r.EndColumn = position(d.data, end)
	return r
}

// Region is a part of a file. Lines and columns are counted from 1, columns in characters; EndColumn is behind the last
// one. It is the zero value when the place is not known.
type Region struct{ Line, Column, EndLine, EndColumn int }

// locate returns where a JSON Pointer leads to: from the key of a member on, to the end of its value or, where that is
// an object or an array, of its key. The whole file is at its beginning, and what is missing is where it would be: at
// the nearest that is there.
func (n *node) locate(pointer string) (start, end int) {
	start, end = n.start, n.start+1
	if pointer == "" {
		return start, end
	}
	for token := range strings.SplitSeq(strings.TrimPrefix(pointer, "/"), "/") {
		key := strings.ReplaceAll(strings.ReplaceAll(token, "~1", "/"), "~0", "~")
		next, at, after := n.step(key)
		if next == nil {
			break
		}
		n, start, end = next, at, after
	}
	return start, end
}

// step follows one token of a JSON Pointer; nil when it leads nowhere. Of a key that comes twice the last one is meant,
// as in most readers, and in the report that it comes twice.
func (n *node) step(key string) (next *node, start, end int) {
	if i, err := strconv.Atoi(key); err == nil && 0 <= i && i < len(n.items) {
		next = n.items[i]
		return next, next.start, next.end(next.start + 1)
	}
	for _, m := range slices.Backward(n.members) {
		if m.key == key {
			return m.value, m.start, m.value.end(m.start + len(m.rawKey))
		}
	}
	return nil, 0, 0
}

// end is where a value ends; of one with parts of its own it is otherwise, since a region of many lines shows nothing.
func (n *node) end(otherwise int) int {
	if n.members != nil || n.items != nil {
		return otherwise
	}
	return n.start + len(n.raw)
}

// position says where a byte is, in lines and columns as editors count them.
func position(data []byte, at int) (line, column int) {
	before := data[:min(at, len(data))]
	line = bytes.Count(before, []byte("\n")) + 1
	return line, utf8.RuneCount(before[bytes.LastIndexByte(before, '\n')+1:]) + 1
}
