package seal

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"
)

// keeper remembers the ring that a source gave.
type keeper struct {
	source      Source
	maxAge      time.Duration
	minInterval time.Duration
	stale       time.Duration
	log         *slog.Logger
	now         func() time.Time

	kept atomic.Pointer[kept]
	// turn is held while the source is read, so that many calls make one reading.
	turn  chan struct{}
	tried time.Time // when the source was last read, whether it answered or not; guarded by turn
	out   bool      // the source was out of order then; guarded by turn
}

// kept is a ring as it was read.
type kept struct {
	primary Key
	keys    map[string]Key
	at      time.Time
}

func newKeeper(source Source, options Options) *keeper {
	// A process that was frozen for hours must see that they have passed, which the monotonic clock does not tell.
	now := func() time.Time { return options.Now().Round(0) }
	return &keeper{
		source: source, maxAge: options.MaxAge, minInterval: options.MinInterval, stale: options.Stale,
		log: options.Log, now: now, turn: make(chan struct{}, 1),
	}
}

// primary returns the key to seal with.
func (k *keeper) primary(ctx context.Context) (Key, error) {
	ring, err := k.current(ctx)
	if err != nil {
		return Key{}, err
	}
	return ring.primary, nil
}

// find returns the key of that id. An unknown one may have been added since the ring was read, and so has it read once
// more, unless that was tried a moment ago.
func (k *keeper) find(ctx context.Context, id string) (Key, bool, error) {
	ring, err := k.current(ctx)
	if err != nil {
		return Key{}, false, err
	}
	key, ok := ring.keys[id]
	if ok {
		return key, true, nil
	}
	ring, err = k.read(ctx, func() bool { return k.within(k.tried, k.minInterval) })
	if err != nil {
		return Key{}, false, err
	}
	key, ok = ring.keys[id]
	return key, ok, nil
}

// current returns a ring that is not too old.
func (k *keeper) current(ctx context.Context) (*kept, error) {
	if ring := k.kept.Load(); ring != nil && k.within(ring.at, k.maxAge) {
		return ring, nil
	}
	ring, err := k.read(ctx, func() bool { return k.within(k.kept.Load().at, k.maxAge) || k.out && k.bridged() })
	if old := k.kept.Load(); errors.Is(err, ErrUnavailable) && k.lasts(old) {
		cmp.Or(k.log, slog.Default()).WarnContext(ctx, "the key ring cannot be read again; the one read before is used",
			"readAt", old.at, "error", err.Error())
		return old, nil
	}
	return ring, err
}

// bridged reports whether the ring at hand serves on without another reading, since the source was out of order a
// moment ago: not every call waits for it.
func (k *keeper) bridged() bool { return k.within(k.tried, k.minInterval) && k.lasts(k.kept.Load()) }

// lasts reports whether a ring may still be used while its source is out of order.
func (k *keeper) lasts(ring *kept) bool { return ring != nil && k.within(ring.at, k.maxAge+k.stale) }

// read reads the ring from its source, or returns the one at hand where that is good enough after waiting for a turn.
func (k *keeper) read(ctx context.Context, enough func() bool) (*kept, error) {
	select {
	case k.turn <- struct{}{}:
		defer func() { <-k.turn }()
	case <-ctx.Done():
		return nil, fmt.Errorf("waiting for the key ring: %w", ctx.Err())
	}
	if ring := k.kept.Load(); ring != nil && enough() {
		return ring, nil
	}
	k.tried = k.now()
	ring, err := k.source.Load(ctx)
	k.out = errors.Is(err, ErrUnavailable)
	if err != nil {
		return nil, fmt.Errorf("loading the key ring: %w", err)
	}
	if err := ring.check(); err != nil {
		return nil, fmt.Errorf("loading the key ring: %w", err)
	}
	loaded := newKept(ring, k.tried)
	k.kept.Store(loaded)
	return loaded, nil
}

func newKept(ring Ring, at time.Time) *kept {
	loaded := &kept{keys: make(map[string]Key, len(ring.Keys)), at: at}
	for _, key := range ring.Keys {
		loaded.keys[key.ID] = key
		if key.Role == RolePrimary {
			loaded.primary = key
		}
	}
	return loaded
}

// within reports whether at lies less than age back. A time in the future means that the clock was set back since, so
// that nothing is known about its age.
func (k *keeper) within(at time.Time, age time.Duration) bool {
	passed := k.now().Sub(at)
	return passed >= 0 && passed < age
}
