package registry

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"

	"patchbay/shared/contract"
)

func TestPublishReplacesTheSourceAlone(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.wantList()
	f.publish("one", "b", "a")
	f.publish("two", "c")
	f.wantList("a", "b", "c")
	receipt := f.publish("one", "b", "d")
	f.wantList("b", "c", "d")
	want := Receipt{Source: "one", Snapshot: receipt.Snapshot, Revision: 3, Tools: 2}
	if diff := cmp.Diff(want, receipt); diff != "" {
		t.Errorf("receipt (-want +got):\n%s", diff)
	}
	if again := f.publish("one", "b", "d"); again.Snapshot == receipt.Snapshot {
		t.Error("the same publish again wrote into the snapshot that readers hold")
	}
	f.wantList("b", "c", "d")
	f.publish("one")
	f.wantList("c")
}

func TestWithdraw(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.publish("one", "a")
	f.publish("two", "b")
	for range 2 { // The second finds nothing to do.
		if err := f.publisher().Withdraw(t.Context(), "one"); err != nil {
			t.Fatal(err)
		}
		f.wantList("b")
	}
	f.publish("two", "a", "b")
	f.wantList("a", "b")
}

func TestNamesHaveOneOwner(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.publish("one", "a", "b")
	f.publish("two", "c")
	_, err := f.publisher().Publish(t.Context(), "three", publications(t, "a", "c", "d"))
	var conflict *ConflictError
	if !errors.As(err, &conflict) {
		t.Fatalf("error %v, want a *ConflictError", err)
	}
	if diff := cmp.Diff(map[string]string{"a": "one", "c": "two"}, conflict.Owners); diff != "" {
		t.Errorf("owners (-want +got):\n%s", diff)
	}
	for _, part := range []string{"publishing three", "a is owned by source one", "c is owned by source two"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("error %q does not say %q", err, part)
		}
	}
	f.wantList("a", "b", "c")
}

