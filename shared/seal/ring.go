package seal

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"regexp"
	"slices"
	"strings"
)

// ErrUnavailable is in the error of a Source that is out of order or out of reach for a while: a Sealer then goes on
// with the ring that it has, for Options.Stale. After any other error it does not.
var ErrUnavailable = errors.New("the key ring is unavailable")

// Source is where the key ring is kept.
type Source interface {
	// Load returns the ring as it is now. No error contains a secret. It is safe for concurrent use.
	Load(ctx context.Context) (Ring, error)
}

// Role says what a key may do.
type Role string

// The primary key seals and opens; there is exactly one. A decrypt key opens only: it is one that is yet to become the
// primary one, or was it until the last text that it sealed is of no more use.
const (
	RolePrimary Role = "primary"
	RoleDecrypt Role = "decrypt"
)

// Secret is the bytes of a key. However it is printed, logged or encoded, only a mask appears.
type Secret [32]byte

const mask = "[secret]"

// Format writes a mask for every verb.
func (Secret) Format(state fmt.State, _ rune) { _, _ = io.WriteString(state, mask) }

// LogValue returns a mask.
func (Secret) LogValue() slog.Value { return slog.StringValue(mask) }

// MarshalText returns a mask, so that a secret inside a struct is not written out; Ring.Encode writes it.
func (Secret) MarshalText() ([]byte, error) { return []byte(mask), nil }

// Key is one key of a ring.
type Key struct {
	// ID is in the clear in every text that the key sealed: 1 to 16 of a-z and 0-9, unique in the ring, and never used
	// again for another secret.
	ID     string
	Role   Role
	Secret Secret
}

const (
	maxKeyID = 16
	maxKeys  = 16
)

var keyID = regexp.MustCompile(fmt.Sprintf(`^[a-z0-9]{1,%d}$`, maxKeyID))

// Ring is a set of keys. To replace the primary one without refusing a text that is on its way: Stage a new key, wait
// until every instance has read the ring (Options.MaxAge), Promote it, wait until the last text of the old key has
// expired and its call's record has ended, and Drop the old one.
type Ring struct {
	Keys []Key
}

// NewRing returns a ring of one random key. Texts of a ring that is made at start and kept nowhere open in the process
// that made it alone.
func NewRing() Ring { return Ring{Keys: []Key{newKey(RolePrimary)}} }

func newKey(role Role) Key {
	key := Key{ID: strings.ToLower(rand.Text())[:10], Role: role}
	rand.Read(key.Secret[:]) // never returns an error
	return key
}

// Load returns the ring itself: a Ring is a Source that never changes.
func (r Ring) Load(context.Context) (Ring, error) { return r, nil }

// Stage returns the ring with one more random key, which only opens, and that key's id.
func (r Ring) Stage() (Ring, string) {
	key := newKey(RoleDecrypt)
	return Ring{Keys: append(slices.Clone(r.Keys), key)}, key.ID
}

// Promote returns the ring with the key of that id as the primary one; the one before it only opens from then on.
func (r Ring) Promote(id string) (Ring, error) {
	if !r.has(id) {
		return Ring{}, fmt.Errorf("there is no key %q; there are %s", id, r.ids())
	}
	keys := slices.Clone(r.Keys)
	for i := range keys {
		keys[i].Role = RoleDecrypt
		if keys[i].ID == id {
			keys[i].Role = RolePrimary
		}
	}
	return Ring{Keys: keys}, nil
}

// Drop returns the ring without the key of that id, which must not be the primary one. Nothing that it sealed opens
// then.
func (r Ring) Drop(id string) (Ring, error) {
	if !r.has(id) {
		return Ring{}, fmt.Errorf("there is no key %q; there are %s", id, r.ids())
	}
	without := Ring{Keys: slices.DeleteFunc(slices.Clone(r.Keys), func(k Key) bool { return k.ID == id })}
	if err := without.check(); err != nil {
		return Ring{}, fmt.Errorf("without key %q: %w", id, err)
	}
	return without, nil
}

func (r Ring) has(id string) bool {
	return slices.ContainsFunc(r.Keys, func(k Key) bool { return k.ID == id })
}

func (r Ring) ids() string {
	ids := make([]string, len(r.Keys))
	for i, key := range r.Keys {
		ids[i] = key.ID
	}
	return strings.Join(ids, ", ")
}

func (r Ring) check() error {
	if len(r.Keys) == 0 || len(r.Keys) > maxKeys {
		return fmt.Errorf("the ring has %d keys; allowed: 1 to %d", len(r.Keys), maxKeys)
	}
	primaries := 0
	seen := map[string]bool{}
	for _, key := range r.Keys {
		if err := key.check(); err != nil {
			return err
		}
		if seen[key.ID] {
			return fmt.Errorf("key id %q is there twice", key.ID)
		}
		seen[key.ID] = true
		if key.Role == RolePrimary {
			primaries++
		}
	}
	if primaries != 1 {
		return fmt.Errorf("%d keys are primary; allowed: one", primaries)
	}
	return nil
}

