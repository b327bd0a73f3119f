package localgateway

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/google/go-cmp/cmp"

	"patchbay/scripts/build"
	"patchbay/scripts/locallambda"
	"patchbay/shared/gatewayresponse"
)

// The tests run two real Lambdas: testdata/probe behind the gateway, and testdata/judge, which decides who may call it.
var (
	lambdas      *locallambda.Service
	probe, judge string // their ARNs
	probeDir     string
)

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "localgateway")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	err = build.Go(context.Background(), build.GoOptions{
		ModuleDir: "../..", OutDir: dir, Packages: []string{
			"./scripts/localgateway/testdata/probe", "./scripts/localgateway/testdata/judge",
		},
	})
	if err != nil {
		panic(err)
	}
	probeDir = filepath.Join(dir, "probe")
	lambdas = locallambda.New(locallambda.Options{})
	defer lambdas.Close()
	probe, err = lambdas.Deploy(locallambda.Function{Name: "probe", Dir: probeDir, Timeout: time.Minute})
	if err != nil {
		panic(err)
	}
	judge, err = lambdas.Deploy(locallambda.Function{
		Name: "judge", Dir: filepath.Join(dir, "judge"), Timeout: time.Minute,
	})
	if err != nil {
		panic(err)
	}
	return m.Run()
}

// start serves the API; empty fields of options are the probe's.
func start(t *testing.T, options Options) *httptest.Server {
	t.Helper()
	options.Invoker = lambdas
	if options.FunctionARN == "" {
		options.FunctionARN = probe
	}
	options.Logger = slog.New(slog.DiscardHandler)
	server := httptest.NewServer(New(options))
	t.Cleanup(server.Close)
	return server
}

func post(t *testing.T, server *httptest.Server, action, body string) *http.Response {
	t.Helper()
	return do(t, request(t, server, action, body))
}

func request(t *testing.T, server *httptest.Server, action, body string) *http.Request {
	t.Helper()
	r, err := http.NewRequest(http.MethodPost, server.URL+"/mcp", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Probe", action)
	return r
}

func do(t *testing.T, r *http.Request) *http.Response {
	t.Helper()
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { response.Body.Close() })
	return response
}

func readAll(t *testing.T, response *http.Response) string {
	t.Helper()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}

