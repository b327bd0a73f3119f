package benchmark

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"patchbay/shared/handle"
	"patchbay/shared/principal"
)

// basket is what the handle's value is.
type basket struct {
	Items []basketLine `json:"items"`
}

type basketLine struct {
	SKU      string `json:"sku"`
	Quantity int    `json:"quantity"`
}

// setLoads stores a basket and, for the bare read, an item that is as long.
func (t *trials) setLoads(ctx context.Context, db *counted) error {
	if err := handle.CreateTable(ctx, db.client, stateTable); err != nil {
		return err
	}
	caller := func(context.Context) (principal.Principal, bool) { return subject, true }
	baskets, err := handle.New[basket](handle.Table{DB: db, Name: stateTable}, caller,
		handle.Options{Namespace: "baskets", Prefix: "bsk", Kind: "basket"})
	if err != nil {
		return err
	}
	value := basket{Items: make([]basketLine, 10)}
	for i := range value.Items {
		value.Items[i] = basketLine{SKU: fmt.Sprintf("sku-%04d", i), Quantity: i + 1}
	}
	id, err := baskets.Create(ctx, value)
	if err != nil {
		return err
	}
	t.load.once = func(ctx context.Context) error {
		item, err := baskets.Load(ctx, id)
		if err == nil && len(item.Value.Items) != len(value.Items) {
			err = fmt.Errorf("a basket of %d lines was loaded with %d", len(value.Items), len(item.Value.Items))
		}
		return err
	}
	return t.setRead(ctx, db, value)
}

func (t *trials) setRead(ctx context.Context, db *counted, value basket) error {
	data, err := json.Marshal(value)
	if err != nil {
		return fmt.Errorf("encoding a basket: %w", err)
	}
	key := map[string]types.AttributeValue{handle.PartitionKey: &types.AttributeValueMemberS{Value: "bare"}}
	_, err = db.client.PutItem(ctx, &dynamodb.PutItemInput{
		TableName: aws.String(stateTable),
		Item: map[string]types.AttributeValue{
			handle.PartitionKey: key[handle.PartitionKey], "data": &types.AttributeValueMemberS{Value: string(data)},
		},
	})
	if err != nil {
		return fmt.Errorf("storing an item: %w", err)
	}
	t.read.once = func(ctx context.Context) error {
		out, err := db.GetItem(ctx, &dynamodb.GetItemInput{
			TableName: aws.String(stateTable), Key: key, ConsistentRead: aws.Bool(true),
		})
		if err == nil && len(out.Item) != 2 {
			err = fmt.Errorf("an item of 2 attributes was read with %d", len(out.Item))
		}
		return err
	}
	return nil
}
