package registry

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"patchbay/shared/table"
)

// CreateTable creates a registry's table for local use and tests and returns when it can be used; one that exists is
// left alone. On AWS the table is part of the deployed stack, with the same keys.
func CreateTable(ctx context.Context, db table.DB, name string) error {
	_, err := table.Create(ctx, db, name, []types.KeySchemaElement{
		{AttributeName: aws.String(PartitionKey), KeyType: types.KeyTypeHash},
		{AttributeName: aws.String(SortKey), KeyType: types.KeyTypeRange},
	})
	return err
}
