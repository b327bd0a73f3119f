package localgateway

import (
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/google/go-cmp/cmp"

	"patchbay/shared/gatewayresponse"
)

const (
	metadata  = `resource_metadata="https://tools.example/.well-known/oauth-protected-resource/mcp"`
	challenge = `Bearer ` + metadata + `, scope="mail:read"`
)

// challenging are the responses of an API whose authorizer computes challenges.
var challenging = gatewayresponse.Options{Challenge: challenge, Computed: true, CrossOrigin: true}

// startJudged serves an API with the authorizer testdata/judge.
func startJudged(t *testing.T, options Options) *httptest.Server {
	t.Helper()
	if options.AuthorizerARN == "" {
		options.AuthorizerARN = judge
	}
	if options.Responses == (gatewayresponse.Options{}) {
		options.Responses = challenging
	}
	return start(t, options)
}

// judged sends a request for which the authorizer does what the header says.
func judged(t *testing.T, server *httptest.Server, does, how string) *http.Response {
	t.Helper()
	r := request(t, server, "event", "{}")
	if does != "" {
		r.Header.Set("Judge-"+does, how)
	}
	return do(t, r)
}

// output is an authorizer's output with one statement and a context, both JSON.
func output(statement, context string) string {
	return `{"principalId":"p","policyDocument":{"Version":"2012-10-17","Statement":[` + statement + `]},"context":` +
		context + `}`
}

const (
	api   = "arn:aws:execute-api:us-east-1:000000000000:localapi00"
	allow = `{"Effect":"Allow","Action":"execute-api:Invoke","Resource":"` + api + `/local/*"}`
	deny  = `{"Effect":"Deny","Action":"execute-api:Invoke","Resource":"` + api + `/local/*"}`
)

