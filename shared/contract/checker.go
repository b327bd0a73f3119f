package contract

import (
	"fmt"
	"slices"
	"strings"
)

// checker collects the problems of one file.
type checker struct {
	file string
	data []byte
	// root is the file's object; nil when it is none.
	root     *node
	problems Problems
	// broken holds the pointers whose type or value is already known to be wrong. Nothing more is said about them and
	// what lies below: what follows from a fault is noise.
	broken map[string]bool
}

// newChecker reads the file as JSON.
func newChecker(file string, data []byte) *checker {
	c := &checker{file: file, data: data, broken: map[string]bool{}}
	c.root = c.readTree()
	return c
}

// report adds a problem. The rule's severity comes from the table of rules.
func (c *checker) report(id, pointer, allowed, format string, args ...any) {
	if c.isBroken(pointer) {
		return
	}
	c.problems = append(c.problems, problem(c.file, id, pointer, allowed, fmt.Sprintf(format, args...)))
}

// reportAt adds a problem of the byte at an offset, in a file whose values cannot be told apart.
func (c *checker) reportAt(at int, id, allowed, format string, args ...any) {
	p := problem(c.file, id, "", allowed, fmt.Sprintf(format, args...))
	p.Line, p.Column = position(c.data, at)
	c.problems = append(c.problems, p)
}

// found returns all problems in their order, each with its place in the file.
func (c *checker) found() Problems {
	for i, p := range c.problems {
		if c.root != nil && p.Line == 0 {
			start, _ := c.root.locate(p.Pointer)
			c.problems[i].Line, c.problems[i].Column = position(c.data, start)
		}
	}
	return c.problems.sorted()
}

func (c *checker) isBroken(pointer string) bool {
	for ; pointer != ""; pointer = pointer[:strings.LastIndexByte(pointer, '/')] {
		if c.broken[pointer] {
			return true
		}
	}
	return false
}

func (c *checker) reported(id, pointer string) bool {
	return slices.ContainsFunc(c.problems, func(p Problem) bool { return p.ID == id && p.Pointer == pointer })
}

func problem(file, id, pointer, allowed, message string) Problem {
	severity := SeverityError
	if rule, ok := Explain(id); ok {
		severity = rule.Severity
	}
	return Problem{File: file, Pointer: pointer, ID: id, Message: message, Allowed: allowed, Severity: severity}
}

// has reports whether the author wrote the field that keys lead to.
func (c *checker) has(keys ...string) bool { return c.root.at(keys...) != nil }

// require reports a top-level field that is missing.
func (c *checker) require(key, allowed string) {
	if !c.has(key) {
		c.report("missing-field", child("", key), allowed, "the field %q is missing", key)
	}
}
