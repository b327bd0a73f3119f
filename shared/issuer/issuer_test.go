package issuer

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"patchbay/shared/authorization"
)

// published is an authorization server that publishes documents by path, and counts who asks.
type published struct {
	*httptest.Server
	mu        sync.Mutex
	documents map[string]string
	asked     []string
}

func publish(t *testing.T) *published {
	t.Helper()
	p := &published{documents: map[string]string{}}
	p.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.asked = append(p.asked, r.URL.Path)
		document, found := p.documents[r.URL.Path]
		if !found {
			http.NotFound(w, r)
			return
		}
		_, _ = fmt.Fprint(w, document)
	}))
	t.Cleanup(p.Close)
	return p
}

func (p *published) set(path, document string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.documents[path] = document
}

func (p *published) take() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	asked := p.asked
	p.asked = nil
	return asked
}

// metadata is a document of the issuer, with a jwks_uri by which the test knows it.
func metadata(issuer, keys string) string {
	return fmt.Sprintf(`{"issuer":%q,"jwks_uri":%q}`, issuer, keys)
}

// A document is found wherever one of the two standards puts it, for issuers with a path, without, and with a slash at
// the end.
func TestDiscover(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		issuer, at string
		asked      []string
	}{
		"OpenID, at the root": {"", "/.well-known/openid-configuration", []string{"/.well-known/openid-configuration"}},
		"OpenID, with a slash": {"/", "/.well-known/openid-configuration",
			[]string{"/.well-known/openid-configuration"}},
		"OpenID, with a path": {"/pool", "/pool/.well-known/openid-configuration",
			[]string{"/pool/.well-known/openid-configuration"}},
		"RFC 8414, at the root": {"", "/.well-known/oauth-authorization-server",
			[]string{"/.well-known/openid-configuration", "/.well-known/oauth-authorization-server"}},
		"RFC 8414, with a path": {"/realms/one", "/.well-known/oauth-authorization-server/realms/one",
			[]string{"/realms/one/.well-known/openid-configuration", "/.well-known/oauth-authorization-server/realms/one"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := publish(t)
			issuer := p.URL + test.issuer
			p.set(test.at, metadata(issuer, "https://keys.example"))
			got, err := Discover(t.Context(), Client(nil), &authorization.Issuer{URL: issuer})
			if err != nil || got.JWKSURI != "https://keys.example" || !json.Valid(got.Raw) {
				t.Errorf("got %+v, %v", got, err)
			}
			if diff := cmp.Diff(test.asked, p.take()); diff != "" {
				t.Errorf("asked (-want +got):\n%s", diff)
			}
		})
	}
}

func TestDiscoverRefuses(t *testing.T) {
	t.Parallel()
	const path = "/.well-known/openid-configuration"
	for name, test := range map[string]struct {
		document func(issuer string) string
		says     string
	}{
		"another issuer": {func(string) string {
			return metadata("https://evil.example", "k")
		}, "https://evil.example"},
		"a slash more":             {func(issuer string) string { return metadata(issuer+"/", "k") }, "the document of the"},
		"no issuer":                {func(string) string { return `{}` }, `is the document of the issuer ""`},
		"not JSON":                 {func(string) string { return "<html>" }, "no metadata document"},
		"not an object":            {func(string) string { return "[]" }, "no metadata document"},
		"a member of another type": {func(string) string { return `{"issuer":7}` }, "no metadata document"},
		"too large": {func(issuer string) string {
			return metadata(issuer, strings.Repeat("k", MaxBytes))
		}, "more than"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := publish(t)
			p.set(path, test.document(p.URL))
			got, err := Discover(t.Context(), Client(nil), &authorization.Issuer{URL: p.URL})
			if err == nil || !strings.Contains(err.Error(), test.says) || !strings.Contains(err.Error(), p.URL+path) {
				t.Errorf("got %+v, %v, want an error that says %q and names the address", got, err, test.says)
			}
		})
	}
}

func TestGetFollowsNoRedirect(t *testing.T) {
	t.Parallel()
	var followed atomic.Bool
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/elsewhere" {
			followed.Store(true)
		}
		http.Redirect(w, r, "/elsewhere", http.StatusFound)
	}))
	t.Cleanup(server.Close)
	_, _, err := Get(t.Context(), Client(nil), server.URL)
	if err == nil || !strings.Contains(err.Error(), "not followed") || followed.Load() {
		t.Errorf("error %v, followed %v", err, followed.Load())
	}
}

