package registry

import (
	"encoding/base64"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// incompressible is n bytes of text, the same on every run, of which gzip can save a quarter: that of Base64.
func incompressible(n int) string {
	source := rand.NewChaCha8([32]byte{1})
	data := make([]byte, n)
	source.Read(data)
	return base64.StdEncoding.EncodeToString(data)[:n]
}

func TestRecordsRoundTrip(t *testing.T) {
	t.Parallel()
	want := []record{
		{"a", "arn:a:1", []byte(`{"name":"a"}`), []byte(`{}`)},
		{"b", "arn:b:1", []byte(strings.Repeat("x", 300)), nil},
	}
	data, err := deflate(encodeRecords(want))
	if err != nil {
		t.Fatal(err)
	}
	got, err := decodeRecords(newItem("p", "s", toolsVersion).with("data", binaryValue(data)))
	if err != nil {
		t.Fatal(err)
	}
	equal := cmp.Comparer(func(a, b record) bool {
		return a.name == b.name && a.function == b.function &&
			string(a.definition) == string(b.definition) && string(a.contract) == string(b.contract)
	})
	if diff := cmp.Diff(want, got, equal); diff != "" {
		t.Errorf("records (-want +got):\n%s", diff)
	}
}

// TestDamagedItems spoils what the engine stores, in ways that only a fault could, and reads it through the API.
func TestDamagedItems(t *testing.T) {
	t.Parallel()
	pack := func(data string) item {
		packed, err := deflate([]byte(data))
		if err != nil {
			t.Fatal(err)
		}
		return item{"data": binaryValue(packed)}
	}
	other := string(encodeRecords([]record{{name: "b"}}))
	bare := string(encodeRecords([]record{{name: "a"}}))
	two := string(encodeRecords([]record{{name: "a"}, {name: "b"}}))
	tests := []struct {
		name, key string
		spoiled   item
		want      string
	}{
		{"no version", indexKey, item{versionAttribute: text("1")}, "attribute v is not a number"},
		{"version 0", indexKey, item{versionAttribute: number(0)}, "format 0; allowed: 1 to 1"},
		{"no data", indexKey, item{"data": text("x")}, "attribute data is not binary"},
		{"not compressed", indexKey, item{"data": binaryValue([]byte("plain"))}, "uncompressing"},
		{"not JSON", indexKey, pack("names"), "index: invalid character"},
		{"chunk too long", indexKey, pack(`{"names":["a"],"chunks":[2]}`), "2 tools in the index, where 1 are left"},
		{"chunk of none", indexKey, pack(`{"names":["a"],"chunks":[0,1]}`), "has 0 tools in the index"},
		{"name in no chunk", indexKey, pack(`{"names":["a","b"],"chunks":[1]}`), "1 names of the index are in no item"},
		{"cut off", toolsPrefix + "a", pack("\x01a\x05arn"), "tool 0: unexpected EOF"},
		{"other tool", toolsPrefix + "a", pack(other), "holds tool b, in the index a"},
		{"more tools", toolsPrefix + "a", pack(two), "holds 2 tools, in the index 1"},
		{"too much", toolsPrefix + "a", pack(strings.Repeat("x", maxInflated+1)), "more than 16777216 bytes"},
		{"no contract", toolsPrefix + "a", pack(bare), "reading tool a of source one"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			receipt := f.publish("one", "a")
			f.spoil(snapshotPrefix+receipt.Snapshot, test.key, test.spoiled)
			_, err := f.reader().Lookup(t.Context(), "a")
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v does not say %q", err, test.want)
			}
		})
	}
}

// spoil replaces attributes of a stored item.
func (f *fixture) spoil(pk, sk string, attributes item) {
	f.Helper()
	stored, err := getItem(f.Context(), f.db, f.table, pk, sk)
	if err != nil || stored == nil {
		f.Fatalf("reading %s %s: %v, %v", pk, sk, stored, err)
	}
	for name, value := range attributes {
		stored[name] = value
	}
	f.store(stored)
}

func TestTwoOwnersAreAnError(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	receipt := f.publish("one", "a")
	h, err := readHead(t.Context(), f.db, f.table)
	if err != nil {
		t.Fatal(err)
	}
	two := f.publish("two", "b")
	h.revision, h.Sources["two"] = 2, published{Snapshot: two.Snapshot}
	f.spoil(snapshotPrefix+two.Snapshot, indexKey, f.indexOf(receipt.Snapshot))
	if err := h.write(t.Context(), f.db, f.table); err != nil {
		t.Fatal(err)
	}
	_, err = f.reader().Lookup(t.Context(), "a")
	if err == nil || !strings.Contains(err.Error(), "tool a has two owners") {
		t.Errorf("error %v", err)
	}
}

func (f *fixture) indexOf(snapshot string) item {
	f.Helper()
	stored, err := getItem(f.Context(), f.db, f.table, snapshotPrefix+snapshot, indexKey)
	if err != nil {
		f.Fatal(err)
	}
	return item{"data": stored["data"]}
}

// TestNewerFormats raises the version of each kind of item.
func TestNewerFormats(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		key   func(snapshot string) (pk, sk string)
		check func(f *fixture) error
	}{
		{"HEAD read", func(string) (string, string) { return headKey, headKey }, lookupA},
		{"HEAD written", func(string) (string, string) { return headKey, headKey }, func(f *fixture) error {
			return f.publisher().Withdraw(f.Context(), "one")
		}},
		{"index", func(id string) (string, string) { return snapshotPrefix + id, indexKey }, lookupA},
		{"tools", func(id string) (string, string) { return snapshotPrefix + id, toolsPrefix + "a" }, lookupA},
		{"manifest", func(id string) (string, string) { return manifestPartition, id }, func(f *fixture) error {
			_, err := f.publisher().Prune(f.Context())
			return err
		}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			pk, sk := test.key(f.publish("one", "a").Snapshot)
			f.spoil(pk, sk, item{versionAttribute: number(99)})
			err := test.check(f)
			if !errors.Is(err, ErrNewerFormat) || !strings.Contains(err.Error(), "format 99") {
				t.Errorf("error %v, want %v naming format 99", err, ErrNewerFormat)
			}
		})
	}
}

func lookupA(f *fixture) error {
	_, err := f.reader().Lookup(f.Context(), "a")
	return err
}
