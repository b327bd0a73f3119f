package seal_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"patchbay/shared/principal"
	"patchbay/shared/seal"
)

var start = time.Date(2026, 7, 28, 12, 0, 0, 0, time.UTC)

func fixed() time.Time { return start }

func binding() seal.Binding {
	return seal.Binding{
		Principal: principal.Principal{Subject: "u1", Issuer: "https://issuer.example"},
		Tool:      "emails.send_external",
		Arguments: []byte("digest of arguments"),
		Contract:  []byte("digest of the contract"),
	}
}

func state() seal.State {
	return seal.State{
		Kind: seal.KindRound, Key: "key-1", Confirmed: true, Tool: `{"step": "<2>"}`, Expires: start.Add(10 * time.Minute),
		Asked: map[string]seal.Asked{
			"who":   {Method: "elicitation/create", Schema: json.RawMessage(`{"type":"object"}`)},
			"roots": {Method: "roots/list"},
		},
	}
}

func mustSeal(tb testing.TB, sealer *seal.Sealer, b seal.Binding, s seal.State) string {
	tb.Helper()
	text, err := sealer.Seal(tb.Context(), b, s)
	if err != nil {
		tb.Fatal(err)
	}
	return text
}

func TestRoundTrip(t *testing.T) {
	t.Parallel()
	sealer := seal.New(seal.NewRing(), seal.Options{Now: fixed})
	for name, want := range map[string]seal.State{
		"everything": state(),
		"least":      {Kind: seal.KindReceipt, Expires: start.Add(time.Second)},
	} {
		text := mustSeal(t, sealer, binding(), want)
		got, err := sealer.Open(t.Context(), text, binding(), seal.KindReceipt, seal.KindRound)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		want.Issued = start
		if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(seal.State{}, "Nonce")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if len(got.Nonce) < 26 {
			t.Errorf("%s: nonce %q", name, got.Nonce)
		}
	}
}

// Nothing but the form and the key's id may be read from a text, and no two are alike.
func TestTextsTellNothing(t *testing.T) {
	t.Parallel()
	ring := seal.NewRing()
	sealer := seal.New(ring, seal.Options{Now: fixed})
	first, second := mustSeal(t, sealer, binding(), state()), mustSeal(t, sealer, binding(), state())
	head := "pb1." + ring.Keys[0].ID + "."
	if !strings.HasPrefix(first, head) || !strings.HasPrefix(second, head) {
		t.Fatalf("texts %s and %s do not begin with %s", first, second, head)
	}
	for i := 0; i+8 <= len(first)-len(head); i++ {
		if part := first[len(head)+i:][:8]; strings.HasPrefix(second[len(head)+i:], part) {
			t.Errorf("both texts have %s at %d", part, i)
		}
	}
	one, _ := sealer.Open(t.Context(), first, binding(), seal.KindRound)
	two, _ := sealer.Open(t.Context(), second, binding(), seal.KindRound)
	if one.Nonce == two.Nonce {
		t.Errorf("both nonces are %s", one.Nonce)
	}
}

func TestExpiredAndChanged(t *testing.T) {
	t.Parallel()
	ring, now := seal.NewRing(), start
	sealer := seal.New(ring, seal.Options{Now: func() time.Time { return now }})
	text := mustSeal(t, sealer, binding(), state())
	changed := binding()
	changed.Contract = []byte("another digest")
	foreign := binding()
	foreign.Tool = "other"
	for _, test := range []struct {
		passed  time.Duration
		binding seal.Binding
		want    error
	}{
		{10*time.Minute - 1, binding(), nil},
		{10*time.Minute - 1, changed, seal.ErrContractChanged},
		{10 * time.Minute, binding(), seal.ErrExpired},
		{10 * time.Minute, changed, seal.ErrExpired},
		{365 * 24 * time.Hour, binding(), seal.ErrExpired},
		{365 * 24 * time.Hour, foreign, seal.ErrUnopenable},
	} {
		now = start.Add(test.passed)
		got, err := sealer.Open(t.Context(), text, test.binding, seal.KindRound)
		if !errors.Is(err, test.want) {
			t.Errorf("after %v: error %v, want %v", test.passed, err, test.want)
		}
		if want := err != seal.ErrUnopenable; (got.Key == "key-1") != want {
			t.Errorf("after %v: state %+v with error %v", test.passed, got, err)
		}
	}
	if _, err := sealer.Open(t.Context(), text, binding(), seal.KindReceipt); err != seal.ErrUnopenable {
		t.Errorf("expired and of another kind: %v", err)
	}
}

