package schema_test

import (
	"fmt"
	"strings"
	"testing"

	"patchbay/shared/schema"
)

// manyValues are n strings for an enum.
func manyValues(n int) string {
	values := make([]string, n)
	for i := range values {
		values[i] = fmt.Sprintf(`"v%d"`, i)
	}
	return strings.Join(values, ",")
}

func TestMessagesAreBounded(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 60_000)
	listOf := func(item string) string { return `[` + strings.TrimSuffix(strings.Repeat(item+",", 30), ",") + `]` }
	tests := map[string]struct {
		schema, value string
		most          int
		want          []string
	}{
		"a long enum": {`{"enum":[` + manyValues(7000) + `]}`, `"v123x"`, 1500,
			[]string{`(did you mean "v123"?)`, `allowed: "v123", "v0", "v1",`, `, … (7000 in all)`}},
		"many of them": {`{"items":{"enum":[` + manyValues(7000) + `]}}`, listOf(`"v6999x"`), 17_000,
			[]string{`allowed: "v6999", "v0"`, "more"}},
		"many names": {
			`{"properties":{` + strings.ReplaceAll(manyValues(900), ",", ":{},") + `:{}},"additionalProperties":false}`,
			`{"v12_3":1}`, 1500, []string{`(did you mean "v123"?)`, "900 in all"}},
		"a deep path": {
			`{"$ref":"#/$defs/n","$defs":{"n":{"type":"object","additionalProperties":{"$ref":"#/$defs/n"}}}}`,
			strings.Repeat(`{"a long name of a member":`, 200) + "1" + strings.Repeat("}", 200), 1000,
			[]string{"…", `a member"]: 1 is of type number`}},

		"long values":   {`{"enum":["` + long + `","b"]}`, `1`, 1500, []string{`xxx…, "b"`}},
		"a long name":   {`{"additionalProperties":false,"properties":{"a":{}}}`, `{"` + long + `":1}`, 500, []string{"xx…"}},
		"a long const":  {`{"const":"` + long + `"}`, `1`, 2000, []string{"xxx…"}},
		"long patterns": {`{"pattern":"^` + long + `$"}`, `"a"`, 2000, []string{"xxx…"}},
		"missing names": {`{"required":["` + long + `"],"dependentRequired":{"a":["b"]}}`, `{}`, 1000,
			[]string{"is missing"}},
		"a long choice": {`{"anyOf":[{"required":["` + long + `"]},{"required":["b"]}]}`, `{}`, 1500, []string{`"b"`}},
		"a long number": {`{"type":"string"}`, strings.Repeat("1", 900), 300, []string{"111…"}},
		"faults":        {`{}`, `{"` + long + `":1,"` + long + `":2}`, 1000, []string{"is given twice"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, err := schema.Compile([]byte(test.schema), schema.Limits{MaxBytes: 1 << 20})
			if err != nil {
				t.Fatal(err)
			}
			_, err = s.Check([]byte(test.value))
			got := fmt.Sprint(err)
			if len(got) > test.most {
				t.Errorf("the text has %d bytes, more than %d: %.1000s", len(got), test.most, got)
			}
			for _, want := range test.want {
				if !strings.Contains(got, want) {
					t.Errorf("the text lacks %q: %.1500s", want, got)
				}
			}
		})
	}
}
