package seal_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"patchbay/shared/seal"
)

// source is a Source that a test can change; it counts its readings.
type source struct {
	mu    sync.Mutex
	ring  seal.Ring
	err   error
	reads int
}

func (s *source) Load(context.Context) (seal.Ring, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reads++
	return s.ring, s.err
}

func (s *source) set(ring seal.Ring, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ring, s.err = ring, err
}

// bench is two dispatcher instances with one source and one clock.
type bench struct {
	*testing.T
	source   source
	now      time.Time
	one, two *seal.Sealer
}

func newBench(t *testing.T) *bench {
	b := &bench{T: t, now: start}
	b.source.ring = seal.NewRing()
	options := seal.Options{Now: func() time.Time { return b.now }, Log: slog.New(slog.DiscardHandler)}
	b.one, b.two = seal.New(&b.source, options), seal.New(&b.source, options)
	return b
}

func (b *bench) seal(sealer *seal.Sealer) string {
	s := state()
	s.Expires = b.now.Add(time.Hour)
	return mustSeal(b.T, sealer, binding(), s)
}

func (b *bench) open(sealer *seal.Sealer, text string) error {
	_, err := sealer.Open(b.Context(), text, binding(), seal.KindRound)
	return err
}

func (b *bench) wantReads(want int) {
	b.Helper()
	if b.source.reads != want {
		b.Errorf("the source was read %d times, want %d", b.source.reads, want)
	}
}

// TestRotation replaces the key while rounds are under way: every text opens, on either instance, at every step.
func TestRotation(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	texts := []string{b.seal(b.one), b.seal(b.two)}
	step := func(what string, ring seal.Ring, err error) {
		t.Helper()
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		b.source.set(ring, nil)
		for _, pass := range []time.Duration{0, seal.DefaultMaxAge / 2, seal.DefaultMaxAge} {
			b.now = b.now.Add(pass)
			texts = append(texts, b.seal(b.one)) // reads the ring before the other instance does
			for i, text := range texts {
				if err := errors.Join(b.open(b.one, text), b.open(b.two, text)); err != nil {
					t.Errorf("%s, %v later: text %d: %v", what, pass, i, err)
				}
			}
		}
	}
	old := b.source.ring.Keys[0].ID
	staged, id := b.source.ring.Stage()
	step("staging", staged, nil)
	promoted, err := staged.Promote(id)
	step("promoting", promoted, err)
	if last := texts[len(texts)-1]; !strings.HasPrefix(last, "pb1."+id+".") {
		t.Errorf("%s was not sealed with the new key", last)
	}
	dropped, err := promoted.Drop(old)
	if err != nil {
		t.Fatal(err)
	}
	b.source.set(dropped, nil)
	b.now = b.now.Add(seal.DefaultMaxAge)
	if err := b.open(b.one, texts[0]); err != seal.ErrUnopenable {
		t.Errorf("a text of the dropped key: %v", err)
	}
	if err := b.open(b.one, texts[len(texts)-1]); err != nil {
		t.Errorf("a text of the new key: %v", err)
	}
}

// A key that was made primary without having been staged is found by one reading more.
func TestUnknownKeyReadsTheRingOnce(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.seal(b.one)
	b.wantReads(1)
	b.source.set(seal.NewRing(), nil)
	text := b.seal(b.two)
	b.wantReads(2)
	if err := b.open(b.one, text); err != seal.ErrUnopenable {
		t.Errorf("right after a reading: %v, want a refusal without another", err)
	}
	b.wantReads(2)
	b.now = b.now.Add(seal.DefaultMinInterval)
	if err := b.open(b.one, text); err != nil {
		t.Error(err)
	}
	b.wantReads(3)
	for i := range 100 {
		if err := b.open(b.one, fmt.Sprintf("pb1.k%d.%s", i, strings.Repeat("A", 80))); err != seal.ErrUnopenable {
			t.Fatal(err)
		}
	}
	b.wantReads(3)
	for range 3 {
		b.now = b.now.Add(seal.DefaultMinInterval)
		for range 10 {
			_ = b.open(b.one, "pb1.forged."+strings.Repeat("A", 80))
		}
	}
	b.wantReads(6)
}

