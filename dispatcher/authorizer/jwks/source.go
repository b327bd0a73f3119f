package jwks

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"patchbay/shared/authorization"
	"patchbay/shared/issuer"
)

// source fetches from an issuer.
type source struct {
	issuer *authorization.Issuer
	client *http.Client
	// found is the jwks_uri that the metadata named; it is forgotten when nothing can be fetched there.
	found *atomic.Pointer[string]
}

func newSource(of *authorization.Issuer, client *http.Client) source {
	return source{issuer: of, client: issuer.Client(client), found: &atomic.Pointer[string]{}}
}

// load fetches the keys.
func (s source) load(ctx context.Context) (*set, error) {
	address, err := s.address(ctx)
	if err != nil {
		return nil, err
	}
	body, header, err := issuer.Get(ctx, s.client, address)
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

// discover asks the issuer's metadata document.
func (s source) discover(ctx context.Context) (string, error) {
	document, err := issuer.Discover(ctx, s.client, s.issuer)
	if err != nil {
		return "", err
	}
	if err := s.issuer.CheckAddress(document.JWKSURI); err != nil {
		return "", fmt.Errorf("the jwks_uri in its metadata: %w", err)
	}
	return document.JWKSURI, nil
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
