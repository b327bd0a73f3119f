package integration

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/oauthex"
	"golang.org/x/oauth2"

	"patchbay/scripts/localauth/signin"
	"patchbay/tests/integration/clients"
)

// tokenOf is a token of the tests' issuer for the guarded stack.
func tokenOf(subject, scopes string) string {
	return tokens.mint(guarded.URL, subject, map[string]any{"scope": scopes})
}

// What one caller keeps, another cannot see, and neither can somebody of the same name at another issuer.
func TestTokensKeepCallersApart(t *testing.T) {
	t.Parallel()
	ada := caller{guarded.URL, tokenOf(mayAll, "contacts:read")}
	others := map[string]caller{
		"somebody else":                   {guarded.URL, tokenOf(mayRead, "contacts:read")},
		"the same name at another issuer": {guarded.URL, signInAt(t, guarded, mayAll, guarded.URL)},
	}
	var basket struct {
		ID string `json:"basket_id"`
	}
	created := decodeResult(t, ada.call(t, "create_basket", `{}`, ""))
	if err := json.Unmarshal(created.StructuredContent, &basket); err != nil || basket.ID == "" {
		t.Fatalf("got %+v, %v", basket, err)
	}
	view := fmt.Sprintf(`{"basket_id":%q}`, basket.ID)
	add := callParams("add_item", fmt.Sprintf(`{"basket_id":%q,"sku":"APPLE"}`, basket.ID))
	keyed := func(who caller) callResult {
		return decodeResult(t, readAnswer(t, authorized(t, who, "tools/call", "add_item", add, "Idempotency-Key", "one key")))
	}
	if got := keyed(ada); got.IsError {
		t.Errorf("who created the basket reads %s", got.text())
	}
	for name, other := range others {
		foreign := decodeResult(t, other.call(t, "view_basket", view, ""))
		unknown := decodeResult(t, other.call(t, "view_basket", `{"basket_id":"bsk_nobody"}`, ""))
		if !foreign.IsError || foreign.text() != unknown.text() {
			t.Errorf("%s: a foreign basket says %q, an unknown one %q", name, foreign.text(), unknown.text())
		}
		// The first caller's answer is recorded under this key, and is nobody else's.
		if again := keyed(other); !again.IsError {
			t.Errorf("%s: the key of another gets %s", name, again.StructuredContent)
		}
	}
}

// A user pool puts an audience into tokens only for who asked for one. The client is known by its id, then.
func TestTokenWithoutAudience(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		server   *server
		resource string
		taken    bool
	}{
		{fronted, fronted.URL, true}, {fronted, "", true}, {fronted, "https://other.example/mcp", false},
		{guarded, guarded.URL, true}, {guarded, "", false},
	} {
		token := signInAt(t, test.server, mayAll, test.resource)
		response := authorized(t, caller{test.server.URL, token}, "tools/list", "", "")
		response.Body.Close()
		if taken := response.StatusCode == http.StatusOK; taken != test.taken {
			t.Errorf("resource %q: status %d", test.resource, response.StatusCode)
		}
	}
}

// authorized sends a request with a caller's token, and with one more header field if there is one.
func authorized(t *testing.T, who caller, method, name, params string, field ...string) *http.Response {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, who.url,
		strings.NewReader(message(method, params)))
	if err != nil {
		t.Fatal(err)
	}
	fields := append([]string{
		"Content-Type", "application/json", "Accept", "application/json, text/event-stream", "Mcp-Method", method,
		"Mcp-Name", name, "MCP-Protocol-Version", "2026-07-28", "Authorization", "Bearer " + who.token,
	}, field...)
	for pair := range slices.Chunk(fields, 2) {
		if pair[1] != "" {
			request.Header.Set(pair[0], pair[1])
		}
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	return response
}

