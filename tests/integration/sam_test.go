package integration

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"patchbay/scripts/build"
	"patchbay/scripts/pytools"
	"patchbay/scripts/samstack"
	"patchbay/tests/integration/clients"
	"patchbay/tests/integration/docker"
	"patchbay/tests/integration/wire"
)

// TestSAM runs the same template under SAM CLI: real clients with the example tools, and the wire conversations with
// the fixture tools, through sam local start-api with the tools in sam local start-lambda. It needs Docker. Where CI is
// set it always runs, with an engine of its own where none is reachable that can get Lambda's images.
func TestSAM(t *testing.T) {
	t.Parallel()
	host := dockerHost(t)
	// The stacks start one after another, since both build and synthesize, and are then talked to at the same time: SAM
	// takes a second for every call, in which nothing happens.
	t.Run("examples", func(t *testing.T) {
		stack := startSAM(t, host, "sam-examples", filepath.Join(root, "functions"))
		t.Parallel()
		t.Run("clients", func(t *testing.T) { samClients(t, stack) })
		t.Run("events", func(t *testing.T) { samEvents(t, stack) })
		t.Run("commands", func(t *testing.T) { samCommands(t, stack, host) })
	})
	t.Run("tokens", func(t *testing.T) {
		stack := startSAM(t, host, "sam-tokens", filepath.Join(root, "functions"), func(o *samstack.Options) {
			o.Auth, o.AuthAddr = true, "127.0.0.1:0"
		})
		t.Parallel()
		samTokens(t, stack, host)
	})
	t.Run("fixtures", func(t *testing.T) {
		stack := startSAM(t, host, "sam-fixtures", filepath.Join(root, "tests", "integration", "functions"))
		t.Parallel()
		samConversations(t, stack)
	})
}

// dockerHost returns the address of an engine that has Lambda's base images.
func dockerHost(t *testing.T) string {
	t.Helper()
	engine, err := docker.Reachable(t.Context())
	if err == nil {
		err = baseImages(t, engine)
	}
	if err == nil {
		return os.Getenv("DOCKER_HOST")
	}
	if !required {
		t.Skipf("SAM runs functions in Docker with Lambda's base images: %v", err)
	}
	if engine, err = docker.Start(t.Context(), t.TempDir(), os.Stderr); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closeEngine(t, engine) })
	if err := baseImages(t, engine); err != nil {
		t.Fatal(err)
	}
	return engine.Host
}

// closeEngine ends the engine, in which no stack may have left a container behind.
func closeEngine(t *testing.T, engine *docker.Engine) {
	left, err := engine.Containers(context.Background())
	if err != nil || left != "" {
		t.Errorf("containers are left: %s, %v", left, err)
	}
	if err := engine.Close(); err != nil {
		t.Error(err)
	}
}

// baseImages makes sure of the images that SAM takes for the runtimes of tools, under the names that it gives them.
func baseImages(t *testing.T, engine *docker.Engine) error {
	t.Helper()
	processor := map[string]string{"amd64": "x86_64"}[runtime.GOARCH]
	if processor == "" {
		processor = "arm64"
	}
	interpreters, err := filepath.Glob(filepath.Join(dataOf("examples"), "python-*", "bin", "python"))
	if err != nil || len(interpreters) == 0 {
		return fmt.Errorf("the local stack has installed no runtime client for Python: %v", err)
	}
	programs := docker.Programs{
		Python: interpreters[0], Node: filepath.Join(root, "node_modules", "node", "bin", "node"),
		NodeRuntime: filepath.Join(root, "scripts", "localstack", "node-runtime.mjs"),
	}
	for _, name := range []string{
		"provided:al2023", strings.Replace(build.PythonRuntime, "python", "python:", 1),
		strings.TrimSuffix(strings.Replace(build.NodeRuntime, "nodejs", "nodejs:", 1), ".x"),
	} {
		image := "public.ecr.aws/lambda/" + name + "-" + processor
		standIn, err := engine.Ensure(t.Context(), image, programs)
		if err != nil {
			return err
		}
		if standIn {
			t.Logf("%s cannot be pulled here; a stand-in takes its place", image)
		}
	}
	return nil
}

