package benchmark

import (
	"context"
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"

	jose "github.com/go-jose/go-jose/v4"

	"patchbay/dispatcher/authorizer/jwks"
	"patchbay/dispatcher/authorizer/token"
	"patchbay/shared/authorization"
)

// resource is the server that the tokens are for.
const resource = authorization.Resource("https://tools.example.com" + authorization.EndpointPath)

// keyID is that of the issuer's one key.
const keyID = "bench-1"

// issuer is an authorization server as far as an authorizer sees one: a document of keys, and tokens.
type issuer struct {
	key    *rsa.PrivateKey
	server *httptest.Server
	config *authorization.Config
	// token is an access token of it, for resource.
	token string
}

// startIssuer makes a key of the size that authorization servers have, and a token.
func startIssuer() (*issuer, error) {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return nil, fmt.Errorf("making a key: %w", err)
	}
	i := &issuer{key: key}
	public := jose.JSONWebKeySet{Keys: []jose.JSONWebKey{
		{Key: key.Public(), KeyID: keyID, Algorithm: string(jose.RS256), Use: "sig"},
	}}
	i.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(public)
	}))
	i.config = &authorization.Config{
		Issuers: []authorization.Issuer{{URL: i.server.URL, JWKSURI: i.server.URL + "/keys"}},
	}
	if err := i.config.Complete(); err != nil {
		return nil, err
	}
	if i.token, err = i.sign(); err != nil {
		return nil, fmt.Errorf("signing a token: %w", err)
	}
	return i, nil
}

// sign makes a token with the claims that RFC 9068 demands and those that servers add.
func (i *issuer) sign() (string, error) {
	options := (&jose.SignerOptions{}).WithType("at+jwt").WithHeader("kid", keyID)
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.RS256, Key: i.key}, options)
	if err != nil {
		return "", err
	}
	now := time.Now()
	claims, err := json.Marshal(map[string]any{
		"iss": i.server.URL, "sub": "ada", "aud": string(resource), "client_id": "bench", "jti": "0123456789abcdef",
		"iat": now.Unix(), "exp": now.Add(24 * time.Hour).Unix(), "auth_time": now.Unix(), "acr": "pwd",
		"scope": "tracker:read tracker:write emails:send",
	})
	if err != nil {
		return "", err
	}
	signed, err := signer.Sign(claims)
	if err != nil {
		return "", err
	}
	return signed.CompactSerialize()
}

// verifier is the authorizer's, with the issuer's keys.
func (i *issuer) verifier() *token.Verifier {
	return token.New(i.config, token.Options{
		Resource: resource,
		Keys:     func(from *authorization.Issuer) token.Keys { return jwks.New(from, jwks.Options{}) },
	})
}

// signatureAlone verifies the token's signature, and nothing else: what no verifier can do without.
func (i *issuer) signatureAlone() error {
	at := strings.LastIndexByte(i.token, '.')
	signature, err := base64.RawURLEncoding.DecodeString(i.token[at+1:])
	if err != nil {
		return err
	}
	digest := sha256.Sum256([]byte(i.token[:at]))
	return rsa.VerifyPKCS1v15(&i.key.PublicKey, crypto.SHA256, digest[:], signature)
}

func (i *issuer) close() { i.server.Close() }

// tokens measures a token's verification beside that of its signature alone.
func (b *bench) tokens(ctx context.Context, from *issuer) error {
	verifier := from.verifier()
	verify := func() error {
		_, err := verifier.Verify(ctx, from.token)
		return err
	}
	costs, err := compare(ctx, pick(b, effort{100, 5e6}, effort{40, 4e6}), verify, from.signatureAlone)
	if err != nil {
		return fmt.Errorf("verifying a token: %w", err)
	}
	// Lambda bills whole milliseconds, of which this is a part; the goal keeps it one.
	const goal = 5
	b.report.add(Row{Part: authorizerPart, What: "a token verified, processor time", Unit: nanoseconds,
		Measured: costs[0].nanoseconds, AnchorName: "its RS256 signature alone", Anchor: costs[1].nanoseconds, Goal: goal})
	b.report.add(Row{Part: authorizerPart, What: "a token verified, memory", Unit: octets, Measured: costs[0].bytes})
	return nil
}
