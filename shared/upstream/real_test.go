package upstream_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"

	"patchbay/scripts/localauth"
	"patchbay/scripts/nodemodules"
	"patchbay/shared/authorization"
	"patchbay/shared/secret"
	"patchbay/shared/upstream"
)

const resource authorization.Resource = "https://orders.example.com/mcp"

// api is an API that takes the tokens of a real authorization server, and checks them as a resource server must.
type api struct {
	*httptest.Server
	keys     jose.JSONWebKeySet
	requests atomic.Int32
}

func startAPI(t *testing.T, issuer string) *api {
	t.Helper()
	a := &api{}
	read(t, read(t, issuer+authorization.OpenIDMetadataPath, nil)["jwks_uri"].(string), &a.keys)
	a.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		a.requests.Add(1)
		if err := a.check(r, issuer); err != nil {
			t.Errorf("the API refuses the token: %v", err)
			w.WriteHeader(http.StatusUnauthorized)
		}
	}))
	t.Cleanup(a.Close)
	return a
}

func (a *api) check(r *http.Request, issuer string) error {
	token, err := jwt.ParseSigned(strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "),
		[]jose.SignatureAlgorithm{jose.RS256})
	if err != nil {
		return err
	}
	var (
		standard jwt.Claims
		more     struct {
			ClientID string `json:"client_id"`
			Scope    string `json:"scope"`
		}
	)
	if err := token.Claims(a.keys, &standard, &more); err != nil {
		return err
	}
	wants := jwt.Expected{Issuer: issuer, AnyAudience: jwt.Audience{string(resource)}}
	if err := standard.Validate(wants); err != nil {
		return err
	}
	if standard.Subject != more.ClientID || !slices.Contains(strings.Fields(more.Scope), "orders:read") {
		return fmt.Errorf("the token is of %q for %q, with scope %q", standard.Subject, more.ClientID, more.Scope)
	}
	return nil
}

// read gets a JSON document, into a pointer where one is given.
func read(t *testing.T, at string, into any) map[string]any {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, at, nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	document := map[string]any{}
	if into == nil {
		into = &document
	}
	if err := json.NewDecoder(response.Body).Decode(into); err != nil {
		t.Fatalf("decoding %s: %v", at, err)
	}
	return document
}

// A certified authorization server gives the helper a token that an API can check.
func TestWithARealAuthorizationServer(t *testing.T) {
	t.Parallel()
	server, err := localauth.Start(t.Context(), localauth.Options{
		Resource: resource, Scopes: []string{"orders:read", "orders:write"},
	})
	if errors.Is(err, nodemodules.ErrNotInstalled) && !nodemodules.Required(os.Getenv) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	orders := startAPI(t, server.Issuer)
	file := filepath.Join(t.TempDir(), "secrets.json")
	keep := func(text string) {
		if err := os.WriteFile(file, fmt.Appendf(nil, "{%q:%q}", "orders_client_secret", text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	keep("outdated")
	endpoint := read(t, server.Issuer+authorization.OpenIDMetadataPath, nil)["token_endpoint"].(string)
	client, err := upstream.New(upstream.Config{
		API: orders.URL, TokenURL: endpoint, ClientID: server.Machine.ClientID, Secrets: secret.File(file),
		SecretName: "orders_client_secret", Scopes: []string{"orders:read"}, Resource: string(resource),
	})
	if err != nil {
		t.Fatal(err)
	}
	err = get(t.Context(), client, orders.URL)
	if !errors.Is(err, upstream.ErrNoToken) || !strings.Contains(err.Error(), "401, invalid_client") {
		t.Errorf("with an outdated secret: %v", err)
	}
	keep(server.Machine.Secret)
	for range 2 {
		if err := get(t.Context(), client, orders.URL); err != nil {
			t.Error(err)
		}
	}
	if got := orders.requests.Load(); got != 2 {
		t.Errorf("the API got %d requests, want 2", got)
	}
}
