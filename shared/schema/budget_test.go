package schema

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
)

func mustCompile(t testing.TB, text string) *Schema {
	t.Helper()
	s, err := Compile([]byte(text), Limits{})
	if err != nil {
		t.Fatalf("Compile(%.200s): %v", text, err)
	}
	return s
}

// each joins n texts by commas.
func each(n int, text func(int) string) string {
	list := make([]string, n)
	for i := range list {
		list[i] = text(i)
	}
	return strings.Join(list, ",")
}

func same(text string) func(int) string { return func(int) string { return text } }

// large is a value that costs too much, or nearly so.
type large struct{ schema, value, want string }

func largeValues() map[string]large {
	inA := func(s string) string { return `{"properties":{"a":` + s + `}}` }
	items := func(s string) string { return inA(`{"items":` + s + `}`) }
	list := func(n int, item string) string { return `{"a":[` + each(n, same(item)) + `]}` }
	nested := func(inner string) string { return strings.Repeat("[", 250) + inner + strings.Repeat("]", 250) }
	recursive := func(s string) string { return `{"$ref":"#/$defs/n","$defs":{"n":` + s + `}}` }
	format := func(n int, text string) string {
		return each(n, func(i int) string { return strings.ReplaceAll(text, "#", fmt.Sprint(i)) })
	}
	names := `{"a":{` + format(90_000, `"k#":1`) + `}}`
	text := func(c string) string { return `{"a":"` + strings.Repeat(c, 6_000_000/len(c)) + `"}` }
	const hexes, word = `[0-9a-f]{3,200}-x`, `"the quick brown fox jumps over the lazy dog, again and again"`
	const tooMany, tooLong = "a is too large to check: its ", "is more than its pattern or format can be tried on"
	return map[string]large{
		"many values":  {`{}`, list(2_900_000, "1"), "arguments is too large to check; at most 100000 values"},
		"many members": {`{}`, "[" + each(400_000, same(`{"a":{}}`)) + "]", "at most 100000 values"},
		"alternatives": {items(`{"anyOf":[{"type":"string"},{"type":"object"},{"type":"null"}]}`), list(99_000, "1"),
			tooMany + "99000 items meet more schemas than can be applied; allowed: at most about 7"},
		"numbers": {items(`{"type":"integer","minimum":0,"maximum":5}`), list(99_000, "1e330"), tooMany + "99000 items"},

		"long numbers":    {items(`{"type":"integer","minimum":0}`), list(6_000, strings.Repeat("9", 990)), ""},
		"exponents":       {items(`{"minimum":0}`), list(970_000, "1e999"), "an exponent within ±330"},
		"numbers in enum": {items(`{"enum":[` + format(5000, "#") + `]}`), list(1000, "-1"), tooMany + "1000 items"},
		"missing names":   {items(`{"required":[` + format(5000, `"r#"`) + `]}`), list(90_000, "{}"), tooMany + "90000"},

		"members × schemas": {inA(`{"allOf":[` + format(300, `{"additionalProperties":false}`) + `]}`), names,
			tooMany + "90000 members"},
		"names × patterns": {inA(`{"patternProperties":{` + format(50, `"[0-9]{3,64}x#":{}`) + `}}`), names,
			tooMany + "90000 members"},
		"one long name": {`{"propertyNames":{"pattern":"` + hexes + `"}}`, `{"` + strings.Repeat("a", 6_000_000) + `":1}`,
			"is too large to check: its name of 6000000 bytes " + tooLong},
		"pattern": {inA(`{"pattern":"` + hexes + `"}`), text("a"),
			tooMany + "text of 6000000 bytes " + tooLong + "; allowed: at most about 2"},
		"pattern that is not tried": {inA(`{"pattern":"` + hexes + `","maxLength":200}`), text("a"), `a: "aaaaaaaaaa`},
		"many patterns": {`{"properties":{` + format(200, `"p#":{"pattern":"`+hexes+`#"}`) + `}}`,
			`{` + format(200, `"p#":"`+strings.Repeat("a", 10_000)+`"`) + `}`,
			"arguments is too large to check: its texts together"},
		"format regex":  {inA(`{"format":"regex"}`), text(`\\pL`), tooMany + "text"},
		"counted often": {inA(`{"allOf":[` + format(100, `{"maxLength":#}`) + `]}`), text("a"), tooMany + "text"},

		"items that differ": {inA(`{"uniqueItems":true}`), `{"a":[` + format(90_000, `#e330`) + `]}`, ""},
		"differ at every level": {recursive(`{"uniqueItems":true,"items":{"$ref":"#/$defs/n"}}`),
			nested(each(20_000, same("1"))), "too many alternatives or values of the schema"},
		"deep and wide": {recursive(`{"type":"array","items":{"$ref":"#/$defs/n"}}`),
			nested(each(90_000, same("1"))), "is too large to check"},
		"defaults": {items(`{"properties":{"x":{"default":1}}}`), list(600_000, `{"x":1}`), "too large to fill in defaults"},
		"defaults of many schemas": {
			items(`{"allOf":[` + format(300, `{"properties":{"x":{"properties":{"y":{"default":1}}}}}`) + `]}`),
			list(40_000, `{"x":{"y":1}}`), "too large to fill in defaults"},

		"plain numbers": {items(`{"type":"number"}`), list(99_000, "0.5"), ""},
		"plain texts":   {items(`{"type":"string","minLength":1}`), list(90_000, word), ""},
		"wrong items":   {items(`{"type":"string"}`), list(99_000, "1"), "99000 problems"},
		"unknown names": {inA(`{"additionalProperties":false}`), names, "90000 problems"},
		"one text":      {inA(`{"type":"string","format":"uri"}`), text("a"), `a: "aaa`},
	}
}

