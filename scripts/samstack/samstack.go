// Package samstack runs a Patchbay server under SAM CLI: the template that the CDK app synthesizes for local use, its
// functions in Docker containers with Lambda's own base images, the API in front of them, and beside them what SAM has
// no part for: the tables, the catalogue in them, and the systems that the example tools call.
package samstack

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"patchbay/infra/cdk/assembly"
	"patchbay/scripts/localauth"
	"patchbay/scripts/localdb"
	"patchbay/scripts/nodemodules"
	"patchbay/scripts/pytools"
	"patchbay/scripts/smtpsink"
	"patchbay/scripts/standins"
	"patchbay/shared/handle"
	"patchbay/shared/issuer"
	"patchbay/shared/ledger"
	"patchbay/shared/registry"
)

// Path is where the API serves the MCP endpoint.
const Path = "/mcp"

// source is the registry source under which the stack publishes.
const source = "sam"

// startWait bounds the start of SAM's services and of the dispatcher, which may wait for images to be pulled.
const startWait = 10 * time.Minute

// Options say what to run. Root is required.
type Options struct {
	// Root is the module's folder, in which SAM runs and finds samconfig.toml.
	Root string
	// Functions is the folder of functions; empty means functions in the module.
	Functions string
	// CDK is the folder of the CDK app; empty means infra/cdk in the module.
	CDK string
	// Stage names the settings in patchbay.json; empty means dev.
	Stage string
	// Data keeps the template, the tables and what is sent; empty means .patchbay/sam in the module. Two stacks cannot
	// share it.
	Data string
	// Addr is where the API listens, and LambdaAddr the Lambda service; empty means 127.0.0.1:3000 and 127.0.0.1:3001,
	// port 0 any free one.
	Addr, LambdaAddr string
	// Auth starts the local authorization server, and has the server take its tokens, asking the authorizer. AuthAddr is
	// where it listens, and so its issuer; empty means 127.0.0.1:3002.
	Auth     bool
	AuthAddr string
	// Only leaves out SAM's own services, for whoever starts them by hand.
	Only Part
	// DockerHost is the address of the Docker engine; empty means SAM's default.
	DockerHost string
	// LookupEnv gives the settings that contracts leave to the deployment, by name; nil means none.
	LookupEnv func(string) (string, bool)
	// Progress gets a line for each step that takes long; nil drops it.
	Progress io.Writer
	// Log gets what SAM and the functions write, a line at a time; nil drops it.
	Log func(from string, line []byte)
}

// Part says how much of a stack is started.
type Part int

// Everything; or what SAM's own commands need around them; or what they read.
const (
	All Part = iota
	Data
	Template
)

// Stack is a running server. Close ends every part of it.
type Stack struct {
	// URL is the MCP endpoint.
	URL string
	// DatabaseURL is the DynamoDB engine, and LambdaURL the Lambda service.
	DatabaseURL, LambdaURL string
	// Tools are the qualified ARNs of the published functions, by the tool's name, and Names those by which SAM knows
	// them, by the tool's folder.
	Tools, Names map[string]string
	// SignIn is the authorization server; nil without Options.Auth.
	SignIn *localauth.Server

	metadata  *issuer.Metadata // of SignIn
	options   Options
	sam       string // the program
	modules   string // the folder node_modules
	docker    *engine
	bridge    netip.Prefix // where containers find this machine; not valid: at its loopback interface
	template  *assembly.Stack
	functions []function
	published []registry.Publication

	databaseAddr string
	systems      standins.Systems
	database     *localdb.Engine
	db           *dynamodb.Client
	mail         *smtpsink.Server
	servers      []*http.Server
	relays       []*relay
	services     []*service
	lock         *os.File
	done         chan struct{}
	ended        string // read when done is closed
	once         sync.Once
}