// What AWS shows an authorizer: the members of its documented event, with the request of the proxy event in them.
func TestAuthorizerEvent(t *testing.T) {
	t.Parallel()
	server := startJudged(t, Options{})
	r := request(t, server, "event", `{"secret":"in the body"}`)
	r.URL.RawQuery = "access_token=a&a=1&a=2"
	r.Header["Authorization"] = []string{"Bearer one", "Bearer two"}
	r.Header.Set("Mcp-Name", "send_mail")
	r.Header.Set("Judge-Lets", "in")
	var proxy events.APIGatewayProxyRequest
	response := do(t, r)
	if err := json.Unmarshal([]byte(readAll(t, response)), &proxy); err != nil {
		t.Fatal(err)
	}
	caller := proxy.RequestContext.Authorizer
	raw, _ := caller["event"].(string)
	var got events.APIGatewayCustomAuthorizerRequestTypeRequest
	if err := json.Unmarshal([]byte(raw), &got); err != nil {
		t.Fatalf("%v in %v", err, caller)
	}
	checkMembers(t, raw)
	if got.Type != "REQUEST" || got.MethodArn != api+"/local/POST/mcp" || got.Resource != "/mcp" || got.Path != "/mcp" ||
		got.HTTPMethod != "POST" {
		t.Errorf("event %s", raw)
	}
	if diff := cmp.Diff(proxy.MultiValueHeaders, got.MultiValueHeaders); diff != "" {
		t.Errorf("multiValueHeaders (-function +authorizer):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"Bearer one", "Bearer two"}, got.MultiValueHeaders["Authorization"]); diff != "" {
		t.Errorf("Authorization (-want +got):\n%s", diff)
	}
	if got.Headers["Authorization"] != "Bearer two" || got.QueryStringParameters["access_token"] != "a" ||
		len(got.MultiValueQueryStringParameters["a"]) != 2 {
		t.Errorf("event %s", raw)
	}
	c := got.RequestContext
	if c.RequestID != response.Header.Get("X-Amzn-Requestid") || c.Stage != "local" || c.HTTPMethod != "POST" ||
		c.ResourcePath != "/mcp" || c.Identity.SourceIP != "127.0.0.1" || c.Path != "/local/mcp" {
		t.Errorf("requestContext %+v", c)
	}
	if strings.Contains(raw, "in the body") {
		t.Error("the authorizer sees the body")
	}
	if caller["principalId"] != "somebody" {
		t.Errorf("authorizer %v", caller)
	}
}

// checkMembers compares with the documented event's members, where empty ones are objects.
func checkMembers(t *testing.T, raw string) {
	t.Helper()
	var members map[string]json.RawMessage
	if err := json.Unmarshal([]byte(raw), &members); err != nil {
		t.Fatal(err)
	}
	want := []string{
		"headers", "httpMethod", "methodArn", "multiValueHeaders", "multiValueQueryStringParameters", "path",
		"pathParameters", "queryStringParameters", "requestContext", "resource", "stageVariables", "type",
	}
	if diff := cmp.Diff(want, slices.Sorted(maps.Keys(members))); diff != "" {
		t.Errorf("members (-want +got):\n%s", diff)
	}
	if string(members["pathParameters"]) != "{}" || string(members["stageVariables"]) != "{}" {
		t.Errorf("pathParameters %s, stageVariables %s", members["pathParameters"], members["stageVariables"])
	}
}

// Every way in which an authorizer can say no, or nothing that means yes.
func TestAuthorizerRefuses(t *testing.T) {
	t.Parallel()
	server := startJudged(t, Options{})
	for name, test := range map[string]struct {
		does, how string
		want      refusal
		status    int
	}{
		"no token":           {"", "", unauthorized, 401},
		"the one text":       {"Fails", "Unauthorized", unauthorized, 401},
		"small letter":       {"Fails", "unauthorized", authorizerFailed, 503},
		"a stop behind it":   {"Fails", "Unauthorized.", authorizerFailed, 503},
		"a reason behind it": {"Fails", "Unauthorized: expired", authorizerFailed, 503},
		"another failure":    {"Fails", "keys unreachable", authorizerFailed, 503},
		"it crashes":         {"Exits", "", authorizerFailed, 503},
		"denied":             {"Returns", output(deny, `{}`), accessDenied, 403},
		"denied and allowed": {"Returns", output(allow+","+deny, `{}`), accessDenied, 403},
		"no statement":       {"Returns", output("", `{}`), accessDenied, 403},
		"another method":     {"Returns", output(allowed("/local/GET/mcp"), `{}`), accessDenied, 403},
		"another path":       {"Returns", output(allowed("/local/POST/mcpx"), `{}`), accessDenied, 403},
		"another stage":      {"Returns", output(allowed("/prod/*"), `{}`), accessDenied, 403},
		"another action":     {"Returns", output(strings.Replace(allow, "Invoke", "Manage", 1), `{}`), accessDenied, 403},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			response := judged(t, server, test.does, test.how)
			checkRefusedStatus(t, response, test.want, test.status)
		})
	}
}

// Outputs that API Gateway does not understand let nobody in, whatever else they say.
func TestAuthorizerOutputsThatAreNone(t *testing.T) {
	t.Parallel()
	server := startJudged(t, Options{})
	for name, output := range map[string]string{
		"null":                        `null`,
		"a text":                      `"Allow"`,
		"no policy":                   without("policyDocument"),
		"null for a policy":           with("policyDocument", `null`),
		"no statements":               with("policyDocument", `{"Version":"2012-10-17"}`),
		"no principal":                without("principalId"),
		"principal of no text":        with("principalId", `1`),
		"empty principal":             with("principalId", `""`),
		"another member":              with("challenge", `"x"`),
		"members of another case":     strings.Replace(output(allow, `{}`), "principalId", "PrincipalId", 1),
		"an effect of another case":   output(strings.Replace(allow, "Allow", "allow", 1), `{}`),
		"no effect":                   output(`{"Action":"*","Resource":"*"}`, `{}`),
		"no action":                   output(`{"Effect":"Allow","Resource":"*"}`, `{}`),
		"no resource":                 output(`{"Effect":"Allow","Action":"*"}`, `{}`),
		"no resource in its list":     output(`{"Effect":"Allow","Action":"*","Resource":[]}`, `{}`),
		"null for a resource":         output(`{"Effect":"Allow","Action":"*","Resource":null}`, `{}`),
		"a condition":                 output(`{"Effect":"Allow","Action":"*","Resource":"*","Condition":{}}`, `{}`),
		"a resource that is too long": output(allow+","+allowed(strings.Repeat("x", 513-len(api))), `{}`),
		"another version":             strings.Replace(output(allow, `{}`), "2012", "2013", 1),
		"a list in the context":       output(allow, `{"scopes":["a"]}`),
		"an object in the context":    output(allow, `{"who":{"name":"ada"}}`),
		"null in the context":         output(allow, `{"acr":null}`),
		"a context of no object":      output(allow, `[]`),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			checkRefusedStatus(t, judged(t, server, "Returns", output), authorizerMisconfigured, 503)
		})
	}
}

