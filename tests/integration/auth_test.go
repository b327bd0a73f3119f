package integration

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"

	"patchbay/scripts/localauth"
	"patchbay/scripts/localauth/signin"
	"patchbay/scripts/locallambda"
	"patchbay/scripts/localstack"
	"patchbay/shared/authorization"
	"patchbay/shared/contract"
	"patchbay/shared/registry"
	"patchbay/tests/integration/clients"
)

// tokenSeconds is how long access tokens live in the tests: long enough for a slow machine to use one that it has just
// got, and short enough to wait for its end.
const tokenSeconds = 20

// guard starts a stack with the example tools whose callers need tokens of an authorization server of the kind, or of
// those that are trusted beside it, and one tool more, freshTool.
func guard(ctx context.Context, name, kind string, trusted ...authorization.Issuer) (*server, error) {
	none := 0
	s, err := start(ctx, localstack.Options{
		Functions: filepath.Join(root, "functions"),
		Data:      dataOf(name),
		Auth:      kind,
		AuthServer: localauth.Options{
			Users: people(), AccessTokenSeconds: tokenSeconds, RedirectURIs: callbackURLs(),
		},
		Authorization: &authorization.Config{LeewaySeconds: &none, Issuers: trusted},
	})
	if err != nil {
		return nil, err
	}
	s.users, s.machine = s.AuthServer.Users, s.AuthServer.Machine
	if err := publishFresh(ctx, s); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// freshTool is a tool for people who have signed in within freshSeconds, a time that a test can wait for.
const (
	freshTool    = "fresh_weather"
	freshSeconds = 5
)

// publishFresh publishes the tool beside the examples, with the function of one of them.
func publishFresh(ctx context.Context, s *server) error {
	tool, problems := contract.Parse("fresh_weather/tool.json", fmt.Appendf(nil, `{"name":%q,
		"description":"Says what the weather is, to people who have signed in a moment ago; for tests.",
		"inputSchema":{"type":"object","additionalProperties":false,"required":["location"],
		"properties":{"location":{"type":"string","description":"A town, for example Paris."}}},
		"annotations":{"readOnlyHint":true,"openWorldHint":false},
		"contract":{"risk":"low","autonomous":true,"stepUp":{"maxAgeSeconds":%d},"function":{"runtime":"go"}}}`,
		freshTool, freshSeconds))
	if err := problems.Err(); err != nil {
		return err
	}
	function, err := s.Lambda().Deploy(locallambda.Function{
		Name: freshTool, Dir: filepath.Join(s.data, "build", "get_weather"),
	})
	if err != nil {
		return fmt.Errorf("deploying %s: %w", freshTool, err)
	}
	publication := registry.Publication{Tool: tool, Function: function}
	_, err = s.Publisher().Publish(ctx, "auth-tests", []registry.Publication{publication})
	return err
}

// Two users for each client: one may do all, the lesser may only read. What a client does is told apart by its user.
const (
	mayAll  = "ada"
	mayRead = "bob"
)

func userOf(name, client string) string { return name + "-" + strings.ReplaceAll(client, " ", "-") }

func people() []localauth.User {
	all := []string{"contacts:read", "emails:bulk", "emails:send"}
	users := []localauth.User{{Name: mayAll, Scopes: all}, {Name: mayRead, Scopes: all[:1]}}
	for _, client := range clients.Available(root) {
		users = append(users, localauth.User{Name: userOf(mayAll, client.Name), Scopes: all},
			localauth.User{Name: userOf(mayRead, client.Name), Scopes: all[:1]})
	}
	return users
}

// callbackPorts are where clients wait to be sent back to where the authorization server compares ports, one for each:
// a user pool knows them beforehand. They lie below those that the system hands out to others.
var callbackPorts = sync.OnceValue(func() map[string]int {
	ports, next := map[string]int{}, 21000
	for _, client := range clients.Available(root) {
		next = portFrom(next + 1)
		ports[client.Name] = next
	}
	return ports
})

// portFrom is the first port at or above one that nobody listens on.
func portFrom(from int) int {
	for port := from; ; port++ {
		listener, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err == nil {
			listener.Close()
			return port
		}
	}
}

func callbackURLs() []string {
	var urls []string
	for _, port := range slices.Sorted(maps.Values(callbackPorts())) {
		urls = append(urls, clients.CallbackURL(port))
	}
	return urls
}

// person signs in with one browser, which remembers it, and keeps what clients have asked for.
type person struct {
	user localauth.User
	jar  *cookiejar.Jar

	mu       sync.Mutex
	requests []url.Values
}

func newPerson(s *server, name string) (*person, error) {
	at := slices.IndexFunc(s.users, func(user localauth.User) bool { return user.Name == name })
	if at < 0 {
		return nil, fmt.Errorf("nobody is called %s", name)
	}
	jar, err := cookiejar.New(nil)
	return &person{user: s.users[at], jar: jar}, err
}

// visit is the person's clients.Visit.
func (p *person) visit(ctx context.Context, authorizationURL string) error {
	u, err := url.Parse(authorizationURL)
	if err != nil {
		return fmt.Errorf("reading the authorization URL: %w", err)
	}
	p.mu.Lock()
	p.requests = append(p.requests, u.Query())
	p.mu.Unlock()
	user := signin.User{Name: p.user.Name, Password: p.user.Password}
	callback, err := signin.Follow(ctx, authorizationURL, user, signin.Options{Jar: p.jar})
	if err != nil {
		return err
	}
	return open(ctx, callback)
}

// open loads the page at which a client waits. One that waits no more, since it has given up, is the client's affair.
func open(ctx context.Context, page string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, page, nil)
	if err != nil {
		return fmt.Errorf("opening the client's page: %w", err)
	}
	response, err := http.DefaultClient.Do(request)
	if errors.Is(err, syscall.ECONNREFUSED) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("opening the client's page: %w", err)
	}
	return response.Body.Close()
}

// asked are the authorization requests that came to the person.
func (p *person) asked() []url.Values {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.requests)
}

// refreshed counts the tokens that the stack's authorization server, npm's oidc-provider, gave a user for a refresh
// token.
func refreshed(s *server, user string) int {
	return len(s.log.find("auth {", `"gave a token"`, `"grant":"refresh_token"`, fmt.Sprintf(`"user":%q`, user)))
}
