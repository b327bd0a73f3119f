// Package order is what people order of the registrar, beside what CloudFormation does: to publish tools for functions
// that exist already. It is the form of the request and of the answer; package resource does what is ordered.
package order

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
)

const (
	// Version is that of the form of orders and answers.
	Version = 1
	// Alias is the registrar's alias by which people invoke it. An event that comes by it is an order and nothing else,
	// and an order that comes in another way is none: who has only the right to invoke the alias cannot send what
	// CloudFormation sends, and so cannot publish in the name of a stack.
	Alias = "operators"
	// MaxTools is how many tools one order may name, and MaxBytes how long it and its answer may be, as JSON; Lambda takes
	// 6 MB of either.
	MaxTools = 100
	MaxBytes = 5 << 20
)

// Order is what the registrar is to publish.
type Order struct {
	Version int `json:"version"`
	// Source is who publishes: see CheckSource.
	Source string `json:"source"`
	// Operator is who orders it, for the catalogue's history; the caller says so himself.
	Operator string `json:"operator,omitempty"`
	// Request is the same whenever one order is sent again, so that it is obeyed once.
	Request string `json:"request,omitempty"`
	// Tools are published beside the others that the source serves, or in their place.
	Tools   []Tool `json:"tools"`
	Replace bool   `json:"replace,omitempty"`
	// Publish makes the change. Without it the answer only says what it would be, or why it would be refused.
	Publish bool `json:"publish,omitempty"`
	// Live is the snapshot that an answer said is live, empty for none: a publish over another one is refused.
	Live string `json:"live,omitempty"`
}

// Tool is one tool of an order.
type Tool struct {
	// Contract is the text of its tool.json, and File what that is called in messages.
	Contract string `json:"contract"`
	File     string `json:"file"`
	// Function is the function's ARN with a version or an alias; empty where the contract names it.
	Function string `json:"function,omitempty"`
}

// Answer is what came of an order.
type Answer struct {
	Version int `json:"version"`
	// Refused is why nothing was published or would be, a line for each fault; empty for an order that is in order.
	Refused string `json:"refused,omitempty"`
	// Live is the snapshot that the source served when the order came, empty for none.
	Live string `json:"live,omitempty"`
	// Changes are in order of the tools' names, and Kept are the names of the source's tools that stay as they are.
	Changes []Change `json:"changes,omitempty"`
	Kept    []string `json:"kept,omitempty"`
	// Warnings are what is worth knowing, or could not be checked.
	Warnings []string `json:"warnings,omitempty"`
	// Snapshot is what was published; empty where nothing was, as where nothing changes.
	Snapshot string `json:"snapshot,omitempty"`
}

// Change is one tool's: Before is nil for one that is new, After for one that goes.
type Change struct {
	Name   string `json:"name"`
	Before *State `json:"before,omitempty"`
	After  *State `json:"after,omitempty"`
}

// State is all that is published of a tool. That of one that goes has its function alone.
type State struct {
	Function   string          `json:"function"`
	Definition json.RawMessage `json:"definition,omitempty"`
	// Contract is complete: what the file does not say has its default.
	Contract json.RawMessage `json:"contract,omitempty"`
}

// sourceName keeps the sources of people apart from stacks, whose ids have colons.
var sourceName = regexp.MustCompile(`^[a-z][a-z0-9-]{0,62}$`)

// CheckSource refuses a source under which people do not publish. They have names of their own, so that no order
// touches the tools of a stack, whose source is its id, or those of a local stack's folder.
func CheckSource(source string) error {
	if source == "local" {
		return errors.New(`source "local" is that of the local stack's own folder; take another name, as that of your team`)
	}
	if !sourceName.MatchString(source) {
		return fmt.Errorf("source %q; allowed: 1 to 63 of a-z 0-9 -, a letter first, as in maps-team", source)
	}
	return nil
}

// Check refuses an order that is none. What is wrong with its tools is told by who publishes them.
func (o Order) Check() error {
	if o.Version != Version {
		return fmt.Errorf("the order has version %d, and this registrar takes version %d: use the program of the server's "+
			"own release", o.Version, Version)
	}
	if err := CheckSource(o.Source); err != nil {
		return err
	}
	if len(o.Tools) < 1 || len(o.Tools) > MaxTools {
		return fmt.Errorf("the order names %d tools; allowed: 1 to %d", len(o.Tools), MaxTools)
	}
	return nil
}
