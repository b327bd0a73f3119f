package integration

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os/exec"
	"strings"
	"sync"
	"testing"

	"patchbay/scripts/smokecheck"
)

func TestSmokeOfAHealthyServer(t *testing.T) {
	t.Parallel()
	report := smoke(t, smokecheck.Options{URL: fixtures.URL, StreamingTool: "test_tool_with_progress"})
	for _, check := range report.Checks {
		if check.Status != smokecheck.OK {
			t.Errorf("%+v", check)
		}
	}
	// A mirrored argument, and arguments of one's own.
	report = smoke(t, smokecheck.Options{URL: examples.URL, Tool: "execute_sql", Arguments: json.RawMessage(
		`{"region":"europe-west1","query":"SELECT count(*) AS n FROM orders"}`)})
	if got := checked(t, report, "call"); got.Status != smokecheck.OK || !strings.Contains(got.Seen, "execute_sql") {
		t.Errorf("%+v", got)
	}
}

// Callers need a token there, which every request has to carry, and which the server does not say where to get.
func TestSmokeWithAToken(t *testing.T) {
	t.Parallel()
	report := smoke(t, smokecheck.Options{URL: known.URL})
	for _, name := range []string{"challenge", "with a token"} {
		if got := checked(t, report, name); got.Status != smokecheck.Skipped {
			t.Errorf("without a token: %+v", got)
		}
	}
	mayBeSkipped := map[string]bool{"challenge": true, "metadata": true, "sign-in": true, "missing scope": true}
	for _, check := range smoke(t, smokecheck.Options{URL: known.URL, Token: sender}).Checks {
		if check.Status != smokecheck.OK && !(check.Status == smokecheck.Skipped && mayBeSkipped[check.Name]) {
			t.Errorf("with a token: %+v", check)
		}
	}
}

// Where nothing is, one line says so, and how an endpoint's address ends.
func TestSmokeOfAnotherAddress(t *testing.T) {
	t.Parallel()
	report := smoke(t, smokecheck.Options{URL: strings.TrimSuffix(fixtures.URL, "/mcp") + "/nowhere"})
	got := checked(t, report, "reach")
	if len(report.Checks) != 1 || got.Status != smokecheck.Failed || !strings.Contains(got.Seen, "ends in /mcp") {
		t.Errorf("%+v", report.Checks)
	}
}

func smoke(t *testing.T, options smokecheck.Options) *smokecheck.Report {
	t.Helper()
	report, err := smokecheck.Run(t.Context(), options, nil)
	if err != nil {
		t.Fatal(err)
	}
	return report
}

func checked(t *testing.T, report *smokecheck.Report, name string) smokecheck.Check {
	t.Helper()
	for _, check := range report.Checks {
		if check.Name == name {
			return check
		}
	}
	t.Fatalf("there is no check %q", name)
	return smokecheck.Check{}
}

// fault is something between the client and a server that breaks one thing. It may change the request, answer itself by
// returning true, and change an answer.
type fault struct {
	request func(w http.ResponseWriter, r *http.Request, body []byte) (answered bool)
	answer  func(method string, response *http.Response, body []byte) []byte
}

// broken is the fixtures' server behind a fault.
func broken(t *testing.T, f fault) string {
	t.Helper()
	target, err := url.Parse(fixtures.URL)
	if err != nil {
		t.Fatal(err)
	}
	proxy := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(&url.URL{Scheme: target.Scheme, Host: target.Host})
		},
		ModifyResponse: func(response *http.Response) error {
			body, err := io.ReadAll(response.Body)
			if err != nil || f.answer == nil {
				response.Body = io.NopCloser(bytes.NewReader(body))
				return err
			}
			method, _ := response.Request.Context().Value(methodKey{}).(string)
			body = f.answer(method, response, body)
			response.Body = io.NopCloser(bytes.NewReader(body))
			response.ContentLength = int64(len(body))
			response.Header.Del("Content-Length")
			return nil
		},
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(bytes.NewReader(body))
		r.ContentLength = int64(len(body))
		if f.request != nil && f.request(w, r, body) {
			return
		}
		proxy.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), methodKey{}, methodIn(body))))
	}))
	t.Cleanup(server.Close)
	return server.URL + target.Path
}

type methodKey struct{}

func methodIn(body []byte) string {
	var message struct{ Method string }
	_ = json.Unmarshal(body, &message)
	return message.Method
}

