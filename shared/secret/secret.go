// Package secret gives a tool the secrets that its contract declares.
//
//	secrets, err := secret.Open(os.Getenv)
//
// in the tool's main, which is the only place that reads the environment, chooses where they are kept: in AWS Secrets
// Manager and Parameter Store, or on one machine in a git-ignored file. Secrets are fetched when they are first asked
// for and kept for five minutes, so ask again for every use: a rotated secret then counts within that time. What is
// fetched is a Value, which shows itself to no log and no error text.
//
// A secret is its whole text. Where that is JSON, as Secrets Manager's own rotation functions write it, the tool
// decodes it: a part of a secret has no name of its own in a contract.
//
// Only tools that declare secrets import this package: it links the clients of both services.
package secret

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
)

// Errors that callers tell apart with errors.Is.
var (
	// ErrNotFound is in the error of a Source that has no secret of that name.
	ErrNotFound = errors.New("no such secret")
	// ErrUnavailable is in the error of a Source that is out of order or out of reach: it has not said that there is no
	// such secret, or that it may not be read.
	ErrUnavailable = errors.New("secrets are unavailable")
)

// Source fetches secrets by the name that the contract declares.
type Source interface {
	// Get returns the secret of that name. The error is ErrNotFound (by errors.Is) when there is none, ErrUnavailable
	// when it may be there at another time, and otherwise says why it cannot be read. No error contains a secret. It is
	// safe for concurrent use.
	Get(ctx context.Context, name string) (Value, error)
}

// Value is a secret. However it is printed, logged or encoded, only a mask appears; Reveal is for the one place that
// sends it. The zero Value is the empty secret.
type Value struct {
	// A pointer, because fmt prints unexported fields of other structs without asking their methods.
	text *string
}

// NewValue makes a Value of a secret's text; it is what the implementation of a Source returns.
func NewValue(text string) Value { return Value{text: &text} }

// Reveal returns the secret itself.
func (v Value) Reveal() string {
	if v.text == nil {
		return ""
	}
	return *v.text
}

const mask = "[secret]"

// String returns a mask.
func (Value) String() string { return mask }

// Format writes a mask for every verb, so that %q, %x and %#v are as safe as %s.
func (Value) Format(state fmt.State, _ rune) { _, _ = io.WriteString(state, mask) }

// LogValue returns a mask.
func (Value) LogValue() slog.Value { return slog.StringValue(mask) }

// MarshalText returns a mask, so that a secret inside a struct is not written out as JSON.
func (Value) MarshalText() ([]byte, error) { return []byte(mask), nil }
