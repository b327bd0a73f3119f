// Package tracker speaks to the issue tracker's REST API in the words that people and models use: project keys, issue
// keys, user names and status names on this side; UUIDs, numbers, transitions and pages on the other.
//
// What goes wrong comes out as tool.Fail with one of the codes below, in a text that a model can act on. It never holds
// the API's address, its token or the body of its answer; the cause is logged.
//
// # Who "me" is
//
// "me" is the tracker user to whom the tracker itself links the caller's sign-in: its users have identities, pairs of
// an issuer and a subject, which are the "iss" and "sub" of the caller's access token. Whoever runs the tracker links
// them, by hand, at the first sign-in there or by provisioning. Where nobody is linked, and for a client that acts
// for no person, "me" is nobody.
//
// The API itself is called with a credential of this service, never with the caller's token.
package tracker

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"patchbay/shared/secret"
)

// Codes of the failures that this package makes; a tool's contract declares those that it can meet. All but
// CodeOutcomeUnknown mean that nothing was changed.
const (
	CodeUnknownProject = "unknown_project"
	CodeUnknownIssue   = "unknown_issue"
	CodeUnknownUser    = "unknown_user"
	// CodeAmbiguousUser: several users have the name.
	CodeAmbiguousUser = "ambiguous_user"
	// CodeUnknownCaller: "me" is nobody whom the tracker knows.
	CodeUnknownCaller = "unknown_caller"
	// CodeTransition: the tracker's workflow has no way from the issue's status to the wanted one.
	CodeTransition = "transition_not_allowed"
	// CodeConflict: others change the same things faster than this call can read them.
	CodeConflict = "conflict"
	// CodeCredential: the API does not accept this service's credential (401).
	CodeCredential = "tracker_credential"
	// CodeForbidden: the API forbids this service to do that (403).
	CodeForbidden = "tracker_forbidden"
	// CodeRefused: the API does not accept a value (400, 422).
	CodeRefused = "tracker_refused"
	// CodeBusy: the API limits its callers (429).
	CodeBusy = "tracker_busy"
	// CodeUnavailable: the API fails, does not answer in time, or answers in a form that is not its own.
	CodeUnavailable = "tracker_unavailable"
	// CodeOutcomeUnknown: a change was sent and not confirmed.
	CodeOutcomeUnknown = "outcome_unknown"
)

// Options say which API to speak to.
type Options struct {
	// URL is where the API is, without the "/v2" of its paths: https://tracker.example.com.
	URL string
	// Secrets holds the token under SecretName. It is asked for every request, so that a renewed token counts at once.
	Secrets secret.Source
	// Timeout bounds one request and its answer; 0 means 8 s.
	Timeout time.Duration
}

// Client calls the API. It is safe for concurrent use.
type Client struct {
	base    *url.URL
	secrets secret.Source
	timeout time.Duration
	http    *http.Client
}

// URLVariable is the environment variable with the API's URL.
const URLVariable = "TRACKER_API_URL"

// Connect returns the client that a function's environment names, for its main: the API at URLVariable, with the token
// from the function's secrets. A token that cannot be read is met by each request.
func Connect(getenv func(string) string) (*Client, error) {
	secrets, err := secret.Open(getenv)
	if err != nil {
		return nil, err
	}
	client, err := New(Options{URL: getenv(URLVariable), Secrets: secrets})
	if err != nil {
		return nil, fmt.Errorf("environment variable %s: %w", URLVariable, err)
	}
	return client, nil
}

// New returns a client. An error means that the URL cannot be that of an API.
func New(options Options) (*Client, error) {
	base, err := url.Parse(options.URL)
	if err != nil {
		return nil, errors.New("the tracker's URL cannot be parsed") // the parser's own text would show passwords
	}
	if base.Scheme != "https" && base.Scheme != "http" || base.Host == "" || base.User != nil {
		return nil, fmt.Errorf("the tracker's URL is %q; it must be https://HOST, without user and password",
			base.Redacted())
	}
	return &Client{
		base:    base.JoinPath("v2"),
		secrets: options.Secrets,
		timeout: cmp.Or(options.Timeout, 8*time.Second),
		http: &http.Client{
			Transport: http.DefaultTransport.(*http.Transport).Clone(),
			// The API answers where it is asked. Following a redirect could carry the token to another host.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}, nil
}
