// Package passthrough shows what of a caller reaches a tool: who it is, and nothing of the access token that told so.
// MCP forbids to hand a token on that was issued for the server ("token passthrough"; MCP 2026-07-28, security best
// practices), and what a tool does not get it cannot hand on.
package passthrough

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/google/go-cmp/cmp"

	"patchbay/dispatcher/endpoint"
	"patchbay/dispatcher/function"
	"patchbay/dispatcher/gateway"
	"patchbay/dispatcher/toolcall"
	"patchbay/shared/contract"
	"patchbay/shared/invoke"
	"patchbay/shared/principal"
	"patchbay/shared/registry"
	"patchbay/shared/tool"
)

// These are the parts of the caller's access token.
const (
	header    = "eyJhbGciOiJSUzI1NiJ9"
	payload   = "eyJzdWIiOiIyNDgyODk3NjEwMDEifQ"
	signature = "c2lnbmF0dXJlLW9mLXRoZS1jYWxsZXJzLXRva2Vu"
	token     = header + "." + payload + "." + signature
)

// caller is whom the authorizer found in it.
func caller() principal.Principal {
	return principal.Principal{
		Subject: "248289761001", Issuer: "https://login.example.com/", ClientID: "desktop-app",
		Scopes: []string{"units:read", "units:write"}, AuthTime: 1785312000, ACR: "urn:example:mfa", Tenant: "acme",
	}
}

