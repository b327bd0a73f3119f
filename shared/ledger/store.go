package ledger

import (
	"context"
	"errors"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// key is the key of an item.
type key struct{ pk, sk string }

func (k key) item() item { return item{PartitionKey: text(k.pk), SortKey: text(k.sk)} }

// condition is what a write demands of the stored item: that there is none or that it has ended at now, if free is set,
// or that it is owner's and, if state is set, in that state and not ended at now. The zero condition always holds.
type condition struct {
	free  bool
	now   int64 // epoch seconds
	owner string
	state state
}

// write puts an item, or deletes it if item is nil, when a condition holds.
type write struct {
	key  key
	item item
	when condition
}

// store is a table in which single items are read consistently and written conditionally.
type store interface {
	// get returns an item; nil when there is none.
	get(ctx context.Context, k key) (item, error)
	// write reports whether w was made. If not because its condition does not hold, the error is nil and met is the
	// item in the way, where the table tells. After an error, w may have been made or not.
	write(ctx context.Context, w write) (met item, ok bool, err error)
}

// dynamoStore is a DynamoDB table.
type dynamoStore struct {
	db    DB
	table string
}

func (s *dynamoStore) get(ctx context.Context, k key) (item, error) {
	out, err := s.db.GetItem(ctx, &dynamodb.GetItemInput{
		TableName:      aws.String(s.table),
		Key:            k.item(),
		ConsistentRead: aws.Bool(true),
	})
	if err != nil {
		return nil, err
	}
	return out.Item, nil
}

func (s *dynamoStore) write(ctx context.Context, w write) (item, bool, error) {
	err := s.send(ctx, w)
	var failed *types.ConditionalCheckFailedException
	if errors.As(err, &failed) {
		return failed.Item, false, nil
	}
	return nil, err == nil, err
}

// send asks for the item in the way, which spares a read. dynalite ignores that.
func (s *dynamoStore) send(ctx context.Context, w write) error {
	expression, names, values := w.when.expression()
	if w.item == nil {
		_, err := s.db.DeleteItem(ctx, &dynamodb.DeleteItemInput{
			TableName:                           aws.String(s.table),
			Key:                                 w.key.item(),
			ConditionExpression:                 expression,
			ExpressionAttributeNames:            names,
			ExpressionAttributeValues:           values,
			ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
		})
		return err
	}
	_, err := s.db.PutItem(ctx, &dynamodb.PutItemInput{
		TableName:                           aws.String(s.table),
		Item:                                w.item,
		ConditionExpression:                 expression,
		ExpressionAttributeNames:            names,
		ExpressionAttributeValues:           values,
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	})
	return err
}

// expression is the condition in DynamoDB's language, in which owner and state are reserved words.
func (c condition) expression() (expression *string, names map[string]string, values item) {
	if c == (condition{}) {
		return nil, nil, nil
	}
	joined, names, values := "", map[string]string{}, item{}
	add := func(operator, term string) {
		if joined != "" {
			joined += operator
		}
		joined += term
	}
	if c.free {
		add("", "attribute_not_exists("+PartitionKey+") OR "+TTLAttribute+" <= :now")
	}
	if c.owner != "" {
		add(" OR ", "#owner = :owner")
		names["#owner"], values[":owner"] = "owner", text(c.owner)
	}
	if c.state != "" {
		add(" AND ", "#state = :state AND "+TTLAttribute+" > :now")
		names["#state"], values[":state"] = "state", text(string(c.state))
	}
	if c.free || c.state != "" {
		values[":now"] = number(c.now)
	}
	if len(names) == 0 {
		names = nil // An empty map is refused.
	}
	return &joined, names, values
}
