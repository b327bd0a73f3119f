package localpage_test

import (
	"bufio"
	"encoding/json"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"patchbay/scripts/callpath"
	"patchbay/scripts/localgateway"
	"patchbay/scripts/localpage"
)

// page is a page in front of a gateway that says teapot to everything.
func page(options localpage.Options) http.Handler {
	if options.Endpoint == "" {
		options.Endpoint = "http://127.0.0.1:8787/mcp"
	}
	if options.Calls == nil {
		options.Calls = callpath.New("dispatcher", "authorizer")
	}
	if options.Changes == nil {
		options.Changes = &localpage.Changes{}
	}
	return localpage.New(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusTeapot)
	}), options)
}

// ask is a request of this machine's browser.
func ask(method, target string) *http.Request {
	r := httptest.NewRequest(method, target, nil)
	r.Host, r.RemoteAddr = "127.0.0.1:8787", "127.0.0.1:50000"
	return r
}

func answer(handler http.Handler, r *http.Request) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, r)
	return w
}

func TestAddresses(t *testing.T) {
	t.Parallel()
	handler := page(localpage.Options{})
	for _, test := range []struct {
		method, target string
		status         int
		contentType    string
	}{
		{"GET", "/", 200, "text/html; charset=utf-8"},
		{"HEAD", "/", 200, "text/html; charset=utf-8"},
		{"GET", "/?code=1&state=2", 200, "text/html; charset=utf-8"},
		{"GET", "/_patchbay/page.js", 200, "text/javascript; charset=utf-8"},
		{"GET", "/_patchbay/page.css", 200, "text/css; charset=utf-8"},
		{"HEAD", "/_patchbay/events", 200, "text/event-stream"},
		{"GET", "/_patchbay/index.html", 404, "text/plain; charset=utf-8"}, // not without what is filled in
		{"GET", "/_patchbay/", 404, "text/plain; charset=utf-8"},
		{"GET", "/_patchbay/../localpage.go", 404, "text/plain; charset=utf-8"},
		// The rest is the gateway's.
		{"POST", "/", 418, ""},
		{"POST", "/_patchbay/page.js", 418, ""},
		{"POST", "/mcp", 418, ""},
		{"GET", "/mcp", 418, ""},
		{"OPTIONS", "/mcp", 418, ""},
		{"GET", "/.well-known/oauth-protected-resource/mcp", 418, ""},
	} {
		w := answer(handler, ask(test.method, test.target))
		if w.Code != test.status || w.Header().Get("Content-Type") != test.contentType {
			t.Errorf("%s %s: %d %s; want %d %s", test.method, test.target, w.Code, w.Header().Get("Content-Type"),
				test.status, test.contentType)
		}
	}
}

// A site whose name resolves to this machine, and a machine beside it, get nothing to read.
func TestOnlyForThisMachine(t *testing.T) {
	t.Parallel()
	handler := page(localpage.Options{})
	for _, test := range []struct {
		host, remote string
		served       bool
	}{
		{"127.0.0.1:8787", "127.0.0.1:50000", true},
		{"localhost:8787", "127.0.0.1:50000", true},
		{"LOCALHOST", "127.0.0.1:50000", true},
		{"[::1]:8787", "[::1]:50000", true},
		{"127.0.0.1:9000", "127.0.0.1:50000", true}, // a port that is forwarded here
		{"attacker.example:8787", "127.0.0.1:50000", false},
		{"localhost.attacker.example", "127.0.0.1:50000", false},
		{"127.0.0.1.attacker.example:8787", "127.0.0.1:50000", false},
		{"192.168.1.5:8787", "127.0.0.1:50000", false},
		{"", "127.0.0.1:50000", false},
		{"127.0.0.1:8787", "192.168.1.9:50000", false},
		{"127.0.0.1:8787", "", false},
	} {
		for _, target := range []string{"/", "/_patchbay/page.js", "/_patchbay/events"} {
			r := ask(http.MethodHead, target)
			r.Host, r.RemoteAddr = test.host, test.remote
			w := answer(handler, r)
			if served := w.Code == http.StatusOK; served != test.served || !served && w.Code != http.StatusMisdirectedRequest {
				t.Errorf("%s for host %q from %q: %d", target, test.host, test.remote, w.Code)
			}
		}
	}
	r := ask(http.MethodGet, "/")
	r.Host = "attacker.example"
	if w := answer(handler, r); !strings.Contains(w.Body.String(), "it is at http://127.0.0.1:8787/\n") {
		t.Errorf("a stranger reads %q", w.Body)
	}
	// The gateway looks after itself, as it does on AWS.
	r = ask(http.MethodPost, "/mcp")
	r.Host = "attacker.example"
	if w := answer(handler, r); w.Code != http.StatusTeapot {
		t.Errorf("the endpoint answers %d", w.Code)
	}
}

// Pages of other origins may lead here, and may use no part of the page.
func TestOtherOrigins(t *testing.T) {
	t.Parallel()
	handler := page(localpage.Options{})
	for _, test := range []struct {
		target, site string
		status       int
	}{
		{"/", "cross-site", 200},
		{"/", "none", 200},
		{"/_patchbay/page.js", "same-origin", 200},
		{"/_patchbay/page.js", "none", 200},
		{"/_patchbay/page.js", "cross-site", 403},
		{"/_patchbay/events", "same-site", 403}, // another port of this machine
	} {
		r := ask(http.MethodHead, test.target)
		r.Header.Set("Sec-Fetch-Site", test.site)
		if w := answer(handler, r); w.Code != test.status {
			t.Errorf("%s, %s: %d, want %d", test.target, test.site, w.Code, test.status)
		}
	}
}