// What has not even the form of a text must not cause a reading.
func TestMalformedTextsReadNothing(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for _, text := range []string{"", "x", "pb1.k1.short", "pb1.K.." + strings.Repeat("A", 80)} {
		if err := b.open(b.one, text); err != seal.ErrUnopenable {
			t.Errorf("%q: %v", text, err)
		}
	}
	b.wantReads(0)
}

func TestSourceThatFails(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	text := b.seal(b.one)
	broken := errors.New("the store is down")
	b.source.set(seal.Ring{}, broken)
	b.now = b.now.Add(seal.DefaultMaxAge - 1)
	if err := b.open(b.one, text); err != nil {
		t.Errorf("while the ring is fresh: %v", err)
	}
	// An unknown key: nothing can be said once, and is not asked again at once.
	if err := b.open(b.one, "pb1.forged."+strings.Repeat("A", 80)); !errors.Is(err, broken) {
		t.Errorf("error %v, want the source's", err)
	}
	if err := b.open(b.one, "pb1.forged."+strings.Repeat("A", 80)); err != seal.ErrUnopenable {
		t.Errorf("error %v", err)
	}
	b.wantReads(2)
	b.now = b.now.Add(1)
	if err := b.open(b.one, text); !errors.Is(err, broken) || errors.Is(err, seal.ErrUnopenable) {
		t.Errorf("error %v, want the source's", err)
	}
	if _, err := b.one.Seal(t.Context(), binding(), state()); !errors.Is(err, broken) {
		t.Errorf("error %v, want the source's", err)
	}
	b.source.set(seal.Ring{}, nil)
	if _, err := b.one.Seal(t.Context(), binding(), state()); err == nil || !strings.Contains(err.Error(), "0 keys") {
		t.Errorf("error %v, want one about the empty ring", err)
	}
}

// A clock that was set back tells nothing about the ring's age.
func TestClockSetBack(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.seal(b.one)
	b.now = b.now.Add(-time.Hour)
	b.seal(b.one)
	b.wantReads(2)
}

