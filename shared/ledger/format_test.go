package ledger

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// An item of a later release is refused with an error of its own, and nothing is written over it.
func TestNewerFormats(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	call := f.call("k")
	lease := f.acquire(call)
	k := leaseKey(call.ID)
	stored := f.stored(k)
	stored[versionAttribute] = number(recordVersion + 1)
	f.store(stored)
	if met, err := f.Read(t.Context(), call.ID, call.Query); !errors.Is(err, ErrNewerFormat) {
		t.Errorf("record %+v, error %v", met, err)
	}
	if lease, met, err := f.Acquire(t.Context(), call); lease != nil || !errors.Is(err, ErrNewerFormat) {
		t.Errorf("lease %v, record %+v, error %v", lease, met, err)
	}
	if met, err := f.Resolve(t.Context(), call.ID, Resolution{}); !errors.Is(err, ErrNewerFormat) {
		t.Errorf("record %+v, error %v", met, err)
	}
	equal(t, "item", dump(f.stored(k)), dump(stored))

	stored[versionAttribute] = number(recordVersion)
	f.store(stored)
	f.complete(lease, "done")
	k = resultKey(call.ID, lease.record.owner)
	f.store(f.stored(k).with(versionAttribute, number(resultVersion+1)))
	if met, err := f.Read(t.Context(), call.ID, call.Query); !errors.Is(err, ErrNewerFormat) {
		t.Errorf("record %+v, error %v", met, err)
	}
}

func TestDecodeRefuses(t *testing.T) {
	t.Parallel()
	record := func() item {
		r := &record{state: stateLeased, owner: "o", leaseUntil: time.Unix(1, 0), expires: 1}
		return r.encode(key{"p", "s"})
	}
	found := func() item {
		stored, err := new(Ledger).encodeResult(key{"p", "s"}, &result{data: bytes.Repeat([]byte("x"), 1000)})
		if err != nil {
			t.Fatal(err)
		}
		return stored
	}
	decode := map[string]func(item) error{
		"record": func(i item) error { _, err := decodeRecord(i); return err },
		"result": func(i item) error { _, err := decodeResult(i); return err },
		"claim":  func(i item) error { _, err := decodeClaim(i); return err },
	}
	for kind, stored := range map[string]item{"record": record(), "result": found()} {
		if err := decode[kind](stored); err != nil {
			t.Errorf("the %s itself: %v", kind, err)
		}
	}
	for _, test := range []struct {
		kind  string
		item  item
		error string
	}{
		{"record", record().with("state", text("new")), "attribute state"},
		{"record", record().with("state", number(1)), "attribute state"},
		{"record", record().with("owner", text("")), "attribute owner"},
		{"record", record().with("digest", blob(make([]byte, 31))), "attribute digest has 31 bytes"},
		{"record", record().with("digest", blob(make([]byte, 33))), "attribute digest has 33 bytes"},
		{"record", record().with("idempotent", text("true")), "attribute idempotent"},
		{"record", record().with("audit", text("x")), "attribute audit"},
		{"record", record().with("leaseUntil", &types.AttributeValueMemberN{Value: "1e300"}), "attribute leaseUntil"},
		{"record", record().with("v", number(0)), "format 0"},
		{"record", item{}, "attribute v"},
		{"result", found().with("encoding", text("br")), `encoding "br"`},
		{"result", found().with("encoding", text("plain")), "1000 bytes"},
		{"result", found().with("size", number(999)), "999 bytes"},
		{"result", found().with("size", number(1001)), "1001 bytes"},
		{"result", found().with("size", number(MaxResultBytes+1)), "attribute size"},
		{"result", found().with("size", number(-1)), "attribute size"},
		{"result", found().with("data", blob([]byte("x"))), "attribute data"},
		{"result", found().with("data", blob(found()["data"].(*types.AttributeValueMemberB).Value[:20])), "attribute data"},
		{"claim", newItem(key{}, claimVersion, 1), "attribute usedBy"},
		{"claim", newItem(key{}, claimVersion, 1).with("usedBy", blob([]byte{1})), "attribute usedBy has 1 bytes"},
		{"claim", newItem(key{}, claimVersion+1, 1).with("usedBy", blob(make([]byte, 32))), "newer release"},
	} {
		if err := decode[test.kind](test.item); err == nil || !strings.Contains(err.Error(), test.error) {
			t.Errorf("%s with %s: error %v", test.kind, test.error, err)
		}
	}
}

