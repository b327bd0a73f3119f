package toolcall_test

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"strings"
	"testing"
	"time"

	"patchbay/dispatcher/toolcall"
	"patchbay/shared/jsonrpc"
	"patchbay/shared/principal"
)

// What a caller's token lacks is told all at once, as its own issuer wants to be asked for it, and nothing runs.
func TestWhatATokenLacks(t *testing.T) {
	t.Parallel()
	now := time.Now().Unix()
	const (
		scopes = `{"permissions":["mail:send","mail:read"]}`
		signIn = `{"stepUp":{"acr":"mfa","maxAgeSeconds":900}}`
		both   = `{"permissions":["mail:send"],"stepUp":{"maxAgeSeconds":900}}`
	)
	who := func(authTime int64, acr string, scopes ...string) principal.Principal {
		return principal.Principal{Subject: "u", Issuer: "https://a.example", AuthTime: authTime, ACR: acr, Scopes: scopes}
	}
	for name, test := range map[string]struct {
		contract      string
		caller        principal.Principal
		outcome, says string
	}{
		"has the scopes": {scopes, who(0, "", "mail:read", "mail:send"), "ok", `{"n":1}`},
		"one scope missing": {scopes, who(0, "", "mail:read"), "insufficient_scope",
			"needs the OAuth scopes: a/mail:send a/mail:read. This caller lacks: a/mail:send. Nothing has run."},
		"of another issuer": {scopes, principal.Principal{Subject: "u", Issuer: "https://b.example"}, "insufficient_scope",
			"needs the OAuth scopes: mail:send mail:read. This caller lacks: mail:send mail:read. Nothing has run."},
		"a machine": {scopes, principal.Principal{ClientID: "batch", Scopes: []string{"mail:send"}}, "insufficient_scope",
			"This caller lacks: mail:read."},
		"fresh and strong": {signIn, who(now-10, "mfa"), "ok", `{"n":1}`},
		"too long ago": {signIn, who(now-1000, "mfa"), "insufficient_user_authentication",
			"needs a sign-in at most 900 seconds ago (max_age). Nothing has run."},
		"no time is known": {signIn, who(0, "mfa"), "insufficient_user_authentication",
			"needs a sign-in at most 900 seconds ago (max_age). Nothing has run."},
		"too weak": {signIn, who(now-10, "pwd"), "insufficient_user_authentication",
			`needs the authentication class \"mfa\" (acr_values). Nothing has run.`},
		"too long ago and too weak": {signIn, who(now-1000, ""), "insufficient_user_authentication",
			`needs the authentication class \"mfa\" (acr_values) and a sign-in at most 900 seconds ago (max_age).`},
		"scope and sign-in": {both, who(now-1000, ""), "insufficient_scope",
			"needs the OAuth scopes: a/mail:send. This caller lacks: a/mail:send. It also needs a sign-in at most 900 seconds"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRecorded(t, test.contract, 1, nil)
			var log bytes.Buffer
			r.callers[0].Log = slog.New(slog.NewJSONHandler(&log, nil))
			r.callers[0].Ask = prefixA
			got, err := r.ask(t, "", `{}`, func(q *toolcall.Request) { q.Principal = test.caller })
			if err != nil || !strings.Contains(got, test.says) {
				t.Errorf("got %s, %v, want %s", got, err, test.says)
			}
			if ran := r.runs.Load() > 0; ran != (test.outcome == "ok") || strings.Contains(got, `"isError":true`) == ran {
				t.Errorf("got %s after %d runs", got, r.runs.Load())
			}
			if want := `"outcome":"` + test.outcome + `"`; !strings.Contains(log.String(), want) {
				t.Errorf("logged %s, want %s", &log, want)
			}
		})
	}
}

// prefixA is an Ask of a server that trusts two issuers, of which one wants a prefix.
func prefixA(issuer string, scopes []string) []string {
	if issuer != "https://a.example" {
		return scopes
	}
	var asked []string
	for _, scope := range scopes {
		asked = append(asked, "a/"+scope)
	}
	return asked
}

