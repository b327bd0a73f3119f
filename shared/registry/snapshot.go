package registry

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// Sizes of a snapshot's items. DynamoDB allows 400 KB for an item with its keys and attribute names.
const (
	// maxItemBytes is the most that an item's data may have.
	maxItemBytes = 384 << 10
	// maxToolBytes bounds one tool before compression, so that it fits whatever its bytes are: gzip makes
	// incompressible ones longer by less than a thousandth.
	maxToolBytes = 383 << 10
	// chunkBytes is how much, before compression, goes into an item that holds several tools. A cold call inflates
	// one such item, a list all of them.
	chunkBytes = 64 << 10
	// maxSnapshotBytes bounds what a dispatcher keeps in memory for one source.
	maxSnapshotBytes = 64 << 20
	// maxInflated bounds what is read back of one item: an index of the longest names that compress best.
	maxInflated = 16 << 20
)

// maxNameBytes is the length of a tool's name. Source: MCP 2026-07-28, server/tools#tool-names.
const maxNameBytes = 128

// Sort keys of a snapshot's items.
const (
	manifestPartition = "SNAPSHOTS"
	snapshotPrefix    = "SNAP#"
	indexKey          = "index#"
	toolsPrefix       = "tools#"
	afterTools        = "tools$" // '$' follows '#'
)

// errGone means that a snapshot lacks an item: it was pruned, since publishers write all items before they move HEAD.
var errGone = errors.New("item is gone")

// record is a tool as it is stored.
type record struct {
	name, function       string
	definition, contract json.RawMessage
}

func (r *record) size() int {
	return len(r.name) + len(r.function) + len(r.definition) + len(r.contract)
}

// index is the content of a snapshot's index item.
type index struct {
	// Names are in ascending order of their bytes.
	Names []string `json:"names"`
	// Chunks are the numbers of tools in the tools items, in the order of names. An item's key is its first name.
	Chunks []int `json:"chunks"`
}

// encodeSnapshot makes the items of a snapshot from records in ascending order of name.
func encodeSnapshot(id string, records []record) ([]item, error) {
	var items []item
	var x index
	for rest := records; len(rest) > 0; {
		n := chunkLength(rest)
		data, err := deflate(encodeRecords(rest[:n]))
		if err != nil {
			return nil, err
		}
		tools := newItem(snapshotPrefix+id, toolsPrefix+rest[0].name, toolsVersion)
		items = append(items, tools.with("data", binaryValue(data)))
		for _, r := range rest[:n] {
			x.Names = append(x.Names, r.name)
		}
		x.Chunks = append(x.Chunks, n)
		rest = rest[n:]
	}
	data, err := x.encode()
	if err != nil {
		return nil, err
	}
	return append(items, newItem(snapshotPrefix+id, indexKey, indexVersion).with("data", binaryValue(data))), nil
}

// chunkLength is how many of records go into the next item: at least one.
func chunkLength(records []record) int {
	size := records[0].size()
	for i := 1; i < len(records); i++ {
		if size += records[i].size(); size > chunkBytes {
			return i
		}
	}
	return len(records)
}

func (x *index) encode() ([]byte, error) {
	text, err := json.Marshal(x)
	if err != nil {
		return nil, fmt.Errorf("encoding the index of names: %w", err)
	}
	data, err := deflate(text)
	if err != nil {
		return nil, err
	}
	if len(data) > maxItemBytes {
		return nil, fmt.Errorf("the compressed index of %d names has %d bytes; allowed: %d; publish as several sources",
			len(x.Names), len(data), maxItemBytes)
	}
	return data, nil
}

func decodeIndex(stored item) (*index, error) {
	data, err := stored.inflate(indexVersion)
	if err != nil {
		return nil, fmt.Errorf("index: %w", err)
	}
	var x index
	if err := json.Unmarshal(data, &x); err != nil {
		return nil, fmt.Errorf("index: %w", err)
	}
	return &x, nil
}

// encodeRecords writes the fields of every record, each after its length as a varint, so that the bytes that clients
// are served lie in the item as they were published.
func encodeRecords(records []record) []byte {
	var data []byte
	for _, r := range records {
		for _, field := range [][]byte{[]byte(r.name), []byte(r.function), r.definition, r.contract} {
			data = binary.AppendUvarint(data, uint64(len(field)))
			data = append(data, field...)
		}
	}
	return data
}

// decodeRecords reads the records that a tools item holds.
func decodeRecords(stored item) ([]record, error) {
	data, err := stored.inflate(toolsVersion)
	if err != nil {
		return nil, err
	}
	var records []record
	for len(data) > 0 {
		var fields [4][]byte
		for i := range fields {
			if fields[i], data, err = cutField(data); err != nil {
				return nil, fmt.Errorf("tool %d: %w", len(records), err)
			}
		}
		r := record{string(fields[0]), string(fields[1]), fields[2], fields[3]}
		records = append(records, r)
	}
	return records, nil
}

func cutField(data []byte) (field, rest []byte, err error) {
	size, n := binary.Uvarint(data)
	if n <= 0 || size > uint64(len(data)-n) {
		return nil, nil, io.ErrUnexpectedEOF
	}
	end := n + int(size)
	return data[n:end:end], data[end:], nil
}

// deflate compresses data with gzip (RFC 1952), whose checksum is verified when it is read.
func deflate(data []byte) ([]byte, error) {
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	if _, err := w.Write(data); err != nil {
		return nil, fmt.Errorf("compressing: %w", err)
	}
	if err := w.Close(); err != nil {
		return nil, fmt.Errorf("compressing: %w", err)
	}
	return out.Bytes(), nil
}

// inflate checks an item's version and returns its data uncompressed.
func (i item) inflate(version int64) ([]byte, error) {
	if err := i.checkVersion(version); err != nil {
		return nil, err
	}
	data, err := i.bytes("data")
	if err != nil {
		return nil, err
	}
	r, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, fmt.Errorf("uncompressing: %w", err)
	}
	out, err := io.ReadAll(io.LimitReader(r, maxInflated+1))
	if err != nil {
		return nil, fmt.Errorf("uncompressing: %w", err)
	}
	if len(out) > maxInflated {
		return nil, fmt.Errorf("uncompressing: more than %d bytes", maxInflated)
	}
	return out, nil
}
