package ledger

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf16"
)

// TestAppendDouble has the table of RFC 8785, appendix B.
func TestAppendDouble(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		bits uint64
		want string
	}{
		{0x0000000000000000, "0"},
		{0x8000000000000000, "0"},
		{0x0000000000000001, "5e-324"},
		{0x8000000000000001, "-5e-324"},
		{0x7fefffffffffffff, "1.7976931348623157e+308"},
		{0xffefffffffffffff, "-1.7976931348623157e+308"},
		{0x4340000000000000, "9007199254740992"},
		{0xc340000000000000, "-9007199254740992"},
		{0x4430000000000000, "295147905179352830000"},
		{0x44b52d02c7e14af5, "9.999999999999997e+22"},
		{0x44b52d02c7e14af6, "1e+23"},
		{0x44b52d02c7e14af7, "1.0000000000000001e+23"},
		{0x444b1ae4d6e2ef4e, "999999999999999700000"},
		{0x444b1ae4d6e2ef4f, "999999999999999900000"},
		{0x444b1ae4d6e2ef50, "1e+21"},
		{0x3eb0c6f7a0b5ed8c, "9.999999999999997e-7"},
		{0x3eb0c6f7a0b5ed8d, "0.000001"},
		{0x41b3de4355555553, "333333333.3333332"},
		{0x41b3de4355555554, "333333333.33333325"},
		{0x41b3de4355555555, "333333333.3333333"},
		{0x41b3de4355555556, "333333333.3333334"},
		{0x41b3de4355555557, "333333333.33333343"},
		{0xbecbf647612f3696, "-0.0000033333333333333333"},
		{0x43143ff3c1cb0959, "1424953923781206.2"},
	} {
		if got := string(appendDouble(nil, math.Float64frombits(test.bits))); got != test.want {
			t.Errorf("%#016x is %s, want %s", test.bits, got, test.want)
		}
	}
}

// The files hold the example of RFC 8785, section 3.2, and its canonical form. Its first number, 333333333.33333329, is
// one that the form would merge with another and that Digest therefore refuses; the file has what it becomes.
func TestCanonicalExample(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"values", "sorting"} {
		source, err := os.ReadFile("testdata/rfc8785/" + name + ".json")
		if err != nil {
			t.Fatal(err)
		}
		want, err := os.ReadFile("testdata/rfc8785/" + name + ".canonical.json")
		if err != nil {
			t.Fatal(err)
		}
		got, err := canonicalArguments(source)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, bytes.TrimSuffix(want, []byte("\n"))) {
			t.Errorf("%s:\n got %s\nwant %s", name, got, want)
		}
	}
}

func TestCanonicalArguments(t *testing.T) {
	t.Parallel()
	for source, want := range map[string]string{
		"":                                     `{}`,
		"{}":                                   `{}`,
		" { }":                                 `{}`,
		`{"b":1,"a":{"d":[],"c":[ 1 , [2] ]}}`: `{"a":{"c":[1,[2]],"d":[]},"b":1}`,
		`{"dryRun":true,"to":"a"}`:             `{"to":"a"}`,
		`{"dryRun":true}`:                      `{}`,
		`{"a":{"dryRun":true}}`:                `{"a":{"dryRun":true}}`,
		`{"n":[1.0,1e0,10E-1,-0,0e999999999999999999999,4.50,1e+2]}`: `{"n":[1,1,1,0,0,4.5,100]}`,
		`{"n":[9007199254740992,-9007199254740991,1e22]}`:            `{"n":[9007199254740992,-9007199254740991,1e+22]}`,
		`{"s":"\u0041\/\ud83d\ude00\u20ac\u007f<&>\u2028\u001f\b"}`:  "{\"s\":\"A/😀€\u007f<&>\u2028\\u001f\\b\"}",
		`{"":null,"t":true,"f":false}`:                               `{"":null,"f":false,"t":true}`,
		`{"ﬀ":1,"😀":2,"é":3,"a":4,"aa":5}`:                           `{"a":4,"aa":5,"é":3,"😀":2,"ﬀ":1}`,
	} {
		got, err := canonicalArguments(json.RawMessage(source))
		if err != nil || string(got) != want {
			t.Errorf("%s: got %s, %v, want %s", source, got, err, want)
		}
	}
}

