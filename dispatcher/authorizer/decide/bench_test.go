package decide_test

import (
	"encoding/json"
	"testing"

	"patchbay/dispatcher/authorizer/issuertest"
)

// BenchmarkDecide is a whole decision, from the event's JSON to the policy's, with keys and catalogue at hand.
func BenchmarkDecide(b *testing.B) {
	ec := issuertest.EC(b, "e")
	f := newFixture(b, ec)
	for name, e := range map[string]object{
		"RS256 allowed":      call(f.good(), "greet"),
		"ES256 allowed":      call(ec.Sign(ec.Header(), f.claims()), "greet"),
		"RS256 denied":       call(f.good(), "notes_write"),
		"expired":            event(f.key.Sign(f.key.Header(), with(f.claims(), "exp", 1))),
		"no token":           with(event(""), "headers", nil, "multiValueHeaders", nil),
		"a stranger's token": event(issuertest.OtherRSA(b, "k").Sign(f.key.Header(), f.claims())),
	} {
		raw, err := json.Marshal(e)
		if err != nil {
			b.Fatal(err)
		}
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				_, _ = f.handler.Invoke(b.Context(), raw)
			}
			f.log.take()
			f.counts.take()
		})
	}
}
