package schema_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"patchbay/shared/schema"
)

func compile(t testing.TB, text string) *schema.Schema {
	t.Helper()
	s, err := schema.Compile([]byte(text), schema.Limits{})
	if err != nil {
		t.Fatalf("Compile(%s): %v", text, err)
	}
	return s
}

func problems(t *testing.T, text string, limits schema.Limits) []schema.Problem {
	t.Helper()
	_, err := schema.Compile([]byte(text), limits)
	var failed *schema.CompileError
	if !errors.As(err, &failed) {
		t.Fatalf("Compile = %v, want a *CompileError", err)
	}
	return failed.Problems
}

func failures(t *testing.T, err error) []schema.Failure {
	t.Helper()
	var invalid *schema.Invalid
	if !errors.As(err, &invalid) {
		t.Fatalf("got %v, want an *Invalid", err)
	}
	return invalid.Failures
}

func TestCheckReturnsTheSameSlice(t *testing.T) {
	t.Parallel()
	for _, text := range []string{`{"properties":{"a":{"default":1}}}`, `{"properties":{"a":{}}}`} {
		instance := json.RawMessage(` {"a" : 1.0} `)
		got, err := compile(t, text).Check(instance)
		if err != nil || &got[0] != &instance[0] || len(got) != len(instance) {
			t.Errorf("Check with %s = %q, %v, want the slice that was given", text, got, err)
		}
	}
}

func TestCheckLeavesItsArgumentAlone(t *testing.T) {
	t.Parallel()
	backing := []byte(`{"b":1}, and what follows in the same buffer`)
	before := string(backing)
	got, err := compile(t, `{"properties":{"a":{"default":1}}}`).Check(backing[:7])
	if err != nil || string(got) != `{"b":1,"a":1}` {
		t.Errorf("Check = %s, %v", got, err)
	}
	if string(backing) != before {
		t.Errorf("the caller's buffer is now %s", backing)
	}
}

func TestValidateAddsNoDefaults(t *testing.T) {
	t.Parallel()
	s := compile(t, `{"properties":{"a":{"default":1}},"required":["a"]}`)
	want := []schema.Failure{{Path: "a", Problem: "is missing"}}
	if diff := cmp.Diff(want, failures(t, s.Validate([]byte(`{}`)))); diff != "" {
		t.Errorf("failures (-want +got):\n%s", diff)
	}
}

func TestForRenamesTheWhole(t *testing.T) {
	t.Parallel()
	s := compile(t, `{"type":"object"}`)
	got := s.For("result").Validate([]byte(`[]`)).Error()
	if want := "invalid result: result: [] is of type array; allowed: object"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := s.Validate([]byte(`[]`)).Error(); !strings.HasPrefix(got, "invalid arguments: ") {
		t.Errorf("For changed the original: %q", got)
	}
}

func TestLimits(t *testing.T) {
	t.Parallel()
	deep := strings.Repeat(`{"not":`, 3) + `{}` + strings.Repeat(`}`, 3)
	tests := []struct {
		name, text string
		limits     schema.Limits
		want       schema.Problem
	}{
		{"bytes", `{"title":"long"}`, schema.Limits{MaxBytes: 15},
			schema.Problem{Kind: schema.KindBounds, Message: "the schema has 16 bytes", Allowed: "at most 15 bytes"}},
		{"default bytes", `{"title":"` + strings.Repeat("x", 64<<10) + `"}`, schema.Limits{},
			schema.Problem{Kind: schema.KindBounds, Message: "the schema has 65548 bytes", Allowed: "at most 65536 bytes"}},
		{"depth", deep, schema.Limits{MaxDepth: 3},
			schema.Problem{Kind: schema.KindBounds, Pointer: "/not/not/not", Message: "the schema nests too deeply here",
				Allowed: "at most 3 levels"}},
		{"default depth", strings.Repeat(`{"not":`, 32) + `{}` + strings.Repeat(`}`, 32), schema.Limits{},
			schema.Problem{Kind: schema.KindBounds, Pointer: strings.Repeat("/not", 32),
				Message: "the schema nests too deeply here",
				Allowed: "at most 32 levels"}},
		{"subschemas", `{"properties":{"a":{},"b":{}}}`, schema.Limits{MaxSubschemas: 2},
			schema.Problem{Kind: schema.KindBounds, Pointer: "/properties/b", Message: "the schema holds too many subschemas",
				Allowed: "at most 2"}},
		{"nesting of data", strings.Repeat(`[`, 300), schema.Limits{},
			schema.Problem{Message: "the schema is nested too deeply; at most 256 levels are allowed"}},
		{"multiplying references", doubling(20), schema.Limits{},
			schema.Problem{Kind: schema.KindBounds,
				Message: "references multiply to more than 1000 schemas for one value",
				Allowed: "fewer references inside allOf, anyOf and oneOf"}},
		{"long chains", chain(33), schema.Limits{},
			schema.Problem{Kind: schema.KindBounds,
				Message: "references follow one another more than 64 times for one value",
				Allowed: "shorter chains of $ref and allOf"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff([]schema.Problem{test.want}, problems(t, test.text, test.limits)); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
		})
	}
	if _, err := schema.Compile([]byte(deep), schema.Limits{MaxDepth: 4}); err != nil {
		t.Errorf("at its limit a schema is refused: %v", err)
	}
}

