// Package registry is the catalogue of tools in DynamoDB: publishers write it, dispatchers read it.
//
// A publish belongs to a source: a deployed stack, or a named person or pipeline. It writes an immutable snapshot of
// its source's tools under a random id and then moves HEAD, one small item that maps every source to its snapshot.
// Moving HEAD is a single conditional write, so readers see all of a publish or nothing of it, and no two sources can
// own one name or one function. Nothing here expires by itself: Prune deletes the snapshots that nobody can be reading
// any more.
//
// The items of a table, by partition key and sort key:
//
//	HEAD        HEAD           every source's snapshot, and the server-wide settings
//	SNAPSHOTS   <id>           one snapshot's source and age, written before its other items and deleted after them
//	SNAP#<id>   index#         the names of a snapshot's tools, compressed
//	SNAP#<id>   tools#<name>   tools from that name on, compressed: definitions, contracts, function ARNs
//	RETIRED     <id>           function versions that are being deleted, compressed: nobody may publish them any more
//	WITHDRAWN   <digest>       an order to withdraw that was obeyed within the last day
//
// Tools lie together, not one to an item. 10,000 tools of 900 bytes are then 140 items, written in 6 requests and read
// in one query, instead of 10,000 items, 400 requests and 10 queries: on the local engine 30 times faster either way.
// On DynamoDB, where a partition takes 1,000 writes a second, it saves ten seconds of every publish and as much of
// every deletion, and the larger part of what a new instance reads to list them. Neighbours share most of their bytes:
// gzip leaves a sixth of a set of unlike tools, less of like ones.
package registry

import (
	"context"
	"errors"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"patchbay/shared/contract"
)

// PartitionKey and SortKey are the names of the table's key attributes, both strings. There are no secondary indexes
// and no TTL attribute.
const (
	PartitionKey = "pk"
	SortKey      = "sk"
)

// ReadDB is what a Reader uses of *dynamodb.Client.
type ReadDB interface {
	GetItem(context.Context, *dynamodb.GetItemInput, ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error)
	Query(context.Context, *dynamodb.QueryInput, ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error)
}

// DB is what a Publisher uses of *dynamodb.Client.
type DB interface {
	ReadDB
	PutItem(context.Context, *dynamodb.PutItemInput, ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error)
	UpdateItem(
		context.Context, *dynamodb.UpdateItemInput, ...func(*dynamodb.Options),
	) (*dynamodb.UpdateItemOutput, error)
	BatchWriteItem(
		context.Context, *dynamodb.BatchWriteItemInput, ...func(*dynamodb.Options),
	) (*dynamodb.BatchWriteItemOutput, error)
}

// Errors that callers tell apart with errors.Is.
var (
	// ErrUnknownTool means that no source publishes a tool of that name, or that it is disabled.
	ErrUnknownTool = errors.New("unknown tool")
	// ErrBadCursor means that a cursor was not made by Page, or by a later release only.
	ErrBadCursor = errors.New("bad cursor")
	// ErrOtherPublisher means that somebody else publishes within the source. Nothing was published.
	ErrOtherPublisher = errors.New("another publisher of the source")
	// ErrChanged means that a source does not serve any more what the publisher has looked at. Nothing was published.
	ErrChanged = errors.New("the source was published or withdrawn meanwhile; look again")
	// ErrNotKept means that a snapshot is none of a source's that History tells: it is unknown, pruned, another
	// source's, or its publish failed.
	ErrNotKept = errors.New("snapshot is not kept")
	// ErrNewerFormat means that a later release wrote an item in a form that this one does not know. Nothing is read
	// from it and nothing is written over it.
	ErrNewerFormat = errors.New("written by a newer release of Patchbay")
)

// Entry is one published tool. It is shared: callers must not change it.
type Entry struct {
	Tool *contract.Tool
	// Function is the qualified ARN of the Lambda function whose code matches the definition.
	Function string
	// Source is who published the tool.
	Source string
}

// Settings are the server-wide settings in HEAD. The zero value means that nothing was set.
type Settings struct {
	// MaxCallSeconds is the longest that one call may take from end to end; 0 when it was never set.
	MaxCallSeconds int `json:"maxCallSeconds,omitempty"`
}