func allowed(path string) string { return strings.Replace(allow, "/local/*", path, 1) }

// with is an output that would let the caller in, with one more member, or another value of one.
func with(name, value string) string {
	members := map[string]json.RawMessage{}
	if err := json.Unmarshal([]byte(output(allow, `{}`)), &members); err != nil {
		panic(err)
	}
	members[name] = json.RawMessage(value)
	if value == "" {
		delete(members, name)
	}
	encoded, err := json.Marshal(members)
	if err != nil {
		panic(err)
	}
	return string(encoded)
}

func without(name string) string { return with(name, "") }

// checkRefusedStatus checks an answer of the gateway's own, and that it has a challenge where a client needs one.
func checkRefusedStatus(t *testing.T, response *http.Response, want refusal, status int) {
	t.Helper()
	got, kind := response.Header.Get("WWW-Authenticate"), response.Header.Get("X-Amzn-Errortype")
	if status == http.StatusForbidden { // nothing in these tests' contexts has a challenge
		if response.StatusCode != status || kind != want.kind || got != "" {
			t.Errorf("%d %s with WWW-Authenticate %q: %s", response.StatusCode, kind, got, readAll(t, response))
		}
		return
	}
	checkRefusedBy(t, response, challenging, want, status)
	if (status == http.StatusUnauthorized) != (got == challenge) {
		t.Errorf("%d with WWW-Authenticate %q", status, got)
	}
}

// What lets a caller in, and what the function gets to know of one: texts, whatever they were.
func TestAuthorizerLetsIn(t *testing.T) {
	t.Parallel()
	server := startJudged(t, Options{})
	for name, output := range map[string]string{
		"the method itself": output(allowed("/local/POST/mcp"), `{}`),
		"lists": output(`{"Effect":"Allow","Action":["x:y","execute-api:*"],"Resource":["a","`+api+`/*/POST/mcp"]}`,
			`{}`),
		"a resource as long as may be": output(allow+","+allowed(strings.Repeat("x", 512-len(api))), `{}`),
		"any letter":                   output(allowed("/local/P?ST/mcp"), `{}`),
		"everything":                   output(`{"Effect":"Allow","Action":"*","Resource":"*"}`, `{}`),
		"an action of no case":         output(strings.Replace(allow, "Invoke", "INVOKE", 1), `{}`),
		"a denial of other":            output(allow+","+strings.Replace(deny, "/local/*", "/local/GET/*", 1), `{}`),
		"one statement, no list":       `{"principalId":"p","policyDocument":{"Statement":` + allow + `}}`,
		"no context":                   without("context"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if response := judged(t, server, "Returns", output); response.StatusCode != http.StatusOK {
				t.Errorf("%d %s", response.StatusCode, readAll(t, response))
			}
		})
	}
	t.Run("with its context", func(t *testing.T) {
		t.Parallel()
		context := `{"subject":"ada ü","authTime":1785240000,"share":1.50,"robot":false,"principalId":"forged"}`
		body := readAll(t, judged(t, server, "Returns", output(allow, context)))
		var event events.APIGatewayProxyRequest
		if err := json.Unmarshal([]byte(body), &event); err != nil {
			t.Fatalf("%v in %s", err, body)
		}
		got := event.RequestContext.Authorizer
		if _, is := got["integrationLatency"].(float64); !is {
			t.Errorf("integrationLatency is %v", got["integrationLatency"])
		}
		delete(got, "integrationLatency")
		want := map[string]any{
			"subject": "ada ü", "authTime": "1785240000", "share": "1.50", "robot": "false", "principalId": "p",
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("authorizer (-want +got):\n%s", diff)
		}
	})
}

