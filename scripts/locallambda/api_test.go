package locallambda

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/lambda/types"
	"github.com/google/go-cmp/cmp"
)

func decode(t testing.TB, data []byte, into any) {
	t.Helper()
	if err := json.Unmarshal(data, into); err != nil {
		t.Fatalf("decoding %q: %v", data, err)
	}
}

// background calls a function in a goroutine; the channel gets its answer, or its failure.
func (h *harness) background(function, event string) chan map[string]any {
	done := make(chan map[string]any, 1)
	go func() {
		var result map[string]any
		output, err := h.client.Invoke(context.Background(), &lambda.InvokeInput{
			FunctionName: aws.String(function), Payload: []byte(event),
		})
		if err == nil {
			err = json.Unmarshal(output.Payload, &result)
		}
		if err != nil {
			result = map[string]any{"error": err.Error()}
		}
		done <- result
	}()
	return done
}

func (h *harness) idle(function string) int {
	h.Service.mu.Lock()
	defer h.Service.mu.Unlock()
	return len(h.functions[function].latest.idle)
}

func (h *harness) only() *instance {
	h.Service.mu.Lock()
	defer h.Service.mu.Unlock()
	for in := range h.instances {
		return in
	}
	return nil
}

func TestConcurrencyLimits(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		options  Options
		function Function
		reason   types.ThrottleReason
	}{
		"reserved": {
			function: Function{Concurrency: 1}, reason: types.ThrottleReasonReservedFunctionConcurrentInvocationLimitExceeded,
		},
		"account": {
			options: Options{AccountConcurrency: 1}, reason: types.ThrottleReasonConcurrentInvocationLimitExceeded,
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h, g := newHarness(t, c.options), newGates(t)
			h.deploy("careless", c.function)
			done := h.background("careless", g.event("gate", "hold"))
			g.await(t, "hold")
			_, err := h.client.Invoke(t.Context(), &lambda.InvokeInput{FunctionName: aws.String("careless")})
			var refusal *types.TooManyRequestsException
			if !errors.As(err, &refusal) || refusal.Reason != c.reason || refusal.ErrorMessage() != "Rate Exceeded." {
				t.Errorf("got %v, want a TooManyRequestsException with %s", err, c.reason)
			}
			g.open("hold")
			<-done
			h.result("careless", `{"do":"count"}`)
		})
	}
}

