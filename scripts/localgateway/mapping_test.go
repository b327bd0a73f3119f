package localgateway

import (
	"encoding/json"
	"net/http"
	"testing"
)

func TestMappingExpressions(t *testing.T) {
	t.Parallel()
	fields := http.Header{"X-One": {"first", "last"}, "X-Empty": {""}}
	context := map[string]any{
		"requestId": "r", "requestTimeEpoch": json.Number("1785240000123"),
		"identity":   map[string]any{"sourceIp": "192.0.2.1", "user": nil},
		"authorizer": map[string]any{"challenge": `Bearer a="b, c"`, "flag": true, "a-b_c$": "odd"},
	}
	for _, test := range []struct {
		text, want string
		has        bool
	}{
		{`'a "b" $c.d'`, `a "b" $c.d`, true},
		{`''`, "", true},
		{"method.request.header.X-One", "last", true},
		{"method.request.header.x-one", "last", true},
		{"method.request.header.X-Empty", "", true},
		{"method.request.header.X-Two", "", false},
		{"context.requestId", "r", true},
		{"context.requestTimeEpoch", "1785240000123", true},
		{"context.identity.sourceIp", "192.0.2.1", true},
		{"context.identity.user", "", false},
		{"context.identity", "", false},
		{"context.authorizer.challenge", `Bearer a="b, c"`, true},
		{"context.authorizer.flag", "true", true},
		{"context.authorizer.a-b_c$", "odd", true},
		{"context.authorizer.other", "", false},
		{"context.authorizer.challenge.more", "", false},
		{"context.nothing.at.all", "", false},
	} {
		x, err := parseExpression(test.text)
		if err != nil {
			t.Error(err)
			continue
		}
		if got, has := x.value(fields, context); got != test.want || has != test.has {
			t.Errorf("%s is %q, %v; want %q, %v", test.text, got, has, test.want, test.has)
		}
	}
}

// What API Gateway does not take, two values put together above all.
func TestMappingExpressionsThatAreNone(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"", "Bearer", `"Bearer"`, "'it's'", "'open", "open'", "'a' + 'b'", "'a'context.requestId", "$context.requestId",
		"context.$requestId", "context.", "context", "context.a b", "context.authorizer['x']", "stageVariables.x",
		"method.request.header.", "method.request.querystring.x", "method.request.body", "integration.response.header.x",
		"context.requestId ", "'a'\n", "gatewayresponse.header.x",
	} {
		if x, err := parseExpression(text); err == nil {
			t.Errorf("%q is taken for %+v", text, x)
		}
	}
}