func TestEventIsTheOneOfAWS(t *testing.T) {
	t.Parallel()
	server := start(t, Options{})
	r := request(t, server, "event", `{"text":"ü <b>"}`)
	r.URL.RawQuery = "a=1&a=2"
	r.Header["Mcp-Name"] = []string{"get_weather", "drop_table"}
	r.Header.Set("X-List", "a, b")
	r.Header.Set("Authorization", "Bearer token")
	r.Header.Set("X-Forwarded-For", "198.51.100.7")
	for _, name := range []string{"Content-Md5", "Expect", "Max-Forwards", "Te", "Server", "Www-Authenticate", "Upgrade"} {
		r.Header.Set(name, "x")
	}
	r.Header.Set("Expect", "100-continue")
	var e events.APIGatewayProxyRequest
	response := do(t, r)
	raw := readAll(t, response)
	decoder := json.NewDecoder(strings.NewReader(raw))
	if err := decoder.Decode(&e); err != nil {
		t.Fatal(err)
	}
	host := strings.TrimPrefix(server.URL, "http://")
	trace := response.Header.Get("X-Amzn-Trace-Id")
	wantMulti := map[string][]string{
		"Accept-Encoding": {"gzip"}, "Authorization": {"Bearer token"}, "Host": {host},
		"Mcp-Name": {"get_weather", "drop_table"}, "Probe": {"event"}, "User-Agent": {"Go-http-client/1.1"},
		"X-Amzn-Trace-Id": {trace}, "X-Forwarded-For": {"198.51.100.7, 127.0.0.1"},
		"X-Forwarded-Port": {host[strings.Index(host, ":")+1:]}, "X-Forwarded-Proto": {"http"}, "X-List": {"a, b"},
	}
	wantSingle := map[string]string{}
	for name, values := range wantMulti {
		wantSingle[name] = values[len(values)-1]
	}
	if diff := cmp.Diff(wantMulti, e.MultiValueHeaders); diff != "" {
		t.Errorf("multiValueHeaders (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(wantSingle, e.Headers); diff != "" {
		t.Errorf("headers (-want +got):\n%s", diff)
	}
	c := e.RequestContext
	got := []any{
		e.Resource, e.Path, e.HTTPMethod, e.QueryStringParameters, e.MultiValueQueryStringParameters, e.Body,
		e.IsBase64Encoded, c.Path, c.Stage, c.ResourcePath, c.HTTPMethod, c.Identity.SourceIP, c.Protocol, c.RequestID,
		c.ExtendedRequestID, c.RequestTimeEpoch > 0,
	}
	want := []any{
		"/mcp", "/mcp", "POST", map[string]string{"a": "2"}, map[string][]string{"a": {"1", "2"}}, `{"text":"ü <b>"}`,
		false, "/local/mcp", "local", "/mcp", "POST", "127.0.0.1", "HTTP/1.1", response.Header.Get("X-Amzn-Requestid"),
		response.Header.Get("X-Amz-Apigw-Id"), true,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("event (-want +got):\n%s", diff)
	}
	if trace == "" || c.RequestID == "" || c.ExtendedRequestID == "" {
		t.Errorf("ids are missing in %s", raw)
	}
}

func TestEventWithoutBodyAndQuery(t *testing.T) {
	t.Parallel()
	server := start(t, Options{})
	r := request(t, server, "event", "")
	r.Method = http.MethodGet
	r.Header.Set("X-HTTP-Method-Override", "DELETE")
	raw := readAll(t, do(t, r))
	for _, want := range []string{
		`"body":null`, `"queryStringParameters":null`, `"multiValueQueryStringParameters":null`, `"pathParameters":null`,
		`"httpMethod":"DELETE"`,
	} {
		if !strings.Contains(raw, want) {
			t.Errorf("no %s in %s", want, raw)
		}
	}
}

func TestAnswerHeader(t *testing.T) {
	t.Parallel()
	server := start(t, Options{})
	asked := `{"status":401,"header":{"WWW-Authenticate":["Bearer realm=\"x\""],"Server":["mine"],"Date":["never"],
		"User-Agent":["a"],"Authorization":["b"],"Max-Forwards":["3"],"Via":["1.1 me"],"Host":["h"],"Expect":["e"],
		"X-Many":["1","2"],"X-One":["1"],"Set-Cookie":["a=1","b=2"],"X-Amzn-Requestid":["forged"]},"body":"{}"}`
	response := post(t, server, "answer", asked)
	if response.StatusCode != 401 || readAll(t, response) != "{}" {
		t.Errorf("status %d", response.StatusCode)
	}
	header := response.Header
	for _, name := range []string{"X-Amzn-Requestid", "X-Amz-Apigw-Id", "X-Amzn-Trace-Id", "Date"} {
		if value := header.Get(name); value == "" || value == "forged" || value == "never" {
			t.Errorf("%s: %q", name, value)
		}
		header.Del(name)
	}
	want := http.Header{
		"X-Amzn-Remapped-Www-Authenticate": {`Bearer realm="x"`}, "X-Amzn-Remapped-Server": {"mine"},
		"X-Amzn-Remapped-Date": {"never"}, "X-Amzn-Remapped-User-Agent": {"a"}, "X-Amzn-Remapped-Authorization": {"b"},
		"X-Amzn-Remapped-Max-Forwards": {"3"}, "X-Many": {"1", "2"}, "X-One": {"1"}, "Set-Cookie": {"a=1", "b=2"},
		"Content-Type": {"application/json"},
	}
	if diff := cmp.Diff(want, header); diff != "" {
		t.Errorf("header (-want +got):\n%s", diff)
	}
}

func TestGatewayResponses(t *testing.T) {
	t.Parallel()
	probed := func(action string) func(*http.Request) {
		return func(r *http.Request) { r.Header.Set("Probe", action) }
	}
	sized := func(size int) func(*http.Request) {
		return func(r *http.Request) {
			r.Body, r.ContentLength = io.NopCloser(strings.NewReader(strings.Repeat("x", size))), int64(size)
		}
	}
	tests := []struct {
		name    string
		options Options
		change  func(*http.Request)
		want    refusal
		status  int
	}{
		{"unknown route", Options{}, func(r *http.Request) { r.URL.Path = "/other" }, unknownRoute, 404},
		{"other path", Options{Routes: []Route{{Path: "/tools"}}}, func(*http.Request) {}, unknownRoute, 404},
		{"header too long", Options{}, func(r *http.Request) { r.Header.Set("X-Long", strings.Repeat("x", 10240)) },
			headerTooLong, 431},
		{"body too long", Options{}, sized(maxBody + 1), bodyTooLong, 413},
		{"event too long", Options{}, sized(maxBody), eventTooLong, 413},
		{"overriding method that is none", Options{}, func(r *http.Request) {
			r.Header.Set("X-HTTP-Method-Override", "P ST")
		}, badRequest, 400},
		{"overriding method beyond ASCII", Options{}, func(r *http.Request) {
			r.Header.Set("X-HTTP-Method-Override", "PÖST")
		}, badRequest, 400},
		{"no such function", Options{FunctionARN: "nobody:1"}, func(*http.Request) {}, integrationFailed, 502},
		{"function fails", Options{}, probed("fail"), integrationFailed, 502},
		{"function exits", Options{}, probed("exit"), integrationFailed, 502},
		{"no prelude", Options{}, probed("no prelude"), badAnswer, 502},
		{"bad prelude", Options{}, probed("bad prelude"), badAnswer, 502},
		{"long prelude", Options{}, probed("long prelude"), badAnswer, 502},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			r := request(t, start(t, test.options), "event", "{}")
			test.change(r)
			checkRefused(t, do(t, r), test.want, test.status)
		})
	}
}

