package patchbaycdk

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"

	"patchbay/infra/cdk/iamsim"
	"patchbay/scripts/localdb"
	"patchbay/scripts/localdb/localdbtest"
	"patchbay/shared/contract"
	"patchbay/shared/ledger"
	"patchbay/shared/registry"
)

// witness is a DynamoDB client that writes down what is asked of it: the action, and the partition keys that it is on.
type witness struct {
	*dynamodb.Client
	seen []seen
}

type seen struct {
	action string
	keys   []string
}

func (w *witness) note(action string, items ...map[string]types.AttributeValue) {
	var keys []string
	for _, item := range items {
		keys = append(keys, item["pk"].(*types.AttributeValueMemberS).Value)
	}
	w.seen = append(w.seen, seen{"dynamodb:" + action, keys})
}

func (w *witness) GetItem(
	ctx context.Context, in *dynamodb.GetItemInput, o ...func(*dynamodb.Options),
) (*dynamodb.GetItemOutput, error) {
	w.note("GetItem", in.Key)
	return w.Client.GetItem(ctx, in, o...)
}

func (w *witness) Query(
	ctx context.Context, in *dynamodb.QueryInput, o ...func(*dynamodb.Options),
) (*dynamodb.QueryOutput, error) {
	w.note("Query", map[string]types.AttributeValue{"pk": in.ExpressionAttributeValues[":pk"]})
	return w.Client.Query(ctx, in, o...)
}

func (w *witness) PutItem(
	ctx context.Context, in *dynamodb.PutItemInput, o ...func(*dynamodb.Options),
) (*dynamodb.PutItemOutput, error) {
	w.note("PutItem", in.Item)
	return w.Client.PutItem(ctx, in, o...)
}

func (w *witness) UpdateItem(
	ctx context.Context, in *dynamodb.UpdateItemInput, o ...func(*dynamodb.Options),
) (*dynamodb.UpdateItemOutput, error) {
	w.note("UpdateItem", in.Key)
	return w.Client.UpdateItem(ctx, in, o...)
}

func (w *witness) DeleteItem(
	ctx context.Context, in *dynamodb.DeleteItemInput, o ...func(*dynamodb.Options),
) (*dynamodb.DeleteItemOutput, error) {
	w.note("DeleteItem", in.Key)
	return w.Client.DeleteItem(ctx, in, o...)
}

func (w *witness) BatchWriteItem(
	ctx context.Context, in *dynamodb.BatchWriteItemInput, o ...func(*dynamodb.Options),
) (*dynamodb.BatchWriteItemOutput, error) {
	var items []map[string]types.AttributeValue
	for _, requests := range in.RequestItems {
		for _, request := range requests {
			items = append(items, request.PutRequest.Item)
		}
	}
	w.note("BatchWriteItem", items...)
	return w.Client.BatchWriteItem(ctx, in, o...)
}

// kinds are the actions that were seen with the kinds of keys that they were on, sorted.
func (w *witness) kinds() []string {
	var kinds []string
	for _, s := range w.seen {
		for _, key := range s.keys {
			kind, _, more := strings.Cut(key, "#")
			if more {
				kind += "#*"
			}
			kinds = append(kinds, s.action+" "+kind)
		}
	}
	slices.Sort(kinds)
	return slices.Compact(kinds)
}

// granted are the actions of a policy on a table, in the same words.
func (f *front) granted(t *testing.T, lever, table string) []string {
	t.Helper()
	var granted []string
	for _, s := range f.policy(t, lever) {
		if !slices.Contains(s.resources, tableARN(table)) {
			continue
		}
		_, keys, _ := strings.Cut(s.condition, "dynamodb:LeadingKeys ")
		for _, action := range s.actions {
			for key := range strings.SplitSeq(keys, ",") {
				granted = append(granted, action+" "+key)
			}
		}
	}
	slices.Sort(granted)
	return granted
}

func tableARN(name string) string {
	return "arn:aws:dynamodb:" + region + ":" + account + ":table/tools-prod-" + name
}

// check asks IAM's rules about each request that a lever has made, and whether the policy allows more than it needs.
func (w *witness) check(t *testing.T, lever, table string) {
	t.Helper()
	document := plain().raw(t, managedPolicy, "ManagedPolicyName", "tools-prod-"+lever)["Properties"].(map[string]any)
	encoded, err := json.Marshal(document["PolicyDocument"])
	if err != nil {
		t.Fatal(err)
	}
	policy, err := iamsim.ParsePolicy(lever, encoded)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range w.seen {
		request := iamsim.Request{
			Action: s.action, Resource: tableARN(table), Context: map[string][]string{"dynamodb:LeadingKeys": s.keys},
		}
		if decision, err := iamsim.Decide([]iamsim.Policy{policy}, request); decision != iamsim.Allowed || err != nil {
			t.Errorf("%s: %s is %s, %v", lever, request, decision, err)
		}
	}
	if diff := cmp.Diff(w.kinds(), plain().granted(t, lever, table)); diff != "" {
		t.Errorf("%s, what it does and what it may (-does +may):\n%s", lever, diff)
	}
}

