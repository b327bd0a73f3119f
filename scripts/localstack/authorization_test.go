package localstack

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"patchbay/scripts/localgateway"
	"patchbay/shared/authorization"
	"patchbay/shared/contract"
)

func TestCheckAuth(t *testing.T) {
	t.Parallel()
	config := &authorization.Config{Issuers: []authorization.Issuer{{URL: "https://login.example"}}}
	people := localgateway.Principals{}
	for name, test := range map[string]struct {
		options Options
		says    string // empty: it is let through
	}{
		"nothing":                   {Options{}, ""},
		"generic":                   {Options{Auth: "generic"}, ""},
		"cognito":                   {Options{Auth: "cognito"}, ""},
		"elsewhere":                 {Options{Authorization: config}, ""},
		"both":                      {Options{Auth: "generic", Authorization: config}, ""},
		"principals":                {Options{Principals: people}, ""},
		"another kind":              {Options{Auth: "keycloak"}, `"keycloak": allowed: generic, cognito`},
		"principals and a server":   {Options{Auth: "generic", Principals: people}, "one or the other"},
		"principals and tokens":     {Options{Authorization: config, Principals: people}, "one or the other"},
		"principals and a bad kind": {Options{Auth: "x", Principals: people}, "allowed"},
	} {
		err := test.options.check()
		if test.says == "" && err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if test.says != "" && (err == nil || !strings.Contains(err.Error(), test.says)) {
			t.Errorf("%s: %v; want an error that says %s", name, err, test.says)
		}
	}
}

// The stack's own server comes first, since clients are told of the first one; other settings stay, and those who gave
// them find them as they were.
func TestAddServer(t *testing.T) {
	t.Parallel()
	given := &authorization.Config{
		Issuers:        []authorization.Issuer{{URL: "https://login.example"}},
		ScopeHierarchy: map[string][]string{"admin": {"write"}},
	}
	config, err := Options{Authorization: given}.configuration()
	if err != nil {
		t.Fatal(err)
	}
	addServer(config, &authorization.Config{
		Issuers: []authorization.Issuer{{URL: "http://127.0.0.1:1/pool"}},
		Front:   &authorization.Front{ClientID: "app", RedirectURIs: []string{"http://127.0.0.1/"}},
	})
	if err := config.Complete(); err != nil {
		t.Fatal(err)
	}
	if config.Asked().URL != "http://127.0.0.1:1/pool" || len(config.Issuers) != 2 ||
		config.ScopeHierarchy["admin"] == nil {
		t.Errorf("configuration %+v", config)
	}
	if len(given.Issuers) != 1 || given.LeewaySeconds != nil || given.Front != nil {
		t.Errorf("the options became %+v", given)
	}
}

func TestRoutes(t *testing.T) {
	t.Parallel()
	paths := func(config *authorization.Config) []string {
		var open []string
		for _, route := range (&Stack{Authorization: config}).routes() {
			if route.Open {
				open = append(open, strings.TrimSpace(route.Method+" "+route.Path))
			}
		}
		slices.Sort(open)
		return open
	}
	metadata := []string{"/.well-known/oauth-protected-resource", "/.well-known/oauth-protected-resource/mcp"}
	front := []string{"/.well-known/oauth-authorization-server", "/.well-known/openid-configuration"}
	for name, test := range map[string]struct {
		config *authorization.Config
		want   []string
	}{
		"anonymous":   {nil, []string{"OPTIONS /mcp"}},
		"with tokens": {&authorization.Config{}, append(slices.Clone(metadata), "OPTIONS /mcp")},
		"with a front": {
			&authorization.Config{Front: &authorization.Front{}},
			slices.Concat(front, metadata, []string{"/oauth/register", "OPTIONS /mcp"}),
		},
	} {
		slices.Sort(test.want)
		if diff := cmp.Diff(test.want, paths(test.config)); diff != "" {
			t.Errorf("%s: open routes (-want +got):\n%s", name, diff)
		}
	}
}

// A server that other machines reach without TLS cannot take tokens.
func TestTokensNeedALoopbackAddress(t *testing.T) {
	t.Parallel()
	s := &Stack{URL: "http://192.0.2.1:8787/mcp", options: Options{Auth: AuthGeneric}}
	if err := s.authorize(t.Context()); err == nil || !strings.Contains(err.Error(), "loopback") {
		t.Errorf("error %v", err)
	}
}

