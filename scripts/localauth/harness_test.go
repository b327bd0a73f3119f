package localauth

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"

	"patchbay/scripts/localauth/signin"
	"patchbay/scripts/nodemodules"
)

const (
	resource = "http://127.0.0.1:8787/mcp"
	// redirectURI is that of a client that listens on whatever port is free.
	redirectURI = "http://127.0.0.1:49152/callback"
	verifier    = "a-verifier-of-forty-three-characters-or-more-it-is"
)

var allScopes = []string{"contacts:read", "emails:send", "emails:bulk"}

// start runs a server for one test, which is skipped where Node packages are missing and may be.
func start(t *testing.T, options Options) *Server {
	t.Helper()
	options.Resource, options.Scopes = resource, allScopes
	server, err := Start(t.Context(), options)
	if errors.Is(err, nodemodules.ErrNotInstalled) && !nodemodules.Required(os.Getenv) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	return server
}

// common are the servers that tests share which ask for nothing of their own: each has its clients, and a start takes
// longer than most tests.
var common = map[string]*struct {
	once   sync.Once
	server *Server
	err    error
}{"": {}, LikeCognito: {}}

// shared is the common server of a kind.
func shared(t *testing.T, like string) *Server {
	t.Helper()
	one := common[like]
	one.once.Do(func() {
		one.server, one.err = Start(context.Background(), Options{Resource: resource, Scopes: allScopes, Like: like})
	})
	if errors.Is(one.err, nodemodules.ErrNotInstalled) && !nodemodules.Required(os.Getenv) {
		t.Skip(one.err)
	}
	if one.err != nil {
		t.Fatal(one.err)
	}
	return one.server
}

func TestMain(m *testing.M) {
	code := m.Run()
	for _, one := range common {
		if one.server != nil {
			one.server.Close()
		}
	}
	os.Exit(code)
}

// client is an OAuth client of a test.
type client struct {
	t        *testing.T
	server   *Server
	metadata map[string]any
	id       string
	redirect string
	browser  signin.Options
}

// newClient registers a client, or takes the app client of a user pool.
func newClient(t *testing.T, server *Server) *client {
	t.Helper()
	c := &client{t: t, server: server, redirect: redirectURI}
	c.metadata = get(t, server.Issuer+"/.well-known/openid-configuration")
	if front := server.Authorization().Front; front != nil {
		c.id, c.redirect = front.ClientID, front.RedirectURIs[0]
		return c
	}
	status, answer := c.register(map[string]any{
		"client_name": "a test", "redirect_uris": []string{"http://127.0.0.1/callback"},
		"grant_types": []string{"authorization_code", "refresh_token"}, "token_endpoint_auth_method": "none",
	})
	if status != http.StatusCreated {
		t.Fatalf("registering: %d %v", status, answer)
	}
	c.id = answer["client_id"].(string)
	return c
}

func (c *client) endpoint(name string) string {
	c.t.Helper()
	endpoint, ok := c.metadata[name+"_endpoint"].(string)
	if !ok {
		c.t.Fatalf("the metadata has no %s_endpoint: %v", name, c.metadata)
	}
	return endpoint
}

func (c *client) register(metadata map[string]any) (status int, answer map[string]any) {
	c.t.Helper()
	body, err := json.Marshal(metadata)
	if err != nil {
		c.t.Fatal(err)
	}
	return c.post(c.endpoint("registration"), "application/json", string(body))
}

// ask is an authorization request's URL. Parameters without a value are left out.
func (c *client) ask(change url.Values) string {
	sum := sha256.Sum256([]byte(verifier))
	query := url.Values{
		"response_type": {"code"}, "client_id": {c.id}, "redirect_uri": {c.redirect}, "state": {"a state"},
		"resource": {resource}, "code_challenge_method": {"S256"},
		"code_challenge": {base64.RawURLEncoding.EncodeToString(sum[:])},
	}
	for name, values := range change {
		query[name] = values
	}
	return c.endpoint("authorization") + "?" + query.Encode()
}

