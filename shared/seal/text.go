package seal

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"strings"
)

const (
	prefix    = "pb1"
	saltBytes = 16
	// overhead is what AES-GCM adds: nonce and tag.
	overhead = 12 + 16
	// info keeps keys that are derived here apart from any that are derived from the same secret elsewhere.
	info = "patchbay requestState 1"
)

// base64url is strict, since a text whose last bits or line breaks were altered must not open either.
var base64url = base64.RawURLEncoding.Strict()

// sealed is a text taken apart.
type sealed struct {
	keyID string
	body  []byte // salt, nonce, ciphertext, tag
}

// parse reports whether a text has the form of a sealed one.
func parse(text string) (sealed, bool) {
	if len(text) > MaxBytes {
		return sealed{}, false
	}
	head, body, ok := strings.Cut(strings.TrimPrefix(text, prefix+"."), ".")
	if !ok || !strings.HasPrefix(text, prefix+".") || !keyID.MatchString(head) {
		return sealed{}, false
	}
	if strings.ContainsAny(body, "\r\n") { // which the decoder skips
		return sealed{}, false
	}
	raw, err := base64url.DecodeString(body)
	if err != nil || len(raw) < saltBytes+overhead {
		return sealed{}, false
	}
	return sealed{keyID: head, body: raw}, true
}

// sealedLength is the length of the longest text with so many bytes of payload.
func sealedLength(payload int) int {
	return len(prefix) + maxKeyID + len("..") + base64url.EncodedLen(saltBytes+overhead+payload)
}

func (k Key) seal(binding Binding, payload []byte) (string, error) {
	salt := make([]byte, saltBytes, saltBytes+overhead+len(payload))
	rand.Read(salt) // never returns an error
	aead, err := k.aead(salt)
	if err != nil {
		return "", err
	}
	body := aead.Seal(salt, nil, payload, k.additional(binding))
	return prefix + "." + k.ID + "." + base64url.EncodeToString(body), nil
}

func (k Key) open(binding Binding, text sealed) ([]byte, bool) {
	aead, err := k.aead(text.body[:saltBytes])
	if err != nil {
		return nil, false
	}
	payload, err := aead.Open(nil, nil, text.body[saltBytes:], k.additional(binding))
	return payload, err == nil
}

// aead is the cipher of the one text that has this salt.
func (k Key) aead(salt []byte) (cipher.AEAD, error) {
	derived, err := hkdf.Key(sha256.New, k.Secret[:], salt, info, 32)
	if err != nil {
		return nil, fmt.Errorf("deriving a key: %w", err)
	}
	block, err := aes.NewCipher(derived)
	if err != nil {
		return nil, fmt.Errorf("making the cipher: %w", err)
	}
	return cipher.NewGCMWithRandomNonce(block)
}

// additional is what is not in a text but has to be the same when it is opened. Each part is preceded by its length, so
// that no two bindings have the same bytes.
func (k Key) additional(binding Binding) []byte {
	var data []byte
	for _, part := range []string{
		prefix, k.ID, binding.Principal.Key(), binding.Tool, string(binding.Arguments),
	} {
		data = binary.AppendUvarint(data, uint64(len(part)))
		data = append(data, part...)
	}
	return data
}
