// Package localauth runs an authorization server, npm's oidc-provider, as a child process for the local stack and for
// tests: a real one, with people who sign in, clients that register, and tokens that expire. Nothing of it is deployed.
//
// As it comes it is what MCP asks for: dynamic registration, client id metadata documents, PKCE, resource indicators,
// JWT access tokens, rotating refresh tokens, step-up by max_age and acr_values. Like "cognito" it has the gaps and the
// odd tokens of an Amazon Cognito user pool; server/cognito.mjs says which are imitated.
package localauth

import (
	"context"
	"embed"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"patchbay/scripts/child"
	"patchbay/scripts/nodemodules"
	"patchbay/shared/authorization"
)

// LikeCognito is the value of Options.Like for a server made like an Amazon Cognito user pool.
const LikeCognito = "cognito"

// Classes of sign-in that acr_values may ask for. Without it a sign-in is of the first.
const (
	ClassPassword     = "pwd"
	ClassSecondFactor = "mfa"
)

const (
	// startWait is how long a server may take until it answers.
	startWait = 30 * time.Second
	// defaultSeconds is how long an access token lives where nothing is said, as with Amazon Cognito.
	defaultSeconds = 3600
	// pool is the id of the user pool, and so the path of the issuer.
	pool = "local_Patchbay1"
	// resourceServer is the identifier of the user pool's resource server, which scopes begin with.
	resourceServer = "patchbay"
)

//go:embed server/*.mjs
var program embed.FS

// Options say how a server runs. Resource is required.
type Options struct {
	// NodeModules is the folder with oidc-provider and node. Empty means the nearest at or above the working directory.
	NodeModules string
	// Addr is the host and port to listen on, and so the issuer. Empty means 127.0.0.1:0, a free port.
	Addr string
	// Names are other host names by which requests may name this machine, as containers do.
	Names []string
	// Resource is the MCP server's canonical URI: what clients name as "resource", and the tokens' audience.
	Resource authorization.Resource
	// Scopes are all that there are, in the contracts' words.
	Scopes []string
	// Like is empty, or LikeCognito.
	Like string
	// Users may sign in. Nil means DefaultUsers.
	Users []User
	// RedirectURIs are the callback URLs of the app client of LikeCognito, beside those of well-known clients on this
	// machine. A user pool compares them exactly, also the port.
	RedirectURIs []string
	// AccessTokenSeconds is how long access tokens live; 0 means an hour.
	AccessTokenSeconds int
	// Log gets what happens, one JSON object a line, without tokens, codes and passwords. It is called by one goroutine
	// at a time. Nil drops it.
	Log func(line []byte)
}

// Server is a running authorization server. Close must be called; one whose parent dies without it ends by itself.
type Server struct {
	// Issuer is its name, as tokens and metadata have it.
	Issuer string
	// Users are those who may sign in, with their passwords.
	Users []User
	// Machine is a client that gets tokens for itself, by client credentials.
	Machine Machine

	settings settings
	server   *child.Server
}

// settings are what the program is told.
type settings struct {
	Modules            string                 `json:"modules"`
	Host               string                 `json:"host"`
	Port               int                    `json:"port"`
	Names              []string               `json:"names,omitempty"`
	Resource           authorization.Resource `json:"resource"`
	Scopes             []string               `json:"scopes"`
	Like               string                 `json:"like,omitempty"`
	Users              []User                 `json:"users"`
	Machine            Machine                `json:"machine"`
	Pool               string                 `json:"pool"`
	Client             appClient              `json:"client"`
	AccessTokenSeconds int                    `json:"accessTokenSeconds"`
}

// appClient is the public client that a user pool knows.
type appClient struct {
	ID           string   `json:"id"`
	RedirectURIs []string `json:"redirectURIs"`
}

// Start runs a server and returns when it answers; ctx bounds only the start. The error wraps
// nodemodules.ErrNotInstalled when Node packages are missing, and holds what the server said when it did not start.
func Start(ctx context.Context, options Options) (*Server, error) {
	s, err := options.prepare()
	if err != nil {
		return nil, fmt.Errorf("preparing the authorization server: %w", err)
	}
	if err := s.run(ctx, options.Log); err != nil {
		return nil, fmt.Errorf("starting the authorization server: %w", err)
	}
	return s, nil
}

func (o Options) prepare() (*Server, error) {
	modules, err := o.modules()
	if err != nil {
		return nil, err
	}
	host, port, err := o.address()
	if err != nil {
		return nil, err
	}
	if o.Like != "" && o.Like != LikeCognito {
		return nil, fmt.Errorf("like is %q; allowed: %q or nothing", o.Like, LikeCognito)
	}
	if o.Resource == "" {
		return nil, fmt.Errorf("the resource is missing: the canonical URI of the MCP server")
	}
	users, err := o.users()
	if err != nil {
		return nil, err
	}
	s := &Server{Users: users, Machine: newMachine(o.Scopes)}
	s.settings = settings{
		Modules: modules, Host: host, Port: port, Names: o.Names, Resource: o.Resource, Like: o.Like, Pool: pool,
		AccessTokenSeconds: o.AccessTokenSeconds,
		Scopes:             o.asked(o.Scopes),
		Machine:            Machine{s.Machine.ClientID, s.Machine.Secret, o.asked(s.Machine.Scopes)},
		Client:             appClient{ID: randomText(), RedirectURIs: slices.Concat(wellKnownRedirectURIs, o.RedirectURIs)},
	}
	if o.AccessTokenSeconds == 0 {
		s.settings.AccessTokenSeconds = defaultSeconds
	}
	for _, user := range users {
		s.settings.Users = append(s.settings.Users, User{user.Name, user.Password, o.asked(user.Scopes)})
	}
	return s, nil
}

