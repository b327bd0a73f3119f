package jwks

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"patchbay/shared/authorization"
)

const (
	// maxBytes bounds a metadata document and a set of keys. Real ones have a few thousand.
	maxBytes = 256 << 10
	// maxHeaderBytes bounds the header fields of an answer.
	maxHeaderBytes = 32 << 10
)

// errRedirect is what following a redirect fails with: whoever can make an issuer redirect could otherwise name the
// keys.
var errRedirect = errors.New("it redirects, which is not followed")

// source fetches from an issuer.
type source struct {
	issuer *authorization.Issuer
	client *http.Client
	// found is the jwks_uri that the metadata named; it is forgotten when nothing can be fetched there.
	found *atomic.Pointer[string]
}

func newSource(issuer *authorization.Issuer, client *http.Client) source {
	if client == nil {
		// Fetches are rare, and a connection that is kept through a freeze of the instance is a dead one.
		client = &http.Client{Transport: &http.Transport{
			Proxy:                  http.ProxyFromEnvironment,
			DisableKeepAlives:      true,
			MaxResponseHeaderBytes: maxHeaderBytes,
			ForceAttemptHTTP2:      true,
		}}
	}
	strict := *client
	strict.CheckRedirect = func(*http.Request, []*http.Request) error { return errRedirect }
	return source{issuer: issuer, client: &strict, found: &atomic.Pointer[string]{}}
}

// load fetches the keys.
func (s source) load(ctx context.Context) (*set, error) {
	address, err := s.address(ctx)
	if err != nil {
		return nil, err
	}
	body, header, err := s.get(ctx, address)
	if err != nil {
		s.found.Store(nil)
		return nil, fmt.Errorf("fetching the keys of %s: %w", s.issuer.URL, err)
	}
	keys, err := parse(body, s.issuer.Algorithms)
	if err != nil {
		s.found.Store(nil)
		return nil, fmt.Errorf("reading the keys of %s from %s: %w", s.issuer.URL, address, err)
	}
	return &set{keys: keys, fresh: fresh(header)}, nil
}

// address is the issuer's jwks_uri.
func (s source) address(ctx context.Context) (string, error) {
	if s.issuer.JWKSURI != "" {
		return s.issuer.JWKSURI, nil
	}
	if known := s.found.Load(); known != nil {
		return *known, nil
	}
	found, err := s.discover(ctx)
	if err != nil {
		return "", fmt.Errorf("asking %s where its keys are: %w", s.issuer.URL, err)
	}
	s.found.Store(&found)
	return found, nil
}

// discover asks the metadata document: OpenID Connect's, which all products have, then OAuth's own.
func (s source) discover(ctx context.Context) (string, error) {
	places, err := metadata(s.issuer.URL)
	if err != nil {
		return "", err
	}
	for _, place := range places {
		var body []byte
		if body, _, err = s.get(ctx, place); err == nil {
			return s.read(body, place)
		}
		var status statusError
		if !errors.As(err, &status) || status >= http.StatusInternalServerError {
			return "", err
		}
	}
	return "", err
}

// metadata are the addresses of an issuer's metadata documents. Sources: OpenID Connect Discovery 1.0, section 4.1,
// which appends to the issuer's path; RFC 8414, section 3.1, which inserts before it.
func metadata(issuer string) ([]string, error) {
	u, err := url.Parse(issuer)
	if err != nil {
		return nil, err
	}
	path := strings.TrimSuffix(u.EscapedPath(), "/")
	host := u.Scheme + "://" + u.Host
	return []string{
		host + path + authorization.OpenIDMetadataPath,
		host + authorization.ServerMetadataPath + path,
	}, nil
}

// read takes the jwks_uri from a metadata document, which must be the issuer's own: its issuer is compared character
// for character (RFC 8414, section 3.3).
func (s source) read(body []byte, place string) (string, error) {
	var document struct {
		Issuer  string `json:"issuer"`
		JWKSURI string `json:"jwks_uri"`
	}
	if err := json.Unmarshal(body, &document); err != nil {
		return "", fmt.Errorf("%s is no metadata document: %w", place, err)
	}
	if document.Issuer != s.issuer.URL {
		return "", fmt.Errorf("%s is the document of the issuer %.200q", place, document.Issuer)
	}
	if err := s.issuer.CheckJWKSURI(document.JWKSURI); err != nil {
		return "", fmt.Errorf("the jwks_uri in %s: %w", place, err)
	}
	return document.JWKSURI, nil
}

// statusError is an answer that is none.
type statusError int

func (e statusError) Error() string { return "it answers " + strconv.Itoa(int(e)) }

func (s source) get(ctx context.Context, address string) ([]byte, http.Header, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, nil, err
	}
	request.Header.Set("Accept", "application/json")
	response, err := s.client.Do(request)
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return nil, nil, fmt.Errorf("%s: %w", address, statusError(response.StatusCode))
	}
	body, err := io.ReadAll(io.LimitReader(response.Body, maxBytes+1))
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", address, err)
	}
	if len(body) > maxBytes {
		return nil, nil, fmt.Errorf("%s: it answers more than %d bytes", address, maxBytes)
	}
	return body, response.Header, nil
}

// fresh is how long an answer is good for, by its Cache-Control, within bounds. Source: RFC 9111, section 5.2.2.
func fresh(header http.Header) time.Duration {
	for directive := range strings.SplitSeq(strings.Join(header.Values("Cache-Control"), ","), ",") {
		name, value, _ := strings.Cut(strings.ToLower(strings.TrimSpace(directive)), "=")
		switch name {
		case "no-store", "no-cache":
			return minFresh
		case "max-age":
			seconds, err := strconv.ParseInt(strings.Trim(value, `"`), 10, 32)
			if err != nil {
				return usualFresh
			}
			return min(max(time.Duration(seconds)*time.Second, minFresh), maxFresh)
		}
	}
	return usualFresh
}
