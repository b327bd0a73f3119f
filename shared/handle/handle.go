// Package handle keeps what a tool has to remember between calls, such as a basket, under a handle that the model
// carries.
//
//	baskets, err := handle.New[Basket](table, caller, handle.Options{
//		Namespace: "baskets", Prefix: "bsk", Kind: "basket", CreatedBy: "create_basket",
//	})
//
//	id, err := baskets.Create(ctx, Basket{})
//	item, err := baskets.Load(ctx, id)
//	item, err = baskets.Update(ctx, id, func(b *Basket) error { b.Items = append(b.Items, added); return nil })
//	err = baskets.Delete(ctx, id)
//
// A handle is a name, not a right. Values are stored under the caller whom the dispatcher names, and every operation
// looks under its own caller; there is no way to pass one as an argument. A handle that was never made, that has
// expired, that is malformed or that is somebody else's is the same ErrNotFound after the same one read: whatever a
// model sends is hashed into the key of an item that is or is not there. Tell the model so with NotFoundText.
//
// On a server without an authorizer all callers are one, the anonymous one. There the handle itself is the secret that
// gives access, like a link that anybody who has it can open: its 130 random bits cannot be guessed, but whoever sees
// it can use it. The table holds only a digest of it.
//
// # Time
//
// A value is kept until Options.Window after it was last changed, and until Options.Lifetime after it was made at the
// latest. Loading it prolongs that too, but writes only when a tenth of the window has passed since it was last
// prolonged, so that a value that is looked at often costs no writes. DynamoDB deletes expired items days later; every
// read and every condition here compares the time itself.
//
// # Items
//
// The partition key is state#<namespace>#<digest of the principal>#<digest of the handle>; there is no sort key. It
// begins with the namespace so that a function's role can be held to its namespaces by dynamodb:LeadingKeys, and has
// the handle in it so that the many handles of one principal, the anonymous one above all, do not share a partition's
// throughput. The role needs GetItem, PutItem, UpdateItem and DeleteItem.
package handle

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"patchbay/shared/principal"
)

// Errors that callers tell apart with errors.Is.
var (
	// ErrNotFound means that the caller has no such handle: unknown, expired, malformed and somebody else's alike.
	ErrNotFound = errors.New("no such state handle")
	// ErrConflict means that the value was changed by somebody else since it was loaded, and nothing was written; or,
	// of Update, that this was so every time it tried.
	ErrConflict = errors.New("the state was changed by another call at the same time")
	// ErrTooLarge means that a value's JSON is longer than Options.MaxBytes; nothing was written.
	ErrTooLarge = errors.New("the state is too large")
	// ErrUnavailable means that DynamoDB could not be asked, or would not do it, and that nothing was created or
	// changed; a Delete may have been made. The cause is in the error's chain.
	ErrUnavailable = errors.New("the state cannot be reached")
	// ErrUnknownOutcome means that the answer to a write was lost and that it cannot be told any more whether it was
	// made.
	ErrUnknownOutcome = errors.New("it is unknown whether the state was written")
	// ErrNewerFormat means that a later release wrote the value in a form that this one does not know.
	ErrNewerFormat = errors.New("written by a newer release of Patchbay")
)

// DB is what a Store uses of *dynamodb.Client.
type DB interface {
	GetItem(context.Context, *dynamodb.GetItemInput, ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error)
	PutItem(context.Context, *dynamodb.PutItemInput, ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error)
	UpdateItem(context.Context, *dynamodb.UpdateItemInput, ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error)
	DeleteItem(context.Context, *dynamodb.DeleteItemInput, ...func(*dynamodb.Options)) (*dynamodb.DeleteItemOutput, error)
}

// Table is where handles are stored; see OpenTable.
type Table struct {
	DB   DB
	Name string
}

// Caller returns the principal of the call that a context belongs to, and false for a context that belongs to none.
// False is not the anonymous caller: a context of the wrong place must not make everybody's values of somebody's.
type Caller func(context.Context) (principal.Principal, bool)