// refuses answers the requests of a method with a status and a body.
func refuses(method string, status int, body string) fault {
	return fault{request: func(w http.ResponseWriter, _ *http.Request, sent []byte) bool {
		if methodIn(sent) != method {
			return false
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
		return true
	}}
}

// says replaces a text in the answers to a method.
func says(method, old, replacement string) fault {
	return fault{answer: func(asked string, _ *http.Response, body []byte) []byte {
		if asked != method {
			return body
		}
		return bytes.ReplaceAll(body, []byte(old), []byte(replacement))
	}}
}

// Every check can fail: each of these servers has one thing wrong, and the check that is for it says so.
func TestSmokeFindsWhatIsBroken(t *testing.T) {
	t.Parallel()
	const result = `{"jsonrpc":"2.0","id":1,"result":{}}`
	tests := map[string]struct {
		fault fault
		check string
		seen  string
	}{
		"no discover": {refuses("server/discover", 404,
			`{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"no"}}`), "discover", "-32601"},
		"another revision": {says("server/discover", "2026-07-28", "2031-01-01"), "discover", "2025-11-25"},
		"no cache hints":   {says("tools/list", `"ttlMs"`, `"ttl"`), "list", "without ttlMs"},
		"a wrong scope":    {says("tools/list", `"cacheScope":"public"`, `"cacheScope":"shared"`), "list", "shared"},
		"a list in circles": {says("tools/list", `"resultType":"complete"`,
			`"resultType":"complete","nextCursor":"again"`), "list", "page 2"},
		"a tool that fails": {says("tools/call", `"resultType":"complete"`,
			`"resultType":"complete","isError":true`), "call", "answers with an error"},
		"no streams": {fault{answer: func(_ string, response *http.Response, body []byte) []byte {
			if response.Header.Get("Content-Type") == "text/event-stream" {
				response.Header.Set("Content-Type", "application/json")
				return bytes.TrimPrefix(bytes.TrimSpace(body), []byte("data: "))
			}
			return body
		}}, "streaming", "application/json"},
		"no earlier revision": {refuses("initialize", 404, ""), "earlier revision", "initialize"},
		"headers unchecked": {fault{request: func(_ http.ResponseWriter, r *http.Request, body []byte) bool {
			if method := methodIn(body); method != "" && r.Header.Get("Mcp-Method") != "" {
				r.Header.Set("Mcp-Method", method)
			}
			return false
		}}, "header mismatch", "status 200"},
		"unknown tools answered": {fault{request: func(w http.ResponseWriter, _ *http.Request, body []byte) bool {
			if !bytes.Contains(body, []byte("no_such_tool")) {
				return false
			}
			_, _ = io.WriteString(w, result)
			return true
		}}, "unknown tool", "status 200"},
		"bad JSON is a failure": {fault{request: func(w http.ResponseWriter, _ *http.Request, body []byte) bool {
			if json.Valid(body) || len(body) == 0 {
				return false
			}
			w.WriteHeader(http.StatusInternalServerError)
			return true
		}}, "bad JSON", "status 500"},
		"bad JSON shows the inside": {fault{answer: func(_ string, response *http.Response, body []byte) []byte {
			if bytes.Contains(body, []byte("-32700")) {
				return bytes.Replace(body, []byte("Parse error"), []byte("panic: goroutine 1"), 1)
			}
			return body
		}}, "bad JSON", "shows goroutine"},
		"GET is answered": {fault{request: func(w http.ResponseWriter, r *http.Request, _ []byte) bool {
			return r.Method == http.MethodGet
		}}, "GET", "status 200"},
		"routes are closed": {fault{request: func(w http.ResponseWriter, r *http.Request, _ []byte) bool {
			if r.URL.Path == "/mcp" {
				return false
			}
			w.WriteHeader(http.StatusForbidden)
			return true
		}}, "missing route", "status 403"},
		"origins unchecked": {fault{request: func(_ http.ResponseWriter, r *http.Request, _ []byte) bool {
			r.Header.Del("Origin")
			return false
		}}, "wrong Origin", "status 200"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			report := smoke(t, smokecheck.Options{URL: broken(t, test.fault)})
			got := checked(t, report, test.check)
			if got.Status != smokecheck.Failed || !strings.Contains(got.Seen, test.seen) {
				t.Errorf("got %+v, want it to fail with %q", got, test.seen)
			}
		})
	}
}

// Whatever the command line says, a tool that may change something is not called.
func TestSmokeCallsNothingThatMayChangeSomething(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var called []string
	url := broken(t, fault{request: func(_ http.ResponseWriter, r *http.Request, body []byte) bool {
		if methodIn(body) == "tools/call" {
			mu.Lock()
			defer mu.Unlock()
			called = append(called, r.Header.Get("Mcp-Name"))
		}
		return false
	}})
	report := smoke(t, smokecheck.Options{URL: url, Tool: "hold", Arguments: json.RawMessage(`{}`),
		StreamingTool: "test_tool_with_progress"})
	if got := checked(t, report, "call"); got.Status != smokecheck.Failed {
		t.Errorf("%+v", got)
	}
	mu.Lock()
	defer mu.Unlock()
	for _, name := range called {
		if name != "test_tool_with_progress" && name != "patchbay_smoke_no_such_tool" {
			t.Errorf("called %s", name)
		}
	}
}

// The command: a line for each check, and its exit status.
func TestSmokeCommand(t *testing.T) {
	t.Parallel()
	patchbay := program(t)
	output, err := exec.CommandContext(t.Context(), patchbay, "smoke", fixtures.URL).CombinedOutput()
	if text := string(output); err != nil || strings.Count(text, "\n") != 11 || strings.Contains(text, "failed") {
		t.Errorf("a healthy server: %v\n%s", err, output)
	}
	url := broken(t, refuses("initialize", 500, ""))
	command := exec.CommandContext(t.Context(), patchbay, "smoke", url, "--json")
	output, err = command.Output()
	if command.ProcessState.ExitCode() != 1 {
		t.Errorf("a broken server: exit status %d, %v", command.ProcessState.ExitCode(), err)
	}
	var report smokecheck.Report
	if err := json.Unmarshal(output, &report); err != nil || report.Failed() != 1 || report.URL != url {
		t.Errorf("a broken server: %v, %s", err, output)
	}
	command = exec.CommandContext(t.Context(), patchbay, "smoke", "127.0.0.1/mcp")
	if output, err := command.CombinedOutput(); err == nil || !strings.Contains(string(output), "http://") {
		t.Errorf("no URL: %v, %s", err, output)
	}
}