// checkRefused checks the answer against what the deployed API says, when it has no authorizer: an error of the
// protocol that names the request, or the text of what API Gateway refuses before there is one.
func checkRefused(t *testing.T, response *http.Response, want refusal, status int) {
	t.Helper()
	checkRefusedBy(t, response, gatewayresponse.Options{}, want, status)
}

// checkRefusedBy is checkRefused for an API with other responses, where they do not depend on the caller.
func checkRefusedBy(
	t *testing.T, response *http.Response, options gatewayresponse.Options, want refusal, status int,
) {
	t.Helper()
	body, id := readAll(t, response), response.Header.Get("X-Amzn-Requestid")
	deployed := gatewayresponse.For(options).Of(want.response)
	wantBody := want.text
	if want.response != "" {
		wantBody = deployed.Body(id, nil)
	}
	if response.StatusCode != status || body != wantBody {
		t.Errorf("got %d %s, want %d %s", response.StatusCode, body, status, wantBody)
	}
	if kind := response.Header.Get("X-Amzn-Errortype"); kind != want.kind {
		t.Errorf("x-amzn-ErrorType %q, want %q", kind, want.kind)
	}
	if want.response == "" {
		return
	}
	var said struct {
		JSONRPC string
		Error   struct{ Data struct{ RequestID string } }
	}
	if err := json.Unmarshal([]byte(body), &said); err != nil || said.JSONRPC != "2.0" || id == "" ||
		said.Error.Data.RequestID != id {
		t.Errorf("%v in %s; want an error that names %q", err, body, id)
	}
	for name, expression := range deployed.Header() {
		if got, value := response.Header.Get(name), strings.Trim(expression, "'"); got != value {
			t.Errorf("%s: %q, want %q", name, got, value)
		}
	}
}

// AWS does not pass on that a function is throttled; a 429 of the function's own is an answer like any other.
func TestThrottling(t *testing.T) {
	t.Parallel()
	arn, err := lambdas.Deploy(locallambda.Function{
		Name: "throttled", Dir: probeDir, Timeout: time.Minute, Concurrency: 1,
	})
	if err != nil {
		t.Fatal(err)
	}
	server := start(t, Options{FunctionARN: arn})
	dir := t.TempDir()
	first := make(chan error)
	go func() {
		_, err := http.DefaultClient.Do(request(t, server, "outlive in silence", dir))
		first <- err
	}()
	waitFor(t, dir, "started")
	checkRefused(t, post(t, server, "event", ""), integrationFailed, 502)
	touch(t, dir)
	if err := <-first; err != nil {
		t.Error(err)
	}
	if response := post(t, start(t, Options{}), "answer", `{"status":429}`); response.StatusCode != 429 {
		t.Errorf("the function's own 429 became %d", response.StatusCode)
	}
}

// The rate of the stage is for all callers together; what it refuses never reaches the function.
func TestRateOfTheStage(t *testing.T) {
	t.Parallel()
	server := start(t, Options{Rate: 1e-6, Burst: 2})
	for range 2 {
		if response := post(t, server, "event", ""); response.StatusCode != 200 {
			t.Errorf("within the burst: %d", response.StatusCode)
		}
	}
	checkRefused(t, post(t, server, "event", ""), throttled, 429)
	r := request(t, server, "event", "")
	r.URL.Path = "/other"
	checkRefused(t, do(t, r), unknownRoute, 404)
}

