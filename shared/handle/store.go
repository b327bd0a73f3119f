package handle

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	mrand "math/rand/v2"
	"strings"
	"time"
)

// Create stores a new value of the caller and returns its handle. One request.
func (s *Store[T]) Create(ctx context.Context, value T) (string, error) {
	data, err := s.encode(value)
	if err != nil {
		return "", fmt.Errorf("creating %s: %w", s.name(), err)
	}
	id := s.options.Prefix + "_" + strings.ToLower(rand.Text())
	key, err := s.key(ctx, id)
	if err != nil {
		return "", fmt.Errorf("creating %s: %w", s.name(), err)
	}
	now := s.now()
	stored := record{version: 1, data: data, endsAt: now + seconds(s.options.Lifetime)}
	stored.expiresAt = s.prolonged(now, stored)
	stored.sign()
	if err := s.put(ctx, key, stored); err != nil {
		return "", fmt.Errorf("creating %s: %w", s.name(), err)
	}
	return id, nil
}

// Load returns the caller's value, or ErrNotFound. One request; a second one, at most once in a tenth of the window,
// prolongs the value. Should that one fail, the value is returned all the same, with the earlier ExpiresAt.
func (s *Store[T]) Load(ctx context.Context, id string) (Item[T], error) {
	key, item, err := s.load(ctx, id)
	if err != nil {
		return Item[T]{}, fmt.Errorf("loading %s: %w", s.name(), err)
	}
	now := s.now()
	until := s.prolonged(now, item.stored)
	if until-item.stored.expiresAt < seconds(s.options.Window)/10 {
		return item, nil
	}
	if s.prolong(ctx, key, until) == nil {
		item.stored.expiresAt = until
		item.ExpiresAt = time.Unix(until, 0).UTC()
	}
	return item, nil
}

// Save stores item.Value, if nobody has changed the stored one since the item was loaded, and returns the new item. The
// error is ErrConflict when somebody has, ErrNotFound when it is gone by now, ErrUnknownOutcome when an answer was lost
// for good. One request, two when something went wrong.
func (s *Store[T]) Save(ctx context.Context, item Item[T]) (Item[T], error) {
	saved, err := s.save(ctx, item)
	if err != nil {
		return Item[T]{}, fmt.Errorf("saving %s: %w", s.name(), err)
	}
	return saved, nil
}

// Update loads a value, lets change alter it, and saves it; when somebody else was faster it begins anew, so that
// change may run several times, each time on what is stored then. An error of change ends it with that error and
// nothing is written. Two requests, four more for every time that somebody else was faster.
func (s *Store[T]) Update(ctx context.Context, id string, change func(*T) error) (Item[T], error) {
	for attempt := 1; ; attempt++ {
		_, item, err := s.load(ctx, id)
		if err != nil {
			return Item[T]{}, fmt.Errorf("updating %s: %w", s.name(), err)
		}
		if err := change(&item.Value); err != nil {
			return Item[T]{}, err
		}
		saved, err := s.save(ctx, item)
		if err == nil {
			return saved, nil
		}
		if !errors.Is(err, ErrConflict) || attempt == maxAttempts {
			return Item[T]{}, fmt.Errorf("updating %s, attempt %d: %w", s.name(), attempt, err)
		}
		if err := backOff(ctx, attempt); err != nil {
			return Item[T]{}, fmt.Errorf("updating %s after %d attempts: %w", s.name(), attempt, err)
		}
	}
}

// maxAttempts bounds Update. With the waits between, sixteen take some ten seconds.
const maxAttempts = 16

// backOff waits a random time, up to 1 s, that grows with the attempt, the first being 1.
func backOff(ctx context.Context, attempt int) error {
	timer := time.NewTimer(mrand.N(min(5*time.Millisecond<<attempt, time.Second)))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("%w, and then: %w", ErrConflict, ctx.Err())
	}
}

// Delete removes the caller's value; ErrNotFound when there is none. One request.
func (s *Store[T]) Delete(ctx context.Context, id string) error {
	key, err := s.key(ctx, id)
	if err != nil {
		return fmt.Errorf("deleting %s: %w", s.name(), err)
	}
	if err := s.remove(ctx, key); err != nil {
		return fmt.Errorf("deleting %s: %w", s.name(), err)
	}
	return nil
}

func (s *Store[T]) load(ctx context.Context, id string) (string, Item[T], error) {
	key, err := s.key(ctx, id)
	if err != nil {
		return "", Item[T]{}, err
	}
	stored, err := s.get(ctx, key)
	if err != nil {
		return "", Item[T]{}, err
	}
	item, err := newItem[T](id, stored)
	return key, item, err
}

func (s *Store[T]) save(ctx context.Context, item Item[T]) (Item[T], error) {
	data, err := s.encode(item.Value)
	if err != nil {
		return Item[T]{}, err
	}
	key, err := s.key(ctx, item.ID)
	if err != nil {
		return Item[T]{}, err
	}
	next := item.stored
	next.version, next.data = item.stored.version+1, data
	next.expiresAt = s.prolonged(s.now(), next)
	next.sign()
	if err := s.replace(ctx, key, next); err != nil {
		return Item[T]{}, err
	}
	return newItem[T](item.ID, next)
}

func newItem[T any](id string, stored record) (Item[T], error) {
	item := Item[T]{
		ID: id, Version: stored.version, ExpiresAt: time.Unix(stored.expiresAt, 0).UTC(), stored: stored,
	}
	if err := json.Unmarshal(stored.data, &item.Value); err != nil {
		return Item[T]{}, fmt.Errorf("decoding the stored value into %T: %w", item.Value, err)
	}
	return item, nil
}

func (s *Store[T]) encode(value T) ([]byte, error) {
	data, err := json.Marshal(value)
	if err != nil {
		return nil, fmt.Errorf("encoding %T: %w", value, err)
	}
	if len(data) > s.options.MaxBytes {
		return nil, fmt.Errorf("%w: %d bytes of JSON; allowed: %d", ErrTooLarge, len(data), s.options.MaxBytes)
	}
	return data, nil
}

// name is what errors call a value: never the handle, which is a secret of anonymous callers.
func (s *Store[T]) name() string { return "a handle of namespace " + s.options.Namespace }

func (s *Store[T]) now() int64 { return s.options.Now().Unix() }

// prolonged is until when a value is kept that is used now.
func (s *Store[T]) prolonged(now int64, stored record) int64 {
	return max(stored.expiresAt, min(now+seconds(s.options.Window), stored.endsAt))
}

func seconds(d time.Duration) int64 { return int64(d / time.Second) }
