package toolcall

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"patchbay/shared/contract"
)

// Source of the rules: basic/transports/streamable-http#server-behavior-for-custom-headers, #server-validation.
func TestCompareHeader(t *testing.T) {
	t.Parallel()
	region := contract.HeaderParam{Header: "Mcp-Param-Region", Path: []string{"region"}, Type: "string"}
	nested := contract.HeaderParam{Header: "Mcp-Param-Zone", Path: []string{"place", "zone"}, Type: "string"}
	for name, test := range map[string]struct {
		param     contract.HeaderParam
		sent      []string
		arguments string
		says      string // empty when the call passes
	}{
		"same text":                     {region, []string{"us-west1"}, `{"region":"us-west1"}`, ""},
		"other text":                    {region, []string{"us-west2"}, `{"region":"us-west1"}`, "does not match"},
		"other case":                    {region, []string{"US-west1"}, `{"region":"us-west1"}`, "does not match"},
		"escaped in the body":           {region, []string{"a"}, `{"region":"\u0061"}`, ""},
		"Base64":                        {region, []string{"=?base64?5LiW55WM?="}, `{"region":"世界"}`, ""},
		"broken Base64":                 {region, []string{"=?base64?!?="}, `{"region":"x"}`, "Base64"},
		"raw bytes":                     {region, []string{"\xe4"}, `{"region":"ä"}`, "visible ASCII"},
		"missing":                       {region, nil, `{"region":"x"}`, "is missing"},
		"sent for nothing":              {region, []string{"x"}, `{}`, "has no value"},
		"sent for no arguments":         {region, []string{"x"}, ``, "has no value"},
		"sent for null":                 {region, []string{""}, `{"region":null}`, "has no value"},
		"neither":                       {region, nil, `{}`, ""},
		"null and not sent":             {region, nil, `{"region":null}`, ""},
		"empty text":                    {region, []string{""}, `{"region":""}`, ""},
		"twice the same":                {region, []string{"x", "x"}, `{"region":"x"}`, ""},
		"twice, the second differs":     {region, []string{"x", "y"}, `{"region":"x"}`, "does not match"},
		"integer":                       {region, []string{"42"}, `{"region":42}`, ""},
		"integer as 42.0 in the header": {region, []string{"42.0"}, `{"region":42}`, ""},
		"integer as 4.2e1 in the body":  {region, []string{"42"}, `{"region":4.2e1}`, ""},
		"other integer":                 {region, []string{"43"}, `{"region":42}`, "does not match"},
		"integers past 2^53": {
			region, []string{"9007199254740992"}, `{"region":9007199254740993}`, "does not match",
		},
		"text where an integer is": {region, []string{"forty-two"}, `{"region":42}`, "does not match"},
		"integer where text is":    {region, []string{"42.0"}, `{"region":"42"}`, "does not match"},
		"boolean":                  {region, []string{"true"}, `{"region":true}`, ""},
		"boolean in another case":  {region, []string{"True"}, `{"region":true}`, "does not match"},
		"boolean, other":           {region, []string{"false"}, `{"region":true}`, "does not match"},
		"an object":                {region, []string{"{}"}, `{"region":{}}`, "does not match"},
		"nested":                   {nested, []string{"z"}, `{"place":{"zone":"z"}}`, ""},
		"nested, other":            {nested, []string{"y"}, `{"place":{"zone":"z"}}`, "place.zone"},
		"nested, parent missing":   {nested, nil, `{}`, ""},
		"nested, parent no object": {nested, nil, `{"place":"z"}`, ""},
		"nested, parent null":      {nested, []string{"z"}, `{"place":null}`, "has no value"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			header := http.Header{}
			for _, value := range test.sent {
				header.Add(test.param.Header, value)
			}
			err := compareHeader(&test.param, header.Values, json.RawMessage(test.arguments))
			if test.says == "" && err != nil {
				t.Errorf("refused: %v", err)
			}
			if test.says != "" && (err == nil || !strings.Contains(err.Error(), test.says)) {
				t.Errorf("got %v, want an error about %q", err, test.says)
			}
		})
	}
}