// A denial's context becomes the challenge, quotes and all, and the body names the scopes.
func TestComputedChallenge(t *testing.T) {
	t.Parallel()
	computed := `Bearer error="insufficient_scope", ` + metadata + `, scope="mail:read mail:send", max_age="900"`
	given, err := json.Marshal(map[string]string{"challenge": computed, "scope": "mail:read mail:send"})
	if err != nil {
		t.Fatal(err)
	}
	const fixed = `Bearer error="insufficient_scope", ` + metadata
	for name, test := range map[string]struct {
		responses    gatewayresponse.Options
		context      string
		want, scopes string
	}{
		"computed":         {challenging, string(given), computed, "mail:read mail:send"},
		"without context":  {challenging, `{}`, "", ""},
		"empty challenge":  {challenging, `{"challenge":""}`, "", ""},
		"fixed":            {gatewayresponse.Options{Challenge: challenge, Denied: fixed}, string(given), fixed, ""},
		"fixed, no values": {gatewayresponse.Options{Challenge: challenge, Denied: fixed}, `{}`, fixed, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := startJudged(t, Options{Responses: test.responses})
			response := judged(t, server, "Returns", output(deny, test.context))
			got := response.Header.Get("WWW-Authenticate")
			if got != test.want || response.StatusCode != http.StatusForbidden {
				t.Errorf("%d with WWW-Authenticate %s; want %s", response.StatusCode, got, test.want)
			}
			_, has := response.Header["Www-Authenticate"]
			if !strings.Contains(test.context, "challenge") && test.want == "" && has {
				t.Error("a field without a value is there")
			}
			var body struct {
				Error struct {
					Data struct{ RequestID, Scope string }
				}
			}
			if err := json.Unmarshal([]byte(readAll(t, response)), &body); err != nil {
				t.Fatal(err)
			}
			said := body.Error.Data
			if said.RequestID != response.Header.Get("X-Amzn-Requestid") || said.Scope != test.scopes {
				t.Errorf("the body says %+v", said)
			}
		})
	}
}

// The fault and the cure side by side: a challenge that the function sends arrives under a name that no client reads,
// and that of a gateway response under its own.
func TestOnlyTheGatewayCanChallenge(t *testing.T) {
	t.Parallel()
	server := startJudged(t, Options{})
	r := request(t, server, "answer",
		`{"status":401,"header":{"WWW-Authenticate":["Bearer of=\"the function\""]},"body":"{}"}`)
	r.Header.Set("Judge-Lets", "in")
	spoilt, whole := do(t, r), judged(t, server, "", "")
	for _, response := range []*http.Response{spoilt, whole} {
		if response.StatusCode != http.StatusUnauthorized {
			t.Errorf("status %d", response.StatusCode)
		}
	}
	if got := spoilt.Header.Get("WWW-Authenticate"); got != "" {
		t.Errorf("the function's challenge arrives: %s", got)
	}
	if got := spoilt.Header.Get("X-Amzn-Remapped-Www-Authenticate"); got != `Bearer of="the function"` {
		t.Errorf("the function's challenge was renamed to %q", got)
	}
	if got := whole.Header.Get("WWW-Authenticate"); got != challenge {
		t.Errorf("the gateway's challenge is %q", got)
	}
}

// A client finds out by GET, too; a browser asks by OPTIONS before it sends a token.
func TestMethods(t *testing.T) {
	t.Parallel()
	server := startJudged(t, Options{})
	for _, test := range []struct {
		method, override string
		status           int
		seen             string // by the function; empty when it must not see the request
	}{
		{"GET", "", 401, ""},
		{"DELETE", "", 401, ""},
		{"PUT", "", 401, ""},
		{"OPTIONS", "", 200, "OPTIONS"},
		// Whoever says that a POST is an OPTIONS passes the authorizer, and is an OPTIONS for the function, too.
		{"POST", "OPTIONS", 200, "OPTIONS"},
		{"OPTIONS", "POST", 401, ""},
		{"POST", "options", 401, ""},
	} {
		r := request(t, server, "event", "")
		r.Method = test.method
		if test.override != "" {
			r.Header.Set("X-HTTP-Method-Override", test.override)
		}
		response := do(t, r)
		if response.StatusCode != test.status {
			t.Errorf("%s %s: %d", test.method, test.override, response.StatusCode)
		}
		if test.seen == "" {
			if got := response.Header.Get("WWW-Authenticate"); got != challenge {
				t.Errorf("%s %s: WWW-Authenticate %q", test.method, test.override, got)
			}
			continue
		}
		if body := readAll(t, response); !strings.Contains(body, `"httpMethod":"`+test.seen+`"`) ||
			strings.Contains(body, `"authorizer"`) {
			t.Errorf("%s %s: the function sees %s", test.method, test.override, body)
		}
	}
}

