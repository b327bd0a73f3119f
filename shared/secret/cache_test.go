package secret_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"patchbay/shared/secret"
)

// scripted is a source whose answers a test sets; it counts how often it is asked.
type scripted struct {
	text  string
	err   error
	asked int
}

func (s *scripted) Get(context.Context, string) (secret.Value, error) {
	s.asked++
	if s.err != nil {
		return secret.Value{}, s.err
	}
	return secret.NewValue(s.text), nil
}

// aged is a cache whose clock a test moves.
type aged struct {
	*secret.Cache
	source *scripted
	now    time.Time
	log    bytes.Buffer
}

func newAged(options secret.CacheOptions) *aged {
	a := &aged{source: &scripted{text: "one"}, now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
	options.Now = func() time.Time { return a.now }
	options.Log = slog.New(slog.NewJSONHandler(&a.log, nil))
	a.Cache = secret.NewCache(a.source, options)
	return a
}

var errOutage = fmt.Errorf("%w: connection refused", secret.ErrUnavailable)

// While the source is out of order the secret that was read before serves an hour longer, and the source is asked only
// now and then, so that not every call waits for it.
func TestOutageIsBridged(t *testing.T) {
	t.Parallel()
	a := newAged(secret.CacheOptions{})
	get(t, a, "a", "one")
	a.source.text, a.source.err = "two", errOutage
	a.now = a.now.Add(secret.DefaultTTL)
	for range 3 {
		get(t, a, "a", "one")
	}
	if a.source.asked != 2 || strings.Count(a.log.String(), "\n") != 1 || !strings.Contains(a.log.String(), "refused") {
		t.Errorf("asked %d times, logged: %s", a.source.asked, &a.log)
	}
	a.now = a.now.Add(time.Minute)
	get(t, a, "a", "one")
	if a.source.asked != 3 {
		t.Errorf("asked %d times, want again after a minute", a.source.asked)
	}
	a.source.err = nil
	a.now = a.now.Add(time.Minute)
	get(t, a, "a", "two")
	if strings.Contains(a.log.String(), `"one"`) {
		t.Errorf("the log shows the secret: %s", &a.log)
	}
}

func TestOutageIsBridgedForAnHour(t *testing.T) {
	t.Parallel()
	a := newAged(secret.CacheOptions{})
	get(t, a, "a", "one")
	a.source.err = errOutage
	a.now = a.now.Add(secret.DefaultTTL + secret.DefaultStale - 1)
	get(t, a, "a", "one")
	a.now = a.now.Add(1)
	if _, err := a.Get(t.Context(), "a"); !errors.Is(err, secret.ErrUnavailable) {
		t.Errorf("error = %v, want ErrUnavailable after an hour", err)
	}
}

// A source that says no is believed at once, and what it says no to is forgotten: an outage later brings nothing back.
func TestRefusalIsNotBridged(t *testing.T) {
	t.Parallel()
	for name, refusal := range map[string]error{
		"gone":   secret.ErrNotFound,
		"denied": errors.New("access denied"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := newAged(secret.CacheOptions{})
			get(t, a, "a", "one")
			a.now = a.now.Add(secret.DefaultTTL)
			for _, err := range []error{refusal, errOutage} {
				a.source.err = err
				if _, got := a.Get(t.Context(), "a"); !errors.Is(got, err) {
					t.Errorf("error = %v, want %v", got, err)
				}
			}
		})
	}
}

func TestNoBridgeWhereNoneIsWanted(t *testing.T) {
	t.Parallel()
	a := newAged(secret.CacheOptions{Stale: -1})
	get(t, a, "a", "one")
	a.source.err = errOutage
	a.now = a.now.Add(secret.DefaultTTL)
	if _, err := a.Get(t.Context(), "a"); !errors.Is(err, secret.ErrUnavailable) {
		t.Errorf("error = %v, want ErrUnavailable", err)
	}
}

// A clock that was set back tells nothing of a secret's age.
func TestClockSetBack(t *testing.T) {
	t.Parallel()
	a := newAged(secret.CacheOptions{})
	get(t, a, "a", "one")
	a.source.text = "two"
	a.now = a.now.Add(-time.Hour)
	get(t, a, "a", "two")
}

// A secret that does not work is read again before its time, but not for every call that it fails.
func TestRejectedSecretIsReadAgain(t *testing.T) {
	t.Parallel()
	a := newAged(secret.CacheOptions{})
	get(t, a, "a", "one")
	a.source.text = "two"
	one := secret.NewValue("one")
	a.now = a.now.Add(29 * time.Second)
	a.Reject("a", one)
	get(t, a, "a", "one")
	a.now = a.now.Add(time.Second)
	a.Reject("a", secret.NewValue("another"))
	a.Reject("b", one)
	get(t, a, "a", "one")
	a.Reject("a", one)
	get(t, a, "a", "two")
	a.Reject("a", secret.NewValue("two"))
	a.Reject("a", one)
	get(t, a, "a", "two")
	if a.source.asked != 2 {
		t.Errorf("asked %d times, want twice", a.source.asked)
	}
}

// Where the source is out of order when a secret does not work, that one is all there is.
func TestRejectedSecretServesThroughAnOutage(t *testing.T) {
	t.Parallel()
	a := newAged(secret.CacheOptions{})
	get(t, a, "a", "one")
	a.source.err = errOutage
	a.now = a.now.Add(time.Minute)
	a.Reject("a", secret.NewValue("one"))
	get(t, a, "a", "one")
	if a.source.asked != 2 {
		t.Errorf("asked %d times, want twice", a.source.asked)
	}
}

// leaving is a source that answers the first caller only when that one has left.
type leaving struct {
	asked chan struct{}
	first bool
}

func (l *leaving) Get(ctx context.Context, _ string) (secret.Value, error) {
	if l.first {
		return secret.NewValue("one"), nil
	}
	l.first = true
	close(l.asked)
	<-ctx.Done()
	return secret.Value{}, ctx.Err()
}

// The end of one caller's time is not the answer for another who waits for the same secret.
func TestCallerWhoLeavesTakesNobodyAlong(t *testing.T) {
	t.Parallel()
	source := &leaving{asked: make(chan struct{})}
	cache := secret.NewCache(source, secret.CacheOptions{})
	ctx, leave := context.WithCancel(t.Context())
	left := make(chan error)
	go func() {
		_, err := cache.Get(ctx, "a")
		left <- err
	}()
	<-source.asked
	got := make(chan string)
	go func() {
		value, err := cache.Get(t.Context(), "a")
		got <- fmt.Sprint(value.Reveal(), err)
	}()
	leave()
	if err := <-left; !errors.Is(err, context.Canceled) {
		t.Errorf("error = %v", err)
	}
	if text := <-got; text != "one<nil>" {
		t.Errorf("got %s", text)
	}
}
