package seal_test

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"patchbay/shared/principal"
	"patchbay/shared/seal"
)

var update = flag.Bool("update", false, "write the golden files of the current format")

// goldenDir holds a ring and a text that was sealed with it in format 1. Never write them again once that format is
// released: start a folder for the next one, and keep opening this one.
const goldenDir = "testdata/v1"

// golden is a sealed text and what it must open as.
type golden struct {
	Principal           principal.Principal
	Tool                string
	Arguments, Contract []byte
	Text                string
	State               seal.State
}

func (g *golden) binding() seal.Binding {
	return seal.Binding{Principal: g.Principal, Tool: g.Tool, Arguments: g.Arguments, Contract: g.Contract}
}

func (g *golden) load(tb testing.TB) {
	tb.Helper()
	if err := json.Unmarshal(read(tb, "sealed.json"), g); err != nil {
		tb.Fatal(err)
	}
}

func read(tb testing.TB, name string) []byte {
	tb.Helper()
	data, err := os.ReadFile(filepath.Join(goldenDir, name))
	if err != nil {
		tb.Fatal(err)
	}
	return data
}

// TestGolden opens what the release with format 1 sealed: with a key that only opens by now, and for a caller whose
// names hold separators.
func TestGolden(t *testing.T) {
	t.Parallel()
	if *update {
		writeGolden(t)
	}
	ring, err := seal.ParseRing(read(t, "ring.json"))
	if err != nil {
		t.Fatal(err)
	}
	var want golden
	want.load(t)
	sealer := seal.New(ring, seal.Options{Now: fixed})
	got, err := sealer.Open(t.Context(), want.Text, want.binding(), seal.KindRound)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want.State, got); diff != "" {
		t.Errorf("state (-want +got):\n%s", diff)
	}
}

func writeGolden(t *testing.T) {
	ring := seal.NewRing()
	ring.Keys[0].ID = "k1"
	want := golden{
		Principal: principal.Principal{Subject: "u:1", Issuer: "https://issuer.example/a:b"},
		Tool:      "emails.send_external", Arguments: []byte("arguments"), Contract: []byte("contract"),
	}
	s := state()
	s.Expires = start.AddDate(50, 0, 0)
	sealer := seal.New(ring, seal.Options{Now: fixed})
	want.Text = mustSeal(t, sealer, want.binding(), s)
	var err error
	if want.State, err = sealer.Open(t.Context(), want.Text, want.binding(), seal.KindRound); err != nil {
		t.Fatal(err)
	}
	staged, id := ring.Stage()
	promoted, err := staged.Promote(id)
	if err != nil {
		t.Fatal(err)
	}
	data, err := promoted.Encode()
	if err != nil {
		t.Fatal(err)
	}
	write(t, "ring.json", data)
	data, err = json.Marshal(want) // not indented: the schema inside must stay as it was sealed
	if err != nil {
		t.Fatal(err)
	}
	write(t, "sealed.json", append(data, '\n'))
}

func write(t *testing.T, name string, data []byte) {
	t.Helper()
	if err := os.MkdirAll(goldenDir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(goldenDir, name), data, 0o644); err != nil {
		t.Fatal(err)
	}
}

func BenchmarkSeal(b *testing.B) {
	sealer := seal.New(seal.NewRing(), seal.Options{Now: fixed})
	for name, s := range sizes() {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				mustSeal(b, sealer, binding(), s)
			}
		})
	}
}

func BenchmarkOpen(b *testing.B) {
	sealer := seal.New(seal.NewRing(), seal.Options{Now: fixed})
	for name, s := range sizes() {
		text := mustSeal(b, sealer, binding(), s)
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := sealer.Open(b.Context(), text, binding(), seal.KindRound); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkRefuse is what a forged text under a real key costs.
func BenchmarkRefuse(b *testing.B) {
	sealer := seal.New(seal.NewRing(), seal.Options{Now: fixed})
	text := mustSeal(b, sealer, binding(), state())
	forged := text[:len(text)-4] + "AAAA"
	b.ReportAllocs()
	for b.Loop() {
		if _, err := sealer.Open(b.Context(), forged, binding(), seal.KindRound); err != seal.ErrUnopenable {
			b.Fatal(err)
		}
	}
}

func sizes() map[string]seal.State {
	small, large := state(), state()
	large.Expires = start.Add(time.Hour)
	large.Tool = strings.Repeat("a state of a tool ", 455)
	return map[string]seal.State{"small": small, "8KB": large}
}