func TestOneCallAfterTheOtherNeedsOneInstance(t *testing.T) {
	t.Parallel()
	h := newHarness(t, Options{})
	h.deploy("careless", Function{Concurrency: 1})
	for i := range 200 {
		if n := h.result("careless", `{"do":"count"}`)["invocations"]; n != float64(i+1) {
			t.Fatalf("call %d was number %v of its instance", i+1, n)
		}
	}
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	h := newHarness(t, Options{})
	h.deploy("careless", Function{})
	cases := map[string]struct {
		path, payload string
		header        map[string]string
		status        int
		code, message string
	}{
		"unknown function": {
			path: "nobody", status: 404, code: "ResourceNotFoundException",
			message: "Function not found: arn:aws:lambda:us-east-1:000000000000:function:nobody",
		},
		"unknown version": {
			path: "careless:7", status: 404, code: "ResourceNotFoundException",
			message: "Function not found: arn:aws:lambda:us-east-1:000000000000:function:careless:7",
		},
		"another region": {
			path: "arn:aws:lambda:eu-west-1:000000000000:function:careless", status: 404, code: "ResourceNotFoundException",
			message: "Function not found: arn:aws:lambda:eu-west-1:000000000000:function:careless",
		},
		"another account": {
			path: "arn:aws:lambda:us-east-1:123456789012:function:careless", status: 404, code: "ResourceNotFoundException",
			message: "Function not found: arn:aws:lambda:us-east-1:123456789012:function:careless",
		},
		"not a name": {
			path: "care%20less", status: 400, code: "InvalidParameterValueException",
			message: `function "care less": give a name, or an ARN, with or without :VERSION`,
		},
		"two qualifiers": {
			path: "careless:1", header: map[string]string{"qualifier": "2"}, status: 400, code: "InvalidParameterValueException",
			message: "The derived qualifier from the function name does not match the specified qualifier.",
		},
		"not JSON": {
			path: "careless", payload: "{", status: 400, code: "InvalidRequestContentException",
			message: "Could not parse request body into json: unexpected end of JSON input",
		},
		"bad client context": {
			path: "careless", header: map[string]string{"X-Amz-Client-Context": "e"}, status: 400,
			code:    "InvalidRequestContentException",
			message: "Client context must be a valid Base64-encoded JSON object of at most 3583 bytes.",
		},
		"unknown invocation type": {
			path: "careless", header: map[string]string{"X-Amz-Invocation-Type": "Later"}, status: 400,
			code:    "InvalidParameterValueException",
			message: `X-Amz-Invocation-Type "Later": RequestResponse, Event or DryRun`,
		},
		"dry run of nothing": {
			path: "nobody", header: map[string]string{"X-Amz-Invocation-Type": "DryRun"}, status: 404,
			code:    "ResourceNotFoundException",
			message: "Function not found: arn:aws:lambda:us-east-1:000000000000:function:nobody",
		},
		"event for nobody": {
			path: "nobody", header: map[string]string{"X-Amz-Invocation-Type": "Event"}, status: 404,
			code:    "ResourceNotFoundException",
			message: "Function not found: arn:aws:lambda:us-east-1:000000000000:function:nobody",
		},
		"request over 6 MB": {
			path: "careless", payload: strings.Repeat(" ", maxRequest+5), status: 413, code: "RequestTooLargeException",
			message: "6291461 byte payload is too large for the RequestResponse invocation type (limit 6291456 bytes)",
		},
		"event over 1 MB": {
			path: "careless", payload: strings.Repeat(" ", maxEventRequest+1), status: 413, code: "RequestTooLargeException",
			header:  map[string]string{"X-Amz-Invocation-Type": "Event"},
			message: "1048577 byte payload is too large for the Event invocation type (limit 1048576 bytes)",
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, api := range []string{
				"/2015-03-31/functions/%s/invocations", "/2021-11-15/functions/%s/response-streaming-invocations",
			} {
				streaming := strings.HasPrefix(api, "/2021")
				if streaming && c.header["X-Amz-Invocation-Type"] != "" {
					continue
				}
				response := h.post(fmt.Sprintf(api, c.path), c.payload, c.header)
				var body struct{ Message string }
				decode(t, readAll(t, response.Body), &body)
				got := fmt.Sprint(response.StatusCode, " ", response.Header.Get("X-Amzn-Errortype"), " ", body.Message)
				if want := fmt.Sprint(c.status, " ", c.code, " ", c.message); got != want {
					t.Errorf("%s:\ngot  %s\nwant %s", api, got, want)
				}
			}
		})
	}
}

// Any page that is open on this machine can reach the service's port, and what it invokes a function with may say who
// calls.
func TestWebPagesAreRefused(t *testing.T) {
	t.Parallel()
	h := newHarness(t, Options{})
	h.deploy("careless", Function{})
	host := strings.TrimPrefix(h.url, "http://")
	_, port, _ := strings.Cut(host, ":")
	cases := map[string]struct {
		header map[string]string
		want   string
	}{
		"page":                       {map[string]string{"Origin": "https://evil.example"}, "carries Origin"},
		"page of this machine":       {map[string]string{"Origin": "http://" + host}, "carries Origin"},
		"page without an origin":     {map[string]string{"Origin": "null"}, "carries Origin"},
		"empty origin":               {map[string]string{"Origin": ""}, "carries Origin"},
		"page of the same site":      {map[string]string{"Sec-Fetch-Site": "same-origin"}, "carries Sec-Fetch-Site"},
		"site that resolves to here": {map[string]string{"Host": "evil.example:" + port}, `Host is "evil.example:` + port},
		"site with a number before":  {map[string]string{"Host": "127.0.0.1.evil.example"}, "allowed: localhost or"},
		"another machine":            {map[string]string{"Host": "192.0.2.7:" + port}, `Host is "192.0.2.7:` + port},
		"all addresses":              {map[string]string{"Host": "0.0.0.0:" + port}, `Host is "0.0.0.0:` + port},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, call := range []string{
				"POST /2015-03-31/functions/careless/invocations", "GET /2015-03-31/functions/careless",
				"POST /2021-11-15/functions/careless/response-streaming-invocations",
				"GET /2015-03-31/functions/careless/configuration", "OPTIONS /2015-03-31/functions/careless/invocations",
			} {
				response := h.call(call, `{"do":"count"}`, c.header)
				var body struct{ Message string }
				decode(t, readAll(t, response.Body), &body)
				if response.StatusCode != 403 || response.Header.Get("X-Amzn-Errortype") != "AccessDeniedException" ||
					!strings.Contains(body.Message, c.want) {
					t.Errorf("%s: %d %q", call, response.StatusCode, body.Message)
				}
			}
		})
	}
	t.Run("programs", func(t *testing.T) {
		t.Parallel()
		for _, host := range []string{"localhost:1", "LOCALHOST", "127.0.0.1", "127.8.9.1:80", "[::1]:9", "[::1]", host} {
			response := h.call("GET /2015-03-31/functions/careless", "", map[string]string{"Host": host})
			if response.StatusCode != 200 {
				t.Errorf("Host %s: %d", host, response.StatusCode)
			}
		}
	})
}

