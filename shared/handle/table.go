package handle

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
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

// TableDB is what CreateTable uses of *dynamodb.Client.
type TableDB interface {
	CreateTable(
		context.Context, *dynamodb.CreateTableInput, ...func(*dynamodb.Options),
	) (*dynamodb.CreateTableOutput, error)
	dynamodb.DescribeTableAPIClient
}

// CreateTable creates a table of handles for local use and tests and returns when it can be used; one that exists is
// left alone. On AWS the table is part of the deployed stack, with the same key and TTLAttribute for its time to live;
// nothing depends on that but what the table costs.
func CreateTable(ctx context.Context, db TableDB, table string) error {
	_, err := db.CreateTable(ctx, &dynamodb.CreateTableInput{
		TableName:   &table,
		BillingMode: types.BillingModePayPerRequest,
		AttributeDefinitions: []types.AttributeDefinition{
			{AttributeName: aws.String(PartitionKey), AttributeType: types.ScalarAttributeTypeS},
		},
		KeySchema: []types.KeySchemaElement{{AttributeName: aws.String(PartitionKey), KeyType: types.KeyTypeHash}},
	})
	var exists *types.ResourceInUseException
	if err != nil && !errors.As(err, &exists) {
		return fmt.Errorf("creating table %s: %w", table, err)
	}
	waiter := dynamodb.NewTableExistsWaiter(db, func(o *dynamodb.TableExistsWaiterOptions) {
		o.MinDelay, o.MaxDelay = 10*time.Millisecond, time.Second
	})
	if err := waiter.Wait(ctx, &dynamodb.DescribeTableInput{TableName: &table}, time.Minute); err != nil {
		return fmt.Errorf("waiting for table %s: %w", table, err)
	}
	return nil
}
