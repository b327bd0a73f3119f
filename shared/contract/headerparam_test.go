package contract

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestHeaderParamsAreRead(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		properties string
		want       []HeaderParam
	}{
		"none": {`{"a":{"type":"string"}}`, nil},
		"each type": {`{"a":{"type":"string","x-mcp-header":"A"},"b":{"type":"integer","x-mcp-header":"B"},
			"c":{"type":"boolean","x-mcp-header":"C"}}`, []HeaderParam{
			{Header: "Mcp-Param-A", Path: []string{"a"}, Type: "string"},
			{Header: "Mcp-Param-B", Path: []string{"b"}, Type: "integer"},
			{Header: "Mcp-Param-C", Path: []string{"c"}, Type: "boolean"},
		}},
		"nested": {`{"a":{"properties":{"b":{"properties":{"c/d":{"type":"string","x-mcp-header":"D"}}},
			"e":{"type":"string","x-mcp-header":"E"}}}}`, []HeaderParam{
			{Header: "Mcp-Param-D", Path: []string{"a", "b", "c/d"}, Type: "string"},
			{Header: "Mcp-Param-E", Path: []string{"a", "e"}, Type: "string"},
		}},
		"a parameter of that name": {`{"x-mcp-header":{"type":"string","x-mcp-header":"!#$%&'*+-.^_|~` + "`" + `"}}`,
			[]HeaderParam{{Header: "Mcp-Param-!#$%&'*+-.^_|~`", Path: []string{"x-mcp-header"}, Type: "string"}}},
		"in data": {`{"a":{"default":{"x-mcp-header":"A"},"const":{"x-mcp-header":"A"},"enum":[{"x-mcp-header":"A"}],
			"examples":[{"x-mcp-header":"A"}]}}`, nil},
		"behind an escape": {`{"a":{"type":"string","x-mcp\u002dheader":"A"}}`,
			[]HeaderParam{{Header: "Mcp-Param-A", Path: []string{"a"}, Type: "string"}}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			schema := json.RawMessage(`{"type":"object","properties":` + test.properties + `}`)
			params, faults := headerParams(parseTree(schema))
			if len(faults) > 0 {
				t.Errorf("unexpected faults: %v", faults)
			}
			if diff := cmp.Diff(test.want, params); diff != "" {
				t.Errorf("params (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.want, storedHeaderParams(schema)); diff != "" {
				t.Errorf("params of the stored schema (-want +got):\n%s", diff)
			}
		})
	}
}

// The protocol allows the annotation behind properties and nowhere else, so every keyword that holds schemas is tried.
func TestHeaderParamsElsewhereAreRefused(t *testing.T) {
	t.Parallel()
	const annotated = `{"type":"string","x-mcp-header":"A"}`
	in := func(format string) string { return strings.ReplaceAll(format, "S", annotated) }
	places := []string{
		`"items":S`, `"prefixItems":[S]`, `"contains":S`, `"additionalItems":S`, `"unevaluatedItems":S`,
		`"oneOf":[S]`, `"anyOf":[{"properties":{"a":S}}]`, `"allOf":[{"allOf":[S]}]`, `"not":S`,
		`"if":S`, `"then":S`, `"else":S`, `"$defs":{"a":S}`, `"definitions":{"a":S}`,
		`"patternProperties":{"a":S}`, `"additionalProperties":S`, `"unevaluatedProperties":S`, `"propertyNames":S`,
		`"dependentSchemas":{"a":S}`, `"dependencies":{"a":S}`, `"contentSchema":S`, `"unknownKeyword":[[S]]`,
		`"properties":{"a":{"items":{"properties":{"b":S}}}}`, `"x-mcp-header":"A"`,
	}
	for _, place := range places {
		t.Run(place, func(t *testing.T) {
			t.Parallel()
			params, faults := headerParams(parseTree([]byte(in(`{` + place + `}`))))
			if len(params) != 0 || len(faults) != 1 || faults[0].id != "header-param-place" {
				t.Errorf("params = %v, faults = %v; want one fault of the place", params, faults)
			}
		})
	}
}

func TestIsToken(t *testing.T) {
	t.Parallel()
	for c := range 256 {
		if c >= 0x80 {
			break
		}
		want := strings.ContainsRune("!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ", rune(c))
		if got := isToken(fmt.Sprintf("a%c", c)); got != want {
			t.Errorf("isToken(%q) = %v, want %v", fmt.Sprintf("a%c", c), got, want)
		}
	}
	for _, s := range []string{"", "é", "a\x80"} {
		if isToken(s) {
			t.Errorf("isToken(%q) = true", s)
		}
	}
}

func TestLooksSecret(t *testing.T) {
	t.Parallel()
	tests := map[bool][]string{
		true: {"password", "user_password", "apiKey", "APIKey", "api_key", "API-KEY", "apikey", "accessToken",
			"client.secret", "credentials", "privateKey", "secret_access_key", "TOKEN", "session-cookie"},
		false: {"region", "max_tokens", "key", "issue_key", "primary_key", "tokenizer", "token_url", "secretName", "author",
			"authorizationUrl", "", "_", "keyboard"},
	}
	for want, names := range tests {
		for _, name := range names {
			if got := LooksSecret(name); got != want {
				t.Errorf("LooksSecret(%q) = %v, want %v", name, got, want)
			}
		}
	}
}
