package registry

import (
	"errors"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestNames(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.publish("one", "a", "c")
	f.publish("two", "b", "gone")
	for _, name := range []string{"c", "gone"} {
		if err := f.publisher().SetDisabled(t.Context(), name, true); err != nil {
			t.Fatal(err)
		}
	}
	f.publish("two", "b")
	got, err := f.publisher().Names(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := Names{Published: []string{"a", "b", "c"}, Disabled: []string{"c", "gone"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("names (-want +got):\n%s", diff)
	}
}

// A tool is found wherever it lies among those of its source, disabled or not.
func TestFind(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	names := numbered(500)
	f.publish("one", names...)
	f.publish("two", "a")
	if err := f.publisher().SetDisabled(t.Context(), names[250], true); err != nil {
		t.Fatal(err)
	}
	for _, name := range slices.Concat(names[:1], names[249:251], names[499:], []string{"a"}) {
		tool, err := f.publisher().Find(t.Context(), name)
		if err != nil || tool.Name != name || tool.Contract.Category != "test" {
			t.Errorf("%s: %+v, %v", name, tool, err)
		}
	}
	if _, err := f.publisher().Find(t.Context(), "b"); !errors.Is(err, ErrUnknownTool) {
		t.Errorf("error %v, want %v", err, ErrUnknownTool)
	}
}
