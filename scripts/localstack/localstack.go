// Package localstack runs a whole Patchbay server on one machine, without Docker and without an AWS account: the real
// dispatcher and the real functions on a local Lambda service, the catalogue in a DynamoDB engine, and a gateway in
// front that does what API Gateway does. On request callers need access tokens: the real authorizer checks them, and an
// authorization server beside it gives them out.
package localstack

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"patchbay/scripts/localauth"
	"patchbay/scripts/localdb"
	"patchbay/scripts/localgateway"
	"patchbay/scripts/locallambda"
	"patchbay/scripts/smtpsink"
	"patchbay/scripts/standins"
	"patchbay/shared/authorization"
	"patchbay/shared/contract"
	"patchbay/shared/gatewayresponse"
	"patchbay/shared/handle"
	"patchbay/shared/ledger"
	"patchbay/shared/registry"
)

// Path is where the gateway serves the MCP endpoint.
const Path = "/mcp"

// Names of the tables in the local engine: the catalogue, the idempotency records, the state handles.
const (
	Table       = "patchbay-registry"
	LedgerTable = "patchbay-ledger"
	StateTable  = "patchbay-state"
)

// Source is the registry source under which the stack publishes the tools of its functions folder.
const Source = "local"

// Options says what to run. The zero value runs functions/ of the current module on 127.0.0.1:8787.
type Options struct {
	// Addr is where the gateway listens; empty means 127.0.0.1:8787, port 0 any free one.
	Addr string
	// Page has the stack serve a page at / to whoever writes tools on this machine: see package localpage.
	Page bool
	// Functions is the folder of functions; empty means functions.
	Functions string
	// Existing is the folder with the code of functions that exist already, one folder each, which contracts name by ARN
	// or as local:NAME; empty means tests/integration/existing in the module, where there is one.
	Existing string
	// Data keeps what is built and the tables; empty means .patchbay in the module. Two stacks cannot share it.
	Data string
	// AnswerWithin is how long the gateway waits for an answer, and so the longest that a contract may take; 0 means what
	// the longest contract needs, at least the 29 s that API Gateway starts from.
	AnswerWithin time.Duration
	// CacheTTL is how long clients may keep lists; nil means 5 s, since tools change while they are being written.
	CacheTTL *time.Duration
	// CacheScope is who may share lists, mcp.CachePublic or mcp.CachePrivate; empty means the dispatcher's own choice.
	CacheScope string
	// Origins are those of web pages that may call the server, beside those of this machine: scheme://host[:port].
	Origins []string
	// PageTools and PageBytes bound a page of tools/list; 0 means the registry's own bounds.
	PageTools, PageBytes int
	// LookupEnv gives the settings that contracts leave to the deployment, by name; nil means none.
	LookupEnv func(string) (string, bool)
	// Authorization says whose access tokens callers need; nil for those of the server that Auth starts, or for none.
	Authorization *authorization.Config
	// Auth starts an authorization server beside the stack, whose tokens callers need: AuthGeneric or AuthCognito. Empty
	// starts none. What Authorization says holds beside it, other issuers too.
	Auth string
	// AuthServer says how that server is started: its address, users, how long tokens live. The stack fills in what it
	// knows itself: the resource, the folder of Node packages, where the log goes, and where they are nil, all scopes
	// that the contracts have.
	AuthServer localauth.Options
	// Principals are the callers whom the gateway lets in, by their bearer tokens, where there is no authorization
	// server; nil lets everybody in, as nobody.
	Principals localgateway.Principals
	// Progress gets a line for each step that takes long; nil drops them.
	Progress io.Writer
	// Log gets what the functions write, the gateway and the authorization server too, a line at a time; nil drops it.
	Log func(function string, line []byte)
	// LogOf gets the same lines with the id of the request for which each was written, which is empty where that is not
	// known; nil drops them.
	LogOf func(function, requestID string, line []byte)
	// Watch makes the stack take in what is saved while it runs, and is told of each change, by one goroutine; nil takes
	// in nothing.
	Watch func(Change)
	// Dispatcher may change the dispatcher's environment before it is deployed, such as to put something between it and
	// what it calls; nil leaves it as it is.
	Dispatcher func(environment map[string]string)
}

