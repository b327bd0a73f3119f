package token_test

import (
	"errors"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"patchbay/dispatcher/authorizer/issuertest"
	"patchbay/dispatcher/authorizer/jwks"
	"patchbay/dispatcher/authorizer/token"
	"patchbay/shared/authorization"
	"patchbay/shared/principal"
)

const resource authorization.Resource = "https://mcp.example.com/mcp"

// now is the clock of all tests, in seconds.
const now = 1_780_000_000

// claims are members of a header or of a token.
type claims = map[string]any

// with is a copy of claims with changes; nil takes one away.
func with(c claims, changes ...any) claims { return issuertest.With(c, changes...) }

// fixture is a verifier that trusts one issuer.
type fixture struct {
	*testing.T
	issuer   *issuertest.Issuer
	key      *issuertest.Key
	verifier *token.Verifier
}

// newFixture configures an issuer; its URL may have a path below that of the test's server.
func newFixture(t *testing.T, path string, config authorization.Config) *fixture {
	t.Helper()
	key := issuertest.RSA(t, "k")
	f := &fixture{T: t, key: key, issuer: issuertest.New(t, key)}
	f.issuer.PublishRaw(forAnyAlgorithm(key))
	config.Issuers[0].JWKSURI = f.issuer.URL + "/keys"
	config.Issuers[0].URL = f.issuer.URL + path
	if err := config.Complete(); err != nil {
		t.Fatal(err)
	}
	f.verifier = token.New(&config, token.Options{
		Resource: resource, Now: func() time.Time { return time.Unix(now, 0) },
		Keys: func(i *authorization.Issuer) token.Keys { return jwks.New(i, jwks.Options{}) },
	})
	return f
}

// forAnyAlgorithm is a key that does not say for which algorithm it is.
func forAnyAlgorithm(key *issuertest.Key) claims { return with(key.JWK(), "alg", nil) }

func trusting(issuer authorization.Issuer) authorization.Config {
	return authorization.Config{Issuers: []authorization.Issuer{issuer}}
}

// takes expects a token to be good, and to say that.
func (f *fixture) takes(name string, header, c claims, want principal.Principal) {
	f.Helper()
	got, err := f.verifier.Verify(f.Context(), f.key.Sign(header, c))
	if err != nil {
		f.Errorf("%s: %v", name, err)
		return
	}
	want.Issuer = c["iss"].(string)
	if diff := cmp.Diff(want, got.Principal); diff != "" {
		f.Errorf("%s (-want +got):\n%s", name, diff)
	}
}

// refuses expects a token not to be good, for a reason.
func (f *fixture) refuses(name string, header, c claims, want token.Reason) {
	f.Helper()
	got, err := f.verifier.Verify(f.Context(), f.key.Sign(header, c))
	var refusal *token.Refusal
	if !errors.As(err, &refusal) {
		f.Errorf("%s: got %+v, %v", name, got, err)
		return
	}
	if refusal.Reason != want {
		f.Errorf("%s: refused for %q, want %q", name, refusal.Reason, want)
	}
}

func header(changes ...any) claims {
	return with(claims{"alg": "RS256", "kid": "k", "typ": "at+jwt"}, changes...)
}

