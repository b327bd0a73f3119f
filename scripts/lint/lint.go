// Package lint looks at contracts as their readers do: models that choose a tool by its definition, hosts and model
// APIs that take some schemas and not others, and clients. What the contract package checks stops a tool from being
// built or published; what is found here beside that is advice, told while the author writes.
package lint

import (
	"patchbay/shared/contract"
)

// Catalogue is what is looked at: every tool of a server, since some faults are between two of them.
type Catalogue struct {
	Server contract.Server
	// Tools are in the order of their names.
	Tools []*contract.Tool
	// Estimator counts tokens; never nil.
	Estimator Estimator
}

// Estimator counts the tokens of a text.
type Estimator interface {
	// Name says whose tokens are counted.
	Name() string
	Count(text string) (int, error)
}

// check is one look at a catalogue. What it finds names rules of Rules.
type check func(*Catalogue) contract.Problems