// Stack is a running server. Close ends every part of it.
type Stack struct {
	// URL is the MCP endpoint.
	URL string
	// DatabaseURL is the DynamoDB engine, and LambdaURL the Lambda API.
	DatabaseURL, LambdaURL string
	// Functions are the qualified ARNs of the published tools' functions, by the tool's name.
	Functions map[string]string
	// Warnings are what is worth knowing of the contracts.
	Warnings contract.Problems
	// Authorization is whose tokens callers need, with all that was left out filled in; nil where they need none.
	Authorization *authorization.Config
	// AuthServer is the authorization server that Options.Auth started, with its issuer and its users; nil for none.
	AuthServer *localauth.Server

	options Options
	module  string
	modules string // the folder node_modules
	set     *contract.Set
	// existing are the functions of the folder Existing.
	existing []*existing
	engine   *localdb.Engine
	db       *dynamodb.Client
	lambda   *locallambda.Service
	mail     *smtpsink.Server
	gateway  *http.Server
	servers  []*http.Server
	// programs are how functions are run that are no bootstrap.
	programs map[*contract.Tool]*program
	// responses are what the gateway's own responses carry.
	responses gatewayresponse.Options
	lock      *os.File
	logs      *logs
	// deployment is what runs on the Lambda service, from when there is one.
	deployment *deployment
	// watching follows the files that functions are made from; nil where nobody asked for it.
	watching *watch
	// announced is the file that says where the stack is; empty before it runs.
	announced string
	once      sync.Once
}

// Start runs a stack and returns when it answers. ctx bounds the start. The error is one clear message; contracts that
// are wrong come as contract.Problems, code that does not build as a *build.Error.
func Start(ctx context.Context, options Options) (*Stack, error) {
	s := &Stack{options: options.withDefaults()}
	if err := s.start(ctx); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

func (o Options) withDefaults() Options {
	if o.Addr == "" {
		o.Addr = "127.0.0.1:8787"
	}
	if o.Functions == "" {
		o.Functions = "functions"
	}
	if o.Progress == nil {
		o.Progress = io.Discard
	}
	if o.LookupEnv == nil {
		o.LookupEnv = func(string) (string, bool) { return "", false }
	}
	if o.Log == nil {
		o.Log = func(string, []byte) {}
	}
	if o.LogOf == nil {
		o.LogOf = func(string, string, []byte) {}
	}
	return o
}

// start goes from what fails fastest to what takes longest: a port in use or a bad contract is told at once.
func (s *Stack) start(ctx context.Context) error {
	listener, err := net.Listen("tcp", s.options.Addr)
	if err != nil {
		return listenError(s.options.Addr, err)
	}
	closeListener := true
	defer func() {
		if closeListener {
			listener.Close()
		}
	}()
	s.URL = "http://" + reachable(listener.Addr().String()) + Path
	if err := s.load(); err != nil {
		return err
	}
	if err := s.openData(); err != nil {
		return err
	}
	if err := s.openLogs(); err != nil {
		return err
	}
	if err := s.installModules(ctx); err != nil {
		return err
	}
	if err := s.authorize(ctx); err != nil {
		return err
	}
	if err := s.build(ctx); err != nil {
		return err
	}
	if err := s.startDatabase(ctx); err != nil {
		return err
	}
	dispatcher, authorizer, err := s.startFunctions(ctx)
	if err != nil {
		return err
	}
	closeListener = false
	s.serveGateway(listener, dispatcher, authorizer)
	s.startWatch()
	return s.announce()
}

func listenError(addr string, err error) error {
	if errors.Is(err, syscall.EADDRINUSE) {
		return fmt.Errorf("%s is in use by another program; stop it, or choose another address with --addr", addr)
	}
	return fmt.Errorf("listening on %s: %w", addr, err)
}

// load reads the contracts, and tells all that is wrong with them.
func (s *Stack) load() error {
	if err := s.options.check(); err != nil {
		return err
	}
	functions, err := filepath.Abs(s.options.Functions)
	if err != nil {
		return fmt.Errorf("resolving the functions folder: %w", err)
	}
	s.options.Functions = functions
	if s.module, err = moduleRoot(functions); err != nil {
		return err
	}
	if err := s.openWatch(); err != nil {
		return err
	}
	set, problems := contract.LoadDir(functions)
	if err := problems.Err(); err != nil {
		return err
	}
	if len(set.Tools) == 0 {
		return fmt.Errorf("%s has no tools; a tool is a folder with a tool.json", s.options.Functions)
	}
	s.set, s.Warnings = set, problems.Warnings()
	if err := s.readExisting(); err != nil {
		return err
	}
	if err := s.checkTools(set.Tools); err != nil {
		return err
	}
	return nil
}

// moduleRoot returns the nearest folder at or above dir that has a go.mod.
func moduleRoot(dir string) (string, error) {
	for at := dir; ; at = filepath.Dir(at) {
		if _, err := os.Stat(filepath.Join(at, "go.mod")); err == nil {
			return at, nil
		}
		if at == filepath.Dir(at) {
			return "", fmt.Errorf("%s is in no Go module: no go.mod at or above it", dir)
		}
	}
}

// openData makes the data folder and locks it.
func (s *Stack) openData() error {
	if s.options.Data == "" {
		s.options.Data = filepath.Join(s.module, ".patchbay")
	}
	data, err := filepath.Abs(s.options.Data)
	if err != nil {
		return fmt.Errorf("resolving the data folder: %w", err)
	}
	s.options.Data = data
	if err := os.MkdirAll(data, 0o755); err != nil {
		return fmt.Errorf("making the data folder: %w", err)
	}
	lock, err := os.OpenFile(filepath.Join(data, "lock"), os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return fmt.Errorf("locking the data folder: %w", err)
	}
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		lock.Close()
		return fmt.Errorf("%s is in use by another local stack; stop it, or choose another folder with --data", data)
	}
	s.lock = lock
	return nil
}

