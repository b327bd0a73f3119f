package authorization_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"patchbay/shared/authorization"
)

const smallest = `{"issuers":[{"issuer":"https://login.example.com"}]}`

func TestParseFillsInDefaults(t *testing.T) {
	t.Parallel()
	got, err := authorization.Parse([]byte(smallest))
	if err != nil {
		t.Fatal(err)
	}
	leeway := 30
	want := &authorization.Config{
		Issuers: []authorization.Issuer{{
			URL: "https://login.example.com", Provider: authorization.ProviderGeneric,
			Algorithms: []string{"RS256", "PS256", "ES256"},
		}},
		LeewaySeconds: &leeway,
		Challenge:     authorization.ChallengeComputed,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Whoever reads a configuration and writes it down hands on all of it.
func TestParseReadsWhatWasWritten(t *testing.T) {
	t.Parallel()
	const full = `{
		"issuers": [
			{"issuer": "https://cognito-idp.eu-west-1.amazonaws.com/eu-west-1_AbCdEfGhI", "provider": "cognito",
			 "clientIds": ["4f"], "scopePrefix": "tools/", "tenantClaim": "custom:tenant"},
			{"issuer": "http://localhost:8080/realms/tools", "provider": "keycloak", "algorithms": ["ES256", "EdDSA"],
			 "jwksUri": "http://keycloak:8080/realms/tools/protocol/openid-connect/certs", "audiences": ["account"]},
			{"issuer": "https://tenant.eu.auth0.com/", "provider": "auth0",
			 "jwksUri": "https://tenant.eu.auth0.com/.well-known/jwks.json?appid=1"}
		],
		"audiences": ["https://old.example.com/mcp"],
		"initialScopes": [],
		"scopeHierarchy": {"admin": ["write"], "write": ["read"], "read": ["admin"]},
		"leewaySeconds": 0,
		"challenge": "static",
		"front": {"issuer": "https://tenant.eu.auth0.com/", "clientId": "c", "redirectUris": [
			"https://claude.ai/api/mcp/auth_callback", "http://localhost:6274/oauth/callback", "http://127.0.0.1/callback",
			"http://[::1]:1234/", "cursor://anysphere.cursor-mcp/oauth/callback", "com.example.app:/callback"]}
	}`
	first, err := authorization.Parse([]byte(full))
	if err != nil {
		t.Fatal(err)
	}
	written, err := json.Marshal(first)
	if err != nil {
		t.Fatal(err)
	}
	second, err := authorization.Parse(written)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(first, second); diff != "" {
		t.Errorf("(-first +second):\n%s", diff)
	}
	if *first.LeewaySeconds != 0 || first.Issuers[0].Algorithms[0] != "RS256" || len(first.Issuers[1].Algorithms) != 2 {
		t.Errorf("got %+v", first)
	}
}

// Each error names the place, what is wrong there and what would be right.
func TestParseRefuses(t *testing.T) {
	t.Parallel()
	issuer := func(more string) string { return `{"issuers":[{"issuer":"https://i.example"` + more + `}]}` }
	with := func(more string) string { return `{"issuers":[{"issuer":"https://i.example"}]` + more + `}` }
	front := func(uri string) string {
		return with(`,"front":{"clientId":"c","redirectUris":["` + uri + `"]}`)
	}
	for _, test := range []struct{ name, config, want string }{
		{"nothing", ``, "not JSON"},
		{"a comma too many", "{\n  \"issuers\": [],\n}", "not JSON in line 3"},
		{"two values", smallest + smallest, "not JSON"},
		{"null", `null`, "authorization: want an object, got null"},
		{"a list", `[]`, "authorization: want an object, got []"},
		{"empty", `{}`, "authorization.issuers: no authorization server is named"},
		{"no issuers", `{"issuers":[]}`, "authorization.issuers: no authorization server is named"},
		{"issuers null", `{"issuers":null}`, "authorization.issuers: want a list, got null"},
		{"issuer null", `{"issuers":[null]}`, "authorization.issuers[0]: want an object, got null"},
		{"issuer empty", `{"issuers":[{}]}`, `authorization.issuers[0].issuer: "" is no URL`},
		{"text for a list", `{"issuers":"https://i.example"}`, "authorization.issuers: want a list"},
		{"number for a text", `{"issuers":[{"issuer":7}]}`, "authorization.issuers[0].issuer: want a string, got 7"},
		{"unknown member", with(`,"audience":["a"]`),
			`no member "audience" (is "audiences" meant?); allowed: audiences, chal`},
		{"unknown below", issuer(`,"jwksURI":"https://i.example/keys"`),
			`authorization.issuers[0]: there is no member "jwksURI"`},
		{"other letter case", `{"Issuers":[{"issuer":"https://i.example"}]}`, `no member "Issuers"`},
		{"member twice", `{"issuers":[],"issuers":[]}`, "authorization: a member comes twice"},
		{"twice below", issuer(`,"issuer":"https://j.example"`), "authorization.issuers[0]: a member comes twice"},
		{"issuer twice", `{"issuers":[{"issuer":"https://i.example"},{"issuer":"https://i.example"}]}`,
			`authorization.issuers[1].issuer: "https://i.example" is there twice`},
		{"plain http", `{"issuers":[{"issuer":"http://i.example"}]}`, "allowed: https, or http on a loopback address"},
		{"like loopback", `{"issuers":[{"issuer":"http://localhost.example"}]}`, "allowed: https, or http"},
		{"no host", `{"issuers":[{"issuer":"https:///realm"}]}`, "is no URL of the kind"},
		{"no scheme", `{"issuers":[{"issuer":"i.example"}]}`, "is no URL of the kind"},
		{"other scheme", `{"issuers":[{"issuer":"ftp://i.example"}]}`, "is no URL of the kind"},
		{"upper-case scheme", `{"issuers":[{"issuer":"HTTPS://i.example"}]}`, "the scheme in lower case"},
		{"query", `{"issuers":[{"issuer":"https://i.example?tenant=1"}]}`, "has a query"},
		{"empty query", `{"issuers":[{"issuer":"https://i.example?"}]}`, "a ? with nothing after it"},
		{"fragment", `{"issuers":[{"issuer":"https://i.example#x"}]}`, "has a fragment"},
		{"empty fragment", `{"issuers":[{"issuer":"https://i.example#"}]}`, "has a fragment"},
		{"quote", `{"issuers":[{"issuer":"https://i.example/'"}]}`, "without spaces and quotes"},
		{"user", `{"issuers":[{"issuer":"https://u:secret@i.example"}]}`, "the URL has a user or password"},
		{"keys over http", issuer(`,"jwksUri":"http://i.example/keys"`), "issuers[0].jwksUri: \"http://i.example/keys\""},
		{"keys on this machine", issuer(`,"jwksUri":"http://127.0.0.1:9001/2018-06-01/runtime/invocation/next"`),
			"not on a loopback address"},
		{"keys in a file", issuer(`,"jwksUri":"file:///keys"`), "issuers[0].jwksUri"},
		{"provider", issuer(`,"provider":"cognit"`), "allowed: generic, cognito, entra, auth0, okta, keycloak"},
		{"no algorithms", issuer(`,"algorithms":[]`), "no signature algorithm is taken"},
		{"HS256", issuer(`,"algorithms":["RS256","HS256"]`),
			`"HS256" is no algorithm whose signatures a public key verifies`},
		{"none", issuer(`,"algorithms":["none"]`), `"none" is no algorithm`},
		{"lower case", issuer(`,"algorithms":["rs256"]`), `"rs256" is no algorithm`},
		{"encryption", issuer(`,"algorithms":["RSA-OAEP"]`), `"RSA-OAEP" is no algorithm`},
		{"clients without prefix", issuer(`,"clientIds":["c"]`), "issuers[0].scopePrefix: missing beside clientIds"},
		{"empty client", issuer(`,"clientIds":[" "],"scopePrefix":"t/"`), "issuers[0].clientIds[0]: the text is empty"},
		{"prefix", issuer(`,"scopePrefix":"t /"`), `"t /" cannot begin a scope`},
		{"prefix with a quote", issuer(`,"scopePrefix":"t'"`), "without spaces, quotes and backslashes"},
		{"audience", with(`,"audiences":[""]`), "authorization.audiences[0]: the text is empty"},
		{"initial scope", with(`,"initialScopes":["a b"]`), `authorization.initialScopes: "a b" is no scope`},
		{"quoted scope", with(`,"initialScopes":["a'b"]`), `"a'b" is no scope`},
		{"implied scope", with(`,"scopeHierarchy":{"a":["b\""]}`), `authorization.scopeHierarchy.a: "b\"" is no scope`},
		{"implying scope", with(`,"scopeHierarchy":{"":["b"]}`), `authorization.scopeHierarchy: "" is no scope`},
		{"hierarchy", with(`,"scopeHierarchy":{"a":"b"}`), "authorization.scopeHierarchy.a: want a list"},
		{"negative leeway", with(`,"leewaySeconds":-1`), "authorization.leewaySeconds: -1; allowed: 0 to 300"},
		{"long leeway", with(`,"leewaySeconds":301`), "allowed: 0 to 300"},
		{"broken leeway", with(`,"leewaySeconds":0.5`), "want a whole number"},
		{"null leeway", with(`,"leewaySeconds":null`), "want a whole number"},
		{"challenge", with(`,"challenge":"fixed"`), `"fixed"; allowed: computed, static`},
		{"front without all", with(`,"front":{}`), "front.redirectUris: missing"},
		{"front without client", with(`,"front":{}`), "front.clientId: missing"},
		{"front of a stranger", with(`,"front":{"issuer":"https://j.example","clientId":"c","redirectUris":["a:b"]}`),
			`front.issuer: "https://j.example" is none of the issuers`},
		{"front of one of two", `{"issuers":[{"issuer":"https://i.example"},{"issuer":"https://j.example"}],
			"front":{"clientId":"c","redirectUris":["a:b"]}}`, "front.issuer: missing, but there are 2 issuers"},
		{"redirect over http", front("http://app.example/cb"), "http on a loopback address"},
		{"redirect fragment", front("https://app.example/cb#"), "has a fragment"},
		{"redirect script", front("javascript:alert(1)"), "a scheme of the application's own"},
		{"redirect data", front("data:text/html,x"), "a scheme of the application's own"},
		{"redirect wildcard", front("https://*.example/cb"), "written in full"},
		{"redirect relative", front("/cb"), "is no redirect URI"},
		{"redirect without host", front("https:cb"), "a scheme of the application's own"},
		{"redirect with a user", front("https://u:p@app.example/cb"), "no user or password"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			config, err := authorization.Parse([]byte(test.config))
			if err == nil {
				t.Fatalf("taken: %+v", config)
			}
			if !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v; want %s in it", err, test.want)
			}
			if strings.Contains(err.Error(), "secret") {
				t.Errorf("the error tells a password: %v", err)
			}
		})
	}
}