// Whatever a value and its schema are, checking takes some tenths of a second and some ten megabytes: what would take
// more is refused before. Work and bytes are counted here, since clocks differ.
func TestLargeValuesCostLittle(t *testing.T) {
	for name, test := range largeValues() {
		t.Run(name, func(t *testing.T) {
			s := mustCompile(t, test.schema)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err := s.Check([]byte(test.value))
			runtime.ReadMemStats(&after)
			if used := (after.TotalAlloc - before.TotalAlloc) >> 20; used > 200 {
				t.Errorf("%d MB were allocated", used)
			}
			got := fmt.Sprint(err)
			if test.want == "" && err != nil || !strings.Contains(got, test.want) || len(got) > 20<<10 {
				t.Errorf("Check = %.500s, want %q", got, test.want)
			}
		})
	}
}

// An ordinary value must not even be looked at for what it may cost.
func TestOrdinaryValuesPassByTheirLength(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		`{"type":"object","properties":{"location":{"type":"string","minLength":1},"units":{"enum":["metric","imperial"]},
			"days":{"type":"integer","minimum":1,"maximum":14}},"required":["location"],"additionalProperties":false}`,
		`{"$ref":"#/$defs/n","$defs":{"n":{"properties":{"v":{"type":"integer"},"kids":{"items":{"$ref":"#/$defs/n"}}}}}}`,
		`{"properties":{"mail":{"pattern":"^[^@\\s]+@[^@\\s]+$"},
			"tags":{"items":{"anyOf":[{"type":"string"},{"type":"null"}]}}}}`,
	} {
		s := mustCompile(t, text)
		if most := maxCost / (s.guard.perByte + 256*s.guard.perLevel); most < 2000 {
			t.Errorf("only values of up to %.0f bytes pass by their length for %s", most, text)
		}
	}
}

// The foreseen cost grows with the value as the work does.
func TestCostGrowsEvenly(t *testing.T) {
	t.Parallel()
	s := mustCompile(t, `{"items":{"anyOf":[{"type":"string","pattern":"^[a-z]{1,40}$"},
		{"properties":{"a":{"minimum":1}}}]}}`)
	cost := func(n int) float64 {
		value, _ := parse([]byte("[" + each(n, same(`"abcdefgh",{"a":5}`)) + "]"))
		return s.guard.cost(s.root, value)
	}
	one, two := cost(1000), cost(2000)
	if ratio := two / one; ratio < 1.99 || ratio > 2.01 {
		t.Errorf("twice the value costs %.3f times as much", ratio)
	}
	if one < 7000 {
		t.Errorf("7,000 applications and more cost %.0f", one)
	}
}

