package tracker_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"patchbay/functions/internal/tracker"
	"patchbay/functions/internal/tracker/trackertest"
	"patchbay/scripts/standins"
	"patchbay/shared/principal"
	"patchbay/shared/secret"
)

// "me" is whoever the tracker links to the issuer and the subject, both to the letter. What anybody could be called
// at a server of their own, or could give as their name, is nothing.
func TestMe(t *testing.T) {
	t.Parallel()
	users, err := trackertest.Start(t, nil).Users(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	sofia := trackertest.SignedIn("sofia")
	with := func(change func(*principal.Principal)) principal.Principal {
		changed := sofia
		change(&changed)
		return changed
	}
	const stranger, machine = "does not link", "acts for no person"
	for name, test := range map[string]struct {
		caller principal.Principal
		says   string // empty for sofia
	}{
		"linked":                      {sofia, ""},
		"linked, with another client": {with(func(p *principal.Principal) { p.ClientID = "another" }), ""},
		"anonymous":                   {principal.Principal{}, "anonymous"},
		"a machine without a subject": {with(func(p *principal.Principal) { p.Subject = "" }), machine},
		"a machine that is its subject, though linked": {
			with(func(p *principal.Principal) { p.ClientID = p.Subject }), machine,
		},
		"the subject at another issuer": {
			with(func(p *principal.Principal) { p.Issuer = "https://evil.example/" }), stranger,
		},
		"the issuer without its slash": {
			with(func(p *principal.Principal) { p.Issuer = strings.TrimSuffix(p.Issuer, "/") }), stranger,
		},
		"no issuer":              {with(func(p *principal.Principal) { p.Issuer = "" }), "not known where"},
		"letters' case":          {with(func(p *principal.Principal) { p.Subject = strings.ToUpper(p.Subject) }), stranger},
		"a login as subject":     {with(func(p *principal.Principal) { p.Subject = "sofia" }), stranger},
		"an e-mail as subject":   {with(func(p *principal.Principal) { p.Subject = "sofia@example.com" }), stranger},
		"a full name as subject": {with(func(p *principal.Principal) { p.Subject = "Sofia Rossi" }), stranger},
		"issuer and subject in each other's place": {
			with(func(p *principal.Principal) { p.Issuer, p.Subject = p.Subject, p.Issuer }), stranger,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			user, err := users.Find("me", test.caller)
			if test.says != "" {
				check(t, err, tracker.CodeUnknownCaller, `"me" means nobody`, test.says, "Sofia Rossi (sofia)")
				return
			}
			if err != nil || user.Login != "sofia" {
				t.Errorf("user %+v, error %v", user, err)
			}
		})
	}
}

// A sign-in that two users share names neither of them.
func TestMeOfTwoUsers(t *testing.T) {
	t.Parallel()
	caller := trackertest.SignedIn("sofia")
	same := []tracker.Identity{{Issuer: caller.Issuer, Subject: caller.Subject}}
	users := tracker.Users{{ID: "1", Login: "sofia", Identities: same}, {ID: "2", Login: "yuki", Identities: same}}
	_, err := users.Find("me", caller)
	check(t, err, tracker.CodeUnknownCaller, "(sofia)", "(yuki)")
}

// A tracker that knows nothing of sign-ins links nobody, and its users without any are not those of an empty one.
func TestMeWhereNobodyIsLinked(t *testing.T) {
	t.Parallel()
	users := tracker.Users{{ID: "1", Login: "sofia"}, {ID: "2", Login: "yuki", Identities: []tracker.Identity{{}}}}
	for _, caller := range []principal.Principal{{}, {ClientID: "c"}, {Issuer: "i"}, {Subject: "s"}} {
		_, err := users.Find("me", caller)
		check(t, err, tracker.CodeUnknownCaller)
	}
}

// Whoever calls, the tracker sees this service's own credential, and nothing of the caller's.
func TestTheTrackerSeesTheServicesCredentialAlone(t *testing.T) {
	t.Parallel()
	caller, requests := trackertest.SignedIn("marie"), 0
	client := trackertest.Start(t, func(api http.Handler, w http.ResponseWriter, r *http.Request) {
		requests++
		if got := r.Header.Values("Authorization"); len(got) != 1 || got[0] != "Bearer "+trackertest.Token {
			t.Errorf("%s %s: Authorization is %q", r.Method, r.URL, got)
		}
		for name, values := range r.Header {
			if strings.Contains(strings.Join(values, " "), caller.Subject) || strings.Contains(r.URL.String(), caller.Subject) {
				t.Errorf("%s %s, %s: %q tells the caller's subject", r.Method, r.URL, name, values)
			}
		}
		api.ServeHTTP(w, r)
	})
	project, err := client.Project(t.Context(), "WEB")
	if err != nil {
		t.Fatal(err)
	}
	users, err := client.Users(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	me, err := users.Find("me", caller)
	if err != nil {
		t.Fatal(err)
	}
	draft := tracker.Draft{Title: "Hers", Priority: tracker.Low, AssigneeID: me.ID}
	if _, err := client.Create(t.Context(), project, draft); err != nil || me.Login != "marie" || requests < 3 {
		t.Errorf("%v of %d requests, error %v", me, requests, err)
	}
}

// The users of the local authorization server are the tracker's at its own issuer alone, and nobody's without one.
func TestLocalUsersAreTheTrackers(t *testing.T) {
	t.Parallel()
	const local = "http://127.0.0.1:4444"
	for _, test := range []struct{ stack, issuer, subject, login string }{
		{local, local, "ada", "priya"},
		{local, local, "bob", "chidi"},
		{local, local, "eve", ""},
		{local, "http://127.0.0.1:4445", "ada", ""},
		{"", "", "ada", ""},
	} {
		server := httptest.NewServer(standins.Tracker(test.stack))
		t.Cleanup(server.Close)
		client, err := tracker.New(tracker.Options{URL: server.URL, Secrets: standIn{t.TempDir()}})
		if err != nil {
			t.Fatal(err)
		}
		users, err := client.Users(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		got, err := users.Find("me", principal.Principal{Issuer: test.issuer, Subject: test.subject, ClientID: "tests"})
		if got.Login != test.login || (err == nil) != (test.login != "") {
			t.Errorf("%+v is %q, error %v", test, got.Login, err)
		}
	}
}

// standIn has the secrets of a stack on one machine.
type standIn struct{ module string }

func (s standIn) Get(_ context.Context, name string) (secret.Value, error) {
	value, err := standins.Secret(s.module, name)
	return secret.NewValue(value), err
}
