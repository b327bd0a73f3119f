package patchbaycdk

import (
	"slices"
	"testing"
)

// What is not wrong and hardly meant is told, and nothing else.
func TestAdvice(t *testing.T) {
	t.Parallel()
	s := newSources().
		tool("guarded", `{"permissions": ["a:b", "c"], "risk": "medium"}`).
		tool("fresh", `{"stepUp": {"maxAgeSeconds": 60}, "risk": "medium"}`).
		tool("gone", `{"permissions": ["a:b"], "risk": "forbidden"}`).
		tool("sample", `{"example": true, "function": {"secrets": ["token"], "environment": {"ADDRESS": "x"}}}`)
	for name, test := range map[string]struct {
		stage string
		want  []string
	}{
		"nothing to say": {`"secrets": {"token": {"secret": "t"}}, "environment": {"ADDRESS": "y"}`, nil},
		"anonymous": {`"anonymous": true`, []string{
			`stage "prod" is anonymous: everybody who reaches the endpoint may call its tools; "authorization" in ` +
				`patchbay.json asks for access tokens instead`,
			"functions/fresh/tool.json asks for a recent or strong sign-in, which nobody has on an anonymous server: fresh " +
				"is hidden there",
			"functions/guarded/tool.json asks for the permissions a:b, c, which nobody has on an anonymous server: guarded " +
				"is hidden there"}},
		"fronted": {guardedStage, nil},
		"not fronted": {`"authorization": {"issuers": [
				{"issuer": "` + cognitoIssuer + `", "provider": "cognito"}, {"issuer": "https://login.example.com"}]}`, []string{
			"MCP clients refuse to sign in at " + cognitoIssuer + ": Cognito registers no clients, and its metadata does not " +
				`say that it knows PKCE (code_challenge_methods_supported); a "front" in the authorization of stage "prod" ` +
				"leads them there, and programs with a client of their own need none"}},
		"the other one fronted": {`"authorization": {"issuers": [
				{"issuer": "https://login.example/00000000-0000-4000-8000-000000000000/v2.0", "provider": "entra"},
				{"issuer": "https://login.example.com"}],
				"front": {"issuer": "https://login.example.com", "clientId": "c", "redirectUris": ["https://a.example/cb"]}}`,
			[]string{"MCP clients refuse to sign in at https://login.example/00000000-0000-4000-8000-000000000000/v2.0: " +
				"Entra ID registers no clients, and its metadata " +
				`does not say that it knows PKCE (code_challenge_methods_supported); a "front" in the authorization of stage ` +
				`"prod" leads them there, and programs with a client of their own need none`}},
		"a front for Keycloak": {`"authorization": {"issuers": [
				{"issuer": "https://sso.example/realms/tools", "provider": "keycloak"}],
				"front": {"clientId": "c", "redirectUris": ["https://a.example/cb"]}}`,
			[]string{`the front of stage "prod" will not be served: Keycloak names itself in its answers, which clients ` +
				"compare (RFC 9207), and needs no front"}},
		"names that nobody has": {`"secrets": {"tokn": {"secret": "t"}}, "environment": {"PORT": "1"}`, []string{
			`stage "prod" sets "tokn" under "secrets", which no tool.json names (did you mean "token"?)`,
			`stage "prod" sets "PORT" under "environment", which no tool.json names`}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, err := s.load(parseStage(test.stage), false)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, advice := range slices.Concat(p.open(), p.hidden(), p.signIn(), p.unused()) {
				got = append(got, advice.text)
			}
			if !slices.Equal(got, test.want) {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

// An issuer that is written as its product never writes it would refuse every token.
func TestAdviceOnIssuers(t *testing.T) {
	t.Parallel()
	const tenant = "00000000-0000-4000-8000-000000000000"
	s := newSources().tool("any", `{}`)
	for _, test := range []struct {
		provider, issuer string
		usual            bool
	}{
		{"auth0", "https://acme.eu.auth0.com/", true},
		{"auth0", "https://acme.eu.auth0.com", false},
		{"cognito", cognitoIssuer, true},
		{"cognito", cognitoIssuer + "/", false},
		{"cognito", "https://acme.auth.eu-west-1.amazoncognito.com", false},
		{"entra", "https://login.microsoftonline.com/" + tenant + "/v2.0", true},
		{"entra", "https://sts.windows.net/" + tenant + "/", true},
		{"entra", "https://sts.windows.net/" + tenant, false},
		{"entra", "https://login.microsoftonline.com/common/v2.0", false},
		{"keycloak", "https://sso.example/auth/realms/tools", true},
		{"keycloak", "https://sso.example/realms/tools/", false},
		{"keycloak", "https://sso.example", false},
		{"okta", "https://acme.okta.com/oauth2/default", true},
		{"okta", "https://acme.okta.com", false},
		{"generic", "https://login.example.com/any/", true},
		{"generic", "https://login.example.com/.well-known/openid-configuration", false},
	} {
		p, err := s.load(parseStage(`"authorization": {"issuers": [
			{"issuer": "`+test.issuer+`", "provider": "`+test.provider+`"}]}`), false)
		if err != nil {
			t.Fatal(err)
		}
		if got := p.misspelt(); (len(got) == 0) != test.usual {
			t.Errorf("%s of %s: got %q", test.issuer, test.provider, got)
		}
	}
}

// A tool that hides itself from who lacks its scope is seen by nobody unless clients ask for that scope at first.
func TestAdviceOnHiddenTools(t *testing.T) {
	t.Parallel()
	s := newSources().
		tool("secret", `{"permissions": ["a", "b"], "visibility": "permitted", "risk": "medium"}`).
		tool("gone", `{"permissions": ["c"], "visibility": "permitted", "risk": "forbidden"}`)
	const want = `secret is seen only with the permissions b, which clients do not ask for when they sign in, and never ` +
		`after; name them under "initialScopes" in the authorization of stage "prod"`
	for more, want := range map[string][]string{
		`"initialScopes": ["a"]`:                                 {want},
		`"initialScopes": ["a", "b"]`:                            nil,
		`"initialScopes": ["a"], "scopeHierarchy": {"a": ["b"]}`: nil,
	} {
		p, err := s.load(parseStage(`"authorization": {
			"issuers": [{"issuer": "https://login.example.com"}], `+more+`}`), false)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, advice := range p.unasked() {
			got = append(got, advice.text)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: got %q, want %q", more, got, want)
		}
	}
}
