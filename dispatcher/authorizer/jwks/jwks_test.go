package jwks_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"patchbay/dispatcher/authorizer/issuertest"
	"patchbay/dispatcher/authorizer/jwks"
	"patchbay/shared/authorization"
)

// fixture is a cache of an issuer's keys, with a clock that a test can move.
type fixture struct {
	*testing.T
	issuer *issuertest.Issuer
	cache  *jwks.Cache

	mu       sync.Mutex
	now      time.Time
	failures []error
}

func newFixture(t *testing.T, keys ...*issuertest.Key) *fixture {
	t.Helper()
	f := &fixture{T: t, issuer: issuertest.New(t, keys...), now: time.Date(2026, 7, 28, 12, 0, 0, 0, time.UTC)}
	f.configure(authorization.Issuer{URL: f.issuer.URL})
	return f
}

func (f *fixture) configure(issuer authorization.Issuer) {
	f.Helper()
	issuer.Algorithms = []string{"RS256", "ES256", "EdDSA"}
	f.cache = jwks.New(&issuer, jwks.Options{Now: f.clock, Failed: f.fail, Timeout: 5 * time.Second})
}

func (f *fixture) clock() time.Time {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.now
}

func (f *fixture) pass(d time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.now = f.now.Add(d)
}

func (f *fixture) fail(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.failures = append(f.failures, err)
}

// has expects the cache to know a key, or not.
func (f *fixture) has(id, algorithm string, want bool) {
	f.Helper()
	keys, err := f.cache.Find(f.Context(), id, algorithm)
	if err != nil && !errors.Is(err, jwks.ErrUnknownKey) {
		f.Fatalf("%s: %v", id, err)
	}
	if got := err == nil && len(keys) > 0; got != want {
		f.Errorf("%s: known %v, want %v (%v)", id, got, want, err)
	}
}

// asked expects those requests since the last time.
func (f *fixture) asked(want ...string) {
	f.Helper()
	if diff := cmp.Diff(want, f.issuer.Asked()); diff != "" {
		f.Errorf("requests (-want +got):\n%s", diff)
	}
}

// unknown expects that nothing is known of the issuer's keys, for a reason with that in it.
func (f *fixture) unknown(reason string) {
	f.Helper()
	_, err := f.cache.Find(f.Context(), "k", "RS256")
	if err == nil || errors.Is(err, jwks.ErrUnknownKey) || !strings.Contains(err.Error(), reason) {
		f.Errorf("got %v, want an error with %q", err, reason)
	}
}

const metadata = "/.well-known/openid-configuration"

func TestKeysAreFetchedOnce(t *testing.T) {
	t.Parallel()
	f := newFixture(t, issuertest.RSA(t, "k"), issuertest.EC(t, "e"), issuertest.Ed25519(t, "d"))
	f.has("k", "RS256", true)
	f.has("e", "ES256", true)
	f.has("d", "EdDSA", true)
	f.has("k", "ES256", false)
	f.has("k", "HS256", false)
	f.has("k", "none", false)
	f.has("../k", "RS256", false)
	f.asked(metadata, "/keys")
}

// A token that names no key may have been signed by the only one there is.
func TestKeyWithoutID(t *testing.T) {
	t.Parallel()
	f := newFixture(t, issuertest.RSA(t, "k"), issuertest.EC(t, "e"))
	f.has("", "RS256", true)
	f.issuer.Publish(issuertest.RSA(t, "k"), issuertest.OtherRSA(t, "l"))
	f.pass(time.Hour)
	f.has("", "RS256", false)
	f.has("k", "RS256", true)
}

func TestKeysAtAnAddressOfTheConfiguration(t *testing.T) {
	t.Parallel()
	f := newFixture(t, issuertest.RSA(t, "k"))
	f.configure(authorization.Issuer{URL: "https://issuer.example", JWKSURI: f.issuer.URL + "/keys"})
	f.has("k", "RS256", true)
	f.asked("/keys")
}

