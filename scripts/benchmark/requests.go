package benchmark

import (
	"context"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"patchbay/shared/ledger"
)

// tally is how many requests to DynamoDB there were. Results are told from the other writes, which are small: what a
// write costs goes by its size.
type tally struct{ reads, writes, results int }

func (t tally) total() int { return t.reads + t.writes + t.results }

// String names the kinds that there were.
func (t tally) String() string {
	var kinds []string
	for _, kind := range []struct {
		n    int
		noun string
	}{{t.reads, "read"}, {t.writes, "small write"}, {t.results, "result write"}} {
		if kind.n > 0 {
			kinds = append(kinds, plural(kind.n, kind.noun))
		}
	}
	if kinds == nil {
		return "none"
	}
	return strings.Join(kinds, ", ")
}

// counted is a DynamoDB client that counts what is asked of it, for one goroutine. The client is not embedded: a
// request of a kind that is not counted here must not compile.
type counted struct {
	client *dynamodb.Client
	seen   tally
}

func (c *counted) GetItem(ctx context.Context, in *dynamodb.GetItemInput,
	options ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error) {
	c.seen.reads++
	return c.client.GetItem(ctx, in, options...)
}

func (c *counted) PutItem(ctx context.Context, in *dynamodb.PutItemInput,
	options ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error) {
	if isResult(in.Item) {
		c.seen.results++
	} else {
		c.seen.writes++
	}
	return c.client.PutItem(ctx, in, options...)
}

func (c *counted) UpdateItem(ctx context.Context, in *dynamodb.UpdateItemInput,
	options ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error) {
	c.seen.writes++
	return c.client.UpdateItem(ctx, in, options...)
}

func (c *counted) DeleteItem(ctx context.Context, in *dynamodb.DeleteItemInput,
	options ...func(*dynamodb.Options)) (*dynamodb.DeleteItemOutput, error) {
	c.seen.writes++
	return c.client.DeleteItem(ctx, in, options...)
}

// isResult reports whether the ledger keeps a result in the item; see the keys in package ledger.
func isResult(item map[string]types.AttributeValue) bool {
	key, ok := item[ledger.PartitionKey].(*types.AttributeValueMemberS)
	return ok && strings.HasPrefix(key.Value, "RESULT#")
}

// addRequests adds the row of how many requests a call makes, beside the most that it may make.
func (b *bench) addRequests(what string, made tally, most int) {
	b.report.add(Row{
		Part: "f", What: fmt.Sprintf("%s, requests to DynamoDB: %s", what, made), Unit: requests,
		Measured: float64(made.total()), Goal: float64(most), None: most == 0,
	})
}
