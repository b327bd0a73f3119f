package handle

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// live is the condition of every change: the item is there and has not expired. DynamoDB deletes expired items late.
const live = "attribute_exists(" + PartitionKey + ") AND " + TTLAttribute + " > :now"

// get reads an item consistently. One that has expired is not there.
func (s *Store[T]) get(ctx context.Context, key string) (record, error) {
	out, err := s.table.DB.GetItem(ctx, &dynamodb.GetItemInput{
		TableName: &s.table.Name, Key: attributes{PartitionKey: text(key)}, ConsistentRead: aws.Bool(true),
	})
	if err != nil {
		return record{}, fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	if out.Item == nil {
		return record{}, ErrNotFound
	}
	stored, err := decode(out.Item)
	if err != nil {
		return record{}, err
	}
	if stored.expiresAt <= s.now() {
		return record{}, ErrNotFound
	}
	return stored, nil
}

// put stores a new item.
func (s *Store[T]) put(ctx context.Context, key string, stored record) error {
	var sending sending
	_, err := s.table.DB.PutItem(ctx, &dynamodb.PutItemInput{
		TableName: &s.table.Name, Item: stored.attributes(key),
		// Handles are never the same; this is for a request that comes a second time, late, when the value has changed.
		ConditionExpression: aws.String("attribute_not_exists(" + PartitionKey + ")"),
	}, sending.watch)
	return s.settle(ctx, key, stored, err, &sending)
}

// replace stores the next version over the one before it.
func (s *Store[T]) replace(ctx context.Context, key string, next record) error {
	var sending sending
	_, err := s.table.DB.UpdateItem(ctx, &dynamodb.UpdateItemInput{
		TableName: &s.table.Name, Key: attributes{PartitionKey: text(key)},
		ConditionExpression: aws.String(live + " AND #version = :before"),
		UpdateExpression: aws.String(
			"SET #version = :version, #data = :data, #expires = :expires, #tokens = :tokens, #format = :format"),
		ExpressionAttributeNames: map[string]string{
			"#version": versionAttribute, "#data": dataAttribute, "#expires": TTLAttribute, "#tokens": tokensAttribute,
			"#format": formatAttribute,
		},
		ExpressionAttributeValues: attributes{
			":now": number(s.now()), ":before": number(next.version - 1), ":version": number(next.version),
			":data": text(string(next.data)), ":expires": number(next.expiresAt), ":tokens": binary(next.tokens),
			":format": number(formatVersion),
		},
	}, sending.watch)
	return s.settle(ctx, key, next, err, &sending)
}

// prolong makes an item expire later, never earlier. It leaves the version alone, so that a reader does not make a
// writer begin anew.
func (s *Store[T]) prolong(ctx context.Context, key string, until int64) error {
	_, err := s.table.DB.UpdateItem(ctx, &dynamodb.UpdateItemInput{
		TableName: &s.table.Name, Key: attributes{PartitionKey: text(key)},
		ConditionExpression:       aws.String(live + " AND " + TTLAttribute + " < :until"),
		UpdateExpression:          aws.String("SET " + TTLAttribute + " = :until"),
		ExpressionAttributeValues: attributes{":now": number(s.now()), ":until": number(until)},
	})
	return err
}

// remove deletes an item. One that had expired was not there.
func (s *Store[T]) remove(ctx context.Context, key string) error {
	var sending sending
	out, err := s.table.DB.DeleteItem(ctx, &dynamodb.DeleteItemInput{
		TableName: &s.table.Name, Key: attributes{PartitionKey: text(key)}, ReturnValues: types.ReturnValueAllOld,
	}, sending.watch)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	if sending.repeated {
		return nil // the first sending may be what deleted it; it is gone either way
	}
	if out.Attributes == nil {
		return ErrNotFound
	}
	stored, err := decode(out.Attributes)
	if err == nil && stored.expiresAt <= s.now() {
		return ErrNotFound
	}
	return nil
}

// settle says what became of a write that was answered with err. A failed condition or a lost answer may hide a
// success, which the write's own token in the item shows.
func (s *Store[T]) settle(ctx context.Context, key string, written record, err error, sending *sending) error {
	if err == nil {
		return nil
	}
	conflict := isRefused(err)
	if !conflict && !sending.repeated && isClientFault(err) {
		return fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	found, reading := s.get(ctx, key)
	switch {
	case reading == nil && found.signedWith(written.token()):
		return nil
	case conflict && reading == nil && !(sending.repeated && found.version-written.version >= maxTokens):
		return ErrConflict // had it been made, its token would be there still
	case conflict && errors.Is(reading, ErrNotFound):
		return ErrNotFound
	case conflict && !sending.repeated:
		return fmt.Errorf("reading what is stored instead: %w", reading)
	}
	return fmt.Errorf("%w: %w", ErrUnknownOutcome, err)
}

func isRefused(err error) bool {
	_, ok := errors.AsType[*types.ConditionalCheckFailedException](err)
	return ok
}

// isClientFault reports whether DynamoDB answered that it did not even try: the request is not allowed, not valid, or
// one too many.
func isClientFault(err error) bool {
	response, ok := errors.AsType[*awshttp.ResponseError](err)
	return ok && response.HTTPStatusCode() >= 400 && response.HTTPStatusCode() < 500
}

// sending watches whether the SDK sends one request more than once.
type sending struct{ repeated bool }

// watch is an option of one request.
func (s *sending) watch(o *dynamodb.Options) {
	if o.Retryer != nil {
		o.Retryer = &watchedRetryer{Retryer: o.Retryer, sending: s}
	}
}

// watchedRetryer is a Retryer that tells when it was asked how long to wait before the next sending.
type watchedRetryer struct {
	aws.Retryer
	sending *sending
}

// RetryDelay notes that the request is sent again.
func (w *watchedRetryer) RetryDelay(attempt int, err error) (time.Duration, error) {
	w.sending.repeated = true
	return w.Retryer.RetryDelay(attempt, err)
}

// GetAttemptToken passes the wait for a first sending through, which only the retryers of aws.RetryerV2 have.
func (w *watchedRetryer) GetAttemptToken(ctx context.Context) (func(error) error, error) {
	if limited, ok := w.Retryer.(aws.RetryerV2); ok {
		return limited.GetAttemptToken(ctx)
	}
	return w.GetInitialToken(), nil
}
