package discovery

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"patchbay/dispatcher/metrics"
	"patchbay/shared/authorization"
	"patchbay/shared/contract"
	"patchbay/shared/registry"
)

// tools is a catalogue; nil cannot be read.
type tools []*registry.Entry

func (c tools) Entries(context.Context) ([]*registry.Entry, error) {
	if c == nil {
		return nil, errors.New("the table is gone")
	}
	return c, nil
}

func toolsOf(t testing.TB, contracts ...string) tools {
	t.Helper()
	all := tools{}
	for i, text := range contracts {
		tool, err := contract.Decode(fmt.Appendf(nil, `{"name":"t%d","inputSchema":{"type":"object"}}`, i), []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, &registry.Entry{Tool: tool})
	}
	return all
}

const resource = authorization.Resource("https://mcp.example.com/mcp")

// server is a handler with what it is made of.
type server struct {
	Config
	log, counted bytes.Buffer
}

// newServer has a catalogue of some tools, and whatever authorization text says.
func newServer(t testing.TB, config string) *server {
	t.Helper()
	parsed, err := authorization.Parse([]byte(config))
	if err != nil {
		t.Fatal(err)
	}
	s := &server{}
	s.Config = Config{
		Authorization: parsed,
		Resource:      resource,
		Catalogue: toolsOf(t, `{}`, `{"permissions":["mail:send","mail:read"]}`, `{"permissions":["mail:read"]}`,
			`{"permissions":["hidden:use"],"visibility":"permitted"}`, `{"permissions":["never"],"risk":"forbidden"}`),
		RequestID: func(context.Context) string { return "r-1" },
		Log:       slog.New(slog.NewJSONHandler(&s.log, nil)),
		Metrics:   metrics.New(&s.counted, metrics.Options{Namespace: "Patchbay", Deployment: "d"}),
	}
	return s
}

