package upstream_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"patchbay/shared/secret"
	"patchbay/shared/upstream"
)

const (
	// clientID and firstSecret have characters that RFC 6749, section 2.3.1, wants encoded.
	clientID    = "patchbay:tools/é"
	firstSecret = "s3cret &+%:/é"
	tokenPrefix = "opaque-access-token-"
)

// world is an authorization server, the API whose tokens it issues, and a clock.
type world struct {
	issuer, api *httptest.Server
	secretsFile string

	mu      sync.Mutex
	secret  string // what the authorization server takes
	grants  []url.Values
	basic   int    // how many requests had the client in the Authorization field
	life    string // the member expires_in and its comma; may be empty
	answer  http.HandlerFunc
	seen    []string // what the API got: the token and the body
	refused map[string]bool
	refuses bool // the API refuses every token
	now     time.Time
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{
		secret: firstSecret, life: `"expires_in":3600,`, refused: map[string]bool{},
		now: time.Date(2026, 8, 1, 0, 0, 0, 0, time.UTC), secretsFile: filepath.Join(t.TempDir(), "secrets.json"),
	}
	w.keep(t, firstSecret+"\n")
	w.issuer = httptest.NewServer(http.HandlerFunc(w.serveToken))
	t.Cleanup(w.issuer.Close)
	w.api = httptest.NewServer(http.HandlerFunc(w.serveAPI))
	t.Cleanup(w.api.Close)
	return w
}

// keep writes the secret that the tool has.
func (w *world) keep(t *testing.T, text string) {
	t.Helper()
	data, err := json.Marshal(map[string]string{"client_secret": text})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(w.secretsFile, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

// serveToken is a token endpoint. Sources: RFC 6749, sections 2.3.1, 4.4, 5.1 and 5.2.
func (w *world) serveToken(out http.ResponseWriter, r *http.Request) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := r.ParseForm(); err != nil || r.Method != http.MethodPost {
		http.Error(out, "a form, please", http.StatusBadRequest)
		return
	}
	w.grants = append(w.grants, r.PostForm)
	if w.answer != nil {
		w.answer(out, r)
		return
	}
	id, password, ok := r.BasicAuth()
	if ok {
		w.basic++
		id, password = decoded(id), decoded(password)
	} else {
		id, password = r.PostForm.Get("client_id"), r.PostForm.Get("client_secret")
	}
	out.Header().Set("Content-Type", "application/json")
	switch {
	case id != clientID || password != w.secret:
		out.WriteHeader(http.StatusUnauthorized)
		fmt.Fprintf(out, `{"error":"invalid_client","error_description":"not %s"}`, password)
	case r.PostForm.Get("grant_type") != "client_credentials":
		out.WriteHeader(http.StatusBadRequest)
		fmt.Fprint(out, `{"error":"unsupported_grant_type"}`)
	default:
		fmt.Fprintf(out, `{"access_token":"%s%d",%s"token_type":"bearer"}`, tokenPrefix, len(w.grants), w.life)
	}
}

func decoded(text string) string {
	plain, err := url.QueryUnescape(text)
	if err != nil {
		return "malformed"
	}
	return plain
}

// serveAPI notes who calls with what, and refuses the tokens that are said to be refused.
func (w *world) serveAPI(out http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	w.mu.Lock()
	defer w.mu.Unlock()
	got, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer "+tokenPrefix)
	w.seen = append(w.seen, got+string(body))
	if !ok || w.refuses || w.refused[got] {
		out.Header().Set("WWW-Authenticate", `Bearer error="invalid_token"`)
		out.WriteHeader(http.StatusUnauthorized)
		return
	}
	fmt.Fprint(out, "done")
}

func (w *world) clock() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.now
}

// set changes the world between two requests.
func (w *world) set(change func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	change()
}

func (w *world) pass(d time.Duration) { w.set(func() { w.now = w.now.Add(d) }) }

func (w *world) config() upstream.Config {
	return upstream.Config{
		API: w.api.URL, TokenURL: w.issuer.URL + "/token", ClientID: clientID, Scopes: []string{"orders.read", "stock"},
		Secrets: secret.File(w.secretsFile), SecretName: "client_secret", Now: w.clock,
	}
}

func (w *world) client(t *testing.T, change func(*upstream.Config)) *http.Client {
	t.Helper()
	config := w.config()
	if change != nil {
		change(&config)
	}
	client, err := upstream.New(config)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// counts are how many requests the authorization server and the API have got.
func (w *world) counts() (tokens, requests int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.grants), len(w.seen)
}

// wantSeen compares what the API got: of each request the number of its token, and its body.
func (w *world) wantSeen(t *testing.T, want ...string) {
	t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	if diff := cmp.Diff(want, w.seen); diff != "" {
		t.Errorf("what the API got (-want +got):\n%s", diff)
	}
}

