package registry

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// defaultMaxAge is the time within which a disabled tool is gone everywhere.
	defaultMaxAge = 10 * time.Second
	// missAge is how old HEAD may be when a name is unknown: short, so that a new tool is found soon; not zero, so that
	// calls of names that nobody has cannot make every instance read HEAD all the time.
	missAge = time.Second
	// readTimeout bounds one shared read, which no caller's context ends.
	readTimeout = 10 * time.Second
	// maxReads bounds how often a call reads HEAD because it was too old once it had been read, as after a freeze.
	maxReads = 3
)

// ReaderOptions say how a Reader works. The zero value is useful.
type ReaderOptions struct {
	// MaxAge is how old the copy of HEAD may be that a call is decided by; 0 means 10 s.
	MaxAge time.Duration
	// Now is the clock; nil means time.Now. Only its wall time counts: the monotonic clock stands still while Lambda
	// freezes an instance.
	Now func() time.Time
}

// Reader reads a registry. It keeps HEAD for a while, and the snapshots that HEAD names for as long as it does; a call
// of a known tool reads nothing. It is safe for concurrent use; concurrent calls share reads.
type Reader struct {
	db     ReadDB
	table  string
	maxAge time.Duration
	clock  func() time.Time

	latest atomic.Pointer[catalogue] // nil until the first read

	mu     sync.Mutex
	flight *flight // the newest read of HEAD that has not ended
	begun  int     // how many there were
	stored int     // the number of the one that latest is from
}

// flight is a read of HEAD, shared by all who wait for it.
type flight struct {
	number int
	at     time.Time // before the read: what it finds is no older
	done   chan struct{}
	err    error // once done is closed
}

// NewReader returns a reader of table that has read nothing yet.
func NewReader(db ReadDB, table string, options ReaderOptions) *Reader {
	r := &Reader{db: db, table: table, maxAge: options.MaxAge, clock: clock(options.Now)}
	if r.maxAge == 0 {
		r.maxAge = defaultMaxAge
	}
	return r
}

// clock returns now without its monotonic reading.
func clock(now func() time.Time) func() time.Time {
	if now == nil {
		now = time.Now
	}
	return func() time.Time { return now().Round(0) }
}

// Lookup returns the tool called name. The error is ErrUnknownTool when there is none or it is disabled, going by a
// HEAD that is at most MaxAge old; any other error means that the registry could not be read, and nothing is known.
//
// A warm lookup reads nothing, a cold one HEAD, the index of each source, and one item of tools.
func (r *Reader) Lookup(ctx context.Context, name string) (*Entry, error) {
	if len(name) > maxNameBytes {
		return nil, fmt.Errorf("looking up a name of %d bytes: %w", len(name), ErrUnknownTool)
	}
	for range maxReads {
		c, err := r.current(ctx)
		if err != nil {
			return nil, err
		}
		s := c.byName[name]
		if s == nil {
			if c, err = r.afterMiss(ctx, c); err != nil {
				return nil, err
			}
			if s = c.byName[name]; s == nil {
				return nil, fmt.Errorf("looking up %q: %w", name, ErrUnknownTool)
			}
		}
		if entry := s.entry.Load(); entry != nil {
			return entry, nil
		}
		// Then round again: HEAD may have grown too old while the tool was read.
		if err := r.fill(ctx, []*slot{s}); err != nil && !r.superseded(ctx, s, err) {
			return nil, err
		}
	}
	return nil, fmt.Errorf("looking up %q: %w", name, errOutdated)
}

var errOutdated = errors.New("HEAD was too old each time that it had been read; does the clock jump?")

// superseded reports whether err is that the slot's snapshot was pruned under an instance that slept, and HEAD is read
// again.
func (r *Reader) superseded(ctx context.Context, s *slot, err error) bool {
	if !errors.Is(err, errGone) || r.Refresh(ctx) != nil {
		return false
	}
	_, named := r.latest.Load().snapshots[s.chunk.snapshot.id]
	return !named
}

// Settings returns the server-wide settings, at most MaxAge old.
func (r *Reader) Settings(ctx context.Context) (Settings, error) {
	c, err := r.current(ctx)
	if err != nil {
		return Settings{}, err
	}
	return c.settings, nil
}

// Refresh reads HEAD now, whatever its age, for a caller who has found that an entry is outdated.
func (r *Reader) Refresh(ctx context.Context) error { return r.wait(ctx, r.begin(ctx, false)) }

// current returns the catalogue as of MaxAge ago or later.
func (r *Reader) current(ctx context.Context) (*catalogue, error) {
	for range maxReads {
		if c := r.latest.Load(); c != nil && r.within(c.at, r.maxAge) {
			return c, nil
		}
		if err := r.wait(ctx, r.begin(ctx, true)); err != nil {
			return nil, err
		}
	}
	return nil, fmt.Errorf("reading HEAD of %s: %w", r.table, errOutdated)
}

// afterMiss returns a catalogue that is hardly older than missAge, c included.
func (r *Reader) afterMiss(ctx context.Context, c *catalogue) (*catalogue, error) {
	if r.within(c.at, missAge) {
		return c, nil
	}
	if err := r.wait(ctx, r.begin(ctx, true)); err != nil {
		return nil, err
	}
	return r.current(ctx)
}

// within reports whether at lies at most age back. A time in the future means that the clock was set back since, so
// that nothing is known about its age.
func (r *Reader) within(at time.Time, age time.Duration) bool {
	passed := r.clock().Sub(at)
	return passed >= 0 && passed <= age
}

// begin returns a read of HEAD: a new one, or with share one that is under way. One that began long ago is not shared:
// its answer may have waited through a freeze.
func (r *Reader) begin(ctx context.Context, share bool) *flight {
	r.mu.Lock()
	defer r.mu.Unlock()
	if share && r.flight != nil && r.within(r.flight.at, missAge) {
		return r.flight
	}
	r.begun++
	r.flight = &flight{number: r.begun, at: r.clock(), done: make(chan struct{})}
	go r.fly(context.WithoutCancel(ctx), r.flight)
	return r.flight
}

// fly reads HEAD. An older read that ends late replaces nothing.
func (r *Reader) fly(ctx context.Context, f *flight) {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	c, err := r.load(ctx, f.at)

	r.mu.Lock()
	defer r.mu.Unlock()
	if err == nil && f.number > r.stored {
		r.stored = f.number
		r.latest.Store(c)
	}
	if r.flight == f {
		r.flight = nil
	}
	f.err = err
	close(f.done)
}

func (r *Reader) wait(ctx context.Context, f *flight) error {
	select {
	case <-f.done:
		return f.err
	case <-ctx.Done():
		return fmt.Errorf("waiting for HEAD of %s: %w", r.table, ctx.Err())
	}
}
