package main

import (
	"bytes"
	"encoding/json"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"patchbay/shared/authorization"
)

const serverJSON = `{"name":"s","version":"1","title":"The server","instructions":"Read first."}`

// dispatch starts a dispatcher with a server.json and environment, and returns what it answers to one event.
type dispatch struct {
	server        string
	authorization string
	environment   map[string]string
	log           bytes.Buffer
}

func (d *dispatch) start(t *testing.T) (func(event string) answer, error) {
	t.Helper()
	root := t.TempDir()
	for name, content := range map[string]string{"server.json": d.server, "authorization.json": d.authorization} {
		if err := os.WriteFile(filepath.Join(root, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	d.environment["LAMBDA_TASK_ROOT"] = root
	d.environment["PATCHBAY_BUFFERED"] = "true"
	handler, err := newHandler(minimalWith(d.environment), slog.New(slog.NewJSONHandler(&d.log, nil)))
	return func(event string) answer {
		reader, err := handler(t.Context(), json.RawMessage(event))
		if err != nil {
			t.Fatal(err)
		}
		raw, err := io.ReadAll(reader)
		if err != nil {
			t.Fatal(err)
		}
		var got answer
		if err := json.Unmarshal(raw, &got); err != nil {
			t.Fatalf("%s: %v", raw, err)
		}
		return got
	}, err
}

type answer struct {
	StatusCode int
	Headers    map[string]string
	Body       string
}

// discover is the event of a server/discover with the given members of requestContext and a header more.
func discover(context, origin string) string {
	body := `{"jsonrpc":"2.0","id":7,"method":"server/discover","params":{"_meta":{` +
		`"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`
	event, err := json.Marshal(map[string]any{
		"httpMethod": "POST", "path": "/mcp", "body": body, "requestContext": json.RawMessage(context),
		"multiValueHeaders": map[string][]string{
			"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"},
			"MCP-Protocol-Version": {"2026-07-28"}, "Mcp-Method": {"server/discover"}, "Origin": {origin},
		},
	})
	if err != nil {
		panic(err)
	}
	return string(event)
}

// What server.json and the environment say is what clients see.
func TestDispatcherSaysWhatItIsConfiguredTo(t *testing.T) {
	t.Parallel()
	d := &dispatch{server: serverJSON, environment: map[string]string{
		"PATCHBAY_ORIGINS": "https://app.example.com", "PATCHBAY_CACHE_TTL_MS": "1500", "PATCHBAY_CACHE_SCOPE": "private",
	}}
	answer, err := d.start(t)
	if err != nil {
		t.Fatal(err)
	}
	got := answer(discover(`{"requestId":"r-1"}`, "https://app.example.com"))
	var body struct {
		Result struct {
			TTLMs        int
			CacheScope   string
			Instructions string
			Meta         map[string]json.RawMessage `json:"_meta"`
		}
	}
	if err := json.Unmarshal([]byte(got.Body), &body); err != nil || got.StatusCode != 200 {
		t.Fatalf("got %+v: %v", got, err)
	}
	result := body.Result
	if result.TTLMs != 1500 || result.CacheScope != "private" || result.Instructions != "Read first." {
		t.Errorf("got %+v", result)
	}
	const info = `{"name":"s","title":"The server","version":"1"}`
	if diff := cmp.Diff(info, string(result.Meta["io.modelcontextprotocol/serverInfo"])); diff != "" {
		t.Errorf("serverInfo (-want +got):\n%s", diff)
	}
	for _, origin := range []string{"https://evil.example", "http://localhost:6274"} {
		if got := answer(discover(`{}`, origin)); got.StatusCode != 403 {
			t.Errorf("Origin %s: got %+v", origin, got)
		}
	}
}

func TestLoopbackOriginsAreAllowedWhereConfigured(t *testing.T) {
	t.Parallel()
	d := &dispatch{server: serverJSON, environment: map[string]string{"PATCHBAY_LOOPBACK_ORIGINS": "true"}}
	answer, err := d.start(t)
	if err != nil {
		t.Fatal(err)
	}
	if got := answer(discover(`{}`, "http://localhost:6274")); got.StatusCode != 200 {
		t.Errorf("got %+v", got)
	}
	if got := answer(discover(`{}`, "https://app.example.com")); got.StatusCode != 403 {
		t.Errorf("got %+v", got)
	}
}

// An authorizer that names nobody is a fault of the deployment: the client learns the request's id, the log the cause.
func TestAnAuthorizerThatNamesNobody(t *testing.T) {
	t.Parallel()
	d := &dispatch{server: serverJSON, environment: map[string]string{"PATCHBAY_LOOPBACK_ORIGINS": "true"}}
	answer, err := d.start(t)
	if err != nil {
		t.Fatal(err)
	}
	got := answer(discover(`{"requestId":"r-1","authorizer":{"tenant":"north"}}`, "http://localhost"))
	const want = `{"jsonrpc":"2.0","id":7,"error":{"code":-32603,"message":"Internal error (request id r-1)"}}`
	if got.StatusCode != 500 || got.Body != want {
		t.Errorf("got %+v, want 500 %s", got, want)
	}
	for _, part := range []string{`"requestId":"r-1"`, `"method":"server/discover"`, "subject or clientId"} {
		if !strings.Contains(d.log.String(), part) {
			t.Errorf("the log has no %s: %s", part, &d.log)
		}
	}
}

// signIn is a server that callers sign in to, with a front. Its catalogue is out of reach, since nothing listens on
// port 1.
func signIn() *dispatch {
	return &dispatch{
		server: serverJSON,
		authorization: `{"issuers":[{"issuer":"https://login.example.com","scopePrefix":"desk/"}],
			"front":{"clientId":"public-client","redirectUris":["https://app.example.com/cb"]}}`,
		environment: map[string]string{
			"PATCHBAY_AUTHORIZATION_FILE": "authorization.json", "PATCHBAY_RESOURCE": "https://mcp.example.com/mcp",
			"PATCHBAY_ORIGINS": "https://app.example.com", "AWS_ENDPOINT_URL_DYNAMODB": "http://127.0.0.1:1",
		},
	}
}

// A request for the endpoint that no authorizer has seen is nobody's, and is not answered as one of nobody in
// particular.
func TestWithoutItsAuthorizerTheEndpointIsShut(t *testing.T) {
	t.Parallel()
	d := signIn()
	answer, err := d.start(t)
	if err != nil {
		t.Fatal(err)
	}
	for context, want := range map[string]int{
		`{"requestId":"r-1"}`:                   500,
		`{"requestId":"r-1","authorizer":{}}`:   500,
		`{"requestId":"r-1","authorizer":null}`: 500,
		`{"requestId":"r-1","authorizer":{"subject":"u","issuer":"https://login.example.com"}}`: 200,
	} {
		got := answer(discover(context, "https://app.example.com"))
		if got.StatusCode != want || (want == 500) != strings.Contains(got.Body, `"code":-32603`) {
			t.Errorf("%s: got %+v, want %d", context, got, want)
		}
		if want == 200 && !strings.Contains(got.Body, `"cacheScope":"private"`) {
			t.Errorf("%s: got %s", context, got.Body)
		}
	}
	if !strings.Contains(d.log.String(), "no authorizer saw the request") {
		t.Errorf("logged %s", &d.log)
	}
}

// The public addresses are found by their path and need no authorizer; whatever else is asked for goes to the endpoint.
func TestPublicAddresses(t *testing.T) {
	t.Parallel()
	event := func(method, path, body string, header map[string][]string) string {
		header["Content-Type"] = []string{"application/json"}
		raw, err := json.Marshal(map[string]any{
			"httpMethod": method, "path": path, "body": body, "multiValueHeaders": header,
			"requestContext": map[string]any{"requestId": "r-1", "stage": "prod"},
		})
		if err != nil {
			t.Fatal(err)
		}
		return string(raw)
	}
	preflight := map[string][]string{"Origin": {"https://app.example.com"}, "Access-Control-Request-Method": {"POST"}}
	d := signIn()
	answer, err := d.start(t)
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		event  string
		status int
		says   string
	}{
		"registration": {event("POST", "/oauth/register", `{"redirect_uris":["https://app.example.com/cb"]}`,
			map[string][]string{}), 201, `"client_id":"public-client"`},
		"metadata, with no catalogue": {event("GET", "/.well-known/oauth-protected-resource/mcp", "",
			map[string][]string{}), 503, "catalogue cannot be read at the moment"},
		"preflight of the endpoint":     {event("OPTIONS", "/mcp", "", preflight), 204, ""},
		"preflight of a public address": {event("OPTIONS", "/oauth/register", "", preflight), 204, ""},
		"the endpoint by another verb":  {event("GET", "/mcp", "", map[string][]string{}), 405, "takes POST only"},
		"another path":                  {event("GET", "/elsewhere", "", map[string][]string{}), 405, "takes POST only"},
	} {
		if got := answer(test.event); got.StatusCode != test.status || !strings.Contains(got.Body, test.says) {
			t.Errorf("%s: got %+v, want %d %s", name, got, test.status, test.says)
		}
	}
	plain := &dispatch{server: serverJSON, environment: map[string]string{}}
	if answer, err = plain.start(t); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/.well-known/oauth-protected-resource", "/oauth/register"} {
		if got := answer(event("GET", path, "", map[string][]string{})); got.StatusCode != 405 {
			t.Errorf("without sign-in %s: got %+v", path, got)
		}
	}
}