// A token of RFC 9068, as section 2.2 has it.
func TestGeneric(t *testing.T) {
	t.Parallel()
	f := newFixture(t, "", authorization.Config{
		Issuers: []authorization.Issuer{{
			Audiences: []string{"urn:tools"}, TenantClaim: "org", Algorithms: []string{"RS256", "PS256", "ES256", "EdDSA"},
		}},
		Audiences:      []string{"https://old.example.com/mcp"},
		ScopeHierarchy: map[string][]string{"admin": {"write"}, "write": {"read"}},
	})
	c := claims{
		"iss": f.issuer.URL, "sub": "u-1", "client_id": "c-1", "aud": string(resource), "exp": now + 300, "iat": now,
		"jti": "j", "scope": "write  other", "auth_time": now - 60, "acr": "urn:mfa", "org": "north",
	}
	who := principal.Principal{
		Subject: "u-1", ClientID: "c-1", Scopes: []string{"write", "other", "read"}, AuthTime: now - 60, ACR: "urn:mfa",
		Tenant: "north",
	}
	f.takes("a person", header(), c, who)
	f.takes("the type in full", header("typ", "application/at+jwt"), c, who)
	f.takes("the type in capitals", header("typ", "AT+JWT"), c, who)
	f.takes("several audiences", header(), with(c, "aud", []string{"https://a.example", string(resource)}), who)
	f.takes("an alias", header(), with(c, "aud", "https://old.example.com/mcp"), who)
	f.takes("an alias of the issuer", header(), with(c, "aud", []string{"urn:tools"}), who)
	f.takes("unknown members", header("x5t", "abc", "nonce", "n"), with(c, "x", claims{"y": []int{1}}), who)
	f.takes("broken seconds", header(), with(c, "exp", now+0.5, "nbf", now-0.5), who)
	f.takes("within the leeway", header(), with(c, "exp", now-29, "nbf", now+30, "iat", now+30), who)
	f.takes("PS256", header("alg", "PS256"), c, who)
	f.takes("without a key id", header("kid", nil), c, who)

	few := principal.Principal{Subject: "u-1", ClientID: "c-1"}
	least := with(c, "scope", nil, "auth_time", nil, "acr", nil, "org", nil)
	f.takes("the least", header(), least, few)
	f.takes("no scopes", header(), with(least, "scope", ""), few)
	f.takes("a sign-in to come", header(), with(least, "auth_time", now+31), few)
	f.takes("a sign-in by another clock", header(), with(least, "auth_time", "yesterday"), few)
	f.takes("a sign-in before time", header(), with(least, "auth_time", -5), few)
	f.takes("a class that is a number", header(), with(least, "acr", 1), few)
	list := with(least, "scp", []string{"a", "b c", "", "d\"", "e"})
	f.takes("a list of scopes", header(), list, principal.Principal{
		Subject: "u-1", ClientID: "c-1", Scopes: []string{"a", "e"},
	})

	machine := principal.Principal{ClientID: "c-1"}
	f.takes("a machine", header(), with(least, "sub", "c-1"), machine)
	f.takes("a machine that has signed in", header(), with(least, "sub", "c-1", "auth_time", now, "acr", "1"), machine)
	f.takes("a client named by azp", header(), with(least, "client_id", nil, "azp", "c-1"), few)
	f.refuses("nobody, who could be anybody", header(), with(least, "sub", nil), token.ReasonClaims)
}

// Cognito: "Understanding the access token" in the developer guide.
func TestCognito(t *testing.T) {
	t.Parallel()
	f := newFixture(t, "/eu-west-1_AbCdEfGhI", trusting(authorization.Issuer{
		Provider: authorization.ProviderCognito, ClientIDs: []string{"1example23456789"}, ScopePrefix: "tools/",
	}))
	head := header("typ", nil)
	person := claims{
		"sub": "aaaaaaaa-bbbb-cccc-dddd-eeeeeeeeeeee", "device_key": "d", "cognito:groups": []string{"admin"},
		"iss": f.issuer.URL + "/eu-west-1_AbCdEfGhI", "version": 2, "client_id": "1example23456789",
		"origin_jti": "o", "event_id": "e", "token_use": "access", "auth_time": now - 5, "exp": now + 3600, "iat": now,
		"jti": "j", "username": "ada", "scope": "openid tools/emails:send aws.cognito.signin.user.admin write",
	}
	who := principal.Principal{
		Subject: "aaaaaaaa-bbbb-cccc-dddd-eeeeeeeeeeee", ClientID: "1example23456789", AuthTime: now - 5,
		Scopes: []string{"emails:send"},
	}
	f.takes("bound to the resource", head, with(person, "aud", string(resource)), who)
	f.takes("without an audience", head, person, who)
	f.takes("an empty list of audiences", head, with(person, "aud", []string{}), who)
	f.takes("bound, of another client", head, with(person, "aud", string(resource), "client_id", "2"),
		principal.Principal{Subject: who.Subject, ClientID: "2", AuthTime: who.AuthTime, Scopes: who.Scopes})
	none := who
	none.Scopes = nil
	f.takes("bound, without the scopes", head, with(person, "aud", string(resource), "scope", "openid write"), none)
	f.takes("a machine", head, claims{
		"sub": "1example23456789", "token_use": "access", "scope": "tools/notes:read", "auth_time": now, "iss": person["iss"],
		"exp": now + 3600, "iat": now, "version": 2, "jti": "j", "client_id": "1example23456789",
	}, principal.Principal{ClientID: "1example23456789", Scopes: []string{"notes:read"}})

	f.refuses("bound to another resource", head, with(person, "aud", "https://other.example/mcp"), token.ReasonAudience)
	f.refuses("of a client that is not named", head, with(person, "client_id", "2"), token.ReasonAudience)
	f.refuses("without a scope of this server", head, with(person, "scope", "openid other/write"), token.ReasonScope)
	f.refuses("with the prefix alone", head, with(person, "scope", "tools/"), token.ReasonScope)
	f.refuses("without any scope", head, with(person, "scope", nil), token.ReasonScope)
	f.refuses("an ID token", head, with(person, "token_use", "id", "aud", string(resource)), token.ReasonKind)
	f.refuses("an ID token as it is", head, with(person, "token_use", "id", "aud", "1example23456789", "client_id", nil),
		token.ReasonKind)
	f.refuses("without token_use", head, with(person, "token_use", nil), token.ReasonKind)
	f.refuses("a group as a scope", head, with(person, "scope", nil, "scp", "tools/x"), token.ReasonScope)
}

