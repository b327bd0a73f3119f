package localauth

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"patchbay/scripts/localauth/signin"
)

// What MCP clients miss in a user pool's metadata, and where they look for it in vain.
func TestCognitoMetadata(t *testing.T) {
	t.Parallel()
	server := shared(t, LikeCognito)
	origin, _ := strings.CutSuffix(server.Issuer, "/"+pool)
	metadata := get(t, server.Issuer+"/.well-known/openid-configuration")
	if metadata["issuer"] != server.Issuer || metadata["token_endpoint"] != server.TokenEndpoint() {
		t.Errorf("metadata %v", metadata)
	}
	for _, name := range []string{
		"registration_endpoint", "code_challenge_methods_supported", "grant_types_supported",
		"authorization_response_iss_parameter_supported", "client_id_metadata_document_supported",
	} {
		if value, ok := metadata[name]; ok {
			t.Errorf("%s is %v", name, value)
		}
	}
	for _, address := range []string{
		origin + "/.well-known/oauth-authorization-server/" + pool, origin + "/.well-known/openid-configuration/" + pool,
		server.Issuer + "/.well-known/oauth-authorization-server", origin + "/.well-known/oauth-authorization-server",
		origin + "/.well-known/openid-configuration", origin + "/register",
	} {
		if status := statusOf(t.Context(), t, address); status != http.StatusNotFound {
			t.Errorf("%s: %d", address, status)
		}
	}
}

func TestCognitoTokens(t *testing.T) {
	t.Parallel()
	server := shared(t, LikeCognito)
	for _, test := range []struct {
		user  string
		ask   url.Values
		scope string
		aud   any
	}{
		{"ada", url.Values{"scope": {"openid patchbay/emails:bulk"}}, "openid patchbay/emails:bulk", resource},
		{"bob", url.Values{"scope": {"openid patchbay/emails:bulk patchbay/emails:send"}}, "openid patchbay/emails:send",
			resource},
		{"bob", url.Values{"scope": {"patchbay/contacts:read"}, "resource": nil}, "patchbay/contacts:read", nil},
		{"bob", url.Values{"scope": nil}, "openid patchbay/contacts:read patchbay/emails:send", resource},
		{"ada", url.Values{"scope": {"patchbay/contacts:read"}, "code_challenge": nil, "code_challenge_method": nil},
			"patchbay/contacts:read", resource},
	} {
		c := newClient(t, server)
		var pages int
		c.browser.Page = func(string, string) { pages++ }
		answer := c.answer(test.user, test.ask)
		if answer.Get("iss") != "" || answer.Get("code") == "" {
			t.Errorf("%v: answer %v", test.ask, answer)
		}
		form := url.Values{"grant_type": {"authorization_code"}, "code": {answer.Get("code")}, "redirect_uri": {c.redirect}}
		if _, without := test.ask["code_challenge"]; !without {
			form.Set("code_verifier", verifier)
		}
		status, tokens := c.token(form)
		if status != http.StatusOK || tokens["scope"] != nil {
			t.Fatalf("%v: %d %v", test.ask, status, tokens)
		}
		header, claims := c.verified(tokens)
		if len(header) != 2 || header["alg"] != "RS256" || header["kid"] == "" {
			t.Errorf("header %v", header)
		}
		want := map[string]any{
			"sub": test.user, "username": test.user, "iss": server.Issuer, "client_id": c.id, "token_use": "access",
			"version": 2.0, "scope": test.scope, "exp": claims["iat"].(float64) + defaultSeconds,
		}
		if test.aud != nil {
			want["aud"] = test.aud
		}
		for _, name := range []string{"iat", "auth_time", "jti", "origin_jti", "event_id"} {
			want[name] = claims[name]
		}
		if diff := cmp.Diff(want, claims); diff != "" || claims["auth_time"] == nil {
			t.Errorf("%v: (-want +got)\n%s", test.ask, diff)
		}
		if pages != 1 {
			t.Errorf("%v: %d pages; a user pool asks for no consent", test.ask, pages)
		}
	}
}

func TestCognitoRefusesWhatItDoesNotKnow(t *testing.T) {
	t.Parallel()
	c := newClient(t, shared(t, LikeCognito))
	for _, scope := range []string{"contacts:read", "patchbay/unheard:of", "openid offline_access"} {
		if got := c.answer("ada", url.Values{"scope": {scope}}); got.Get("error") != "invalid_scope" || got.Has("iss") {
			t.Errorf("%s: %v", scope, got)
		}
	}
	// The port counts.
	c.redirect = "http://127.0.0.1:1/oauth/callback"
	if _, err := signin.Follow(t.Context(), c.ask(nil), c.user("ada"), signin.Options{}); err == nil {
		t.Error("another port was taken")
	}
}

// A pool's refresh token stays the same, and is not sent again.
func TestCognitoRefresh(t *testing.T) {
	t.Parallel()
	c := newClient(t, shared(t, LikeCognito))
	first := c.signIn("ada", url.Values{"scope": {"patchbay/contacts:read"}})
	_, before := c.verified(first)
	for range 2 {
		status, again := c.token(url.Values{
			"grant_type": {"refresh_token"}, "refresh_token": {first["refresh_token"].(string)},
		})
		if status != http.StatusOK || again["refresh_token"] != nil {
			t.Fatalf("%d %v", status, again)
		}
		_, after := c.verified(again)
		for _, name := range []string{"sub", "aud", "scope", "auth_time"} {
			if before[name] != after[name] {
				t.Errorf("%s was %v and is %v", name, before[name], after[name])
			}
		}
	}
}

func TestCognitoMachine(t *testing.T) {
	t.Parallel()
	server := shared(t, LikeCognito)
	c := newClient(t, server)
	status, tokens := c.post(c.endpoint("token"), "application/x-www-form-urlencoded", url.Values{
		"grant_type": {"client_credentials"}, "client_id": {server.Machine.ClientID},
		"client_secret": {server.Machine.Secret}, "resource": {resource}, "scope": {"patchbay/emails:send"},
	}.Encode())
	if status != http.StatusOK {
		t.Fatalf("%d %v", status, tokens)
	}
	_, claims := c.verified(tokens)
	if claims["aud"] != nil || claims["username"] != nil || claims["scope"] != "patchbay/emails:send" ||
		claims["sub"] != server.Machine.ClientID || claims["token_use"] != "access" {
		t.Errorf("claims %v", claims)
	}
}
