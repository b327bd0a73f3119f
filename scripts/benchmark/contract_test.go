package benchmark

import (
	"os"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"

	"patchbay/scripts/localdb/localdbtest"
	"patchbay/shared/handle"
)

var engine localdbtest.Engine

func TestMain(m *testing.M) { engine.Main(m, os.Getenv) }

// What a call costs in requests to DynamoDB is part of the design, so it is checked here and not only reported.
func TestRequestsOfEveryTrial(t *testing.T) {
	t.Parallel()
	all, err := newTrials(t.Context(), engine.Client(t))
	if err != nil {
		t.Fatal(err)
	}
	if err := alternate(t.Context(), all, 2, 2); err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, trial := range all.list() {
		got[trial.what] = trial.made.String()
		if len(trial.times) != 2 || trial.made.total() > trial.goal {
			t.Errorf("%s: %d rounds, %d requests; allowed: %d", trial.what, len(trial.times), trial.made.total(), trial.goal)
		}
	}
	want := map[string]string{
		"plain call":                         "none",
		"idempotent call":                    "1 read, 2 small writes, 1 result write",
		"its replay":                         "2 reads",
		"call that must be confirmed, asked": "none",
		"confirmed call, both rounds":        "1 read, 2 small writes, 1 result write",
		"bare read":                          "1 read",
		"handle, loaded":                     "1 read",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
}

// A trial must not measure something else than it says.
func TestDeskRefusesOtherAnswers(t *testing.T) {
	t.Parallel()
	plain, err := newDesk(plainContract, &counted{})
	if err != nil {
		t.Fatal(err)
	}
	if err := plain.run(t.Context(), plain.request(""), true); err == nil {
		t.Error("an answer of the tool passed for a replay")
	}
	if _, err := plain.ask(t.Context()); err == nil {
		t.Error("an answer of the tool passed for a question")
	}
	keyed, err := newDesk(keyedContract, &counted{})
	if err != nil {
		t.Fatal(err)
	}
	if err := keyed.run(t.Context(), keyed.request(""), false); err == nil {
		t.Error("a refusal passed for an answer of the tool")
	}
}

// Kinds of requests that no trial makes as long as all goes well are counted too.
func TestChangesAreSmallWrites(t *testing.T) {
	t.Parallel()
	client := engine.Client(t)
	table := t.Name()
	if err := handle.CreateTable(t.Context(), client, table); err != nil {
		t.Fatal(err)
	}
	db := &counted{client: client}
	key := map[string]types.AttributeValue{handle.PartitionKey: &types.AttributeValueMemberS{Value: "k"}}
	if _, err := db.UpdateItem(t.Context(), &dynamodb.UpdateItemInput{TableName: &table, Key: key}); err != nil {
		t.Fatal(err)
	}
	if _, err := db.DeleteItem(t.Context(), &dynamodb.DeleteItemInput{TableName: &table, Key: key}); err != nil {
		t.Fatal(err)
	}
	if want := (tally{writes: 2}); db.seen != want {
		t.Errorf("counted %v, want %v", db.seen, want)
	}
}

func TestRequestsAreJudged(t *testing.T) {
	t.Parallel()
	b := &bench{report: &Report{}}
	b.addRequests("quiet", tally{}, 0)
	b.addRequests("loud", tally{reads: 1}, 0)
	b.addRequests("at the bound", tally{reads: 1, writes: 2, results: 1}, 4)
	b.addRequests("over the bound", tally{reads: 3}, 2)
	var missed []string
	for _, row := range b.report.Missed() {
		missed = append(missed, row.What)
	}
	want := []string{"loud, requests to DynamoDB: 1 read", "over the bound, requests to DynamoDB: 3 reads"}
	if diff := cmp.Diff(want, missed); diff != "" {
		t.Errorf("missed (-want +got):\n%s", diff)
	}
	var table strings.Builder
	if err := b.report.WriteTable(&table); err != nil {
		t.Fatal(err)
	}
	for _, line := range strings.Split(table.String(), "\n") {
		if strings.Contains(line, "quiet") && !strings.Contains(line, "none  yes") {
			t.Errorf("the goal of none is not shown as met: %q", line)
		}
	}
}
