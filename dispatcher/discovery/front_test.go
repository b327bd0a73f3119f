package discovery

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"patchbay/shared/issuer"
)

// kept is an Upstream with one document.
type kept string

func (k kept) Metadata(context.Context) (*issuer.Metadata, error) {
	metadata := &issuer.Metadata{Raw: json.RawMessage(k)}
	return metadata, json.Unmarshal(metadata.Raw, metadata)
}

// outage is an Upstream that has never been reached.
type outage struct{}

func (outage) Metadata(context.Context) (*issuer.Metadata, error) {
	return nil, errors.New("no route to host")
}

// metadataOf is what Amazon Cognito publishes of a user pool, with more members. It has no
// code_challenge_methods_supported and no registration_endpoint.
func metadataOf(issuer, more string) string {
	return fmt.Sprintf(`{"issuer":%q,"authorization_endpoint":"https://desk.auth.example/oauth2/authorize",
		"token_endpoint":"https://desk.auth.example/oauth2/token","jwks_uri":"https://pool.example/jwks.json",
		"userinfo_endpoint":"https://desk.auth.example/oauth2/userInfo",
		"end_session_endpoint":"https://desk.auth.example/logout","id_token_signing_alg_values_supported":["RS256"],
		"response_types_supported":["code","token"],"scopes_supported":["openid","email","phone","profile"],
		"subject_types_supported":["public"],
		"token_endpoint_auth_methods_supported":["client_secret_basic","client_secret_post"]%s}`, issuer, more)
}

const frontPrefix = `{"issuers":[{"issuer":"https://login.example.com","scopePrefix":"desk/"}],"front":{"clientId":"c",
	"redirectUris":["https://app.example/cb"]}}`

