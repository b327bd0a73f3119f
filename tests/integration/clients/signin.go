package clients

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strconv"
)

// CallbackPath is where the clients here take the answer of an authorization server, on a loopback address with a port
// of their own (RFC 8252, section 7.3). The Inspector has one of its own.
const CallbackPath = "/callback"

// SignIn is what a client is given for its own OAuth flow: a person with a browser, or credentials of its own.
type SignIn struct {
	// Visit is the person: it opens the authorization server's page, signs in, and is sent back to the client. It may be
	// called again, when the client wants more. An error ends the client's run.
	Visit Visit `json:"-"`
	// CallbackPort is where the client waits to be sent back to, for authorization servers that compare ports; 0 for any.
	CallbackPort int `json:"callbackPort,omitempty"`
	// ClientID and ClientSecret are those of a client that acts for itself (RFC 6749, section 4.4); empty for one that
	// acts for a person, which registers itself.
	ClientID     string `json:"clientId,omitempty"`
	ClientSecret string `json:"clientSecret,omitempty"`
	// Scope is what a machine's client asks for where its SDK leaves that to it, separated by spaces.
	Scope string `json:"scope,omitempty"`
}

// CallbackURL is the redirect URI of a client with that callback port.
func CallbackURL(port int) string { return "http://" + callbackHost(port) + CallbackPath }

func callbackHost(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }

// Visit opens a URL in a browser, and returns when the browser has been sent back to the client.
type Visit func(ctx context.Context, authorizationURL string) error

// callback is a client's loopback address that takes an authorization response.
type callback struct {
	server    *http.Server
	responses chan url.Values
	// URL is the redirect URI.
	URL string
}

func listenForCallback(port int) (*callback, error) {
	listener, err := net.Listen("tcp", callbackHost(port))
	if err != nil {
		return nil, fmt.Errorf("listening for the authorization response: %w", err)
	}
	c := &callback{responses: make(chan url.Values, 1), URL: "http://" + listener.Addr().String() + CallbackPath}
	mux := http.NewServeMux()
	mux.HandleFunc(CallbackPath, func(w http.ResponseWriter, r *http.Request) {
		c.responses <- r.URL.Query()
		fmt.Fprintln(w, "You can close this page.")
	})
	c.server = &http.Server{Handler: mux}
	go func() { _ = c.server.Serve(listener) }()
	return c, nil
}

// visit sends the person to the authorization server and returns its response.
func (c *callback) visit(ctx context.Context, visit Visit, authorizationURL string) (url.Values, error) {
	if err := visit(ctx, authorizationURL); err != nil {
		return nil, fmt.Errorf("signing in: %w", err)
	}
	select {
	case response := <-c.responses:
		return response, nil
	case <-ctx.Done():
		return nil, fmt.Errorf("waiting for the authorization response: %w", ctx.Err())
	}
}

func (c *callback) close() { _ = c.server.Close() }
