package registry

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestPageLimits(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.publish("one", "a", "c", "e")
	f.publish("two", "b", "d")
	size := len(definition("a"))
	tests := []struct {
		name   string
		limits PageLimits
		want   [][]string
	}{
		{"default", PageLimits{}, [][]string{{"a", "b", "c", "d", "e"}}},
		{"two at a time", PageLimits{MaxTools: 2}, [][]string{{"a", "b"}, {"c", "d"}, {"e"}}},
		{"exactly all", PageLimits{MaxTools: 5}, [][]string{{"a", "b", "c", "d", "e"}}},
		{"bytes for three", PageLimits{MaxBytes: 3*size + 2}, [][]string{{"a", "b", "c"}, {"d", "e"}}},
		{"a byte too few for three", PageLimits{MaxBytes: 3*size + 1}, [][]string{{"a", "b"}, {"c", "d"}, {"e"}}},
		{"less than one", PageLimits{MaxBytes: 1}, [][]string{{"a"}, {"b"}, {"c"}, {"d"}, {"e"}}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(test.want, pages(t, f.reader(), test.limits, nil)); diff != "" {
				t.Errorf("pages (-want +got):\n%s", diff)
			}
		})
	}
}

func pages(t *testing.T, r *Reader, limits PageLimits, visible func(*Entry) bool) [][]string {
	t.Helper()
	var all [][]string
	for cursor := ""; ; {
		page, err := r.Page(t.Context(), cursor, limits, visible)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, namesOf(page))
		if cursor = page.NextCursor; cursor == "" {
			return all
		}
	}
}

func TestInvisibleTools(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.publish("one", "a", "b", "c", "d", "e")
	only := func(names string) func(*Entry) bool {
		return func(e *Entry) bool { return strings.Contains(names, e.Tool.Name) }
	}
	tests := []struct {
		visible string
		want    [][]string
	}{
		{"ace", [][]string{{"a", "c"}, {"e"}}},
		{"ab", [][]string{{"a", "b"}}}, // no cursor to an empty page
		{"e", [][]string{{"e"}}},
		{"", [][]string{{}}},
	}
	for _, test := range tests {
		got := pages(t, f.reader(), PageLimits{MaxTools: 2}, only(test.visible))
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("with %q visible, pages (-want +got):\n%s", test.visible, diff)
		}
	}
}

func TestEmptyListIsNotNull(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	page, err := f.reader().Page(t.Context(), "", PageLimits{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if text, _ := json.Marshal(page.Definitions); string(text) != "[]" {
		t.Errorf("an empty list is %s in JSON", text)
	}
}

func TestCursorsSurvivePublishes(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.publish("one", "a", "c", "e")
	r := f.reader()
	page, err := r.Page(t.Context(), "", PageLimits{MaxTools: 2}, nil)
	if err != nil {
		t.Fatal(err)
	}
	f.publish("one", "a", "b", "d", "e") // c, the last that was served, is gone
	f.publish("two", "f")
	f.pass(defaultMaxAge + 1)
	rest, err := r.Page(t.Context(), page.NextCursor, PageLimits{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"d", "e", "f"}, namesOf(rest)); diff != "" {
		t.Errorf("rest (-want +got):\n%s", diff)
	}
}

func TestDefinitionsAreServedByteForByte(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	odd := `{"name":"odd","inputSchema":{"type":"object"},"x":[1.0,1e2,"<&>\u2028\u00e9é\/"],` +
		`"description":"\ud83d\ude00 😀"}`
	tools := append(publications(t, "even"), publication(t, "odd", 1, odd))
	for range 2 {
		if _, err := f.publisher().Publish(t.Context(), "one", tools); err != nil {
			t.Fatal(err)
		}
		r := f.reader()
		for range 2 {
			page, err := r.Page(t.Context(), "", PageLimits{}, nil)
			if err != nil {
				t.Fatal(err)
			}
			if got := string(page.Definitions[1]); got != odd {
				t.Errorf("served   %s\npublished %s", got, odd)
			}
		}
	}
}

func TestTenThousandTools(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	names := numbered(10_000)
	var even, odd []string
	for i, name := range names {
		if i%2 == 0 {
			even = append(even, name)
		} else {
			odd = append(odd, name)
		}
	}
	f.publish("even", even...)
	f.publish("odd", odd...)
	db := &watchedDB{DB: f.db}
	r := f.readerOn(db)
	got, err := listNames(t.Context(), r, PageLimits{})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(got, names) {
		t.Errorf("the list has %d names, not the %d published in order", len(got), len(names))
	}
	// HEAD, two indexes, and for each of ten or so pages a query or two of either source.
	if reads := db.reads.Load(); reads > 60 {
		t.Errorf("%d reads for a list of %d tools", reads, len(names))
	}
	for _, name := range []string{names[0], names[4999], names[9999]} {
		entry, err := f.reader().Lookup(t.Context(), name)
		if err != nil || entry.Function != functionARN(name, 1) {
			t.Errorf("Lookup(%s): %+v, %v", name, entry, err)
		}
	}
}

func TestBadCursors(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	encode := base64.RawURLEncoding.EncodeToString
	cursors := map[string]string{
		"no Base64":                 "a b",
		"other alphabet":            "+/==",
		"a word":                    "invalid-cursor",
		"line break inside":         formatCursor("abc")[:2] + "\n" + formatCursor("abc")[2:],
		"padding":                   base64.URLEncoding.EncodeToString([]byte("\x01a")),
		"unused bits set":           "AWF",
		"version without a name":    encode([]byte{1}),
		"a version of the future":   encode([]byte("\x02name")),
		"longer than any name":      formatCursor(strings.Repeat("a", maxNameBytes+1)),
		"far longer than any name":  strings.Repeat("A", 1<<20),
		"the name itself, unopened": "get_weather",
	}
	for name, cursor := range cursors {
		if _, err := f.reader().Page(t.Context(), cursor, PageLimits{}, nil); !errors.Is(err, ErrBadCursor) {
			t.Errorf("%s: error %v, want %v", name, err, ErrBadCursor)
		}
	}
}

func FuzzParseCursor(f *testing.F) {
	for _, seed := range []string{"", "AWE", "AWF", "invalid-cursor", "AW\nE", "AWE=", formatCursor("tracker_search")} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, cursor string) {
		name, err := parseCursor(cursor)
		switch {
		case err != nil && !errors.Is(err, ErrBadCursor):
			t.Errorf("error %v is not %v", err, ErrBadCursor)
		case err == nil && cursor != "" && formatCursor(name) != cursor:
			t.Errorf("cursor %q is of %q, whose cursor is %q", cursor, name, formatCursor(name))
		case err == nil && (len(name) > maxNameBytes || (name == "") != (cursor == "")):
			t.Errorf("cursor %q was accepted as name %q", cursor, name)
		}
	})
}

func TestWarmPageReadsNothing(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.publish("one", numbered(1200)...)
	db := &watchedDB{DB: f.db}
	r := f.readerOn(db)
	limits := PageLimits{MaxTools: 1000, MaxBytes: 1 << 30}
	for i := range 2 {
		before := db.reads.Load()
		if got := fmt.Sprint(lengths(pages(t, r, limits, nil))); got != "[1000 200]" {
			t.Fatalf("pages of %s tools", got)
		}
		if got := db.reads.Load() - before; i == 1 && got != 0 {
			t.Errorf("%d reads for a warm list", got)
		}
	}
}

func lengths(pages [][]string) []int {
	var all []int
	for _, page := range pages {
		all = append(all, len(page))
	}
	return all
}
