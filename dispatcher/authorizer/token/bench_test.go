package token_test

import (
	"testing"
	"time"

	"patchbay/dispatcher/authorizer/issuertest"
	"patchbay/dispatcher/authorizer/jwks"
	"patchbay/dispatcher/authorizer/token"
	"patchbay/shared/authorization"
)

// BenchmarkVerify is one token, with the key at hand.
func BenchmarkVerify(b *testing.B) {
	keys := []*issuertest.Key{issuertest.RSA(b, "r"), issuertest.EC(b, "e"), issuertest.Ed25519(b, "d")}
	issuer := issuertest.New(b, keys...)
	config := &authorization.Config{Issuers: []authorization.Issuer{
		{URL: issuer.URL, Algorithms: []string{"RS256", "ES256", "EdDSA"}},
	}}
	if err := config.Complete(); err != nil {
		b.Fatal(err)
	}
	verifier := token.New(config, token.Options{
		Resource: resource, Now: func() time.Time { return time.Unix(now, 0) },
		Keys: func(i *authorization.Issuer) token.Keys { return jwks.New(i, jwks.Options{}) },
	})
	for _, key := range keys {
		text := key.Sign(key.Header(), claims{
			"iss": issuer.URL, "sub": "u", "client_id": "c", "aud": string(resource), "exp": now + 60, "iat": now,
			"scope": "notes:read notes:write",
		})
		b.Run(key.Algorithm, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := verifier.Verify(b.Context(), text); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
