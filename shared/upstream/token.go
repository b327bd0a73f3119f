package upstream

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/oauth2"
	"golang.org/x/oauth2/clientcredentials"

	"patchbay/shared/secret"
)

const (
	// margin is how long before its end a token is not used any more, so that it lasts until the API has seen it. Of a
	// token that lives for less than two minutes it is a quarter.
	margin = 30 * time.Second
	// unknownLife is how long a token is kept whose server does not say how long it lives (RFC 6749, section 5.1).
	unknownLife = 5 * time.Minute
	// refusePause is for how long after it was fetched a token that the API refuses is not replaced: an API that refuses
	// all of them must not make every request fetch one.
	refusePause = 10 * time.Second
)

// token is an access token, and from when to when it is used.
type token struct {
	access         string
	fetched, until time.Time
}

// at reports whether the token may be used then. A time before it was fetched means that the clock was set back
// since, so that nothing is known about its age.
func (t token) at(now time.Time) bool { return !now.Before(t.fetched) && now.Before(t.until) }

// tokens keeps one token for all requests.
type tokens struct {
	grant   clientcredentials.Config
	http    *http.Client
	secrets secret.Source
	secret  string // its name
	timeout time.Duration
	now     func() time.Time

	mu     sync.Mutex
	kept   token
	flight *flight
}

// flight is one fetch, which may have several callers.
type flight struct {
	done  chan struct{}
	token token
	err   error
	// left says that the caller who fetches did not wait for the end, so that the error is that caller's.
	left bool
}

func newTokens(config Config) *tokens {
	return &tokens{
		grant: config.grant(), secrets: config.Secrets, secret: config.SecretName, timeout: config.timeout(),
		now: config.clock(),
		// A redirect would carry the secret to another host.
		http: &http.Client{Transport: config.transport(false), CheckRedirect: stay},
	}
}

// get returns the kept token, or fetches one. Calls that need one at the same time make one request.
func (t *tokens) get(ctx context.Context) (token, error) {
	for {
		kept, own, other := t.begin()
		if own == nil && other == nil {
			return kept, nil
		}
		if own != nil {
			return t.fetch(ctx, own)
		}
		select {
		case <-other.done:
		case <-ctx.Done():
			return token{}, fmt.Errorf("%w: waiting for another request to fetch it: %w", ErrNoToken, ctx.Err())
		}
		if !other.left {
			return other.token, other.err
		}
	}
}

// begin returns the kept token, or else the fetch to make oneself, or the one to wait for.
func (t *tokens) begin() (kept token, own, other *flight) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case t.kept.at(t.now()):
		return t.kept, nil, nil
	case t.flight != nil:
		return token{}, nil, t.flight
	}
	t.flight = &flight{done: make(chan struct{})}
	return token{}, t.flight, nil
}

// fetch gets a token in the caller's own time, and lands the flight whatever happens.
func (t *tokens) fetch(ctx context.Context, own *flight) (token, error) {
	own.err = fmt.Errorf("%w: fetching it did not end", ErrNoToken)
	defer func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		if own.err == nil {
			t.kept = own.token
		}
		t.flight = nil
		close(own.done)
	}()
	bounded, cancel := context.WithTimeout(ctx, t.timeout)
	defer cancel()
	got, err := t.exchange(bounded)
	own.token, own.err = got, nil
	if err != nil {
		own.err = fmt.Errorf("%w: %w", ErrNoToken, err)
		own.left = ctx.Err() != nil
	}
	return own.token, own.err
}

// instead returns another token than the one that the API has refused; the same one when it is too new to be replaced.
func (t *tokens) instead(ctx context.Context, refused token) (token, error) {
	t.mu.Lock()
	now := t.now()
	if t.kept.access == refused.access {
		if age := now.Sub(refused.fetched); age >= 0 && age < refusePause {
			t.mu.Unlock()
			return refused, nil
		}
		t.kept = token{}
	}
	t.mu.Unlock()
	return t.get(ctx)
}

// exchange asks for a token with the client's secret, and once more with the one that has replaced it meanwhile.
func (t *tokens) exchange(ctx context.Context) (token, error) {
	value, err := t.secrets.Get(ctx, t.secret)
	if err != nil {
		return token{}, fmt.Errorf("reading the client's secret: %w", err)
	}
	got, err := t.ask(ctx, value)
	if refusesClient(err) {
		if replaced, ok := t.replaced(ctx, value); ok {
			got, err = t.ask(ctx, replaced)
		}
	}
	if err != nil {
		return token{}, explained(ctx, err)
	}
	return got, nil
}

// replaced reads the secret again, and reports whether it is another one.
func (t *tokens) replaced(ctx context.Context, refused secret.Value) (secret.Value, bool) {
	if cache, ok := t.secrets.(interface{ Reject(string, secret.Value) }); ok {
		cache.Reject(t.secret, refused)
	}
	value, err := t.secrets.Get(ctx, t.secret)
	return value, err == nil && value.Reveal() != refused.Reveal()
}

// errTokenType is for tokens that are to be used in another way (RFC 6749, section 7.1).
var errTokenType = errors.New("the token is of another type than Bearer")

// ask makes one request.
func (t *tokens) ask(ctx context.Context, value secret.Value) (token, error) {
	asked := t.now()
	grant := t.grant
	// Whoever wrote the secret with an editor has left a line break behind it.
	grant.ClientSecret = strings.TrimSpace(value.Reveal())
	got, err := grant.Token(context.WithValue(ctx, oauth2.HTTPClient, t.http))
	if err != nil {
		return token{}, err
	}
	if !strings.EqualFold(got.Type(), "Bearer") {
		return token{}, errTokenType
	}
	life := unknownLife
	if !got.Expiry.IsZero() {
		life = time.Until(got.Expiry)
		life -= min(margin, life/4)
	}
	return token{access: got.AccessToken, fetched: asked, until: asked.Add(life)}, nil
}

// refusesClient reports whether the server does not know the client by this secret.
func refusesClient(err error) bool {
	refusal, ok := errors.AsType[*oauth2.RetrieveError](err)
	return ok && (refusal.ErrorCode == "invalid_client" ||
		refusal.ErrorCode == "" && refusal.Response.StatusCode == http.StatusUnauthorized)
}

// codes are what a token endpoint's error may be. Sources: RFC 6749, section 5.2; RFC 8707, section 2. What else it
// says is not repeated: it may hold what was sent.
var codes = []string{
	"invalid_request", "invalid_client", "invalid_grant", "unauthorized_client", "unsupported_grant_type",
	"invalid_scope", "invalid_target",
}

// explained says what went wrong without what was sent and what came back.
func explained(ctx context.Context, err error) error {
	if refusal, ok := errors.AsType[*oauth2.RetrieveError](err); ok {
		code := "no error code of OAuth"
		if slices.Contains(codes, refusal.ErrorCode) {
			code = refusal.ErrorCode
		}
		return fmt.Errorf("the token endpoint answered %d, %s", refusal.Response.StatusCode, code)
	}
	if unsent, ok := errors.AsType[*url.Error](err); ok {
		return fmt.Errorf("reaching the token endpoint: %w", unsent.Err)
	}
	switch {
	case errors.Is(err, errTokenType):
		return err
	case ctx.Err() != nil:
		return fmt.Errorf("reading the token endpoint's answer: %w", ctx.Err())
	}
	return errors.New("the token endpoint's answer was not understood")
}
