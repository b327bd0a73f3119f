// Package issuer reads what authorization servers publish of themselves: documents behind addresses that a deployment's
// settings lead to, fetched with bounds on time and size. The authorizer finds keys by them, the front document is made
// of them.
package issuer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"patchbay/shared/authorization"
)

const (
	// attemptTime bounds one request, from the connection to the last byte: these documents are small and static.
	attemptTime = 3 * time.Second
	// MaxBytes bounds a document; those of large providers have some 4 KB.
	MaxBytes = 256 << 10
	// maxHeaderBytes bounds the header fields of an answer.
	maxHeaderBytes = 32 << 10
)

// Client returns a client for Get and Discover that is made of another, nil for one of its own. It follows no
// redirects, since whoever can make an issuer redirect could otherwise name its keys and endpoints, and a request ends
// after three seconds unless the other says something else.
func Client(of *http.Client) *http.Client {
	if of == nil {
		// Fetches are rare, and a connection that is kept through a freeze of the instance is a dead one.
		of = &http.Client{Transport: &http.Transport{
			Proxy:                  http.ProxyFromEnvironment,
			DisableKeepAlives:      true,
			MaxResponseHeaderBytes: maxHeaderBytes,
			ForceAttemptHTTP2:      true,
		}}
	}
	client := *of
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return errRedirect }
	if client.Timeout == 0 {
		client.Timeout = attemptTime
	}
	return &client
}

// errRedirect is what following a redirect fails with.
var errRedirect = errors.New("it redirects, which is not followed")

// Get returns the document at an address, with the answer's header. The error names the address; it is a *StatusError
// for an answer with another status than 200.
func Get(ctx context.Context, client *http.Client, address string) ([]byte, http.Header, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, http.NoBody)
	if err != nil {
		return nil, nil, fmt.Errorf("fetching %q: %w", address, err)
	}
	request.Header.Set("Accept", "application/json")
	response, err := client.Do(request)
	if err != nil {
		return nil, nil, fmt.Errorf("fetching %s: %w", address, withoutAddress(err))
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return nil, nil, &StatusError{Address: address, Status: response.StatusCode}
	}
	body, err := io.ReadAll(io.LimitReader(response.Body, MaxBytes+1))
	if err != nil {
		return nil, nil, fmt.Errorf("fetching %s: %w", address, err)
	}
	if len(body) > MaxBytes {
		return nil, nil, fmt.Errorf("fetching %s: it answers more than %d bytes", address, MaxBytes)
	}
	return body, response.Header, nil
}

// StatusError is an answer that is not the document.
type StatusError struct {
	Address string
	Status  int
}

func (e *StatusError) Error() string {
	return fmt.Sprintf("fetching %s: it answers %d", e.Address, e.Status)
}

// withoutAddress takes off what net/http puts before an error: method and address, which are named already.
func withoutAddress(err error) error {
	if asked, ok := errors.AsType[*url.Error](err); ok {
		return asked.Err
	}
	return err
}

// Metadata is an authorization server's metadata document. Sources: RFC 8414, section 2; OpenID Connect Discovery 1.0,
// section 3.
type Metadata struct {
	Issuer                string `json:"issuer"`
	AuthorizationEndpoint string `json:"authorization_endpoint"`
	TokenEndpoint         string `json:"token_endpoint"`
	JWKSURI               string `json:"jwks_uri"`
	// Raw is the whole document, a JSON object.
	Raw json.RawMessage `json:"-"`
}

// Discover fetches the metadata document of an issuer from whichever of its addresses has it. The document must name
// exactly this issuer (RFC 8414, section 3.3); what else is in it is not checked.
func Discover(ctx context.Context, client *http.Client, of *authorization.Issuer) (*Metadata, error) {
	var failures []error
	for _, address := range addresses(of.URL) {
		metadata, err := discoverAt(ctx, client, address, of.URL)
		if err == nil {
			return metadata, nil
		}
		failures = append(failures, err)
		if !elsewhere(err) {
			break
		}
	}
	return nil, fmt.Errorf("reading the metadata of %s: %w", of.URL, errors.Join(failures...))
}

// elsewhere reports whether the document may be at another address: the server works, and has none there.
func elsewhere(err error) bool {
	status, ok := errors.AsType[*StatusError](err)
	return ok && status.Status < http.StatusInternalServerError
}

func discoverAt(ctx context.Context, client *http.Client, address, issuer string) (*Metadata, error) {
	body, _, err := Get(ctx, client, address)
	if err != nil {
		return nil, err
	}
	metadata := &Metadata{Raw: body}
	if err := json.Unmarshal(body, metadata); err != nil {
		return nil, fmt.Errorf("%s is no metadata document: %w", address, err)
	}
	if metadata.Issuer != issuer {
		return nil, fmt.Errorf("%s is the document of the issuer %.200q", address, metadata.Issuer)
	}
	return metadata, nil
}

// addresses are where an issuer's metadata may be, the likeliest first: OpenID Connect Discovery's is where all
// providers that there are presets for have it; then RFC 8414's own, whose well-known part stands before the issuer's
// path.
func addresses(issuer string) []string {
	issuer = strings.TrimSuffix(issuer, "/")
	all := []string{issuer + authorization.OpenIDMetadataPath}
	u, err := url.Parse(issuer)
	if err != nil {
		return all
	}
	origin := strings.TrimSuffix(issuer, u.EscapedPath())
	return append(all, origin+authorization.ServerMetadataPath+u.EscapedPath())
}
