package registry

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"patchbay/scripts/localdb/localdbtest"
	"patchbay/shared/contract"
)

// engine is the DynamoDB engine of all tests here.
var engine localdbtest.Engine

func TestMain(m *testing.M) { engine.Main(m, os.Getenv) }

// fixture is a table of its own on the engine, with a clock that a test can move.
type fixture struct {
	testing.TB
	db    *dynamodb.Client
	table string

	mu  sync.Mutex
	now time.Time
}

func newFixture(tb testing.TB) *fixture {
	tb.Helper()
	f := &fixture{TB: tb, db: engine.Client(tb), now: time.Date(2026, 7, 28, 12, 0, 0, 0, time.UTC)}
	f.table = strings.NewReplacer("/", "-", "#", "-", "=", "-").Replace(tb.Name())
	if err := CreateTable(tb.Context(), f.db, f.table); err != nil {
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

func (f *fixture) publisher() *Publisher { return f.publisherOn(f.db) }

func (f *fixture) publisherOn(db DB) *Publisher {
	retires := func(context.Context, string) bool { return true }
	return NewPublisher(db, f.table, PublisherOptions{Now: f.clock, Retires: retires})
}

func (f *fixture) reader() *Reader { return f.readerOn(f.db) }

func (f *fixture) readerOn(db ReadDB) *Reader {
	return NewReader(db, f.table, ReaderOptions{Now: f.clock})
}

func (f *fixture) publish(source string, names ...string) Receipt {
	f.Helper()
	receipt, err := f.publisher().Publish(f.Context(), source, publications(f, names...))
	if err != nil {
		f.Fatal(err)
	}
	return receipt
}

// list returns the names of all tools, page after page, as a reader without a copy of HEAD finds them.
func (f *fixture) list(limits PageLimits) []string {
	f.Helper()
	names, err := listNames(f.Context(), f.reader(), limits)
	if err != nil {
		f.Fatal(err)
	}
	return names
}

func (f *fixture) wantList(want ...string) {
	f.Helper()
	if got := f.list(PageLimits{}); !slices.Equal(got, want) {
		f.Errorf("the list has %q, want %q", got, want)
	}
}

func listNames(ctx context.Context, r *Reader, limits PageLimits) ([]string, error) {
	var names []string
	for cursor := ""; ; {
		page, err := r.Page(ctx, cursor, limits, nil)
		if err != nil {
			return nil, err
		}
		names = append(names, namesOf(page)...)
		if cursor = page.NextCursor; cursor == "" {
			return names, nil
		}
	}
}

func namesOf(page Page) []string {
	names := make([]string, len(page.Definitions))
	for i, definition := range page.Definitions {
		var tool struct{ Name string }
		if err := json.Unmarshal(definition, &tool); err != nil {
			panic(err)
		}
		names[i] = tool.Name
	}
	return names
}

// publications are tools that name version 1 of a function of the same name.
func publications(tb testing.TB, names ...string) []Publication {
	tb.Helper()
	list := make([]Publication, len(names))
	for i, name := range names {
		list[i] = publication(tb, name, 1, definition(name))
	}
	return list
}

func publication(tb testing.TB, name string, version int, definition string) Publication {
	tb.Helper()
	tool, err := contract.Decode(json.RawMessage(definition), json.RawMessage(`{"category":"test"}`))
	if err != nil {
		tb.Fatal(err)
	}
	return Publication{Tool: tool, Function: functionARN(name, version)}
}

func functionARN(name string, version int) string {
	return fmt.Sprintf("arn:aws:lambda:us-east-1:000000000000:function:%s:%d", name, version)
}

// definition is about as long as those of real tools.
func definition(name string) string {
	return fmt.Sprintf(`{"name":%q,"title":"The tool %[1]s","description":"Returns what %[1]s knows about a place & a `+
		`time < now. The answer names its source; an unknown place gets near matches.","inputSchema":{"type":"object",`+
		`"properties":{"location":{"type":"string","description":"City name or US ZIP code"},"days":{"type":"integer",`+
		`"minimum":1,"maximum":14,"default":1.0,"description":"How many days"}},"required":["location"],`+
		`"additionalProperties":false},"outputSchema":{"type":"object","properties":{"text":{"type":"string"}}},`+
		`"annotations":{"readOnlyHint":true}}`, name)
}

// numbered returns n names in ascending order.
func numbered(n int) []string {
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprintf("tool_%05d", i)
	}
	return names
}

// watchedDB is the engine's client with a place to count requests, to hold them up and to break their answers.
type watchedDB struct {
	DB
	reads atomic.Int64
	// onGet runs before a GetItem and may fail it; nil does nothing.
	onGet func(ctx context.Context, input *dynamodb.GetItemInput) error
	// onQuery is the same for Query.
	onQuery func() error
	// onPut replaces PutItem; nil does not.
	onPut func(ctx context.Context, input *dynamodb.PutItemInput) (*dynamodb.PutItemOutput, error)
	// onBatch replaces BatchWriteItem; nil does not.
	onBatch func(ctx context.Context, input *dynamodb.BatchWriteItemInput) (*dynamodb.BatchWriteItemOutput, error)
}

func (w *watchedDB) GetItem(
	ctx context.Context, input *dynamodb.GetItemInput, options ...func(*dynamodb.Options),
) (*dynamodb.GetItemOutput, error) {
	w.reads.Add(1)
	if w.onGet != nil {
		if err := w.onGet(ctx, input); err != nil {
			return nil, err
		}
	}
	return w.DB.GetItem(ctx, input, options...)
}

func (w *watchedDB) Query(
	ctx context.Context, input *dynamodb.QueryInput, options ...func(*dynamodb.Options),
) (*dynamodb.QueryOutput, error) {
	w.reads.Add(1)
	if w.onQuery != nil {
		if err := w.onQuery(); err != nil {
			return nil, err
		}
	}
	return w.DB.Query(ctx, input, options...)
}

func (w *watchedDB) PutItem(
	ctx context.Context, input *dynamodb.PutItemInput, options ...func(*dynamodb.Options),
) (*dynamodb.PutItemOutput, error) {
	if w.onPut != nil {
		return w.onPut(ctx, input)
	}
	return w.DB.PutItem(ctx, input, options...)
}

func (w *watchedDB) BatchWriteItem(
	ctx context.Context, input *dynamodb.BatchWriteItemInput, options ...func(*dynamodb.Options),
) (*dynamodb.BatchWriteItemOutput, error) {
	if w.onBatch != nil {
		return w.onBatch(ctx, input)
	}
	return w.DB.BatchWriteItem(ctx, input, options...)
}

// isHead reports whether a key or an item is HEAD's.
func isHead(key item) bool {
	pk, err := key.text(PartitionKey)
	return err == nil && pk == headKey
}

// store puts an item as it is.
func (f *fixture) store(stored item) {
	f.Helper()
	input := &dynamodb.PutItemInput{TableName: &f.table, Item: stored}
	if _, err := f.db.PutItem(f.Context(), input); err != nil {
		f.Fatal(err)
	}
}