func TestDigestRefuses(t *testing.T) {
	t.Parallel()
	for source, want := range map[string]ArgumentError{
		`[]`:                       {Member: "arguments", Problem: "are not an object"},
		`null`:                     {Member: "arguments", Problem: "are not an object"},
		`{`:                        {Member: "arguments", Problem: "are not valid JSON"},
		`{} 1`:                     {Member: "arguments", Problem: "are not valid JSON"},
		"{\"a\":\"\xff\"}":         {Member: "arguments", Problem: "are not valid UTF-8"},
		`{"a":1,"a":1}`:            {Member: "a", Problem: "is there twice"},
		`{"a":{"b":1,"\u0062":2}}`: {Member: "a.b", Problem: "is there twice"},
		`{"a":["\ud800"]}`:         {Member: "a[0]", Problem: "half of a surrogate pair"},
		`{"a":"\ud800\ud800"}`:     {Member: "a", Problem: "half of a surrogate pair"},
		`{"a":"\udc00\ud800"}`:     {Member: "a", Problem: "half of a surrogate pair"},
		`{"a":"\ud800x"}`:          {Member: "a", Problem: "half of a surrogate pair"},
		`{"\udfff":1}`:             {Member: "arguments", Problem: "half of a surrogate pair"},
		`{"id":9007199254740993}`:  {Member: "id", Problem: "rounds to 9007199254740992"},
		`{"items":[{"price":0.10000000000000001}]}`:  {Member: "items[0].price", Problem: "rounds to 0.1"},
		`{"n":333333333.33333329}`:                   {Member: "n", Problem: "rounds to 333333333.3333333"},
		`{"n":1e400}`:                                {Member: "n", Problem: "too large"},
		`{"n":-1e400}`:                               {Member: "n", Problem: "too large"},
		`{"n":1e-400}`:                               {Member: "n", Problem: "rounds to 0"},
		`{"n":1e-99999999999999999999}`:              {Member: "n", Problem: "rounds to 0"},
		`{"n":295147905179352825856}`:                {Member: "n", Problem: "rounds to 295147905179352830000"},
		`{"n":1` + strings.Repeat("0", 400) + `}`:    {Member: "n", Problem: "too large"},
		`{"` + strings.Repeat("é", 300) + `":1e999}`: {Member: strings.Repeat("é", 100) + "…", Problem: "too large"},
	} {
		_, err := Digest(json.RawMessage(source))
		var got *ArgumentError
		if !errors.As(err, &got) || got.Member != want.Member || !strings.Contains(got.Problem, want.Problem) {
			t.Errorf("%.80s: got %v, want %+v", source, err, want)
		}
	}
}

func TestArgumentErrorText(t *testing.T) {
	t.Parallel()
	_, err := Digest(json.RawMessage(`{"order":{"id":9007199254740993}}`))
	const want = "order.id is 9007199254740993, which a double-precision number rounds to 9007199254740992; " +
		"allowed: numbers that keep their value, such as integers up to 2^53, or the digits as a string"
	if err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

func TestDigestDepth(t *testing.T) {
	t.Parallel()
	deep := func(n int) json.RawMessage {
		return json.RawMessage(strings.Repeat(`{"a":`, n) + "1" + strings.Repeat("}", n))
	}
	if _, err := Digest(deep(9_999)); err != nil {
		t.Error(err)
	}
	if _, err := Digest(deep(1_000_000)); err == nil {
		t.Error("a million levels are accepted")
	}
}

// Two doubles that are neighbours keep apart, and each spelling of one is either the same or refused.
func TestNumbersNeverMerge(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(8785, 1))
	for range 20_000 {
		f := math.Float64frombits(random.Uint64())
		if math.IsNaN(f) || math.IsInf(f, 0) {
			continue
		}
		own := string(appendDouble(nil, f))
		if back, err := strconv.ParseFloat(own, 64); err != nil || back != f {
			t.Fatalf("%s reads as %v, %v, want %v", own, back, err, f)
		}
		for _, spelling := range []string{own, strconv.FormatFloat(f, 'e', -1, 64), strconv.FormatFloat(f, 'f', -1, 64)} {
			if got, problem := canonicalNumber(spelling); problem != nil || string(got) != own {
				t.Fatalf("%s is %s, %v, want %s", spelling, got, problem, own)
			}
		}
		exact := strconv.FormatFloat(f, 'e', 1100, 64)
		got, problem := canonicalNumber(exact)
		if problem == nil && parseDecimal(exact) != parseDecimal(string(got)) {
			t.Fatalf("%s became %s", exact, got)
		}
	}
}

