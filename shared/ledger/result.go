package ledger

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"time"
)

// MaxResultBytes is the largest result that is recorded, before compression. What gzip cannot shrink then still fits
// DynamoDB's 400 KB for an item.
const MaxResultBytes = 256 << 10

// plainBytes is up to where a result is stored as it is: DynamoDB bills whole kilobytes.
const plainBytes = 512

// The values of a result's attribute encoding.
const (
	encodingPlain = "plain"
	encodingGzip  = "gzip"
)

// result is what one owner's run returned.
type result struct {
	data        []byte
	replayUntil time.Time // whole milliseconds; zero for none
	expires     int64     // epoch seconds, no sooner than the record's
}

func resultKey(id ID, owner string) key { return key{"RESULT#" + id.String() + "#" + owner, "RESULT"} }

func checkResult(data []byte) error {
	if len(data) > MaxResultBytes {
		return fmt.Errorf("result of %d bytes: %w; allowed: %d", len(data), ErrTooLarge, MaxResultBytes)
	}
	return nil
}

// encodeResult is the item of a result. It is written unconditionally: no other owner has its key, and one owner writes
// one result.
func (l *Ledger) encodeResult(k key, r *result) (item, error) {
	data, encoding := r.data, encodingPlain
	if len(data) > plainBytes {
		compressed, err := l.compress(data)
		if err != nil {
			return nil, fmt.Errorf("compressing a result: %w", err)
		}
		if len(compressed) < len(data) {
			data, encoding = compressed, encodingGzip
		}
	}
	stored := newItem(k, resultVersion, r.expires).
		with("encoding", text(encoding)).
		with("size", number(int64(len(r.data)))).
		with("data", blob(data))
	stored.time("replayUntil", r.replayUntil)
	return stored, nil
}

func (l *Ledger) compress(data []byte) ([]byte, error) {
	var out bytes.Buffer
	writer, ok := l.gzips.Get().(*gzip.Writer)
	if !ok {
		// Speed matters more than the last tenth: a call waits for it.
		writer, _ = gzip.NewWriterLevel(nil, gzip.BestSpeed) // The error is about the level alone.
	}
	defer l.gzips.Put(writer)
	writer.Reset(&out)
	if _, err := writer.Write(data); err != nil {
		return nil, err
	}
	if err := writer.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

func decodeResult(stored item) (*result, error) {
	d := decoder{item: stored}
	d.checkVersion(resultVersion)
	r := &result{replayUntil: d.optionalTime("replayUntil"), expires: d.number("expiresAt")}
	encoding, size, data := d.text("encoding"), d.number("size"), d.bytes("data")
	if d.err != nil {
		return nil, d.err
	}
	if size < 0 || size > MaxResultBytes {
		return nil, fmt.Errorf("attribute size is %d; allowed: 0 to %d", size, MaxResultBytes)
	}
	var err error
	if r.data, err = expand(encoding, data, int(size)); err != nil {
		return nil, fmt.Errorf("attribute data: %w", err)
	}
	return r, nil
}

// expand undoes an encoding. It reads no more than one byte past the size that it expects.
func expand(encoding string, data []byte, size int) ([]byte, error) {
	switch encoding {
	case encodingPlain:
	case encodingGzip:
		reader, err := gzip.NewReader(bytes.NewReader(data))
		if err != nil {
			return nil, err
		}
		expanded := bytes.NewBuffer(make([]byte, 0, size+bytes.MinRead))
		if _, err := expanded.ReadFrom(io.LimitReader(reader, int64(size)+1)); err != nil {
			return nil, err
		}
		data = expanded.Bytes()
	default:
		return nil, fmt.Errorf("encoding %.40q; allowed: plain, gzip", encoding)
	}
	if len(data) != size {
		return nil, fmt.Errorf("it does not have the %d bytes that attribute size says", size)
	}
	return data, nil
}

// putResult stores a result under its owner.
func (l *Ledger) putResult(ctx context.Context, id ID, owner string, r *result) error {
	k := resultKey(id, owner)
	stored, err := l.encodeResult(k, r)
	if err != nil {
		return err
	}
	if _, _, err := l.store.write(ctx, write{key: k, item: stored}); err != nil {
		return fmt.Errorf("writing the result of %s: %w", id, err)
	}
	return nil
}
