package ledger

import (
	"bytes"
	"crypto/rand"
	"fmt"
	"strings"
	"testing"
	"time"
)

// benchResult is a result of common size.
var benchResult = []byte(`{"content":[{"type":"text","text":"` + strings.Repeat("All is well. ", 80) + `"}]}`)

// perCall reports the requests that a call costs.
func (f *fixture) perCall(b *testing.B) {
	sent := f.db.requests()
	b.ReportMetric(float64(sent.Reads)/float64(b.N), "reads/op")
	b.ReportMetric(float64(sent.Writes)/float64(b.N), "writes/op")
}

// BenchmarkRecordedCall is all that the ledger adds to a call that runs.
func BenchmarkRecordedCall(b *testing.B) {
	f := newFixture(b)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		call := f.call(fmt.Sprint(i))
		if met := f.read(call); met.Status != Free {
			b.Fatal(met)
		}
		f.complete(f.acquire(call), string(benchResult))
	}
	f.perCall(b)
}

func BenchmarkReplay(b *testing.B) {
	f := newFixture(b)
	call := f.call("k")
	f.complete(f.acquire(call), string(benchResult))
	f.db.requests()
	b.ReportAllocs()
	for b.Loop() {
		f.read(call)
	}
	f.perCall(b)
}

// BenchmarkInMemory is what is left without the engine: decisions, formats, compression.
func BenchmarkInMemory(b *testing.B) {
	store := &memoryStore{}
	l := newLedger(store, time.Now, rand.Text)
	call := Call{ID: NewID("u", "t", "k"), Timeout: time.Second, TTL: time.Hour}
	b.ReportAllocs()
	for b.Loop() {
		store.memory = nil
		lease, _, err := l.Acquire(b.Context(), call)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := lease.Complete(b.Context(), benchResult, time.Time{}); err != nil {
			b.Fatal(err)
		}
		if met, err := l.Read(b.Context(), call.ID, call.Query); err != nil || met.Status != Completed {
			b.Fatal(met, err)
		}
	}
}

func BenchmarkResult(b *testing.B) {
	random := make([]byte, MaxResultBytes)
	rand.Read(random)
	for name, data := range map[string][]byte{
		"1KB":         benchResult,
		"256KB":       bytes.Repeat([]byte(`{"id":12345,"name":"something"},`), MaxResultBytes/32),
		"256KBrandom": random,
	} {
		b.Run(name, func(b *testing.B) {
			l := new(Ledger)
			b.SetBytes(int64(len(data)))
			b.ReportAllocs()
			for b.Loop() {
				stored, err := l.encodeResult(key{}, &result{data: data})
				if err != nil {
					b.Fatal(err)
				}
				if _, err := decodeResult(stored); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
