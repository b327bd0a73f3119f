package token_test

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"patchbay/dispatcher/authorizer/issuertest"
	"patchbay/dispatcher/authorizer/jwks"
	"patchbay/dispatcher/authorizer/token"
	"patchbay/shared/authorization"
	"patchbay/shared/contract"
)

// Whatever an issuer signs, what gets in is meant for this server, names somebody, and is of that issuer; and whatever
// anybody sends is answered.
func FuzzVerify(f *testing.F) {
	key := issuertest.Ed25519(f, "k")
	issuer := issuertest.New(f, key)
	config := &authorization.Config{Issuers: []authorization.Issuer{{URL: issuer.URL, Algorithms: []string{"EdDSA"}}}}
	if err := config.Complete(); err != nil {
		f.Fatal(err)
	}
	verifier := token.New(config, token.Options{
		Resource: resource, Now: func() time.Time { return time.Unix(now, 0) },
		Keys: func(i *authorization.Issuer) token.Keys { return jwks.New(i, jwks.Options{}) },
	})
	const good = `{"alg":"EdDSA","kid":"k","typ":"at+jwt"}`
	claims := `{"iss":"ISSUER","sub":"u","client_id":"c","aud":["` + string(resource) + `"],"exp":1780000300,` +
		`"scope":"a b"}`
	f.Add(good, claims, "")
	f.Add(good, strings.Replace(claims, `"u"`, `"c"`, 1), "")
	f.Add(good, strings.Replace(claims, `"exp"`, `"scp":["a"],"acr":1,"cnf":{},"exp"`, 1), "")
	f.Add(`{"alg":"none","crit":["x"],"jwk":{},"kid":"k"}`, claims, "")
	f.Add("", "", "e30.e30.e30")
	f.Add("", "", "a.b.c.d")
	f.Fuzz(func(t *testing.T, header, claims, text string) {
		if text == "" {
			claims = strings.ReplaceAll(claims, "ISSUER", issuer.URL)
			text = key.SignRaw([]byte(header), []byte(claims), "EdDSA")
		}
		verified, err := verifier.Verify(t.Context(), text)
		var refusal *token.Refusal
		if err != nil {
			if !errors.As(err, &refusal) || refusal.Reason == "" || len(refusal.Issuer) > 300 || len(refusal.KeyID) > 300 {
				t.Errorf("%q: %v %+v", text, err, refusal)
			}
			return
		}
		var said struct {
			Aud any
			Exp float64
		}
		if err := json.Unmarshal([]byte(claims), &said); err != nil {
			t.Fatalf("%s got in: %v", claims, err)
		}
		list, _ := said.Aud.([]any)
		if said.Aud != string(resource) && !slices.Contains(list, any(string(resource))) || said.Exp+30 <= now {
			t.Errorf("%s got in", claims)
		}
		who := verified.Principal
		if who.Issuer != issuer.URL || who.ClientID == "" || who.Anonymous() {
			t.Errorf("%s is %+v", claims, who)
		}
		for _, scope := range who.Scopes {
			if !contract.IsScope(scope) {
				t.Errorf("%s grants %q", claims, scope)
			}
		}
	})
}