// signInAt signs somebody in at the stack's authorization server, by the rules of OAuth alone, and returns the token.
// Without a resource the request names none.
func signInAt(t *testing.T, s *server, name, resource string) string {
	t.Helper()
	person, err := newPerson(s, name)
	if err != nil {
		t.Fatal(err)
	}
	client := registered(t, s)
	var options []oauth2.AuthCodeOption
	if resource != "" {
		options = append(options, oauth2.SetAuthURLParam("resource", resource))
	}
	verifier := oauth2.GenerateVerifier()
	user := signin.User{Name: person.user.Name, Password: person.user.Password}
	callback, err := signin.Follow(t.Context(),
		client.AuthCodeURL("state", append(options, oauth2.S256ChallengeOption(verifier))...), user, signin.Options{})
	if err != nil {
		t.Fatal(err)
	}
	answer, err := url.Parse(callback)
	if err != nil || answer.Query().Get("code") == "" {
		t.Fatalf("the authorization server answers %s, %v", callback, err)
	}
	token, err := client.Exchange(t.Context(), answer.Query().Get("code"),
		append(options, oauth2.VerifierOption(verifier))...)
	if err != nil {
		t.Fatal(err)
	}
	return token.AccessToken
}

// registered is a client of the stack's authorization server, found and registered as clients do.
func registered(t *testing.T, s *server) *oauth2.Config {
	t.Helper()
	const resourceMetadata = "/.well-known/oauth-protected-resource/mcp"
	metadata, err := oauthex.GetProtectedResourceMetadata(t.Context(),
		strings.TrimSuffix(s.URL, "/mcp")+resourceMetadata, s.URL, http.DefaultClient)
	if err != nil {
		t.Fatal(err)
	}
	server, err := auth.GetAuthServerMetadata(t.Context(), metadata.AuthorizationServers[0], http.DefaultClient)
	if err != nil || server == nil {
		t.Fatalf("metadata of %s: %v", metadata.AuthorizationServers[0], err)
	}
	redirect := callbackURLs()[0]
	client, err := oauthex.RegisterClient(t.Context(), server.RegistrationEndpoint, &oauthex.ClientRegistrationMetadata{
		RedirectURIs: []string{redirect}, TokenEndpointAuthMethod: "none",
	}, http.DefaultClient)
	if err != nil {
		t.Fatal(err)
	}
	scope := metadata.ScopesSupported[slices.IndexFunc(metadata.ScopesSupported, func(scope string) bool {
		return strings.HasSuffix(scope, "contacts:read")
	})]
	return &oauth2.Config{
		ClientID: client.ClientID, RedirectURL: redirect, Scopes: []string{scope},
		Endpoint: oauth2.Endpoint{
			AuthURL: server.AuthorizationEndpoint, TokenURL: server.TokenEndpoint, AuthStyle: oauth2.AuthStyleInParams,
		},
	}
}

// Programs that act for themselves get in by client credentials, as far as their SDKs know how.
func TestMachinesSignIn(t *testing.T) {
	t.Parallel()
	for _, world := range worlds() {
		t.Run(world.kind, func(t *testing.T) { testMachinesSignIn(t, world) })
	}
}

func testMachinesSignIn(t *testing.T, w world) {
	table, err := oauthClients()
	if err != nil {
		t.Fatal(err)
	}
	for _, client := range clients.Available(root) {
		works, tried := table[client.Name].Machine[w.kind]
		if !tried || client.Missing != "" && !required {
			continue
		}
		t.Run(client.Name, func(t *testing.T) { testMachine(t, w, client, works) })
	}
}

func testMachine(t *testing.T, w world, client clients.Client, works bool) {
	machine := w.machine
	script := clients.Script{
		Calls: []clients.Call{search(0)},
		SignIn: &clients.SignIn{
			ClientID: machine.ClientID, ClientSecret: machine.Secret, Scope: w.prefix + "contacts:read",
		},
	}
	report, err := client.Run(t.Context(), w.URL, script)
	if !works {
		if err == nil {
			t.Error("gets in, which testdata/oauth-clients.json says it does not")
		}
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	result, err := report.Calls[0].Decode()
	if err != nil || result.IsError || !slices.Contains(report.Tools, "contacts_search") {
		t.Errorf("tools %v, call %+v, %v", report.Tools, result, err)
	}
}
