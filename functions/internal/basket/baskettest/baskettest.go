// Package baskettest gives the tests of the basket tools real storage with a clock that they can move, and faults.
package baskettest

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"patchbay/functions/internal/basket"
	"patchbay/scripts/localdb"
	"patchbay/scripts/localdb/localdbtest"
	"patchbay/shared/handle"
	"patchbay/shared/principal"
	"patchbay/shared/tool/tooltest"
)

// Start is when a Shop opens.
var Start = time.Date(2026, 7, 28, 12, 0, 0, 0, time.UTC)

// Shop is the baskets on an engine of their own.
type Shop struct {
	*basket.Baskets

	engine *localdb.Engine
	mu     sync.Mutex
	now    time.Time
}

// Open starts an engine for one test; it ends with the test. The test is skipped where the engine is not installed,
// unless the environment that getenv reads requires it.
func Open(t testing.TB, getenv func(string) string) *Shop {
	t.Helper()
	engine := localdbtest.Start(t, getenv)
	client := localdb.Client(engine.URL)
	if err := handle.CreateTable(t.Context(), client, "state"); err != nil {
		t.Fatal(err)
	}
	shop := &Shop{engine: engine, now: Start}
	var err error
	if shop.Baskets, err = basket.New(handle.Table{DB: client, Name: "state"}, shop.Now); err != nil {
		t.Fatal(err)
	}
	return shop
}

// Now is what the clock shows.
func (s *Shop) Now() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.now
}

// Pass moves the clock.
func (s *Shop) Pass(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now = s.now.Add(d)
}

// StopStorage ends the engine.
func (s *Shop) StopStorage() { s.engine.Close() }

// Unconfirmed returns the same baskets on storage that does what it is asked and whose answers to changes are lost.
func (s *Shop) Unconfirmed(t testing.TB) *basket.Baskets {
	t.Helper()
	table := handle.Table{DB: &deaf{Client: localdb.Client(s.engine.URL)}, Name: "state"}
	baskets, err := basket.New(table, s.Now)
	if err != nil {
		t.Fatal(err)
	}
	return baskets
}

// deaf is a client that hears nothing any more after its first change.
type deaf struct {
	*dynamodb.Client
	mu   sync.Mutex
	lost bool
}

var errLost = errors.New("connection reset")

// GetItem fails once a change was made.
func (d *deaf) GetItem(
	ctx context.Context, input *dynamodb.GetItemInput, options ...func(*dynamodb.Options),
) (*dynamodb.GetItemOutput, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.lost {
		return nil, errLost
	}
	return d.Client.GetItem(ctx, input, options...)
}

// PutItem makes the change and fails.
func (d *deaf) PutItem(
	ctx context.Context, input *dynamodb.PutItemInput, options ...func(*dynamodb.Options),
) (*dynamodb.PutItemOutput, error) {
	_, err := d.Client.PutItem(ctx, input, options...)
	return nil, d.lose(err)
}

// UpdateItem makes the change and fails.
func (d *deaf) UpdateItem(
	ctx context.Context, input *dynamodb.UpdateItemInput, options ...func(*dynamodb.Options),
) (*dynamodb.UpdateItemOutput, error) {
	_, err := d.Client.UpdateItem(ctx, input, options...)
	return nil, d.lose(err)
}

func (d *deaf) lose(err error) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.lost = true
	return errors.Join(errLost, err)
}

// Callers who are not each other: the two halves of an identity differ, one at a time.
var (
	Ada        = tooltest.Options{Principal: principal.Principal{Subject: "ada", Issuer: "https://a.example"}}
	Bob        = tooltest.Options{Principal: principal.Principal{Subject: "bob", Issuer: "https://a.example"}}
	OtherAda   = tooltest.Options{Principal: principal.Principal{Subject: "ada", Issuer: "https://b.example"}}
	Anonymous  = tooltest.Options{}
	Foreigners = map[string]tooltest.Options{"Bob": Bob, "Ada of another issuer": OtherAda, "nobody": Anonymous}
)

// Create makes a basket of Ada's, through a handler, as only a call has a caller.
func (s *Shop) Create(t testing.TB) string {
	t.Helper()
	return s.CreateAs(t, Ada)
}

// CreateAs makes a basket of somebody's.
func (s *Shop) CreateAs(t testing.TB, caller tooltest.Options) string {
	t.Helper()
	caller.File = "../create_basket/tool.json"
	result := tooltest.Call(t, func(ctx context.Context, _ struct{}) (map[string]string, error) {
		id, err := s.Baskets.Create(ctx)
		return map[string]string{"basket_id": id}, err
	}, "{}", caller)
	return tooltest.Structured[map[string]string](t, result)["basket_id"]
}
