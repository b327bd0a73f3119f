package schema

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestPatternsMeanWhatECMAScriptSays(t *testing.T) {
	t.Parallel()
	tests := []struct {
		pattern  string
		yes, not []string
	}{
		{`^\u0041\u{1F600}\uD83D\uDE00$`, []string{"A😀😀"}, []string{"A"}},
		{`^\cJ$`, []string{"\n"}, []string{"J"}},
		{`^\s[\s\d]$`, []string{"\u00a01", "\ufeff\u2029"}, []string{"1 ", "xx"}},
		{`^\S$`, []string{"x"}, []string{"\u00a0"}},
		{`^.$`, []string{"x", "é"}, []string{"\u2028", "\r"}},
		{`^[.[]$`, []string{".", "["}, []string{"x"}},
		{`^[^]$`, []string{"\n"}, []string{""}},
		{`[]`, nil, []string{"", "x"}},
		{`^[\]x.]+$`, []string{"].x"}, []string{"y"}},
		{`^\p{Script=Greek}\p{Letter}\P{Lu}$`, []string{"αaa"}, []string{"aaa", "αaA"}},
		{`^(?<year>\d{4})-\d\d$`, []string{"2026-07"}, []string{"٢٠٢٦-٠٧"}},
		{`^a\/b\-c$`, []string{"a/b-c"}, []string{"a\\/b"}},
		{`b`, []string{"abc"}, []string{"ac"}},
	}
	for _, test := range tests {
		re, err := compilePattern(test.pattern, maxInstructions)
		if err != nil {
			t.Errorf("%s: %v", test.pattern, err)
			continue
		}
		for _, text := range test.yes {
			if !re.MatchString(text) {
				t.Errorf("%s does not match %q", test.pattern, text)
			}
		}
		for _, text := range test.not {
			if re.MatchString(text) {
				t.Errorf("%s matches %q", test.pattern, text)
			}
		}
	}
	for _, bad := range []string{`(?=x)`, `(?<!x)`, `(a)\1`, `\k<n>`, `a{1,1001}`, `[`, `\u12`, `\p{Nonsense}`} {
		if _, err := compilePattern(bad, maxInstructions); err == nil {
			t.Errorf("%s is taken", bad)
		}
	}
}

func TestTimesWithLeapSeconds(t *testing.T) {
	t.Parallel()
	s, err := Compile([]byte(`{"items":{"format":"time"},"properties":{"t":{"format":"date-time"}}}`), Limits{})
	if err != nil {
		t.Fatal(err)
	}
	for text, valid := range map[string]bool{
		`["23:59:60Z"]`: true, `["22:59:60Z"]`: false, `["15:59:60-08:00"]`: true, `["01:02:03"]`: false,
		`["24:00:00Z"]`: false, `["01:02:03.5+01:00"]`: true, `["01:02:03+24:00"]`: false,
		`{"t":"1998-12-31T23:59:60Z"}`: true, `{"t":"2026-07-28t09:30:00z"}`: true, `{"t":"2026-07-28 09:30:00Z"}`: false,
		`{"t":"2026-02-29T09:30:00Z"}`: false, `{"t":"x"}`: false,
	} {
		if err := s.Validate([]byte(text)); (err == nil) != valid {
			t.Errorf("Validate(%s) = %v, want valid %v", text, err, valid)
		}
	}
}

// FuzzParse holds the parser against the standard one: same verdict, same value, but for what it refuses on purpose.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		`{"a":[1,-0.5e+3,"\u00e9\n",null,true,{}]}`, `[01]`, `{"a":1,}`, `"\ud800"`, ` 1 `, `-`, `1.`,
		`{"a" : "b"}x`, "\"\x80\"", `[[[`, `{"a":1,"a":2}`, `1e5000`, "\"\t\"", `nul`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		value, faults := parse(text)
		if len(faults) > 0 {
			if onlySyntax(faults) && json.Valid(text) {
				t.Fatalf("%q is JSON, but was refused: %v", text, faults)
			}
			return
		}
		want, err := standardValue(text)
		if err != nil {
			t.Fatalf("%q was taken, but is not JSON: %v", text, err)
		}
		if diff := cmp.Diff(want, value); diff != "" {
			t.Fatalf("%q (-standard +ours):\n%s", text, diff)
		}
	})
}

// onlySyntax leaves out what the standard parser allows: names given twice, deep nesting, long numbers, text that is
// not UTF-8.
func onlySyntax(faults []fault) bool {
	return len(faults) == 1 && strings.HasPrefix(faults[0].message, "is not valid JSON") &&
		!strings.Contains(faults[0].message, "UTF-8")
}

func standardValue(text []byte) (value any, err error) {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	if err := decoder.Decode(&value); err != nil {
		return nil, err
	}
	if !json.Valid(text) {
		return nil, errors.New("text after the value")
	}
	return value, nil
}
