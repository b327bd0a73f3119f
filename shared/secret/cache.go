package secret

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"
)

const (
	// DefaultTTL is how long a Cache keeps a secret: a rotated one is in use everywhere after it.
	DefaultTTL = 5 * time.Minute
	// DefaultStale is how much longer a Cache gives out a secret while its source is out of order: a tool that could
	// work should not stop with Secrets Manager, and a secret that was withdrawn should not live on for long.
	DefaultStale = time.Hour
	// rejectPause is for how long after it was read a secret that is said not to work is not read again: one that is
	// wrong for good must not make every call ask the source.
	rejectPause = 30 * time.Second
	// stalePause is how long a source that was out of order is left alone, so that not every call waits for it.
	stalePause = 15 * time.Second
)

// CacheOptions are the settings of a Cache; the zero value is good.
type CacheOptions struct {
	// TTL is how long a secret is kept; 0 means DefaultTTL.
	TTL time.Duration
	// Stale is how long after that it is still given out when the source says ErrUnavailable, and only then: a secret
	// that is gone or forbidden is gone at once. 0 means DefaultStale, less than 0 never.
	Stale time.Duration
	// Now tells the time; nil means time.Now.
	Now func() time.Time
	// Log gets a warning when a stale secret is given out; nil means slog.Default().
	Log *slog.Logger
}

// Cache is a Source that remembers what another one answered. Errors are not remembered.
type Cache struct {
	source     Source
	ttl, stale time.Duration
	now        func() time.Time
	log        *slog.Logger

	mu      sync.Mutex
	kept    map[string]kept
	flights map[string]*flight
}

type kept struct {
	value Value
	// at is when the source gave the value; pause is until when it is not asked again, after it could not be.
	at, pause time.Time
}

// flight is one request to the source, which may have several callers.
type flight struct {
	done  chan struct{}
	value Value
	err   error
	// left says that the caller who made the request did not wait for its end, so that the error is that caller's.
	left bool
}

// NewCache puts a Cache in front of a source.
func NewCache(source Source, options CacheOptions) *Cache {
	if options.Now == nil {
		options.Now = time.Now
	}
	// A process that was frozen for hours must see that they have passed, which the monotonic clock does not tell.
	now := func() time.Time { return options.Now().Round(0) }
	return &Cache{
		source: source, ttl: cmp.Or(options.TTL, DefaultTTL), stale: cmp.Or(options.Stale, DefaultStale),
		now: now, log: options.Log, kept: map[string]kept{}, flights: map[string]*flight{},
	}
}

// Get returns the remembered secret, or fetches it. Calls that miss at the same time make one request.
func (c *Cache) Get(ctx context.Context, name string) (Value, error) {
	for {
		value, own, other := c.begin(name)
		if own == nil && other == nil {
			return value, nil
		}
		if own != nil {
			return c.fetch(ctx, name, own)
		}
		select {
		case <-other.done:
		case <-ctx.Done():
			return Value{}, ctx.Err()
		}
		if !other.left {
			return other.value, other.err
		}
	}
}

// Reject says that a secret which Get returned does not work, as when it was replaced a moment ago: the next Get asks
// the source. A secret that was read in the last half minute, or is not the remembered one any more, stays.
func (c *Cache) Reject(name string, value Value) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.now()
	entry, ok := c.kept[name]
	if !ok || entry.within(now, rejectPause) || entry.value.Reveal() != value.Reveal() {
		return
	}
	entry.at = now.Add(-c.ttl)
	c.kept[name] = entry
}

// begin returns the remembered secret, or else the request to make oneself, or the one to wait for.
func (c *Cache) begin(name string) (value Value, own, other *flight) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.now()
	if entry, ok := c.kept[name]; ok && (entry.within(now, c.ttl) || now.Before(entry.pause) && c.lasts(entry, now)) {
		return entry.value, nil, nil
	}
	if running, ok := c.flights[name]; ok {
		return Value{}, nil, running
	}
	own = &flight{done: make(chan struct{})}
	c.flights[name] = own
	return Value{}, own, nil
}

// fetch asks the source in the caller's own time, and lands the flight whatever happens.
func (c *Cache) fetch(ctx context.Context, name string, own *flight) (Value, error) {
	own.err = errors.New("the source of secrets did not return")
	defer func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.flights, name)
		close(own.done)
	}()
	own.value, own.err = c.source.Get(ctx, name)
	own.left = own.err != nil && ctx.Err() != nil
	c.settle(name, own)
	return own.value, own.err
}

// settle remembers what the source gave. Where it is out of order, what is remembered serves a while longer; where it
// said no, nothing does.
func (c *Cache) settle(name string, own *flight) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.now()
	entry, known := c.kept[name]
	switch {
	case own.err == nil:
		c.kept[name] = kept{value: own.value, at: now}
	case errors.Is(own.err, ErrUnavailable) && known && c.lasts(entry, now):
		entry.pause = now.Add(stalePause)
		c.kept[name] = entry
		cmp.Or(c.log, slog.Default()).Warn("a secret cannot be read again; the one read before is used",
			"secret", name, "readAt", entry.at, "error", own.err.Error())
		own.value, own.err, own.left = entry.value, nil, false
	case !own.left:
		delete(c.kept, name)
	}
}

// lasts reports whether an entry may still be given out while the source is out of order.
func (c *Cache) lasts(entry kept, now time.Time) bool {
	return c.stale > 0 && entry.within(now, c.ttl+c.stale)
}

// within reports whether the value was given less than age ago. A time in the future means that the clock was set back
// since, so that nothing is known about its age.
func (k kept) within(now time.Time, age time.Duration) bool {
	passed := now.Sub(k.at)
	return passed >= 0 && passed < age
}