// Entra ID: "Access token claims reference" of the Microsoft identity platform.
func TestEntra(t *testing.T) {
	t.Parallel()
	const tenant = "aaaabbbb-0000-cccc-1111-dddd2222eeee"
	f := newFixture(t, "/"+tenant+"/v2.0", trusting(authorization.Issuer{
		Provider: authorization.ProviderEntra, ScopePrefix: "api://tools/", TenantClaim: "tid",
		Audiences: []string{"11112222-bbbb-3333-cccc-4444dddd5555"}, ClientIDs: []string{"client"},
	}))
	head := header("typ", "JWT")
	person := claims{
		"aud": "11112222-bbbb-3333-cccc-4444dddd5555", "iss": f.issuer.URL + "/" + tenant + "/v2.0", "iat": now, "nbf": now,
		"exp": now + 4500, "aio": "opaque", "azp": "client", "azpacr": "0", "name": "Ada", "oid": "object",
		"preferred_username": "ada@example.com", "rh": "opaque", "scp": "emails:send notes:read", "sid": "s",
		"sub": "pairwise", "tid": tenant, "uti": "u", "ver": "2.0", "xms_ftd": "opaque",
	}
	who := principal.Principal{
		Subject: "pairwise", ClientID: "client", Tenant: tenant, Scopes: []string{"emails:send", "notes:read"},
	}
	f.takes("a person", head, person, who)
	f.takes("a person with roles", head, with(person, "roles", []string{"emails:bulk"}), who)
	application := with(person, "scp", nil, "name", nil, "preferred_username", nil, "sub", "object", "idtyp", "app",
		"roles", []string{"notes:read"})
	f.takes("an application", head, application, principal.Principal{
		Subject: "object", ClientID: "client", Tenant: tenant, Scopes: []string{"notes:read"},
	})
	f.takes("version 1", with(head, "x5t", "k"),
		with(person, "ver", "1.0", "azp", nil, "azpacr", nil, "appid", "client", "appidacr", "0", "acr", "1"),
		principal.Principal{
			Subject: "pairwise", ClientID: "client", Tenant: tenant, Scopes: []string{"emails:send", "notes:read"}, ACR: "1",
		})

	f.refuses("an ID token", head, with(person, "azp", nil, "azpacr", nil, "scp", nil, "nonce", "n"), token.ReasonKind)
	f.refuses("an application without roles", head, with(application, "roles", nil), token.ReasonScope)
	f.refuses("of another tenant", head, with(person, "tid", "99990000-0000-cccc-1111-dddd2222eeee"), token.ReasonIssuer)
	f.refuses("of a part of the tenant", head, with(person, "tid", tenant[:8]), token.ReasonIssuer)
	f.refuses("of no tenant", head, with(person, "tid", nil), token.ReasonIssuer)
	f.refuses("of another version", head, with(person, "ver", "3.0"), token.ReasonKind)
	f.refuses("for Graph", head, with(person, "aud", "00000003-0000-0000-c000-000000000000"), token.ReasonAudience)
	f.refuses("without an audience", head, with(person, "aud", nil), token.ReasonScope)
	f.refuses("roles that are no list of texts", head, with(application, "roles", []int{1}), token.ReasonClaims)
	f.refuses("without a type", header("typ", nil), person, token.ReasonType)
}

