package smokecheck

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
)

// guarded is what a client without a token sees of a server behind API Gateway, with one thing wrong that only API
// Gateway, or an authorization server elsewhere, does. The tests in tests/integration run the checks against the local
// stack, which has none of these faults.
type guarded struct {
	url string
	// challenge sets the fields of the 401, denial those of the 403.
	challenge, denial func(http.Header)
	// resource and server change the documents.
	resource, server func(map[string]any)
	// preflight answers OPTIONS.
	preflight func(http.ResponseWriter, *http.Request)
}

func start(t *testing.T, change func(*guarded)) *guarded {
	t.Helper()
	server := httptest.NewUnstartedServer(nil)
	g := &guarded{url: "http://" + server.Listener.Addr().String()}
	g.challenge = func(h http.Header) { h.Set(challengeField, `Bearer resource_metadata="`+g.url+`/prm", scope="read"`) }
	g.denial = func(h http.Header) {
		h.Set(challengeField, `Bearer error="insufficient_scope", resource_metadata="`+g.url+`/prm", scope="write"`)
	}
	g.resource, g.server = func(map[string]any) {}, func(map[string]any) {}
	g.preflight = func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Origin") != page {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		w.Header().Set("Access-Control-Allow-Origin", page)
		w.Header().Set("Access-Control-Allow-Headers", strings.Join(preflightFields, ", "))
		w.WriteHeader(http.StatusNoContent)
	}
	if change != nil {
		change(g)
	}
	server.Config.Handler = g
	server.Start()
	t.Cleanup(server.Close)
	return g
}

// page is the origin of a page that may call.
const page = "https://app.example.com"

func (g *guarded) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	document := map[string]any{"resource": g.url + "/mcp", "authorization_servers": []string{g.url + "/issuer"}}
	switch {
	case r.Method == http.MethodOptions:
		g.preflight(w, r)
		return
	case r.URL.Path == "/prm":
		g.resource(document)
	case strings.HasPrefix(r.URL.Path, serverPath):
		document = map[string]any{"issuer": g.url + "/issuer", "authorization_endpoint": g.url + "/authorize",
			"token_endpoint": g.url + "/token", "code_challenge_methods_supported": []string{"S256"}}
		g.server(document)
	case r.URL.Path != "/mcp":
		w.WriteHeader(http.StatusNotFound)
		return
	default:
		g.refuse(w, r)
		return
	}
	w.Header().Set("Access-Control-Allow-Origin", "*")
	_ = json.NewEncoder(w).Encode(document)
}

func (g *guarded) refuse(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Access-Control-Allow-Origin", "*")
	w.Header().Set("Access-Control-Expose-Headers", "x-amzn-requestid, WWW-Authenticate")
	if r.Header.Get("Authorization") == "Bearer lesser" {
		g.denial(w.Header())
		w.WriteHeader(http.StatusForbidden)
		return
	}
	g.challenge(w.Header())
	w.WriteHeader(http.StatusUnauthorized)
	_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"no"}}`)
}

// checkOf runs the checks and returns one.
func (g *guarded) checkOf(t *testing.T, name string, options Options) Check {
	t.Helper()
	options.URL = g.url + "/mcp"
	report, err := Run(t.Context(), options, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, check := range report.Checks {
		if check.Name == name {
			return check
		}
	}
	t.Fatalf("there is no check %q in %+v", name, report.Checks)
	return Check{}
}

func TestWhatAClientWithoutATokenFindsOut(t *testing.T) {
	t.Parallel()
	healthy := start(t, nil)
	for _, name := range []string{"challenge", "metadata", "sign-in", "bad token", "preflight"} {
		if got := healthy.checkOf(t, name, Options{Origin: page}); got.Status != OK {
			t.Errorf("%+v", got)
		}
	}
	got := healthy.checkOf(t, "with a token", Options{})
	if got.Status != Skipped || !strings.Contains(got.Seen, "--token") {
		t.Errorf("%+v", got)
	}
	if got := healthy.checkOf(t, "metadata", Options{}); !strings.Contains(got.Seen, healthy.url+resourcePath+"/mcp") {
		t.Errorf("does not say where clients that probe look: %+v", got)
	}
}

func TestFaultsOfAuthorization(t *testing.T) {
	t.Parallel()
	set := func(name, value string) func(http.Header) { return func(h http.Header) { h.Set(name, value) } }
	with := func(name string, value any) func(map[string]any) {
		return func(document map[string]any) { document[name] = value }
	}
	tests := map[string]struct {
		change func(*guarded)
		check  string
		seen   string
	}{
		"renamed": {func(g *guarded) { g.challenge = set(renamedField, `Bearer resource_metadata="x"`) }, "challenge",
			"API Gateway renames the field"},
		"lost": {func(g *guarded) { g.challenge = func(http.Header) {} }, "challenge", "without WWW-Authenticate"},
		"escaped": {func(g *guarded) { g.challenge = set(challengeField, `Bearer scope=\"a\"`) },
			"challenge", "quotes"},
		"not closed": {func(g *guarded) { g.challenge = set(challengeField, `Bearer scope="a`) }, "challenge", "quotes"},
		"another": {func(g *guarded) { g.challenge = set(challengeField, `Basic realm="x"`) },
			"challenge", "no Bearer"},
		"relative": {func(g *guarded) { g.challenge = set(challengeField, `Bearer resource_metadata="/prm"`) },
			"challenge", "no whole URL"},
		"other URL": {func(g *guarded) { g.resource = with("resource", "https://other.example/mcp") },
			"metadata", "other.example"},
		"no servers": {func(g *guarded) { g.resource = with("authorization_servers", []string{}) },
			"metadata", "names no"},
		"in the query": {func(g *guarded) { g.resource = with("bearer_methods_supported", []string{"query"}) },
			"metadata", "query"},
		"no PKCE": {func(g *guarded) { g.server = with("code_challenge_methods_supported", nil) },
			"sign-in", "authorization.front"},
		"other issuer": {func(g *guarded) { g.server = with("issuer", g.url) }, "sign-in", "must not use it"},
		"no endpoints": {func(g *guarded) { g.server = with("token_endpoint", "") }, "sign-in", "token_endpoint"},
		"no such issue": {func(g *guarded) { g.resource = with("authorization_servers", []string{g.url + "/x/../y"}) },
			"sign-in", "must not use it"},
		"any page": {func(g *guarded) {
			g.preflight = func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Access-Control-Allow-Origin", "*") }
		}, "preflight", "any page"},
		"preflight asks for a token": {func(g *guarded) { g.preflight = g.refuse }, "preflight", "no page can ever call"},
		"no field": {func(g *guarded) {
			g.preflight = func(w http.ResponseWriter, r *http.Request) {
				if r.Header.Get("Origin") == page {
					w.Header().Set("Access-Control-Allow-Origin", page)
					w.Header().Set("Access-Control-Allow-Headers", "*")
				}
			}
		}, "preflight", "lacks Authorization"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := start(t, test.change).checkOf(t, test.check, Options{Origin: page})
			if got.Status != Failed || !strings.Contains(got.Seen, test.seen) {
				t.Errorf("got %+v, want it to fail with %q", got, test.seen)
			}
		})
	}
}

