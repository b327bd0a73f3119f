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
				{"issuer": "https://sts.example", "provider": "entra"}, {"issuer": "https://login.example.com"}],
				"front": {"issuer": "https://login.example.com", "clientId": "c", "redirectUris": ["https://a.example/cb"]}}`,
			[]string{"MCP clients refuse to sign in at https://sts.example: Entra ID registers no clients, and its metadata " +
				`does not say that it knows PKCE (code_challenge_methods_supported); a "front" in the authorization of stage ` +
				`"prod" leads them there, and programs with a client of their own need none`}},
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
			for _, advice := range slices.Concat(p.open(), p.hidden(), p.refused(), p.unused()) {
				got = append(got, advice.text)
			}
			if !slices.Equal(got, test.want) {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}