func (s *Stack) startDatabase(ctx context.Context) error {
	engine, err := localdb.Start(ctx, localdb.Options{
		Dir: filepath.Join(s.options.Data, "dynamodb"), NodeModules: s.modules,
	})
	if err != nil {
		return err
	}
	s.engine, s.DatabaseURL, s.db = engine, engine.URL, localdb.Client(engine.URL)
	if err := registry.CreateTable(ctx, s.db, Table); err != nil {
		return fmt.Errorf("creating the catalogue's table: %w", err)
	}
	if err := ledger.CreateTable(ctx, s.db, LedgerTable); err != nil {
		return fmt.Errorf("creating the table of idempotency records: %w", err)
	}
	if err := handle.CreateTable(ctx, s.db, StateTable); err != nil {
		return fmt.Errorf("creating the table of state handles: %w", err)
	}
	return nil
}

// serve runs handler on a free port of the loopback interface and returns its URL.
func (s *Stack) serve(handler http.Handler) (string, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("listening on the loopback interface: %w", err)
	}
	server := &http.Server{Handler: handler}
	s.servers = append(s.servers, server)
	go func() { _ = server.Serve(listener) }()
	return "http://" + listener.Addr().String(), nil
}

func (s *Stack) startFunctions(ctx context.Context) (dispatcher, authorizer string, err error) {
	s.lambda = locallambda.New(locallambda.Options{Log: s.line, Observe: s.invocation})
	if s.LambdaURL, err = s.serve(s.lambda); err != nil {
		return "", "", err
	}
	issuer := ""
	if s.AuthServer != nil {
		issuer = s.AuthServer.Issuer
	}
	tracker, err := s.serve(standins.Tracker(issuer))
	if err != nil {
		return "", "", err
	}
	if err := s.startMail(); err != nil {
		return "", "", err
	}
	s.deployment = &deployment{Stack: s, serving: map[string]*served{}, systems: standins.Systems{
		TrackerURL: tracker, MailAddress: s.mail.Address, LookupEnv: s.options.LookupEnv,
	}}
	if err := s.clearVersions(); err != nil {
		return "", "", err
	}
	publications, err := s.deployment.tools()
	if err != nil {
		return "", "", err
	}
	publisher := s.Publisher()
	settings := registry.Settings{MaxCallSeconds: maxCallSeconds(s.answerWithin(s.set.Tools))}
	if err := publisher.Configure(ctx, settings); err != nil {
		return "", "", fmt.Errorf("setting how long a call may take: %w", err)
	}
	if _, err := publisher.Publish(ctx, Source, publications); err != nil {
		return "", "", s.explainConflict(fmt.Errorf("publishing the catalogue: %w", err))
	}
	if _, err := publisher.Prune(ctx); err != nil {
		return "", "", fmt.Errorf("pruning the catalogue: %w", err)
	}
	if err := s.tellStrays(ctx); err != nil {
		return "", "", err
	}
	s.Functions = map[string]string{}
	for _, publication := range publications {
		s.Functions[publication.Tool.Name] = publication.Function
	}
	return s.deployment.front()
}

