package decide_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"patchbay/dispatcher/authorizer/issuertest"
	"patchbay/shared/authorization"
)

// A good token is answered with one statement for the whole stage, and with the principal.
func TestAllowed(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	claims := with(f.claims(), "auth_time", now-60, "acr", "urn:mfa", "scope", "notes:write other")
	got, err := f.send(event(f.key.Sign(f.key.Header(), claims)))
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"subject": "u-1", "issuer": f.issuer.URL, "clientId": "c-1", "scopes": "notes:write other notes:read",
		"authTime": "1779999940", "acr": "urn:mfa",
	}
	if diff := cmp.Diff(want, got.Context); diff != "" {
		t.Errorf("context (-want +got):\n%s", diff)
	}
	statement := got.PolicyDocument.Statement[0]
	const stage = "arn:aws:execute-api:eu-west-1:123456789012:a1b2c3d4e5/prod/*"
	if got.effect() != "Allow" || statement.Resource[0] != stage || statement.Action[0] != "execute-api:Invoke" ||
		got.PolicyDocument.Version != "2012-10-17" {
		t.Errorf("got %+v", got.PolicyDocument)
	}
	if len(got.PrincipalID) != 32 || strings.Contains(got.PrincipalID, "u-1") {
		t.Errorf("principal id %q", got.PrincipalID)
	}
	logged := f.logged()
	wantLine := line{
		Level: "INFO", Msg: "authorization", Outcome: "allowed", RequestID: "r-1", Issuer: f.issuer.URL, ClientID: "c-1",
		Kid: "k",
	}
	if diff := cmp.Diff(wantLine, logged); diff != "" {
		t.Errorf("log (-want +got):\n%s", diff)
	}
	if counted := f.counts.take(); counted != "" {
		t.Errorf("counted %s", counted)
	}
}

// One caller always has one id, and another caller another.
func TestPrincipalID(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	ids := map[string]string{}
	for name, changes := range map[string][]any{
		"first": {}, "again": {"jti", "k", "client_id", "c-2"}, "other": {"sub", "u-2"}, "machine": {"sub", "c-1"},
	} {
		got, err := f.send(event(f.key.Sign(f.key.Header(), with(f.claims(), changes...))))
		if err != nil {
			t.Fatal(err)
		}
		ids[name] = got.PrincipalID
	}
	if ids["first"] != ids["again"] || ids["first"] == ids["other"] || ids["first"] == ids["machine"] {
		t.Errorf("got %v", ids)
	}
}

// What a token lacks for the tool that is called is a denial with the whole challenge, which names all that the tool
// needs.
func TestDenied(t *testing.T) {
	t.Parallel()
	const metadata = `resource_metadata="https://mcp.example.com/.well-known/oauth-protected-resource/mcp"`
	const scopeText = `error_description="The access token lacks a scope that this tool needs.", `
	const signInText = `error_description="This tool needs a more recent or a stronger sign-in.", `
	for _, test := range []struct {
		name, tool string
		changes    []any
		challenge  string
		scope      string
		missing    []string
	}{
		{"a scope", "notes_write", nil,
			`Bearer error="insufficient_scope", ` + scopeText + metadata + `, scope="notes:read notes:write"`,
			"notes:read notes:write", []string{"notes:write"}},
		{"a scope and a sign-in", "emails_send", nil,
			`Bearer error="insufficient_scope", ` + scopeText + metadata + `, scope="emails:send", max_age="900"`,
			"emails:send", []string{"emails:send"}},
		{"a scope, signed in", "emails_send", []any{"auth_time", now - 900},
			`Bearer error="insufficient_scope", ` + scopeText + metadata + `, scope="emails:send"`,
			"emails:send", []string{"emails:send"}},
		{"a sign-in", "emails_send", []any{"scope", "emails:send", "auth_time", now - 901},
			`Bearer error="insufficient_user_authentication", ` + signInText + metadata +
				`, scope="emails:send", max_age="900"`, "emails:send", nil},
		{"a sign-in that is not told", "emails_send", []any{"scope", "emails:send"},
			`Bearer error="insufficient_user_authentication", ` + signInText + metadata +
				`, scope="emails:send", max_age="900"`, "emails:send", nil},
		{"a class", "vault", []any{"auth_time", now, "acr", "urn:pwd"},
			`Bearer error="insufficient_user_authentication", ` + signInText + metadata +
				`, acr_values="urn:mfa", max_age="60"`, "", nil},
		{"by an encoded name", "=?base64?Z3LDvMOfZQ==?=", nil,
			`Bearer error="insufficient_scope", ` + scopeText + metadata + `, scope="admin"`, "admin", []string{"admin"}},
	} {
		f := newFixture(t)
		got, err := f.send(call(f.key.Sign(f.key.Header(), with(f.claims(), test.changes...)), test.tool))
		if err != nil {
			t.Errorf("%s: %v", test.name, err)
			continue
		}
		want := map[string]string{"challenge": test.challenge, "scope": test.scope}
		if diff := cmp.Diff(want, got.Context); got.effect() != "Deny" || diff != "" {
			t.Errorf("%s: %s (-want +got):\n%s", test.name, got.effect(), diff)
		}
		if l := f.logged(); l.Outcome != "denied" || l.Level != "INFO" || !cmp.Equal(l.Missing, test.missing) {
			t.Errorf("%s: logged %+v", test.name, l)
		}
		if !strings.Contains(f.counts.take(), `"Denied":1`) {
			t.Errorf("%s: not counted", test.name)
		}
	}
}

