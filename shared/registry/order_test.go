package registry

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
)

// publishBefore publishes name for source just before the first write of HEAD.
func publishBefore(
	f *fixture, source, name string,
) func(context.Context, *dynamodb.PutItemInput) (*dynamodb.PutItemOutput, error) {
	var once sync.Once
	return func(ctx context.Context, in *dynamodb.PutItemInput) (*dynamodb.PutItemOutput, error) {
		if isHead(in.Item) {
			once.Do(func() { f.publish(source, name) })
		}
		return f.db.PutItem(ctx, in)
	}
}

func TestOnePublisherWithinASource(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.publishAs("stack", Order{By: "Tools"}, "a")
	f.publishAs("stack", Order{By: "Tools"}, "a", "b")
	_, err := f.publisher().PublishAs(t.Context(), "stack", Order{By: "More"}, publications(t, "c"))
	if !errors.Is(err, ErrOtherPublisher) || !strings.Contains(err.Error(), "Tools has published it") {
		t.Errorf("error %v, want %v naming the other", err, ErrOtherPublisher)
	}
	f.wantList("a", "b")
	f.wantWithdrawn("stack", "More", false)
	f.wantList("a", "b")
	f.wantWithdrawn("stack", "Tools", true)
	f.wantWithdrawn("stack", "Tools", false)
	f.wantList()
	f.publishAs("stack", Order{By: "More"}, "c")
	f.publish("stack", "d") // who says nothing is refused nothing
	f.publishAs("stack", Order{By: "Tools"}, "e")
	f.wantList("e")
}

func (f *fixture) wantWithdrawn(source, by string, want bool) {
	f.Helper()
	got, err := f.publisher().WithdrawAs(f.Context(), source, Order{By: by})
	if err != nil || got != want {
		f.Errorf("withdrawing %s as %s: %t, %v; want %t", source, by, got, err, want)
	}
}

// Two publishers of one source at a time: one of them is refused, however they meet.
func TestPublishersWithinASourceMeet(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	db := &watchedDB{DB: f.db}
	var once sync.Once
	db.onPut = func(ctx context.Context, in *dynamodb.PutItemInput) (*dynamodb.PutItemOutput, error) {
		if isHead(in.Item) {
			once.Do(func() { f.publishAs("stack", Order{By: "Tools"}, "a") })
		}
		return f.db.PutItem(ctx, in)
	}
	_, err := f.publisherOn(db).PublishAs(t.Context(), "stack", Order{By: "More"}, publications(t, "b"))
	if !errors.Is(err, ErrOtherPublisher) {
		t.Errorf("error %v, want %v", err, ErrOtherPublisher)
	}
	f.wantList("a")
}

// TestSettingsGoWithThePublish changes the settings with a publish that they allow, and not with one that is refused.
func TestSettingsGoWithThePublish(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	slow := publications(t, "slow")
	slow[0].Tool.Contract.Execution.TimeoutSeconds = 60
	if err := f.publisher().Configure(t.Context(), Settings{MaxCallSeconds: 30}); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		seconds   int
		published bool
		want      int
	}{{30, false, 30}, {20, false, 30}, {-1, false, 30}, {90, true, 90}, {40, false, 90}} {
		order := Order{Settings: &Settings{MaxCallSeconds: test.seconds}}
		_, err := f.publisher().PublishAs(t.Context(), "one", order, slow)
		settings, readErr := f.reader().Settings(t.Context())
		if (err == nil) != test.published || readErr != nil || settings.MaxCallSeconds != test.want {
			t.Errorf("with %d: %v; settings %+v, %v", test.seconds, err, settings, readErr)
		}
	}
}

// TestWhatIsLiveOutlastsTheSettings publishes what is live once more, under settings that do not allow it any more,
// until something else is live.
func TestWhatIsLiveOutlastsTheSettings(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	slow := publications(t, "slow")
	slow[0].Tool.Contract.Execution.TimeoutSeconds = 60
	live, err := f.publisher().Publish(t.Context(), "one", slow)
	if err != nil {
		t.Fatal(err)
	}
	shorter := &Settings{MaxCallSeconds: 30}
	again, err := f.publisher().PublishAs(t.Context(), "one", Order{Again: live.Snapshot, Settings: shorter}, slow)
	if err != nil {
		t.Fatal(err)
	}
	wantRefused := func(db DB, snapshot string) {
		t.Helper()
		_, err := f.publisherOn(db).PublishAs(t.Context(), "one", Order{Again: snapshot}, slow)
		if err == nil || !strings.Contains(err.Error(), "the server ends a call after 30 seconds, this tool after 60") {
			t.Errorf("error %v", err)
		}
	}
	wantRefused(f.db, "")
	wantRefused(f.db, live.Snapshot)
	db := &watchedDB{DB: f.db}
	db.onPut = publishBefore(f, "one", "fast")
	wantRefused(db, again.Snapshot)
	f.wantList("fast")
}

// TestOrdersAreObeyedOnce delivers orders again.
func TestOrdersAreObeyedOnce(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	first := f.publishAs("one", Order{Request: "r1"}, "a")
	if again := f.publishAs("one", Order{Request: "r1"}, "a"); again != first {
		t.Errorf("the same order again: %+v, want %+v", again, first)
	}
	second := f.publishAs("one", Order{Request: "r2"}, "b")
	if late := f.publishAs("one", Order{Request: "r1"}, "a"); late.Snapshot != second.Snapshot {
		t.Errorf("an order that came late: %+v, want what is live, %+v", late, second)
	}
	f.wantList("b")
	f.publishAs("two", Order{Request: "r1"}, "c") // another source's order
	f.wantList("b", "c")
	if err := f.publisher().Withdraw(t.Context(), "one"); err != nil {
		t.Fatal(err)
	}
	f.publishAs("one", Order{Request: "r2"}, "b")
	f.wantList("c")
}