// All that is wrong is said at once.
func TestParseNamesEveryFault(t *testing.T) {
	t.Parallel()
	_, err := authorization.Parse([]byte(`{"issuers":[{"issuer":"x","algorithms":["none"]}],"challenge":"x"}`))
	if err == nil {
		t.Fatal("taken")
	}
	for _, place := range []string{"issuers[0].issuer", "issuers[0].algorithms", "challenge"} {
		if !strings.Contains(err.Error(), "authorization."+place+": ") {
			t.Errorf("no word of %s: %v", place, err)
		}
	}
}

func TestReadFile(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "authorization.json")
	if _, err := authorization.ReadFile(file); err == nil || !strings.Contains(err.Error(), file) {
		t.Errorf("a file that is not there: %v", err)
	}
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(smallest)
	if config, err := authorization.ReadFile(file); err != nil || config.Find("https://login.example.com") == nil {
		t.Errorf("got %+v, %v", config, err)
	}
	write(`{}`)
	if _, err := authorization.ReadFile(file); err == nil || !strings.Contains(err.Error(), file) {
		t.Errorf("a file with faults: %v", err)
	}
	write(`{"issuers":[` + strings.Repeat(" ", 1<<20) + `]}`)
	if _, err := authorization.ReadFile(file); err == nil || !strings.Contains(err.Error(), "1048576 bytes") {
		t.Errorf("a huge file: %v", err)
	}
}

