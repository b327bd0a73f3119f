package locallambda

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/lambda"

	"patchbay/scripts/build"
)

// bootstraps is the folder of the test functions' programs.
var bootstraps string

func TestMain(m *testing.M) {
	if address := os.Getenv("LOCALLAMBDA_TEST_PARENT"); address != "" {
		beParent(address)
		return
	}
	os.Exit(runTests(m))
}

func runTests(m *testing.M) int {
	dir, err := os.MkdirTemp("", "locallambda-")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	err = build.Go(context.Background(), build.GoOptions{OutDir: dir, Packages: []string{
		"./testdata/src/careless", "./testdata/src/raw",
	}})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	bootstraps = dir
	code := m.Run()
	if leak := goroutinesLeft(); code == 0 && leak != "" {
		fmt.Fprintln(os.Stderr, "goroutines of closed services are left:\n"+leak)
		return 1
	}
	return code
}

// goroutinesLeft looks for goroutines of this package. Those that serve connections end soon after Close, so it looks
// more than once.
func goroutinesLeft() string {
	stacks := make([]byte, 1<<20)
	for range 100 {
		text := string(stacks[:runtime.Stack(stacks, true)])
		if strings.Count(text, "scripts/locallambda.(*") == 0 {
			return ""
		}
		time.Sleep(20 * time.Millisecond)
	}
	return string(stacks[:runtime.Stack(stacks, true)])
}

// harness is a service with the means to see what its functions do.
type harness struct {
	t testing.TB
	*Service
	client    *lambda.Client
	transport *http.Transport
	url       string

	mu   sync.Mutex
	logs []string
}

func newHarness(t testing.TB, options Options) *harness {
	t.Helper()
	h := &harness{t: t}
	options.Log = func(function, instance string, line []byte) {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.logs = append(h.logs, function+": "+string(line))
	}
	h.Service = New(options)
	t.Cleanup(h.Close)
	server := httptest.NewServer(h.Service)
	t.Cleanup(server.Close)
	h.url = server.URL
	h.transport = &http.Transport{}
	t.Cleanup(h.transport.CloseIdleConnections)
	h.client = h.newClient()
	return h
}

func (h *harness) newClient() *lambda.Client {
	return lambda.New(lambda.Options{
		Region: Region, BaseEndpoint: aws.String(h.url), Retryer: aws.NopRetryer{},
		Credentials: credentials.NewStaticCredentialsProvider("local", "local", ""),
		HTTPClient:  &http.Client{Transport: plainBodies{h.transport}},
	})
}

// plainBodies hides the WriteTo of request bodies. That of smithy-go 1.28.9 returns io.EOF as an error once the body is
// closed, which smithy-go does when the head of the answer is there. When that comes before net/http's writing
// goroutine has looked whether the body has more than it said, net/http takes the error for a broken request and closes
// the connection under the answer. On one machine that happens about once in three hundred streams.
type plainBodies struct{ http.RoundTripper }

func (p plainBodies) RoundTrip(r *http.Request) (*http.Response, error) {
	plain := *r
	if r.Body != nil {
		plain.Body = struct {
			io.Reader
			io.Closer
		}{r.Body, r.Body}
	}
	return p.RoundTripper.RoundTrip(&plain)
}

// stream begins to read a streamed answer, with a client of its own: streams of one client share a decoder that
// smithy-go 1.28.9 sets up without a lock.
func (h *harness) stream(ctx context.Context, function, event string) (
	*lambda.InvokeWithResponseStreamEventStream, error) {
	output, err := h.newClient().InvokeWithResponseStream(ctx, &lambda.InvokeWithResponseStreamInput{
		FunctionName: aws.String(function), Payload: []byte(event),
	})
	if err != nil {
		return nil, err
	}
	return output.GetStream(), nil
}

func (h *harness) log() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return strings.Join(h.logs, "\n")
}

var requestID = regexp.MustCompile(`RequestId: \S+`)

// lines is what the log has of one function, with request ids made alike.
func (h *harness) lines(function string) []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	var lines []string
	for _, line := range h.logs {
		if line, own := strings.CutPrefix(line, function+": "); own {
			lines = append(lines, requestID.ReplaceAllString(line, "RequestId: ID"))
		}
	}
	return lines
}

// deploy deploys a test function; the zero limits get generous values, so that only the tests of limits meet them.
func (h *harness) deploy(program string, f Function) string {
	h.t.Helper()
	f.Dir = filepath.Join(bootstraps, program)
	if f.Name == "" {
		f.Name = program
	}
	if f.Timeout == 0 {
		f.Timeout = 10 * time.Minute
	}
	if f.MemoryMB == 0 {
		f.MemoryMB = 2048
	}
	arn, err := h.Deploy(f)
	if err != nil {
		h.t.Fatal(err)
	}
	return arn
}

