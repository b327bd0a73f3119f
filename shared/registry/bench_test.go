package registry

import (
	"fmt"
	"testing"
)

// benchReader is a reader that has listed n tools.
func benchReader(b *testing.B, n int) *Reader {
	f := newFixture(b)
	f.publish("one", numbered(n)...)
	r := NewReader(f.db, f.table, ReaderOptions{Now: f.clock})
	if _, err := listNames(b.Context(), r, PageLimits{}); err != nil {
		b.Fatal(err)
	}
	return r
}

// BenchmarkLookup is a warm call's share of the registry: it must not depend on the number of tools.
func BenchmarkLookup(b *testing.B) {
	for _, n := range []int{10, 1000, 10_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			r := benchReader(b, n)
			name := numbered(n)[n/2]
			b.ReportAllocs()
			for b.Loop() {
				if _, err := r.Lookup(b.Context(), name); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkPage is a warm first page, of 1,000 tools where there are as many.
func BenchmarkPage(b *testing.B) {
	for _, n := range []int{10, 1000, 10_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			r := benchReader(b, n)
			visible := func(e *Entry) bool { return e.Tool.Contract.Risk != "forbidden" }
			b.ReportAllocs()
			for b.Loop() {
				page, err := r.Page(b.Context(), "", PageLimits{MaxBytes: 16 << 20}, visible)
				if err != nil || len(page.Definitions) != min(n, defaultMaxTools) {
					b.Fatal(len(page.Definitions), err)
				}
			}
		})
	}
}

// BenchmarkColdLookup reads HEAD, the index and one item of tools.
func BenchmarkColdLookup(b *testing.B) {
	for _, n := range []int{10, 10_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			f := newFixture(b)
			f.publish("one", numbered(n)...)
			name := numbered(n)[n/2]
			b.ReportAllocs()
			for b.Loop() {
				if _, err := f.reader().Lookup(b.Context(), name); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkColdList reads everything, page after page.
func BenchmarkColdList(b *testing.B) {
	f := newFixture(b)
	f.publish("one", numbered(10_000)...)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := listNames(b.Context(), f.reader(), PageLimits{}); err != nil {
			b.Fatal(err)
		}
	}
}