// Start runs a stack and returns when it answers. ctx bounds the start. The error wraps ErrNoDocker where there is no
// Docker, and is one clear message otherwise.
func Start(ctx context.Context, options Options) (*Stack, error) {
	s := &Stack{done: make(chan struct{})}
	var err error
	if s.options, err = options.withDefaults(); err != nil {
		return nil, err
	}
	if err := s.start(ctx); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

func (o Options) withDefaults() (Options, error) {
	root, err := filepath.Abs(o.Root)
	if err != nil {
		return o, fmt.Errorf("locating %s: %w", o.Root, err)
	}
	o.Root = root
	for _, folder := range []struct {
		value   *string
		absence string
	}{
		{&o.Functions, "functions"}, {&o.CDK, "infra/cdk"}, {&o.Data, ".patchbay/sam"},
	} {
		if *folder.value == "" {
			*folder.value = filepath.Join(root, filepath.FromSlash(folder.absence))
		}
		if *folder.value, err = filepath.Abs(*folder.value); err != nil {
			return o, fmt.Errorf("locating %s: %w", *folder.value, err)
		}
	}
	for value, absence := range map[*string]string{
		&o.Stage: "dev", &o.Addr: "127.0.0.1:3000", &o.LambdaAddr: "127.0.0.1:3001", &o.AuthAddr: "127.0.0.1:3002",
	} {
		if *value == "" {
			*value = absence
		}
	}
	if o.Progress == nil {
		o.Progress = io.Discard
	}
	if o.Log == nil {
		o.Log = func(string, []byte) {}
	}
	return o, nil
}

// start goes from what fails fastest to what takes longest.
func (s *Stack) start(ctx context.Context) (err error) {
	if s.options.Only != Template {
		if s.docker, err = openEngine(ctx, s.options.DockerHost); err != nil {
			return err
		}
		if s.bridge, err = s.docker.bridge(ctx); err != nil {
			return err
		}
	}
	if err := s.openData(); err != nil {
		return err
	}
	if err := s.chooseAddresses(); err != nil {
		return err
	}
	if err := s.install(ctx); err != nil {
		return err
	}
	if err := s.startAuthorizationServer(ctx); err != nil {
		return err
	}
	if err := s.synthesize(ctx); err != nil {
		return err
	}
	if s.options.Only != Template {
		if err := s.startData(ctx); err != nil {
			return err
		}
	}
	if err := s.writeEnvironment(); err != nil {
		return err
	}
	if s.options.Only != All {
		return nil
	}
	return s.startServices(ctx)
}

// openData makes the data folder, closes it to other users of this machine, and locks it. Keys and secrets are in it,
// in files that the user of a container must be able to read, whoever that is; a container gets a folder below this one
// mounted, and so does not go through it.
func (s *Stack) openData() error {
	if err := os.MkdirAll(s.options.Data, 0o700); err != nil {
		return fmt.Errorf("making the data folder: %w", err)
	}
	if err := os.Chmod(s.options.Data, 0o700); err != nil { // one from before may be open
		return fmt.Errorf("closing the data folder to other users: %w", err)
	}
	lock, err := os.OpenFile(filepath.Join(s.options.Data, "lock"), os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return fmt.Errorf("locking the data folder: %w", err)
	}
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		lock.Close()
		return fmt.Errorf("%s is in use by another SAM stack; stop it, or choose another folder with --data", s.options.Data)
	}
	s.lock = lock
	return nil
}

// chooseAddresses finds out early that an address is taken, and free ports where any will do.
func (s *Stack) chooseAddresses() error {
	for _, address := range []*string{&s.options.Addr, &s.options.LambdaAddr} {
		if s.options.Only != All && !strings.HasSuffix(*address, ":0") {
			continue
		}
		listener, err := listen(*address)
		if err != nil {
			return fmt.Errorf("%s is not free for SAM; stop what listens there, or choose another address: %w", *address, err)
		}
		*address = listener.Addr().String()
		listener.Close()
	}
	return nil
}

// listen is net.Listen, but for port 0, which is here any free one below those that systems give away by themselves:
// between its choice and the start of SAM, seconds later, one of those may go to somebody else.
func listen(address string) (net.Listener, error) {
	host, isAny := strings.CutSuffix(address, ":0")
	if !isAny {
		return net.Listen("tcp", address)
	}
	const lowest, givenAway, tries = 20000, 32768, 100
	var taken error
	for range tries {
		port := strconv.Itoa(lowest + rand.IntN(givenAway-lowest))
		listener, err := net.Listen("tcp", host+":"+port)
		if err == nil {
			return listener, nil
		}
		taken = err
	}
	return nil, taken
}

// install makes sure of the programs that are run.
func (s *Stack) install(ctx context.Context) error {
	modules, err := nodemodules.InstallFor(ctx, nodemodules.Options{
		Root: s.options.Root, Progress: s.options.Progress,
	})
	if err != nil {
		return err
	}
	s.modules = modules
	bin, err := pytools.SAM(ctx, s.options.Root, s.options.Progress)
	s.sam = filepath.Join(bin, "sam")
	return err
}

// startData starts the tables and the systems that tools call, leads containers to them, and publishes the catalogue.
func (s *Stack) startData(ctx context.Context) error {
	database, err := localdb.Start(ctx, localdb.Options{
		Dir: filepath.Join(s.options.Data, "dynamodb"), NodeModules: s.modules, Names: []string{containerHost},
	})
	if err != nil {
		return err
	}
	s.database, s.DatabaseURL, s.db = database, database.URL, localdb.Client(database.URL)
	s.databaseAddr = strings.TrimPrefix(database.URL, "http://")
	tracker, err := s.serve(standins.Tracker(""))
	if err != nil {
		return err
	}
	s.mail, err = smtpsink.Start("127.0.0.1:0", smtpsink.Options{
		File:     filepath.Join(s.options.Data, "mail.jsonl"),
		Received: func(m smtpsink.Message) { s.options.Log("mail", []byte(m.String())) },
	})
	if err != nil {
		return fmt.Errorf("starting the mail server: %w", err)
	}
	s.systems = standins.Systems{
		TrackerURL: "http://" + s.toContainers(tracker), MailAddress: s.toContainers(s.mail.Address),
		LookupEnv: s.options.LookupEnv,
	}
	led := []string{s.databaseAddr, tracker, s.mail.Address, s.options.LambdaAddr}
	if s.SignIn != nil {
		led = append(led, s.signInAddress())
	}
	if err := s.lead(led...); err != nil {
		return err
	}
	return s.publish(ctx)
}

