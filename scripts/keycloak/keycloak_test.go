package keycloak

import (
	"archive/zip"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"

	"patchbay/scripts/localauth"
	"patchbay/scripts/localauth/signin"
)

const (
	root        = "../.."
	resource    = "http://127.0.0.1:8787/mcp"
	redirectURI = "http://127.0.0.1:49152/callback"
	verifier    = "a-verifier-of-forty-three-characters-or-more-it-is"
)

// A realm as it is imported, registered with, signed in to and asked for tokens, by a client that knows its issuer.
func TestKeycloak(t *testing.T) {
	if os.Getenv("PATCHBAY_FULL") == "" {
		t.Skip("Keycloak takes a minute to start; PATCHBAY_FULL is not set")
	}
	server, err := Start(t.Context(), Options{
		Root: root, Resource: resource, Scopes: []string{"contacts:read", "emails:send"}, AccessTokenSeconds: 60,
		Progress: t.Output(), Log: t.Output(),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	if err := server.Authorization().Complete(); err != nil {
		t.Error(err)
	}
	exercise(t, server)
}

// metadata are what a client reads of the realm.
type metadata struct {
	AuthorizationEndpoint string `json:"authorization_endpoint"`
	TokenEndpoint         string `json:"token_endpoint"`
	RegistrationEndpoint  string `json:"registration_endpoint"`
	JWKSURI               string `json:"jwks_uri"`
}

func exercise(t *testing.T, server *Server) {
	t.Helper()
	var metadata metadata
	fetchJSON(t, http.MethodGet, server.Issuer+"/.well-known/openid-configuration", "", "", &metadata)
	// A client that registers with the scopes that it wants, and one that leaves them open.
	for _, scope := range []string{"", `"scope":"contacts:read emails:send",`} {
		var client struct {
			ID string `json:"client_id"`
		}
		fetchJSON(t, http.MethodPost, metadata.RegistrationEndpoint, "application/json", `{`+scope+`
			"redirect_uris":["http://127.0.0.1/callback"],"token_endpoint_auth_method":"none",
			"grant_types":["authorization_code","refresh_token"]}`, &client)
		for user, scopes := range map[string][]string{
			"ada": {"contacts:read", "emails:send"}, "bob": {"contacts:read"},
		} {
			tokens := metadata.signIn(t, server, client.ID, user)
			metadata.check(t, server, tokens.Access, user, scopes)
			refreshed := metadata.token(t, url.Values{
				"grant_type": {"refresh_token"}, "refresh_token": {tokens.Refresh}, "client_id": {client.ID},
			})
			metadata.check(t, server, refreshed.Access, user, scopes)
		}
		without := request(client.ID)
		without.Del("code_challenge")
		without.Del("code_challenge_method")
		query := follow(t, server, metadata.AuthorizationEndpoint+"?"+without.Encode(), "ada")
		if query.Get("error") != "invalid_request" {
			t.Errorf("without PKCE: %v", query)
		}
	}
	tokens := metadata.token(t, url.Values{
		"grant_type": {"client_credentials"}, "client_id": {server.Machine.ClientID},
		"client_secret": {server.Machine.Secret}, "scope": {"emails:send"},
	})
	metadata.check(t, server, tokens.Access, "", []string{"emails:send"})
}

// tokens are an answer of the token endpoint.
type tokens struct {
	Access  string `json:"access_token"`
	Refresh string `json:"refresh_token"`
}

func request(client string) url.Values {
	sum := sha256.Sum256([]byte(verifier))
	return url.Values{
		"response_type": {"code"}, "client_id": {client}, "redirect_uri": {redirectURI}, "state": {"a state"},
		"scope": {"contacts:read emails:send"}, "resource": {resource}, "code_challenge_method": {"S256"},
		"code_challenge": {base64.RawURLEncoding.EncodeToString(sum[:])},
	}
}

func (m metadata) signIn(t *testing.T, server *Server, client, user string) tokens {
	t.Helper()
	query := follow(t, server, m.AuthorizationEndpoint+"?"+request(client).Encode(), user)
	if query.Get("code") == "" || query.Get("iss") != server.Issuer || query.Get("state") != "a state" {
		t.Fatalf("%s: answer %v", user, query)
	}
	return m.token(t, url.Values{
		"grant_type": {"authorization_code"}, "code": {query.Get("code")}, "redirect_uri": {redirectURI},
		"client_id": {client}, "code_verifier": {verifier},
	})
}

func (m metadata) token(t *testing.T, form url.Values) tokens {
	t.Helper()
	var answer tokens
	fetchJSON(t, http.MethodPost, m.TokenEndpoint, "application/x-www-form-urlencoded", form.Encode(), &answer)
	return answer
}

func follow(t *testing.T, server *Server, address, name string) url.Values {
	t.Helper()
	i := slices.IndexFunc(server.Users, func(user localauth.User) bool { return user.Name == name })
	user := signin.User{Name: name, Password: server.Users[i].Password}
	callback, err := signin.Follow(t.Context(), address, user, signin.Options{})
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := url.Parse(callback)
	if err != nil {
		t.Fatal(err)
	}
	return parsed.Query()
}

// check verifies an access token. A machine's subject is an id that Keycloak makes up.
func (m metadata) check(t *testing.T, server *Server, raw, subject string, scopes []string) {
	t.Helper()
	token, err := jwt.ParseSigned(raw, []jose.SignatureAlgorithm{jose.RS256})
	if err != nil {
		t.Fatal(err)
	}
	var keys jose.JSONWebKeySet
	fetchJSON(t, http.MethodGet, m.JWKSURI, "", "", &keys)
	found := keys.Key(token.Headers[0].KeyID)
	if len(found) != 1 {
		t.Fatalf("keys for %q: %v", token.Headers[0].KeyID, found)
	}
	var claims struct {
		jwt.Claims
		Scope    string `json:"scope"`
		AuthTime int64  `json:"auth_time"`
	}
	if err := token.Claims(found[0].Key, &claims); err != nil {
		t.Fatal(err)
	}
	got := strings.Fields(claims.Scope)
	slices.Sort(got)
	if claims.Issuer != server.Issuer || !slices.Equal(claims.Audience, jwt.Audience{resource}) ||
		!slices.Equal(got, scopes) || subject != "" && (claims.Subject != subject || claims.AuthTime == 0) {
		t.Errorf("%s: claims %+v", subject, claims)
	}
}

func fetchJSON(t *testing.T, method, address, contentType, body string, into any) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, address, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if contentType != "" {
		request.Header.Set("Content-Type", contentType)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	data, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	if response.StatusCode >= http.StatusBadRequest {
		t.Fatalf("%s %s: %s %s", method, address, response.Status, data)
	}
	if err := json.Unmarshal(data, into); err != nil {
		t.Fatalf("%s: %v in %s", address, err, data)
	}
}

func TestJavaVersions(t *testing.T) {
	t.Parallel()
	for output, enough := range map[string]bool{
		"openjdk version \"17.0.15\" 2025-04-15\nOpenJDK Runtime Environment": true,
		"openjdk version \"21\" 2023-09-19":                                   true,
		"openjdk version \"11.0.2\"":                                          false,
		"java version \"1.8.0_401\"":                                          false,
		"no version":                                                          false,
	} {
		if err := checkJava(output); (err == nil) != enough || err != nil && !errors.Is(err, ErrNotInstalled) {
			t.Errorf("%q: error %v", output, err)
		}
	}
}

func TestStartSaysWhatIsMissing(t *testing.T) {
	bin := t.TempDir()
	t.Setenv("PATH", bin)
	_, err := Start(t.Context(), Options{Root: t.TempDir(), Resource: resource})
	if !errors.Is(err, ErrNotInstalled) || !strings.Contains(err.Error(), "Java 17 or later is needed") {
		t.Errorf("without java: %v", err)
	}
	program := "#!/bin/sh\necho 'openjdk version \"17.0.1\"' >&2\n"
	if err := os.WriteFile(filepath.Join(bin, "java"), []byte(program), 0o755); err != nil {
		t.Fatal(err)
	}
	_, err = Start(t.Context(), Options{Root: t.TempDir(), Resource: resource})
	if !errors.Is(err, ErrNotInstalled) || !strings.Contains(err.Error(), "Maven brings Keycloak") {
		t.Errorf("without mvn: %v", err)
	}
}

func TestUnpackStaysInItsFolder(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	archive := filepath.Join(dir, "a.zip")
	file, err := os.Create(archive)
	if err != nil {
		t.Fatal(err)
	}
	writer := zip.NewWriter(file)
	if _, err := writer.Create("../outside"); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(writer.Close(), file.Close()); err != nil {
		t.Fatal(err)
	}
	within := filepath.Join(dir, "within")
	if err := unpack(archive, within); err == nil {
		t.Error("a name that leads out of the folder was taken")
	}
	if _, err := os.Stat(filepath.Join(dir, "outside")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the file outside: %v", err)
	}
}