func startSAM(
	t *testing.T, host, name, functions string, change ...func(*samstack.Options),
) *samstack.Stack {
	t.Helper()
	data := dataOf(name)
	// What an earlier run recorded would be replayed.
	if err := os.RemoveAll(filepath.Join(data, "dynamodb")); err != nil {
		t.Fatal(err)
	}
	log := &logLines{}
	options := samstack.Options{
		Root: root, Functions: functions, Data: data, Addr: "127.0.0.1:0", LambdaAddr: "127.0.0.1:0", DockerHost: host,
		Log: log.add,
	}
	for _, each := range change {
		each(&options)
	}
	stack, err := samstack.Start(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		stack.Close()
		if t.Failed() {
			t.Logf("SAM and its functions wrote:\n%s", strings.Join(log.find(), "\n"))
		}
	})
	return stack
}

// samClients are those that take part, with what they call: each call takes SAM two seconds.
func samClients(t *testing.T, stack *samstack.Stack) {
	calls := map[string][]exampleCall{"go": exampleCalls, "typescript pinned": oneCallOfEach()}
	seen := 0
	clients.Each(t, root, required, func(t *testing.T, client clients.Client) {
		if calls[client.Name] == nil {
			t.Skip("does not take part with SAM")
		}
		seen++
		callExamples(t, client, stack.URL, calls[client.Name])
	})
	if seen == 0 && required {
		t.Error("no client took part")
	}
}

func callExamples(t *testing.T, client clients.Client, url string, calls []exampleCall) {
	t.Helper()
	script := make([]clients.Call, len(calls))
	for i, c := range calls {
		script[i] = clients.Call{Tool: c.tool, Arguments: json.RawMessage(c.arguments)}
	}
	report := client.Call(t, url, script...)
	if len(report.Tools) != len(exampleNames()) {
		t.Errorf("lists %v, want %v", report.Tools, exampleNames())
	}
	for i, c := range calls {
		if err := checkExample(report.Calls[i], c.says, c.failed); err != nil {
			t.Errorf("%s %s: %v", c.tool, c.arguments, err)
		}
	}
}

// samEvents sends every sample event to its function. A basket's handle cannot be known in advance.
func samEvents(t *testing.T, stack *samstack.Stack) {
	for folder, function := range stack.Names {
		t.Run(folder, func(t *testing.T) {
			event, err := os.ReadFile(filepath.Join(root, "tests", "events", folder+".json"))
			if err != nil {
				t.Fatal(err)
			}
			url := stack.LambdaURL + "/2015-03-31/functions/" + function + "/invocations"
			response, err := http.Post(url, "application/json", bytes.NewReader(event))
			if err != nil {
				t.Fatal(err)
			}
			defer response.Body.Close()
			body, err := io.ReadAll(response.Body)
			if err != nil {
				t.Fatal(err)
			}
			needsBasket := bytes.Contains(event, []byte("bsk_"))
			if failed := bytes.Contains(body, []byte(`"isError": true`)); failed != needsBasket {
				t.Errorf("answers %s", body)
			}
			if fault := response.Header.Get("X-Amz-Function-Error"); response.StatusCode != http.StatusOK || fault != "" {
				t.Errorf("status %d, function error %q: %s", response.StatusCode, fault, body)
			}
		})
	}
}

// samCommands runs SAM's own commands as a person does from the root, with nothing but samconfig.toml: in a folder that
// looks like it, since the root's own data belong to whoever runs ./scripts/sam there.
func samCommands(t *testing.T, stack *samstack.Stack, host string) {
	bin, err := pytools.SAM(t.Context(), root, os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	link(t, "samconfig.toml", filepath.Join(dir, "samconfig.toml"))
	link(t, "tests", filepath.Join(dir, "tests"))
	link(t, filepath.Dir(stack.EnvironmentFile()), filepath.Join(dir, ".patchbay", "sam"))
	run := func(args ...string) string {
		t.Helper()
		cmd := samCommand(t, bin, host, args...)
		cmd.Dir = dir
		var log bytes.Buffer
		cmd.Stderr = &log
		output, err := cmd.Output()
		if err != nil {
			t.Fatalf("sam %s: %v\n%s%s", strings.Join(args, " "), err, output, log.Bytes())
		}
		return string(output)
	}
	if got := run("validate"); !strings.Contains(got, "is a valid SAM Template") {
		t.Errorf("sam validate says %s", got)
	}
	got := run("local", "invoke", stack.Names["get_weather"], "--event", "tests/events/get_weather.json")
	if !strings.Contains(got, `"structuredContent"`) {
		t.Errorf("sam local invoke answers %s", got)
	}
}

// samCommand is one of SAM's own commands.
func samCommand(t *testing.T, bin, host string, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), filepath.Join(bin, "sam"), args...)
	cmd.Env = append(cmd.Environ(), "SAM_CLI_TELEMETRY=0")
	if host != "" {
		cmd.Env = append(cmd.Env, "DOCKER_HOST="+host)
	}
	return cmd
}

