package main

import (
	"context"
	"fmt"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// openPrices returns the price list: the table of that name, or without one, as on a laptop, a short list.
func openPrices(ctx context.Context, table string) (prices, error) {
	if table == "" {
		return listed{"LAMP-1": 2490, "CHAIR-7": 8900}, nil
	}
	settings, err := config.LoadDefaultConfig(ctx)
	if err != nil {
		return nil, fmt.Errorf("reading the settings of AWS: %w", err)
	}
	return tabled{db: dynamodb.NewFromConfig(settings), table: table}, nil
}

type listed map[string]int

func (l listed) Cents(_ context.Context, sku string) (int, bool, error) {
	cents, known := l[sku]
	return cents, known, nil
}

// tabled is a table with the key sku and the number cents.
type tabled struct {
	db    *dynamodb.Client
	table string
}

func (t tabled) Cents(ctx context.Context, sku string) (int, bool, error) {
	answer, err := t.db.GetItem(ctx, &dynamodb.GetItemInput{
		TableName: aws.String(t.table),
		Key:       map[string]types.AttributeValue{"sku": &types.AttributeValueMemberS{Value: sku}},
	})
	if err != nil {
		return 0, false, fmt.Errorf("reading the price of %s: %w", sku, err)
	}
	number, known := answer.Item["cents"].(*types.AttributeValueMemberN)
	if !known {
		return 0, false, nil
	}
	cents, err := strconv.Atoi(number.Value)
	if err != nil {
		return 0, false, fmt.Errorf("reading the price of %s: %w", sku, err)
	}
	return cents, true, nil
}
