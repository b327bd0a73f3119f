package registry

import (
	"encoding/json"
	"errors"
	"flag"
	"os"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the golden file of the current stored formats")

// The golden files hold the items of a registry: in version 1 of each format, as of HEAD's version 2, and with an order
// to withdraw that was obeyed. Never write
// one again once its versions are released: start a file for the next, and keep reading these.
const (
	goldenFile1 = "testdata/golden/v1.json"
	goldenFile2 = "testdata/golden/v2.json"
	goldenFile3 = "testdata/golden/withdrawn1.json"
)

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
	loadGolden(t, f, goldenFile1)
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

// TestGolden2 reads a registry as of version 2 of HEAD: a source with a publisher of its own, who published twice; a
// rollback by an operator; a list of versions that are being deleted.
func TestGolden2(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	if *update {
		writeGolden2(t, f)
	} else {
		loadGolden(t, f, goldenFile2)
	}
	f.wantList("a")
	history := f.history()
	if len(history.Sources) != 1 || history.Sources[0].Live == nil || len(history.Sources[0].Kept) != 2 {
		t.Fatalf("history %+v", history)
	}
	first, start := history.Sources[0].Kept[1], time.Date(2026, 7, 28, 12, 0, 0, 0, time.UTC)
	want := Snapshot{ID: first.ID, Published: start, Superseded: start.Add(time.Second), By: "Tools",
		Tools: []string{"a"}}
	if diff := cmp.Diff(want, first); diff != "" {
		t.Errorf("first snapshot (-want +got):\n%s", diff)
	}
	want = Snapshot{ID: history.Sources[0].Live.ID, Published: start.Add(2 * time.Hour), By: "Tools",
		Operator: "night shift", RollbackOf: first.ID, Tools: []string{"a"}}
	if diff := cmp.Diff(want, *history.Sources[0].Live); diff != "" {
		t.Errorf("live snapshot (-want +got):\n%s", diff)
	}
	if again := f.publishAs("stack", Order{By: "Tools", Request: "request-2"}, "z"); again.Snapshot != want.ID {
		t.Errorf("a request of a former release was obeyed again: %+v", again)
	}
	_, err := f.publisher().PublishAs(t.Context(), "stack", Order{By: "More"}, publications(t, "b"))
	if !errors.Is(err, ErrOtherPublisher) {
		t.Errorf("error %v, want %v", err, ErrOtherPublisher)
	}
	if _, err := f.publisher().Publish(t.Context(), "other", publications(t, "gone")); err == nil {
		t.Error("a version that a former release gave up was published")
	}
}

func writeGolden2(t *testing.T, f *fixture) {
	settings := &Settings{MaxCallSeconds: 29}
	first := f.publishAs("stack", Order{By: "Tools", Request: "request-1", Settings: settings}, "a")
	f.pass(time.Second)
	f.publishAs("stack", Order{By: "Tools", Request: "request-2"}, "b")
	f.pass(2*time.Hour - time.Second)
	_, err := f.publisher().Rollback(t.Context(), "stack", first.Snapshot, Order{Operator: "night shift"})
	if err != nil {
		t.Fatal(err)
	}
	list := retired{id: "RETIRED", at: f.clock().Unix(), functions: []string{functionARN("gone", 1)}}
	if err := f.publisher().putRetired(t.Context(), list, confirmedAttribute); err != nil {
		t.Fatal(err)
	}
	writeItems(t, f, goldenFile2)
}

// TestGoldenWithdrawal reads an order to withdraw that a release obeyed, after which the source published anew.
func TestGoldenWithdrawal(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	order := Order{By: "Tools", Request: "request-2"}
	if *update {
		f.publishAs("stack", Order{By: "Tools", Request: "request-1"}, "a")
		if _, err := f.publisher().WithdrawAs(t.Context(), "stack", order); err != nil {
			t.Fatal(err)
		}
		f.publishAs("stack", Order{By: "Tools", Request: "request-3"}, "a")
		writeItems(t, f, goldenFile3)
	} else {
		loadGolden(t, f, goldenFile3)
	}
	if withdrawn, err := f.publisher().WithdrawAs(t.Context(), "stack", order); err != nil || withdrawn {
		t.Errorf("an order that a former release obeyed: withdrawn %t, %v", withdrawn, err)
	}
	f.wantList("a")
	f.wantWithdrawals(1)
	f.pass(pruneAge)
	f.wantWithdrawals(0)
}

// writeItems makes a golden file of what the table holds.
func writeItems(t *testing.T, f *fixture, file string) {
	t.Helper()
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
	if err := os.WriteFile(file, append(data, '\n'), 0o644); err != nil {
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

func loadGolden(t *testing.T, f *fixture, file string) {
	t.Helper()
	data, err := os.ReadFile(file)
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
