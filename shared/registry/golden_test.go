package registry

import (
	"encoding/json"
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the golden file of the current stored formats")

// goldenFile holds the items of a registry in version 1 of each format. Never write it again once that version is
// released: start a file for the next version, and keep reading this one.
const goldenFile = "testdata/golden/v1.json"

// goldenValue is an attribute as in DynamoDB's JSON.
type goldenValue struct {
	S string `json:",omitempty"`
	N string `json:",omitempty"`
	B []byte `json:",omitempty"`
}

func (v goldenValue) attribute() types.AttributeValue {
	switch {
	case v.N != "":
		return &types.AttributeValueMemberN{Value: v.N}
	case v.B != nil:
		return binaryValue(v.B)
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
	}
	return v
}

// TestGolden reads a registry that the release with version 1 of the formats wrote: two sources, one with a tool too
// large to share an item, one republished; a disabled tool; settings; the record of a superseded snapshot in HEAD and
// in a manifest.
func TestGolden(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	if *update {
		writeGolden(t, f)
	} else {
		loadGolden(t, f)
	}
	f.wantList("a", "c", "d")
	r := f.reader()
	entry, err := r.Lookup(t.Context(), "c")
	if err != nil {
		t.Fatal(err)
	}
	got := []string{entry.Function, entry.Source, string(entry.Tool.Definition), entry.Tool.Contract.Category}
	if diff := cmp.Diff([]string{functionARN("c", 1), "two", definition("c"), "test"}, got); diff != "" {
		t.Errorf("entry (-want +got):\n%s", diff)
	}
	settings, err := r.Settings(t.Context())
	if err != nil || settings.MaxCallSeconds != 29 {
		t.Errorf("settings %+v, %v", settings, err)
	}
	h, err := readHead(t.Context(), f.db, f.table)
	if err != nil {
		t.Fatal(err)
	}
	manifests, err := f.publisher().manifests(t.Context())
	if err != nil || len(manifests) != 4 || len(h.Superseded) != 1 {
		t.Errorf("%d manifests, %d superseded, %v; want 4 and 1", len(manifests), len(h.Superseded), err)
	}
	f.pass(pruneAge)
	pruned, err := f.publisher().Prune(t.Context())
	if err != nil || len(pruned.Snapshots) != 2 {
		t.Errorf("pruned %+v, %v, want two snapshots", pruned, err)
	}
	f.publish("three", "e")
	f.wantList("a", "c", "d", "e")
}

func writeGolden(t *testing.T, f *fixture) {
	f.publish("one", "x")
	f.publish("one", "y")
	filler := strings.Repeat("x", 63<<10) // leaves room for no neighbour in an item
	large := publication(t, "a", 1, `{"name":"a","inputSchema":{"type":"object"},"x":"`+filler+`"}`)
	tools := append(publications(t, "b", "d"), large)
	if _, err := f.publisher().Publish(t.Context(), "one", tools); err != nil {
		t.Fatal(err)
	}
	f.publish("two", "c")
	if err := f.publisher().SetDisabled(t.Context(), "b", true); err != nil {
		t.Fatal(err)
	}
	if err := f.publisher().Configure(t.Context(), Settings{MaxCallSeconds: 29}); err != nil {
		t.Fatal(err)
	}
	spillOne(t, f)
	var items []map[string]goldenValue
	scan, err := f.db.Scan(t.Context(), &dynamodb.ScanInput{TableName: &f.table})
	if err != nil {
		t.Fatal(err)
	}
	for _, stored := range scan.Items {
		golden := map[string]goldenValue{}
		for name, value := range stored {
			golden[name] = goldenAttribute(value)
		}
		items = append(items, golden)
	}
	data, err := json.MarshalIndent(items, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(goldenFile, append(data, '\n'), 0o644); err != nil {
		t.Fatal(err)
	}
}

// spillOne moves one record of HEAD to its manifest, as a busier registry does.
func spillOne(t *testing.T, f *fixture) {
	t.Helper()
	p := f.publisher()
	_, err := p.update(t.Context(), func(h *head) (bool, error) {
		for id, at := range h.Superseded {
			err := p.spill(t.Context(), id, at)
			delete(h.Superseded, id)
			return true, err
		}
		return false, nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func loadGolden(t *testing.T, f *fixture) {
	t.Helper()
	data, err := os.ReadFile(goldenFile)
	if err != nil {
		t.Fatal(err)
	}
	var items []map[string]goldenValue
	if err := json.Unmarshal(data, &items); err != nil {
		t.Fatal(err)
	}
	for _, golden := range items {
		stored := item{}
		for name, value := range golden {
			stored[name] = value.attribute()
		}
		f.store(stored)
	}
}