// RFC 8414 puts the well-known path before the issuer's own, OpenID Connect behind it.
func TestDiscovery(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	issuer := f.issuer.URL + "/realms/tools/"
	f.configure(authorization.Issuer{URL: issuer})
	f.issuer.Break(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/.well-known/oauth-authorization-server/realms/tools":
			_, _ = fmt.Fprintf(w, `{"issuer":%q,"jwks_uri":%q}`, issuer, f.issuer.URL+"/k")
		case "/k":
			_, _ = fmt.Fprintf(w, `{"keys":[{"kty":"OKP","crv":"Ed25519","kid":"k","x":%q}]}`,
				issuertest.Ed25519(t, "k").JWK()["x"])
		default:
			http.NotFound(w, r)
		}
	})
	f.has("k", "EdDSA", true)
	f.asked("/realms/tools/.well-known/openid-configuration", "/.well-known/oauth-authorization-server/realms/tools", "/k")
}

// A document that is not the issuer's own, or sends to where keys cannot be trusted, names no keys.
func TestDiscoveryRefuses(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		changes []any
		want    string
	}{
		"another issuer":         {[]any{"issuer", "https://other.example"}, "is the document of the issuer"},
		"a trailing slash":       {[]any{"issuer", "SLASH"}, "is the document of the issuer"},
		"no issuer":              {[]any{"issuer", nil}, "is the document of the issuer"},
		"no keys":                {[]any{"jwks_uri", nil}, "is no URL"},
		"keys in a file":         {[]any{"jwks_uri", "file:///etc/passwd"}, "is no URL"},
		"an address with a user": {[]any{"jwks_uri", "https://u:p@keys.example"}, "user or password"},
		"a list":                 {[]any{"jwks_uri", []string{"https://keys.example"}}, "is no metadata document"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, issuertest.RSA(t, "k"))
			if test.changes[1] == "SLASH" {
				test.changes[1] = f.issuer.URL + "/"
			}
			f.issuer.Describe(test.changes...)
			f.unknown(test.want)
			f.asked(metadata)
		})
	}
}

// answers always answers the same.
func answers(status int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		_, _ = w.Write([]byte(body))
	}
}

// Whatever an issuer answers, what it takes is bounded, and nothing of it is followed elsewhere.
func TestFetchIsBounded(t *testing.T) {
	t.Parallel()
	elsewhere := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		t.Errorf("a redirect was followed to %s", r.URL)
	}))
	t.Cleanup(elsewhere.Close)
	many := `{"kty":"OKP","crv":"Ed25519","kid":"k","x":"AAAA"}`
	for name, test := range map[string]struct {
		keys http.HandlerFunc
		want string
	}{
		"oversized": {func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write([]byte(`{"keys":[],"x":"` + strings.Repeat("x", 256<<10) + `"}`))
		}, "more than 262144 bytes"},
		"endless": {func(w http.ResponseWriter, _ *http.Request) {
			for range 1 << 12 {
				if _, err := w.Write(make([]byte, 1<<10)); err != nil {
					return
				}
			}
		}, "more than 262144 bytes"},
		"fields without end": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("X-Long", strings.Repeat("x", 64<<10))
		}, "exceeded"},
		"too many keys": {func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write([]byte(`{"keys":[` + strings.Repeat(many+",", 100) + many + `]}`))
		}, "it has 101 keys, more than 100"},
		"redirect": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, elsewhere.URL, http.StatusFound)
		}, "not followed"},
		"not found":     {http.NotFound, "it answers 404"},
		"error":         {answers(http.StatusServiceUnavailable, ""), "it answers 503"},
		"no content":    {answers(http.StatusNoContent, ""), "it answers 204"},
		"empty":         {answers(http.StatusOK, ""), "not one JSON object"},
		"not JSON":      {answers(http.StatusOK, "<html>"), "not one JSON object"},
		"member twice":  {answers(http.StatusOK, `{"keys":[],"keys":[]}`), "twice"},
		"not a set":     {answers(http.StatusOK, `{"keys":{}}`), "no set of keys"},
		"no usable key": {answers(http.StatusOK, `{"keys":[7,{}]}`), "none of its 2 keys"},
		"cut off": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "100")
			_, _ = w.Write([]byte(`{`))
		}, "unexpected EOF"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			f.configure(authorization.Issuer{URL: f.issuer.URL, JWKSURI: f.issuer.URL + "/keys"})
			f.issuer.Break(test.keys)
			f.unknown(test.want)
		})
	}
	t.Run("redirected metadata", func(t *testing.T) {
		t.Parallel()
		f := newFixture(t)
		f.issuer.Break(func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, elsewhere.URL, http.StatusMovedPermanently)
		})
		f.unknown("not followed")
	})
}