// Auth0: "Access Token Profiles".
func TestAuth0(t *testing.T) {
	t.Parallel()
	f := newFixture(t, "/", trusting(authorization.Issuer{Provider: authorization.ProviderAuth0}))
	head := header("typ", "JWT")
	person := claims{
		"iss": f.issuer.URL + "/", "sub": "auth0|123456",
		"aud": []string{string(resource), f.issuer.URL + "/userinfo"}, "azp": "my_client_id",
		"exp": now + 86400, "iat": now, "scope": "openid profile notes:read",
		"permissions": []string{"notes:read", "emails:send"}, "org_id": "org_1",
	}
	who := principal.Principal{
		Subject: "auth0|123456", ClientID: "my_client_id", Scopes: []string{"openid", "profile", "notes:read"},
	}
	f.takes("a person", head, person, who)
	f.takes("of the other profile", header(), with(person, "azp", nil, "client_id", "my_client_id", "jti", "j"), who)
	f.takes("permissions without scopes", head, with(person, "scope", nil), principal.Principal{
		Subject: "auth0|123456", ClientID: "my_client_id",
	})
	f.takes("a machine", head, with(person, "sub", "my_client_id@clients", "gty", "client-credentials",
		"aud", string(resource), "scope", "notes:read"), principal.Principal{
		Subject: "my_client_id@clients", ClientID: "my_client_id", Scopes: []string{"notes:read"},
	})
	f.refuses("an ID token", head, with(person, "aud", "my_client_id", "azp", nil, "nonce", "n"), token.ReasonKind)
	f.refuses("an ID token for the resource", head, with(person, "nonce", "n"), token.ReasonKind)
	f.refuses("for userinfo alone", head, with(person, "aud", f.issuer.URL+"/userinfo"), token.ReasonAudience)
	f.refuses("without a type", header("typ", nil), person, token.ReasonType)
}

// Okta: "OpenID Connect & OAuth 2.0 API", access token payload.
func TestOkta(t *testing.T) {
	t.Parallel()
	f := newFixture(t, "/oauth2/default", trusting(authorization.Issuer{
		Provider: authorization.ProviderOkta, Audiences: []string{"api://default"},
	}))
	head := header("typ", nil)
	person := claims{
		"ver": 1, "jti": "AT.0mP4JKAZX1iACIT4vbEDF7LpvDVjxypPMf0D7uX39RE", "iss": f.issuer.URL + "/oauth2/default",
		"aud": "api://default", "sub": "ada@example.com", "iat": now, "exp": now + 3600, "cid": "nmdP1fcyvdVO11AL7ECm",
		"uid": "00ujmkLgagxeRrAg20g3", "scp": []string{"openid", "notes:read"}, "auth_time": now - 10,
	}
	f.takes("a person", head, person, principal.Principal{
		Subject: "ada@example.com", ClientID: "nmdP1fcyvdVO11AL7ECm", Scopes: []string{"openid", "notes:read"},
		AuthTime: now - 10,
	})
	f.takes("a machine", head, with(person, "sub", "nmdP1fcyvdVO11AL7ECm", "uid", nil, "auth_time", nil),
		principal.Principal{ClientID: "nmdP1fcyvdVO11AL7ECm", Scopes: []string{"openid", "notes:read"}})
	f.refuses("an ID token", head, with(person, "aud", "api://default", "cid", nil, "scp", nil, "amr", []string{"pwd"}),
		token.ReasonKind)
	f.refuses("an ID token by its hash", head, with(person, "at_hash", "h"), token.ReasonKind)
	f.refuses("of the org server", header("typ", "application/okta-internal-at+jwt"), person, token.ReasonType)
	f.refuses("for another server", head, with(person, "aud", "api://other"), token.ReasonAudience)
}

