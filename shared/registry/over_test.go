package registry

import (
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
)

// Whoever has looked at what a source serves does not publish over what came since.
func TestPublishOverWhatWasSeen(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	nothing := ""
	first, err := f.publisher().PublishAs(t.Context(), "one", Order{Over: &nothing}, publications(t, "a"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.publisher().PublishAs(t.Context(), "one", Order{Over: &nothing}, publications(t, "b")); !errors.Is(
		err, ErrChanged) {
		t.Errorf("error %v, want ErrChanged", err)
	}
	f.wantList("a")
	f.publish("two", "c") // Another source is no matter.
	if _, err := f.publisher().PublishAs(t.Context(), "one", Order{Over: &first.Snapshot},
		publications(t, "a", "b")); err != nil {
		t.Error(err)
	}
	if err := f.publisher().Withdraw(t.Context(), "one"); err != nil {
		t.Fatal(err)
	}
	if _, err := f.publisher().PublishAs(t.Context(), "one", Order{Over: &first.Snapshot},
		publications(t, "b")); !errors.Is(err, ErrChanged) {
		t.Errorf("over a source that was withdrawn: %v, want ErrChanged", err)
	}
	f.wantList("c")
}

// Of those who have looked at the same, one publishes.
func TestPublishersOverTheSame(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	seen := f.publish("one", "a").Snapshot
	var group sync.WaitGroup
	var published, refused atomic.Int32
	for range 6 {
		group.Go(func() {
			_, err := f.publisher().PublishAs(t.Context(), "one", Order{Over: &seen}, publications(t, "a", "b"))
			switch {
			case err == nil:
				published.Add(1)
			case errors.Is(err, ErrChanged):
				refused.Add(1)
			default:
				t.Error(err)
			}
		})
	}
	group.Wait()
	if published.Load() != 1 || refused.Load() != 5 {
		t.Errorf("%d published, %d were refused; want 1 and 5", published.Load(), refused.Load())
	}
}

// Check refuses what a publish would, and leaves no trace.
func TestCheck(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.publish("one", "a")
	before := f.items()
	nothing, another := "", "another"
	if err := f.publisher().Check(t.Context(), "two", Order{Over: &nothing}, publications(t, "b")); err != nil {
		t.Error(err)
	}
	for name, test := range map[string]struct {
		order Order
		tools []Publication
		says  string
	}{
		"a name of another source":  {Order{}, publications(t, "a"), "a is owned by source one"},
		"a call that is too long":   {Order{Settings: &Settings{MaxCallSeconds: 1}}, publications(t, "b"), "timeoutSeconds"},
		"a source that has changed": {Order{Over: &another}, publications(t, "b"), "look again"},
		"two of one name":           {Order{}, publications(t, "b", "b"), "duplicate-tool"},
	} {
		if err := f.publisher().Check(t.Context(), "two", test.order, test.tools); err == nil ||
			!strings.Contains(err.Error(), test.says) {
			t.Errorf("%s: error %v, want one that says %q", name, err, test.says)
		}
	}
	if after := f.items(); after != before {
		t.Errorf("there are %d items, and were %d", after, before)
	}
	f.wantList("a")
}

// items counts what is in the table.
func (f *fixture) items() int {
	f.Helper()
	out, err := f.db.Scan(f.Context(), &dynamodb.ScanInput{TableName: &f.table})
	if err != nil {
		f.Fatal(err)
	}
	return len(out.Items)
}
