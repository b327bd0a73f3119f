package seal_test

import (
	"encoding/base64"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"patchbay/shared/principal"
	"patchbay/shared/seal"
)

// forger makes texts that must not open from texts that do.
type forger struct {
	*testing.T
	random *rand.Rand
	ring   seal.Ring
	sealer *seal.Sealer
	texts  []string // all sealed for binding()
	tried  int
}

func newForger(t *testing.T) *forger {
	ring, _ := seal.NewRing().Stage()
	f := &forger{T: t, random: rand.New(rand.NewPCG(7, 28)), ring: ring}
	f.sealer = seal.New(ring, seal.Options{Now: fixed})
	for _, kind := range []seal.Kind{seal.KindRound, seal.KindConfirmation, seal.KindReceipt} {
		s := state()
		s.Kind = kind
		f.texts = append(f.texts, mustSeal(t, f.sealer, binding(), s))
	}
	return f
}

// refused counts a text and wants it to be refused, with nothing said and nothing given.
func (f *forger) refused(what, text string) {
	f.Helper()
	f.refusedBy(f.sealer, what, text, binding(), seal.KindRound, seal.KindConfirmation, seal.KindReceipt)
}

func (f *forger) refusedBy(sealer *seal.Sealer, what, text string, b seal.Binding, kinds ...seal.Kind) {
	f.Helper()
	f.tried++
	got, err := sealer.Open(f.Context(), text, b, kinds...)
	if err != seal.ErrUnopenable {
		f.Errorf("%s: %q: error %v", what, text, err)
	}
	if got.Kind != "" || got.Key != "" || got.Tool != "" || got.Asked != nil {
		f.Errorf("%s: %q: the state came with the refusal", what, text)
	}
}

// body is the position after the second dot.
func body(text string) int { return strings.LastIndex(text, ".") + 1 }

// TestForgeries tries more than 10,000 texts of all the ways in which one can be wrong; none opens.
func TestForgeries(t *testing.T) {
	t.Parallel()
	f := newForger(t)
	for _, forge := range []func(){
		f.everyBit, f.everyCharacter, f.everyLength, f.otherSpellings, f.splices, f.heads, f.noise,
		f.foreign, f.otherRings, f.otherKinds,
	} {
		before := f.tried
		forge()
		if f.tried == before {
			t.Error("one way to forge made no text")
		}
	}
	t.Logf("%d texts were tried", f.tried)
	if f.tried < 10_000 {
		t.Errorf("%d texts were tried, want 10,000", f.tried)
	}
	for _, text := range f.texts {
		if _, err := f.sealer.Open(t.Context(), text, binding(), seal.KindRound, seal.KindConfirmation,
			seal.KindReceipt); err != nil {
			t.Errorf("the real text does not open: %v", err)
		}
	}
}

// everyBit alters each bit of salt, nonce, ciphertext and tag.
func (f *forger) everyBit() {
	text := f.texts[0]
	raw, err := base64.RawURLEncoding.DecodeString(text[body(text):])
	if err != nil {
		f.Fatal(err)
	}
	for bit := range len(raw) * 8 {
		raw[bit/8] ^= 1 << (bit % 8)
		f.refused("altered bit", text[:body(text)]+base64.RawURLEncoding.EncodeToString(raw))
		raw[bit/8] ^= 1 << (bit % 8)
	}
}

// everyCharacter replaces, removes and doubles each character.
func (f *forger) everyCharacter() {
	const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.=\n\r "
	for _, text := range f.texts {
		for at := range len(text) {
			for range 2 {
				replaced := text[:at] + string(alphabet[f.random.IntN(len(alphabet))]) + text[at+1:]
				if replaced != text {
					f.refused("replaced character", replaced)
				}
			}
			f.refused("removed character", text[:at]+text[at+1:])
			f.refused("doubled character", text[:at+1]+text[at:])
		}
	}
}

func (f *forger) everyLength() {
	for _, text := range f.texts {
		for end := range len(text) {
			f.refused("cut off", text[:end])
			f.refused("begun late", text[end+1:])
		}
		for n := 1; n < 2*seal.MaxBytes; n *= 2 {
			f.refused("made longer", text+strings.Repeat("A", n))
		}
	}
}

// otherSpellings are texts that a less strict decoder reads as the real one.
func (f *forger) otherSpellings() {
	for _, text := range f.texts {
		at := body(text)
		for _, spelling := range []string{
			text + "=", text + "==", text + "\n", text + "\r\n", "\n" + text, " " + text, text + "\x00",
			text[:at+9] + "\n" + text[at+9:], text[:at] + "\r" + text[at:], strings.ToUpper(text[:at]) + text[at:],
			"pb1." + text, text + ".", strings.Replace(text, ".", "..", 1), `"` + text + `"`,
			strings.NewReplacer("-", "+", "_", "/").Replace(text) + "=", text[:at] + "%41" + text[at+1:],
		} {
			f.refused("other spelling", spelling)
		}
		last := text[len(text)-1]
		for _, sibling := range "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_" {
			if byte(sibling) != last {
				f.refused("other last bits", text[:len(text)-1]+string(sibling))
			}
		}
	}
}

// splices joins the beginning of one text to the end of another.
func (f *forger) splices() {
	one, two := f.texts[0], f.texts[1]
	for at := body(one) + 1; at < min(len(one), len(two))-1; at++ {
		f.refused("spliced", one[:at]+two[at:])
		f.refused("spliced", two[:at]+one[at:])
	}
}