// A file that says whose tokens are taken is read with every check before anybody is served.
func TestAuthorizationFileIsReadStrictly(t *testing.T) {
	t.Parallel()
	for file, want := range map[string]string{
		`{"issuers":[]}`: "issuers", `{"issuers":[{"issuer":"http://login.example.com"}]}`: "https", `not JSON`: "not JSON",
	} {
		d := signIn()
		d.authorization = file
		if _, err := d.start(t); err == nil || !strings.Contains(err.Error(), want) ||
			!strings.Contains(err.Error(), "authorization.json") {
			t.Errorf("%s: got error %v, want one that names the file and says %s", file, err, want)
		}
	}
}

// How clients ask for scopes is their own issuer's word.
func TestAsking(t *testing.T) {
	t.Parallel()
	config, err := authorization.Parse([]byte(`{"issuers":[{"issuer":"https://a.example","scopePrefix":"desk/"},
		{"issuer":"https://b.example"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	ask := asking(config)
	for issuer, want := range map[string]string{
		"https://a.example": "desk/x desk/y", "https://b.example": "x y", "https://unknown.example": "x y",
	} {
		if got := strings.Join(ask(issuer, []string{"x", "y"}), " "); got != want {
			t.Errorf("%s: got %q, want %q", issuer, got, want)
		}
	}
	if asking(nil) != nil {
		t.Error("scopes are asked for where nobody signs in")
	}
}

func TestServerFileIsReadStrictly(t *testing.T) {
	t.Parallel()
	for file, want := range map[string]string{
		`{"name":"s"}`:                               "version",
		`{"name":"s","version":"1","Name":"t"}`:      "Name",
		`{"name":"s","name":"t","version":"1"}`:      "name",
		`{"name":"s","version":"1","websiteURL":""}`: "websiteURL",
		`not JSON`: "server.json",
	} {
		d := &dispatch{server: file, environment: map[string]string{}}
		if _, err := d.start(t); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got error %v, want one that names %s", file, err, want)
		}
	}
}
