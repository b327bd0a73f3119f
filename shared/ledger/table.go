package ledger

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// The attributes of every item that the table's definition names. There are no secondary indexes.
const (
	PartitionKey = "pk"        // a string
	SortKey      = "sk"        // a string
	TTLAttribute = "expiresAt" // a number, epoch seconds
)

// versionAttribute holds an item's format version.
const versionAttribute = "v"

// TableDB is what CreateTable uses of *dynamodb.Client.
type TableDB interface {
	CreateTable(
		context.Context, *dynamodb.CreateTableInput, ...func(*dynamodb.Options),
	) (*dynamodb.CreateTableOutput, error)
	dynamodb.DescribeTableAPIClient
	UpdateTimeToLive(
		context.Context, *dynamodb.UpdateTimeToLiveInput, ...func(*dynamodb.Options),
	) (*dynamodb.UpdateTimeToLiveOutput, error)
}

// CreateTable creates a ledger's table for local use and tests and returns when it can be used; one that exists is
// left alone. On AWS the table is part of the deployed stack, with the same keys and the same TTL attribute. An
// engine without TTL keeps ended items, which changes nothing but its size.
func CreateTable(ctx context.Context, db TableDB, table string) error {
	_, err := db.CreateTable(ctx, &dynamodb.CreateTableInput{
		TableName:   aws.String(table),
		BillingMode: types.BillingModePayPerRequest,
		AttributeDefinitions: []types.AttributeDefinition{
			{AttributeName: aws.String(PartitionKey), AttributeType: types.ScalarAttributeTypeS},
			{AttributeName: aws.String(SortKey), AttributeType: types.ScalarAttributeTypeS},
		},
		KeySchema: []types.KeySchemaElement{
			{AttributeName: aws.String(PartitionKey), KeyType: types.KeyTypeHash},
			{AttributeName: aws.String(SortKey), KeyType: types.KeyTypeRange},
		},
	})
	var exists *types.ResourceInUseException
	found := errors.As(err, &exists)
	if err != nil && !found {
		return fmt.Errorf("creating table %s: %w", table, err)
	}
	waiter := dynamodb.NewTableExistsWaiter(db, func(o *dynamodb.TableExistsWaiterOptions) {
		o.MinDelay, o.MaxDelay = 10*time.Millisecond, time.Second
	})
	if err := waiter.Wait(ctx, &dynamodb.DescribeTableInput{TableName: aws.String(table)}, time.Minute); err != nil {
		return fmt.Errorf("waiting for table %s: %w", table, err)
	}
	if found {
		return nil
	}
	return enableTTL(ctx, db, table)
}

func enableTTL(ctx context.Context, db TableDB, table string) error {
	_, err := db.UpdateTimeToLive(ctx, &dynamodb.UpdateTimeToLiveInput{
		TableName: aws.String(table),
		TimeToLiveSpecification: &types.TimeToLiveSpecification{
			AttributeName: aws.String(TTLAttribute),
			Enabled:       aws.Bool(true),
		},
	})
	var coded interface{ ErrorCode() string }
	if errors.As(err, &coded) && coded.ErrorCode() == "UnknownOperationException" {
		return nil
	}
	if err != nil {
		return fmt.Errorf("enabling TTL of table %s: %w", table, err)
	}
	return nil
}
