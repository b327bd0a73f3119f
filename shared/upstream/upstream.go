// Package upstream calls an API that wants OAuth access tokens, as this service and not as the caller: the token comes
// from the API's own authorization server, by the client credentials grant (RFC 6749, section 4.4).
//
//	client, err := upstream.New(upstream.Config{
//		API: "https://api.example.com", TokenURL: "https://login.example.com/token",
//		ClientID: "patchbay", Secrets: secrets, SecretName: "orders_client_secret", Scopes: []string{"orders.read"},
//	})
//
// in the tool's main gives an *http.Client for its handler. A token is fetched with the first request that needs it,
// by one of several at a time, and kept until shortly before its end, by the wall clock: a process that Lambda has
// frozen for an hour fetches another. When the API answers 401 the request is sent once more with a fresh token, and
// when the authorization server does not accept the client's secret, that is read once more; what was replaced counts
// at once.
//
// Whom the tool acts for is not in the token. A tool that must not do for one caller what it does for another compares
// the principal of its call itself. Never hand the caller's own token on: it is not for the API, and no tool gets it.
package upstream

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"time"

	"golang.org/x/oauth2"
	"golang.org/x/oauth2/clientcredentials"

	"patchbay/shared/secret"
)

// DefaultTimeout bounds the fetching of a token, with the reading of the secret.
const DefaultTimeout = 5 * time.Second

// ErrNoToken is in the error of a request for which there was no access token. The request was not sent.
var ErrNoToken = errors.New("no access token for the upstream API")

// Config says which API to call, and who this service is there. API, TokenURL, ClientID, Secrets and SecretName are
// needed.
type Config struct {
	// API is where the API is, https://api.example.com, with a path or without. Requests to another scheme, host or port
	// fail, so that no mistake and no redirect carries a token elsewhere.
	API string
	// TokenURL is the authorization server's token endpoint.
	TokenURL string
	// ClientID is this service's id there.
	ClientID string
	// Secrets holds the client's secret under SecretName. A secret.Cache is told when the secret is not accepted.
	Secrets secret.Source
	// SecretName is the name under function.secrets in the tool's contract.
	SecretName string
	// SecretInBody sends client id and secret as parameters, for servers that do not take them in the Authorization
	// field, as they should (RFC 6749, section 2.3.1).
	SecretInBody bool
	// Scopes are those to ask for; none leaves them to the server.
	Scopes []string
	// Resource is the API's identifier, for servers that follow RFC 8707; empty sends none.
	Resource string
	// Audience is the same for servers with a parameter of that name, as Auth0; empty sends none.
	Audience string
	// Timeout bounds the fetching of a token; 0 means DefaultTimeout. The call's own deadline bounds it as well.
	Timeout time.Duration
	// Transport sends the requests to the API and to the token endpoint; nil means transports of their own.
	Transport http.RoundTripper
	// Now tells the time; nil means time.Now.
	Now func() time.Time
}

// New returns a client of the API, which is safe for concurrent use. It follows no redirects: an API answers where it
// is asked. No request is made yet.
func New(config Config) (*http.Client, error) {
	api, err := endpoint("API", config.API)
	if err != nil {
		return nil, err
	}
	if _, err := endpoint("TokenURL", config.TokenURL); err != nil {
		return nil, err
	}
	if config.ClientID == "" || config.Secrets == nil || config.SecretName == "" {
		return nil, errors.New("upstream: ClientID, Secrets and SecretName must all be given")
	}
	return &http.Client{
		Transport:     &transport{api: api, base: config.transport(true), tokens: newTokens(config)},
		CheckRedirect: stay,
	}, nil
}

func stay(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

// endpoint reads a URL to which a secret goes, so that only this machine itself may be reached without TLS.
func endpoint(field, text string) (*url.URL, error) {
	parsed, err := url.Parse(text)
	if err != nil {
		return nil, fmt.Errorf("upstream: %s cannot be parsed", field) // the parser's own text would show passwords
	}
	secure := parsed.Scheme == "https" || parsed.Scheme == "http" && loopback(parsed.Hostname())
	if !secure || parsed.Hostname() == "" || parsed.User != nil || parsed.Fragment != "" {
		return nil, fmt.Errorf("upstream: %s is %q; it must be https://HOST/…, without user, password and fragment; "+
			"http only for this machine", field, parsed.Redacted())
	}
	return parsed, nil
}

func loopback(host string) bool {
	return host == "localhost" || net.ParseIP(host).IsLoopback()
}

// transport returns what sends requests. A token is fetched once an hour, over a connection that would have died in the
// meantime, so that none is kept.
func (c Config) transport(keepAlive bool) http.RoundTripper {
	if c.Transport != nil {
		return c.Transport
	}
	own := http.DefaultTransport.(*http.Transport).Clone()
	own.DisableKeepAlives = !keepAlive
	return own
}

// grant is the request for a token, but for the secret.
func (c Config) grant() clientcredentials.Config {
	more := url.Values{}
	for name, value := range map[string]string{"resource": c.Resource, "audience": c.Audience} {
		if value != "" {
			more.Set(name, value)
		}
	}
	// Not found out by trying, which would send every request twice that the server refuses.
	style := oauth2.AuthStyleInHeader
	if c.SecretInBody {
		style = oauth2.AuthStyleInParams
	}
	return clientcredentials.Config{
		ClientID: c.ClientID, TokenURL: c.TokenURL, Scopes: c.Scopes, EndpointParams: more, AuthStyle: style,
	}
}

func (c Config) clock() func() time.Time {
	now := c.Now
	if now == nil {
		now = time.Now
	}
	// The monotonic clock stands still while a process is frozen.
	return func() time.Time { return now().Round(0) }
}

func (c Config) timeout() time.Duration { return cmp.Or(c.Timeout, DefaultTimeout) }