// call is post with any method and, as the header field Host, any host.
func (h *harness) call(methodAndPath, payload string, header map[string]string) *http.Response {
	h.t.Helper()
	method, path, _ := strings.Cut(methodAndPath, " ")
	request, err := http.NewRequestWithContext(h.t.Context(), method, h.url+path, strings.NewReader(payload))
	if err != nil {
		h.t.Fatal(err)
	}
	for name, value := range header {
		request.Header.Set(name, value)
	}
	request.Host = header["Host"]
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(func() { response.Body.Close() })
	return response
}

func (h *harness) post(path, payload string, header map[string]string) *http.Response {
	h.t.Helper()
	if header["qualifier"] != "" {
		path += "?Qualifier=" + header["qualifier"]
	}
	return h.call("POST "+path, payload, header)
}

func readAll(t testing.TB, r io.Reader) []byte {
	t.Helper()
	data, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestAnSDKReadsTheErrors(t *testing.T) {
	t.Parallel()
	h := newHarness(t, Options{})
	h.deploy("careless", Function{})
	_, err := h.client.Invoke(t.Context(), &lambda.InvokeInput{FunctionName: aws.String("nobody")})
	var unknown *types.ResourceNotFoundException
	if !errors.As(err, &unknown) || !strings.Contains(unknown.ErrorMessage(), "function:nobody") {
		t.Errorf("got %v", err)
	}
	_, err = h.client.Invoke(t.Context(), &lambda.InvokeInput{
		FunctionName: aws.String("careless"), Payload: []byte(strings.Repeat(" ", maxRequest+1)),
	})
	var large *types.RequestTooLargeException
	if !errors.As(err, &large) || !strings.Contains(large.ErrorMessage(), "6291457 byte") {
		t.Errorf("got %v", err)
	}
}

func TestDryRun(t *testing.T) {
	t.Parallel()
	h := newHarness(t, Options{})
	h.deploy("careless", Function{})
	output, err := h.client.Invoke(t.Context(), &lambda.InvokeInput{
		FunctionName: aws.String("careless"), InvocationType: types.InvocationTypeDryRun,
	})
	if err != nil || output.StatusCode != http.StatusNoContent {
		t.Errorf("got %v, %v", output, err)
	}
	if in := h.only(); in != nil {
		t.Error("a dry run started an instance")
	}
}

func TestWaysToNameAFunction(t *testing.T) {
	t.Parallel()
	h := newHarness(t, Options{})
	h.deploy("raw", Function{})
	if err := h.Alias("raw", "live", "1"); err != nil {
		t.Fatal(err)
	}
	const arn = "arn:aws:lambda:us-east-1:000000000000:function:raw"
	for _, name := range []string{
		"raw", "raw:1", "raw:$LATEST", "raw:live", "function:raw", "000000000000:function:raw",
		"000000000000:function:raw:live", arn, arn + ":1", arn + ":$LATEST",
	} {
		if payload, _ := h.invoke(name, `{"do":"null"}`); payload != "null" {
			t.Errorf("%s answered %s", name, payload)
		}
	}
	output, err := h.client.Invoke(t.Context(), &lambda.InvokeInput{
		FunctionName: aws.String("raw"), Qualifier: aws.String("live"), Payload: []byte(`{"do":"null"}`),
	})
	if err != nil || string(output.Payload) != "null" {
		t.Errorf("with a Qualifier: %v, %v", output, err)
	}
}

func FuzzParseTarget(f *testing.F) {
	here := Options{}.withDefaults().place()
	f.Add("name", "")
	f.Add("name:1", "1")
	f.Add("arn:aws:lambda:us-east-1:000000000000:function:name:$LATEST", "")
	f.Add("123456789012:function:name", "live")
	f.Fuzz(func(t *testing.T, name, qualifier string) {
		first, err := here.target(name, qualifier)
		if err != nil {
			return
		}
		again, err := here.target(first.arn(), "")
		if qualifier == "" && (err != nil || again != first) {
			t.Errorf("%q is %+v, whose ARN is %+v, %v", name, first, again, err)
		}
	})
}

func TestVersions(t *testing.T) {
	t.Parallel()
	h, g := newHarness(t, Options{}), newGates(t)
	first := h.deploy("careless", Function{Env: map[string]string{"V": "one"}})
	oldPID := h.pid(first)
	held := h.background(first, g.event("gate", "old"))
	g.await(t, "old")
	second := h.deploy("careless", Function{Env: map[string]string{"V": "two"}})

	const arn = "arn:aws:lambda:us-east-1:000000000000:function:careless:"
	if diff := cmp.Diff([]string{arn + "1", arn + "2"}, []string{first, second}); diff != "" {
		t.Fatalf("ARNs (-want +got):\n%s", diff)
	}
	for name, want := range map[string]string{first: "one", second: "two", "careless": "two", "careless:$LATEST": "two"} {
		if !strings.Contains(fmt.Sprint(h.result(name, `{"do":"describe"}`)["environment"]), "V="+want+" ") {
			t.Errorf("%s did not run version %s", name, want)
		}
	}
	if !alive(oldPID) {
		t.Error("the deployment ended an instance of the version before")
	}

	ended, err := h.Ended(first)
	if err != nil {
		t.Fatal(err)
	}
	if err := h.Remove("careless", "1"); err != nil {
		t.Fatal(err)
	}
	select {
	case <-ended:
		t.Error("the removed version is said to have ended while it has an invocation in flight")
	default:
	}
	var unknown *types.ResourceNotFoundException
	_, err = h.client.Invoke(t.Context(), &lambda.InvokeInput{FunctionName: aws.String(first)})
	if !errors.As(err, &unknown) {
		t.Errorf("the removed version answered %v", err)
	}
	g.open("old")
	if result := <-held; result["pid"] == nil {
		t.Errorf("the removal broke an invocation in flight: %v", result)
	}
	select {
	case <-ended:
	case <-time.After(2 * time.Minute):
		t.Fatal("the removed version's instances do not end")
	}
	if alive(oldPID) {
		t.Error("an instance of the removed version lives on")
	}
	if _, err := h.Ended(first); !errors.As(err, new(*Error)) {
		t.Errorf("waiting for the end of a version that is not there: %v", err)
	}
	if third := h.deploy("careless", Function{}); third != arn+"3" {
		t.Errorf("the third deployment is %s", third)
	}
	if err := h.Remove("careless", "9"); !errors.As(err, new(*Error)) {
		t.Errorf("removing a version that is not there: %v", err)
	}
	if err := h.Alias("careless", "1", "2"); err == nil {
		t.Error("a number was taken as an alias")
	}
}

func TestGetFunction(t *testing.T) {
	t.Parallel()
	h := newHarness(t, Options{})
	arn := h.deploy("careless", Function{Concurrency: 5, MemoryMB: 256, Env: map[string]string{"A": "b"}})
	output, err := h.client.GetFunction(t.Context(), &lambda.GetFunctionInput{FunctionName: aws.String(arn)})
	if err != nil {
		t.Fatal(err)
	}
	c := output.Configuration
	got := fmt.Sprint(*c.FunctionName, *c.FunctionArn == arn, *c.Version, *c.Timeout, *c.MemorySize,
		c.Environment.Variables, *output.Concurrency.ReservedConcurrentExecutions)
	if want := fmt.Sprint("careless", true, "1", 600, 256, map[string]string{"A": "b"}, 5); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	configuration, err := h.client.GetFunctionConfiguration(t.Context(),
		&lambda.GetFunctionConfigurationInput{FunctionName: aws.String("careless")})
	if err != nil || aws.ToInt32(configuration.Timeout) != 600 {
		t.Errorf("configuration %v, %v", configuration, err)
	}
}

func TestDeployRefusesBadFunctions(t *testing.T) {
	t.Parallel()
	s := New(Options{})
	defer s.Close()
	dir := bootstraps + "/raw"
	cases := map[string]struct {
		function Function
		text     string
	}{
		"name":        {Function{Name: "a b", Dir: dir}, `function name "a b"`},
		"timeout":     {Function{Name: "a", Dir: dir, Timeout: 1e15}, "15 minutes"},
		"memory":      {Function{Name: "a", Dir: dir, MemoryMB: 20000}, "10240"},
		"concurrency": {Function{Name: "a", Dir: dir, Concurrency: -1}, "concurrency -1"},
		"no folder":   {Function{Name: "a", Dir: "/nowhere"}, "/nowhere"},
		"no program":  {Function{Name: "a", Dir: t.TempDir()}, "bootstrap"},
		"no command":  {Function{Name: "a", Dir: dir, Command: []string{"/nowhere/python"}}, "/nowhere/python"},
		"not executable": {Function{Name: "a", Dir: "testdata", Command: []string{"python/app.py"}},
			"app.py is not an executable file"},
		"no interpreter": {Function{Name: "a", Dir: "testdata", Command: []string{"script/bootstrap"}},
			`interpreter "/nowhere/python9" of its first line`},
		"interpreter with a carriage return": {Function{Name: "a", Dir: "testdata", Command: []string{"script/crlf"}},
			`interpreter "/bin/sh\r" of its first line`},
	}
	for name, c := range cases {
		if _, err := s.Deploy(c.function); err == nil || !strings.Contains(err.Error(), c.text) {
			t.Errorf("%s: got %v, want an error that says %s", name, err, c.text)
		}
	}
}

func TestTheFunctionRunsOnWithoutItsCaller(t *testing.T) {
	t.Parallel()
	// Each way to call begins an answer and leaves when the context ends.
	ways := map[string]func(ctx context.Context, h *harness, event string) error{
		"answer": func(ctx context.Context, h *harness, event string) error {
			_, err := h.client.Invoke(ctx, &lambda.InvokeInput{FunctionName: aws.String("careless"), Payload: []byte(event)})
			return err
		},
		"stream": func(ctx context.Context, h *harness, event string) error {
			stream, err := h.stream(ctx, "careless", event)
			if err != nil {
				return err
			}
			<-ctx.Done()
			stream.Close()
			return ctx.Err()
		},
		"in process": func(ctx context.Context, h *harness, event string) error {
			response, err := h.Invoke(ctx, "careless", []byte(event))
			if err != nil {
				return err
			}
			<-ctx.Done()
			response.Body.Close()
			return ctx.Err()
		},
	}
	for name, call := range ways {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h, g := newHarness(t, Options{}), newGates(t)
			h.deploy("careless", Function{})
			ctx, leave := context.WithCancel(t.Context())
			gone := make(chan error, 1)
			go func() { gone <- call(ctx, h, g.event("stream", "first", "second", "third")) }()
			g.await(t, "first")
			leave()
			if err := <-gone; !errors.Is(err, context.Canceled) {
				t.Errorf("the caller left with %v", err)
			}
			for _, gate := range []string{"first", "second", "third"} {
				if gate != "first" {
					g.await(t, gate)
				}
				g.open(gate)
			}
			eventually(t, "the instance is idle", func() bool { return h.idle("careless") == 1 })
		})
	}
}
