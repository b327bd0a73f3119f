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
	var metadata struct {
		AuthorizationEndpoint string `json:"authorization_endpoint"`
		TokenEndpoint         string `json:"token_endpoint"`
		RegistrationEndpoint  string `json:"registration_endpoint"`
		JWKSURI               string `json:"jwks_uri"`
	}
	fetchJSON(t, http.MethodGet, server.Issuer+"/.well-known/openid-configuration", "", "", &metadata)
	var client struct {
		ID string `json:"client_id"`
	}
	fetchJSON(t, http.MethodPost, metadata.RegistrationEndpoint, "application/json", `{"client_name":"a test",
		"redirect_uris":["`+redirectURI+`"],"token_endpoint_auth_method":"none",
		"grant_types":["authorization_code","refresh_token"]}`, &client)

	sum := sha256.Sum256([]byte(verifier))
	ask := url.Values{
		"response_type": {"code"}, "client_id": {client.ID}, "redirect_uri": {redirectURI}, "state": {"a state"},
		"scope": {"contacts:read emails:send"}, "resource": {resource}, "code_challenge_method": {"S256"},
		"code_challenge": {base64.RawURLEncoding.EncodeToString(sum[:])},
	}
	for user, scopes := range map[string][]string{
		"ada": {"contacts:read", "emails:send"}, "bob": {"contacts:read"},
	} {
		query := follow(t, server, metadata.AuthorizationEndpoint+"?"+ask.Encode(), user)
		if query.Get("code") == "" || query.Get("iss") != server.Issuer || query.Get("state") != "a state" {
			t.Fatalf("%s: answer %v", user, query)
		}
		var tokens struct {
			Access  string `json:"access_token"`
			Refresh string `json:"refresh_token"`
		}
		exchange := url.Values{
			"grant_type": {"authorization_code"}, "code": {query.Get("code")}, "redirect_uri": {redirectURI},
			"client_id": {client.ID}, "code_verifier": {verifier},
		}
		const form = "application/x-www-form-urlencoded"
		fetchJSON(t, http.MethodPost, metadata.TokenEndpoint, form, exchange.Encode(), &tokens)
		check(t, server, metadata.JWKSURI, tokens.Access, user, scopes)
		refresh := url.Values{"grant_type": {"refresh_token"}, "refresh_token": {tokens.Refresh}, "client_id": {client.ID}}
		fetchJSON(t, http.MethodPost, metadata.TokenEndpoint, form, refresh.Encode(), &tokens)
		check(t, server, metadata.JWKSURI, tokens.Access, user, scopes)
	}
	without := url.Values{}
	for name, values := range ask {
		if !strings.HasPrefix(name, "code_challenge") {
			without[name] = values
		}
	}
	query := follow(t, server, metadata.AuthorizationEndpoint+"?"+without.Encode(), "ada")
	if query.Get("error") != "invalid_request" {
		t.Errorf("without PKCE: %v", query)
	}
	machine := url.Values{
		"grant_type": {"client_credentials"}, "client_id": {server.Machine.ClientID},
		"client_secret": {server.Machine.Secret}, "scope": {"emails:send"},
	}
	var tokens struct {
		Access string `json:"access_token"`
	}
	fetchJSON(t, http.MethodPost, metadata.TokenEndpoint, "application/x-www-form-urlencoded", machine.Encode(), &tokens)
	check(t, server, metadata.JWKSURI, tokens.Access, "", []string{"emails:send"})
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
func check(t *testing.T, server *Server, jwks, raw, subject string, scopes []string) {
	t.Helper()
	token, err := jwt.ParseSigned(raw, []jose.SignatureAlgorithm{jose.RS256})
	if err != nil {
		t.Fatal(err)
	}
	var keys jose.JSONWebKeySet
	fetchJSON(t, http.MethodGet, jwks, "", "", &keys)
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
	request.Header.Set("Content-Type", contentType)
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