// A subject is somebody only together with its issuer: the same subject of two issuers shares nothing that is kept.
func TestOneSubjectOfTwoIssuers(t *testing.T) {
	t.Parallel()
	as := func(issuer string) func(*toolcall.Request) {
		return func(q *toolcall.Request) { q.Principal = principal.Principal{Subject: "u", Issuer: issuer} }
	}
	first, second := as("https://a.example"), as("https://a.example/")

	t.Run("records", func(t *testing.T) {
		t.Parallel()
		r := newRecorded(t, keyed, 1, nil)
		for i, step := range []struct {
			who  func(*toolcall.Request)
			says string
		}{{first, `{"n":1}`}, {second, `{"n":2}`}, {first, `{"n":1}`}, {second, `{"n":2}`}} {
			if got, err := r.ask(t, "k", `{}`, step.who); err != nil || !strings.Contains(got, step.says) {
				t.Errorf("call %d: got %s, %v, want %s", i, got, err, step.says)
			}
		}
	})
	t.Run("limits", func(t *testing.T) {
		t.Parallel()
		r := newRecorded(t, `{"rateLimit":{"calls":1,"perSeconds":86400}}`, 1, nil)
		for i, step := range []struct {
			who  func(*toolcall.Request)
			says string
		}{{first, `{"n":1}`}, {first, "Try again in"}, {second, `{"n":2}`}, {second, "Try again in"}} {
			if got, err := r.ask(t, "", `{}`, step.who); err != nil || !strings.Contains(got, step.says) {
				t.Errorf("call %d: got %s, %v, want %s", i, got, err, step.says)
			}
		}
	})
	t.Run("requestState", func(t *testing.T) {
		t.Parallel()
		r := newRecorded(t, confirmed, 1, nil)
		question := r.askFor(t, "", `{}`, first)
		_, err := r.answerWith(t, question.RequestState, yes, `{}`, second)
		if e, ok := err.(*jsonrpc.Error); !ok || e.Code != jsonrpc.CodeInvalidParams || r.runs.Load() != 0 {
			t.Errorf("the other issuer's: got %v after %d runs", err, r.runs.Load())
		}
		got, err := r.answerWith(t, question.RequestState, yes, `{}`, first)
		if err != nil || !strings.Contains(got, `{"n":1}`) {
			t.Errorf("its own: got %s, %v", got, err)
		}
	})
	t.Run("dry runs", func(t *testing.T) {
		t.Parallel()
		r := newDryRun(t, dryRunFirst)
		if _, err := r.ask(t, "", `{"dryRun":true}`, first); err != nil {
			t.Fatal(err)
		}
		if got, err := r.ask(t, "", `{}`, second); err != nil || !strings.Contains(got, "only after a dry run") {
			t.Errorf("the other issuer's: got %s, %v", got, err)
		}
		if got, err := r.ask(t, "", `{}`, first); err != nil || !strings.Contains(got, `{"n":2}`) {
			t.Errorf("its own: got %s, %v", got, err)
		}
	})
	t.Run("envelope", func(t *testing.T) {
		t.Parallel()
		// State handles go by what the envelope says of the caller.
		f := &fixed{entry: entry(t, `{}`), answer: `{"content":[],"structuredContent":{"n":1}}`}
		seen := map[string]bool{}
		for _, who := range []func(*toolcall.Request){first, second} {
			if _, _, err := run(t, f, who); err != nil {
				t.Fatal(err)
			}
			var event struct{ Principal principal.Principal }
			if err := json.Unmarshal(f.payload, &event); err != nil {
				t.Fatal(err)
			}
			seen[event.Principal.Key()] = true
		}
		if len(seen) != 2 {
			t.Errorf("tools are told of %v", seen)
		}
	})
}