// The authorization server knows every permission, once; the last are those that only hidden tools ask for, which the
// lesser of its users may not have.
func TestPermissions(t *testing.T) {
	t.Parallel()
	tools := []*contract.Tool{
		parse(t, "functions", `"function":{"runtime":"go"},"permissions":["a:z","b:b","m:m"],"visibility":"permitted"`),
		parse(t, "functions", `"function":{"runtime":"go"},"permissions":["z:z","m:m"]`),
		parse(t, "functions", `"function":{"runtime":"go"},"permissions":["m:m"]`),
		parse(t, "functions", `"function":{"runtime":"go"}`),
	}
	if diff := cmp.Diff([]string{"m:m", "z:z", "a:z", "b:b"}, permissions(tools)); diff != "" {
		t.Errorf("permissions (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"a:z", "b:b"}, hiding(tools)); diff != "" {
		t.Errorf("hiding (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"m:m", "z:z"}, users(tools)[1].Scopes); diff != "" {
		t.Errorf("the lesser user's scopes: %s", diff)
	}
}

// startNotes runs the server of testdata/functions.
func startNotes(t *testing.T, options Options) *Stack {
	t.Helper()
	options.Addr = "127.0.0.1:0"
	options.Functions = filepath.Join("testdata", "functions")
	options.Data = t.TempDir()
	options.Log = func(function string, line []byte) { t.Logf("[%s] %s", function, line) }
	s, err := Start(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// token gets an access token for the machine client of a stack's authorization server.
func token(t *testing.T, s *Stack, scopes ...string) string {
	t.Helper()
	form := url.Values{
		"grant_type": {"client_credentials"}, "resource": {s.URL}, "scope": {strings.Join(scopes, " ")},
	}
	machine := s.AuthServer.Machine
	var metadata struct {
		TokenEndpoint string `json:"token_endpoint"`
	}
	getJSON(t, s.AuthServer.Issuer+authorization.OpenIDMetadataPath, &metadata)
	request, err := http.NewRequest(http.MethodPost, metadata.TokenEndpoint, strings.NewReader(form.Encode()))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	request.SetBasicAuth(machine.ClientID, machine.Secret)
	_, body := do(t, request, http.StatusOK)
	var answer struct {
		AccessToken string `json:"access_token"`
	}
	if err := json.Unmarshal([]byte(body), &answer); err != nil || answer.AccessToken == "" {
		t.Fatalf("%v in %s", err, body)
	}
	return answer.AccessToken
}

func getJSON(t *testing.T, address string, into any) {
	t.Helper()
	request, err := http.NewRequest(http.MethodGet, address, nil)
	if err != nil {
		t.Fatal(err)
	}
	_, body := do(t, request, http.StatusOK)
	if err := json.Unmarshal([]byte(body), into); err != nil {
		t.Fatalf("%v in %s", err, body)
	}
}

// do sends a request and returns its answer, which must have that status.
func do(t *testing.T, request *http.Request, status int) (http.Header, string) {
	t.Helper()
	response, err := http.DefaultClient.Do(request.WithContext(t.Context()))
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	if response.StatusCode != status {
		t.Fatalf("%s %s: %s %v %s, want %d", request.Method, request.URL, response.Status, response.Header, body, status)
	}
	return response.Header, string(body)
}

// call calls a tool; without a token where that is empty.
func call(t *testing.T, s *Stack, tool, token string, status int) (http.Header, string) {
	t.Helper()
	body := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":%q,"arguments":{},"_meta":{`+
		`"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`, tool)
	request, err := http.NewRequest(http.MethodPost, s.URL, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]string{
		"Content-Type": "application/json", "Accept": "application/json, text/event-stream",
		"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": tool,
	} {
		request.Header.Set(name, value)
	}
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	return do(t, request, status)
}

// A stack with an authorization server: what a client without a token finds out, what one with too small a token is
// told, and a call. Then one that takes the same server's tokens as those of a server that runs elsewhere.
func TestStackWithAuthorizationServer(t *testing.T) {
	t.Parallel()
	s := startNotes(t, Options{Auth: AuthGeneric})
	metadata := `resource_metadata="` + strings.TrimSuffix(s.URL, Path) + `/.well-known/oauth-protected-resource/mcp"`
	wantChallenge := "Bearer " + metadata + `, scope="notes:read"`
	if s.Challenge() != wantChallenge {
		t.Errorf("the challenge is %s, want %s", s.Challenge(), wantChallenge)
	}
	for _, bad := range []string{"", "a.b.c"} {
		header, _ := call(t, s, "read_note", bad, http.StatusUnauthorized)
		if got := header.Get("WWW-Authenticate"); got != wantChallenge {
			t.Errorf("token %q: WWW-Authenticate %s", bad, got)
		}
	}
	var document struct {
		Resource             string   `json:"resource"`
		AuthorizationServers []string `json:"authorization_servers"`
		ScopesSupported      []string `json:"scopes_supported"`
	}
	_, address, _ := strings.Cut(s.Challenge(), `resource_metadata="`)
	address, _, _ = strings.Cut(address, `"`)
	getJSON(t, address, &document)
	if document.Resource != s.URL || !slices.Equal(document.AuthorizationServers, []string{s.AuthServer.Issuer}) ||
		!slices.Equal(document.ScopesSupported, []string{"notes:read", "notes:write"}) {
		t.Errorf("protected resource metadata %+v", document)
	}
	reading := token(t, s, "notes:read")
	_, body := call(t, s, "read_note", reading, http.StatusOK)
	if !strings.Contains(body, "read by "+s.AuthServer.Machine.ClientID) {
		t.Errorf("answer %s", body)
	}
	header, body := call(t, s, "keep_note", reading, http.StatusForbidden)
	got := header.Get("WWW-Authenticate")
	if !strings.HasPrefix(got, `Bearer error="insufficient_scope"`) || !strings.Contains(got, metadata) ||
		!strings.Contains(got, `scope="notes:read notes:write"`) ||
		!strings.Contains(body, `"scope":"notes:read notes:write"`) {
		t.Errorf("WWW-Authenticate %s, body %s", got, body)
	}
	both := token(t, s, "notes:read", "notes:write")
	if _, body := call(t, s, "keep_note", both, http.StatusOK); !strings.Contains(body, "keep by") {
		t.Errorf("answer %s", body)
	}
	other := startNotes(t, Options{Authorization: &authorization.Config{
		Issuers: []authorization.Issuer{{URL: s.AuthServer.Issuer}}, Audiences: []string{s.URL},
	}})
	if other.AuthServer != nil {
		t.Error("an authorization server was started, although another one was named")
	}
	if _, body := call(t, other, "keep_note", both, http.StatusOK); !strings.Contains(body, "keep by") {
		t.Errorf("answer %s", body)
	}
}

// A server made like Cognito gives machines tokens without an audience, and clients need the front.
func TestStackWithAServerLikeCognito(t *testing.T) {
	t.Parallel()
	s := startNotes(t, Options{Auth: AuthCognito})
	if !strings.HasSuffix(s.Challenge(), `scope="patchbay/notes:read"`) {
		t.Errorf("the challenge is %s", s.Challenge())
	}
	base := strings.TrimSuffix(s.URL, Path)
	var front struct {
		Issuer               string   `json:"issuer"`
		RegistrationEndpoint string   `json:"registration_endpoint"`
		Methods              []string `json:"code_challenge_methods_supported"`
	}
	getJSON(t, base+authorization.ServerMetadataPath, &front)
	if front.Issuer != base || front.RegistrationEndpoint != base+authorization.RegistrationPath ||
		!slices.Contains(front.Methods, "S256") {
		t.Errorf("front document %+v", front)
	}
	given := token(t, s, "patchbay/notes:read")
	if _, body := call(t, s, "read_note", given, http.StatusOK); !strings.Contains(body, "read by") {
		t.Errorf("answer %s", body)
	}
	header, _ := call(t, s, "keep_note", given, http.StatusForbidden)
	if got := header.Get("WWW-Authenticate"); !strings.Contains(got, `scope="patchbay/notes:read patchbay/notes:write"`) {
		t.Errorf("WWW-Authenticate %s", got)
	}
}

// A browser asks before it sends a token.
func TestPreflightNeedsNoToken(t *testing.T) {
	t.Parallel()
	s := startNotes(t, Options{Authorization: &authorization.Config{
		Issuers: []authorization.Issuer{{URL: "http://127.0.0.1:1", JWKSURI: "http://127.0.0.1:1/keys"}},
	}})
	request, err := http.NewRequest(http.MethodOptions, s.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Origin", "http://localhost:6274")
	request.Header.Set("Access-Control-Request-Method", "POST")
	request.Header.Set("Access-Control-Request-Headers", "authorization,mcp-method")
	header, _ := do(t, request, http.StatusNoContent)
	if got := header.Get("Access-Control-Allow-Headers"); !strings.Contains(strings.ToLower(got), "authorization") {
		t.Errorf("allowed header fields: %s", got)
	}
	// With nobody to fetch keys from, a token can be neither taken nor refused.
	header, body := call(t, s, "read_note", unverifiable, http.StatusServiceUnavailable)
	if header.Get("Retry-After") == "" || !strings.Contains(body, "Nothing has run") {
		t.Errorf("%v %s", header, body)
	}
}

// unverifiable is a token of an issuer whose keys cannot be had: its claims are in order, up to the year 2100.
const unverifiable = "eyJhbGciOiJSUzI1NiIsInR5cCI6ImF0K2p3dCIsImtpZCI6ImsifQ." +
	"eyJpc3MiOiJodHRwOi8vMTI3LjAuMC4xOjEiLCJzdWIiOiJhIiwiYXVkIjoiYiIsImV4cCI6NDEwMjQ0NDgwMCwiaWF0IjoxNzAwMDAwMDAwLCJ" +
	"jbGllbnRfaWQiOiJjIiwianRpIjoiZCJ9.c2ln"
