package localauth

import (
	"crypto/rand"
	"fmt"
	"slices"
)

// User is somebody who may sign in. The name is the tokens' subject, too.
type User struct {
	Name string `json:"name"`
	// Password is made up where it is empty.
	Password string `json:"password"`
	// Scopes are what the user may have, in the contracts' words. What a client asks for beside them is left out of its
	// token, and shown as such on the page.
	Scopes []string `json:"scopes"`
}

// Machine is a confidential client that acts for itself: it gets tokens by client credentials (RFC 6749, section 4.4).
type Machine struct {
	ClientID string   `json:"clientId"`
	Secret   string   `json:"secret"`
	Scopes   []string `json:"scopes"`
}

// wellKnownRedirectURIs are where clients on this machine wait for the answer unless they are told otherwise: the MCP
// Inspector, Visual Studio Code, and the official TypeScript and Python examples.
var wellKnownRedirectURIs = []string{
	"http://localhost:6274/oauth/callback",
	"http://127.0.0.1:6274/oauth/callback",
	"http://127.0.0.1:33418/",
	"http://localhost:8090/callback",
	"http://localhost:3030/callback",
}

// DefaultUsers are ada, who may have all scopes, and bob, the lesser, who may have all but the last.
func DefaultUsers(scopes []string) []User {
	return []User{
		{Name: "ada", Scopes: slices.Clone(scopes)},
		{Name: "bob", Scopes: slices.Clone(scopes[:max(0, len(scopes)-1)])},
	}
}

// users are those of the options, with passwords.
func (o Options) users() ([]User, error) {
	users := slices.Clone(o.Users)
	if o.Users == nil {
		users = DefaultUsers(o.Scopes)
	}
	for i, user := range users {
		if user.Name == "" {
			return nil, fmt.Errorf("user %d has no name", i)
		}
		for _, scope := range user.Scopes {
			if !slices.Contains(o.Scopes, scope) {
				return nil, fmt.Errorf("user %s: scope %q is none of the server's %q", user.Name, scope, o.Scopes)
			}
		}
		if user.Password == "" {
			users[i].Password = randomText()[:10]
		}
	}
	return users, nil
}

func newMachine(scopes []string) Machine {
	return Machine{ClientID: "patchbay-machine", Secret: randomText(), Scopes: slices.Clone(scopes)}
}

// randomText is 26 characters that nobody guesses: what opens this server must not be known to web pages and to other
// programs of the machine.
func randomText() string { return rand.Text() }