// Options say what is kept. Namespace and Prefix are needed; a zero field of the others means what it says.
type Options struct {
	// Namespace is one of those that the contract names under function.state: 1 to 32 of a-z 0-9 _ -, a letter first.
	// Tools that share values name the same one.
	Namespace string
	// Prefix stands in front of a handle and an underscore, so that people and models tell handles apart: 1 to 16 of
	// a-z and 0-9, a letter first.
	Prefix string
	// Kind is what a handle names, in words: "basket"; empty means "state". CreatedBy is the tool that creates one;
	// empty when there is no one tool. Both are for NotFoundText.
	Kind, CreatedBy string
	// Window is how long a value is kept after it was last changed; 0 means DefaultWindow. At least a minute.
	Window time.Duration
	// Lifetime is how long a value is kept at most; 0 means DefaultLifetime. At least Window.
	Lifetime time.Duration
	// MaxBytes is the largest JSON of a value; 0 means DefaultMaxBytes. At most MaxBytes. Every KB is one more unit of
	// write throughput, every four KB one more of read throughput.
	MaxBytes int
	// Now tells the time; nil means time.Now.
	Now func() time.Time
}

// What Options mean by 0, and the largest value that fits into an item of DynamoDB (400 KB) with room to spare.
const (
	DefaultWindow   = 24 * time.Hour
	DefaultLifetime = 7 * 24 * time.Hour
	DefaultMaxBytes = 64 << 10
	MaxBytes        = 300 << 10
)

const (
	minWindow = time.Minute
	// maxLifetime is where DynamoDB stops to delete by time: it takes a time that is far off for a mistake.
	maxLifetime = 5 * 365 * 24 * time.Hour
)

var (
	namespaces = regexp.MustCompile(`^[a-z][a-z0-9_-]{0,31}$`) // as the contract's check "state-name"
	prefixes   = regexp.MustCompile(`^[a-z][a-z0-9]{0,15}$`)
)

func (o Options) complete() Options {
	if o.Kind == "" {
		o.Kind = "state"
	}
	if o.Window == 0 {
		o.Window = DefaultWindow
	}
	if o.Lifetime == 0 {
		o.Lifetime = max(DefaultLifetime, o.Window)
	}
	if o.MaxBytes == 0 {
		o.MaxBytes = DefaultMaxBytes
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return o
}

func (o Options) check() error {
	switch {
	case !namespaces.MatchString(o.Namespace):
		return fmt.Errorf("namespace %q; allowed: 1 to 32 of a-z 0-9 _ -, a letter first", o.Namespace)
	case !prefixes.MatchString(o.Prefix):
		return fmt.Errorf("prefix %q; allowed: 1 to 16 of a-z 0-9, a letter first", o.Prefix)
	case o.Window < minWindow || o.Window > o.Lifetime:
		return fmt.Errorf("window %v; allowed: from %v to the lifetime, %v", o.Window, minWindow, o.Lifetime)
	case o.Lifetime > maxLifetime:
		return fmt.Errorf("lifetime %v; allowed: up to %v", o.Lifetime, maxLifetime)
	case o.MaxBytes < 1 || o.MaxBytes > MaxBytes:
		return fmt.Errorf("MaxBytes %d; allowed: 1 to %d", o.MaxBytes, MaxBytes)
	}
	return nil
}

// Store keeps values of one type in one namespace. Values are stored as JSON, so T may gain fields, and must go on to
// understand those that it had. A Store is safe for concurrent use.
type Store[T any] struct {
	table   Table
	caller  Caller
	options Options
}

// New makes a Store. The error names the option that is wrong.
func New[T any](table Table, caller Caller, options Options) (*Store[T], error) {
	options = options.complete()
	if table.DB == nil || table.Name == "" || caller == nil {
		return nil, errors.New("keeping state handles: a table, its name or the caller is missing")
	}
	if err := options.check(); err != nil {
		return nil, fmt.Errorf("keeping state handles: %w", err)
	}
	return &Store[T]{table: table, caller: caller, options: options}, nil
}

// Item is a value as it was loaded or saved. Save takes it back, with another Value.
type Item[T any] struct {
	// ID is the handle.
	ID    string
	Value T
	// Version is 1 for a new value and grows by one with each change.
	Version int64
	// ExpiresAt is when the value ends unless it is used before, in whole seconds, UTC.
	ExpiresAt time.Time

	stored record
}

// NotFoundText is the text to answer a model with on ErrNotFound: it says what to do, and nothing of the reason. It
// does not repeat the handle, which may be long or full of instructions. Give it to tool.Fail as an argument of "%s".
func (s *Store[T]) NotFoundText() string {
	create := "Create a new one"
	if s.options.CreatedBy != "" {
		create += " with " + s.options.CreatedBy
	}
	return fmt.Sprintf("You have no such %s: this handle was never given to you, or the %[1]s has expired. %s and go on "+
		"with the handle that it returns.", s.options.Kind, create)
}