func TestPolicy(t *testing.T) {
	t.Parallel()
	w := answer(page(localpage.Options{
		Issuers: []string{"http://127.0.0.1:9000/pool", "https://login.example.com"},
	}), ask(http.MethodGet, "/"))
	policy := strings.Split(w.Header().Get("Content-Security-Policy"), "; ")
	for _, want := range []string{
		"default-src 'none'", "script-src 'self'", "style-src 'self'", "frame-ancestors 'none'", "form-action 'none'",
		"connect-src 'self' http://127.0.0.1:9000 https://login.example.com", "require-trusted-types-for 'script'",
	} {
		if !slices.Contains(policy, want) {
			t.Errorf("the policy %q lacks %q", policy, want)
		}
	}
	if strings.Contains(strings.Join(policy, " "), "unsafe") {
		t.Errorf("the policy is %q", policy)
	}
	for name, want := range map[string]string{
		"X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer", "Cache-Control": "no-cache",
		"Cross-Origin-Resource-Policy": "same-origin", "Cross-Origin-Opener-Policy": "same-origin",
	} {
		if got := w.Header().Get(name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	for _, want := range []string{`data-endpoint="http://127.0.0.1:8787/mcp"`, `data-tokens="needed"`} {
		if !strings.Contains(w.Body.String(), want) {
			t.Errorf("the page lacks %s", want)
		}
	}
	open := answer(page(localpage.Options{}), ask(http.MethodGet, "/"))
	if got := open.Header().Get("Content-Security-Policy"); !strings.Contains(got, "connect-src 'self';") {
		t.Errorf("without authorization servers the policy is %q", got)
	}
}

// What a tool says becomes text: nothing in the page makes markup or code of it, nor loads what it names.
func TestAssetsMakeNoMarkup(t *testing.T) {
	t.Parallel()
	banned := regexp.MustCompile(`innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function|` +
		`srcdoc|createContextualFragment|DOMParser|setHTML|<iframe|@import|[: ]url\(`)
	size := 0
	err := fs.WalkDir(os.DirFS("assets"), ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := os.ReadFile("assets/" + path)
		size += len(data)
		if found := banned.Find(data); found != nil {
			t.Errorf("%s has %s; put text on the page by dom.js", path, found)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if size > 128<<10 {
		t.Errorf("the page has %d bytes; it is to be small", size)
	}
}

// event is one of a stream.
type event struct{ name, data string }

// follow opens the stream of events and returns how to get the next one.
func follow(t *testing.T, handler http.Handler) func() event {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	response, err := http.Get(server.URL + "/_patchbay/events")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { response.Body.Close() })
	lines := bufio.NewScanner(response.Body)
	return func() event {
		var e event
		for lines.Scan() {
			line := lines.Text()
			switch {
			case strings.HasPrefix(line, "event: "):
				e.name = line[len("event: "):]
			case strings.HasPrefix(line, "data: "):
				e.data = line[len("data: "):]
			case line == "" && e.name != "":
				return e
			}
		}
		return event{name: "end"}
	}
}

func TestEvents(t *testing.T) {
	t.Parallel()
	calls := callpath.New("dispatcher", "authorizer")
	changes := &localpage.Changes{}
	refused := func(id string) {
		calls.Access(localgateway.Access{
			RequestID: id, HTTPMethod: "GET", Path: "/\nnowhere", Status: 403, ResponseType: "MISSING", Began: time.Now(),
		})
	}
	refused("first")
	refused("second")
	changes.Tell(localpage.Change{Faults: []localpage.Fault{
		{Of: []string{"greet"}, Text: "main.go:3: no", Serving: true}, {Of: []string{"wave"}, Text: "tool.json: no"},
	}})
	changes.Tell(localpage.Change{Mended: []string{"greet"}})
	next := follow(t, page(localpage.Options{Calls: calls, Changes: changes}))

	for _, want := range []string{"first", "second"} {
		var call callpath.Call
		if e := next(); e.name != "call" || json.Unmarshal([]byte(e.data), &call) != nil || call.RequestID != want {
			t.Errorf("got %+v, want call %s", e, want)
		}
	}
	if e := next(); e != (event{"ready", `{"faults":[{"of":["wave"],"text":"tool.json: no","serving":false}]}`}) {
		t.Errorf("the faults that there are come as %+v", e)
	}
	refused("third")
	if e := next(); e.name != "call" || !strings.Contains(e.data, `"requestId":"third"`) {
		t.Errorf("a new call comes as %+v", e)
	}
	changes.Tell(localpage.Change{Live: []string{"wave"}, Mended: []string{"wave"}, TookMS: 900})
	if e := next(); e != (event{"change", `{"live":["wave"],"mended":["wave"],"tookMs":900}`}) {
		t.Errorf("a change comes as %+v", e)
	}
	calls.Close()
	if e := next(); e.name != "end" {
		t.Errorf("after the last call comes %+v", e)
	}
}