// call sends one request to the API and returns the answer's status.
func (w *world) call(t *testing.T, client *http.Client, body io.Reader) int {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, w.api.URL+"/orders", body)
	if err != nil {
		t.Fatal(err)
	}
	response, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadAll(response.Body); err != nil {
		t.Error(err)
	}
	response.Body.Close()
	if request.Header.Get("Authorization") != "" {
		t.Error("the caller's request was changed")
	}
	return response.StatusCode
}

func TestGrant(t *testing.T) {
	t.Parallel()
	scope := []string{"orders.read stock"}
	for name, test := range map[string]struct {
		change func(*upstream.Config)
		want   url.Values
		basic  int
	}{
		"plain":     {nil, url.Values{"scope": scope}, 1},
		"no scopes": {func(c *upstream.Config) { c.Scopes = nil }, url.Values{}, 1},
		"RFC 8707": {
			func(c *upstream.Config) { c.Resource = "https://api.example.com" },
			url.Values{"scope": scope, "resource": {"https://api.example.com"}}, 1,
		},
		"an audience": {
			func(c *upstream.Config) { c.Audience = "orders" }, url.Values{"scope": scope, "audience": {"orders"}}, 1,
		},
		"in the body": {
			func(c *upstream.Config) { c.SecretInBody = true },
			url.Values{"scope": scope, "client_id": {clientID}, "client_secret": {firstSecret}}, 0,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			if got := w.call(t, w.client(t, test.change), nil); got != http.StatusOK {
				t.Errorf("status %d", got)
			}
			test.want.Set("grant_type", "client_credentials")
			w.mu.Lock()
			defer w.mu.Unlock()
			if diff := cmp.Diff([]url.Values{test.want}, w.grants); diff != "" || w.basic != test.basic {
				t.Errorf("%d by the Authorization field; grants (-want +got):\n%s", w.basic, diff)
			}
		})
	}
}

// A token is used until shortly before its end by the wall clock, which goes on while a process is frozen.
func TestHowLongATokenIsKept(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		life        string
		last, first time.Duration // the last time that it is used, and the first time that it is not
	}{
		"an hour":               {`"expires_in":3600,`, time.Hour - 31*time.Second, time.Hour - 29*time.Second},
		"a minute":              {`"expires_in":60,`, 44 * time.Second, 46 * time.Second},
		"a text":                {`"expires_in":"3600",`, time.Hour - 31*time.Second, time.Hour - 29*time.Second},
		"not said":              {``, 5*time.Minute - 1, 5 * time.Minute},
		"the clock is set back": {`"expires_in":3600,`, 0, -time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.life = test.life
			client := w.client(t, nil)
			w.call(t, client, nil)
			w.pass(test.last)
			w.call(t, client, nil)
			w.pass(test.first - test.last)
			w.call(t, client, nil)
			w.wantSeen(t, "1", "1", "2")
		})
	}
}

// A token that is at its end when it comes is used for the request that fetched it.
func TestTokenWithoutALife(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.life = `"expires_in":-1,`
	client := w.client(t, nil)
	w.call(t, client, nil)
	w.call(t, client, nil)
	w.wantSeen(t, "1", "2")
}

func TestManyRequestsFetchOneToken(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	client := w.client(t, nil)
	var group sync.WaitGroup
	for range 32 {
		group.Go(func() {
			response, err := client.Get(w.api.URL)
			if err != nil {
				t.Error(err)
				return
			}
			response.Body.Close()
		})
	}
	group.Wait()
	if tokens, requests := w.counts(); tokens != 1 || requests != 32 {
		t.Errorf("%d tokens for %d requests", tokens, requests)
	}
}

// The end of one caller's time is not the answer for another who waits for the same token.
func TestCallerWhoLeavesTakesNobodyAlong(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	asked, leave := make(chan struct{}), make(chan struct{})
	held := secretsFunc(func(ctx context.Context, name string) (secret.Value, error) {
		select {
		case asked <- struct{}{}:
			<-ctx.Done()
			return secret.Value{}, ctx.Err()
		case <-leave:
			return secret.NewValue(firstSecret), nil
		}
	})
	client := w.client(t, func(c *upstream.Config) { c.Secrets = held })
	ctx, cancel := context.WithCancel(t.Context())
	first := make(chan error)
	go func() { first <- get(ctx, client, w.api.URL) }()
	<-asked
	second := make(chan error)
	go func() { second <- get(t.Context(), client, w.api.URL) }()
	close(leave)
	cancel()
	if err := <-first; !errors.Is(err, context.Canceled) || !errors.Is(err, upstream.ErrNoToken) {
		t.Errorf("error = %v", err)
	}
	if err := <-second; err != nil {
		t.Errorf("error = %v", err)
	}
}

