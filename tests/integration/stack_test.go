// Package integration talks to a whole local stack from outside: real binaries, a real DynamoDB engine, real clients.
package integration

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"patchbay/scripts/localauth"
	"patchbay/scripts/localgateway"
	"patchbay/scripts/localstack"
	"patchbay/shared/authorization"
	"patchbay/tests/integration/clients"
)

// root is the repository's root folder, seen from this package.
var root = filepath.Join("..", "..")

// required says that what cannot run here fails instead of being skipped: CI must not lose tests in silence.
var required = os.Getenv("CI") != ""

// Three stacks run for all tests: one with the fixture tools, one with the example tools, and one with the example
// tools that lets in only callers whom it knows. Two more want tokens: one from an authorization server that has all
// that MCP asks for, one from a server made like an Amazon Cognito user pool.
var fixtures, examples, known, guarded, fronted *server

// server is a running stack and what its functions logged.
type server struct {
	*localstack.Stack
	log *logLines
	// data is its data folder.
	data string
	// users may sign in at the authorization server of a stack that has one, and machine gets tokens there for itself.
	users   []localauth.User
	machine localauth.Machine
}

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	for _, s := range []struct {
		name       string
		server     **server
		functions  string
		principals localgateway.Principals
	}{
		{"fixtures", &fixtures, filepath.Join(root, "tests", "integration", "functions"), nil},
		{"examples", &examples, filepath.Join(root, "functions"), nil},
		{"known", &known, filepath.Join(root, "functions"), principals()},
	} {
		// What an earlier run recorded would be replayed, and its dry runs would count.
		if err := os.RemoveAll(filepath.Join(dataOf(s.name), "dynamodb")); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		started, err := start(context.Background(), localstack.Options{
			Functions:  s.functions,
			Principals: s.principals,
			Dispatcher: counted,
			Page:       true,
			// Kept from run to run, so that only what changed is built again.
			Data: dataOf(s.name),
		})
		if err != nil {
			fmt.Fprintln(os.Stderr, "starting the local stack:", err)
			return 1
		}
		defer started.Close()
		*s.server = started
	}
	defer tokens.server.Close()
	for _, s := range []struct {
		name, kind string
		trusted    []authorization.Issuer
		server     **server
	}{
		{"guarded", localstack.AuthGeneric, tokens.issuers(), &guarded},
		{"fronted", localstack.AuthCognito, nil, &fronted},
	} {
		started, err := guard(context.Background(), s.name, s.kind, s.trusted...)
		if err != nil {
			fmt.Fprintln(os.Stderr, "starting the local stack:", err)
			return 1
		}
		defer started.Close()
		*s.server = started
	}
	code := m.Run()
	for _, s := range []*server{guarded, fronted} {
		if err := s.leaked(); err != nil {
			fmt.Fprintln(os.Stderr, "reading the logs of the whole run:", err)
			code = 1
		}
	}
	return code
}

// dataOf is the data folder of one of the stacks.
func dataOf(name string) string { return filepath.Join(root, ".patchbay", "integration", name) }

func start(ctx context.Context, options localstack.Options) (*server, error) {
	s := &server{log: &logLines{}, data: options.Data}
	if options.Addr == "" {
		options.Addr = "127.0.0.1:0"
	}
	options.Log = s.log.add
	stack, err := localstack.Start(ctx, options)
	if err != nil {
		return nil, err
	}
	s.Stack = stack
	return s, nil
}

// logLines keeps what functions wrote.
type logLines struct {
	mu    sync.Mutex
	lines []string
}

func (l *logLines) add(function string, line []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines = append(l.lines, function+" "+string(line))
}

// find returns the lines that hold all the parts.
func (l *logLines) find(parts ...string) []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var found []string
next:
	for _, line := range l.lines {
		for _, part := range parts {
			if !strings.Contains(line, part) {
				continue next
			}
		}
		found = append(found, line)
	}
	return found
}

// eachClient runs the test for every official client.
func eachClient(t *testing.T, test func(t *testing.T, client clients.Client)) {
	clients.Each(t, root, required, test)
}