// answer is what the authorization server sends to the client's redirect URI after the user has signed in.
func (c *client) answer(user string, change url.Values) url.Values {
	c.t.Helper()
	callback, err := signin.Follow(c.t.Context(), c.ask(change), c.user(user), c.browser)
	if err != nil {
		c.t.Fatal(err)
	}
	parsed, err := url.Parse(callback)
	if err != nil {
		c.t.Fatal(err)
	}
	return parsed.Query()
}

func (c *client) user(name string) signin.User {
	for _, user := range c.server.Users {
		if user.Name == name {
			return signin.User{Name: user.Name, Password: user.Password}
		}
	}
	c.t.Fatalf("there is no user %s", name)
	return signin.User{}
}

// token exchanges what the form says for tokens.
func (c *client) token(form url.Values) (status int, answer map[string]any) {
	c.t.Helper()
	form.Set("client_id", c.id)
	return c.post(c.endpoint("token"), "application/x-www-form-urlencoded", form.Encode())
}

// signIn is a whole authorization code flow.
func (c *client) signIn(user string, change url.Values) (tokens map[string]any) {
	c.t.Helper()
	answer := c.answer(user, change)
	status, tokens := c.token(url.Values{
		"grant_type": {"authorization_code"}, "code": {answer.Get("code")}, "redirect_uri": {c.redirect},
		"code_verifier": {verifier}, "resource": {resource},
	})
	if status != http.StatusOK {
		c.t.Fatalf("exchanging the code of %v: %d %v", answer, status, tokens)
	}
	return tokens
}

func (c *client) post(address, contentType, body string) (status int, answer map[string]any) {
	c.t.Helper()
	request, err := http.NewRequestWithContext(c.t.Context(), http.MethodPost, address, strings.NewReader(body))
	if err != nil {
		c.t.Fatal(err)
	}
	request.Header.Set("Content-Type", contentType)
	return do(c.t, request)
}

func do(t *testing.T, request *http.Request) (status int, answer map[string]any) {
	t.Helper()
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	data, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, &answer); err != nil {
		t.Fatalf("%s: %s: %v", request.URL, data, err)
	}
	return response.StatusCode, answer
}

func get(t *testing.T, address string) map[string]any {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
	if err != nil {
		t.Fatal(err)
	}
	status, answer := do(t, request)
	if status != http.StatusOK {
		t.Fatalf("%s: %d %v", address, status, answer)
	}
	return answer
}

// statusOf is the status of a GET.
func statusOf(ctx context.Context, t *testing.T, address string) int {
	t.Helper()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	return response.StatusCode
}

// verified returns the header and the claims of an access token that the server has signed.
func (c *client) verified(tokens map[string]any) (header map[string]any, claims map[string]any) {
	c.t.Helper()
	raw, _ := tokens["access_token"].(string)
	token, err := jwt.ParseSigned(raw, []jose.SignatureAlgorithm{jose.RS256})
	if err != nil {
		c.t.Fatalf("%v: %v", tokens, err)
	}
	data, err := json.Marshal(get(c.t, c.metadata["jwks_uri"].(string)))
	if err != nil {
		c.t.Fatal(err)
	}
	var keys jose.JSONWebKeySet
	if err := json.Unmarshal(data, &keys); err != nil {
		c.t.Fatal(err)
	}
	found := keys.Key(token.Headers[0].KeyID)
	if len(found) != 1 || !found[0].IsPublic() {
		c.t.Fatalf("keys for %q: %v", token.Headers[0].KeyID, found)
	}
	if err := token.Claims(found[0].Key, &claims); err != nil {
		c.t.Fatal(err)
	}
	encoded, _, _ := strings.Cut(raw, ".")
	text, err := base64.RawURLEncoding.DecodeString(encoded)
	if err != nil {
		c.t.Fatal(err)
	}
	if err := json.Unmarshal(text, &header); err != nil {
		c.t.Fatal(err)
	}
	return header, claims
}
