package secret

import (
	"context"
	"sync"
	"time"
)

// DefaultTTL is how long a Cache keeps a secret: a rotated one is in use everywhere after it.
const DefaultTTL = 5 * time.Minute

// CacheOptions are the settings of a Cache; the zero value is good.
type CacheOptions struct {
	// TTL is how long a secret is kept; 0 means DefaultTTL.
	TTL time.Duration
	// Now tells the time; nil means time.Now.
	Now func() time.Time
}

// Cache is a Source that remembers what another one answered. Errors are not remembered.
type Cache struct {
	source Source
	ttl    time.Duration
	now    func() time.Time

	mu   sync.Mutex
	kept map[string]kept
}

type kept struct {
	value Value
	until time.Time
}

// NewCache puts a Cache in front of a source.
func NewCache(source Source, options CacheOptions) *Cache {
	if options.TTL == 0 {
		options.TTL = DefaultTTL
	}
	if options.Now == nil {
		options.Now = time.Now
	}
	return &Cache{source: source, ttl: options.TTL, now: options.Now, kept: map[string]kept{}}
}

// Get returns the remembered secret, or fetches it. Calls that miss at the same time each ask the source.
func (c *Cache) Get(ctx context.Context, name string) (Value, error) {
	if value, ok := c.remembered(name); ok {
		return value, nil
	}
	value, err := c.source.Get(ctx, name)
	if err != nil {
		return Value{}, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.kept[name] = kept{value: value, until: c.now().Add(c.ttl)}
	return value, nil
}

func (c *Cache) remembered(name string) (Value, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	entry, ok := c.kept[name]
	if !ok || !c.now().Before(entry.until) {
		return Value{}, false
	}
	return entry.value, true
}