// TestOrdersToWithdrawAreObeyedOnce delivers orders to withdraw again when the source has published anew.
func TestOrdersToWithdrawAreObeyedOnce(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	withdraw := func(source, request string, want bool) {
		t.Helper()
		got, err := f.publisher().WithdrawAs(t.Context(), source, Order{By: "Tools", Request: request})
		if err != nil || got != want {
			t.Errorf("%s: %t, %v; want %t", request, got, err, want)
		}
	}
	withdraw("one", "nothing", false) // as after a creation that failed
	f.publishAs("one", Order{By: "Tools", Request: "c1"}, "a")
	withdraw("one", "nothing", false)
	f.wantList("a")
	withdraw("one", "d1", true)
	f.publishAs("one", Order{By: "Tools", Request: "c2"}, "b")
	withdraw("one", "d1", false)
	f.wantList("b")
	f.publishAs("two", Order{By: "Tools"}, "c")
	withdraw("two", "d1", true) // another source's
	withdraw("one", "d2", true)
	f.wantList()

	f.pass(pruneAge - time.Second)
	f.wantWithdrawals(4)
	f.pass(time.Second)
	f.wantWithdrawals(0)
}

// wantWithdrawals prunes and counts the orders to withdraw that are remembered.
func (f *fixture) wantWithdrawals(want int) {
	f.Helper()
	if _, err := f.publisher().Prune(f.Context()); err != nil {
		f.Fatal(err)
	}
	got := 0
	err := queryItems(f.Context(), f.db, partition(f.table, withdrawnPartition), func(item) error {
		got++
		return nil
	})
	if err != nil || got != want {
		f.Errorf("%d orders are remembered, %v; want %d", got, err, want)
	}
}

// An order to withdraw that failed is obeyed when it is repeated; so is one that met a publish.
func TestFailedOrdersToWithdrawAreObeyed(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.publish("one", "a")
	crash := errors.New("killed")
	db := &watchedDB{DB: f.db}
	db.onPut = func(ctx context.Context, in *dynamodb.PutItemInput) (*dynamodb.PutItemOutput, error) {
		if isHead(in.Item) {
			return nil, crash
		}
		return f.db.PutItem(ctx, in)
	}
	order := Order{Request: "d1"}
	if _, err := f.publisherOn(db).WithdrawAs(t.Context(), "one", order); !errors.Is(err, crash) {
		t.Fatalf("error %v, want %v", err, crash)
	}
	f.wantList("a")
	db.onPut = publishBefore(f, "two", "b")
	if withdrawn, err := f.publisherOn(db).WithdrawAs(t.Context(), "one", order); err != nil || !withdrawn {
		t.Errorf("withdrawn %t, %v", withdrawn, err)
	}
	f.wantList("b")
}

// What somebody has looked at is withdrawn, and nothing that came after it.
func TestWithdrawLive(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	seen := f.publish("one", "a").Snapshot
	f.publish("one", "b")
	for _, source := range []string{"one", "two"} {
		err := f.publisher().WithdrawLive(t.Context(), source, seen)
		if err == nil || !strings.Contains(err.Error(), "look again") {
			t.Errorf("%s: error %v", source, err)
		}
	}
	f.wantList("b")
	if err := f.publisher().WithdrawLive(t.Context(), "one", currentSnapshot(t, f, "one")); err != nil {
		t.Fatal(err)
	}
	f.wantList()
}

// An order whose publish failed is obeyed when it is repeated.
func TestFailedOrdersAreObeyed(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	crash := errors.New("killed")
	db := &watchedDB{DB: f.db}
	db.onPut = func(ctx context.Context, in *dynamodb.PutItemInput) (*dynamodb.PutItemOutput, error) {
		if isHead(in.Item) {
			return nil, crash
		}
		return f.db.PutItem(ctx, in)
	}
	order := Order{Request: "r1"}
	if _, err := f.publisherOn(db).PublishAs(t.Context(), "one", order, publications(t, "a")); !errors.Is(err, crash) {
		t.Fatalf("error %v, want %v", err, crash)
	}
	f.publishAs("one", order, "a")
	f.wantList("a")
}

func TestOrdersAreBounded(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for _, order := range []Order{
		{By: strings.Repeat("b", maxByBytes+1)}, {Request: strings.Repeat("r", maxSourceBytes+1)}, {Operator: "a\nb"},
	} {
		_, err := f.publisher().PublishAs(t.Context(), "one", order, publications(t, "a"))
		if err == nil || !strings.Contains(err.Error(), "allowed: up to") {
			t.Errorf("%+v: error %v", order, err)
		}
	}
}

// A table that no stack publishes into can be given back to a release that knows only the first format.
func TestHeadHasTheLowestFormat(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for _, step := range []struct {
		by   string
		want int64
	}{{"", 1}, {"Tools", 2}, {"", 1}} {
		f.publishAs("one", Order{By: step.by}, "a")
		stored, err := getItem(t.Context(), f.db, f.table, headKey, headKey)
		if err != nil {
			t.Fatal(err)
		}
		if version, err := stored.number(versionAttribute); err != nil || version != step.want {
			t.Errorf("by %q: format %d, %v; want %d", step.by, version, err, step.want)
		}
	}
}