func TestFrontDocument(t *testing.T) {
	t.Parallel()
	const (
		scopes = `"scopes_supported":["desk/hidden:use","desk/mail:read","desk/mail:send"%s]`
		want   = `{"issuer":"https://mcp.example.com",
			"authorization_endpoint":"https://desk.auth.example/oauth2/authorize",
			"token_endpoint":"https://desk.auth.example/oauth2/token","jwks_uri":"https://pool.example/jwks.json",
			"registration_endpoint":"https://mcp.example.com/oauth/register",` + scopes + `,
			"response_types_supported":["code"],"grant_types_supported":["authorization_code","refresh_token"],
			"token_endpoint_auth_methods_supported":["none","client_secret_basic","client_secret_post"],
			"code_challenge_methods_supported":["S256"],
			"subject_types_supported":["public"],"id_token_signing_alg_values_supported":["RS256"]}`
	)
	for name, test := range map[string]struct{ more, scopes string }{
		"like Cognito": {"", ""},
		// What does not hold for the one client here is left out.
		"that says much": {`,"code_challenge_methods_supported":["plain","S256"],"registration_endpoint":"https://x.example",
			"client_id_metadata_document_supported":true,"require_pushed_authorization_requests":true,"signed_metadata":"x",
			"mtls_endpoint_aliases":{},"authorization_response_iss_parameter_supported":false`, ""},
		"with a scope for refresh tokens": {`,"scopes_supported":["openid","offline_access"]`, `,"offline_access"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newServer(t, frontPrefix)
			s.Upstream = kept(metadataOf("https://login.example.com", test.more))
			for _, path := range []string{"/.well-known/oauth-authorization-server", "/.well-known/openid-configuration"} {
				w := s.ask(t, "GET", path, "")
				if w.Code != http.StatusOK || w.Header().Get("Cache-Control") != "public, max-age=300" {
					t.Errorf("%s: status %d, %v", path, w.Code, w.Header())
				}
				sameJSON(t, fmt.Sprintf(want, test.scopes), w.Body.String())
			}
		})
	}
}

// Behind a stage the front's issuer has the stage in it, and so has the registration's address.
func TestFrontDocumentBehindAStage(t *testing.T) {
	t.Parallel()
	s := newServer(t, frontPrefix)
	s.Resource = "https://x.example/prod/mcp"
	s.Upstream = kept(metadataOf("https://login.example.com", ""))
	var got struct {
		Issuer       string
		Registration string `json:"registration_endpoint"`
	}
	w := s.ask(t, "GET", "/.well-known/openid-configuration", "")
	if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil || got.Issuer != "https://x.example/prod" ||
		got.Registration != "https://x.example/prod/oauth/register" {
		t.Errorf("got %s, %v", w.Body, err)
	}
}

// An authorization server of which no front would work makes none: the client is told that it is not its fault, the log
// what to do.
func TestWhatCannotBeFronted(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ more, says string }{
		"sends iss":                 {`,"authorization_response_iss_parameter_supported":true`, "RFC 9207"},
		"knows plain PKCE alone":    {`,"code_challenge_methods_supported":["plain"]`, "S256"},
		"knows no PKCE by its word": {`,"code_challenge_methods_supported":[]`, "S256"},
		"gives no codes":            {`,"response_types_supported":["id_token"]`, "not with a code"},
		"http endpoint":             {`,"authorization_endpoint":"http://login.example.com/a"`, "authorization_endpoint"},
		"script for an endpoint":    {`,"authorization_endpoint":"javascript:alert(1)"`, "authorization_endpoint"},
		"http token endpoint":       {`,"token_endpoint":"http://login.example.com/t"`, "token_endpoint"},
		"no token endpoint":         {`,"token_endpoint":""`, "token_endpoint"},
		"http keys":                 {`,"jwks_uri":"http://login.example.com/k"`, "jwks_uri"},
		"endpoint on this machine":  {`,"authorization_endpoint":"https://localhost/a"`, "authorization_endpoint"},
		"keys on this machine":      {`,"jwks_uri":"http://127.0.0.1:9001/k"`, "jwks_uri"},
		"nonsense":                  {`,"scopes_supported":"all"`, "decoding"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newServer(t, frontPrefix)
			s.Upstream = kept(metadataOf("https://login.example.com", test.more))
			w := s.ask(t, "GET", "/.well-known/oauth-authorization-server", "")
			if w.Code != http.StatusBadGateway || w.Header().Get("Cache-Control") != "no-store" ||
				!strings.Contains(w.Body.String(), "request id r-1") || strings.Contains(w.Body.String(), test.says) {
				t.Errorf("got %d %v %s", w.Code, w.Header(), w.Body)
			}
			log := s.log.String()
			if !strings.Contains(log, test.says) || !strings.Contains(log, "https://login.example.com") ||
				!strings.Contains(log, `"level":"ERROR"`) {
				t.Errorf("logged %s, want %s", log, test.says)
			}
		})
	}
}

func TestFrontOfAServerThatIsOutOfReach(t *testing.T) {
	t.Parallel()
	s := newServer(t, frontPrefix)
	s.Upstream = outage{}
	w := s.ask(t, "GET", "/.well-known/oauth-authorization-server", "")
	if w.Code != http.StatusServiceUnavailable || w.Header().Get("Retry-After") != "5" ||
		!strings.Contains(s.log.String(), "no route to host") || strings.Contains(w.Body.String(), "no route") {
		t.Errorf("got %d %v %s", w.Code, w.Header(), w.Body)
	}
}

// The document is made of what the authorization server itself publishes, where it has none of its own that is given.
func TestFrontAsksTheAuthorizationServer(t *testing.T) {
	t.Parallel()
	var upstream *httptest.Server
	upstream = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/pool/.well-known/openid-configuration" {
			http.NotFound(w, r)
			return
		}
		_, _ = fmt.Fprint(w, metadataOf(upstream.URL+"/pool", ""))
	}))
	t.Cleanup(upstream.Close)
	s := newServer(t, fmt.Sprintf(`{"issuers":[{"issuer":"%s/pool"}],"front":{"clientId":"c",
		"redirectUris":["https://app.example/cb"]}}`, upstream.URL))
	handler := New(s.Config)
	for i := range 2 {
		w := httptest.NewRecorder()
		r := httptest.NewRequestWithContext(t.Context(), "GET", "/.well-known/oauth-authorization-server", nil)
		handler.ServeHTTP(w, r)
		if w.Code != http.StatusOK || !strings.Contains(w.Body.String(), "https://desk.auth.example/oauth2/token") {
			t.Errorf("time %d: got %d %s", i, w.Code, w.Body)
		}
		upstream.Close() // and it outlives the server that it came from
	}
}
