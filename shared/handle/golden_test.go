package handle_test

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"patchbay/shared/handle"
)

var update = flag.Bool("update", false, "write the golden file of the current stored format")

// goldenFile holds an item in format 1, and the handle that it is under. Never write it again once that format is
// released: start a file for the next one, and keep reading this one.
const goldenFile = "testdata/golden/v1.json"

// goldenValue is an attribute as in DynamoDB's JSON.
type goldenValue struct {
	S string `json:",omitempty"`
	N string `json:",omitempty"`
	B []byte `json:",omitempty"`
}

type goldenItem struct {
	Handle string                 `json:"handle"`
	Item   map[string]goldenValue `json:"item"`
}

func golden(item map[string]types.AttributeValue) map[string]goldenValue {
	values := map[string]goldenValue{}
	for name, value := range item {
		switch value := value.(type) {
		case *types.AttributeValueMemberS:
			values[name] = goldenValue{S: value.Value}
		case *types.AttributeValueMemberN:
			values[name] = goldenValue{N: value.Value}
		case *types.AttributeValueMemberB:
			values[name] = goldenValue{B: value.Value}
		}
	}
	return values
}

func (v goldenValue) attribute() types.AttributeValue {
	switch {
	case v.N != "":
		return &types.AttributeValueMemberN{Value: v.N}
	case v.B != nil:
		return &types.AttributeValueMemberB{Value: v.B}
	}
	return &types.AttributeValueMemberS{Value: v.S}
}

// put stores an item as it is.
func (f *fixture) put(values map[string]goldenValue) {
	f.Helper()
	item := map[string]types.AttributeValue{}
	for name, value := range values {
		item[name] = value.attribute()
	}
	if _, err := f.client.PutItem(f.Context(), &dynamodb.PutItemInput{TableName: &f.table, Item: item}); err != nil {
		f.Fatal(err)
	}
}

func readGolden(t *testing.T) (stored goldenItem) {
	t.Helper()
	data, err := os.ReadFile(goldenFile)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, &stored); err != nil {
		t.Fatal(err)
	}
	return stored
}

// TestGolden reads, changes and deletes what the release with format 1 stored.
func TestGolden(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	if *update {
		writeGolden(t, f)
	}
	stored := readGolden(t)
	f.put(stored.Item)
	store := f.store()
	item := f.load(store, stored.Handle)
	if item.Version != 3 || strings.Join(item.Value.Items, " ") != "apple pear <plum>" ||
		!item.ExpiresAt.Equal(f.now.Add(handle.DefaultWindow)) {
		t.Errorf("item %+v", item)
	}
	item, err := store.Update(f.ctx(), stored.Handle, adding("more"))
	if err != nil || item.Version != 4 {
		t.Errorf("item %+v, %v", item, err)
	}
	if err := store.Delete(f.ctx(), stored.Handle); err != nil {
		t.Error(err)
	}
}

func writeGolden(t *testing.T, f *fixture) {
	store := f.store()
	id := f.create(store, "apple")
	for _, name := range []string{"pear", "<plum>"} {
		if _, err := store.Update(f.ctx(), id, adding(name)); err != nil {
			t.Fatal(err)
		}
	}
	scan, err := f.client.Scan(t.Context(), &dynamodb.ScanInput{TableName: &f.table})
	if err != nil {
		t.Fatal(err)
	}
	data, err := json.MarshalIndent(goldenItem{Handle: id, Item: golden(scan.Items[0])}, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll("testdata/golden", 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(goldenFile, append(data, '\n'), 0o644); err != nil {
		t.Fatal(err)
	}
}

// An item that cannot be read is an error, not a handle that is not found, and is not written over.
func TestItemsThatCannotBeRead(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		attribute string
		value     goldenValue
		want      string
	}{
		"newer format": {"v", goldenValue{N: "2"}, "format 2: written by a newer release"},
		"no format":    {"v", goldenValue{S: "x"}, "attribute v is not a number"},
		"fraction":     {"expiresAt", goldenValue{N: "1.5"}, "attribute expiresAt is not a whole number"},
		"other type":   {"data", goldenValue{S: `{"items": 7}`}, "decoding the stored value into handle_test.basket"},
		"binary data":  {"data", goldenValue{B: []byte("x")}, "attribute data is not a string"},
		"half a token": {"tokens", goldenValue{B: []byte("x")}, "attribute tokens is not tokens of 8 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			stored := readGolden(t)
			stored.Item[test.attribute] = test.value
			f.put(stored.Item)
			_, err := f.store().Load(f.ctx(), stored.Handle)
			if err == nil || !strings.Contains(err.Error(), test.want) || errors.Is(err, handle.ErrNotFound) {
				t.Errorf("load: %v, want %q", err, test.want)
			}
			if _, err := f.store().Update(f.ctx(), stored.Handle, adding("x")); err == nil {
				t.Error("the item was changed")
			}
			if newer := errors.Is(err, handle.ErrNewerFormat); newer != (name == "newer format") {
				t.Errorf("is it of a newer format: %v", newer)
			}
		})
	}
}

// FuzzHandle holds that no text but the handle itself finds the value.
func FuzzHandle(f *testing.F) {
	fixture := newFixture(f)
	store := fixture.store()
	id := fixture.create(store, "apple")
	for _, seed := range []string{id, "", "bsk_", id[4:], strings.ToUpper(id), id + "\x00", id + " ", "#", "\xff"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		item, err := store.Load(context.WithValue(t.Context(), callerKey{}, ada), text)
		if text == id {
			if err != nil || len(item.Value.Items) != 1 {
				t.Errorf("the handle itself: %+v, %v", item, err)
			}
			return
		}
		if !errors.Is(err, handle.ErrNotFound) {
			t.Errorf("%q: %+v, %v", text, item, err)
		}
	})
}

func BenchmarkCreate(b *testing.B) {
	f := newFixture(b)
	store := storeOf[basket](f, f.client, f.options())
	b.ReportAllocs()
	for b.Loop() {
		if _, err := store.Create(f.ctx(), basket{Items: []string{"apple"}}); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkLoad is what a call with a handle costs, the engine's share included.
func BenchmarkLoad(b *testing.B) {
	f := newFixture(b)
	store := storeOf[basket](f, f.client, f.options())
	id := f.create(store, "apple")
	b.ReportAllocs()
	for b.Loop() {
		if _, err := store.Load(f.ctx(), id); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkUpdate(b *testing.B) {
	f := newFixture(b)
	store := storeOf[basket](f, f.client, f.options())
	id := f.create(store)
	b.ReportAllocs()
	for b.Loop() {
		change := func(v *basket) error { v.Items = []string{"apple"}; return nil }
		if _, err := store.Update(f.ctx(), id, change); err != nil {
			b.Fatal(err)
		}
	}
}
