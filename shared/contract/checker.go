package contract

import (
	"fmt"
	"slices"
	"strings"
)

// checker collects the problems of one file.
type checker struct {
	file     string
	root     *node
	problems Problems
	// broken holds the pointers whose type or value is already known to be wrong. Nothing more is said about them and
	// what lies below: what follows from a fault is noise.
	broken map[string]bool
}

func newChecker(file string) *checker {
	return &checker{file: file, broken: map[string]bool{}}
}

// report adds a problem. The rule's severity comes from the table of rules.
func (c *checker) report(id, pointer, allowed, format string, args ...any) {
	if c.isBroken(pointer) {
		return
	}
	c.problems = append(c.problems, problem(c.file, id, pointer, allowed, fmt.Sprintf(format, args...)))
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
