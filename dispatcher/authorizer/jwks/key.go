package jwks

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rsa"
	"encoding/json"
	"fmt"
	"slices"

	jose "github.com/go-jose/go-jose/v4"

	"patchbay/shared/jsonrpc"
)

// Bounds of keys.
const (
	// maxKeys is how many keys a set may have. Real ones have two to ten.
	maxKeys = 100
	// maxSameID is how many keys of one id are tried, each of which costs a verification.
	maxSameID = 4
	// minRSABits is what RFC 7518, section 3.3, demands. A signature costs the square of the bits, hence the other.
	minRSABits, maxRSABits = 2048, 8192
	// minRSAExponent keeps out exponents with which signatures prove nothing.
	minRSAExponent = 3
)

// key is a public key for signatures.
type key struct {
	id string
	// algorithms are those that the key can verify and the issuer may use.
	algorithms []string
	public     any
}

// find returns the keys of that id, or, where id is empty, the only one, that verify the algorithm's signatures.
func (s *set) find(id, algorithm string) []any {
	var found []any
	for _, k := range s.keys {
		if (id == "" || k.id == id) && slices.Contains(k.algorithms, algorithm) {
			found = append(found, k.public)
		}
	}
	if id == "" && len(found) > 1 || len(found) > maxSameID {
		return nil
	}
	return found
}

// member are the members of a key that are read. What else there may be, such as certificates, is not: they say nothing
// about a key that the issuer itself serves.
type member struct {
	Type       string   `json:"kty"`
	ID         string   `json:"kid,omitempty"`
	Use        string   `json:"use,omitempty"`
	Operations []string `json:"key_ops,omitempty"`
	Algorithm  string   `json:"alg,omitempty"`
	Curve      string   `json:"crv,omitempty"`
	N          string   `json:"n,omitempty"`
	E          string   `json:"e,omitempty"`
	X          string   `json:"x,omitempty"`
	Y          string   `json:"y,omitempty"`
	// Private and Secret tell keys that are no public ones, or not any more.
	Private json.RawMessage `json:"d,omitempty"`
	Secret  json.RawMessage `json:"k,omitempty"`
}

// parse reads a set of keys. Those that cannot verify one of the algorithms are left out (RFC 7517, section 5); a set
// of which nothing remains is an error, so that it does not take the place of one that served.
func parse(body []byte, algorithms []string) ([]key, error) {
	if err := jsonrpc.Unambiguous(body); err != nil {
		return nil, fmt.Errorf("it is not one JSON object: %w", err)
	}
	var document struct {
		Keys []json.RawMessage `json:"keys"`
	}
	if err := json.Unmarshal(body, &document); err != nil {
		return nil, fmt.Errorf("it is no set of keys: %w", err)
	}
	if len(document.Keys) > maxKeys {
		return nil, fmt.Errorf("it has %d keys, more than %d", len(document.Keys), maxKeys)
	}
	var keys []key
	for _, raw := range document.Keys {
		if k, ok := parseKey(raw, algorithms); ok {
			keys = append(keys, k)
		}
	}
	if keys == nil {
		return nil, fmt.Errorf("none of its %d keys can verify %v", len(document.Keys), algorithms)
	}
	return keys, nil
}

func parseKey(raw json.RawMessage, algorithms []string) (key, bool) {
	var m member
	if json.Unmarshal(raw, &m) != nil || !m.verifies() {
		return key{}, false
	}
	m.Operations = nil
	public, err := json.Marshal(m)
	if err != nil {
		return key{}, false
	}
	var parsed jose.JSONWebKey
	if parsed.UnmarshalJSON(public) != nil {
		return key{}, false
	}
	k := key{id: m.ID, public: parsed.Key}
	for _, algorithm := range able(parsed.Key) {
		if slices.Contains(algorithms, algorithm) && (m.Algorithm == "" || m.Algorithm == algorithm) {
			k.algorithms = append(k.algorithms, algorithm)
		}
	}
	return k, k.algorithms != nil
}

// verifies reports whether the key is a public one that is meant for signatures. Source: RFC 7517, section 4.
func (m *member) verifies() bool {
	return m.Private == nil && m.Secret == nil && (m.Use == "" || m.Use == "sig") &&
		(m.Operations == nil || slices.Contains(m.Operations, "verify"))
}

// able are the algorithms whose signatures a key can verify; none for a weak key. Source: RFC 7518, section 3.1.
func able(public any) []string {
	switch public := public.(type) {
	case *rsa.PublicKey:
		bits := public.N.BitLen()
		if bits < minRSABits || bits > maxRSABits || public.E < minRSAExponent || public.E%2 == 0 {
			return nil
		}
		return []string{"RS256", "RS384", "RS512", "PS256", "PS384", "PS512"}
	case *ecdsa.PublicKey:
		return map[int][]string{256: {"ES256"}, 384: {"ES384"}, 521: {"ES512"}}[public.Curve.Params().BitSize]
	case ed25519.PublicKey:
		return []string{"EdDSA"}
	}
	return nil
}
