package decide_test

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/lambda"

	"patchbay/dispatcher/authorizer/decide"
	"patchbay/dispatcher/authorizer/issuertest"
	"patchbay/dispatcher/authorizer/jwks"
	"patchbay/dispatcher/authorizer/token"
	"patchbay/dispatcher/metrics"
	"patchbay/shared/authorization"
	"patchbay/shared/contract"
	"patchbay/shared/registry"
)

const (
	resource authorization.Resource = "https://mcp.example.com/mcp"
	// now is the clock of all tests, in seconds.
	now       = 1_780_000_000
	methodARN = "arn:aws:execute-api:eu-west-1:123456789012:a1b2c3d4e5/prod/POST/mcp"
)

type object = map[string]any

func with(members object, changes ...any) object { return issuertest.With(members, changes...) }

// catalogue has tools in memory.
type catalogue map[string]*contract.Tool

// Lookup finds a tool, or fails as the registry does.
func (c catalogue) Lookup(_ context.Context, name string) (*registry.Entry, error) {
	switch tool, ok := c[name]; {
	case name == "unreadable":
		return nil, context.DeadlineExceeded
	case name == "panics":
		panic("a catalogue out of order")
	case !ok:
		return nil, registry.ErrUnknownTool
	default:
		return &registry.Entry{Tool: tool}, nil
	}
}

func tools() catalogue {
	all := catalogue{}
	for name, rules := range map[string]contract.Contract{
		"greet":       {},
		"emails_send": {Permissions: []string{"emails:send"}, StepUp: &contract.StepUp{MaxAgeSeconds: 900}},
		"notes_write": {Permissions: []string{"notes:read", "notes:write"}},
		"admin":       {Permissions: []string{"admin"}, Visibility: contract.VisibilityPermitted},
		"gone":        {Permissions: []string{"admin"}, Risk: contract.RiskForbidden},
		"vault":       {StepUp: &contract.StepUp{ACR: "urn:mfa", MaxAgeSeconds: 60}},
		"grüße":       {Permissions: []string{"admin"}},
	} {
		if rules.Visibility == "" {
			rules.Visibility = contract.VisibilityAlways
		}
		all[name] = &contract.Tool{Name: name, Contract: rules}
	}
	return all
}

// fixture is an authorizer as Lambda runs it, which trusts an issuer on a real server.
type fixture struct {
	testing.TB
	issuer  *issuertest.Issuer
	key     *issuertest.Key
	handler lambda.Handler
	log     safeBuffer
	counts  safeBuffer
}

// safeBuffer is a buffer that several requests write to.
type safeBuffer struct {
	mu     sync.Mutex
	buffer bytes.Buffer
}

func (b *safeBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buffer.Write(p)
}

// take returns what was written, and forgets it.
func (b *safeBuffer) take() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	defer b.buffer.Reset()
	return b.buffer.String()
}

func newFixture(tb testing.TB, keys ...*issuertest.Key) *fixture {
	tb.Helper()
	f := &fixture{TB: tb, key: issuertest.RSA(tb, "k")}
	f.issuer = issuertest.New(tb, append([]*issuertest.Key{f.key}, keys...)...)
	f.trust(&authorization.Config{
		Issuers:        []authorization.Issuer{{URL: f.issuer.URL, Algorithms: []string{"RS256", "ES256"}}},
		ScopeHierarchy: map[string][]string{"notes": {"notes:write"}, "notes:write": {"notes:read"}},
	})
	return f
}

// trust makes the authorizer one of another configuration.
func (f *fixture) trust(config *authorization.Config) {
	f.Helper()
	if err := config.Complete(); err != nil {
		f.Fatal(err)
	}
	clock := func() time.Time { return time.Unix(now, 0) }
	f.handler = lambda.NewHandler(decide.New(decide.Config{
		Verifier: token.New(config, token.Options{
			Resource: resource, Now: clock,
			Keys: func(i *authorization.Issuer) token.Keys { return jwks.New(i, jwks.Options{}) },
		}),
		Catalogue: tools(), Resource: resource, Now: clock,
		Log:     slog.New(slog.NewJSONHandler(&f.log, nil)),
		Metrics: metrics.New(&f.counts, metrics.Options{Namespace: "Patchbay", Deployment: "desk-prod"}),
	}).Decide)
}

// claims are those of a good token for a person.
func (f *fixture) claims() object {
	return object{
		"iss": f.issuer.URL, "sub": "u-1", "client_id": "c-1", "aud": string(resource), "exp": now + 300, "iat": now,
		"jti": "j", "scope": "notes:read",
	}
}

// good is a token that gets in.
func (f *fixture) good() string { return f.key.Sign(f.key.Header(), f.claims()) }

// event is what API Gateway sends for a request with a token.
func event(text string) object {
	return object{
		"type": "REQUEST", "methodArn": methodARN, "resource": "/mcp", "path": "/mcp", "httpMethod": "POST",
		"headers":           object{"Authorization": "Bearer " + text, "Host": "mcp.example.com"},
		"multiValueHeaders": object{"Authorization": []string{"Bearer " + text}, "Host": []string{"mcp.example.com"}},
		"requestContext":    object{"requestId": "r-1", "stage": "prod"},
	}
}

// call is the event of a tools/call.
func call(text, tool string) object {
	e := event(text)
	fields := e["multiValueHeaders"].(object)
	fields["Mcp-Method"], fields["mcp-name"] = []string{"tools/call"}, []string{tool}
	return e
}

// send returns what API Gateway gets: a policy, or an error.
func (f *fixture) send(e object) (policy, error) {
	f.Helper()
	raw, err := json.Marshal(e)
	if err != nil {
		f.Fatal(err)
	}
	answer, err := f.handler.Invoke(f.Context(), raw)
	if err != nil {
		return policy{}, err
	}
	var got policy
	if err := json.Unmarshal(answer, &got); err != nil {
		f.Fatalf("%s: %v", answer, err)
	}
	return got, nil
}

// policy is an answer, by the names that API Gateway reads.
type policy struct {
	PrincipalID    string `json:"principalId"`
	PolicyDocument struct {
		Version   string
		Statement []struct {
			Action, Resource []string
			Effect           string
		}
	} `json:"policyDocument"`
	Context map[string]string `json:"context"`
}

func (p policy) effect() string {
	if len(p.PolicyDocument.Statement) != 1 {
		return ""
	}
	return p.PolicyDocument.Statement[0].Effect
}

// line is a line of the log.
type line struct {
	Level, Msg, Outcome, Reason, RequestID, Issuer, ClientID, Kid, Tool, Error string
	Missing                                                                    []string
}

// logged returns the one line that a decision left.
func (f *fixture) logged() line {
	f.Helper()
	text := f.log.take()
	var l line
	if err := json.Unmarshal([]byte(text), &l); err != nil {
		f.Fatalf("%s: %v", text, err)
	}
	return l
}
