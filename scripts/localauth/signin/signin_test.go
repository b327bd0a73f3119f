package signin

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const redirectURI = "http://127.0.0.1:1/callback?kept=yes"

// Forms of several servers: one that Keycloak shows, one that scripts send, and pages that lead nowhere.
var pages = map[string]string{
	"/login": `<title>Sign in</title><script>alert("no text")</script>
		<form action="/enter?session=1" method="post"><input name="username" type="text" autofocus>
		<input type="password" name="password"><input type="checkbox" name="rememberMe"> Remember me
		<input type="checkbox" name="terms" value="read" required><input type="hidden" name="credentialId">
		<input type="submit" name="login" value="Sign In"></form><form><button>Reset</button></form>`,
	"/consent": `<form action="/consented" method="POST"><input type="hidden" name="code" value="c1">
		<input type="submit" name="accept" value="Yes"><input type="submit" name="cancel" value="No"></form>`,
	"/script": `<body onload="javascript:document.forms[0].submit()"><form method="post" action="/scripted">
		<input type="hidden" name="xsrf" value="x1"></form>`,
	"/nowhere": `<p>We are sorry &amp; closed</p>`,
}

// server answers each address with its page, and each form with the redirect that next names for it.
func server(t *testing.T, next map[string]string) (origin string, seen *[]string) {
	t.Helper()
	seen = new([]string)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := r.ParseForm(); err != nil {
			t.Error(err)
		}
		if r.Method == http.MethodPost {
			*seen = append(*seen, r.URL.RequestURI()+" "+r.PostForm.Encode())
		}
		if to, ok := next[r.URL.Path]; ok {
			http.SetCookie(w, &http.Cookie{Name: "at", Value: strings.TrimPrefix(r.URL.Path, "/"), Path: "/"})
			http.Redirect(w, r, to, http.StatusFound)
			return
		}
		fmt.Fprint(w, pages[r.URL.Path])
	}))
	t.Cleanup(server.Close)
	return server.URL, seen
}

func start(origin string) string {
	return origin + "/authorize?" + url.Values{"redirect_uri": {redirectURI}}.Encode()
}

func TestFollow(t *testing.T) {
	t.Parallel()
	user := User{Name: "ada", Password: "a secret"}
	for name, test := range map[string]struct {
		next    map[string]string
		options Options
		posts   []string
	}{
		"signed in already": {map[string]string{"/authorize": redirectURI + "&code=1"}, Options{}, nil},
		"sign-in, a script, consent": {
			map[string]string{
				"/authorize": "/login", "/enter": "/script", "/scripted": "/consent", "/consented": redirectURI + "&code=1",
			}, Options{},
			[]string{
				"/enter?session=1 credentialId=&login=Sign+In&password=a+secret&terms=read&username=ada",
				"/scripted xsrf=x1", "/consented accept=Yes&code=c1",
			},
		},
		"no consent": {
			map[string]string{"/authorize": "/consent", "/consented": redirectURI + "&code=1"}, Options{Deny: true},
			[]string{"/consented cancel=No&code=c1"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			origin, posts := server(t, test.next)
			callback, err := Follow(t.Context(), start(origin), user, test.options)
			if err != nil || callback != redirectURI+"&code=1" {
				t.Errorf("callback %s, %v", callback, err)
			}
			if diff := cmp.Diff(test.posts, *posts); diff != "" {
				t.Errorf("forms (-want +got)\n%s", diff)
			}
		})
	}
}

func TestFollowGivesUp(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		next map[string]string
		want error
		text string
	}{
		"nothing to do": {map[string]string{"/authorize": "/nowhere"}, ErrStuck, `says "We are sorry & closed"`},
		"the password was wrong": {
			map[string]string{"/authorize": "/login", "/enter": "/login"}, ErrRefused, "signing in as ada",
		},
		"in a circle": {map[string]string{"/authorize": "/there", "/there": "/authorize"}, nil, "gave up after 25 pages"},
		"another redirect URI, which begins alike": {
			map[string]string{"/authorize": "/nowhere", "/nowhere": redirectURI + "-not"}, nil, "connection refused",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			origin, _ := server(t, test.next)
			_, err := Follow(t.Context(), start(origin), User{Name: "ada"}, Options{})
			if err == nil || test.want != nil && !errors.Is(err, test.want) || !strings.Contains(err.Error(), test.text) {
				t.Errorf("error %v", err)
			}
		})
	}
	if _, err := Follow(t.Context(), "http://127.0.0.1:1/authorize", User{}, Options{}); err == nil {
		t.Error("an authorization URL without redirect_uri was taken")
	}
}

func TestFollowBringsTheAnswerToTheClient(t *testing.T) {
	t.Parallel()
	got := make(chan string, 1)
	client := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { got <- r.URL.String() }))
	t.Cleanup(client.Close)
	origin, _ := server(t, map[string]string{"/authorize": client.URL + "/callback?code=1"})
	address := origin + "/authorize?" + url.Values{"redirect_uri": {client.URL + "/callback"}}.Encode()
	if _, err := Follow(t.Context(), address, User{}, Options{Callback: true}); err != nil {
		t.Fatal(err)
	}
	if request := <-got; request != "/callback?code=1" {
		t.Errorf("the client was asked for %s", request)
	}
}