func TestConcurrentPublishersLoseNothing(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	const sources = 12
	var group sync.WaitGroup
	var want []string
	for i := range sources {
		name := fmt.Sprintf("tool_%02d", i)
		want = append(want, name)
		group.Go(func() {
			for range 3 {
				if _, err := f.publisher().Publish(t.Context(), "source_"+name, publications(t, name)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
	f.wantList(want...)
}

func TestConcurrentPublishersOfOneName(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	var won, refused atomic.Int64
	var group sync.WaitGroup
	for i := range 8 {
		group.Go(func() {
			_, err := f.publisher().Publish(t.Context(), fmt.Sprint("source", i), publications(t, "same"))
			var conflict *ConflictError
			switch {
			case err == nil:
				won.Add(1)
			case errors.As(err, &conflict):
				refused.Add(1)
			default:
				t.Error(err)
			}
		})
	}
	group.Wait()
	if won.Load() != 1 || refused.Load() != 7 {
		t.Errorf("%d publishers got the name and %d were refused, want 1 and 7", won.Load(), refused.Load())
	}
	f.wantList("same")
}

// TestLostAnswer writes HEAD and then says that it did not: with a broken connection, and with the failed condition
// that the SDK's own second attempt would meet.
func TestLostAnswer(t *testing.T) {
	t.Parallel()
	failures := map[string]error{
		"connection": errors.New("connection reset by peer"),
		"condition":  &types.ConditionalCheckFailedException{},
	}
	for name, failure := range failures {
		for _, overtaken := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/overtaken=%t", name, overtaken), func(t *testing.T) {
				t.Parallel()
				f := newFixture(t)
				heads := 0
				db := &watchedDB{DB: f.db}
				db.onPut = func(ctx context.Context, in *dynamodb.PutItemInput) (*dynamodb.PutItemOutput, error) {
					out, err := f.db.PutItem(ctx, in)
					if err != nil || !isHead(in.Item) {
						return out, err
					}
					heads++
					if overtaken {
						f.publish("other", "b")
					}
					return nil, failure
				}
				if _, err := f.publisherOn(db).Publish(t.Context(), "one", publications(t, "a")); err != nil {
					t.Fatal(err)
				}
				if heads != 1 {
					t.Errorf("HEAD was written %d times, want once", heads)
				}
				if overtaken {
					f.wantList("a", "b")
				} else {
					f.wantList("a")
				}
			})
		}
	}
}

func TestFailedWriteIsAnError(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.publish("one", "a")
	failure := errors.New("connection refused")
	db := &watchedDB{DB: f.db}
	db.onPut = func(ctx context.Context, in *dynamodb.PutItemInput) (*dynamodb.PutItemOutput, error) {
		if isHead(in.Item) {
			return nil, failure
		}
		return f.db.PutItem(ctx, in)
	}
	if _, err := f.publisherOn(db).Publish(t.Context(), "one", publications(t, "b")); !errors.Is(err, failure) {
		t.Errorf("error %v, want %v", err, failure)
	}
	f.wantList("a")
}

// TestLoserChecksNamesAgain lets another source take the name between the first check and the move of HEAD.
func TestLoserChecksNamesAgain(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	db := &watchedDB{DB: f.db}
	db.onPut = func(ctx context.Context, in *dynamodb.PutItemInput) (*dynamodb.PutItemOutput, error) {
		if isHead(in.Item) {
			f.publish("faster", "a")
		}
		return f.db.PutItem(ctx, in)
	}
	_, err := f.publisherOn(db).Publish(t.Context(), "slower", publications(t, "a", "b"))
	var conflict *ConflictError
	if !errors.As(err, &conflict) || conflict.Owners["a"] != "faster" {
		t.Errorf("error %v, want a conflict with faster", err)
	}
	f.wantList("a")
}

// functionOf publishes tools of other names by the function that is called after one of them, in a version of its own.
func functionOf(t *testing.T, function string, version int, names ...string) []Publication {
	t.Helper()
	tools := publications(t, names...)
	for i := range tools {
		tools[i].Function = functionARN(function, version)
	}
	return tools
}

// A contract says who may call a function, and how; one of another source's would go around it.
func TestFunctionsHaveOneOwner(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.publish("one", "a", "b")
	f.publish("two", "c")
	tools := append(functionOf(t, "a", 7, "x", "y"), functionOf(t, "c", 1, "z")...)
	_, err := f.publisher().Publish(t.Context(), "three", tools)
	var conflict *ConflictError
	if !errors.As(err, &conflict) {
		t.Fatalf("error %v, want a *ConflictError", err)
	}
	const prefix = "arn:aws:lambda:us-east-1:000000000000:function:"
	want := []FunctionConflict{{"x", prefix + "a", "one"}, {"y", prefix + "a", "one"}, {"z", prefix + "c", "two"}}
	if diff := cmp.Diff(want, conflict.Functions); diff != "" {
		t.Errorf("functions (-want +got):\n%s", diff)
	}
	if says := "function " + prefix + "a of tool x serves tools of source one"; !strings.Contains(err.Error(), says) {
		t.Errorf("error %q does not say %q", err, says)
	}
	f.wantList("a", "b", "c")

	// One function may serve several tools of one source, and after its owner it is free.
	if _, err := f.publisher().Publish(t.Context(), "one", functionOf(t, "a", 2, "a", "x", "y")); err != nil {
		t.Fatal(err)
	}
	if err := f.publisher().Withdraw(t.Context(), "one"); err != nil {
		t.Fatal(err)
	}
	if _, err := f.publisher().Publish(t.Context(), "three", functionOf(t, "a", 2, "x")); err != nil {
		t.Error(err)
	}
}

// Two sources that had one function before a release refused that go on as they are, until they publish something else.
func TestSharedFunctionsOfBeforeStay(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.publish("one", "a")
	tools := functionOf(t, "b", 1, "b")
	live, err := f.publisher().Publish(t.Context(), "two", tools)
	if err != nil {
		t.Fatal(err)
	}
	records, err := prepare("two", Order{}, functionOf(t, "a", 1, "b"), contract.ServerLimits{})
	if err != nil {
		t.Fatal(err)
	}
	m := manifest{id: live.Snapshot, source: "two", created: f.clock().Unix()}
	if err := f.publisher().writeSnapshot(t.Context(), m, records); err != nil { // as that release left it
		t.Fatal(err)
	}
	shared := functionOf(t, "a", 1, "b")
	if _, err := f.publisher().PublishAs(t.Context(), "two", Order{Again: live.Snapshot}, shared); err != nil {
		t.Error(err)
	}
	var conflict *ConflictError
	if _, err := f.publisher().Publish(t.Context(), "two", shared); !errors.As(err, &conflict) {
		t.Errorf("error %v, want a *ConflictError", err)
	}
}

// TestLoserChecksFunctionsAgain lets another source take the function between the first check and the move of HEAD.
func TestLoserChecksFunctionsAgain(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	db := &watchedDB{DB: f.db}
	db.onPut = publishBefore(f, "faster", "a")
	_, err := f.publisherOn(db).Publish(t.Context(), "slower", functionOf(t, "a", 2, "b"))
	var conflict *ConflictError
	if !errors.As(err, &conflict) || len(conflict.Functions) != 1 || conflict.Functions[0].Owner != "faster" {
		t.Errorf("error %v, want a conflict with faster", err)
	}
	f.wantList("a")
}

// TestPublishReadsOtherSourcesOnce counts what a publish beside many sources reads, which another publisher overtakes.
func TestPublishReadsOtherSourcesOnce(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	const sources = 20
	for i := range sources {
		f.publish(fmt.Sprint("source", i), fmt.Sprint("tool_", i))
	}
	f.publish("large", numbered(2000)...)
	db := &watchedDB{DB: f.db}
	db.onPut = publishBefore(f, "source0", "tool_0")
	if _, err := f.publisherOn(db).Publish(t.Context(), "mine", publications(t, "mine")); err != nil {
		t.Fatal(err)
	}
	// HEAD before, before its move, and again; what is being deleted; every source; and again the one that has moved.
	if got, want := db.reads.Load(), int64(3+1+sources+1+1); got != want {
		t.Errorf("%d reads, want %d", got, want)
	}
}

func TestUnprocessedItemsAreSentAgain(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	calls := 0
	db := &watchedDB{DB: f.db}
	db.onBatch = func(ctx context.Context, in *dynamodb.BatchWriteItemInput) (*dynamodb.BatchWriteItemOutput, error) {
		requests := in.RequestItems[f.table]
		if calls++; calls == 2 || len(requests) > 25 {
			return &dynamodb.BatchWriteItemOutput{UnprocessedItems: in.RequestItems}, nil
		}
		rest := requests[len(requests)/2+1:]
		in.RequestItems[f.table] = requests[:len(requests)/2+1]
		out, err := f.db.BatchWriteItem(ctx, in)
		if err == nil && len(rest) > 0 {
			out.UnprocessedItems = map[string][]types.WriteRequest{f.table: rest}
		}
		return out, err
	}
	names := numbered(2000)
	if _, err := f.publisherOn(db).Publish(t.Context(), "one", publications(t, names...)); err != nil {
		t.Fatal(err)
	}
	f.wantList(names...)

	db.onBatch = func(_ context.Context, in *dynamodb.BatchWriteItemInput) (*dynamodb.BatchWriteItemOutput, error) {
		return &dynamodb.BatchWriteItemOutput{UnprocessedItems: in.RequestItems}, nil
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err := f.publisherOn(db).Publish(ctx, "one", publications(t, "a"))
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error %v, want %v", err, context.DeadlineExceeded)
	}
	f.wantList(names...)
}

func TestBackOffStaysBounded(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for attempt := range 2 * maxMoves {
		if err := backOff(ctx, attempt); err != nil && !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	}
}

func TestRefusedPublications(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	if err := f.publisher().Configure(t.Context(), Settings{MaxCallSeconds: 20}); err != nil {
		t.Fatal(err)
	}
	long := strings.Repeat("a", 129)
	big := strings.Replace(definition("big"), "Returns", strings.Repeat("x", 400<<10), 1)
	slow := publications(t, "slow")
	slow[0].Tool.Contract.Execution.TimeoutSeconds = 21
	unversioned := strings.TrimSuffix(functionARN("slow", 1), ":1")
	tests := []struct {
		name, source string
		tools        []Publication
		want         []string
	}{
		{"no source", "", nil, []string{`source "": allowed: 1 to 256 bytes`}},
		{"long source", strings.Repeat("s", 257), nil, []string{"allowed: 1 to 256 bytes"}},
		{"line break in source", "a\nb", nil, []string{"printable"}},
		{"twice", "s", publications(t, "a", "a"), []string{"the name a is that of"}},
		{"long name", "s", publications(t, long), []string{"the name has 129 bytes; allowed: 1 to 128"}},
		{"no tool", "s", []Publication{{Function: functionARN("a", 1)}}, []string{"without a tool"}},
		{"too large", "s", []Publication{publication(t, "big", 1, big)},
			[]string{"tool big", "bytes; allowed: 392192"}},
		{"past the server's limit", "s", slow, []string{"the server ends a call after 20 seconds, this tool after 21"}},
		{"contracts at once", "", append(publications(t, "a", "a"),
			Publication{Tool: slow[0].Tool, Function: unversioned}),
			[]string{"source", "the name a is that of", "this tool after 21", "tool slow: function"}},
		{"all at once", "s", []Publication{
			{Tool: publications(t, "x")[0].Tool, Function: "arn:aws:lambda:us-east-1:000000000000:function:x"},
			{Tool: publications(t, "y")[0].Tool, Function: strings.TrimSuffix(functionARN("y", 1), "1") + "$LATEST"},
			{Tool: &contract.Tool{Name: "z", Definition: []byte(definition("other"))}, Function: functionARN("z", 1)},
		}, []string{"tool x: function", "tool y: function", "with a version or an alias", `of tool "other"`}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := f.publisher().Publish(t.Context(), test.source, test.tools)
			if err == nil {
				t.Fatal("published")
			}
			for _, want := range test.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("error %q does not say %q", err, want)
				}
			}
		})
	}
	f.wantList()
}