// A configuration that is taken can be written down and is taken again, as the same one.
func FuzzParse(f *testing.F) {
	f.Add([]byte(smallest))
	f.Add([]byte(`{"issuers":[{"issuer":"http://localhost:8080/","jwksUri":"http://k/","provider":"okta"}],
		"audiences":["a"],
		"scopeHierarchy":{"a":["b","a"]},"front":{"clientId":"c","redirectUris":["x:y"]}}`))
	f.Add([]byte(`{"issuers":[{"issuer":"https://i.example","clientIds":["c"],"scopePrefix":"t/",
		"algorithms":["ES256"]}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		first, err := authorization.Parse(data)
		if err != nil {
			return
		}
		written, err := json.Marshal(first)
		if err != nil {
			t.Fatal(err)
		}
		second, err := authorization.Parse(written)
		if err != nil {
			t.Fatalf("%s: %v", written, err)
		}
		// An empty list of audiences is not written down, and means the same.
		rewritten, err := json.Marshal(second)
		if err != nil || string(rewritten) != string(written) {
			t.Errorf("%s became %s: %v", written, rewritten, err)
		}
		for _, issuer := range first.Issuers {
			if strings.ContainsAny(issuer.Ask("scope"), "'\" \\") {
				t.Errorf("%q breaks out of a header's fixed value", issuer.ScopePrefix)
			}
		}
	})
}
