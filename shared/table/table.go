// Package table creates DynamoDB tables for local use and tests. On AWS they are part of the deployed stack.
package table

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// DB is what Create uses of *dynamodb.Client.
type DB interface {
	CreateTable(
		context.Context, *dynamodb.CreateTableInput, ...func(*dynamodb.Options),
	) (*dynamodb.CreateTableOutput, error)
	dynamodb.DescribeTableAPIClient
}

// Create creates a table with the given key, all of whose attributes are strings, and returns when it can be used. One
// that exists is left alone, and created is false.
func Create(ctx context.Context, db DB, name string, key []types.KeySchemaElement) (created bool, err error) {
	attributes := make([]types.AttributeDefinition, len(key))
	for i, element := range key {
		attributes[i].AttributeName = element.AttributeName
		attributes[i].AttributeType = types.ScalarAttributeTypeS
	}
	_, err = db.CreateTable(ctx, &dynamodb.CreateTableInput{
		TableName:            aws.String(name),
		BillingMode:          types.BillingModePayPerRequest,
		AttributeDefinitions: attributes,
		KeySchema:            key,
	})
	var exists *types.ResourceInUseException
	found := errors.As(err, &exists)
	if err != nil && !found {
		return false, fmt.Errorf("creating table %s: %w", name, err)
	}
	waiter := dynamodb.NewTableExistsWaiter(db, func(o *dynamodb.TableExistsWaiterOptions) {
		o.MinDelay, o.MaxDelay = 10*time.Millisecond, time.Second
	})
	if err := waiter.Wait(ctx, &dynamodb.DescribeTableInput{TableName: aws.String(name)}, time.Minute); err != nil {
		return false, fmt.Errorf("waiting for table %s: %w", name, err)
	}
	return !found, nil
}