func TestLargestToolFits(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	// Incompressible, so that the stored item is as large as the tool.
	filler := incompressible(maxToolBytes - 4096)
	big := strings.Replace(definition("big"), "Returns", filler, 1)
	if _, err := f.publisher().Publish(t.Context(), "one", []Publication{publication(t, "big", 1, big)}); err != nil {
		t.Fatal(err)
	}
	entry, err := f.reader().Lookup(t.Context(), "big")
	if err != nil {
		t.Fatal(err)
	}
	if string(entry.Tool.Definition) != big {
		t.Error("the definition came back changed")
	}
}

func TestSettings(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.publish("one", "a")
	want := Settings{MaxCallSeconds: 29}
	for range 2 {
		if err := f.publisher().Configure(t.Context(), want); err != nil {
			t.Fatal(err)
		}
	}
	f.publish("one", "b")
	got, err := f.reader().Settings(t.Context())
	if err != nil || got != want {
		t.Errorf("settings %v, %v, want %v", got, err, want)
	}
	h, err := readHead(t.Context(), f.db, f.table)
	if err != nil || h.revision != 3 {
		t.Errorf("revision %d, %v; the second Configure should change nothing", h.revision, err)
	}
	if err := f.publisher().Configure(t.Context(), Settings{MaxCallSeconds: -1}); err == nil {
		t.Error("a negative limit was accepted")
	}
}

