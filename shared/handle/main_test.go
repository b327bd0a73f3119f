package handle_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"patchbay/scripts/localdb/localdbtest"
	"patchbay/shared/handle"
	"patchbay/shared/principal"
)

// engine is the DynamoDB engine of all tests here.
var engine localdbtest.Engine

func TestMain(m *testing.M) { engine.Main(m, os.Getenv) }

var (
	ada = principal.Principal{Subject: "ada", Issuer: "https://a.example"}
	bob = principal.Principal{Subject: "bob", Issuer: "https://a.example"}
)

type callerKey struct{}

// caller is what tool.CallFrom is in a tool: the principal of a context's call.
func caller(ctx context.Context) (principal.Principal, bool) {
	p, ok := ctx.Value(callerKey{}).(principal.Principal)
	return p, ok
}

// basket is what the tests keep.
type basket struct {
	Items []string `json:"items"`
}

// fixture is a table of its own on the engine, with a clock that a test can move.
type fixture struct {
	testing.TB
	client *dynamodb.Client
	db     *watchedDB
	table  string

	mu  sync.Mutex
	now time.Time
}

func newFixture(tb testing.TB) *fixture {
	tb.Helper()
	f := &fixture{TB: tb, client: engine.Client(tb), now: time.Date(2026, 7, 28, 12, 0, 0, 0, time.UTC)}
	f.db = &watchedDB{DB: f.client, count: map[string]int{}}
	f.table = "handles-" + rand.Text()
	if err := handle.CreateTable(tb.Context(), f.client, f.table); err != nil {
		tb.Fatal(err)
	}
	return f
}

func (f *fixture) clock() time.Time {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.now
}

func (f *fixture) pass(d time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.now = f.now.Add(d)
}

func (f *fixture) as(p principal.Principal) context.Context {
	return context.WithValue(f.Context(), callerKey{}, p)
}

// ctx is a context of Ada's call.
func (f *fixture) ctx() context.Context { return f.as(ada) }

func (f *fixture) options() handle.Options {
	return handle.Options{
		Namespace: "baskets", Prefix: "bsk", Kind: "basket", CreatedBy: "create_basket", Now: f.clock,
	}
}

func (f *fixture) store() *handle.Store[basket] { return storeOf[basket](f, f.db, f.options()) }

func storeOf[T any](f *fixture, db handle.DB, options handle.Options) *handle.Store[T] {
	f.Helper()
	store, err := handle.New[T](handle.Table{DB: db, Name: f.table}, caller, options)
	if err != nil {
		f.Fatal(err)
	}
	return store
}

func (f *fixture) create(store *handle.Store[basket], items ...string) string {
	f.Helper()
	id, err := store.Create(f.ctx(), basket{Items: items})
	if err != nil {
		f.Fatal(err)
	}
	return id
}

func (f *fixture) load(store *handle.Store[basket], id string) handle.Item[basket] {
	f.Helper()
	item, err := store.Load(f.ctx(), id)
	if err != nil {
		f.Fatal(err)
	}
	return item
}

// adding is a change for Update.
func adding(item string) func(*basket) error {
	return func(b *basket) error {
		b.Items = append(b.Items, item)
		return nil
	}
}

// watchedDB counts requests and lets a test come between them and the engine. The hooks run instead of the request and
// make it by calling send; nil does nothing special.
type watchedDB struct {
	handle.DB
	onPut    func(send func() error) error
	onUpdate func(send func() error) error
	onDelete func(send func() error) error
	onGet    func() error

	mu    sync.Mutex
	count map[string]int
}

func (w *watchedDB) note(name string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.count[name]++
}

// requests returns what was counted since it was last asked, as "get 1, update 1".
func (w *watchedDB) requests() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var parts []string
	for _, name := range []string{"get", "put", "update", "delete"} {
		if n := w.count[name]; n > 0 {
			parts = append(parts, fmt.Sprint(name, " ", n))
		}
	}
	w.count = map[string]int{}
	return strings.Join(parts, ", ")
}

func (w *watchedDB) GetItem(
	ctx context.Context, input *dynamodb.GetItemInput, options ...func(*dynamodb.Options),
) (*dynamodb.GetItemOutput, error) {
	w.note("get")
	if w.onGet != nil {
		if err := w.onGet(); err != nil {
			return nil, err
		}
	}
	if input.ConsistentRead == nil || !*input.ConsistentRead {
		return nil, errors.New("a read that decides something is not consistent")
	}
	return w.DB.GetItem(ctx, input, options...)
}

func (w *watchedDB) PutItem(
	ctx context.Context, input *dynamodb.PutItemInput, options ...func(*dynamodb.Options),
) (out *dynamodb.PutItemOutput, err error) {
	w.note("put")
	err = through(w.onPut, func() error { out, err = w.DB.PutItem(ctx, input, options...); return err })
	return out, err
}

func (w *watchedDB) UpdateItem(
	ctx context.Context, input *dynamodb.UpdateItemInput, options ...func(*dynamodb.Options),
) (out *dynamodb.UpdateItemOutput, err error) {
	w.note("update")
	err = through(w.onUpdate, func() error { out, err = w.DB.UpdateItem(ctx, input, options...); return err })
	return out, err
}

func (w *watchedDB) DeleteItem(
	ctx context.Context, input *dynamodb.DeleteItemInput, options ...func(*dynamodb.Options),
) (out *dynamodb.DeleteItemOutput, err error) {
	w.note("delete")
	err = through(w.onDelete, func() error { out, err = w.DB.DeleteItem(ctx, input, options...); return err })
	return out, err
}

func through(hook func(func() error) error, send func() error) error {
	if hook == nil {
		return send()
	}
	return hook(send)
}