// An issuer that does not answer is waited for no longer than the time-out.
func TestSlowIssuer(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	config := &authorization.Issuer{URL: f.issuer.URL, Algorithms: []string{"RS256"}}
	f.cache = jwks.New(config, jwks.Options{Now: f.clock, Timeout: 50 * time.Millisecond})
	released := make(chan struct{})
	t.Cleanup(func() { close(released) })
	f.issuer.Break(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-r.Context().Done():
		case <-released:
		}
	})
	f.unknown("deadline exceeded")
}

// Who has waited for an attempt that failed is answered, however long it took, and does not wait for another.
func TestSlowFailure(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.issuer.Break(func(w http.ResponseWriter, _ *http.Request) {
		f.pass(3 * time.Second)
		w.WriteHeader(http.StatusInternalServerError)
	})
	f.unknown("it answers 500")
	f.asked(metadata)
}

// Nobody waits longer than its own caller does.
func TestCallerLeaves(t *testing.T) {
	t.Parallel()
	f := newFixture(t, issuertest.RSA(t, "k"))
	released := make(chan struct{})
	f.issuer.Break(func(http.ResponseWriter, *http.Request) { <-released })
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := f.cache.Find(ctx, "k", "RS256"); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	close(released)
}

// Callers who need the keys at the same time share one fetch.
func TestOneFetchAtATime(t *testing.T) {
	t.Parallel()
	f := newFixture(t, issuertest.RSA(t, "k"))
	var all sync.WaitGroup
	for range 50 {
		all.Go(func() { f.has("k", "RS256", true) })
	}
	all.Wait()
	f.asked(metadata, "/keys")
	f.pass(2 * time.Hour)
	for range 50 {
		all.Go(func() { f.has("k", "RS256", true) })
	}
	all.Wait()
	f.asked("/keys")
}

// How long keys are kept is the issuer's word, within bounds.
func TestCacheControl(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]time.Duration{
		"":                                    15 * time.Minute,
		"public":                              15 * time.Minute,
		"max-age=1800":                        30 * time.Minute,
		"public, Max-Age=\"1800\", immutable": 30 * time.Minute,
		"max-age=86400, private":              time.Hour,
		"max-age=15":                          5 * time.Minute,
		"max-age=0":                           5 * time.Minute,
		"max-age=-1":                          5 * time.Minute,
		"no-store":                            5 * time.Minute,
		"no-cache, max-age=3600":              5 * time.Minute,
		"max-age=99999999999999999999":        15 * time.Minute,
		"max-age=soon":                        15 * time.Minute,
	} {
		f := newFixture(t, issuertest.RSA(t, "k"))
		f.issuer.CacheControl(value)
		f.has("k", "RS256", true)
		f.issuer.Asked()
		f.pass(want)
		f.has("k", "RS256", true)
		if asked := f.issuer.Asked(); asked != nil {
			t.Errorf("%q: asked before %s had passed: %v", value, want, asked)
		}
		f.pass(time.Second)
		f.has("k", "RS256", true)
		if asked := f.issuer.Asked(); len(asked) != 1 {
			t.Errorf("%q: after %s asked %v, want the keys", value, want, asked)
		}
	}
}

// A key that the issuer has withdrawn is gone within the hour.
func TestWithdrawnKey(t *testing.T) {
	t.Parallel()
	f := newFixture(t, issuertest.RSA(t, "old"))
	f.issuer.CacheControl("max-age=604800")
	f.has("old", "RS256", true)
	f.issuer.Publish(issuertest.OtherRSA(t, "new"))
	f.pass(time.Hour + time.Second)
	f.has("old", "RS256", false)
	f.has("new", "RS256", true)
}

