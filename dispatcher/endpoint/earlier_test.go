package endpoint

import (
	"encoding/json"
	"testing"
)

func TestForEarlier(t *testing.T) {
	t.Parallel()
	for definition, want := range map[string]string{
		`{"name":"a","inputSchema":{"type":"object"}}`:                                      ``,
		`{"name":"a","outputSchema":{"type":"object"},"x":1.0}`:                             ``,
		`{"name":"a","outputSchema":{"type":"array"},"x":1.0}`:                              `{"name":"a","x":1.0}`,
		`{"outputSchema":{"anyOf":[{"type":"object"}]},"name":"a"}`:                         `{"name":"a"}`,
		`{"name":"a","outputSchema":{"type":["object","null"]}}`:                            `{"name":"a"}`,
		`{"name":"a","inputSchema":{"properties":{"outputSchema":{"type":"array"}}},"b":2}`: ``,
	} {
		if want == "" {
			want = definition
		}
		if got := forEarlier(json.RawMessage(definition)); string(got) != want {
			t.Errorf("%s became %s, want %s", definition, got, want)
		}
	}
}