func TestHeaderLimitIsExact(t *testing.T) {
	t.Parallel()
	r := httptest.NewRequest(http.MethodPost, "/mcp", nil)
	r.Host = "h"
	base := len("POST /mcp HTTP/1.1\r\n") + len("Host: h\r\n")
	r.Header.Set("X", strings.Repeat("x", maxHeader-base-len("X: \r\n")))
	if got := headerSize(r); got != maxHeader {
		t.Errorf("headerSize = %d, want %d", got, maxHeader)
	}
}

func TestChunksArriveAsTheFunctionWritesThem(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	response := post(t, start(t, Options{}), "two chunks", dir)
	readChunk(t, response, "one") // the function waits for the file, so this was no part of a whole answer
	touch(t, dir)
	readChunk(t, response, "two")
	if rest := readAll(t, response); rest != "" {
		t.Errorf("rest %q", rest)
	}
}

func readChunk(t *testing.T, response *http.Response, want string) {
	t.Helper()
	got := make([]byte, len(want))
	if _, err := io.ReadFull(response.Body, got); err != nil || string(got) != want {
		t.Fatalf("chunk %q, %v; want %q", got, err, want)
	}
}

func touch(t *testing.T, dir string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, "go on"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestFailureInTheStreamCutsIt(t *testing.T) {
	t.Parallel()
	for _, action := range []string{"panic in the stream", "exit in the stream"} {
		t.Run(action, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			response := post(t, start(t, Options{}), action, dir)
			readChunk(t, response, "one")
			touch(t, dir)
			rest, err := io.ReadAll(response.Body)
			if response.StatusCode != 200 || len(rest) > 0 || !errors.Is(err, io.ErrUnexpectedEOF) {
				t.Errorf("status %d, rest %q, error %v", response.StatusCode, rest, err)
			}
		})
	}
}

// A client that leaves is not heard of: the function runs on, its context alive, and does what it had to do.
func TestFunctionOutlivesItsClient(t *testing.T) {
	t.Parallel()
	server := start(t, Options{})
	t.Run("that has read the first chunk", func(t *testing.T) {
		t.Parallel()
		dir := t.TempDir()
		ctx, leave := context.WithCancel(t.Context())
		readChunk(t, do(t, request(t, server, "outlive", dir).WithContext(ctx)), "one")
		leave()
		touch(t, dir)
		checkFinished(t, dir)
	})
	t.Run("that has read nothing", func(t *testing.T) {
		t.Parallel()
		dir := t.TempDir()
		ctx, leave := context.WithCancel(t.Context())
		gone := make(chan error)
		go func() {
			_, err := http.DefaultClient.Do(request(t, server, "outlive in silence", dir).WithContext(ctx))
			gone <- err
		}()
		waitFor(t, dir, "started")
		leave()
		if err := <-gone; !errors.Is(err, context.Canceled) {
			t.Errorf("the client got %v", err)
		}
		touch(t, dir)
		checkFinished(t, dir)
	})
}

func checkFinished(t *testing.T, dir string) {
	t.Helper()
	if report := waitFor(t, dir, "finished"); report != "context: <nil>" {
		t.Errorf("the function reports %q", report)
	}
}

// waitFor returns what is in a file, once it is there.
func waitFor(t *testing.T, dir, name string) string {
	t.Helper()
	for {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err == nil {
			return string(text)
		}
		time.Sleep(time.Millisecond)
	}
}

func TestTimeoutBeforeTheFirstByte(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	response := post(t, start(t, Options{Timeout: 100 * time.Millisecond}), "outlive in silence", dir)
	checkRefused(t, response, timedOut, 504)
	touch(t, dir)
	checkFinished(t, dir)
}