// What API Gateway may do to a challenge that the authorizer computed, and what to do about it.
func TestDenials(t *testing.T) {
	t.Parallel()
	const metadata = "https://mcp.example.com/prm"
	const signIn = `Bearer error="insufficient_user_authentication",`
	named := ` resource_metadata="` + metadata + `"`
	tests := map[string]struct {
		field, value string
		want         string // "" is right
	}{
		"names scopes":      {challengeField, `Bearer error="insufficient_scope",` + named + `, scope="a b"`, ""},
		"static":            {challengeField, `Bearer error="insufficient_scope",` + named, ""},
		"asks for sign-in":  {challengeField, signIn + named + `, max_age="9"`, ""},
		"asks for nothing":  {challengeField, signIn + named, "without acr_values"},
		"no error":          {challengeField, `Bearer` + named, "not insufficient_scope"},
		"elsewhere":         {challengeField, `Bearer error="insufficient_scope"`, "not that of the 401"},
		"empty":             {challengeField, ``, `"challenge": "static"`},
		"escaped":           {challengeField, `Bearer error=\"insufficient_scope\"`, `"challenge": "static"`},
		"renamed":           {renamedField, `Bearer error="insufficient_scope"`, "API Gateway renames"},
		"as HTML":           {challengeField, `Bearer error=&quot;insufficient_scope&quot;`, `"challenge": "static"`},
		"unrelated to this": {"X-Other", `Bearer`, `without WWW-Authenticate`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := answer{status: http.StatusForbidden, header: http.Header{test.field: {test.value}}}
			seen, err := (&run{metadataURL: metadata}).denial("send", got)
			switch {
			case test.want == "" && err != nil:
				t.Error(err)
			case test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)):
				t.Errorf("seen %q, error %v, want %s", seen, err, test.want)
			}
		})
	}
}

// A server that is not there is one line.
// A token that is refused is told once.
func TestARefusedToken(t *testing.T) {
	t.Parallel()
	report, err := Run(t.Context(), Options{URL: start(t, nil).url + "/mcp", Token: "expired"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	last := report.Checks[len(report.Checks)-1]
	if report.Failed() != 1 || last.Name != "with a token" || !strings.Contains(last.Seen, "401") {
		t.Errorf("%d failed, the last is %+v", report.Failed(), last)
	}
}

func TestNoServer(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	endpoint := "http://" + listener.Addr().String() + "/mcp"
	listener.Close()
	report, err := Run(t.Context(), Options{URL: endpoint}, nil)
	if err != nil || len(report.Checks) != 1 || report.Failed() != 1 {
		t.Errorf("%+v, %v", report, err)
	}
}

func TestOptionsThatCannotBe(t *testing.T) {
	t.Parallel()
	for name, options := range map[string]Options{
		"origin with a path": {Origin: "https://app.example.com/"},
		"origin of no host":  {Origin: "app"},
		"token of two lines": {Token: "a\nb"},
	} {
		options.URL = "http://127.0.0.1:9/mcp"
		if _, err := Run(t.Context(), options, nil); err == nil {
			t.Errorf("%s is taken", name)
		}
	}
}

// The caller's token and headers stay with the endpoint's host.
func TestHeadersStayWithTheHost(t *testing.T) {
	t.Parallel()
	var got http.Header
	elsewhere := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = r.Header
		_, _ = io.WriteString(w, `{}`)
	}))
	t.Cleanup(elsewhere.Close)
	g := start(t, nil)
	r := &run{Options: Options{URL: g.url + "/mcp", Token: "secret", Header: http.Header{"X-Api-Key": {"secret"}}}}
	r.endpoint = mustParse(t, r.URL)
	r.clients()
	var document resourceMetadata
	if err := read(context.Background(), r, elsewhere.URL, &document); err != nil {
		t.Fatal(err)
	}
	for name, values := range got {
		if strings.Contains(strings.Join(values, " "), "secret") {
			t.Errorf("%s is sent to another host", name)
		}
	}
}

func mustParse(t *testing.T, text string) *url.URL {
	t.Helper()
	parsed, err := url.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return parsed
}