// Keycloak: a realm's tokens, with and without an audience mapper.
func TestKeycloak(t *testing.T) {
	t.Parallel()
	f := newFixture(t, "/realms/tools", trusting(authorization.Issuer{
		Provider: authorization.ProviderKeycloak, ClientIDs: []string{"inspector"}, ScopePrefix: "tools:",
	}))
	head := header("typ", "JWT")
	person := claims{
		"exp": now + 300, "iat": now, "auth_time": now - 9, "jti": "onrtac:1", "iss": f.issuer.URL + "/realms/tools",
		"sub": "7f2f…", "typ": "Bearer", "azp": "inspector", "sid": "s", "acr": "1", "allowed-origins": []string{"*"},
		"aud":          []string{string(resource), "account"},
		"realm_access": claims{"roles": []string{"offline_access"}}, "scope": "openid tools:notes:read email",
		"preferred_username": "ada",
	}
	who := principal.Principal{
		Subject: "7f2f…", ClientID: "inspector", Scopes: []string{"notes:read"}, AuthTime: now - 9, ACR: "1",
	}
	f.takes("a person", head, person, who)
	f.takes("with the type of RFC 9068", header(), person, who)
	f.takes("without an audience mapper", head, with(person, "aud", nil), who)
	f.takes("a machine", head, with(person, "sub", "5ab1", "azp", "robot", "client_id", "robot", "auth_time", nil,
		"preferred_username", "service-account-robot", "aud", string(resource)),
		principal.Principal{Subject: "5ab1", ClientID: "robot", Scopes: []string{"notes:read"}, ACR: "1"})
	f.refuses("without a mapper, of another client", head, with(person, "aud", nil, "azp", "other"), token.ReasonAudience)
	f.refuses("for the account alone", head, with(person, "aud", "account"), token.ReasonAudience)
	f.refuses("of a realm without the scope basic", head, with(person, "sub", nil), token.ReasonClaims)
	for _, kind := range []any{"ID", "Refresh", "Offline", "Logout", "DPoP", "bearer", "", nil, 7} {
		f.refuses(fmt.Sprintf("typ %v", kind), head, with(person, "typ", kind), token.ReasonKind)
	}
}

// Which issuer's rules count is what the token says; whose key signed it must fit.
func TestSeveralIssuers(t *testing.T) {
	t.Parallel()
	keys := []*issuertest.Key{issuertest.RSA(t, "k"), issuertest.OtherRSA(t, "k")}
	issuers := []*issuertest.Issuer{issuertest.New(t, keys[0]), issuertest.New(t, keys[1])}
	issuers[1].PublishRaw(forAnyAlgorithm(keys[1]))
	config := &authorization.Config{Issuers: []authorization.Issuer{
		{URL: issuers[0].URL, Audiences: []string{"urn:first"}}, {URL: issuers[1].URL, Algorithms: []string{"PS256"}},
	}}
	if err := config.Complete(); err != nil {
		t.Fatal(err)
	}
	verifier := token.New(config, token.Options{
		Resource: resource, Now: func() time.Time { return time.Unix(now, 0) },
		Keys: func(i *authorization.Issuer) token.Keys { return jwks.New(i, jwks.Options{}) },
	})
	base := claims{"sub": "u", "client_id": "c", "aud": string(resource), "exp": now + 60}
	for _, test := range []struct {
		name        string
		issuer, key int
		algorithm   string
		audience    string
		want        token.Reason
	}{
		{"the first", 0, 0, "RS256", string(resource), ""},
		{"the second", 1, 1, "PS256", string(resource), ""},
		{"the first's audience", 0, 0, "RS256", "urn:first", ""},
		{"the first's audience of the second", 1, 1, "PS256", "urn:first", token.ReasonAudience},
		{"the first's key for the second", 1, 0, "PS256", string(resource), token.ReasonSignature},
		{"the second's key for the first", 0, 1, "RS256", string(resource), token.ReasonSignature},
		{"the first's algorithm for the second", 1, 1, "RS256", string(resource), token.ReasonAlgorithm},
	} {
		text := keys[test.key].Sign(header("alg", test.algorithm),
			with(base, "iss", issuers[test.issuer].URL, "aud", test.audience))
		_, err := verifier.Verify(t.Context(), text)
		var refusal *token.Refusal
		if test.want == "" && err != nil || test.want != "" && (!errors.As(err, &refusal) || refusal.Reason != test.want) {
			t.Errorf("%s: got %v, want %q", test.name, err, test.want)
		}
	}
}

// Keys that cannot be had are no fault of the token's.
func TestKeysOutOfReach(t *testing.T) {
	t.Parallel()
	f := newFixture(t, "", trusting(authorization.Issuer{}))
	f.issuer.Break(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
	_, err := f.verifier.Verify(t.Context(), f.key.Sign(header(), claims{"iss": f.issuer.URL}))
	var refusal *token.Refusal
	if err == nil || errors.As(err, &refusal) {
		t.Errorf("got %v", err)
	}
}