// fixtureTool is a tool that can be published, one for each version of it.
func fixtureTool(t *testing.T, version int) registry.Publication {
	t.Helper()
	tool, problems := contract.Parse("greet/tool.json", fmt.Appendf(nil, `{
		"name": "greet", "description": "Greets somebody by name; this is number %d of its kind in the catalogue.",
		"inputSchema": {"type": "object", "properties": {}, "additionalProperties": false},
		"annotations": {"readOnlyHint": true, "openWorldHint": false},
		"contract": {"category": "fixture", "risk": "low", "autonomous": true, "function": {"runtime": "go"}}
	}`, version))
	if err := problems.Err(); err != nil {
		t.Fatal(err)
	}
	function := fmt.Sprintf("arn:aws:lambda:%s:%s:function:tools-prod-tool-greet-00000000:%d", region, account, version)
	return registry.Publication{Tool: tool, Function: function}
}

// What the levers ask of DynamoDB is what their policies allow, neither less nor more: each is run against an engine,
// and what it asked for is put to the policy.
func TestLeversAndTheirPolicies(t *testing.T) {
	t.Parallel()
	client := localdb.Client(localdbtest.Start(t, os.Getenv).URL)
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	const catalogue, records = "tools-prod-registry", "tools-prod-ledger"
	must(registry.CreateTable(t.Context(), client, catalogue))
	must(ledger.CreateTable(t.Context(), client, records))
	publisher := registry.NewPublisher(client, catalogue, registry.PublisherOptions{})
	first, err := publisher.Publish(t.Context(), "stack", []registry.Publication{fixtureTool(t, 1)})
	must(err)
	_, err = publisher.Publish(t.Context(), "stack", []registry.Publication{fixtureTool(t, 2)})
	must(err)
	orphan, err := publisher.Publish(t.Context(), "orphan", nil)
	must(err)

	t.Run("tool-switch", func(t *testing.T) {
		w := &witness{Client: client}
		acting := registry.NewPublisher(w, catalogue, registry.PublisherOptions{})
		must(acting.SetDisabled(t.Context(), "greet", true))
		must(acting.SetDisabled(t.Context(), "greet", false))
		_, err := acting.Names(t.Context()) // for whoever misspells one
		must(err)
		w.check(t, "tool-switch", "registry")
	})
	t.Run("catalogue", func(t *testing.T) {
		w := &witness{Client: client}
		acting := registry.NewPublisher(w, catalogue, registry.PublisherOptions{})
		_, err := acting.History(t.Context())
		must(err)
		_, _, err = acting.Live(t.Context(), "stack")
		must(err)
		_, err = acting.Contents(t.Context(), "stack", first.Snapshot)
		must(err)
		_, err = acting.Rollback(t.Context(), "stack", first.Snapshot, registry.Order{})
		must(err)
		must(acting.WithdrawLive(t.Context(), "orphan", orphan.Snapshot))
		// Only a catalogue that has changed very often moves what it has superseded out of HEAD.
		w.seen = append(w.seen, seen{"dynamodb:UpdateItem", []string{"SNAPSHOTS"}})
		w.check(t, "catalogue", "registry")
	})
	t.Run("calls", func(t *testing.T) {
		w := &witness{Client: client}
		_, err := registry.NewReader(w, catalogue, registry.ReaderOptions{}).Lookup(t.Context(), "greet")
		must(err)
		w.check(t, "calls", "registry")
	})
	t.Run("ledger", func(t *testing.T) {
		w := &witness{Client: client}
		acting := ledger.New(w, records, ledger.Options{})
		for key, resolution := range map[string]ledger.Resolution{"free": {}, "result": {Result: []byte("{}")}} {
			call := ledger.Call{ID: ledger.NewID("ada", "greet", key), Timeout: time.Minute, TTL: time.Hour}
			lease, _, err := ledger.New(client, records, ledger.Options{}).Acquire(t.Context(), call)
			must(err)
			must(lease.Fail(t.Context()))
			_, err = acting.Show(t.Context(), call.ID)
			must(err)
			_, err = acting.Resolve(t.Context(), call.ID, resolution)
			must(err)
		}
		w.check(t, "ledger", "ledger")
		w = &witness{Client: client}
		reading := registry.NewPublisher(w, catalogue, registry.PublisherOptions{})
		_, err := reading.Names(t.Context())
		must(err)
		_, err = reading.Find(t.Context(), "greet")
		must(err)
		w.check(t, "ledger", "registry")
	})
}
