package seal_test

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager"
	"github.com/google/go-cmp/cmp"

	"patchbay/scripts/motoserver"
	"patchbay/scripts/motoserver/motoservertest"
	"patchbay/shared/seal"
)

// manager is Secrets Manager with a secret as a new deployment has it.
type manager struct {
	testing.TB
	server *motoserver.Server
	client *secretsmanager.Client
	seal.Stored
}

func newManager(tb testing.TB, text string) *manager {
	tb.Helper()
	m := &manager{TB: tb, server: motoservertest.Start(tb, os.Getenv, motoserver.Options{})}
	m.client = secretsmanager.NewFromConfig(m.server.Config())
	out, err := m.client.CreateSecret(tb.Context(), &secretsmanager.CreateSecretInput{
		Name: aws.String("patchbay-prod/seal-keys"), SecretString: &text,
	})
	if err != nil {
		tb.Fatal(err)
	}
	m.Stored = seal.Stored{Client: m.client, ID: *out.ARN}
	return m
}

func (m *manager) load() seal.Ring {
	m.Helper()
	ring, err := m.Load(m.Context())
	if err != nil {
		m.Fatal(err)
	}
	return ring
}

// TestGeneratedGolden reads the first key as a deployment of the release with format 1 has it, and opens what it
// sealed.
func TestGeneratedGolden(t *testing.T) {
	t.Parallel()
	ring := parse(t, string(read(t, "generated.json")))
	if len(ring.Keys) != 1 || ring.Keys[0].ID != "g10abe119cdc6" || ring.Keys[0].Role != seal.RolePrimary {
		t.Fatalf("keys = %+v", ring.Keys)
	}
	text := strings.TrimSpace(string(read(t, "generated-sealed.txt")))
	sealer := seal.New(ring, seal.Options{Now: fixed})
	if _, err := sealer.Open(t.Context(), text, binding(), seal.KindRound); err != nil {
		t.Error(err)
	}
}