// chain is definitions that each apply the next one.
func chain(n int) string {
	var b strings.Builder
	b.WriteString(`{"$ref":"#/$defs/d0","$defs":{`)
	for i := range n {
		fmt.Fprintf(&b, `"d%d":{"allOf":[{"$ref":"#/$defs/d%d"}]},`, i, i+1)
	}
	fmt.Fprintf(&b, `"d%d":{"items":{"$ref":"#"}}}}`, n)
	return b.String()
}

// The guard itself must not cost more than what it guards against.
func TestGuardIsCheap(t *testing.T) {
	t.Parallel()
	s := compile(t, chain(30))
	wide := "{\"a\":[" + strings.Repeat("1,", 99_000) + "1]}"
	if err := s.Validate([]byte(wide)); err != nil {
		t.Errorf("a wide value that the schema hardly looks at: %v", err)
	}
	if err := s.Validate([]byte(wide[5 : len(wide)-1])); err == nil {
		t.Error("a value to which the schema is applied six million times is taken")
	}
}

// doubling is a chain of definitions each of which applies the next one twice.
func doubling(n int) string {
	var b strings.Builder
	b.WriteString(`{"$ref":"#/$defs/d0","$defs":{`)
	for i := range n {
		fmt.Fprintf(&b, `"d%d":{"allOf":[{"$ref":"#/$defs/d%d"},{"$ref":"#/$defs/d%d"}]},`, i, i+1, i+1)
	}
	fmt.Fprintf(&b, `"d%d":{}}}`, n)
	return b.String()
}

// Each level of these values doubles the work, in a schema that is recursive, and in one that is only deep.
func TestExpensiveValuesAreRefused(t *testing.T) {
	t.Parallel()
	tests := map[string]string{
		"ref": `{"$ref":"#/$defs/e","$defs":{"e":{"anyOf":[
			{"properties":{"l":{"$ref":"#/$defs/e"},"k":{"const":1}},"required":["k"]},
			{"properties":{"l":{"$ref":"#/$defs/e"},"k":{"const":2}},"required":["k"]}]}}}`,
		"dynamicRef": `{"$id":"outer","$dynamicAnchor":"n","allOf":[{"$ref":"tree"},{"$ref":"tree"}],
			"$defs":{"tree":{"$id":"tree","$dynamicAnchor":"n","properties":{"l":{"$dynamicRef":"#n"}}}}}`,
	}
	for name, text := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := compile(t, text)
			if err := s.Validate([]byte(nested(`{"k":1,"l":`, `{"k":2}`, 8))); err != nil {
				t.Errorf("a small value is refused: %v", err)
			}
			want := []schema.Failure{{Path: "arguments",
				Problem: "meets too many alternatives or values of the schema to be checked; give a smaller value"}}
			got := failures(t, s.Validate([]byte(nested(`{"k":1,"l":`, `{"k":2}`, 200))))
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("failures (-want +got):\n%s", diff)
			}
		})
	}
}

func nested(open, inner string, n int) string {
	return strings.Repeat(open, n) + inner + strings.Repeat("}", n)
}

// A recursive schema without doubling takes any value, long and deep.
func TestRecursionIsCheap(t *testing.T) {
	t.Parallel()
	s := compile(t, `{"$ref":"#/$defs/n","$defs":{"n":{"type":"object","properties":{"v":{"type":"integer","default":1},
		"next":{"$ref":"#/$defs/n"},"all":{"type":"array","items":{"$ref":"#/$defs/n"}}}}}}`)
	deep, err := s.Check([]byte(nested(`{"v":1,"next":`, `{}`, 255)))
	if err != nil || !strings.Contains(string(deep), `{"v":1}}`) {
		t.Errorf("a deep value: %v", err)
	}
	wide := `{"all":[` + strings.Repeat(`{"v":2},`, 10_000) + `{}]}`
	if _, err := s.Check([]byte(wide)); err != nil {
		t.Errorf("a wide value: %v", err)
	}
	if err := s.Validate([]byte(nested(`{"next":`, `{}`, 256))); err == nil {
		t.Error("a value nested 257 deep is taken")
	}
}