func TestDisableUnknownTool(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.publish("one", "a")
	if err := f.publisher().SetDisabled(t.Context(), "b", true); !errors.Is(err, ErrUnknownTool) {
		t.Errorf("error %v, want %v", err, ErrUnknownTool)
	}
	if err := f.publisher().SetDisabled(t.Context(), "b", false); !errors.Is(err, ErrUnknownTool) {
		t.Errorf("enabling: error %v, want %v", err, ErrUnknownTool)
	}
	if err := f.publisher().SetDisabled(t.Context(), "a", false); err != nil {
		t.Errorf("enabling what is not disabled: %v", err)
	}
	if err := f.publisher().SetDisabled(t.Context(), "a", true); err != nil {
		t.Fatal(err)
	}
	if err := f.publisher().Withdraw(t.Context(), "one"); err != nil {
		t.Fatal(err)
	}
	for _, disabled := range []bool{true, false} { // It is on the list.
		if err := f.publisher().SetDisabled(t.Context(), "a", disabled); err != nil {
			t.Error(err)
		}
	}
}

func TestDisabledStaysThroughPublishes(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.publish("one", "a", "b")
	if err := f.publisher().SetDisabled(t.Context(), "a", true); err != nil {
		t.Fatal(err)
	}
	f.publish("one", "a", "b", "c")
	f.wantList("b", "c")
	if err := f.publisher().SetDisabled(t.Context(), "a", false); err != nil {
		t.Fatal(err)
	}
	f.wantList("a", "b", "c")
}

