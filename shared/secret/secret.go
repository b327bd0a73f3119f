// Package secret gives a tool the secrets that its contract declares.
//
// A Source is the seam between a tool and where secrets are kept. On one machine that is a git-ignored file:
//
//	secrets := secret.NewCache(secret.File(os.Getenv("PATCHBAY_SECRETS_FILE")), secret.CacheOptions{})
//
// in the tool's main, which is the only place that reads the environment. What is fetched is a Value, which shows
// itself to no log and no error text.
package secret

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
)

// ErrNotFound is in the error of a Source that has no secret of that name.
var ErrNotFound = errors.New("no such secret")

// Source fetches secrets by the name that the contract declares.
type Source interface {
	// Get returns the secret of that name. The error is ErrNotFound (by errors.Is) when there is none, and otherwise
	// says why the source could not be read. No error contains a secret. It is safe for concurrent use.
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
