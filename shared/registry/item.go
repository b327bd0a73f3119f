package registry

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// The versions of the stored formats, each the newest that this release reads and the one that it writes. Raise one
// with every change that an older release would misread or lose when it writes the item again, a new member of HEAD
// included, and keep reading the old.
const (
	headVersion      = 2 // 2: published.by
	manifestVersion  = 1 // attributes may be added: nobody writes a manifest again
	indexVersion     = 1
	toolsVersion     = 1
	retiredVersion   = 1
	withdrawnVersion = 1
)

// versionAttribute holds an item's format version.
const versionAttribute = "v"

// item is a stored item.
type item map[string]types.AttributeValue

func newItem(pk, sk string, version int64) item {
	return item{PartitionKey: text(pk), SortKey: text(sk), versionAttribute: number(version)}
}

func (i item) with(name string, value types.AttributeValue) item {
	i[name] = value
	return i
}

func text(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }

func binaryValue(b []byte) types.AttributeValue { return &types.AttributeValueMemberB{Value: b} }

func number(n int64) types.AttributeValue {
	return &types.AttributeValueMemberN{Value: strconv.FormatInt(n, 10)}
}

func (i item) text(name string) (string, error) {
	value, ok := i[name].(*types.AttributeValueMemberS)
	if !ok {
		return "", fmt.Errorf("attribute %s is not a string", name)
	}
	return value.Value, nil
}

func (i item) bytes(name string) ([]byte, error) {
	value, ok := i[name].(*types.AttributeValueMemberB)
	if !ok {
		return nil, fmt.Errorf("attribute %s is not binary", name)
	}
	return value.Value, nil
}

func (i item) number(name string) (int64, error) {
	value, ok := i[name].(*types.AttributeValueMemberN)
	if !ok {
		return 0, fmt.Errorf("attribute %s is not a number", name)
	}
	n, err := strconv.ParseInt(value.Value, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("attribute %s: %w", name, err)
	}
	return n, nil
}

// checkVersion refuses an item of a format newer than known.
func (i item) checkVersion(known int64) error {
	version, err := i.number(versionAttribute)
	if err != nil {
		return err
	}
	if version < 1 {
		return fmt.Errorf("format %d; allowed: 1 to %d", version, known)
	}
	if version > known {
		return fmt.Errorf("format %d: %w; this one reads formats up to %d", version, ErrNewerFormat, known)
	}
	return nil
}

// key is the key of an item alone.
func key(pk, sk string) item { return item{PartitionKey: text(pk), SortKey: text(sk)} }

// getItem reads one item consistently; nil when there is none.
func getItem(ctx context.Context, db ReadDB, table, pk, sk string) (item, error) {
	out, err := db.GetItem(ctx, &dynamodb.GetItemInput{
		TableName:      aws.String(table),
		Key:            key(pk, sk),
		ConsistentRead: aws.Bool(true),
	})
	if err != nil {
		return nil, err
	}
	return out.Item, nil
}

// queryItems calls visit for every item of a partition, in key order, or for those between two sort keys, both
// included.
func queryItems(ctx context.Context, db ReadDB, input *dynamodb.QueryInput, visit func(item) error) error {
	input.ConsistentRead = aws.Bool(true)
	for {
		out, err := db.Query(ctx, input)
		if err != nil {
			return err
		}
		for _, found := range out.Items {
			if err := visit(found); err != nil {
				return err
			}
		}
		if len(out.LastEvaluatedKey) == 0 {
			return nil
		}
		input.ExclusiveStartKey = out.LastEvaluatedKey
	}
}

// partition is a query of all items under pk.
func partition(table, pk string) *dynamodb.QueryInput {
	return &dynamodb.QueryInput{
		TableName:                 aws.String(table),
		KeyConditionExpression:    aws.String("pk = :pk"),
		ExpressionAttributeValues: map[string]types.AttributeValue{":pk": text(pk)},
	}
}

// between is a query of the items under pk whose sort key is from low to high.
func between(table, pk, low, high string) *dynamodb.QueryInput {
	return &dynamodb.QueryInput{
		TableName:              aws.String(table),
		KeyConditionExpression: aws.String("pk = :pk AND sk BETWEEN :low AND :high"),
		ExpressionAttributeValues: map[string]types.AttributeValue{
			":pk": text(pk), ":low": text(low), ":high": text(high),
		},
	}
}

// Bounds of a BatchWriteItem request and of how often one is sent again. Source: API_BatchWriteItem.
const (
	batchItems  = 25
	maxAttempts = 12
)

// writeBatches sends all requests. What DynamoDB leaves unprocessed is sent again, ever more slowly.
func writeBatches(ctx context.Context, db DB, table string, requests []types.WriteRequest) error {
	for attempt := 0; len(requests) > 0; {
		n := min(batchItems, len(requests))
		out, err := db.BatchWriteItem(ctx, &dynamodb.BatchWriteItemInput{
			RequestItems: map[string][]types.WriteRequest{table: requests[:n]},
		})
		if err != nil {
			return err
		}
		rest := out.UnprocessedItems[table]
		requests = append(requests[n:], rest...)
		if len(rest) == 0 {
			attempt = 0
			continue
		}
		if attempt++; attempt == maxAttempts {
			return fmt.Errorf("%d items were left unprocessed %d times in a row", len(rest), attempt)
		}
		if err := backOff(ctx, attempt); err != nil {
			return err
		}
	}
	return nil
}

// backOff waits a random time, up to 2.56 s, that grows with the attempt, the first being 1.
func backOff(ctx context.Context, attempt int) error {
	timer := time.NewTimer(rand.N(10 * time.Millisecond << min(attempt, 8)))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