// invoke calls a function over HTTP and returns its answer and its FunctionError.
func (h *harness) invoke(function, event string) (payload, functionError string) {
	h.t.Helper()
	output, err := h.client.Invoke(h.t.Context(), &lambda.InvokeInput{
		FunctionName: aws.String(function), Payload: []byte(event),
	})
	if err != nil {
		h.t.Fatalf("invoking %s with %.100s: %v", function, event, err)
	}
	return string(output.Payload), aws.ToString(output.FunctionError)
}

// result calls a function that must succeed, and decodes its answer.
func (h *harness) result(function, event string) map[string]any {
	h.t.Helper()
	payload, functionError := h.invoke(function, event)
	if functionError != "" {
		h.t.Fatalf("%s with %s failed: %s", function, event, payload)
	}
	var result map[string]any
	if err := json.Unmarshal([]byte(payload), &result); err != nil {
		h.t.Fatalf("%s with %s answered %q: %v", function, event, payload, err)
	}
	return result
}

func (h *harness) pid(function string) int {
	h.t.Helper()
	return int(h.result(function, `{"do":"count"}`)["pid"].(float64))
}

// failure calls a function that must fail, and decodes the failure with its request id left out.
func (h *harness) failure(function, event string) failure {
	h.t.Helper()
	payload, functionError := h.invoke(function, event)
	if functionError != Unhandled {
		h.t.Fatalf("%s with %s did not fail: %.200s", function, event, payload)
	}
	return decodeFailure(h.t, []byte(payload))
}

func decodeFailure(t testing.TB, payload []byte) failure {
	t.Helper()
	var f failure
	if err := json.Unmarshal(payload, &f); err != nil {
		t.Fatalf("failure %q: %v", payload, err)
	}
	if rest, found := strings.CutPrefix(f.Message, "RequestId: "); found {
		_, f.Message, _ = strings.Cut(rest, " ")
	}
	return f
}

// gates lets a test hold a function at chosen points: a function that GETs a gate waits until the test opens it.
type gates struct {
	url     string
	mu      sync.Mutex
	arrived map[string]chan struct{}
	opened  map[string]chan int
}

func newGates(t testing.TB) *gates {
	g := &gates{arrived: map[string]chan struct{}{}, opened: map[string]chan int{}}
	server := httptest.NewServer(g)
	g.url = server.URL
	t.Cleanup(server.CloseClientConnections)
	return g
}

func (g *gates) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	name := strings.TrimPrefix(r.URL.Path, "/")
	arrived, opened := g.gate(name)
	select {
	case arrived <- struct{}{}:
	case <-r.Context().Done():
		return
	}
	select {
	case status := <-opened:
		w.WriteHeader(status)
	case <-r.Context().Done():
	}
}

func (g *gates) gate(name string) (arrived chan struct{}, opened chan int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.arrived[name] == nil {
		g.arrived[name], g.opened[name] = make(chan struct{}), make(chan int)
	}
	return g.arrived[name], g.opened[name]
}

// await returns when somebody waits at the gate.
func (g *gates) await(t testing.TB, name string) {
	t.Helper()
	arrived, _ := g.gate(name)
	select {
	case <-arrived:
	case <-time.After(2 * time.Minute):
		t.Fatalf("nobody came to gate %s", name)
	}
}

func (g *gates) open(name string) { g.openWith(name, http.StatusOK) }

func (g *gates) openWith(name string, status int) {
	_, opened := g.gate(name)
	opened <- status
}

// event makes an event with gates of these names.
func (g *gates) event(do string, names ...string) string {
	urls := make([]string, len(names))
	for i, name := range names {
		urls[i] = g.url + "/" + name
	}
	data, err := json.Marshal(map[string]any{"do": do, "gates": urls})
	if err != nil {
		panic(err)
	}
	return string(data)
}

// eventually waits for something that another process or goroutine is about to do.
func eventually(t testing.TB, what string, condition func() bool) {
	t.Helper()
	for range 6000 {
		if condition() {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatalf("it never came that %s", what)
}

// alive reports whether there is a process that has not ended.
func alive(pid int) bool { return syscall.Kill(pid, 0) == nil && processState(pid) != "Z" }

// processState is the state letter of proc(5), "" where it cannot be read.
func processState(pid int) string {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return ""
	}
	_, rest, _ := strings.Cut(string(stat), ") ")
	return rest[:1]
}
