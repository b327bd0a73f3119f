package integration

import (
	"strings"
	"testing"
	"time"

	"patchbay/tests/integration/wire"
)

// What goes over the wire with a server that asks for tokens, on the stack with the tests' own issuer.
func TestGuardedWireConversations(t *testing.T) {
	t.Parallel()
	wire.RunGuarded(t, guarded.URL, wireVariables())
}

func wireVariables() map[string]string {
	const all = "contacts:read emails:bulk emails:send"
	return map[string]string{
		"base":   strings.TrimSuffix(guarded.URL, "/mcp"),
		"as":     guarded.AuthServer.Issuer,
		"tests":  tokens.url,
		"ada":    tokens.mint(guarded.URL, mayAll, map[string]any{"scope": all}),
		"bob":    tokens.mint(guarded.URL, mayRead, map[string]any{"scope": "contacts:read"}),
		"old":    tokens.mint(guarded.URL, mayAll, map[string]any{"scope": all, "auth_time": time.Now().Unix() - 3600}),
		"untold": tokens.mint(guarded.URL, mayAll, map[string]any{"scope": all, "auth_time": nil}),
		"gone":   tokens.mint(guarded.URL, mayAll, map[string]any{"scope": all, "exp": time.Now().Unix() - 1}),
	}
}
