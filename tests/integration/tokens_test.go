package integration

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"

	"patchbay/shared/authorization"
)

// tokens gives out access tokens with whatever claims a test wants, beside the authorization servers that people sign
// in at. The guarded stack trusts it.
var tokens = newTokenIssuer()

type tokenIssuer struct {
	url    string
	signer jose.Signer
	server *httptest.Server
}

func newTokenIssuer() *tokenIssuer {
	const id = "tests"
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		panic(err) // The system's randomness never fails.
	}
	options := (&jose.SignerOptions{}).WithType("at+jwt").WithHeader("kid", id)
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.ES256, Key: key}, options)
	if err != nil {
		panic(err) // The key fits the algorithm.
	}
	public := jose.JSONWebKey{Key: key.Public(), KeyID: id, Algorithm: string(jose.ES256), Use: "sig"}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(jose.JSONWebKeySet{Keys: []jose.JSONWebKey{public}})
	}))
	return &tokenIssuer{url: server.URL, signer: signer, server: server}
}

// issuers is what a stack must trust to take the tokens.
func (i *tokenIssuer) issuers() []authorization.Issuer {
	return []authorization.Issuer{{URL: i.url, JWKSURI: i.url + "/jwks"}}
}

// mint makes a token of RFC 9068 for the server, of somebody who has just signed in, with the claims beside and instead
// of those that it needs.
func (i *tokenIssuer) mint(audience, subject string, claims map[string]any) string {
	now := time.Now()
	all := map[string]any{
		"iss": i.url, "sub": subject, "aud": audience, "client_id": "tests", "jti": rand.Text(),
		"iat": now.Unix(), "exp": now.Add(time.Hour).Unix(), "auth_time": now.Unix(),
	}
	maps.Copy(all, claims)
	token, err := jwt.Signed(i.signer).Claims(all).Serialize()
	if err != nil {
		panic(err) // Such claims can always be encoded.
	}
	return token
}