func (k Key) check() error {
	if !keyID.MatchString(k.ID) {
		return fmt.Errorf("key id %q; allowed: 1 to %d of a-z 0-9", k.ID, maxKeyID)
	}
	if k.Role != RolePrimary && k.Role != RoleDecrypt {
		return fmt.Errorf("key %q has role %q; allowed: %s, %s", k.ID, k.Role, RolePrimary, RoleDecrypt)
	}
	if k.Secret == (Secret{}) {
		return fmt.Errorf("key %q has no secret", k.ID)
	}
	return nil
}

// ringVersion is the version of a ring's JSON form.
const ringVersion = 1

// wireRing is a ring as JSON: its keys, or the one secret of a ring that nobody has changed yet.
type wireRing struct {
	Version int       `json:"version"`
	Keys    []wireKey `json:"keys,omitempty"`
	// Generated is 32 bytes in hex, as Secrets Manager can make them by itself: no code ever sees the first key. The
	// other form takes its place with the first change of the ring.
	Generated string `json:"generated,omitempty"`
}

type wireKey struct {
	ID   string `json:"id"`
	Role Role   `json:"role"`
	// Secret is 32 bytes in standard Base64, as "openssl rand -base64 32" makes them.
	Secret string `json:"secret"`
}

// Encode returns the ring as JSON, its secrets in the clear, for the place where it is kept.
func (r Ring) Encode() ([]byte, error) {
	if err := r.check(); err != nil {
		return nil, fmt.Errorf("encoding a key ring: %w", err)
	}
	wire := wireRing{Version: ringVersion}
	for _, key := range r.Keys {
		secret := base64.StdEncoding.EncodeToString(key.Secret[:])
		wire.Keys = append(wire.Keys, wireKey{ID: key.ID, Role: key.Role, Secret: secret})
	}
	data, err := json.MarshalIndent(wire, "", "  ")
	return append(data, '\n'), err
}

// generatedKey is the primary key that a generated secret is. Its id is made of the secret, so that it stays the same
// as long as the secret does, and is another for another one; a hash of 256 random bits tells nothing of them.
func generatedKey(text string) (Key, error) {
	secret, err := hex.DecodeString(text)
	if err != nil || len(secret) != len(Secret{}) {
		return Key{}, fmt.Errorf("the generated secret is not %d hex digits", 2*len(Secret{}))
	}
	digest := sha256.Sum256(append([]byte("patchbay seal key id\x00"), secret...))
	return Key{ID: "g" + hex.EncodeToString(digest[:6]), Role: RolePrimary, Secret: Secret(secret)}, nil
}

// ParseRing reads a ring from the JSON that Encode writes, or from {"version": 1, "generated": "…"} with 64 hex digits,
// which is a ring of one primary key. No error contains a secret.
func ParseRing(data []byte) (Ring, error) {
	var wire wireRing
	if json.Unmarshal(data, &wire) != nil {
		// The decoder's own text quotes what it stumbled over, which may be a part of a secret.
		return Ring{}, errors.New(`reading a key ring: it is not JSON of the form ` +
			`{"version": 1, "keys": [{"id": "…", "role": "primary", "secret": "…"}]}`)
	}
	if wire.Version != ringVersion {
		return Ring{}, fmt.Errorf("reading a key ring: version %d; allowed: %d", wire.Version, ringVersion)
	}
	if wire.Generated != "" && wire.Keys != nil {
		return Ring{}, errors.New("reading a key ring: it has both keys and a generated secret")
	}
	var ring Ring
	if wire.Generated != "" {
		key, err := generatedKey(wire.Generated)
		if err != nil {
			return Ring{}, fmt.Errorf("reading a key ring: %w", err)
		}
		ring.Keys = append(ring.Keys, key)
	}
	for _, key := range wire.Keys {
		secret, err := base64.StdEncoding.DecodeString(key.Secret)
		if err != nil || len(secret) != len(Secret{}) {
			return Ring{}, fmt.Errorf("reading a key ring: the secret of key %q is not %d bytes in Base64", key.ID,
				len(Secret{}))
		}
		ring.Keys = append(ring.Keys, Key{ID: key.ID, Role: key.Role, Secret: Secret(secret)})
	}
	if err := ring.check(); err != nil {
		return Ring{}, fmt.Errorf("reading a key ring: %w", err)
	}
	return ring, nil
}

// File is a Source for one machine: the path of a file with the JSON that Ring.Encode writes.
type File string

// Load reads the file anew.
func (f File) Load(context.Context) (Ring, error) {
	data, err := os.ReadFile(string(f))
	if err != nil {
		return Ring{}, fmt.Errorf("reading a key ring: %w", err)
	}
	ring, err := ParseRing(data)
	if err != nil {
		return Ring{}, fmt.Errorf("%s: %w", string(f), err)
	}
	return ring, nil
}