// half sends a request whose body is longer than what comes, and returns all that is answered until the gateway ends
// the connection.
func half(t *testing.T, server *httptest.Server, path, fields string) string {
	t.Helper()
	connection, err := net.Dial("tcp", server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer connection.Close()
	_, err = io.WriteString(connection, "POST "+path+" HTTP/1.1\r\nHost: localhost\r\n"+fields+"\r\n{")
	if err != nil {
		t.Fatal(err)
	}
	answer, err := io.ReadAll(connection)
	if err != nil {
		t.Fatal(err)
	}
	return string(answer)
}

func TestBodiesThatDoNotComeAreGivenUp(t *testing.T) {
	t.Parallel()
	server := start(t, Options{BodyTimeout: 50 * time.Millisecond})
	for name, test := range map[string]struct{ path, fields, status string }{
		"of a length":        {"/mcp", "Content-Length: 100\r\n", "408 Request Timeout"},
		"in chunks":          {"/mcp", "Transfer-Encoding: chunked\r\n\r\n5\r\nab", "408 Request Timeout"},
		"of a refused route": {"/other", "Content-Length: 100\r\n", "404 Not Found"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if answer := half(t, server, test.path, test.fields); !strings.HasPrefix(answer, "HTTP/1.1 "+test.status) {
				t.Errorf("answer %q, want %s", answer, test.status)
			}
		})
	}
}

// The bound is on the request's body alone, also where there is none.
func TestAnswersOutlastTheBodyTimeout(t *testing.T) {
	t.Parallel()
	const timeout = time.Second
	server := start(t, Options{BodyTimeout: timeout})
	for _, method := range []string{http.MethodPost, http.MethodGet} {
		t.Run(method, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			r := request(t, server, "two chunks", dir)
			if method == http.MethodGet {
				r.Method, r.Body, r.ContentLength, r.URL.RawQuery = method, nil, 0, "body="+url.QueryEscape(dir)
			}
			response := do(t, r)
			readChunk(t, response, "one")
			time.Sleep(timeout + timeout/2)
			touch(t, dir)
			readChunk(t, response, "two")
		})
	}
}

func TestServerBoundsWhatItReads(t *testing.T) {
	t.Parallel()
	server := NewServer(Options{Invoker: lambdas, FunctionARN: probe, Logger: slog.New(slog.DiscardHandler)})
	if server.ReadHeaderTimeout <= 0 || server.IdleTimeout <= 0 || server.WriteTimeout != 0 || server.ReadTimeout != 0 {
		t.Errorf("time-outs %v %v %v %v; want those of header and idleness alone", server.ReadHeaderTimeout,
			server.IdleTimeout, server.WriteTimeout, server.ReadTimeout)
	}
	listening := httptest.NewUnstartedServer(nil)
	listening.Config = server
	listening.Start()
	t.Cleanup(listening.Close)
	for size, body := range map[int]string{
		maxHeader: headerTooLong.text, 2 * maxRead: "431 Request Header Fields Too Large",
	} {
		r := request(t, listening, "event", "")
		r.Header.Set("X-Long", strings.Repeat("x", size))
		response := do(t, r)
		if got := readAll(t, response); response.StatusCode != 431 || got != body {
			t.Errorf("%d bytes: got %d %s, want 431 %s", size, response.StatusCode, got, body)
		}
	}
}

// Not parallel with the others: the first chunk must be there within the time-out.
func TestTimeoutsInTheStream(t *testing.T) {
	for name, options := range map[string]Options{
		"of the whole answer": {Timeout: 2 * time.Second}, "between chunks": {IdleTimeout: time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			server := start(t, options)
			readAll(t, post(t, start(t, Options{}), "event", "")) // now an instance is warm
			response := post(t, server, "outlive", dir)
			if rest, err := io.ReadAll(response.Body); string(rest) != "one" || !errors.Is(err, io.ErrUnexpectedEOF) {
				t.Errorf("got %q, %v", rest, err)
			}
			touch(t, dir)
			checkFinished(t, dir)
		})
	}
}

func TestPreludeAtTheLimit(t *testing.T) {
	t.Parallel()
	fill := func(size int) []byte {
		head := []byte(`{"statusCode":200,"headers":{"X":""}}`)
		value := bytes.Repeat([]byte("x"), size-len(head)-8)
		head = bytes.Replace(head, []byte(`""`), append(append([]byte(`"`), value...), '"'), 1)
		return append(head, make([]byte, 8)...)
	}
	if _, rest, err := readPrelude(bytes.NewReader(append(fill(maxPrelude), "body"...))); err != nil || len(rest) > 4 {
		t.Errorf("a prelude of %d bytes: %v, rest %q", maxPrelude, err, rest)
	}
	if _, _, err := readPrelude(bytes.NewReader(fill(maxPrelude + 1))); err == nil {
		t.Errorf("a prelude of %d bytes: no error", maxPrelude+1)
	}
}
