// Package seal turns what a dispatcher must remember between the rounds of one call into requestState, the opaque text
// that the client carries. Nothing is stored; the text is encrypted and bound to the caller, the tool and the
// arguments, so that it opens for the very call that it was made for and for no other.
//
// Source: MCP 2026-07-28, basic/patterns/mrtr: a server has to treat a requestState that comes back as input from an
// attacker.
//
// # Format
//
//	pb1.<key id>.<base64url, without padding: salt (16 bytes) | nonce (12) | ciphertext | tag (16)>
//
// Every text has an AES-256-GCM key of its own, derived by HKDF-SHA256 from the key that the id names and the random
// salt. Two texts would have to share salt and nonce, 224 random bits, before anything could be learned from them, so
// there is no number of texts after which a key has to be replaced. The binding and the text's own head are the
// additional data. "pb1" is the version of all of this, of the sealed JSON too; a release reads what the one before it
// wrote.
package seal

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"patchbay/shared/principal"
)

// MaxBytes is the longest sealed text. It comes back with every retry, and some clients show or log it.
const MaxBytes = 16 << 10

// Errors that callers tell apart with errors.Is.
var (
	// ErrUnopenable is the one error for every text that is not a state of this binding: forged, altered, cut off, made
	// for somebody or something else, of another kind, of an unknown key. Its message is the same for each, and it is
	// never wrapped, since a reason would help nobody but a forger.
	ErrUnopenable = errors.New("requestState is not valid for this request")
	// ErrExpired comes with a State that is authentic and of this binding, but too old. It may serve to find the
	// recorded result of a call, never to run one.
	ErrExpired = errors.New("requestState has expired")
	// ErrContractChanged comes with a State that is authentic, of this binding and fresh, but was made under another
	// contract of the tool: what was agreed to then is not agreed to now.
	ErrContractChanged = errors.New("the tool's contract has changed since requestState was made")
	// ErrTooLarge means that what was to be sealed does not fit into MaxBytes.
	ErrTooLarge = errors.New("requestState is too large")
)

// Kind says what a State is good for.
type Kind string

// A state belongs to a round in which the tool asked for input, to a confirmation that the dispatcher asked for, or is
// the receipt of a dry run.
const (
	KindRound        Kind = "round"
	KindConfirmation Kind = "confirmation"
	KindReceipt      Kind = "receipt"
)

// Binding is what a sealed text belongs to. Opening it takes the same one.
type Binding struct {
	// Principal is the caller; of it counts what principal.Key says.
	Principal principal.Principal
	// Tool is the tool's name.
	Tool string
	// Arguments is a digest of the call's arguments. It must not be empty.
	Arguments []byte
	// Contract is a digest of the tool's contract. It must not be empty. A text of another contract opens, but only
	// with ErrContractChanged.
	Contract []byte
}

func (b Binding) check() error {
	if b.Tool == "" || len(b.Arguments) == 0 || len(b.Contract) == 0 {
		return errors.New("the binding lacks a tool, a digest of arguments or a digest of a contract")
	}
	return nil
}

// State is what a sealed text carries.
type State struct {
	Kind Kind
	// Key is K, the idempotency key of the logical call; empty when it has none yet.
	Key string
	// Confirmed says that the caller has already agreed to the call that this state belongs to.
	Confirmed bool
	// Asked are the input requests that went out with the text, by key.
	Asked map[string]Asked
	// Tool is the tool's own state.
	Tool string
	// Expires is when the text stops being good for anything but a replay, in whole seconds.
	Expires time.Time

	// Nonce is random and different in every sealed text. Seal makes it and ignores the one given.
	Nonce string
	// Issued is when the text was sealed, in whole seconds. Seal sets it.
	Issued time.Time
}

// Asked is one input request, as far as its answer has to fit it.
type Asked struct {
	// Method is the request's, for example "elicitation/create".
	Method string `json:"m"`
	// Schema is the requestedSchema of a form; nil for anything else.
	Schema json.RawMessage `json:"s,omitempty"`
}

