package integration

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"patchbay/scripts/keycloak"
	"patchbay/scripts/localstack"
	"patchbay/shared/authorization"
)

// full says that what takes minutes, and programs that not every machine has, is run too.
var full = os.Getenv("PATCHBAY_FULL") != ""

// The same flows at a second authorization server, which is not of this project.
//
// Keycloak holds a client that registered with scopes to those, and most register with the scopes that they ask for
// first: such a client cannot step up later. So the server names all scopes at once; how a client steps up at Keycloak
// is seen from the one that registers without scopes.
func TestClientsSignInAtKeycloak(t *testing.T) {
	if !full {
		t.Skip("Keycloak takes minutes to install and start; PATCHBAY_FULL is not set")
	}
	all := people()[0].Scopes
	cloak := startKeycloak(t, all)
	t.Run("all scopes first", func(t *testing.T) {
		w := cloak.world(t, all)
		w.kind = "keycloak"
		t.Run("people", func(t *testing.T) { testClientsSignIn(t, w) })
		t.Run("machines", func(t *testing.T) { testMachinesSignIn(t, w) })
		if err := w.leaked(); err != nil {
			t.Error(err)
		}
	})
	t.Run("some scopes first", func(t *testing.T) {
		w := cloak.world(t, []string{"contacts:read", "emails:bulk"})
		w.kind, w.only = "generic", "go"
		testClientsSignIn(t, w)
	})
}

// cloak is a Keycloak for a stack at an address that it was told beforehand.
type cloak struct {
	*keycloak.Server
	address string
	events  *text
}

func startKeycloak(t *testing.T, scopes []string) cloak {
	t.Helper()
	c := cloak{address: fmt.Sprintf("127.0.0.1:%d", portFrom(20500)), events: &text{}}
	server, err := keycloak.Start(t.Context(), keycloak.Options{
		Root: root, Resource: authorization.Resource("http://" + c.address + localstack.Path), Users: people(),
		Scopes: scopes, AccessTokenSeconds: tokenSeconds, Progress: t.Output(), Log: c.events,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	c.Server = server
	return c
}

// world starts a stack that takes Keycloak's tokens and names the scopes to whoever has none.
func (c cloak) world(t *testing.T, scopes []string) world {
	t.Helper()
	config, none := c.Authorization(), 0
	config.LeewaySeconds, config.InitialScopes = &none, scopes
	s, err := start(t.Context(), localstack.Options{
		Addr: c.address, Functions: filepath.Join(root, "functions"), Data: dataOf("keycloak"), Authorization: config,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	s.users, s.machine = c.Users, c.Machine
	if err := publishFresh(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	return world{server: s, refreshed: func(_ *server, user string) int {
		return c.events.count(`type="REFRESH_TOKEN"`, fmt.Sprintf(`userId=%q`, user))
	}}
}

// text keeps what a program prints.
type text struct {
	mu      sync.Mutex
	written strings.Builder
}

func (t *text) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.written.Write(p)
}

// count counts the lines that hold all the parts.
func (t *text) count(parts ...string) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	found := 0
next:
	for line := range strings.Lines(t.written.String()) {
		for _, part := range parts {
			if !strings.Contains(line, part) {
				continue next
			}
		}
		found++
	}
	return found
}