// FuzzItems: whatever a table holds, decoding ends with an error or with something that encodes to what decodes to it.
func FuzzItems(f *testing.F) {
	for _, stored := range goldenItems(f) {
		golden := map[string]goldenValue{}
		for name, value := range stored {
			golden[name] = goldenAttribute(value)
		}
		seed, err := json.Marshal(golden)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var golden map[string]goldenValue
		if json.Unmarshal(data, &golden) != nil {
			return
		}
		stored := item{}
		for name, value := range golden {
			stored[name] = value.attribute()
		}
		checkRecordItem(t, stored)
		checkResultItem(t, stored)
		if holder, err := decodeClaim(stored); err == nil && holder.String() == "" {
			t.Fatal("a claim without a holder")
		}
	})
}

func checkRecordItem(t *testing.T, stored item) {
	t.Helper()
	r, err := decodeRecord(stored)
	if err != nil {
		return
	}
	decide(r, time.Unix(r.expires/2, 0), Query{})
	again, err := decodeRecord(r.encode(key{}))
	if err != nil || dump(again.encode(key{})) != dump(r.encode(key{})) {
		t.Fatalf("%+v became %+v, %v", r, again, err)
	}
}

func checkResultItem(t *testing.T, stored item) {
	t.Helper()
	r, err := decodeResult(stored)
	if err != nil {
		return
	}
	if len(r.data) > MaxResultBytes {
		t.Fatalf("a result of %d bytes", len(r.data))
	}
	encoded, err := new(Ledger).encodeResult(key{}, r)
	if err != nil {
		t.Fatal(err)
	}
	again, err := decodeResult(encoded)
	if err != nil || !bytes.Equal(again.data, r.data) || again.expires != r.expires {
		t.Fatalf("%+v became %+v, %v", r, again, err)
	}
}

func TestParseID(t *testing.T) {
	t.Parallel()
	id := NewID("user", "tool", "key")
	if back, err := ParseID(id.String()); back != id || err != nil {
		t.Errorf("%s reads as %s, %v", id, back, err)
	}
	for _, bad := range []string{"", "x", id.String()[1:], id.String() + "00", "g" + id.String()[1:], " " + id.String()} {
		if back, err := ParseID(bad); err == nil {
			t.Errorf("%q reads as %s", bad, back)
		}
	}
}

func TestCheckKey(t *testing.T) {
	t.Parallel()
	for _, good := range []string{"k", " ", "é😀", strings.Repeat("é", MaxKeyLength), "a\u200bb", `"/#\`} {
		if err := CheckKey(good); err != nil {
			t.Errorf("%q: %v", good, err)
		}
	}
	for bad, want := range map[string]string{
		"":                                  "is empty",
		strings.Repeat("x", MaxKeyLength+1): "has 256 characters",
		"a\xffb":                            "UTF-8",
		"a\x00b":                            "U+0000 at byte 1",
		"é\n":                               "U+000A at byte 2",
		"\x7f":                              "U+007F",
		"\u0085":                            "U+0085",
	} {
		if err := CheckKey(bad); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", bad, err, want)
		}
	}
}

// FuzzKey: a key that passes can be in a header's encoding, a log line and a hash without being taken for another.
func FuzzKey(f *testing.F) {
	for _, seed := range []string{"k", "", "\n", "é", strings.Repeat("x", 256), "a\u2028b"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, key string) {
		if CheckKey(key) != nil {
			return
		}
		if key == "" || len(key) > 4*MaxKeyLength || strings.ContainsAny(key, "\x00\r\n\x7f") {
			t.Fatalf("%q passes", key)
		}
		for i := range len(key) {
			if NewID("u", key[:i], key[i:]) == NewID("u", "", key) && i > 0 {
				t.Fatalf("%q and %q are one", key[:i], key[i:])
			}
		}
	})
}