type secretsFunc func(ctx context.Context, name string) (secret.Value, error)

func (f secretsFunc) Get(ctx context.Context, name string) (secret.Value, error) { return f(ctx, name) }

func get(ctx context.Context, client *http.Client, at string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, at, nil)
	if err != nil {
		return err
	}
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	return response.Body.Close()
}

// A token that the API refuses is replaced, and the request sent once more, with its body.
func TestRefusedTokenIsReplaced(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	client := w.client(t, nil)
	w.call(t, client, nil)
	w.set(func() { w.refused["1"] = true })
	w.pass(time.Minute)
	if got := w.call(t, client, strings.NewReader("-body")); got != http.StatusOK {
		t.Errorf("status %d", got)
	}
	w.call(t, client, nil)
	w.wantSeen(t, "1", "1-body", "2-body", "2")
}

// A body that is gone cannot be sent again: the caller gets the API's answer, and the next request a fresh token only
// when the API refuses that one too.
func TestBodyThatCannotBeSentAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	client := w.client(t, nil)
	w.call(t, client, nil)
	w.set(func() { w.refused["1"] = true })
	w.pass(time.Minute)
	if got := w.call(t, client, io.MultiReader(strings.NewReader("-body"))); got != http.StatusUnauthorized {
		t.Errorf("status %d", got)
	}
	if got := w.call(t, client, nil); got != http.StatusOK {
		t.Errorf("status %d", got)
	}
	w.wantSeen(t, "1", "1-body", "1", "2")
}

// An API that refuses every token makes no request wait for one after the other.
func TestAPIThatRefusesEveryToken(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.refuses = true
	client := w.client(t, nil)
	for range 3 {
		if got := w.call(t, client, nil); got != http.StatusUnauthorized {
			t.Errorf("status %d", got)
		}
	}
	w.pass(time.Minute)
	w.call(t, client, nil)
	w.call(t, client, nil)
	w.wantSeen(t, "1", "1", "1", "1", "2", "2")
}

// A secret that was replaced counts as soon as the old one is refused, though the tool's cache still has that.
func TestReplacedSecret(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	cache := secret.NewCache(secret.File(w.secretsFile), secret.CacheOptions{Now: w.clock, TTL: 24 * time.Hour})
	client := w.client(t, func(c *upstream.Config) { c.Secrets = cache })
	w.call(t, client, nil)
	w.set(func() { w.secret = "another" })
	w.keep(t, "another")
	w.pass(time.Hour)
	if got := w.call(t, client, nil); got != http.StatusOK {
		t.Errorf("status %d", got)
	}
	w.wantSeen(t, "1", "3")
}

// A secret that is wrong for good is not sent twice for one call.
func TestWrongSecret(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.keep(t, "wrong")
	for range 2 {
		err := get(t.Context(), w.client(t, nil), w.api.URL)
		if !errors.Is(err, upstream.ErrNoToken) || !strings.Contains(err.Error(), "401, invalid_client") {
			t.Errorf("error = %v", err)
		}
	}
	if tokens, requests := w.counts(); tokens != 2 || requests != 0 {
		t.Errorf("%d requests for a token, %d to the API", tokens, requests)
	}
}

func answering(status int, kind, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", kind)
		w.WriteHeader(status)
		fmt.Fprint(w, body)
	}
}

// What a token endpoint does wrong is told without what was sent and what came back, and the API is not called.
func TestTokenEndpointsThatFail(t *testing.T) {
	t.Parallel()
	const kind = "application/json"
	for name, test := range map[string]struct {
		answer http.HandlerFunc
		says   string
	}{
		"scope":      {answering(400, kind, `{"error":"invalid_scope","error_description":"BODY"}`), "400, invalid_scope"},
		"resource":   {answering(400, kind, `{"error":"invalid_target"}`), "400, invalid_target"},
		"other code": {answering(400, kind, `{"error":"BODY"}`), "400, no error code of OAuth"},
		"no code":    {answering(403, kind, `{"message":"BODY"}`), "403, no error code"},
		"200":        {answering(200, kind, `{"error":"invalid_request","access_token":"BODY"}`), "200, invalid_request"},
		"500":        {answering(500, "text/html", `<p>BODY</p>`), "500, no error code"},
		"no token":   {answering(200, kind, `{"token_type":"Bearer"}`), "not understood"},
		"no JSON":    {answering(200, kind, `BODY`), "not understood"},
		"a form":     {answering(200, "text/plain", `access_token=BODY%zz`), "not understood"},
		"DPoP":       {answering(200, kind, `{"access_token":"BODY","token_type":"DPoP"}`), "another type"},
		"redirect": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", "/elsewhere")
			w.WriteHeader(http.StatusTemporaryRedirect)
		}, "307, no error code"},
		"cut": {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, "reaching the token endpoint: EOF"},
		"cut later": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "100")
			fmt.Fprint(w, "BODY")
			w.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		}, "not understood"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.answer = test.answer
			err := get(t.Context(), w.client(t, nil), w.api.URL)
			if !errors.Is(err, upstream.ErrNoToken) || !strings.Contains(err.Error(), test.says) {
				t.Fatalf("error = %v, want one with %q", err, test.says)
			}
			for _, internal := range []string{"BODY", "s3cret", w.issuer.URL} {
				if strings.Contains(err.Error(), internal) {
					t.Errorf("the error shows %q: %v", internal, err)
				}
			}
			if tokens, requests := w.counts(); tokens != 1 || requests != 0 {
				t.Errorf("%d requests for a token, %d to the API", tokens, requests)
			}
			w.set(func() { w.answer = nil })
			if got := w.call(t, w.client(t, nil), nil); got != http.StatusOK {
				t.Errorf("status %d once the endpoint is well again", got)
			}
		})
	}
}

