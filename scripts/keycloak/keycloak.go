// Package keycloak runs Keycloak, a second authorization server that is not of this project, for tests: with a realm
// for one MCP server, as an administrator would set it up.
//
// It comes as a zip through Maven, from whatever repository Maven is set up for, and runs on Java. Both must be there;
// what is downloaded and built lies in .patchbay of the module. The realm and its people are in memory.
package keycloak

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"patchbay/scripts/child"
	"patchbay/scripts/localauth"
	"patchbay/shared/authorization"
)

const (
	// startWait is how long a start may take: a Java program of some size, on a machine that may have other things to do.
	startWait = 5 * time.Minute
	// askAgain is how long to wait before the next question whether it answers.
	askAgain = 500 * time.Millisecond
	// realmName is the last part of the issuer.
	realmName = "patchbay"
	// heap bounds Java's memory, which by itself would take most of the machine's.
	heap = "-Xmx512m"
)

//go:embed run.sh
var runner string

// Options say how Keycloak runs. Root and Resource are required.
type Options struct {
	// Root is the folder of the module, whose .patchbay keeps the distribution.
	Root string
	// Resource is the MCP server's canonical URI: the audience of all tokens with one of the scopes. Keycloak takes no
	// notice of "resource"; a mapper puts it there.
	Resource authorization.Resource
	// Scopes are all that there are. A user gets those that are the user's roles, too.
	Scopes []string
	// Users may sign in. Nil means localauth.DefaultUsers; passwords must be given or come from it.
	Users []localauth.User
	// AccessTokenSeconds is how long access tokens live; 0 means five minutes, as Keycloak does.
	AccessTokenSeconds int
	// Progress gets a line when something is installed; nil drops it.
	Progress io.Writer
	// Log gets what Keycloak prints, a line for each sign-in and each token among it; nil drops it.
	Log io.Writer
}

// Server is a running Keycloak. Close must be called; one whose parent dies without it ends by itself.
type Server struct {
	// Issuer is the realm, as tokens and metadata name it.
	Issuer string
	// Users are those who may sign in, with their passwords. A token's subject is the name.
	Users []localauth.User
	// Machine is a client that gets tokens for itself.
	Machine localauth.Machine

	server *child.Server
	home   string // is removed with it
}

// Start installs Keycloak where it is missing, runs it on a free loopback port and returns when the realm answers; ctx
// bounds only that. The error wraps ErrNotInstalled when Java or Maven are missing.
func Start(ctx context.Context, options Options) (*Server, error) {
	distribution, java, err := install(ctx, options.Root, options.Progress)
	if err != nil {
		return nil, fmt.Errorf("installing Keycloak: %w", err)
	}
	realm, users, machine := newRealm(options)
	home, err := newHome(distribution, realm)
	if err != nil {
		return nil, fmt.Errorf("making a home for Keycloak: %w", err)
	}
	s := &Server{Users: users, Machine: machine, home: home}
	if err := s.run(ctx, options, distribution, java); err != nil {
		os.RemoveAll(home)
		return nil, fmt.Errorf("starting Keycloak: %w", err)
	}
	return s, nil
}

// newHome makes a folder that Keycloak takes for its own: the distribution's parts, which it only reads, and the realm
// where it looks for what to import. What it writes, it writes there.
func newHome(distribution string, realm any) (home string, err error) {
	if home, err = os.MkdirTemp("", "keycloak-"); err != nil {
		return "", err
	}
	for _, part := range []string{"conf", "lib", "providers", "themes"} {
		if err := os.Symlink(filepath.Join(distribution, part), filepath.Join(home, part)); err != nil {
			return "", err
		}
	}
	data, err := json.Marshal(realm)
	if err != nil {
		return "", fmt.Errorf("encoding the realm: %w", err)
	}
	imported := filepath.Join(home, "data", "import")
	if err := os.MkdirAll(imported, 0o700); err != nil {
		return "", err
	}
	return home, os.WriteFile(filepath.Join(imported, realmName+"-realm.json"), data, 0o600)
}

func (s *Server) run(ctx context.Context, options Options, distribution, java string) error {
	address, err := freeAddress(ctx)
	if err != nil {
		return err
	}
	cmd := s.command(distribution, java, address)
	started := child.ServerOptions{Within: startWait, Answers: answers, Log: options.Log}
	if s.server, err = child.StartServer(ctx, cmd, started); err != nil {
		return err
	}
	s.Issuer = s.server.URL
	return nil
}

// command is Keycloak's own way to start a distribution that was built before. It serves plain HTTP, as its start for
// development does, which builds anew each time.
func (s *Server) command(distribution, java string, address *net.TCPAddr) *exec.Cmd {
	origin := "http://" + address.String()
	cmd := exec.Command("sh", "-c", runner, "run.sh", origin+"/realms/"+realmName,
		filepath.Join(distribution, "bin", "kc.sh"), "-Dkc.home.dir="+s.home, "start", "--optimized", "--import-realm",
		"--cache=local", "--http-enabled=true", "--http-host="+address.IP.String(),
		fmt.Sprint("--http-port=", address.Port), "--hostname="+origin,
		"--log-level=warn,org.keycloak.events:info", "--spi-events-listener--jboss-logging--success-level=info")
	cmd.Env = append(cmd.Environ(), "JAVA="+java, "JAVA_OPTS_KC_HEAP="+heap)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return cmd
}

// freeAddress is one that nobody listens at; it may be taken until Keycloak listens there, which then says so and ends.
func freeAddress(ctx context.Context) (*net.TCPAddr, error) {
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("looking for a free port: %w", err)
	}
	defer listener.Close()
	return listener.Addr().(*net.TCPAddr), nil
}

// answers waits until the realm's metadata are there.
func answers(ctx context.Context, issuer string) error {
	for {
		err := ask(ctx, issuer+authorization.OpenIDMetadataPath)
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("waiting until it answers: %w (%w)", ctx.Err(), err)
		case <-time.After(askAgain):
		}
	}
}

func ask(ctx context.Context, address string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", address, response.Status)
	}
	return nil
}

// Authorization is what a stack must be configured with to take this server's tokens: a new configuration with one
// issuer.
func (s *Server) Authorization() *authorization.Config {
	return &authorization.Config{
		Issuers: []authorization.Issuer{{URL: s.Issuer, Provider: authorization.ProviderKeycloak}},
	}
}

// Done is closed when Keycloak has ended, by Close or by itself.
func (s *Server) Done() <-chan struct{} { return s.server.Done() }

// Close ends Keycloak and returns when its processes are gone. It may be called more than once.
func (s *Server) Close() {
	s.server.Close()
	os.RemoveAll(s.home)
}
