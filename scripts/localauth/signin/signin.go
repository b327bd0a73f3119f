// Package signin is the browser of tests that sign in: it follows an authorization request through the pages of an
// authorization server, fills in what a person would, and stops where the answer goes to the client.
//
// It knows pages by their forms alone: one with a password is a sign-in, one with a button that gives leave is a
// consent, one without anything to fill in is what scripts send by themselves. Those of scripts/localauth and of
// Keycloak are such.
package signin

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"strings"
)

const (
	// maxSteps is how many pages and redirects a sign-in may take. The longest here, another account for a session, takes
	// eleven.
	maxSteps = 25
	// maxPage bounds what is read of a page.
	maxPage = 1 << 20
)

// Errors of a sign-in that came to an end by itself.
var (
	// ErrRefused means that the page asked for the name and the password again.
	ErrRefused = errors.New("the name and the password were not taken")
	// ErrStuck means that a page has nothing that leads on; its text is in the message.
	ErrStuck = errors.New("the page leads nowhere")
)

// User is who signs in.
type User struct {
	Name, Password string
}

// Options change what the browser does. The zero value consents to everything and does not call the client.
type Options struct {
	// Jar keeps the cookies, so that who signs in once is known the next time; nil forgets them.
	Jar http.CookieJar
	// Transport carries the requests; nil means http.DefaultTransport.
	Transport http.RoundTripper
	// Callback loads the client's address too, as a browser does, for clients that wait for it.
	Callback bool
	// Deny presses the button that refuses consent.
	Deny bool
	// Page is told each page's address and text, in order, without tags; nil tells nobody.
	Page func(address, text string)
}

// Follow signs the user in at the authorization server and returns the whole URL at the client's redirect URI to which
// the answer went, with its code or its error: both are answers. The redirect URI is what authorizationURL names as
// redirect_uri; without one it is an error. The error wraps ErrRefused, ErrStuck or what the transport said.
func Follow(ctx context.Context, authorizationURL string, user User, options Options) (callback string, err error) {
	start, err := url.Parse(authorizationURL)
	if err != nil {
		return "", fmt.Errorf("reading the authorization URL: %w", err)
	}
	redirectURI := start.Query().Get("redirect_uri")
	if redirectURI == "" {
		return "", errors.New("signing in: the authorization URL has no redirect_uri")
	}
	b := &browser{options: options, user: user, redirectURI: redirectURI}
	if b.options.Jar == nil {
		b.options.Jar, _ = cookiejar.New(nil) // never fails
	}
	callback, err = b.follow(ctx, step{http.MethodGet, start, nil})
	if err != nil {
		return "", fmt.Errorf("signing in as %s: %w", user.Name, err)
	}
	if !options.Callback {
		return callback, nil
	}
	return callback, b.deliver(ctx, callback)
}

// step is one request of the browser.
type step struct {
	method string
	to     *url.URL
	fields url.Values
}

type browser struct {
	options     Options
	user        User
	redirectURI string
	tried       bool // the password
}

func (b *browser) follow(ctx context.Context, at step) (callback string, err error) {
	for range maxSteps {
		if b.arrived(at.to) {
			return at.to.String(), nil
		}
		next, err := b.take(ctx, at)
		if err != nil {
			return "", err
		}
		at = *next
	}
	return "", fmt.Errorf("gave up after %d pages, the last at %s", maxSteps, at.to)
}

// arrived reports whether a URL is the redirect URI, with whatever query the answer has added to its own.
func (b *browser) arrived(at *url.URL) bool {
	rest, found := strings.CutPrefix(at.String(), b.redirectURI)
	return found && (rest == "" || strings.ContainsAny(rest[:1], "?&"))
}

// take makes a request and says which is the next.
func (b *browser) take(ctx context.Context, at step) (*step, error) {
	response, err := b.send(ctx, at)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	if location, err := response.Location(); err == nil {
		return &step{http.MethodGet, location, nil}, nil
	}
	body, err := io.ReadAll(io.LimitReader(response.Body, maxPage))
	if err != nil {
		return nil, fmt.Errorf("reading the page at %s: %w", at.to, err)
	}
	page, err := parse(at.to, body)
	if err != nil {
		return nil, err
	}
	if b.options.Page != nil {
		b.options.Page(at.to.String(), page.text)
	}
	return b.answer(page)
}

func (b *browser) send(ctx context.Context, at step) (*http.Response, error) {
	to := *at.to
	var body io.Reader
	if at.method == http.MethodPost {
		body = strings.NewReader(at.fields.Encode())
	} else if at.fields != nil {
		to.RawQuery = at.fields.Encode()
	}
	request, err := http.NewRequestWithContext(ctx, at.method, to.String(), body)
	if err != nil {
		return nil, fmt.Errorf("asking for %s: %w", &to, err)
	}
	request.Header.Set("Accept", "text/html,*/*;q=0.8")
	if body != nil {
		request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	client := &http.Client{Jar: b.options.Jar, Transport: b.options.Transport, CheckRedirect: notByItself}
	response, err := client.Do(request)
	if err != nil {
		return nil, fmt.Errorf("asking for the next page: %w", err)
	}
	return response, nil
}

func notByItself(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

// deliver loads the client's address.
func (b *browser) deliver(ctx context.Context, callback string) error {
	to, err := url.Parse(callback)
	if err != nil {
		return fmt.Errorf("reading the callback: %w", err)
	}
	response, err := b.send(ctx, step{http.MethodGet, to, nil})
	if err != nil {
		return fmt.Errorf("bringing the answer to the client: %w", err)
	}
	return response.Body.Close()
}