// event is a call as API Gateway gives it to the dispatcher: with the request's own Authorization field, and with what
// the authorizer said. This one says more than it should.
func event(t *testing.T, accept, meta string) json.RawMessage {
	t.Helper()
	body := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"greet","arguments":{},"_meta":{` +
		`"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}` + meta +
		`}}}`
	fields := map[string][]string{
		"Authorization": {"Bearer " + token}, "Cookie": {"session=" + token}, "X-Forwarded-Access-Token": {token},
		"Content-Type": {"application/json"}, "Accept": {accept}, "MCP-Protocol-Version": {"2026-07-28"},
		"Mcp-Method": {"tools/call"}, "Mcp-Name": {"greet"}, "X-Amzn-Trace-Id": {"Root=1-6ae6f3cc-1f2e3d4c5b6a7988"},
	}
	single := map[string]string{}
	for name, values := range fields {
		single[name] = values[0]
	}
	encoded, err := json.Marshal(map[string]any{
		"httpMethod": "POST", "path": "/mcp", "body": body, "headers": single, "multiValueHeaders": fields,
		"requestContext": map[string]any{"requestId": "r-1", "authorizer": map[string]any{
			"principalId": token, "token": token, "subject": "248289761001", "issuer": "https://login.example.com/",
			"clientId": "desktop-app", "scopes": "units:read units:write", "authTime": "1785312000",
			"acr": "urn:example:mfa", "tenant": "acme",
		}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return encoded
}

// catalogue has one tool.
type catalogue struct{ entry *registry.Entry }

func (c catalogue) Lookup(context.Context, string) (*registry.Entry, error) { return c.entry, nil }
func (catalogue) Refresh(context.Context) error                             { return nil }
func (catalogue) Page(context.Context, string, registry.PageLimits, func(*registry.Entry) bool) (registry.Page, error) {
	return registry.Page{}, nil
}
func (c catalogue) Entries(context.Context) ([]*registry.Entry, error) {
	return []*registry.Entry{c.entry}, nil
}

func greet(t *testing.T, streaming bool) catalogue {
	t.Helper()
	rules := json.RawMessage(`{}`)
	if streaming {
		rules = json.RawMessage(`{"execution":{"streaming":true}}`)
	}
	decoded, err := contract.Decode(json.RawMessage(
		`{"name":"greet","description":"d","inputSchema":{"type":"object"}}`), rules)
	if err != nil {
		t.Fatal(err)
	}
	return catalogue{&registry.Entry{Tool: decoded, Function: "arn:aws:lambda:us-east-1:1:function:greet:1"}}
}

// dispatch gives the event to the dispatcher, and returns the whole request by which it invokes the tool's function,
// its payload, and what it has logged.
func dispatch(t *testing.T, tools catalogue, event json.RawMessage) (wire, body []byte, logged string) {
	t.Helper()
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var err error
		if wire, err = httputil.DumpRequest(r, true); err != nil {
			t.Error(err)
		}
		if body, err = io.ReadAll(r.Body); err != nil {
			t.Error(err)
		}
		w.Header().Set("X-Amzn-Errortype", "ResourceNotFoundException") // what a tool answers does not matter
		w.WriteHeader(http.StatusNotFound)
	}))
	defer api.Close()
	keys := credentials.NewStaticCredentialsProvider("id", "secret", "")
	functions := function.New(aws.Config{Region: "us-east-1", Credentials: keys}, func(o *lambda.Options) {
		o.BaseEndpoint = &api.URL
	})
	var lines bytes.Buffer
	log := slog.New(slog.NewJSONHandler(&lines, nil))
	info := json.RawMessage(`{"name":"s","version":"1"}`)
	handler := gateway.New(endpoint.New(endpoint.Config{
		ServerInfo: info, Catalogue: tools, Log: log,
		Caller: toolcall.New(toolcall.Config{Catalogue: tools, Functions: functions, ServerInfo: info, Log: log, Audit: log}),
		Facts: func(ctx context.Context) (endpoint.Facts, error) {
			who, err := gateway.Principal(ctx)
			return endpoint.Facts{RequestID: "r-1", Principal: who}, err
		},
	}), gateway.Options{Logger: log})
	answer, err := handler(t.Context(), event)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadAll(answer); err != nil {
		t.Fatal(err)
	}
	return wire, body, lines.String()
}

func TestNothingOfTheTokenReachesATool(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		streaming    bool
		accept, meta string
	}{
		"buffered": {false, "application/json, text/event-stream", ""},
		"streamed": {true, "application/json, text/event-stream", `,"progressToken":1`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			wire, body, logged := dispatch(t, greet(t, test.streaming), event(t, test.accept, test.meta))
			if len(body) == 0 || !strings.Contains(logged, `"tool":"greet"`) {
				t.Fatalf("the function was not invoked: %s", logged)
			}
			for _, part := range []string{token, header, payload, signature} {
				if bytes.Contains(wire, []byte(part)) {
					t.Errorf("the invocation has %q of the token:\n%s", part, wire)
				}
				if strings.Contains(logged, part) {
					t.Errorf("the log has %q of the token:\n%s", part, logged)
				}
			}
			var envelope struct {
				Principal map[string]any `json:"principal"`
			}
			if err := json.Unmarshal(body, &envelope); err != nil {
				t.Fatal(err)
			}
			// What a tool in any language reads, by the names that docs/envelope.md gives.
			want := map[string]any{
				"subject": "248289761001", "issuer": "https://login.example.com/", "clientId": "desktop-app",
				"scopes": []any{"units:read", "units:write"}, "authTime": 1785312000.0, "acr": "urn:example:mfa",
				"tenant": "acme",
			}
			if diff := cmp.Diff(want, envelope.Principal); diff != "" {
				t.Errorf("principal (-want +got):\n%s", diff)
			}
			checkGo(t, body)
		})
	}
}

// checkGo demands that a tool in Go sees the same caller.
func checkGo(t *testing.T, body []byte) {
	t.Helper()
	var got, known principal.Principal
	handler := tool.NewHandler(func(ctx context.Context, _ struct{}) (struct{}, error) {
		got = tool.CallFrom(ctx).Principal
		known, _ = tool.Caller(ctx)
		return struct{}{}, nil
	})
	handler.Log = slog.New(slog.DiscardHandler)
	var request invoke.Request
	if err := json.Unmarshal(body, &request); err != nil {
		t.Fatal(err)
	}
	request.Meta.Progress = false
	again, err := json.Marshal(request)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := handler.Invoke(t.Context(), again); err != nil {
		t.Fatal(err)
	}
	for _, seen := range []principal.Principal{got, known} {
		if diff := cmp.Diff(caller(), seen); diff != "" {
			t.Errorf("the principal of a tool in Go (-want +got):\n%s", diff)
		}
	}
}
