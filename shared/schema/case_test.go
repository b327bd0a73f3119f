package schema_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// What differs from a declared name only in case would reach a program that does not regard case, unchecked.
func TestNamesInAnotherCase(t *testing.T) {
	t.Parallel()
	const open = `{"properties":{"query":{"pattern":"^SELECT "},"items":{"items":{"properties":{"sku":{"enum":["a"]}}}},
		"meta":{"type":"object"},"limit":{"default":5}}}`
	tests := []struct {
		schema, value string
		want          map[string]string // paths of failures and what they say
	}{
		{open, `{"query":"SELECT 1","Query":"DROP"}`, map[string]string{"Query": "query"}},
		{open, `{"QUERY":"DROP","LIMIT":1}`, map[string]string{"QUERY": "query", "LIMIT": "limit"}},
		{open, `{"items":[{"sku":"a"},{"S\u212aU":"b","\u017fku":"c"}]}`,
			map[string]string{"items[1][\"S\u212aU\"]": "sku", `items[1]["ſku"]`: "sku"}},
		{open, `{"meta":{"Query":1,"SKU":2},"querys":1,"items":[{"Query":1}]}`, nil}, // no such name is declared there
		{open, `{"query":"SELECT 1","sku":1}`, nil},
		{`{"properties":{"id":{},"Id":{},"in":{"properties":{"ID":{}}}}}`, `{"id":1,"Id":2,"in":{"ID":3}}`, nil},
		{`{"properties":{"id":{},"Id":{},"in":{"properties":{"ID":{}}}}}`, `{"ID":1,"in":{"Id":3}}`,
			map[string]string{"ID": "Id", "in.Id": "ID"}},
		{`{"allOf":[{"properties":{"a":{}}},{"$ref":"#/$defs/b"}],"$defs":{"b":{"properties":{"b":{}}}},
			"patternProperties":{"^[A-Z]$":{"type":"integer"}}}`, `{"A":1,"B":2,"C":3}`,
			map[string]string{"A": "a", "B": "b"}},
		{`{"anyOf":[{"properties":{"kind":{"const":1},"Name":{}}},{"properties":{"kind":{"const":2},"name":{}}}]}`,
			`{"kind":1,"Name":1}`, nil},
	}
	for _, test := range tests {
		_, err := compile(t, test.schema).Check([]byte(test.value))
		var want map[string]string
		if err != nil {
			want = map[string]string{}
			for _, f := range failures(t, err) {
				want[f.Path] = f.Problem
			}
		}
		got := map[string]string(nil)
		if test.want != nil {
			got = map[string]string{}
			for path, name := range test.want {
				got[path] = `is not a known name (did you mean "` + name + `"?)`
			}
		}
		if diff := cmp.Diff(got, want); diff != "" {
			t.Errorf("Check(%s) (-want +got):\n%s", test.value, diff)
		}
	}
	if err := compile(t, open).Validate([]byte(`{"Query":1}`)); err != nil {
		t.Errorf("Validate goes beyond the schema: %v", err)
	}
}