func (o Options) modules() (string, error) {
	modules := o.NodeModules
	var err error
	if modules == "" {
		modules, err = nodemodules.Find(".")
	} else if modules, err = filepath.Abs(modules); err == nil {
		err = nodemodules.Check(modules)
	}
	if err != nil {
		return "", err
	}
	if _, err := os.Stat(filepath.Join(modules, "oidc-provider", "package.json")); err != nil {
		return "", fmt.Errorf("%w: oidc-provider is missing (%w)", nodemodules.ErrNotInstalled, err)
	}
	return modules, nil
}

func (o Options) address() (host string, port int, err error) {
	if o.Addr == "" {
		return "127.0.0.1", 0, nil
	}
	host, text, err := net.SplitHostPort(o.Addr)
	if err != nil {
		return "", 0, fmt.Errorf("reading address %q: %w; allowed: HOST:PORT", o.Addr, err)
	}
	if port, err = strconv.Atoi(text); err != nil || port < 0 || port > 65535 {
		return "", 0, fmt.Errorf("reading address %q: port %q; allowed: 0 to 65535", o.Addr, text)
	}
	return host, port, nil
}

// asked is how clients ask for scopes.
func (o Options) asked(scopes []string) []string {
	asked := (&authorization.Issuer{ScopePrefix: o.scopePrefix()}).AskAll(scopes)
	return append([]string{}, asked...) // the program wants a list, not null
}

func (o Options) scopePrefix() string {
	if o.Like == LikeCognito {
		return resourceServer + "/"
	}
	return ""
}

// run starts the program from a folder that is gone once it runs: Node has read all of it by then.
func (s *Server) run(ctx context.Context, log func([]byte)) error {
	dir, err := os.MkdirTemp("", "localauth-")
	if err != nil {
		return fmt.Errorf("making a folder for the program: %w", err)
	}
	defer os.RemoveAll(dir)
	if err := os.CopyFS(dir, program); err != nil {
		return fmt.Errorf("writing the program: %w", err)
	}
	data, err := json.Marshal(s.settings)
	if err != nil {
		return fmt.Errorf("encoding the options: %w", err)
	}
	file := filepath.Join(dir, "options.json")
	if err := os.WriteFile(file, data, 0o600); err != nil {
		return fmt.Errorf("writing the options: %w", err)
	}
	cmd := exec.Command(nodemodules.Node(s.settings.Modules), filepath.Join(dir, "server", "server.mjs"), file)
	options := child.ServerOptions{Within: startWait, Answers: answers, Log: &lines{each: log}}
	if s.server, err = child.StartServer(ctx, cmd, options); err != nil {
		return err
	}
	s.Issuer = s.server.URL
	return nil
}

// answers reads the metadata document at the one address that both kinds of server have.
func answers(ctx context.Context, issuer string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, issuer+authorization.OpenIDMetadataPath, nil)
	if err != nil {
		return fmt.Errorf("asking for its metadata: %w", err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return fmt.Errorf("asking for its metadata: %w", err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("asking for its metadata: %s", response.Status)
	}
	return nil
}

// TokenEndpoint is where the machine client gets its tokens; the metadata document names it, too.
func (s *Server) TokenEndpoint() string {
	if s.settings.Like == LikeCognito {
		return strings.TrimSuffix(s.Issuer, pool) + "oauth2/token"
	}
	return s.Issuer + "/token"
}

// Authorization is what a stack must be configured with to take this server's tokens: a new configuration with one
// issuer, and for LikeCognito a front with the app client.
func (s *Server) Authorization() *authorization.Config {
	if s.settings.Like != LikeCognito {
		return &authorization.Config{Issuers: []authorization.Issuer{{URL: s.Issuer}}}
	}
	return &authorization.Config{
		Issuers: []authorization.Issuer{{
			URL: s.Issuer, Provider: authorization.ProviderCognito, ScopePrefix: resourceServer + "/",
			ClientIDs: []string{s.settings.Client.ID, s.Machine.ClientID},
		}},
		Front: &authorization.Front{
			ClientID: s.settings.Client.ID, RedirectURIs: slices.Clone(s.settings.Client.RedirectURIs),
		},
	}
}

// Done is closed when the server has ended, by Close or by itself.
func (s *Server) Done() <-chan struct{} { return s.server.Done() }

// Close ends the server and returns when its process is gone. It may be called more than once.
func (s *Server) Close() { s.server.Close() }
