package ledger

import (
	"crypto/sha256"
	"encoding/json"
	"slices"
)

// dryRunArgument is the member that turns a call into its rehearsal, of the same arguments otherwise.
const dryRunArgument = "dryRun"

// ArgumentError says which argument has no canonical form.
type ArgumentError struct {
	// Member is readable: items[0].sku; the value as a whole is called "arguments".
	Member string
	// Problem completes the sentence that Member begins.
	Problem string
	// Allowed says what to send instead; empty when Problem does.
	Allowed string
}

// Error is a text a model can act on.
func (e *ArgumentError) Error() string {
	text := e.Member + " " + e.Problem
	if e.Allowed != "" {
		text += "; allowed: " + e.Allowed
	}
	return text
}

// Digest is the SHA-256 of the canonical form of a call's arguments (RFC 8785), as the client sent them, the top-level
// member dryRun left out. Empty arguments are an empty object. Spellings of one value have one digest; different values
// never do: what the canonical form would merge, such as integers beyond 2^53 that no double holds, is refused with an
// *ArgumentError.
func Digest(arguments json.RawMessage) ([32]byte, error) {
	canonical, err := canonicalArguments(arguments)
	if err != nil {
		return [32]byte{}, err
	}
	return sha256.Sum256(canonical), nil
}

func canonicalArguments(arguments json.RawMessage) ([]byte, error) {
	if len(arguments) == 0 {
		return []byte("{}"), nil
	}
	root, err := parseJSON(arguments)
	if err != nil {
		return nil, err
	}
	if root.kind != '{' {
		return nil, &ArgumentError{Member: "arguments", Problem: "are not an object", Allowed: "a JSON object"}
	}
	root.members = slices.DeleteFunc(root.members, func(m jsonMember) bool { return m.name == dryRunArgument })
	return root.append(make([]byte, 0, len(arguments))), nil
}