// Numbers whose exact form is enormous must cost nothing; the library would panic on some and compute for seconds on
// others.
func TestEnormousNumbers(t *testing.T) {
	t.Parallel()
	s := compile(t, `{"items":{"minimum":1,"multipleOf":0.1},"uniqueItems":true}`)
	for _, number := range []string{"1e331", "1e-331", "1e99999999999999999999", strings.Repeat("9", 1001)} {
		want := []schema.Failure{{Path: "arguments[0]",
			Problem: "has too many digits; at most 1000 and an exponent within ±330 are allowed"}}
		if diff := cmp.Diff(want, failures(t, s.Validate([]byte("["+number+"]")))); diff != "" {
			t.Errorf("failures (-want +got):\n%s", diff)
		}
	}
	if err := s.Validate([]byte("[1e330, 12345678901234567890.1, 1e0]")); err != nil {
		t.Errorf("numbers within bounds are refused: %v", err)
	}
	if err := s.Validate([]byte("[12345678901234567890123, 12345678901234567890123.0]")); err == nil {
		t.Error("equal numbers count as different")
	}
	if err := s.Validate([]byte("[12345678901234567890123, 12345678901234567890124]")); err != nil {
		t.Errorf("numbers that a double cannot tell apart count as equal: %v", err)
	}
}

func TestDefaultsDoNotMultiplyTheText(t *testing.T) {
	t.Parallel()
	s := compile(t, `{"items":{"properties":{"a":{"default":"`+strings.Repeat("x", 1000)+`"}}}}`)
	_, err := s.Check([]byte("[" + strings.Repeat("{},", 2000) + "{}]"))
	want := []schema.Failure{{Path: "arguments",
		Problem: "would grow by more than 1048576 bytes of defaults; give fewer items"}}
	if diff := cmp.Diff(want, failures(t, err)); diff != "" {
		t.Errorf("failures (-want +got):\n%s", diff)
	}
}

// Thirty levels of defaults, each of which creates two objects of the next: a gigabyte, were it not stopped.
func TestDefaultsDoNotDouble(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	b.WriteString(`{"$ref":"#/$defs/d0","$defs":{`)
	for i := range 30 {
		next := fmt.Sprintf(`{"default":{},"$ref":"#/$defs/d%d"}`, i+1)
		fmt.Fprintf(&b, `"d%d":{"properties":{"a":%s,"b":%s}},`, i, next, next)
	}
	b.WriteString(`"d30":{}}}`)
	want := []schema.Problem{{Pointer: "/$defs/d0/properties/a/default",
		Message: "the default would grow by more than 1048576 bytes of defaults; give fewer items"}}
	if diff := cmp.Diff(want, problems(t, b.String(), schema.Limits{})); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
}

func TestMessagesAreTheSameEveryTime(t *testing.T) {
	t.Parallel()
	text := `{"properties":{"a":{"type":"string"},"b":{"type":"string"},"c":{"type":"string"},"d":{"type":"string"}},
		"patternProperties":{"^[a-d]$":{"minimum":5},"^.$":{"maximum":0}},"required":["x","y","z"],
		"dependentRequired":{"a":["q"],"b":["r"]},"propertyNames":{"maxLength":0}}`
	instance := []byte(`{"d":1,"c":2,"b":3,"a":4}`)
	want := compile(t, text).Validate(instance).Error()
	for range 50 {
		if diff := cmp.Diff(want, compile(t, text).Validate(instance).Error()); diff != "" {
			t.Fatalf("the message changed (-first +now):\n%s", diff)
		}
	}
}

func TestManyFailuresAreCounted(t *testing.T) {
	t.Parallel()
	s := compile(t, `{"items":{"type":"string"}}`)
	err := s.Validate([]byte("[" + strings.Repeat("1,", 29_999) + "1]"))
	var invalid *schema.Invalid
	if !errors.As(err, &invalid) || len(invalid.Failures) != 20 || invalid.More != 29_980 {
		t.Errorf("got %d failures and %d more", len(invalid.Failures), invalid.More)
	}
}

func TestSchemaIsSafeForConcurrentUse(t *testing.T) {
	t.Parallel()
	s := compile(t, `{"properties":{"a":{"type":"integer","default":1},"b":{"$ref":"#"}},"additionalProperties":false}`)
	var group sync.WaitGroup
	for i := range 8 {
		group.Go(func() {
			for range 100 {
				got, err := s.Check([]byte(`{"b":{}}`))
				if err != nil || string(got) != `{"b":{"a":1},"a":1}` {
					t.Errorf("Check = %s, %v", got, err)
				}
				if s.Validate([]byte(fmt.Sprintf(`{"c":%d}`, i))) == nil {
					t.Error("an unknown name is taken")
				}
			}
		})
	}
	group.Wait()
}