// A key id that is not known makes the set be fetched, and that not too often, whoever makes the ids up.
func TestRotation(t *testing.T) {
	t.Parallel()
	f := newFixture(t, issuertest.RSA(t, "old"))
	f.has("old", "RS256", true)
	f.asked(metadata, "/keys")
	f.issuer.Publish(issuertest.RSA(t, "old"), issuertest.OtherRSA(t, "new"))
	f.has("new", "RS256", false)
	f.asked()
	f.pass(11 * time.Second)
	f.has("new", "RS256", true)
	f.asked("/keys")
	f.pass(11 * time.Second)
	for i := range 100 {
		f.has(fmt.Sprintf("made-up-%d", i), "RS256", false)
	}
	f.asked("/keys")
	f.has("old", "RS256", true)
	f.asked()
}

// While the issuer is down its keys serve on, it is asked less and less often, and after a day nothing is known any
// more.
func TestOutage(t *testing.T) {
	t.Parallel()
	f := newFixture(t, issuertest.RSA(t, "k"))
	f.has("k", "RS256", true)
	f.asked(metadata, "/keys")
	f.issuer.Break(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) })
	f.pass(20 * time.Minute)
	requests := 0
	for range 23 * 60 {
		f.has("k", "RS256", true)
		f.has("new", "RS256", false)
		requests += len(f.issuer.Asked())
		f.pass(time.Minute)
	}
	if least, most := 23*60/6, 23*60/5+10; requests < least || requests > most {
		t.Errorf("asked %d times in 23 hours, want %d to %d", requests, least, most)
	}
	f.pass(time.Hour)
	f.unknown("it answers 503")
	f.issuer.Break(nil)
	f.pass(2 * time.Second)
	f.has("k", "RS256", true)
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.failures) < 200 {
		t.Errorf("%d failures were told", len(f.failures))
	}
}

// An issuer that comes back is noticed within minutes, and followed at once after that.
func TestAfterAnOutage(t *testing.T) {
	t.Parallel()
	f := newFixture(t, issuertest.RSA(t, "old"))
	f.has("old", "RS256", true)
	f.issuer.Break(http.NotFound)
	for range 60 {
		f.pass(time.Minute)
		f.has("old", "RS256", true)
	}
	f.issuer.Break(nil)
	f.issuer.Publish(issuertest.OtherRSA(t, "new"))
	f.pass(5*time.Minute + time.Second)
	f.has("new", "RS256", true)
	f.issuer.Publish(issuertest.OtherRSA(t, "newer"))
	f.pass(11 * time.Second)
	f.has("newer", "RS256", true)
}

// Without any keys every attempt is an answer, but not every request an attempt.
func TestOutageFromTheStart(t *testing.T) {
	t.Parallel()
	f := newFixture(t, issuertest.RSA(t, "k"))
	f.issuer.Break(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadGateway) })
	for range 10 {
		f.unknown("it answers 502")
	}
	f.asked(metadata)
	f.pass(2 * time.Second)
	f.issuer.Break(nil)
	f.has("k", "RS256", true)
}

// A set without a usable key, as after a mistake of the issuer's, does not take the place of one that serves.
func TestUnusableSetReplacesNothing(t *testing.T) {
	t.Parallel()
	f := newFixture(t, issuertest.RSA(t, "k"))
	f.has("k", "RS256", true)
	f.issuer.PublishRaw()
	f.pass(time.Hour)
	f.has("k", "RS256", true)
}

// A clock that was set back says nothing about the age of what is kept.
func TestClockSetBack(t *testing.T) {
	t.Parallel()
	f := newFixture(t, issuertest.RSA(t, "k"))
	f.has("k", "RS256", true)
	f.issuer.Asked()
	f.pass(-time.Hour)
	f.has("k", "RS256", true)
	f.asked("/keys")
}

