package handle

import (
	"context"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"patchbay/shared/table"
)

// TableVariable is the environment variable with the table's name. A function has it when its contract names a
// namespace under function.state.
const TableVariable = "PATCHBAY_STATE_TABLE"

// OpenTable returns the table that a function's environment names, for its main:
//
//	table, err := handle.OpenTable(os.Getenv)
//
// Region, credentials and endpoint are read from the variables that Lambda sets and the SDK knows, AWS_REGION and
// AWS_ENDPOINT_URL_DYNAMODB among them. The SDK's config package would search files and metadata services as well,
// which a function does not need and pays for at every cold start. No request is made.
func OpenTable(getenv func(string) string) (Table, error) {
	name, region := getenv(TableVariable), getenv("AWS_REGION")
	if name == "" {
		return Table{}, fmt.Errorf("environment variable %s is not set; name a namespace under function.state in "+
			"tool.json", TableVariable)
	}
	if region == "" {
		return Table{}, errors.New("environment variable AWS_REGION is not set")
	}
	options := dynamodb.Options{
		Region: region,
		Credentials: aws.NewCredentialsCache(credentials.NewStaticCredentialsProvider(
			getenv("AWS_ACCESS_KEY_ID"), getenv("AWS_SECRET_ACCESS_KEY"), getenv("AWS_SESSION_TOKEN"))),
	}
	if url := getenv("AWS_ENDPOINT_URL_DYNAMODB"); url != "" {
		options.BaseEndpoint = &url
	}
	return Table{DB: dynamodb.New(options), Name: name}, nil
}

// CreateTable creates a table of handles for local use and tests and returns when it can be used; one that exists is
// left alone. On AWS the table is part of the deployed stack, with the same key and TTLAttribute for its time to live;
// nothing depends on that but what the table costs.
func CreateTable(ctx context.Context, db table.DB, name string) error {
	_, err := table.Create(ctx, db, name, []types.KeySchemaElement{
		{AttributeName: aws.String(PartitionKey), KeyType: types.KeyTypeHash},
	})
	return err
}
