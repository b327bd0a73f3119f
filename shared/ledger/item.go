package ledger

import (
	"fmt"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// item is a stored item.
type item map[string]types.AttributeValue

// newItem is an item with what all items have. expires is in epoch seconds.
func newItem(k key, version, expires int64) item {
	return item{
		PartitionKey: text(k.pk), SortKey: text(k.sk), TTLAttribute: number(expires), versionAttribute: number(version),
	}
}

func (i item) with(name string, value types.AttributeValue) item {
	i[name] = value
	return i
}

// flag adds a true flag; false is the absence of one.
func (i item) flag(name string, value bool) {
	if value {
		i[name] = &types.AttributeValueMemberBOOL{Value: true}
	}
}

// time adds a time in epoch milliseconds; the zero time is the absence of one.
func (i item) time(name string, t time.Time) {
	if !t.IsZero() {
		i[name] = number(t.UnixMilli())
	}
}

func text(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }

func blob(b []byte) types.AttributeValue { return &types.AttributeValueMemberB{Value: b} }

func number(n int64) types.AttributeValue {
	return &types.AttributeValueMemberN{Value: strconv.FormatInt(n, 10)}
}

// decoder reads the attributes of an item and keeps the first error.
type decoder struct {
	item item
	err  error
}

func (d *decoder) fail(format string, args ...any) {
	if d.err == nil {
		d.err = fmt.Errorf(format, args...)
	}
}

// checkVersion refuses an item of a format newer than known.
func (d *decoder) checkVersion(known int64) {
	version := d.number(versionAttribute)
	if version > known {
		d.fail("format %d: %w; this one reads formats up to %d", version, ErrNewerFormat, known)
	}
	if version < 1 {
		d.fail("format %d; allowed: 1 to %d", version, known)
	}
}

func (d *decoder) text(name string) string {
	value, ok := d.item[name].(*types.AttributeValueMemberS)
	if !ok {
		d.fail("attribute %s is not a string", name)
		return ""
	}
	return value.Value
}

func (d *decoder) bytes(name string) []byte {
	value, ok := d.item[name].(*types.AttributeValueMemberB)
	if !ok {
		d.fail("attribute %s is not binary", name)
		return nil
	}
	return value.Value
}

func (d *decoder) optionalBytes(name string) []byte {
	if d.item[name] == nil {
		return nil
	}
	return d.bytes(name)
}

func (d *decoder) number(name string) int64 {
	value, ok := d.item[name].(*types.AttributeValueMemberN)
	if !ok {
		d.fail("attribute %s is not a number", name)
		return 0
	}
	n, err := strconv.ParseInt(value.Value, 10, 64)
	if err != nil {
		d.fail("attribute %s: %w", name, err)
	}
	return n
}

func (d *decoder) flag(name string) bool {
	if d.item[name] == nil {
		return false
	}
	value, ok := d.item[name].(*types.AttributeValueMemberBOOL)
	if !ok {
		d.fail("attribute %s is not a boolean", name)
		return false
	}
	return value.Value
}

func (d *decoder) time(name string) time.Time { return time.UnixMilli(d.number(name)) }

func (d *decoder) optionalTime(name string) time.Time {
	if d.item[name] == nil {
		return time.Time{}
	}
	return d.time(name)
}
