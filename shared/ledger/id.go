package ledger

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"io"
	"unicode"
	"unicode/utf8"
)

// MaxKeyLength is the longest idempotency key, in characters.
const MaxKeyLength = 255

// ID names a record: the hash of a principal, a tool and a key. It reveals none of them and may be logged.
type ID [sha256.Size]byte

// NewID is the ID of one principal's calls of one tool under one key. The parts are hashed with their lengths, so they
// may hold any separator.
func NewID(principal, tool, key string) ID {
	return ID(hashParts("patchbay ledger 1", principal, tool, key))
}

// CallerKey is a caller's own key as NewID takes it: under another kind than those that are made for callers without
// one, so that it never meets one of these.
func CallerKey(key string) string { return "key:" + key }

// ParseID reads what String wrote.
func ParseID(text string) (ID, error) {
	var id ID
	decoded, err := hex.DecodeString(text)
	if err != nil || len(decoded) != len(id) {
		return ID{}, fmt.Errorf("record id %.80q; allowed: %d hexadecimal digits", text, hex.EncodedLen(len(id)))
	}
	return ID(decoded), nil
}

// String is the ID in hexadecimal, as in the table and in logs.
func (id ID) String() string { return hex.EncodeToString(id[:]) }

// CheckKey says what is wrong with a caller's idempotency key; nil when nothing is.
func CheckKey(key string) error {
	if key == "" {
		return fmt.Errorf("idempotency key is empty; allowed: 1 to %d characters", MaxKeyLength)
	}
	if !utf8.ValidString(key) {
		return fmt.Errorf("idempotency key is not valid UTF-8")
	}
	if n := utf8.RuneCountInString(key); n > MaxKeyLength {
		return fmt.Errorf("idempotency key has %d characters; allowed: 1 to %d", n, MaxKeyLength)
	}
	for at, r := range key {
		if unicode.IsControl(r) {
			return fmt.Errorf("idempotency key has the control character %U at byte %d; allowed: none", r, at)
		}
	}
	return nil
}

func hashParts(parts ...string) []byte {
	h := sha256.New()
	for _, part := range parts {
		h.Write(binary.BigEndian.AppendUint64(nil, uint64(len(part))))
		io.WriteString(h, part)
	}
	return h.Sum(nil)
}