func TestWarm(t *testing.T) {
	t.Parallel()
	f := newFixture(t, issuertest.RSA(t, "k"))
	if err := f.cache.Warm(t.Context()); err != nil {
		t.Fatal(err)
	}
	f.asked(metadata, "/keys")
	f.has("k", "RS256", true)
	f.asked()
	down := newFixture(t)
	down.issuer.Break(http.NotFound)
	if err := down.cache.Warm(t.Context()); err == nil {
		t.Error("an issuer without keys is warm")
	}
}

// Keys that are none for signatures, or weak ones, verify nothing.
func TestKeysThatAreLeftOut(t *testing.T) {
	t.Parallel()
	good := issuertest.RSA(t, "k").JWK()
	change := func(changes ...any) map[string]any { return issuertest.With(good, changes...) }
	private := issuertest.RSA(t, "k").Private.(*rsa.PrivateKey)
	weak := issuertest.Key{ID: "k", Algorithm: "RS256", Private: weakRSA(t)}
	p384, err := ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	otherCurve := issuertest.Key{ID: "k", Algorithm: "ES256", Private: p384}
	curve := issuertest.EC(t, "k").JWK()
	for name, test := range map[string]struct {
		key  map[string]any
		want bool
	}{
		"as it is":            {good, true},
		"without use and alg": {change("use", nil, "alg", nil), true},
		"with certificates":   {change("x5c", []string{"no certificate"}, "x5u", "http://127.0.0.1:1/"), true},
		"to verify":           {change("key_ops", []string{"verify"}), true},
		"to encrypt":          {change("use", "enc"), false},
		"to sign":             {change("key_ops", []string{"sign"}), false},
		"for no operation":    {change("key_ops", []string{}), false},
		"for encryption":      {change("alg", "RSA-OAEP"), false},
		"for a secret":        {change("alg", "HS256"), false},
		"another algorithm":   {change("alg", "RS512"), false},
		"published private":   {change("d", issuertest.Encode(private.D.Bytes())), false},
		"a secret":            {map[string]any{"kty": "oct", "kid": "k", "k": "c2VjcmV0", "alg": "RS256"}, false},
		"a secret in RSA":     {change("k", "c2VjcmV0"), false},
		"1024 bits":           {weak.JWK(), false},
		"exponent 1":          {change("e", "AQ"), false},
		"even exponent":       {change("e", "AQAA"), false},
		"no exponent":         {change("e", nil), false},
		"no modulus":          {change("n", nil), false},
		"modulus no base64":   {change("n", "+/="), false},
		"unknown type":        {change("kty", "AKP"), false},
		"no type":             {change("kty", nil), false},
		"id a number":         {change("kid", 7), false},
		"the wrong curve":     {otherCurve.JWK(), false},
		"a curve":             {curve, true},
		"off the curve":       {issuertest.With(curve, "y", curve["x"]), false},
	} {
		f := newFixture(t, issuertest.EC(t, "other"))
		f.issuer.PublishRaw(test.key, issuertest.EC(t, "other").JWK())
		algorithm := "RS256"
		if test.key["kty"] == "EC" {
			algorithm = "ES256"
		}
		t.Log(name)
		f.has("k", algorithm, test.want)
	}
}

// weakRSA makes a key of 1024 bits, which the standard library does not any more.
func weakRSA(t *testing.T) *rsa.PrivateKey {
	t.Helper()
	strong := issuertest.RSA(t, "").Private.(*rsa.PrivateKey)
	weak := *strong
	weak.N = strong.Primes[0]
	return &weak
}

// More keys of one id than an issuer has in a rotation are not all tried.
func TestManyKeysOfOneID(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	var keys []*issuertest.Key
	for range 4 {
		keys = append(keys, issuertest.EC(t, "k"))
	}
	f.issuer.Publish(keys...)
	f.has("k", "ES256", true)
	f.issuer.Publish(append(keys, issuertest.EC(t, "k"), issuertest.RSA(t, "r"))...)
	f.pass(time.Hour)
	f.has("k", "ES256", false)
	f.has("r", "RS256", true)
}