func TestManyCallsMakeOneReading(t *testing.T) {
	t.Parallel()
	s := &source{ring: seal.NewRing()}
	sealer := seal.New(s, seal.Options{Now: fixed})
	var group sync.WaitGroup
	for range 20 {
		group.Go(func() {
			if _, err := sealer.Seal(t.Context(), binding(), state()); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	if s.reads != 1 {
		t.Errorf("%d readings", s.reads)
	}
}

// slow is a Source that answers when it is let go.
type slow struct {
	begun, letGo chan struct{}
	ring         seal.Ring
}

func (s *slow) Load(context.Context) (seal.Ring, error) {
	close(s.begun)
	<-s.letGo
	return s.ring, nil
}

func TestWaitingForTheRingEndsWithTheContext(t *testing.T) {
	t.Parallel()
	s := &slow{begun: make(chan struct{}), letGo: make(chan struct{}), ring: seal.NewRing()}
	sealer := seal.New(s, seal.Options{Now: fixed})
	first := make(chan error)
	go func() {
		_, err := sealer.Seal(t.Context(), binding(), state())
		first <- err
	}()
	<-s.begun
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := sealer.Seal(ended, binding(), state()); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	close(s.letGo)
	if err := <-first; err != nil {
		t.Error(err)
	}
}

func TestFile(t *testing.T) {
	t.Parallel()
	ring, _ := seal.NewRing().Stage()
	data, err := ring.Encode()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "ring.json")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := seal.File(path).Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if !equal(got, ring) {
		t.Error("the ring came back changed")
	}
	if _, err := seal.File(path + ".absent").Load(t.Context()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("error %v", err)
	}
}

func equal(a, b seal.Ring) bool {
	return cmp.Equal(a, b, cmp.Comparer(func(x, y seal.Secret) bool { return x == y }))
}

func TestBadRings(t *testing.T) {
	t.Parallel()
	secret := base64.StdEncoding.EncodeToString(bytes.Repeat([]byte{7}, 32))
	key := func(id, role, secret string) string {
		return fmt.Sprintf(`{"id":%q,"role":%q,"secret":%q}`, id, role, secret)
	}
	ring := func(keys ...string) string { return `{"version":1,"keys":[` + strings.Join(keys, ",") + `]}` }
	for name, test := range map[string]struct{ text, want string }{
		"not JSON":      {`{"keys": hunter2}`, "not JSON of the form"},
		"other version": {`{"version":2,"keys":[]}`, "version 2; allowed: 1"},
		"empty":         {ring(), "0 keys; allowed: 1 to 16"},
		"two primaries": {ring(key("a", "primary", secret), key("b", "primary", secret)), "2 keys are primary"},
		"no primary":    {ring(key("a", "decrypt", secret)), "0 keys are primary"},
		"same id":       {ring(key("a", "primary", secret), key("a", "decrypt", secret)), `"a" is there twice`},
		"bad id":        {ring(key("A.b", "primary", secret)), `key id "A.b"; allowed`},
		"bad role":      {ring(key("a", "owner", secret)), `role "owner"; allowed: primary, decrypt`},
		"short secret":  {ring(key("a", "primary", "hunter2=")), `key "a" is not 32 bytes in Base64`},
		"not Base64":    {ring(key("a", "primary", "hunter2!")), `key "a" is not 32 bytes in Base64`},
		"zero secret": {ring(key("a", "primary", base64.StdEncoding.EncodeToString(make([]byte, 32)))),
			`key "a" has no secret`},
	} {
		_, err := seal.ParseRing([]byte(test.text))
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: error %v, want %q", name, err, test.want)
		}
		if err != nil && strings.Contains(err.Error(), "hunter") {
			t.Errorf("%s: the secret is in %v", name, err)
		}
	}
	if _, err := (seal.Ring{}).Encode(); err == nil {
		t.Error("an empty ring was encoded")
	}
}

func TestChangesOfARingThatAreRefused(t *testing.T) {
	t.Parallel()
	ring := seal.NewRing()
	if _, err := ring.Promote("nobody"); err == nil || !strings.Contains(err.Error(), ring.Keys[0].ID) {
		t.Errorf("error %v, want the ids that exist", err)
	}
	if _, err := ring.Drop("nobody"); err == nil {
		t.Error("a key that is not there was dropped")
	}
	staged, id := ring.Stage()
	if _, err := staged.Drop(ring.Keys[0].ID); err == nil || !strings.Contains(err.Error(), "0 keys are primary") {
		t.Errorf("dropping the primary key: %v", err)
	}
	if _, err := staged.Drop(id); err != nil {
		t.Error(err)
	}
	if len(ring.Keys) != 1 || staged.Keys[0].Role != seal.RolePrimary || staged.Keys[1].Role != seal.RoleDecrypt {
		t.Errorf("keys %v, staged %v", ring.Keys, staged.Keys)
	}
}

func TestSecretsAreNeverShown(t *testing.T) {
	t.Parallel()
	ring := seal.NewRing()
	copy(ring.Keys[0].Secret[:], "hunter2hunter2hunter2hunter2hunt")
	var log bytes.Buffer
	slog.New(slog.NewJSONHandler(&log, nil)).Info("x", "ring", ring, "secret", ring.Keys[0].Secret)
	slog.New(slog.NewTextHandler(&log, nil)).Info("x", "ring", ring, "key", ring.Keys[0])
	encoded, err := json.Marshal(ring)
	if err != nil {
		t.Fatal(err)
	}
	shown := []string{log.String(), string(encoded)}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
		shown = append(shown, fmt.Sprintf(verb, ring), fmt.Sprintf(verb, ring.Keys[0]), fmt.Sprintf(verb, &ring))
	}
	for _, text := range shown {
		for _, leak := range []string{"hunter", "68756e", "aHVudGVy", "104 117", "0x68"} {
			if strings.Contains(text, leak) {
				t.Errorf("the secret is in %s", text)
			}
		}
	}
}
