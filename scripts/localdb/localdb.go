// Package localdb runs a DynamoDB-compatible engine, dynalite, as a child process for the local stack and for tests.
//
// Against DynamoDB it lacks transactions and TTL deletion; nothing in Patchbay decides by either.
package localdb

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"patchbay/scripts/child"
	"patchbay/scripts/nodemodules"
)

// Region is the region that Client signs for. The engine keeps no regions apart.
const Region = "us-east-1"

// startWait is how long an engine may take until it answers.
const startWait = 30 * time.Second

//go:embed engine.js
var script string

// Options say how an engine runs. The zero value keeps data in memory and listens on a free loopback port.
type Options struct {
	// Dir keeps the tables on disk, so that they survive a restart. It is made if it does not exist. Two engines cannot
	// share it. Empty keeps them in memory.
	Dir string
	// NodeModules is the folder with dynalite and node. Empty means the nearest at or above the working directory.
	NodeModules string
	// Addr is the host and port to listen on. Empty means 127.0.0.1:0, a free port. Requests must name a loopback address
	// or this one: see Start.
	Addr string
	// Names are other host names by which requests may name this machine, as containers do.
	Names []string
	// Log gets what the engine prints. Nil drops it.
	Log io.Writer
}

// Engine is a running engine. Close must be called; an engine whose parent dies without it ends by itself.
type Engine struct {
	// URL is the endpoint, for Client or AWS_ENDPOINT_URL_DYNAMODB.
	URL string

	server *child.Server
}

// Start runs an engine and returns when it answers requests; ctx bounds only the start. The error wraps
// nodemodules.ErrNotInstalled when Node packages are missing, and holds what the engine said when it did not start.
//
// The engine checks no credentials, so it answers programs alone: what a web page may have sent (a request that carries
// Origin or Sec-Fetch-Site, or whose Host is another than the machine itself) gets a 403.
func Start(ctx context.Context, options Options) (*Engine, error) {
	cmd, err := command(options)
	if err != nil {
		return nil, fmt.Errorf("preparing the DynamoDB engine: %w", err)
	}
	server, err := child.StartServer(ctx, cmd, child.ServerOptions{Within: startWait, Answers: answers, Log: options.Log})
	if err != nil {
		return nil, fmt.Errorf("starting the DynamoDB engine: %w", err)
	}
	return &Engine{URL: server.URL, server: server}, nil
}

func command(options Options) (*exec.Cmd, error) {
	modules, err := options.modules()
	if err != nil {
		return nil, err
	}
	host, port, err := options.address()
	if err != nil {
		return nil, err
	}
	dir, err := options.dataDir()
	if err != nil {
		return nil, err
	}
	settings, err := json.Marshal(map[string]any{"dir": dir, "host": host, "port": port, "names": options.Names})
	if err != nil {
		return nil, fmt.Errorf("encoding the engine's options: %w", err)
	}
	return exec.Command(nodemodules.Node(modules), "-e", script, filepath.Join(modules, "dynalite"), string(settings)), nil
}

func (o Options) modules() (string, error) {
	if o.NodeModules == "" {
		return nodemodules.Find(".")
	}
	modules, err := filepath.Abs(o.NodeModules)
	if err != nil {
		return "", fmt.Errorf("locating %s: %w", o.NodeModules, err)
	}
	return modules, nodemodules.Check(modules)
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

func (o Options) dataDir() (string, error) {
	if o.Dir == "" {
		return "", nil
	}
	dir, err := filepath.Abs(o.Dir)
	if err != nil {
		return "", fmt.Errorf("locating data folder %s: %w", o.Dir, err)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", fmt.Errorf("making data folder: %w", err)
	}
	return dir, nil
}

// answers asks the engine something: the script listens before its data folder is open.
func answers(ctx context.Context, url string) error {
	if _, err := Client(url).ListTables(ctx, &dynamodb.ListTablesInput{}); err != nil {
		return fmt.Errorf("listing tables: %w", err)
	}
	return nil
}

// Done is closed when the engine has ended, by Close or by itself.
func (e *Engine) Done() <-chan struct{} { return e.server.Done() }

// Close ends the engine and returns when its process is gone. It may be called more than once.
func (e *Engine) Close() { e.server.Close() }

// Client returns a client of the engine at url with fixed local credentials, which the engine does not check.
func Client(url string) *dynamodb.Client {
	return dynamodb.New(dynamodb.Options{
		BaseEndpoint: aws.String(url),
		Region:       Region,
		Credentials:  credentials.NewStaticCredentialsProvider("local", "local", ""),
	})
}