func (s *server) ask(t testing.TB, method, path, body string, header ...string) *httptest.ResponseRecorder {
	t.Helper()
	request := httptest.NewRequestWithContext(t.Context(), method, path, strings.NewReader(body))
	for i := 0; i < len(header); i += 2 {
		request.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	New(s.Config).ServeHTTP(w, request)
	return w
}

const plain = `{"issuers":[{"issuer":"https://login.example.com/"}]}`

func TestResourceMetadata(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		config string
		change func(*server)
		want   string
	}{
		"one issuer": {plain, func(*server) {}, `{"resource":"https://mcp.example.com/mcp",
			"authorization_servers":["https://login.example.com/"],
			"scopes_supported":["hidden:use","mail:read","mail:send"],"bearer_methods_supported":["header"]}`},
		"with a name and a page": {plain, func(s *server) {
			s.Name, s.Documentation = "Mail desk", "https://desk.example.com"
		}, `{"resource":"https://mcp.example.com/mcp","authorization_servers":["https://login.example.com/"],
			"scopes_supported":["hidden:use","mail:read","mail:send"],"bearer_methods_supported":["header"],
			"resource_name":"Mail desk","resource_documentation":"https://desk.example.com"}`},
		"no scopes": {plain, func(s *server) { s.Catalogue = toolsOf(t, `{}`) },
			`{"resource":"https://mcp.example.com/mcp","authorization_servers":["https://login.example.com/"],
			"bearer_methods_supported":["header"]}`},
		"no tools, behind a stage": {plain, func(s *server) {
			s.Catalogue, s.Resource = tools{}, "https://x.execute-api.eu-west-1.amazonaws.com/prod/mcp"
		}, `{"resource":"https://x.execute-api.eu-west-1.amazonaws.com/prod/mcp",
			"authorization_servers":["https://login.example.com/"],"bearer_methods_supported":["header"]}`},
		"two issuers that ask differently": {`{"issuers":[{"issuer":"https://a.example"},
			{"issuer":"https://b.example","scopePrefix":"api://desk/"}]}`, func(s *server) {
			s.Catalogue = toolsOf(t, `{"permissions":["mail:read"]}`)
		}, `{"resource":"https://mcp.example.com/mcp","authorization_servers":["https://a.example","https://b.example"],
			"scopes_supported":["api://desk/mail:read","mail:read"],"bearer_methods_supported":["header"]}`},
		"the second is fronted": {`{"issuers":[{"issuer":"https://a.example"},
			{"issuer":"https://b.example","scopePrefix":"desk/"}],"front":{"issuer":"https://b.example","clientId":"c",
			"redirectUris":["https://app.example/cb"]}}`, func(s *server) {
			s.Catalogue = toolsOf(t, `{"permissions":["mail:read"]}`)
		}, `{"resource":"https://mcp.example.com/mcp",
			"authorization_servers":["https://mcp.example.com","https://a.example"],
			"scopes_supported":["desk/mail:read","mail:read"],"bearer_methods_supported":["header"]}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newServer(t, test.config)
			test.change(s)
			for _, path := range []string{
				"/.well-known/oauth-protected-resource", "/.well-known/oauth-protected-resource/mcp",
			} {
				w := s.ask(t, "GET", path, "")
				if w.Code != http.StatusOK {
					t.Errorf("%s: status %d, %s", path, w.Code, w.Body)
				}
				sameJSON(t, test.want, w.Body.String())
			}
		})
	}
}

func sameJSON(t *testing.T, want, got string) {
	t.Helper()
	var a, b any
	if err := errors.Join(json.Unmarshal([]byte(want), &a), json.Unmarshal([]byte(got), &b)); err != nil {
		t.Fatalf("%v in %s", err, got)
	}
	if diff := cmp.Diff(a, b); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// What is published is read by pages of any origin and kept for a while, and asked for again it need not be sent again.
func TestDocumentsAreReadByPagesAndKept(t *testing.T) {
	t.Parallel()
	const path = "/.well-known/oauth-protected-resource/mcp"
	s := newServer(t, plain)
	got := s.ask(t, "GET", path, "", "Origin", "https://app.example")
	for name, want := range map[string]string{
		"Content-Type": "application/json", "Access-Control-Allow-Origin": "*", "Cache-Control": "public, max-age=300",
		"X-Content-Type-Options": "nosniff", "Content-Length": fmt.Sprint(got.Body.Len()),
	} {
		if value := got.Header().Get(name); value != want {
			t.Errorf("%s: got %q, want %q", name, value, want)
		}
	}
	head := s.ask(t, "HEAD", path, "")
	if head.Code != http.StatusOK || head.Body.Len() != 0 || head.Header().Get("ETag") != got.Header().Get("ETag") ||
		head.Header().Get("Content-Length") != got.Header().Get("Content-Length") {
		t.Errorf("HEAD: %d %v %s", head.Code, head.Header(), head.Body)
	}
	tag := got.Header().Get("ETag")
	for field, want := range map[string]int{
		tag: 304, `"other", W/` + tag: 304, "*": 304, `"other"`: 200, strings.Trim(tag, `"`): 200, "": 200,
	} {
		if w := s.ask(t, "GET", path, "", "If-None-Match", field); w.Code != want || (w.Body.Len() == 0) != (want == 304) {
			t.Errorf("If-None-Match %s: got %d %s, want %d", field, w.Code, w.Body, want)
		}
	}
	s.Catalogue = toolsOf(t, `{"permissions":["new"]}`)
	if w := s.ask(t, "GET", path, "", "If-None-Match", tag); w.Code != 200 || !strings.Contains(w.Body.String(), "new") {
		t.Errorf("after a publish: got %d %s", w.Code, w.Body)
	}
}

const fronted = `{"issuers":[{"issuer":"https://login.example.com"}],"front":{"clientId":"c",
	"redirectUris":["https://app.example/cb"]}}`

func TestMethods(t *testing.T) {
	t.Parallel()
	s := newServer(t, fronted)
	for path, methods := range map[string]string{
		"/.well-known/oauth-protected-resource":     "GET, HEAD, OPTIONS",
		"/.well-known/oauth-protected-resource/mcp": "GET, HEAD, OPTIONS",
		"/.well-known/oauth-authorization-server":   "GET, HEAD, OPTIONS",
		"/.well-known/openid-configuration":         "GET, HEAD, OPTIONS",
		"/oauth/register":                           "POST, OPTIONS",
	} {
		w := s.ask(t, "OPTIONS", path, "", "Origin", "https://app.example", "Access-Control-Request-Method", "GET",
			"Access-Control-Request-Headers", "mcp-protocol-version")
		header := w.Header()
		if w.Code != http.StatusNoContent || header.Get("Access-Control-Allow-Methods") != methods ||
			header.Get("Access-Control-Allow-Origin") != "*" || header.Get("Allow") != methods ||
			!strings.Contains(header.Get("Access-Control-Allow-Headers"), "MCP-Protocol-Version") ||
			header.Get("Access-Control-Allow-Credentials") != "" {
			t.Errorf("preflight of %s: %d %v", path, w.Code, header)
		}
		for _, method := range []string{"DELETE", "PUT", "PATCH", "TRACE", "GET", "POST"} {
			if strings.Contains(methods, method) {
				continue
			}
			w := s.ask(t, method, path, "{}")
			if w.Code != http.StatusMethodNotAllowed || w.Header().Get("Allow") != methods ||
				w.Header().Get("Access-Control-Allow-Origin") != "*" || !json.Valid(w.Body.Bytes()) {
				t.Errorf("%s %s: %d %v %s", method, path, w.Code, w.Header(), w.Body)
			}
		}
	}
}

// Addresses are there with and without what a domain's mapping puts before them, and the front's only with a front.
func TestHandles(t *testing.T) {
	t.Parallel()
	s := newServer(t, plain)
	s.Resource = "https://x.example/prod/mcp"
	without := New(s.Config)
	s.Authorization = newServer(t, fronted).Authorization
	with := New(s.Config)
	// The gateway opens what the configuration says, which must be what is served.
	for _, path := range s.Authorization.PublicPaths() {
		if !with.Handles(path) {
			t.Errorf("%s is open and not handled", path)
		}
	}
	public := map[string]bool{
		"/.well-known/oauth-protected-resource":     false,
		"/.well-known/oauth-protected-resource/mcp": false,
		"/.well-known/oauth-authorization-server":   true,
		"/.well-known/openid-configuration":         true,
		"/oauth/register":                           true,
	}
	if open := len(s.Authorization.PublicPaths()); open != len(public) {
		t.Errorf("%d addresses are open, and %d handled", open, len(public))
	}
	for path, front := range public {
		for _, at := range []string{path, "/prod" + path} {
			if !with.Handles(at) || without.Handles(at) == front {
				t.Errorf("%s: with a front %v, without %v", at, with.Handles(at), without.Handles(at))
			}
		}
	}
	for _, path := range []string{
		"", "/", "/mcp", "/prod/mcp", "//.well-known/oauth-protected-resource", "/.well-known/oauth-protected-resource/",
		"/dev/.well-known/oauth-protected-resource", "/.well-known/oauth-authorization-server/mcp",
	} {
		if with.Handles(path) {
			t.Errorf("%q is handled", path)
		}
	}
	if w := s.ask(t, "GET", "/elsewhere", ""); w.Code != http.StatusNotFound {
		t.Errorf("a path that is not handled: %d", w.Code)
	}
}

// A catalogue that cannot be read makes no document, which would be kept, but an answer that says to come again; and
// somebody is told.
func TestNoDocumentWithoutACatalogue(t *testing.T) {
	t.Parallel()
	s := newServer(t, fronted)
	s.Catalogue = tools(nil)
	s.Upstream = kept(metadataOf("https://login.example.com", ""))
	for _, path := range []string{
		"/.well-known/oauth-protected-resource", "/.well-known/oauth-authorization-server",
	} {
		s.log.Reset()
		s.counted.Reset()
		w := s.ask(t, "GET", path, "")
		if w.Code != http.StatusServiceUnavailable || w.Header().Get("Retry-After") != "5" ||
			w.Header().Get("Cache-Control") != "no-store" || w.Header().Get("Access-Control-Allow-Origin") != "*" {
			t.Errorf("%s: %d %v", path, w.Code, w.Header())
		}
		sameJSON(t, `{"error":"temporarily_unavailable","error_description":"The tool catalogue cannot be read at the `+
			`moment. Try again in a few seconds (request id r-1)."}`, w.Body.String())
		for _, part := range []string{`"level":"ERROR"`, `"requestId":"r-1"`, `"status":503`, "the table is gone"} {
			if !strings.Contains(s.log.String(), part) {
				t.Errorf("%s: logged %s, want %s", path, &s.log, part)
			}
		}
		if !strings.Contains(s.counted.String(), `"Errors":1`) {
			t.Errorf("%s: counted %s", path, &s.counted)
		}
	}
}

// Every request leaves one line in the log.
func TestRequestsAreLogged(t *testing.T) {
	t.Parallel()
	s := newServer(t, plain)
	s.ask(t, "GET", "/.well-known/oauth-protected-resource", "", "Authorization", "Bearer secret-token")
	s.ask(t, "PUT", "/.well-known/oauth-protected-resource", "")
	decoder := json.NewDecoder(&s.log)
	var lines []map[string]any
	for {
		var line map[string]any
		err := decoder.Decode(&line)
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		delete(line, "time")
		delete(line, "durationMs")
		lines = append(lines, line)
	}
	want := []map[string]any{
		{"level": "INFO", "msg": "discovery", "requestId": "r-1", "method": "GET", "status": 200.0,
			"path": "/.well-known/oauth-protected-resource"},
		{"level": "INFO", "msg": "discovery", "requestId": "r-1", "method": "PUT", "status": 405.0,
			"path": "/.well-known/oauth-protected-resource", "reason": "method_not_allowed"},
	}
	if diff := cmp.Diff(want, lines); diff != "" {
		t.Errorf("log (-want +got):\n%s", diff)
	}
}
