package handle

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// PartitionKey is the name of the table's one key attribute, a string. TTLAttribute is that of the attribute by which
// DynamoDB deletes items, epoch seconds.
const (
	PartitionKey = "pk"
	TTLAttribute = "expiresAt"
)

// formatVersion is the newest form of an item that this release reads, and the one that it writes.
const formatVersion = 1

// The other attributes of an item.
const (
	formatAttribute  = "v"
	versionAttribute = "version"
	dataAttribute    = "data"
	endAttribute     = "endsAt"
	tokensAttribute  = "tokens"
)

// record is a stored value.
type record struct {
	version   int64
	data      []byte // JSON
	expiresAt int64  // epoch seconds; never after endsAt
	endsAt    int64  // epoch seconds; never changes
	// tokens are those of the last changes, newest last. Who lost the answer to a change finds its own here, even when
	// others have changed the value since.
	tokens []byte
}

const (
	tokenBytes = 8
	maxTokens  = 8
)

// sign adds the token of the write to come.
func (r *record) sign() {
	token := make([]byte, tokenBytes)
	rand.Read(token) // never returns an error
	tokens := append(slices.Clone(r.tokens), token...)
	r.tokens = tokens[max(0, len(tokens)-maxTokens*tokenBytes):]
}

// token is that of the last change.
func (r record) token() []byte { return r.tokens[len(r.tokens)-tokenBytes:] }

func (r record) signedWith(token []byte) bool {
	for own := range slices.Chunk(r.tokens, tokenBytes) {
		if bytes.Equal(own, token) {
			return true
		}
	}
	return false
}

// key is the partition key of the caller's item for a handle. Whatever was sent as the handle has a key of its own, so
// that there is no malformed one and nothing to tell apart.
func (s *Store[T]) key(ctx context.Context, id string) (string, error) {
	caller, ok := s.caller(ctx)
	if !ok {
		return "", errors.New("the context belongs to no call, so there is no caller")
	}
	return "state#" + s.options.Namespace + "#" + digest(caller.Key()) + "#" + digest(id), nil
}

func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}

type attributes = map[string]types.AttributeValue

func text(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }

func binary(b []byte) types.AttributeValue { return &types.AttributeValueMemberB{Value: b} }

func number(n int64) types.AttributeValue {
	return &types.AttributeValueMemberN{Value: strconv.FormatInt(n, 10)}
}

func (r record) attributes(key string) attributes {
	return attributes{
		PartitionKey: text(key), formatAttribute: number(formatVersion), versionAttribute: number(r.version),
		dataAttribute: text(string(r.data)), TTLAttribute: number(r.expiresAt), endAttribute: number(r.endsAt),
		tokensAttribute: binary(r.tokens),
	}
}

// decode reads an item that is there.
func decode(item attributes) (record, error) {
	d := decoder{item: item}
	if format := d.number(formatAttribute); d.err == nil && format > formatVersion {
		return record{}, fmt.Errorf("format %d: %w; this one reads formats up to %d", format, ErrNewerFormat, formatVersion)
	}
	r := record{
		version: d.number(versionAttribute), data: d.text(dataAttribute), expiresAt: d.number(TTLAttribute),
		endsAt: d.number(endAttribute), tokens: d.binary(tokensAttribute),
	}
	return r, d.err
}

// decoder reads attributes and keeps the first fault.
type decoder struct {
	item attributes
	err  error
}

func (d *decoder) fault(name, want string) {
	if d.err == nil {
		d.err = fmt.Errorf("attribute %s is not %s", name, want)
	}
}

func (d *decoder) number(name string) int64 {
	value, ok := d.item[name].(*types.AttributeValueMemberN)
	if !ok {
		d.fault(name, "a number")
		return 0
	}
	n, err := strconv.ParseInt(value.Value, 10, 64)
	if err != nil {
		d.fault(name, "a whole number")
	}
	return n
}

func (d *decoder) text(name string) []byte {
	value, ok := d.item[name].(*types.AttributeValueMemberS)
	if !ok {
		d.fault(name, "a string")
		return nil
	}
	return []byte(value.Value)
}

func (d *decoder) binary(name string) []byte {
	value, ok := d.item[name].(*types.AttributeValueMemberB)
	if !ok || len(value.Value)%tokenBytes != 0 {
		d.fault(name, "tokens of "+strconv.Itoa(tokenBytes)+" bytes")
		return nil
	}
	return value.Value
}
