package localgateway

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/events"
	"github.com/google/go-cmp/cmp"
)

var callers = Principals{
	"ada-token": {
		Subject: "ada", Issuer: "https://a.example", ClientID: "app", Scopes: []string{"mail:read", "mail:send"},
		AuthTime: 1785240000, ACR: "mfa", Tenant: "t1",
	},
	"robot-token": {ClientID: "robot"},
}

func TestCallersAreKnownByTheirTokens(t *testing.T) {
	t.Parallel()
	server := start(t, Options{Principals: callers})
	ada := map[string]any{
		"principalId": "17:https://a.example:sub:ada", "subject": "ada", "issuer": "https://a.example", "clientId": "app",
		"scopes": "mail:read mail:send", "authTime": "1785240000", "acr": "mfa", "tenant": "t1",
	}
	robot := map[string]any{"principalId": "0::client:robot", "clientId": "robot"}
	for name, test := range map[string]struct {
		authorization []string
		want          map[string]any // nil: refused
	}{
		"everything that is known":  {[]string{"Bearer ada-token"}, ada},
		"a client without a user":   {[]string{"Bearer robot-token"}, robot},
		"small letters":             {[]string{"bearer ada-token"}, ada},
		"no field":                  {nil, nil},
		"unknown":                   {[]string{"Bearer eve-token"}, nil},
		"other case of the token":   {[]string{"Bearer ADA-TOKEN"}, nil},
		"no token":                  {[]string{"Bearer"}, nil},
		"empty token":               {[]string{"Bearer "}, nil},
		"two spaces":                {[]string{"Bearer  ada-token"}, nil},
		"more behind it":            {[]string{"Bearer ada-token x"}, nil},
		"another scheme":            {[]string{"Basic ada-token"}, nil},
		"no scheme":                 {[]string{"ada-token"}, nil},
		"two fields":                {[]string{"Bearer ada-token", "Bearer robot-token"}, nil},
		"the same field twice":      {[]string{"Bearer ada-token", "Bearer ada-token"}, nil},
		"two tokens in one field":   {[]string{"Bearer ada-token, Bearer robot-token"}, nil},
		"a scheme behind the other": {[]string{"Basic x", "Bearer ada-token"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := request(t, server, "event", "{}")
			r.Header["Authorization"] = test.authorization
			response := do(t, r)
			if test.want == nil {
				checkUnauthorized(t, response)
				return
			}
			var event events.APIGatewayProxyRequest
			if err := json.Unmarshal([]byte(readAll(t, response)), &event); err != nil {
				t.Fatal(err)
			}
			if latency, is := event.RequestContext.Authorizer["integrationLatency"].(float64); !is || latency < 0 {
				t.Errorf("no integrationLatency in %v", event.RequestContext.Authorizer)
			}
			delete(event.RequestContext.Authorizer, "integrationLatency")
			if diff := cmp.Diff(test.want, event.RequestContext.Authorizer); diff != "" {
				t.Errorf("authorizer (-want +got):\n%s", diff)
			}
		})
	}
}

func checkUnauthorized(t *testing.T, response *http.Response) {
	t.Helper()
	checkRefused(t, response, unauthorized, 401)
	if challenge := response.Header.Get("WWW-Authenticate"); challenge != "Bearer" {
		t.Errorf("WWW-Authenticate %q", challenge)
	}
}

// Without principals everybody is let in as nobody, whatever they say; with an empty list nobody is.
func TestNoPrincipals(t *testing.T) {
	t.Parallel()
	r := request(t, start(t, Options{}), "event", "")
	r.Header.Set("Authorization", "Bearer ada-token")
	if body := readAll(t, do(t, r)); strings.Contains(body, `"authorizer"`) {
		t.Errorf("event %s", body)
	}
	r = request(t, start(t, Options{Principals: Principals{}}), "event", "")
	r.Header.Set("Authorization", "Bearer ada-token")
	checkUnauthorized(t, do(t, r))
}

func TestReadPrincipals(t *testing.T) {
	t.Parallel()
	written, err := json.Marshal(callers)
	if err != nil {
		t.Fatal(err)
	}
	got, err := ReadPrincipals(file(t, string(written)))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(callers, got); diff != "" {
		t.Errorf("principals (-want +got):\n%s", diff)
	}
	if got, err := ReadPrincipals(file(t, " {} ")); got == nil || len(got) > 0 || err != nil {
		t.Errorf("an empty object is %v, %v", got, err)
	}
}

func TestReadPrincipalsErrors(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ content, want string }{
		"empty":           {"", "EOF; it must be {\"<bearer token>\": {"},
		"null":            {"null", "it is null; it must be"},
		"list":            {"[]", "cannot unmarshal array"},
		"no JSON":         {"token: ada", "invalid character"},
		"more":            {`{} {}`, "something follows the object"},
		"rubbish behind":  {`{} x`, "something follows the object"},
		"unknown member":  {`{"t": {"sub": "ada"}}`, `unknown field "sub"`},
		"scopes as text":  {`{"t": {"subject": "ada", "scopes": "a b"}}`, "cannot unmarshal string"},
		"empty token":     {`{"": {"subject": "ada"}}`, `the bearer token "" is empty or has spaces`},
		"space in it":     {`{"a b": {"subject": "ada"}}`, `the bearer token "a b" is empty or has spaces`},
		"nobody":          {`{"t": {}}`, `"t" names nobody; a caller has a subject or a clientId`},
		"only an issuer":  {`{"t": {"issuer": "https://a.example"}}`, `"t" names nobody`},
		"scope of two":    {`{"t": {"subject": "ada", "scopes": ["a b"]}}`, `the scope "a b"`},
		"scope of none":   {`{"t": {"subject": "ada", "scopes": [""]}}`, `the scope ""`},
		"one of them bad": {`{"t": {"subject": "ada"}, "u": {}}`, `"u" names nobody`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := file(t, test.content)
			got, err := ReadPrincipals(path)
			if got != nil || err == nil || !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), path) {
				t.Errorf("got %v, error %v; want one that names the file and says %s", got, err, test.want)
			}
		})
	}
	if _, err := ReadPrincipals("/nowhere.json"); err == nil || !strings.Contains(err.Error(), "/nowhere.json") {
		t.Errorf("a file that is not there: %v", err)
	}
}

func file(t *testing.T, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "principals.json")
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
