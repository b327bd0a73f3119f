// Package issuertest is an authorization server for tests of what takes its tokens: it serves its metadata and its keys
// over HTTP, signs whatever a test wants, and fails in the ways in which such servers fail.
package issuertest

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/hmac"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"math/big"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
)

// Key is a key pair of an issuer.
type Key struct {
	ID, Algorithm string
	Private       any
}

// The keys of all tests: making an RSA key takes longer than most tests.
var (
	rsaOnce      = sync.OnceValues(func() (*rsa.PrivateKey, error) { return rsa.GenerateKey(rand.Reader, 2048) })
	otherRSAOnce = sync.OnceValues(func() (*rsa.PrivateKey, error) { return rsa.GenerateKey(rand.Reader, 2048) })
)

// RSA returns a key for RS256, always the same one under any id.
func RSA(tb testing.TB, id string) *Key { return rsaKey(tb, id, rsaOnce) }

// OtherRSA returns another key than RSA.
func OtherRSA(tb testing.TB, id string) *Key { return rsaKey(tb, id, otherRSAOnce) }

func rsaKey(tb testing.TB, id string, once func() (*rsa.PrivateKey, error)) *Key {
	tb.Helper()
	private, err := once()
	if err != nil {
		tb.Fatal(err)
	}
	return &Key{ID: id, Algorithm: "RS256", Private: private}
}

// EC returns a new key for ES256.
func EC(tb testing.TB, id string) *Key {
	tb.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		tb.Fatal(err)
	}
	return &Key{ID: id, Algorithm: "ES256", Private: private}
}

// Ed25519 returns a new key for EdDSA.
func Ed25519(tb testing.TB, id string) *Key {
	tb.Helper()
	_, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		tb.Fatal(err)
	}
	return &Key{ID: id, Algorithm: "EdDSA", Private: private}
}

// JWK is the public key as the issuer serves it.
func (k *Key) JWK() map[string]any {
	jwk := map[string]any{"kid": k.ID, "alg": k.Algorithm, "use": "sig"}
	switch private := k.Private.(type) {
	case *rsa.PrivateKey:
		jwk["kty"], jwk["n"] = "RSA", Encode(private.N.Bytes())
		jwk["e"] = Encode(big.NewInt(int64(private.E)).Bytes())
	case *ecdsa.PrivateKey:
		point, err := private.PublicKey.Bytes()
		if err != nil {
			panic(err)
		}
		half := (len(point) - 1) / 2
		jwk["kty"], jwk["crv"] = "EC", private.Curve.Params().Name
		jwk["x"], jwk["y"] = Encode(point[1:1+half]), Encode(point[1+half:])
	case ed25519.PrivateKey:
		jwk["kty"], jwk["crv"], jwk["x"] = "OKP", "Ed25519", Encode(private.Public().(ed25519.PublicKey))
	}
	return jwk
}

// Header is the JOSE header of an access token that the key signs.
func (k *Key) Header() map[string]any {
	return map[string]any{"alg": k.Algorithm, "kid": k.ID, "typ": "at+jwt"}
}

// Sign returns a token with that header, of which only "alg" says how it is signed, and those claims.
func (k *Key) Sign(header, claims map[string]any) string {
	return k.SignRaw(marshal(header), marshal(claims), fmt.Sprint(header["alg"]))
}

// SignRaw returns a token of bytes that need not be JSON.
func (k *Key) SignRaw(header, claims []byte, algorithm string) string {
	signed := Encode(header) + "." + Encode(claims)
	return signed + "." + Encode(k.signature([]byte(signed), algorithm))
}