func (f *forger) heads() {
	for _, text := range f.texts {
		end := text[body(text):]
		for _, head := range []string{
			"pb1." + f.ring.Keys[1].ID + ".", "pb1..", "pb1.", "pb0." + f.ring.Keys[0].ID + ".",
			"pb2." + f.ring.Keys[0].ID + ".", "PB1." + f.ring.Keys[0].ID + ".", "." + f.ring.Keys[0].ID + ".",
			"pb1." + strings.Repeat("k", 17) + ".", "pb1.unknown.", "pb1." + f.ring.Keys[0].ID + ".x.", "",
		} {
			f.refused("other head", head+end)
		}
	}
}

func (f *forger) noise() {
	head := "pb1." + f.ring.Keys[0].ID + "."
	for range 1000 {
		raw := make([]byte, f.random.IntN(300))
		for i := range raw {
			raw[i] = byte(f.random.Uint32())
		}
		f.refused("noise", string(raw))
		f.refused("noise under a real key", head+base64.RawURLEncoding.EncodeToString(raw))
	}
}

// foreign texts are real, but somebody else's, or of another tool or other arguments.
func (f *forger) foreign() {
	for i := range 100 {
		for _, edit := range []func(*seal.Binding){
			func(b *seal.Binding) { b.Principal = principal.Principal{} },
			func(b *seal.Binding) { b.Principal.Subject += fmt.Sprint(i) },
			func(b *seal.Binding) { b.Principal.Issuer += fmt.Sprint(i) },
			func(b *seal.Binding) { b.Tool += fmt.Sprint(i) },
			func(b *seal.Binding) { b.Arguments = append(b.Arguments, byte(i)) },
		} {
			other := binding()
			edit(&other)
			f.refused("sealed for another", mustSeal(f.T, f.sealer, other, state()))
			f.refusedBy(f.sealer, "opened for another", f.texts[0], other, seal.KindRound)
		}
	}
}

// otherRings have other secrets under the same ids, or the same secrets under other ids.
func (f *forger) otherRings() {
	ids := [2]string{f.ring.Keys[0].ID, f.ring.Keys[1].ID}
	same := seal.NewRing()
	same.Keys[0].ID = ids[0]
	swapped := seal.Ring{Keys: []seal.Key{f.ring.Keys[0], f.ring.Keys[1]}}
	swapped.Keys[0].Secret, swapped.Keys[1].Secret = swapped.Keys[1].Secret, swapped.Keys[0].Secret
	renamed := seal.Ring{Keys: []seal.Key{f.ring.Keys[0]}}
	renamed.Keys[0].ID = "renamed"
	for _, ring := range []seal.Ring{same, swapped, renamed} {
		other := seal.New(ring, seal.Options{Now: fixed})
		for _, text := range f.texts {
			f.refusedBy(other, "of another ring", text, binding(), seal.KindRound)
			moved := strings.Replace(text, ids[0], ring.Keys[0].ID, 1)
			f.refusedBy(other, "of another ring, renamed", moved, binding(), seal.KindRound)
		}
		f.refused("of another ring", mustSeal(f.T, other, binding(), state()))
	}
}

func (f *forger) otherKinds() {
	kinds := []seal.Kind{seal.KindRound, seal.KindConfirmation, seal.KindReceipt}
	for i, text := range f.texts {
		f.refusedBy(f.sealer, "no kind", text, binding())
		f.refusedBy(f.sealer, "other kinds", text, binding(), kinds[(i+1)%3], kinds[(i+2)%3])
	}
}

// FuzzOpen holds that of all texts only the sealed one opens.
func FuzzOpen(f *testing.F) {
	ring, err := seal.ParseRing(read(f, "ring.json"))
	if err != nil {
		f.Fatal(err)
	}
	var want golden
	want.load(f)
	sealer := seal.New(ring, seal.Options{Now: fixed})
	f.Add(want.Text)
	f.Add(want.Text + "=")
	f.Add(want.Text[:len(want.Text)-1])
	f.Add("pb1.k1.")
	f.Add("pb1.k1." + strings.Repeat("A", 60))
	f.Add("")
	f.Fuzz(func(t *testing.T, text string) {
		got, err := sealer.Open(t.Context(), text, want.binding(), seal.KindRound)
		if text == want.Text {
			if err != nil {
				t.Errorf("the sealed text: %v", err)
			}
			return
		}
		if err != seal.ErrUnopenable || got.Kind != "" {
			t.Errorf("%q: %+v, %v", text, got, err)
		}
	})
}

// FuzzSeal holds that whatever is sealed opens as the same.
func FuzzSeal(f *testing.F) {
	sealer := seal.New(seal.NewRing(), seal.Options{Now: fixed})
	f.Add("tool", "key", "state", []byte("arguments"), int64(60))
	f.Add("t", "", "\xff\u2028<>&\x00", []byte{0}, int64(1))
	f.Fuzz(func(t *testing.T, tool, key, inner string, arguments []byte, seconds int64) {
		b := seal.Binding{Tool: tool, Arguments: arguments, Contract: []byte("c")}
		s := seal.State{Kind: seal.KindRound, Key: key, Tool: inner, Expires: start.Add(time.Duration(seconds) * time.Second)}
		text, err := sealer.Seal(t.Context(), b, s)
		if err != nil {
			return
		}
		got, err := sealer.Open(t.Context(), text, b, seal.KindRound)
		if err != nil {
			t.Fatal(err)
		}
		if got.Key != key || got.Tool != inner || !got.Expires.Equal(s.Expires) {
			t.Errorf("sealed %+v, opened %+v", s, got)
		}
	})
}
