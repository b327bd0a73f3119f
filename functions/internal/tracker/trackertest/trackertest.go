// Package trackertest gives the tests of the tracker tools a real HTTP server with a tracker behind it, and a way to
// make that fail.
package trackertest

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"patchbay/functions/internal/tracker"
	"patchbay/scripts/trackerapi"
	"patchbay/shared/principal"
	"patchbay/shared/secret"
)

// Token is the tracker's credential. No text that a tool returns may hold it.
const Token = "not-for-anybodys-eyes"

// Timeout is how long a client of this package waits for one answer.
const Timeout = 2 * time.Second

// Between stands between a client and the tracker, and answers in its place or passes the request on to api.
type Between func(api http.Handler, w http.ResponseWriter, r *http.Request)

// Start starts a tracker with the seed data and pages of seven items, which ends with the test, and returns a client of
// it. A nil Between changes nothing.
func Start(t testing.TB, act Between) *tracker.Client {
	t.Helper()
	var handler http.Handler = trackerapi.New(trackerapi.Options{Token: Token, MaxPerPage: 7})
	if act != nil {
		api := handler
		handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { act(api, w, r) })
	}
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return Client(t, server.URL)
}

// Client returns a client of the API at a URL.
func Client(t testing.TB, url string) *tracker.Client {
	t.Helper()
	client, err := tracker.New(tracker.Options{URL: url, Secrets: secrets{}, Timeout: Timeout})
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// SignedIn is a user of the seed data who has signed in with a client.
func SignedIn(login string) principal.Principal {
	known := trackerapi.SeedIdentity(login)
	return principal.Principal{Issuer: known.Issuer, Subject: known.Subject, ClientID: "a-client"}
}

// Status answers every request with a status, a body that no tool may show, and headers (names and values in turn).
func Status(code int, headers ...string) Between {
	return func(_ http.Handler, w http.ResponseWriter, _ *http.Request) {
		for i := 0; i < len(headers); i += 2 {
			w.Header().Set(headers[i], headers[i+1])
		}
		w.WriteHeader(code)
		_, _ = w.Write([]byte(`{"error":{"code":"BODY","message":"BODY at 127.0.0.1","field":"BODY"}}`))
	}
}

// OnWrites lets act answer the requests that change something; the others reach the tracker.
func OnWrites(act Between) Between {
	return func(api http.Handler, w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			api.ServeHTTP(w, r)
			return
		}
		act(api, w, r)
	}
}

// secrets hold the token with a line break behind it, as an editor leaves it in a file.
type secrets struct{}

func (secrets) Get(_ context.Context, name string) (secret.Value, error) {
	if name != tracker.SecretName {
		return secret.Value{}, secret.ErrNotFound
	}
	return secret.NewValue(Token + "\n"), nil
}
