package benchmark

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"patchbay/scripts/build"
	"patchbay/scripts/localgateway"
	"patchbay/scripts/locallambda"
	"patchbay/scripts/localstack"
	"patchbay/shared/invoke"
	"patchbay/shared/mcp"
)

// stand is the local stack with the benchmark's tool, and beside it, on the same Lambda service and behind the same
// kind of gateway, the floor: a bare function that invokes another one.
type stand struct {
	dir   string
	stack *localstack.Stack
	floor *http.Server
	// floorURL is the gateway in front of the floor.
	floorURL string
	// answer is what a call is answered with on both sides.
	answer string
	// dispatcher is the environment that the stack gives its dispatcher.
	dispatcher map[string]string
}

// startStand returns the stand, which the first call starts.
func (b *bench) startStand(ctx context.Context) (*stand, error) {
	if b.stand != nil {
		return b.stand, nil
	}
	dir, err := os.MkdirTemp("", "patchbay-bench-")
	if err != nil {
		return nil, fmt.Errorf("making a data folder: %w", err)
	}
	b.stand = &stand{dir: dir}
	if err := b.stand.start(ctx, b.Module, b.Progress); err != nil {
		return nil, err
	}
	return b.stand, nil
}

func (s *stand) start(ctx context.Context, module string, progress io.Writer) (err error) {
	s.stack, err = localstack.Start(ctx, localstack.Options{
		Addr:       "127.0.0.1:0",
		Functions:  filepath.Join(module, "scripts", "benchmark", "functions"),
		Data:       filepath.Join(s.dir, "stack"),
		Progress:   progress,
		Dispatcher: func(environment map[string]string) { s.dispatcher = maps.Clone(environment) },
	})
	if err != nil {
		return fmt.Errorf("starting the local stack: %w", err)
	}
	if s.answer, err = post(ctx, http.DefaultClient, s.stack.URL, callOf(toolName)); err != nil {
		return fmt.Errorf("calling the tool: %w", err)
	}
	fmt.Fprintln(progress, "building the bare functions")
	err = build.Go(ctx, build.GoOptions{
		ModuleDir: module,
		OutDir:    s.floorDir(""),
		Packages:  []string{"./scripts/benchmark/floor/front", "./scripts/benchmark/floor/bare"},
	})
	if err != nil {
		return err
	}
	return s.startFloor()
}

func (s *stand) floorDir(name string) string { return filepath.Join(s.dir, "floor", name) }

// startFloor deploys the bare functions, with the same payloads as the real ones, and serves their gateway.
func (s *stand) startFloor() error {
	payload, err := envelope()
	if err != nil {
		return err
	}
	bare, err := s.deploy("bare", map[string]string{"BARE_ANSWER": s.answer})
	if err != nil {
		return err
	}
	front, err := s.deploy("front", map[string]string{
		"AWS_ENDPOINT_URL_LAMBDA": s.stack.LambdaURL, "FLOOR_FUNCTION": bare, "FLOOR_PAYLOAD": string(payload),
	})
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("listening on the loopback interface: %w", err)
	}
	s.floorURL = "http://" + listener.Addr().String() + localstack.Path
	s.floor = &http.Server{Handler: localgateway.New(localgateway.Options{FunctionARN: front, Invoker: s.stack.Lambda()})}
	go func() { _ = s.floor.Serve(listener) }()
	return nil
}

// deploy puts one of the bare functions on the Lambda service.
func (s *stand) deploy(name string, environment map[string]string) (string, error) {
	return s.stack.Lambda().Deploy(locallambda.Function{
		Name: name, Dir: s.floorDir(name), Env: environment, Timeout: 10 * time.Second, MemoryMB: 512,
	})
}

// envelope is the event that the dispatcher sends to the tool's function, for the second bare function to be sent as
// much.
func envelope() ([]byte, error) {
	return json.Marshal(&invoke.Request{
		Version:   invoke.Version,
		Tool:      toolName,
		Arguments: json.RawMessage(arguments),
		Meta: invoke.Meta{
			RequestID:          "00000000-0000-0000-0000-000000000000",
			ProtocolVersion:    mcp.Version20260728,
			ClientInfo:         json.RawMessage(`{"name":"bench","version":"1.0.0"}`),
			ClientCapabilities: json.RawMessage(`{}`),
		},
		Deadline: 1_800_000_000_000,
	})
}

func (s *stand) close() {
	if s.floor != nil {
		_ = s.floor.Close()
	}
	if s.stack != nil {
		s.stack.Close()
	}
	_ = os.RemoveAll(s.dir)
}