func (k *Key) signature(text []byte, algorithm string) []byte {
	digest, hash := digestOf(text, algorithm)
	var (
		signature []byte
		err       error
	)
	switch private := k.Private.(type) {
	case *rsa.PrivateKey:
		if algorithm[0] == 'P' {
			options := &rsa.PSSOptions{SaltLength: rsa.PSSSaltLengthEqualsHash}
			signature, err = rsa.SignPSS(rand.Reader, private, hash, digest, options)
			break
		}
		signature, err = rsa.SignPKCS1v15(rand.Reader, private, hash, digest)
	case *ecdsa.PrivateKey:
		var r, s *big.Int
		if r, s, err = ecdsa.Sign(rand.Reader, private, digest); err == nil {
			size := (private.Curve.Params().BitSize + 7) / 8
			signature = append(r.FillBytes(make([]byte, size)), s.FillBytes(make([]byte, size))...)
		}
	case ed25519.PrivateKey:
		signature = ed25519.Sign(private, text)
	case []byte:
		mac := hmac.New(sha256.New, private)
		mac.Write(text)
		signature = mac.Sum(nil)
	}
	if err != nil {
		panic(err)
	}
	return signature
}

func digestOf(text []byte, algorithm string) ([]byte, crypto.Hash) {
	switch algorithm {
	case "RS384", "PS384", "ES384":
		digest := sha512.Sum384(text)
		return digest[:], crypto.SHA384
	case "RS512", "PS512", "ES512":
		digest := sha512.Sum512(text)
		return digest[:], crypto.SHA512
	}
	digest := sha256.Sum256(text)
	return digest[:], crypto.SHA256
}

// Encode is base64url without padding.
func Encode(raw []byte) string { return base64.RawURLEncoding.EncodeToString(raw) }

func marshal(value any) []byte {
	raw, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	return raw
}

// With returns a copy of claims, or of a header, with changes; a nil value takes a member away.
func With(claims map[string]any, changes ...any) map[string]any {
	changed := maps.Clone(claims)
	for i := 0; i < len(changes); i += 2 {
		name := changes[i].(string)
		if changes[i+1] == nil {
			delete(changed, name)
			continue
		}
		changed[name] = changes[i+1]
	}
	return changed
}

// Issuer is an authorization server. Its keys are at /keys.
type Issuer struct {
	URL string

	mu       sync.Mutex
	keys     []map[string]any
	metadata map[string]any
	header   http.Header
	fault    http.HandlerFunc
	paths    []string
}

// New starts an issuer that serves the keys, until the test ends.
func New(tb testing.TB, keys ...*Key) *Issuer {
	tb.Helper()
	i := &Issuer{header: http.Header{}}
	server := httptest.NewServer(i)
	tb.Cleanup(server.Close)
	i.URL = server.URL
	i.metadata = map[string]any{"issuer": i.URL, "jwks_uri": i.URL + "/keys"}
	i.Publish(keys...)
	return i
}

// Publish replaces the keys.
func (i *Issuer) Publish(keys ...*Key) {
	var all []map[string]any
	for _, key := range keys {
		all = append(all, key.JWK())
	}
	i.PublishRaw(all...)
}

// PublishRaw replaces the keys with what need not be any.
func (i *Issuer) PublishRaw(keys ...map[string]any) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.keys = keys
}

// Describe changes the metadata document.
func (i *Issuer) Describe(changes ...any) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.metadata = With(i.metadata, changes...)
}

// CacheControl sets the field that comes with the keys.
func (i *Issuer) CacheControl(value string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.header.Set("Cache-Control", value)
}

// Break lets a handler answer in the place of the issuer; nil ends that.
func (i *Issuer) Break(fault http.HandlerFunc) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.fault = fault
}

// Asked returns the paths of all requests so far, and forgets them.
func (i *Issuer) Asked() []string {
	i.mu.Lock()
	defer i.mu.Unlock()
	paths := i.paths
	i.paths = nil
	return paths
}

// ServeHTTP answers as the issuer.
func (i *Issuer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	i.mu.Lock()
	i.paths = append(i.paths, r.URL.Path)
	fault, keys, metadata, header := i.fault, i.keys, i.metadata, i.header.Clone()
	i.mu.Unlock()
	if fault != nil {
		fault(w, r)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	switch r.URL.Path {
	case "/.well-known/openid-configuration":
		_, _ = w.Write(marshal(metadata))
	case "/keys":
		maps.Copy(w.Header(), header)
		_, _ = w.Write(marshal(map[string]any{"keys": keys}))
	default:
		http.NotFound(w, r)
	}
}