func TestRoutes(t *testing.T) {
	t.Parallel()
	server := startJudged(t, Options{Routes: []Route{
		{Path: "/mcp"}, {Method: "OPTIONS", Path: "/mcp", Open: true},
		{Path: "/.well-known/x", Open: true}, {Method: "POST", Path: "/register", Open: true},
	}})
	for _, test := range []struct {
		method, path string
		status       int
	}{
		{"POST", "/mcp", 401},
		{"OPTIONS", "/mcp", 200},
		{"GET", "/.well-known/x", 200},
		{"OPTIONS", "/.well-known/x", 200},
		{"POST", "/register", 200},
		{"GET", "/register", 404},
		{"GET", "/.well-known/x/", 404},
		{"GET", "/.well-known/X", 404},
		{"GET", "/", 404},
		{"POST", "/mcp/", 404},
	} {
		r := request(t, server, "event", "")
		r.Method, r.URL.Path = test.method, test.path
		response := do(t, r)
		body := readAll(t, response)
		if response.StatusCode != test.status {
			t.Errorf("%s %s: %d, want %d", test.method, test.path, response.StatusCode, test.status)
		}
		if test.status == http.StatusOK && !strings.Contains(body, `"resource":"`+test.path+`"`) {
			t.Errorf("%s %s: %s", test.method, test.path, body)
		}
	}
}

// A web page reads why it was refused, and the challenge.
func TestWebPagesReadRefusals(t *testing.T) {
	t.Parallel()
	r := request(t, startJudged(t, Options{}), "event", "")
	r.Header.Set("Origin", "https://app.example")
	header := do(t, r).Header
	if header.Get("Access-Control-Allow-Origin") != "*" ||
		!strings.Contains(header.Get("Access-Control-Expose-Headers"), "WWW-Authenticate") {
		t.Errorf("header %v", header)
	}
}

// No result is kept: the same token may do one thing and not another.
func TestEveryRequestIsJudged(t *testing.T) {
	t.Parallel()
	server := startJudged(t, Options{})
	for _, test := range []struct {
		does   string
		status int
	}{{"Lets", 200}, {"", 401}, {"Lets", 200}} {
		r := request(t, server, "event", "{}")
		r.Header.Set("Authorization", "Bearer the-same")
		if test.does != "" {
			r.Header.Set("Judge-"+test.does, "in")
		}
		if response := do(t, r); response.StatusCode != test.status {
			t.Errorf("%s: %d", test.does, response.StatusCode)
		}
	}
}

func TestAuthorizerThatCannotBeCalled(t *testing.T) {
	t.Parallel()
	response := judged(t, startJudged(t, Options{AuthorizerARN: "nobody:1"}), "Lets", "in")
	checkRefusedStatus(t, response, authorizerMisconfigured, 503)
}

func TestAuthorizerThatTakesTooLong(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	server := startJudged(t, Options{AuthorizerTimeout: 100 * time.Millisecond})
	r := request(t, server, "event", "{}")
	r.Header.Set("Judge-Waits", dir)
	r.Header.Set("Judge-Lets", "in")
	checkRefusedStatus(t, do(t, r), authorizerFailed, 503)
	touch(t, dir)
}

// The limits of the front door hold before anybody is asked.
func TestLimitsComeBeforeTheAuthorizer(t *testing.T) {
	t.Parallel()
	server := startJudged(t, Options{Rate: 1e-6, Burst: 1})
	r := request(t, server, "event", "")
	r.Header.Set("X-Long", strings.Repeat("x", maxHeader))
	if response := do(t, r); response.StatusCode != headerTooLong.status {
		t.Errorf("a header that is too long: %d", response.StatusCode)
	}
	checkRefusedBy(t, judged(t, server, "", ""), challenging, throttled, 429)
}
