// Package ratelimit counts calls in fixed windows, across all instances of a dispatcher.
//
// A count is one item of the ledger's table, added to on condition that it is below the limit: one small write a call.
// An instance that was refused once refuses the same caller by itself until the window ends.
package ratelimit

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"patchbay/shared/ledger"
)

// DB is what a Limiter uses of *dynamodb.Client.
type DB interface {
	UpdateItem(context.Context, *dynamodb.UpdateItemInput, ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error)
}

// Limit is how many calls a caller may make in each window.
type Limit struct {
	Calls  int
	Window time.Duration
}

// Limiter counts calls. It is safe for concurrent use.
type Limiter struct {
	db    DB
	table string
	now   func() time.Time

	mu sync.Mutex
	// refused holds, by count, until when the instance refuses without asking.
	refused map[string]time.Time
}

// New returns a Limiter that counts in the ledger's table.
func New(db DB, table string) *Limiter {
	return &Limiter{db: db, table: table, now: time.Now, refused: map[string]time.Time{}}
}

// Take counts a call of who, unless that would be over the limit: then it returns how long to wait, at least a second.
// A window begins at a whole multiple of its length since the Unix epoch, so that all instances agree on it.
func (l *Limiter) Take(ctx context.Context, who string, limit Limit) (wait time.Duration, err error) {
	now := l.now()
	begins := now.Truncate(limit.Window)
	ends := begins.Add(limit.Window)
	if l.refusedUntil(who).After(now) {
		return waitUntil(now, ends), nil
	}
	key := "LIMIT#" + digest(who) + "#" + strconv.FormatInt(begins.Unix(), 10)
	_, err = l.db.UpdateItem(ctx, &dynamodb.UpdateItemInput{
		TableName: &l.table,
		Key: map[string]types.AttributeValue{
			ledger.PartitionKey: &types.AttributeValueMemberS{Value: key},
			ledger.SortKey:      &types.AttributeValueMemberS{Value: "LIMIT"},
		},
		UpdateExpression:         aws.String("ADD #calls :one SET #expires = :expires, #version = :one"),
		ConditionExpression:      aws.String("attribute_not_exists(#calls) OR #calls < :most"),
		ExpressionAttributeNames: map[string]string{"#calls": "calls", "#expires": ledger.TTLAttribute, "#version": "v"},
		ExpressionAttributeValues: map[string]types.AttributeValue{
			":one":     number(1),
			":most":    number(int64(limit.Calls)),
			":expires": number(ends.Add(time.Minute).Unix()),
		},
	})
	var over *types.ConditionalCheckFailedException
	if errors.As(err, &over) {
		l.refuseUntil(who, now, ends)
		return waitUntil(now, ends), nil
	}
	if err != nil {
		return 0, fmt.Errorf("counting a call: %w", err)
	}
	return 0, nil
}

func (l *Limiter) refusedUntil(who string) time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.refused[who]
}

// refuseUntil remembers a refusal, and forgets those whose windows have ended, so that the memory holds no more than
// the callers who are over their limit now.
func (l *Limiter) refuseUntil(who string, now, ends time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for other, until := range l.refused {
		if !until.After(now) {
			delete(l.refused, other)
		}
	}
	l.refused[who] = ends
}

func waitUntil(now, ends time.Time) time.Duration { return max(ends.Sub(now), time.Second) }

func digest(who string) string {
	sum := sha256.Sum256([]byte(who))
	return hex.EncodeToString(sum[:])
}

func number(n int64) types.AttributeValue {
	return &types.AttributeValueMemberN{Value: strconv.FormatInt(n, 10)}
}
