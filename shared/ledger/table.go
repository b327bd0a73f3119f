package ledger

import (
	"context"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"patchbay/shared/table"
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
	table.DB
	UpdateTimeToLive(
		context.Context, *dynamodb.UpdateTimeToLiveInput, ...func(*dynamodb.Options),
	) (*dynamodb.UpdateTimeToLiveOutput, error)
}

// CreateTable creates a ledger's table for local use and tests and returns when it can be used; one that exists is
// left alone. On AWS the table is part of the deployed stack, with the same keys and the same TTL attribute. An
// engine without TTL keeps ended items, which changes nothing but its size.
func CreateTable(ctx context.Context, db TableDB, name string) error {
	created, err := table.Create(ctx, db, name, []types.KeySchemaElement{
		{AttributeName: aws.String(PartitionKey), KeyType: types.KeyTypeHash},
		{AttributeName: aws.String(SortKey), KeyType: types.KeyTypeRange},
	})
	if err != nil || !created {
		return err
	}
	return enableTTL(ctx, db, name)
}

func enableTTL(ctx context.Context, db TableDB, name string) error {
	_, err := db.UpdateTimeToLive(ctx, &dynamodb.UpdateTimeToLiveInput{
		TableName: aws.String(name),
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
		return fmt.Errorf("enabling TTL of table %s: %w", name, err)
	}
	return nil
}