// link makes a symbolic link to a file below the root, or to one with an absolute path.
func link(t *testing.T, target, name string) {
	t.Helper()
	if !filepath.IsAbs(target) {
		target = filepath.Join(root, target)
	}
	absolute, err := filepath.Abs(target)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(absolute, name); err != nil {
		t.Fatal(err)
	}
}

// What SAM CLI 1.170 cannot do, and so cannot pass. A case that is listed and passes fails the test, too, so that the
// list stays true.
const (
	cannotStream = "SAM's API cannot read a streamed answer, so nothing but the result is sent"
	joinsHeaders = "SAM joins a header that comes twice by a comma, where API Gateway keeps both or the last"
	breaksLarge  = "SAM's API fails on a large body before the dispatcher sees it; the gateway's own limits are not there"
	reencodes    = "SAM decodes what a function returns and writes it anew"
)

var beyondSAM = map[string]string{
	"content and members that nobody knows":          reencodes,
	"old version header twice with different values": joinsHeaders,
	"old version header twice with the same value":   joinsHeaders,
	"version header twice with the same value":       joinsHeaders,
	"Mcp-Name twice with the same value":             joinsHeaders,
	"body over 10 MB":                                breaksLarge,
	"body over 6 MB":                                 breaksLarge,
	"bytes that are not UTF-8":                       "SAM decodes every body as UTF-8 and fails",
	"old progress on the call's own stream":          cannotStream,
	"the tool crashes after its first progress":      cannotStream,
	"progress with an integer token":                 cannotStream,
	"progress with a string token":                   cannotStream,
	"progress with an empty token":                   cannotStream,
	"progress token beyond 2^53 comes back exact":    cannotStream,
	"a stream asks proxies not to buffer":            cannotStream,
}

// samConversations plays the wire conversations, many at a time.
func samConversations(t *testing.T, stack *samstack.Stack) {
	const players = 12
	work := make(chan *wire.Case)
	outcomes := &sync.Map{}
	var group sync.WaitGroup
	for range players {
		group.Go(func() {
			for c := range work {
				outcomes.Store(c, playPatiently(t.Context(), c, stack.URL))
			}
		})
	}
	var cases []*wire.Case
	for _, name := range wire.Names() {
		loaded, err := wire.Load(name)
		if err != nil {
			t.Fatal(err)
		}
		cases = append(cases, loaded...)
	}
	for _, c := range cases {
		work <- c
	}
	close(work)
	group.Wait()
	listed := 0
	for _, c := range cases {
		reason, beyond := beyondSAM[c.Name]
		if beyond {
			listed++
		}
		value, _ := outcomes.Load(c)
		err, _ := value.(error)
		switch {
		case beyond && err == nil:
			t.Errorf("%s:%d passes under SAM, and is listed as what cannot: %s", c.File, c.Line, reason)
		case !beyond && err != nil:
			t.Errorf("%s:%d [%s: %s]: %v", c.File, c.Line, c.Level, c.Source, err)
		}
	}
	if listed != len(beyondSAM) {
		t.Errorf("%d of the %d cases that are listed exist", listed, len(beyondSAM))
	}
}

// playPatiently plays a case a second time where the first was not answered in time: a container that starts while many
// others do may take longer than a case waits.
func playPatiently(ctx context.Context, c *wire.Case, url string) error {
	err := c.Play(ctx, url)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		time.Sleep(time.Second)
		err = c.Play(ctx, url)
	}
	return err
}