// Options are the settings of a Sealer; the zero value is good.
type Options struct {
	// MaxAge is how long a key ring is used before it is read again; 0 means DefaultMaxAge.
	MaxAge time.Duration
	// MinInterval is how long after a reading an unknown key id does not cause another; 0 means DefaultMinInterval.
	MinInterval time.Duration
	// Stale is how long after MaxAge a ring is used on while its source says ErrUnavailable; 0 means DefaultStale.
	Stale time.Duration
	// Now tells the time; nil means time.Now.
	Now func() time.Time
	// Log gets a warning when a ring is used on; nil means slog.Default().
	Log *slog.Logger
}

// DefaultMaxAge, DefaultMinInterval and DefaultStale are what Options mean by 0. A key that was withdrawn opens nothing
// after the first of them, or after the first and the third where the source is out of order all that time; a stream of
// forged key ids costs one reading of the ring in each of the second.
const (
	DefaultMaxAge      = 5 * time.Minute
	DefaultMinInterval = 10 * time.Second
	DefaultStale       = time.Hour
)

// Sealer seals and opens. It is safe for concurrent use.
type Sealer struct {
	keys *keeper
	now  func() time.Time
}

// New makes a Sealer that takes its keys from a source. The source is first read when a key is needed.
func New(source Source, options Options) *Sealer {
	if options.MaxAge == 0 {
		options.MaxAge = DefaultMaxAge
	}
	if options.MinInterval == 0 {
		options.MinInterval = DefaultMinInterval
	}
	if options.Stale == 0 {
		options.Stale = DefaultStale
	}
	if options.Now == nil {
		options.Now = time.Now
	}
	return &Sealer{keys: newKeeper(source, options), now: options.Now}
}

// Seal returns the text of a state under the ring's primary key. The error is ErrTooLarge (by errors.Is) when the text
// would be longer than MaxBytes; it then says by how much and what to do, for the author of the tool. Any other means
// that the ring could not be read or that the caller made a mistake.
func (s *Sealer) Seal(ctx context.Context, binding Binding, state State) (string, error) {
	if err := binding.check(); err != nil {
		return "", fmt.Errorf("sealing requestState: %w", err)
	}
	payload, err := encode(binding, state, s.now())
	if err != nil {
		return "", fmt.Errorf("sealing requestState: %w", err)
	}
	if length := sealedLength(len(payload)); length > MaxBytes {
		return "", fmt.Errorf("%w: it would have %d bytes; allowed: %d. Ask for less at once and keep less from round to "+
			"round, or keep it in a state handle", ErrTooLarge, length, MaxBytes)
	}
	key, err := s.keys.primary(ctx)
	if err != nil {
		return "", fmt.Errorf("sealing requestState: %w", err)
	}
	return key.seal(binding, payload)
}

// Open returns the state of a text that a client sent, if it was sealed for the same binding and is of one of the kinds
// given; with none given, nothing opens. The error is
//
//   - ErrUnopenable, itself, with an empty State, for whatever is not such a text;
//   - ErrExpired or ErrContractChanged, with the State; ErrExpired when both apply, since it allows less;
//   - any other, with an empty State, when the key ring could not be read: nothing is known about the text then.
func (s *Sealer) Open(ctx context.Context, text string, binding Binding, kinds ...Kind) (State, error) {
	if err := binding.check(); err != nil {
		return State{}, fmt.Errorf("opening requestState: %w", err)
	}
	sealed, ok := parse(text)
	if !ok {
		return State{}, ErrUnopenable
	}
	key, ok, err := s.keys.find(ctx, sealed.keyID)
	if err != nil {
		return State{}, fmt.Errorf("opening requestState: %w", err)
	}
	if !ok {
		return State{}, ErrUnopenable
	}
	payload, ok := key.open(binding, sealed)
	if !ok {
		return State{}, ErrUnopenable
	}
	return judge(payload, binding, kinds, s.now())
}