// A server that sends nothing, or does not stop sending, is left.
func TestGetIsBounded(t *testing.T) {
	t.Parallel()
	end := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/endless" {
			for {
				if _, err := w.Write([]byte(strings.Repeat(" ", 1<<16))); err != nil {
					return
				}
			}
		}
		<-end
	}))
	t.Cleanup(func() { close(end); server.Close() })
	if _, _, err := Get(t.Context(), Client(nil), server.URL+"/endless"); err == nil ||
		!strings.Contains(err.Error(), "more than 262144 bytes") {
		t.Errorf("endless: error %v", err)
	}
	quick := Client(&http.Client{Timeout: 10 * time.Millisecond})
	if _, _, err := Get(t.Context(), quick, server.URL+"/silent"); err == nil {
		t.Error("silent: no error")
	}
	if Client(nil).Timeout <= 0 || Client(&http.Client{}).Timeout <= 0 {
		t.Error("a client of this package waits for ever")
	}
}

// A server that is out of order is not asked at its other addresses as well.
func TestDiscoverStopsAtAServerThatIsOutOfOrder(t *testing.T) {
	t.Parallel()
	var asked atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		http.Error(w, "out of order", http.StatusBadGateway)
	}))
	t.Cleanup(server.Close)
	_, err := Discover(t.Context(), Client(nil), &authorization.Issuer{URL: server.URL})
	if err == nil || !strings.Contains(err.Error(), "502") || asked.Load() != 1 {
		t.Errorf("error %v after %d requests", err, asked.Load())
	}
}

// clock is a time that a test moves.
type clock struct{ now time.Time }

func (c *clock) Now() time.Time { return c.now }

func (c *clock) pass(d time.Duration) { c.now = c.now.Add(d) }

func newSource(p *published) (*Source, *clock) {
	c := &clock{time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)}
	return NewSource(&authorization.Issuer{URL: p.URL}, SourceOptions{
		Now: c.Now, Log: slog.New(slog.DiscardHandler),
	}), c
}

func TestSourceKeepsADocument(t *testing.T) {
	t.Parallel()
	const path = "/.well-known/openid-configuration"
	p := publish(t)
	s, clock := newSource(p)
	p.set(path, metadata(p.URL, "first"))
	for _, step := range []struct {
		name     string
		pass     time.Duration
		document string // what is published from then on; empty for nothing
		keys     string
		asks     int
	}{
		{"first", 0, metadata(p.URL, "first"), "first", 1},
		{"within the hour", time.Hour, metadata(p.URL, "second"), "first", 0},
		{"after it", time.Second, metadata(p.URL, "second"), "second", 1},
		{"an outage", time.Hour + time.Second, "", "second", 2},
		{"in the pause after a failure", 10 * time.Second, metadata(p.URL, "third"), "second", 0},
		{"after the pause", time.Second, "", "second", 2},
		{"much later", 1000 * time.Hour, "", "second", 2},
		{"an impostor", time.Minute, metadata("https://evil.example", "evil"), "second", 1},
		{"back again", time.Minute, metadata(p.URL, "fourth"), "fourth", 1},
		{"the clock was set back", -time.Minute, metadata(p.URL, "fifth"), "fifth", 1},
	} {
		clock.pass(step.pass)
		p.mu.Lock()
		delete(p.documents, path)
		p.mu.Unlock()
		if step.document != "" {
			p.set(path, step.document)
		}
		got, err := s.Metadata(t.Context())
		if err != nil || got.JWKSURI != step.keys {
			t.Errorf("%s: got %+v, %v, want keys %s", step.name, got, err, step.keys)
		}
		if asked := p.take(); len(asked) != step.asks {
			t.Errorf("%s: asked %v, want %d", step.name, asked, step.asks)
		}
	}
}

// An issuer that has never answered is asked at a bounded rate, and found once it is there.
func TestSourceWithoutADocument(t *testing.T) {
	t.Parallel()
	p := publish(t)
	s, clock := newSource(p)
	for i := range 3 {
		if _, err := s.Metadata(t.Context()); err == nil || !strings.Contains(err.Error(), p.URL) {
			t.Errorf("time %d: error %v", i, err)
		}
	}
	if asked := p.take(); len(asked) != 2 {
		t.Errorf("asked %v, want once at each address", asked)
	}
	p.set("/.well-known/openid-configuration", metadata(p.URL, "k"))
	clock.pass(11 * time.Second)
	if _, err := s.Metadata(t.Context()); err != nil {
		t.Error(err)
	}
}

// Callers at one time share a fetch, and one that has given up already does not spoil it.
func TestSourceIsShared(t *testing.T) {
	t.Parallel()
	p := publish(t)
	p.set("/.well-known/openid-configuration", metadata(p.URL, "k"))
	s, _ := newSource(p)
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	var group sync.WaitGroup
	for range 20 {
		group.Go(func() {
			if _, err := s.Metadata(gone); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	if asked := p.take(); !slices.Equal(asked, []string{"/.well-known/openid-configuration"}) {
		t.Errorf("asked %v", asked)
	}
}