func TestTooLarge(t *testing.T) {
	t.Parallel()
	sealer := seal.New(seal.NewRing(), seal.Options{Now: fixed})
	largest := 0
	for size := 11_000; size < 13_000; size++ {
		s := state()
		s.Tool = strings.Repeat("x", size)
		text, err := sealer.Seal(t.Context(), binding(), s)
		if err != nil {
			if !errors.Is(err, seal.ErrTooLarge) || !strings.Contains(err.Error(), "allowed: 16384") {
				t.Errorf("error %v", err)
			}
			break
		}
		largest = size
		if len(text) > seal.MaxBytes {
			t.Fatalf("%d bytes were sealed", len(text))
		}
		if _, err := sealer.Open(t.Context(), text, binding(), seal.KindRound); err != nil {
			t.Fatalf("a text of %d bytes: %v", len(text), err)
		}
	}
	if largest < 11_500 {
		t.Errorf("a tool's state of %d bytes is the largest", largest)
	}
}

func TestMistakesOfTheCaller(t *testing.T) {
	t.Parallel()
	sealer := seal.New(seal.NewRing(), seal.Options{Now: fixed})
	text := mustSeal(t, sealer, binding(), state())
	for name, edit := range map[string]func(*seal.Binding, *seal.State){
		"no tool":          func(b *seal.Binding, _ *seal.State) { b.Tool = "" },
		"no arguments":     func(b *seal.Binding, _ *seal.State) { b.Arguments = nil },
		"no contract":      func(b *seal.Binding, _ *seal.State) { b.Contract = nil },
		"no kind":          func(_ *seal.Binding, s *seal.State) { s.Kind = "" },
		"no expiry":        func(_ *seal.Binding, s *seal.State) { s.Expires = time.Time{} },
		"key in Latin-1":   func(_ *seal.Binding, s *seal.State) { s.Key = "caf\xe9" },
		"state in Latin-1": func(_ *seal.Binding, s *seal.State) { s.Tool = "caf\xe9" },
		"past":             func(_ *seal.Binding, s *seal.State) { s.Expires = start },
	} {
		b, s := binding(), state()
		edit(&b, &s)
		if got, err := sealer.Seal(t.Context(), b, s); err == nil || got != "" {
			t.Errorf("%s: sealed %s", name, got)
		}
		if b.Tool != "" && b.Arguments != nil && b.Contract != nil {
			continue
		}
		if _, err := sealer.Open(t.Context(), text, b, seal.KindRound); err == nil || errors.Is(err, seal.ErrUnopenable) {
			t.Errorf("%s: opening: %v, want an error that blames the caller", name, err)
		}
	}
}

// Bindings whose parts run together must not be taken for one another.
func TestBindingsAreKeptApart(t *testing.T) {
	t.Parallel()
	sealer := seal.New(seal.NewRing(), seal.Options{Now: fixed})
	var bindings []seal.Binding
	for _, p := range []principal.Principal{{}, {Subject: "u1"}, {Subject: "u1", Issuer: "i"}, {ClientID: "u1"},
		{Subject: "u1", Issuer: "j"}, {Subject: "u2", Issuer: "i"}} {
		for _, parts := range [][2]string{{"ab", "cd"}, {"abc", "d"}, {"a", "bcd"}} {
			bindings = append(bindings, seal.Binding{
				Principal: p, Tool: parts[0], Arguments: []byte(parts[1]), Contract: []byte("c")})
		}
	}
	for i, from := range bindings {
		text := mustSeal(t, sealer, from, state())
		for j, to := range bindings {
			_, err := sealer.Open(t.Context(), text, to, seal.KindRound)
			if i == j && err != nil || i != j && err != seal.ErrUnopenable {
				t.Errorf("sealed for %+v, opened for %+v: %v", from, to, err)
			}
		}
	}
}

// What changes between two tokens of the same caller is not part of the binding.
func TestNewTokenOfTheSameCaller(t *testing.T) {
	t.Parallel()
	sealer := seal.New(seal.NewRing(), seal.Options{Now: fixed})
	text := mustSeal(t, sealer, binding(), state())
	later := binding()
	later.Principal.Scopes, later.Principal.AuthTime = []string{"emails:send"}, 1
	if _, err := sealer.Open(t.Context(), text, later, seal.KindRound); err != nil {
		t.Error(err)
	}
}

func TestConcurrentUse(t *testing.T) {
	t.Parallel()
	sealer := seal.New(seal.NewRing(), seal.Options{Now: fixed})
	for i := range 8 {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			for range 50 {
				text := mustSeal(t, sealer, binding(), state())
				if _, err := sealer.Open(t.Context(), text, binding(), seal.KindRound); err != nil {
					t.Error(err)
				}
			}
		})
	}
}