func TestCompareUTF16(t *testing.T) {
	t.Parallel()
	names := []string{"", "a", "ab", "b", "é", "€", "\ud7ff",
		"\ue000", "ﬀ", "\uffff", "\U00010000", "😀", "😁", "a😀", "aﬀ", "\U0010ffff"}
	for _, a := range names {
		for _, b := range names {
			want := slices.Compare(utf16.Encode([]rune(a)), utf16.Encode([]rune(b)))
			if got := compareUTF16(a, b); sign(got) != sign(want) {
				t.Errorf("%q and %q compare as %d, want %d", a, b, got, want)
			}
		}
	}
}

func sign(n int) int { return min(1, max(-1, n)) }

// FuzzDigest: what is accepted has a canonical form that is valid JSON, its own canonical form, and the same value.
func FuzzDigest(f *testing.F) {
	for _, seed := range []string{
		`{"a":[1,2.50,-0,1e21],"b":{"c":"\u20ac\ud83d\ude00"}}`, `{"dryRun":true,"x":null}`,
		`{"a":"\ud800"}`, `{"a":1,"a":2}`,
		`{"n":9007199254740993}`, `{"ﬀ":1,"😀":2}`, `{"n":0.1e-5}`, ` {"a" : [ ] , "b" : { } } `,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, source []byte) {
		canonical, err := canonicalArguments(source)
		if err != nil {
			var refused *ArgumentError
			if !errors.As(err, &refused) || refused.Member == "" || refused.Problem == "" {
				t.Fatalf("error %#v", err)
			}
			return
		}
		if !json.Valid(canonical) {
			t.Fatalf("%q has the form %q", source, canonical)
		}
		again, err := canonicalArguments(canonical)
		if err != nil || !bytes.Equal(again, canonical) {
			t.Fatalf("%q became %q, %v", canonical, again, err)
		}
		if len(source) > 0 {
			sameValue(t, source, canonical)
		}
	})
}

// sameValue compares what encoding/json makes of both.
func sameValue(t *testing.T, source, canonical []byte) {
	t.Helper()
	var want, got map[string]any
	if err := json.Unmarshal(source, &want); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(canonical, &got); err != nil {
		t.Fatal(err)
	}
	delete(want, dryRunArgument)
	wantJSON, _ := json.Marshal(want)
	gotJSON, _ := json.Marshal(got)
	// encoding/json keeps the sign of zero.
	zero := strings.NewReplacer(":-0,", ":0,", ":-0}", ":0}", "[-0,", "[0,", ",-0,", ",0,", ",-0]", ",0]", "[-0]", "[0]")
	if a, b := zero.Replace(zero.Replace(string(wantJSON))), zero.Replace(zero.Replace(string(gotJSON))); a != b {
		t.Fatalf("%s became %s", a, b)
	}
}

func BenchmarkDigest(b *testing.B) {
	source := json.RawMessage(`{"to":["a@example.com","b@example.com"],"subject":"Quarterly figures","body":"` +
		strings.Repeat("All is well. ", 40) + `","options":{"priority":2,"weight":0.25,"tags":["x","y"]}}`)
	b.SetBytes(int64(len(source)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Digest(source); err != nil {
			b.Fatal(err)
		}
	}
}