func parse(t *testing.T, text string) seal.Ring {
	t.Helper()
	ring, err := seal.ParseRing([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return ring
}

// What the generator was told wrongly is refused, and never shown.
func TestGeneratedRefused(t *testing.T) {
	t.Parallel()
	const good = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"
	for name, text := range map[string]string{
		"short":   `{"version":1,"generated":"` + good[:62] + `"}`,
		"long":    `{"version":1,"generated":"` + good + `00"}`,
		"no hex":  `{"version":1,"generated":"` + strings.Replace(good, "00", "zz", 1) + `"}`,
		"zero":    `{"version":1,"generated":"` + strings.Repeat("0", 64) + `"}`,
		"version": `{"version":2,"generated":"` + good + `"}`,
		"both":    `{"version":1,"generated":"` + good + `","keys":[]}`,
		"neither": `{"version":1}`,
	} {
		_, err := seal.ParseRing([]byte(text))
		if err == nil || strings.Contains(err.Error(), "1122") {
			t.Errorf("%s: error = %v", name, err)
		}
	}
}

// An operator replaces the first key of a deployment, which nobody has ever seen, while rounds are under way.
func TestStoredRingIsRotated(t *testing.T) {
	t.Parallel()
	m := newManager(t, string(read(t, "generated.json")))
	first := m.load()
	text := mustSeal(t, seal.New(m.Stored, seal.Options{Now: fixed}), binding(), state())

	var staged string
	change := func(what func(seal.Ring) (seal.Ring, error)) seal.Ring {
		t.Helper()
		changed, err := m.Change(t.Context(), what)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(changed, m.load()); diff != "" {
			t.Errorf("what is kept (-changed +kept):\n%s", diff)
		}
		return changed
	}
	change(func(r seal.Ring) (seal.Ring, error) {
		with, id := r.Stage()
		staged = id
		return with, nil
	})
	if got := change(func(r seal.Ring) (seal.Ring, error) { return r.Promote(staged) }); len(got.Keys) != 2 ||
		got.Keys[0].ID != first.Keys[0].ID || got.Keys[0].Secret != first.Keys[0].Secret {
		t.Errorf("the first key has changed: %+v", got)
	}
	open := func() error {
		_, err := seal.New(m.Stored, seal.Options{Now: fixed}).Open(t.Context(), text, binding(), seal.KindRound)
		return err
	}
	if err := open(); err != nil {
		t.Errorf("a text of the first key: %v", err)
	}
	change(func(r seal.Ring) (seal.Ring, error) { return r.Drop(first.Keys[0].ID) })
	if err := open(); !errors.Is(err, seal.ErrUnopenable) {
		t.Errorf("a text of a dropped key: error = %v", err)
	}
}

// Of two operators who change the ring at once, one is told; the other's key is not lost.
func TestConcurrentChanges(t *testing.T) {
	t.Parallel()
	m := newManager(t, string(read(t, "generated.json")))
	var read sync.WaitGroup
	read.Add(2)
	results := make(chan error, 2)
	for range 2 {
		go func() {
			_, err := m.Change(t.Context(), func(r seal.Ring) (seal.Ring, error) {
				read.Done()
				read.Wait() // both have read the same ring now
				with, _ := r.Stage()
				return with, nil
			})
			results <- err
		}()
	}
	one, two := <-results, <-results
	if one != nil {
		one, two = two, one
	}
	if one != nil || !errors.Is(two, seal.ErrChanged) {
		t.Errorf("errors %v and %v, want one ErrChanged", one, two)
	}
	if ring := m.load(); len(ring.Keys) != 2 {
		t.Errorf("%d keys, want the first and one more", len(ring.Keys))
	}
}

func TestChangeThatFailsChangesNothing(t *testing.T) {
	t.Parallel()
	m := newManager(t, string(read(t, "generated.json")))
	before := m.load()
	_, err := m.Change(t.Context(), func(r seal.Ring) (seal.Ring, error) { return r.Drop(r.Keys[0].ID) })
	if err == nil {
		t.Error("the only key was dropped")
	}
	if diff := cmp.Diff(before, m.load()); diff != "" {
		t.Errorf("the ring (-before +after):\n%s", diff)
	}
}

func TestStoredRefused(t *testing.T) {
	t.Parallel()
	m := newManager(t, `{"version":1,"generated":"hunter2"}`)
	for _, id := range []string{m.ID, "patchbay-prod/absent"} {
		_, err := seal.Stored{Client: m.client, ID: id}.Load(t.Context())
		if err == nil || !strings.Contains(err.Error(), id) || strings.Contains(err.Error(), "hunter") ||
			errors.Is(err, seal.ErrUnavailable) {
			t.Errorf("%s: error = %v", id, err)
		}
	}
}

// While Secrets Manager is out of order the ring serves an hour longer. One that never was read does not.
func TestStoredOutage(t *testing.T) {
	t.Parallel()
	m := newManager(t, string(read(t, "generated.json")))
	now := start
	options := seal.Options{Now: func() time.Time { return now }, Log: slog.New(slog.DiscardHandler)}
	sealer, fresh := seal.New(m.Stored, options), seal.New(m.Stored, options)
	lasting := state()
	lasting.Expires = start.AddDate(1, 0, 0)
	text := mustSeal(t, sealer, binding(), lasting)
	m.server.Close()
	open := func(s *seal.Sealer) error {
		_, err := s.Open(t.Context(), text, binding(), seal.KindRound)
		return err
	}
	now = now.Add(seal.DefaultMaxAge)
	for range 3 {
		if err := open(sealer); err != nil {
			t.Error(err)
		}
	}
	now = now.Add(seal.DefaultStale - 1)
	if err := open(sealer); err != nil {
		t.Error(err)
	}
	now = now.Add(1)
	for name, s := range map[string]*seal.Sealer{"too old": sealer, "never read": fresh} {
		if err := open(s); !errors.Is(err, seal.ErrUnavailable) {
			t.Errorf("%s: error = %v, want ErrUnavailable", name, err)
		}
	}
}

// During an outage the source is asked now and then, not by every call.
func TestOutageIsNotAskedAboutByEveryCall(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	text := b.seal(b.one)
	b.wantReads(1)
	b.source.set(seal.Ring{}, fmt.Errorf("%w: connection refused", seal.ErrUnavailable))
	b.now = b.now.Add(seal.DefaultMaxAge)
	for range 3 {
		if err := b.open(b.one, text); err != nil {
			t.Error(err)
		}
	}
	b.wantReads(2)
	b.now = b.now.Add(seal.DefaultMinInterval)
	if err := b.open(b.one, text); err != nil {
		t.Error(err)
	}
	b.wantReads(3)
	b.source.set(seal.Ring{}, errors.New("access denied"))
	b.now = b.now.Add(seal.DefaultMinInterval)
	if err := b.open(b.one, text); err == nil {
		t.Error("a ring that may not be read any more is still used")
	}
}

var _ seal.Source = seal.Stored{}