// serve runs handler on a free port of the loopback interface and returns its address.
func (s *Stack) serve(handler http.Handler) (string, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("listening on the loopback interface: %w", err)
	}
	server := &http.Server{Handler: handler}
	s.servers = append(s.servers, server)
	go func() { _ = server.Serve(listener) }()
	return listener.Addr().String(), nil
}

// discardPort is one that nothing answers at.
const discardPort = "9"

// toContainers is the address under which containers reach one of the loopback interface. What is not started gets an
// address that leads nowhere: without any, functions would look for it in the account whose keys SAM finds.
func (s *Stack) toContainers(address string) string {
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		port = discardPort
	}
	return net.JoinHostPort(containerHost, port)
}

// lead makes addresses of the loopback interface reachable from containers, where they are not so already.
func (s *Stack) lead(addresses ...string) error {
	if !s.bridge.IsValid() {
		return nil
	}
	for _, address := range addresses {
		relay, err := startRelay(s.bridge, address)
		if err != nil {
			return err
		}
		s.relays = append(s.relays, relay)
	}
	return nil
}

func (s *Stack) createRegistry(ctx context.Context, name string) error {
	return registry.CreateTable(ctx, s.db, name)
}

func (s *Stack) createLedger(ctx context.Context, name string) error {
	return ledger.CreateTable(ctx, s.db, name)
}

func (s *Stack) createState(ctx context.Context, name string) error {
	return handle.CreateTable(ctx, s.db, name)
}

// startServices starts SAM's two services and waits until the server answers through both.
func (s *Stack) startServices(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startWait)
	defer cancel()
	fmt.Fprintln(s.options.Progress, "starting sam local start-lambda and sam local start-api")
	for _, service := range []struct{ command, address string }{
		{"start-lambda", s.options.LambdaAddr}, {"start-api", s.options.Addr},
	} {
		if err := s.startService(service.command, service.address); err != nil {
			return err
		}
	}
	for i, address := range []string{s.options.LambdaAddr, s.options.Addr} {
		if err := s.services[i].await(ctx, address); err != nil {
			return err
		}
	}
	s.URL, s.LambdaURL = "http://"+s.options.Addr+Path, "http://"+s.options.LambdaAddr
	fmt.Fprintln(s.options.Progress, "starting the dispatcher's container, for which SAM pulls an image where it has none")
	if err := s.discover(ctx); err != nil {
		return fmt.Errorf("asking the server what it is: %w: %s", err, s.services[1].last.String())
	}
	return nil
}

func (s *Stack) startService(command, address string) error {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return fmt.Errorf("reading the address of sam local %s: %w", command, err)
	}
	started, err := startService(s.sam, s.options.Root, s.options.DockerHost, s.options.Log, "local", command,
		"--template", s.TemplateFile(), "--env-vars", s.EnvironmentFile(), "--host", host, "--port", port,
		"--add-host", containerHost+":host-gateway", "--warm-containers", "LAZY", "--region", region,
		// Docker pulls a base image that is missing all the same; this keeps SAM from asking a registry at every start.
		"--skip-pull-image")
	if err != nil {
		return err
	}
	s.services = append(s.services, started)
	go func() {
		<-started.done
		s.end(started.name + ": " + started.last.String())
	}()
	return nil
}

// end says that a part has ended, and what it said last.
func (s *Stack) end(last string) {
	s.once.Do(func() {
		s.ended = last
		close(s.done)
	})
}

// Ended is what the part said that ended first, when Done is closed.
func (s *Stack) Ended() string { return s.ended }

// Done is closed when a part of the stack has ended, by Close or by itself.
func (s *Stack) Done() <-chan struct{} { return s.done }

// Close ends every part and returns when they are gone, containers included. It is called once.
func (s *Stack) Close() {
	s.end("")
	s.stopServices()
	for _, relay := range s.relays {
		relay.close()
	}
	for _, server := range s.servers {
		_ = server.Close()
	}
	if s.mail != nil {
		s.mail.Close()
	}
	if s.database != nil {
		s.database.Close()
	}
	if s.SignIn != nil {
		s.SignIn.Close()
	}
	if s.lock != nil {
		_ = s.lock.Close()
	}
}

// stopServices ends SAM's services side by side, since each takes its time with its containers.
func (s *Stack) stopServices() {
	var group sync.WaitGroup
	for _, service := range s.services {
		group.Go(func() {
			if err := service.stop(); err != nil {
				fmt.Fprintln(s.options.Progress, err)
			}
		})
	}
	group.Wait()
	if len(s.services) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), stopWait)
	defer cancel()
	if err := s.docker.removeContainers(ctx, s.options.Data); err != nil {
		fmt.Fprintln(s.options.Progress, err)
	}
}
