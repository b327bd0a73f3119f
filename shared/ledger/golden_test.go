package ledger

import (
	"encoding/json"
	"flag"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

var update = flag.Bool("update", false, "write the golden file of the current stored formats")

// goldenFile holds the items of a ledger in version 1 of each format. Never write it again once that version is
// released: start a file for the next version, and keep reading this one.
const goldenFile = "testdata/golden/v1.json"

// goldenValue is an attribute as in DynamoDB's JSON.
type goldenValue struct {
	S    string `json:",omitempty"`
	N    string `json:",omitempty"`
	B    []byte `json:",omitempty"`
	BOOL bool   `json:",omitempty"`
}

func (v goldenValue) attribute() types.AttributeValue {
	switch {
	case v.N != "":
		return &types.AttributeValueMemberN{Value: v.N}
	case v.B != nil:
		return blob(v.B)
	case v.BOOL:
		return &types.AttributeValueMemberBOOL{Value: true}
	}
	return text(v.S)
}

func goldenAttribute(value types.AttributeValue) (v goldenValue) {
	switch value := value.(type) {
	case *types.AttributeValueMemberS:
		v.S = value.Value
	case *types.AttributeValueMemberN:
		v.N = value.Value
	case *types.AttributeValueMemberB:
		v.B = value.Value
	case *types.AttributeValueMemberBOOL:
		v.BOOL = value.Value
	}
	return v
}

// goldenText is a result that is stored compressed.
var goldenText = strings.Repeat("All is well. ", 100)

// TestGolden reads a ledger that the release with version 1 of the formats wrote: a lease that runs, one that ran out
// over its stored result, completed records with a plain and a compressed result, one of them to be replayed for a
// while only, unknown outcomes of a tool that is idempotent and of one that is not, and a claim. The keys in it are
// hashes, so it also holds how IDs are made.
func TestGolden(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	if *update {
		writeGolden(t, f)
	} else {
		loadGolden(t, f)
	}
	f.pass(leaseTime)
	f.wantStatus(f.call("leased"), Leased)
	f.wantResult(f.call("ran out"), "late")
	f.wantResult(f.call("plain"), "done")
	f.wantResult(f.call("text"), goldenText)
	f.wantStatus(f.call("failed"), Unknown)
	f.wantStatus(goldenRerun(f), Free)
	conflict := f.call("plain")
	conflict.Digest[0]++
	f.wantStatus(conflict, Conflict)
	entry, err := f.Show(t.Context(), f.call("plain").ID)
	f.must(err)
	equal(t, "audit facts", string(entry.Audit), "who and what")
	holder, err := f.Claim(t.Context(), "receipt", f.call("other").ID, f.time.Add(time.Hour))
	f.must(err)
	equal(t, "holder of the claim", holder, f.call("plain").ID)

	f.pass(10 * time.Minute)
	f.wantStatus(f.call("text"), Free)
	f.wantStatus(f.call("leased"), Unknown)
	if _, err := f.Resolve(t.Context(), f.call("failed").ID, Resolution{}); err != nil {
		t.Error(err)
	}
	f.complete(f.acquire(f.call("failed")), "done")
	f.complete(f.acquire(f.call("text")), "done again")
	f.pass(time.Hour)
	f.wantStatus(f.call("plain"), Free)
}

// goldenRerun is a call whose second run failed as well.
func goldenRerun(f *fixture) Call {
	call := f.call("rerun")
	call.Idempotent = true
	return call
}

func writeGolden(t *testing.T, f *fixture) {
	f.must(putLateResult(f, f.acquire(f.call("ran out")), "late"))
	plain := f.call("plain")
	plain.Audit = []byte("who and what")
	f.complete(f.acquire(plain), "done")
	_, err := f.acquire(f.call("text")).Complete(t.Context(), []byte(goldenText), f.time.Add(10*time.Minute))
	f.must(err)
	f.must(f.acquire(f.call("failed")).Fail(t.Context()))
	f.must(f.acquire(goldenRerun(f)).Fail(t.Context()))
	f.must(f.acquire(goldenRerun(f)).Fail(t.Context()))
	if _, err := f.Claim(t.Context(), "receipt", plain.ID, f.time.Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	leased := f.call("leased")
	leased.Timeout = 5 * time.Minute
	f.acquire(leased)
	scan, err := f.db.DB.(*dynamodb.Client).Scan(t.Context(), &dynamodb.ScanInput{TableName: &f.table})
	f.must(err)
	var items []map[string]goldenValue
	for _, stored := range scan.Items {
		golden := map[string]goldenValue{}
		for name, value := range stored {
			golden[name] = goldenAttribute(value)
		}
		items = append(items, golden)
	}
	data, err := json.MarshalIndent(items, "", "  ")
	f.must(err)
	f.must(os.WriteFile(goldenFile, append(data, '\n'), 0o644))
}

func loadGolden(t *testing.T, f *fixture) {
	t.Helper()
	for _, stored := range goldenItems(t) {
		f.store(stored)
	}
}

func goldenItems(tb testing.TB) []item {
	tb.Helper()
	data, err := os.ReadFile(goldenFile)
	if err != nil {
		tb.Fatal(err)
	}
	var golden []map[string]goldenValue
	if err := json.Unmarshal(data, &golden); err != nil {
		tb.Fatal(err)
	}
	items := make([]item, len(golden))
	for i, values := range golden {
		items[i] = item{}
		for name, value := range values {
			items[i][name] = value.attribute()
		}
	}
	return items
}