// A token endpoint that does not answer holds a call up for a bounded time.
func TestSlowTokenEndpoint(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	slow := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		<-r.Context().Done()
	}))
	t.Cleanup(slow.Close)
	client := w.client(t, func(c *upstream.Config) { c.TokenURL, c.Timeout = slow.URL, 50*time.Millisecond })
	err := get(t.Context(), client, w.api.URL)
	if !errors.Is(err, upstream.ErrNoToken) || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error = %v", err)
	}
}

func TestSecretThatCannotBeRead(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	err := get(t.Context(), w.client(t, func(c *upstream.Config) { c.SecretName = "gone" }), w.api.URL)
	tokens, _ := w.counts()
	if !errors.Is(err, upstream.ErrNoToken) || !errors.Is(err, secret.ErrNotFound) || tokens != 0 {
		t.Errorf("error = %v, %d requests for a token", err, tokens)
	}
}

// A token is for one API: no other address gets it, nor does the target of a redirect.
func TestTokensGoNowhereElse(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	other := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("another host was asked, with Authorization %q", r.Header.Get("Authorization"))
	}))
	t.Cleanup(other.Close)
	client := w.client(t, nil)
	for _, at := range []string{other.URL, strings.Replace(w.api.URL, "http://", "https://", 1), "http://127.0.0.1:1/"} {
		body := &closing{Reader: strings.NewReader("body")}
		_, err := client.Post(at, "text/plain", body)
		if err == nil || !strings.Contains(err.Error(), "its token is for "+w.api.URL+" alone") || !body.closed {
			t.Errorf("%s: error = %v, body closed %v", at, err, body.closed)
		}
	}
	if tokens, _ := w.counts(); tokens != 0 {
		t.Errorf("%d tokens were fetched", tokens)
	}
	redirects := httptest.NewServer(http.RedirectHandler(other.URL, http.StatusTemporaryRedirect))
	t.Cleanup(redirects.Close)
	response, err := w.client(t, func(c *upstream.Config) { c.API = redirects.URL }).Get(redirects.URL)
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	if response.StatusCode != http.StatusTemporaryRedirect {
		t.Errorf("status %d", response.StatusCode)
	}
}

type closing struct {
	io.Reader
	closed bool
}

func (c *closing) Close() error { c.closed = true; return nil }

func TestConfigurationsThatAreRefused(t *testing.T) {
	t.Parallel()
	secrets := secret.File("secrets.json")
	good := upstream.Config{
		API: "https://api.example.com/v1", TokenURL: "https://login.example.com/token?x=y", ClientID: "c",
		Secrets: secrets, SecretName: "s",
	}
	if _, err := upstream.New(good); err != nil {
		t.Errorf("a good one: %v", err)
	}
	for want, change := range map[string]func(*upstream.Config){
		"API is":                 func(c *upstream.Config) { c.API = "" },
		`"http://api.example`:    func(c *upstream.Config) { c.API = "http://api.example.com" },
		`"api.example.com"`:      func(c *upstream.Config) { c.API = "api.example.com" },
		"API cannot be parsed":   func(c *upstream.Config) { c.API = "https://me:hunter2@a b" },
		"TokenURL is":            func(c *upstream.Config) { c.TokenURL = "https://me:hunter2@login.example.com" },
		`"https://login.e/#frag`: func(c *upstream.Config) { c.TokenURL = "https://login.e/#frag" },
		"ClientID,":              func(c *upstream.Config) { c.ClientID = "" },
		"Secrets and":            func(c *upstream.Config) { c.Secrets = nil },
		"SecretName must":        func(c *upstream.Config) { c.SecretName = "" },
	} {
		config := good
		change(&config)
		_, err := upstream.New(config)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("error = %v, want one with %q and without a password", err, want)
		}
	}
}