// The challenge asks as the token's issuer wants to be asked.
func TestDeniedWithAPrefix(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.trust(&authorization.Config{Issuers: []authorization.Issuer{
		{URL: "https://first.example"}, {URL: f.issuer.URL, ScopePrefix: "tools/"},
	}})
	claims := with(f.claims(), "scope", "tools/notes:read notes:write")
	got, err := f.send(call(f.key.Sign(f.key.Header(), claims), "notes_write"))
	if err != nil {
		t.Fatal(err)
	}
	if want := "tools/notes:read tools/notes:write"; got.Context["scope"] != want ||
		!strings.Contains(got.Context["challenge"], `scope="`+want+`"`) {
		t.Errorf("got %v", got.Context)
	}
}

// What the header does not tell, or the caller may not know of, the dispatcher answers.
func TestLeftToTheDispatcher(t *testing.T) {
	t.Parallel()
	change := func(name string, value any) func(object) {
		return func(e object) { e["multiValueHeaders"].(object)[name] = value }
	}
	for name, test := range map[string]struct {
		tool   string
		change func(object)
	}{
		"a tool for all":             {"greet", nil},
		"an unknown tool":            {"nothing", nil},
		"a tool of others":           {"admin", nil},
		"a forbidden tool":           {"gone", nil},
		"a name in another case":     {"Notes_Write", nil},
		"no name":                    {"", nil},
		"a huge name":                {strings.Repeat("n", 1025), nil},
		"a name that is not encoded": {"=?base64?%%%?=", nil},
		"two names":                  {"notes_write", change("Mcp-Name", []string{"greet"})},
		"another method":             {"notes_write", change("Mcp-Method", []string{"tools/list"})},
		"two methods":                {"notes_write", change("mcp-method", []string{"tools/list"})},
		"no method":                  {"notes_write", change("Mcp-Method", []string{})},
		"a GET":                      {"notes_write", func(e object) { e["httpMethod"] = http.MethodGet }},
	} {
		f := newFixture(t)
		e := call(f.good(), test.tool)
		if test.change != nil {
			test.change(e)
		}
		got, err := f.send(e)
		if err != nil || got.effect() != "Allow" {
			t.Errorf("%s: got %+v, %v", name, got, err)
		}
		if l := f.logged(); l.Outcome != "allowed" || l.Error != "" {
			t.Errorf("%s: logged %+v", name, l)
		}
	}
}

// A name that comes twice and is the same is a name.
func TestNameTwice(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	e := call(f.good(), "notes_write")
	e["multiValueHeaders"].(object)["mcp-name"] = []string{"notes_write", "notes_write"}
	if got, err := f.send(e); err != nil || got.effect() != "Deny" {
		t.Errorf("got %+v, %v", got, err)
	}
}

// Without the catalogue nothing is known of the tool here; the dispatcher looks again. Somebody has to know, though.
func TestCatalogueOutOfReach(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	got, err := f.send(call(f.good(), "unreadable"))
	if err != nil || got.effect() != "Allow" || got.Context["subject"] != "u-1" {
		t.Errorf("got %+v, %v", got, err)
	}
	if l := f.logged(); l.Outcome != "allowed" || l.Level != "ERROR" || l.Error == "" {
		t.Errorf("logged %+v", l)
	}
}

// arn makes an event for another method.
func arn(method any) func(*fixture) object {
	return func(f *fixture) object { return with(event(f.good()), "methodArn", method) }
}

// Trouble of our own is a plain error: no 401, no details, and a line for whoever has to look.
func TestOwnTrouble(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		spoil func(*fixture) object
		want  string
	}{
		"keys out of reach": {func(f *fixture) object {
			f.issuer.Break(http.NotFound)
			return event(f.good())
		}, "it answers 404"},
		"a panic":     {func(f *fixture) object { return call(f.good(), "panics") }, "a catalogue out of order"},
		"no ARN":      {arn(nil), "methodArn"},
		"half an ARN": {arn("arn:aws:x:y:z:api/prod"), "methodArn"},
		"a star":      {arn("*"), "methodArn"},
	} {
		f := newFixture(t)
		got, err := f.send(test.spoil(f))
		if err == nil || err.Error() != "the request could not be authorized" {
			t.Errorf("%s: got %+v, %v", name, got, err)
		}
		l := f.logged()
		if l.Outcome != "failed" || l.Level != "ERROR" || !strings.Contains(l.Error, test.want) || l.RequestID != "r-1" {
			t.Errorf("%s: logged %+v", name, l)
		}
		if !strings.Contains(f.counts.take(), `"AuthorizerErrors":1`) {
			t.Errorf("%s: not counted", name)
		}
	}
}

// While the issuer is down its tokens are taken, and what was forged is still refused.
func TestIssuerDown(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	if _, err := f.send(event(f.good())); err != nil {
		t.Fatal(err)
	}
	f.issuer.Break(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) })
	if got, err := f.send(event(f.good())); err != nil || got.effect() != "Allow" {
		t.Errorf("got %+v, %v", got, err)
	}
	forged := issuertest.OtherRSA(t, "new")
	if _, err := f.send(event(forged.Sign(forged.Header(), f.claims()))); err == nil || err.Error() != "Unauthorized" {
		t.Errorf("a token by a key that nobody knows: %v", err)
	}
}

// SAM's local API sends an event without multiValueHeaders; what is there counts.
func TestEventWithoutMultiValueHeaders(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	e := with(event(f.good()), "multiValueHeaders", nil)
	e["headers"].(object)["mcp-method"] = "tools/call"
	e["headers"].(object)["mcp-name"] = "notes_write"
	if got, err := f.send(e); err != nil || got.effect() != "Deny" {
		t.Errorf("got %+v, %v", got, err)
	}
}
