// Package jwks keeps the keys with which one authorization server signs access tokens.
//
// They are fetched from the issuer's jwks_uri, which its metadata document names where the configuration does not, and
// kept for as long as the issuer says, within bounds. A key id that is not among them makes the set be fetched again,
// at a bounded rate: an issuer that rotates its keys is followed, and somebody who makes key ids up cannot use this
// server against the issuer. While the issuer cannot be reached, the keys that are there serve on, for a day at most.
//
// What is fetched comes from outside: its size, the number of keys and the time it may take are bounded, redirects are
// not followed, and keys that are no public keys for signatures, or weak ones, are left out. Sources: RFC 7517; OpenID
// Connect Discovery 1.0, section 4; RFC 8414, section 3.
package jwks

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"patchbay/shared/authorization"
)

// Bounds of how long a set of keys is good for, by what its Cache-Control says.
const (
	// minFresh keeps an issuer that allows no caching, or seconds, from being asked all the time.
	minFresh = 5 * time.Minute
	// maxFresh is within which a key that the issuer has withdrawn is gone here, too.
	maxFresh = time.Hour
	// usualFresh is for an issuer that says nothing.
	usualFresh = 15 * time.Minute
	// MaxStale is how old a set may become while the issuer cannot be reached. After that nobody knows whether the keys
	// are still the issuer's.
	MaxStale = 24 * time.Hour
)

// How often the issuer is asked.
const (
	// unknownPause lies between two fetches that a key id nobody knows has made.
	unknownPause = 10 * time.Second
	// firstPause lies between two attempts while there is no key at all, and lastPause is what it grows to, by doubling,
	// while an issuer that has keys here does not answer.
	firstPause = time.Second
	retryPause = 10 * time.Second
	lastPause  = 5 * time.Minute
)

// ErrUnknownKey means that the issuer has no key of that id for that algorithm, as far as is known.
var ErrUnknownKey = errors.New("the issuer has no such key")

// Options say how a Cache works. The zero value is useful.
type Options struct {
	// Client fetches; nil means one that is made for it. Redirects are not followed, whatever the client is.
	Client *http.Client
	// Timeout bounds one fetch of a set, with the metadata document; 0 means 4 s.
	Timeout time.Duration
	// Now is the clock; nil means time.Now. Only its wall time counts: the monotonic clock stands still while Lambda
	// freezes an instance.
	Now func() time.Time
	// Failed is told of every fetch that failed; nil means nobody.
	Failed func(error)
}

// Cache keeps the keys of one issuer. It is safe for concurrent use.
type Cache struct {
	issuer  *authorization.Issuer
	source  source
	timeout time.Duration
	now     func() time.Time
	failed  func(error)

	mu     sync.Mutex
	set    *set          // nil until the first success
	flight chan struct{} // closed at the end of the fetch that is under way; nil when none is
	// tried is when the last attempt began, or failed, failures how many failed since the last success, and err why the
	// last did.
	tried    time.Time
	failures int
	err      error
}

// set is what one fetch found.
type set struct {
	keys    []key
	fetched time.Time
	fresh   time.Duration
}

// New returns a cache that has fetched nothing yet.
func New(issuer *authorization.Issuer, options Options) *Cache {
	if options.Now == nil {
		options.Now = time.Now
	}
	if options.Timeout == 0 {
		options.Timeout = 4 * time.Second
	}
	if options.Failed == nil {
		options.Failed = func(error) {}
	}
	return &Cache{
		issuer: issuer, source: newSource(issuer, options.Client), timeout: options.Timeout,
		now: func() time.Time { return options.Now().Round(0) }, failed: options.Failed,
	}
}

// Find returns the public keys that may have made a signature: those of that id, or, for a token that names none, the
// only one there is; for that algorithm. The error is ErrUnknownKey when there is none; any other means that the
// issuer's keys are not known.
func (c *Cache) Find(ctx context.Context, id, algorithm string) ([]any, error) {
	for {
		found, wait, err := c.look(id, algorithm)
		if wait == nil {
			return found, err
		}
		select {
		case <-wait:
		case <-ctx.Done():
			return nil, fmt.Errorf("waiting for the keys of %s: %w", c.issuer.URL, ctx.Err())
		}
	}
}

// Warm fetches the keys, so that the first token need not wait for them.
func (c *Cache) Warm(ctx context.Context) error {
	_, err := c.Find(ctx, "", "")
	if errors.Is(err, ErrUnknownKey) {
		return nil
	}
	return err
}

// look returns what is known, or what to wait for before looking again.
func (c *Cache) look(id, algorithm string) (found []any, wait <-chan struct{}, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.now()
	s := c.usable(now)
	if s == nil {
		if wait := c.fetch(now, firstPause); wait != nil {
			return nil, wait, nil
		}
		return nil, nil, fmt.Errorf("the keys of %s are not known: %w", c.issuer.URL, c.err)
	}
	if s.stale(now) && c.flight == nil {
		if wait := c.fetch(now, c.pause()); wait != nil {
			return nil, wait, nil
		}
	}
	if found = s.find(id, algorithm); found != nil {
		return found, nil, nil
	}
	if id != "" {
		if wait := c.fetch(now, max(unknownPause, c.pause())); wait != nil {
			return nil, wait, nil
		}
	}
	return nil, nil, fmt.Errorf("key %.100q for %.20q of %s: %w", id, algorithm, c.issuer.URL, ErrUnknownKey)
}

// usable is the set, unless it is too old for anything. A time in the future means that the clock was set back since.
func (c *Cache) usable(now time.Time) *set {
	if c.set == nil || !within(now, c.set.fetched, MaxStale) {
		return nil
	}
	return c.set
}

func (s *set) stale(now time.Time) bool { return !within(now, s.fetched, s.fresh) }

// within reports whether at lies at most age before now.
func within(now, at time.Time, age time.Duration) bool {
	passed := now.Sub(at)
	return passed >= 0 && passed <= age
}

// pause is what lies between two attempts while there are keys.
func (c *Cache) pause() time.Duration {
	if c.failures == 0 {
		return 0
	}
	return min(retryPause<<min(c.failures-1, 10), lastPause)
}

// fetch begins a fetch, or joins the one under way, and returns what is closed at its end; nil when the last one was
// less than the pause ago.
func (c *Cache) fetch(now time.Time, pause time.Duration) <-chan struct{} {
	if c.flight != nil {
		return c.flight
	}
	if !c.tried.IsZero() && pause > 0 && within(now, c.tried, pause) {
		return nil
	}
	c.tried = now
	c.flight = make(chan struct{})
	go c.fly(now, c.flight)
	return c.flight
}

// fly fetches the set. No caller's context ends it, since others may wait for it, too.
func (c *Cache) fly(begun time.Time, done chan struct{}) {
	ctx, cancel := context.WithTimeout(context.Background(), c.timeout)
	defer cancel()
	fetched, err := c.source.load(ctx)

	c.mu.Lock()
	c.flight, c.err = nil, err
	if err == nil {
		fetched.fetched = begun
		c.set, c.failures = fetched, 0
	} else {
		// Counted from the end, however long it took: who waited for this attempt does not wait for another.
		c.tried = c.now()
		c.failures++
	}
	c.mu.Unlock()
	if err != nil {
		// Before those who wait go on: Lambda freezes the process when they have answered.
		c.failed(err)
	}
	close(done)
}