func (s *Stack) serveGateway(listener net.Listener, dispatcher, authorizer string) {
	s.gateway = localgateway.NewServer(localgateway.Options{
		Routes:        s.routes(),
		FunctionARN:   dispatcher,
		AuthorizerARN: authorizer,
		Responses:     s.responses,
		Invoker:       s.lambda,
		Principals:    s.options.Principals,
		Timeout:       s.answerWithin(s.set.Tools),
		Access:        s.access,
		Logger:        slog.New(slog.NewJSONHandler(writerFunc(s.gatewayLine), nil)),
	})
	s.gateway.Handler = s.withPage(s.gateway.Handler)
	go func() { _ = s.gateway.Serve(listener) }()
}

// reachable is an address under which a program of this machine reaches a listener that may listen on all of them.
func reachable(address string) string {
	host, port, err := net.SplitHostPort(address)
	if ip := net.ParseIP(host); err == nil && ip != nil && ip.IsUnspecified() {
		return net.JoinHostPort("127.0.0.1", port)
	}
	return address
}

// answerWithin is how long the gateway waits, when these are the tools.
func (s *Stack) answerWithin(tools []*contract.Tool) time.Duration {
	if s.options.AnswerWithin > 0 {
		return s.options.AnswerWithin
	}
	longest := 29 * time.Second
	for _, tool := range tools {
		// Ten seconds for the start of an instance, as Lambda allows.
		longest = max(longest, time.Duration(tool.Contract.Execution.TimeoutSeconds)*time.Second+10*time.Second)
	}
	return min(longest, 15*time.Minute)
}

// maxCallSeconds is the server's setting for a gateway that waits so long: whole seconds, at least the one that is the
// shortest time limit of a contract.
func maxCallSeconds(answerWithin time.Duration) int { return max(1, int(answerWithin/time.Second)) }

func (s *Stack) cacheTTL() time.Duration {
	if s.options.CacheTTL != nil {
		return *s.options.CacheTTL
	}
	return 5 * time.Second
}

// Publisher returns a publisher to the stack's catalogue.
func (s *Stack) Publisher() *registry.Publisher {
	return registry.NewPublisher(s.db, Table, registry.PublisherOptions{})
}

// Lambda returns the stack's Lambda service.
func (s *Stack) Lambda() *locallambda.Service { return s.lambda }

// Done is closed when the DynamoDB engine has ended, by Close or by itself.
func (s *Stack) Done() <-chan struct{} { return s.engine.Done() }

// Close ends every child and server and returns when they are gone.
func (s *Stack) Close() {
	s.once.Do(func() {
		s.retract()
		s.watching.close()
		if s.gateway != nil {
			_ = s.gateway.Close()
		}
		if s.lambda != nil {
			s.lambda.Close()
		}
		s.watching.wait()
		for _, server := range s.servers {
			_ = server.Close()
		}
		if s.mail != nil {
			s.mail.Close()
		}
		if s.AuthServer != nil {
			s.AuthServer.Close()
		}
		if s.engine != nil {
			s.engine.Close()
		}
		s.logs.close()
		if s.lock != nil {
			_ = s.lock.Close()
		}
	})
}
