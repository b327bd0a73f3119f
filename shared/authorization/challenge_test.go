package authorization_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"patchbay/shared/authorization"
	"patchbay/shared/contract"
	"patchbay/shared/mcp"
)

func TestChallenge(t *testing.T) {
	t.Parallel()
	const metadata = "https://mcp.example.com/.well-known/oauth-protected-resource/mcp"
	for _, test := range []struct {
		name      string
		challenge authorization.Challenge
		want      string
	}{
		{"nothing", authorization.Challenge{}, `Bearer`},
		{"no token", authorization.Challenge{ResourceMetadata: metadata, Scopes: []string{"notes:read"}},
			`Bearer resource_metadata="` + metadata + `", scope="notes:read"`},
		{"no scopes", authorization.Challenge{ResourceMetadata: metadata}, `Bearer resource_metadata="` + metadata + `"`},
		{"scopes", authorization.Challenge{
			Error: authorization.ErrorInsufficientScope, Description: "The tool needs more.", ResourceMetadata: metadata,
			Scopes: []string{"a", "b"},
		}, `Bearer error="insufficient_scope", error_description="The tool needs more.", resource_metadata="` + metadata +
			`", scope="a b"`},
		{"step-up", authorization.Challenge{
			Error: authorization.ErrorInsufficientSignIn, ResourceMetadata: metadata, Scopes: []string{"a"},
			ACR: "urn:mfa", MaxAgeSeconds: 900,
		}, `Bearer error="insufficient_user_authentication", resource_metadata="` + metadata +
			`", scope="a", acr_values="urn:mfa", max_age="900"`},
	} {
		if diff := cmp.Diff(test.want, test.challenge.String()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.name, diff)
		}
	}
}

func tool(name string, readOnly bool, rules contract.Contract) *contract.Tool {
	if rules.Visibility == "" {
		rules.Visibility = contract.VisibilityAlways
	}
	return &contract.Tool{Name: name, Annotations: mcp.ToolAnnotations{ReadOnlyHint: &readOnly}, Contract: rules}
}

var tools = []*contract.Tool{
	tool("read", true, contract.Contract{Permissions: []string{"notes:read", "base"}}),
	tool("search", true, contract.Contract{Permissions: []string{"base"}}),
	tool("write", false, contract.Contract{Permissions: []string{"notes:write"}}),
	tool("hidden", true, contract.Contract{
		Permissions: []string{"admin"}, Visibility: contract.VisibilityPermitted,
	}),
	tool("forbidden", true, contract.Contract{Permissions: []string{"root"}, Risk: contract.RiskForbidden}),
	{Name: "silent", Contract: contract.Contract{
		Permissions: []string{"silent"}, Visibility: contract.VisibilityAlways,
	}},
}

func parse(t *testing.T, config string) *authorization.Config {
	t.Helper()
	parsed, err := authorization.Parse([]byte(config))
	if err != nil {
		t.Fatal(err)
	}
	return parsed
}

func TestFixedChallenge(t *testing.T) {
	t.Parallel()
	const resource authorization.Resource = "https://mcp.example.com/mcp"
	const (
		metadata = `Bearer resource_metadata="https://mcp.example.com/.well-known/oauth-protected-resource/mcp"`
		two      = `{"issuers":[{"issuer":"https://a.example"},` +
			`{"issuer":"https://b.example","scopePrefix":"tools/"}]`
		front = `,"front":{"issuer":"https://b.example","clientId":"c","redirectUris":["https://app.example/"]}`
	)
	for _, test := range []struct{ name, config, want string }{
		{"from the contracts", smallest, metadata + `, scope="base notes:read"`},
		{"configured", `{"issuers":[{"issuer":"https://a.example"}],"initialScopes":["x","y"]}`, metadata + `, scope="x y"`},
		{"none", `{"issuers":[{"issuer":"https://a.example"}],"initialScopes":[]}`, metadata},
		{"as the first issuer wants", two + `}`, metadata + `, scope="base notes:read"`},
		{"as the fronted issuer wants", two + front + `}`, metadata + `, scope="tools/base tools/notes:read"`},
	} {
		if diff := cmp.Diff(test.want, parse(t, test.config).FixedChallenge(resource, tools)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.name, diff)
		}
	}
	staged := authorization.Resource("https://abc.execute-api.eu-west-1.amazonaws.com/prod/mcp")
	const want = `Bearer resource_metadata="https://abc.execute-api.eu-west-1.amazonaws.com/prod/.well-known/` +
		`oauth-protected-resource/mcp"`
	if diff := cmp.Diff(want, parse(t, smallest).FixedChallenge(staged, nil)); diff != "" {
		t.Errorf("behind a stage (-want +got):\n%s", diff)
	}
}

func TestFixedDenial(t *testing.T) {
	t.Parallel()
	const want = `Bearer error="insufficient_scope", ` +
		`resource_metadata="https://mcp.example.com/.well-known/oauth-protected-resource/mcp"`
	if got := authorization.FixedDenial("https://mcp.example.com/mcp"); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestExpand(t *testing.T) {
	t.Parallel()
	config := parse(t, `{"issuers":[{"issuer":"https://a.example"}],
		"scopeHierarchy":{"admin":["write"],"write":["read","log"],"read":["admin"]}}`)
	for _, test := range []struct{ granted, want []string }{
		{nil, nil},
		{[]string{"other"}, []string{"other"}},
		{[]string{"write"}, []string{"write", "read", "log", "admin"}},
		{[]string{"read", "x", "read"}, []string{"read", "x", "admin", "write", "log"}},
	} {
		if diff := cmp.Diff(test.want, config.Expand(test.granted)); diff != "" {
			t.Errorf("%v (-want +got):\n%s", test.granted, diff)
		}
	}
}

func TestParseResource(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"https://mcp.example.com/mcp", "https://x.execute-api.eu-west-1.amazonaws.com/prod/mcp",
		"http://127.0.0.1:3000/mcp",
	} {
		if got, err := authorization.ParseResource(text); err != nil || string(got) != text {
			t.Errorf("%s: got %q, %v", text, got, err)
		}
	}
	for _, text := range []string{
		"", "mcp.example.com/mcp", "https://mcp.example.com", "https://mcp.example.com/mcp/",
		"https://mcp.example.com/mcp?a=b", "https://mcp.example.com/mcp#x", "http://mcp.example.com/mcp",
		"https://MCP.example.com/mcp", "https://mcp.example.com/m'cp/mcp",
	} {
		if got, err := authorization.ParseResource(text); err == nil {
			t.Errorf("%q is taken: %q", text, got)
		}
	}
}

// The public addresses are below the endpoint's base, whether that is a domain or a stage.
func TestResourceAddresses(t *testing.T) {
	t.Parallel()
	const domain authorization.Resource = "https://mcp.example.com/mcp"
	if got := domain.MetadataURL(); got != "https://mcp.example.com/.well-known/oauth-protected-resource/mcp" {
		t.Errorf("metadata at %s", got)
	}
	if got := domain.FrontIssuer(); got != "https://mcp.example.com" {
		t.Errorf("front issuer %s", got)
	}
}