func TestHeadStaysSmall(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	oldest := f.publish("one", "a").Snapshot
	f.pass(2 * time.Second)
	f.publish("one", "a")
	f.pass(time.Second)
	f.fillHead()
	for range 2 { // The second moves a record of a snapshot that does not exist.
		f.publish("one", "a")
	}
	h, err := readHead(t.Context(), f.db, f.table)
	if err != nil {
		t.Fatal(err)
	}
	if len(h.Superseded) != maxSuperseded || len(h.Tokens) != maxTokens || len(h.raw) > 12<<10 {
		t.Errorf("HEAD has %d superseded snapshots, %d tokens, %d bytes", len(h.Superseded), len(h.Tokens), len(h.raw))
	}
	manifests, err := f.publisher().manifests(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range manifests {
		want := int64(0)
		if m.id == oldest {
			want = m.created + 2
		}
		if m.superseded != want {
			t.Errorf("%+v: superseded at %d, want %d", m, m.superseded, want)
		}
	}
}

// fillHead fills up HEAD's records of superseded snapshots and of tokens.
func (f *fixture) fillHead() {
	f.Helper()
	_, err := f.publisher().update(f.Context(), func(h *head) (bool, error) {
		for i := len(h.Superseded); i < maxSuperseded; i++ {
			h.Superseded[fmt.Sprintf("%026d", i)] = f.clock().Unix()
		}
		for i := range maxTokens {
			h.sign(fmt.Sprintf("%026d", i))
		}
		return true, nil
	})
	if err != nil {
		f.Fatal(err)
	}
}

func TestFullHead(t *testing.T) {
	t.Parallel()
	// The largest HEAD that the single limits allow must still be written.
	h := &head{Sources: map[string]published{}, Superseded: map[string]int64{}}
	id := strings.Repeat("A", 26)
	for i := range maxSources {
		p := published{id, 10000, 1 << 40, strings.Repeat("b", maxByBytes)}
		if err := h.set(fmt.Sprintf("%0*d", maxSourceBytes, i), p); err != nil {
			t.Fatal(err)
		}
	}
	if err := h.set("one more", published{}); err == nil {
		t.Errorf("more than %d sources were accepted", maxSources)
	}
	for i := range maxDisabled {
		if _, err := h.disable(fmt.Sprintf("%0*d", maxNameBytes, i), true); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := h.disable("one_more", true); err == nil {
		t.Errorf("more than %d disabled tools were accepted", maxDisabled)
	}
	for i := range maxSuperseded {
		h.Superseded[fmt.Sprintf("%026d", i)] = 1 << 40
	}
	for range maxTokens {
		h.sign(id)
	}
	f := newFixture(t)
	if err := h.write(t.Context(), f.db, f.table); err != nil {
		t.Error(err)
	}
}