func TestSizesOfPatterns(t *testing.T) {
	t.Parallel()
	for source, least := range map[string]int{
		`abc`: 3, `[a-z]{1,1000}`: 1000, `((a{10}){10}){10}`: 1000, `ab|cd|ef`: 8, `^.*$`: 3,
	} {
		p, err := compilePattern(source, maxInstructions)
		if err != nil || p.size < least || p.size > 5*least {
			t.Errorf("%s has size %d, %v, want about %d", source, p.size, err, least)
		}
	}
	_, err := Compile([]byte(`{"properties":{"a":{"pattern":"`+strings.Repeat("([a-z]{1,100}){1,10}", 60)+`"},
		"b":{"pattern":"`+strings.Repeat("([a-y]{1,100}){1,10}", 60)+`"}}}`), Limits{})
	want := "allowed: at most 100000 in all patterns together"
	if err == nil || !strings.Contains(err.Error(), "/properties/b/pattern") || !strings.Contains(err.Error(), want) {
		t.Errorf("Compile = %v, want %q", err, want)
	}
}

// A schema's defaults are checked when it is compiled, which must not take long either.
func TestDefaultsAreCheckedWithinBounds(t *testing.T) {
	t.Parallel()
	_, err := Compile([]byte(`{"properties":{`+each(500, func(i int) string {
		return fmt.Sprintf(`"p%d":{"default":"%s","$ref":"#/$defs/s"}`, i, strings.Repeat("a", 60))
	})+`},"$defs":{"s":{"pattern":"(a|aa){1,900}b"}}}`), Limits{})
	if err == nil || !strings.Contains(err.Error(), "the default is too large to check, or all before it were") {
		t.Errorf("Compile = %.300v", err)
	}
}

// trees are all arrays of n empty arrays inside one another, which a hash that knows no ends takes for the same.
func trees(n int) []string {
	if n == 0 {
		return []string{""}
	}
	var list []string
	for inner := range n {
		for _, a := range trees(inner) {
			for _, b := range trees(n - 1 - inner) {
				list = append(list, strings.TrimSuffix("["+a+"],"+b, ","))
			}
		}
	}
	return list
}

func TestUniqueItems(t *testing.T) {
	t.Parallel()
	s := mustCompile(t, `{"uniqueItems":true}`)
	forest := trees(8)
	for i, tree := range forest {
		forest[i] = "[" + tree + "]"
	}
	for _, text := range []string{
		"[" + strings.Join(forest, ",") + "]", `[1,"1",true,null,[1],{"1":1}]`, `[["a","b"],["a\u0000b"],["ab"]]`,
		`[5,-5,0.5,50,5e-2]`, `[258,0.001953125]`, `[{"a":1,"b":2},{"a":2,"b":1},{"ab":1}]`, `[0]`, `[]`, `{}`,
	} {
		if err := s.Validate([]byte(text)); err != nil {
			t.Errorf("Validate(%.100s) = %v", text, err)
		}
	}
	for text, want := range map[string]string{
		`[1,2,1.0]`: "positions 0 and 2", `[100,1e2]`: "0 and 1", `[0,3,-0.0e5]`: "0 and 2", `[-1.50,-15E-1]`: "0 and 1",
		`[{"a":1,"b":[2]},{"b":[2.0],"a":1}]`: "0 and 1", `["é","\u00e9"]`: "0 and 1", `[null,null]`: "0 and 1",
	} {
		if err := s.Validate([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Validate(%s) = %v, want %q", text, err, want)
		}
	}
}

func TestOnlyTheFirstFindingsAreKept(t *testing.T) {
	t.Parallel()
	var found findings
	for i := range 5000 {
		found.add(leaf{path: []string{fmt.Sprint((i*7919 + 13) % 5000)}})
	}
	found.settle()
	if len(found.leaves) != maxKept || found.more != 5000-maxKept || found.leaves[maxKept-1].path[0] != "99" {
		t.Errorf("%d leaves up to %v, and %d more", len(found.leaves), found.leaves[len(found.leaves)-1].path, found.more)
	}
	if !slices.IsSortedFunc(found.leaves, compareLeaves) {
		t.Error("the leaves are not in order")
	}
}
