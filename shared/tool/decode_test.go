package tool_test

import (
	"context"
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"patchbay/shared/invoke"
	"patchbay/shared/tool"
)

type (
	embedded struct {
		ID string `json:"id"`
	}
	Item struct {
		SKU   string `json:"sku"`
		Count uint8  `json:"count"`
	}
	own struct{ text string }
	all struct {
		embedded
		*Item
		Query  string          `json:"query"`
		Int    int             `json:"int"`
		Small  int8            `json:"small"`
		Quoted int             `json:"quoted,string"`
		Ratio  float64         `json:"ratio"`
		Half   float32         `json:"half"`
		Items  []Item          `json:"items"`
		More   map[string]Item `json:"more"`
		Grid   [2][]int        `json:"grid"`
		Next   *all            `json:"next"`
		Any    any             `json:"any"`
		Raw    json.RawMessage `json:"raw"`
		Own    own             `json:"own"`
		When   time.Time       `json:"when"`
		Plain  string
		Hidden string `json:"-"`
	}
)

func (o *own) UnmarshalJSON(data []byte) error { o.text = string(data); return nil }

// read runs a handler with the arguments and returns what it got, or the text of a tool error.
func read[In any](t *testing.T, arguments string) (In, string) {
	t.Helper()
	var got In
	body := answer(t, event(t, func(r *invoke.Request) { r.Arguments = json.RawMessage(arguments) }),
		func(_ context.Context, in In) (string, error) { got = in; return "ran", nil })
	var result struct {
		Content []struct{ Text string }
		IsError bool
		Meta    json.RawMessage `json:"_meta"`
	}
	if err := json.Unmarshal([]byte(body), &result); err != nil {
		t.Fatalf("decoding %s: %v", body, err)
	}
	if !result.IsError {
		return got, ""
	}
	if result.Meta != nil {
		t.Errorf("the error names a failure mode: %s", result.Meta)
	}
	return got, result.Content[0].Text
}

func TestNamesAreReadInTheirCase(t *testing.T) {
	t.Parallel()
	for arguments, want := range map[string]all{
		`{"query":"SELECT 1","Query":"DROP"}`:                {Query: "SELECT 1"},
		`{"QUERY":"DROP","plain":"x","hidden":"x","-":"x"}`:  {},
		`{"Query":"DROP","query":"SELECT 1","Plain":"x"}`:    {Query: "SELECT 1", Plain: "x"},
		`{"ID":"x","id":"y","\u017fku":"evil","sku":"good"}`: {embedded: embedded{"y"}, Item: &Item{SKU: "good"}},
		`{"items":[{"sku":"a","S\u212aU":"b"},{"ſku":"c"}]}`: {Items: []Item{{SKU: "a"}, {}}},
		`{"more":{"SKU":{"SKU":"x"},"sku":{"sku":"y"}}}`:     {More: map[string]Item{"SKU": {}, "sku": {SKU: "y"}}},
		`{"next":{"next":{"Query":"x","query":"y"}}}`:        {Next: &all{Next: &all{Query: "y"}}},
		`{"any":{"Query":1.0},"raw":{"A":2.0},"own":{"B":3.0}}`: {Any: map[string]any{"Query": 1.0},
			Raw: json.RawMessage(`{"A":2.0}`), Own: own{`{"B":3.0}`}},
		`{}`: {}, `{"items":null,"next":null,"int":null}`: {},
	} {
		got, text := read[all](t, arguments)
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(all{}, own{})); diff != "" || text != "" {
			t.Errorf("%s: %s (-want +got):\n%s", arguments, text, diff)
		}
	}
}

func TestIntegersAreReadHoweverTheyAreWritten(t *testing.T) {
	t.Parallel()
	arguments := ` { "int" : 20.0, "small":-1e1, "quoted":"5", "ratio":1.0, "half":2e0, "grid":[[1.0,2e2],[3]],
		"items":[{"count":0.0},{"count":25.5e1}],"more":{"a":{"count":7.0}},"next":{"int":-0.0},
		"when":"2026-07-28T09:30:00Z" } `
	want := all{Int: 20, Small: -10, Quoted: 5, Ratio: 1, Half: 2, Grid: [2][]int{{1, 200}, {3}},
		Items: []Item{{}, {Count: 255}}, More: map[string]Item{"a": {Count: 7}}, Next: &all{},
		When: time.Date(2026, 7, 28, 9, 30, 0, 0, time.UTC)}
	got, text := read[all](t, arguments)
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(all{}, own{})); diff != "" || text != "" {
		t.Errorf("%s (-want +got):\n%s", text, diff)
	}
	if most, text := read[struct{ N int64 }](t, `{"N":9.223372036854775807e18}`); most.N != math.MaxInt64 {
		t.Errorf("got %d, %s", most.N, text)
	}
}

func TestNumbersOutOfRangeAreToolErrors(t *testing.T) {
	t.Parallel()
	for arguments, want := range map[string]string{
		`{"small":128}`:                        "small: 128 is out of range; allowed: an integer from -128 to 127",
		`{"small":-1.29e2}`:                    "small: -1.29e2 is out of range; allowed: an integer from -128 to 127",
		`{"items":[{"count":0},{"count":-1}]}`: "items[1].count: -1 is out of range; allowed: an integer from 0 to 255",
		`{"more":{"a":{"count":256.0}}}`:       "more.a.count: 256.0 is out of range; allowed: an integer from 0 to 255",
		`{"int":9223372036854775808}`: "int: 9223372036854775808 is out of range; " +
			"allowed: an integer from -9223372036854775808 to 9223372036854775807",
		`{"int":-1e300}`:                           "int: -1e300 is out of range; ",
		`{"grid":[[],[1,1e19]]}`:                   "grid[1][1]: 1e19 is out of range; ",
		`{"int":` + strings.Repeat("1", 999) + `}`: "int: " + strings.Repeat("1", 40) + "… is out of range; ",
		`{"ratio":1e320}`:                          "ratio: 1e320 is out of range; allowed: a number from -1.79769",
		`{"half":1e39}`:                            "half: 1e39 is out of range; allowed: a number from -3.40282",
		`{"next":{"next":{"small":1e3}}}`:          "next.next.small: 1e3 is out of range; ",
	} {
		if _, text := read[all](t, arguments); !strings.HasPrefix(text, "invalid arguments: "+want) {
			t.Errorf("%s: %q, want %q", arguments, text, want)
		}
	}
	if _, text := read[uint16](t, `65536`); text != "invalid arguments: arguments: 65536 is out of range; "+
		"allowed: an integer from 0 to 65535" {
		t.Errorf("got %q", text)
	}
}

// What a schema should not have let pass stays a defect: a fraction for an integer, a text for a number.
func TestWrongTypesAreDefects(t *testing.T) {
	t.Parallel()
	handler := quiet(func(context.Context, all) (string, error) { return "", nil })
	for _, arguments := range []string{
		`{"int":1.5}`, `{"int":"1"}`, `{"items":{}}`, `{"query":1}`, `{"small":1e-400}`, `[]`, `{"items":[1]}`,
	} {
		raw := event(t, func(r *invoke.Request) { r.Arguments = json.RawMessage(arguments) })
		if got, err := handler.Invoke(t.Context(), raw); err == nil {
			t.Errorf("%s is answered: %v", arguments, got)
		}
	}
}

// FuzzRead: what the function gets is what encoding/json reads of the members with exactly the fields' names, and
// reading never panics.
func FuzzRead(f *testing.F) {
	for _, seed := range []string{`{"query":"a","Query":"b"}`, `{"int":20.0,"small":1e2}`, `{"items":[{"sku":"a"}]}`,
		`{"next":{"grid":[[1],[2.0]]}}`, `{"more":{"a":{"count":1}}}`, `[]`, `1`, `{"a":1,"a":2}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, arguments []byte) {
		if !json.Valid(arguments) {
			return
		}
		var got *all
		handler := quiet(func(_ context.Context, in all) (string, error) { got = &in; return "", nil })
		request := invoke.Request{Version: invoke.Version, Tool: "t", Arguments: arguments}
		raw, err := json.Marshal(request)
		if err != nil {
			t.Skip()
		}
		if _, err := handler.Invoke(t.Context(), raw); err != nil || got == nil {
			return
		}
		var exact map[string]json.RawMessage
		if json.Unmarshal(arguments, &exact) != nil {
			return
		}
		var query *string
		if json.Unmarshal(exact["query"], &query) == nil && query != nil && *query != got.Query {
			t.Errorf("%s: query = %q, want %q", arguments, got.Query, *query)
		}
		if _, given := exact["query"]; !given && got.Query != "" {
			t.Errorf("%s: query = %q, which was not given", arguments, got.Query)
		}
	})
}

func BenchmarkInvoke(b *testing.B) {
	handler := tool.NewHandler(func(_ context.Context, in Item) (string, error) { return in.SKU, nil })
	raw := json.RawMessage(`{"version":1,"tool":"t","arguments":{"sku":"AB-12","count":3}}`)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := handler.Invoke(b.Context(), raw); err != nil {
			b.Fatal(err)
		}
	}
}

// The client's answers to questions are read like arguments.
func TestResponsesAreReadInTheirCase(t *testing.T) {
	t.Parallel()
	call := tool.Call{InputResponses: json.RawMessage(`{"who":{"action":"decline","Action":"accept","content":{"A":1}}}`)}
	var got tool.ElicitResult
	found, err := call.Response("who", &got)
	want := tool.ElicitResult{Action: tool.ActionDecline, Content: json.RawMessage(`{"A":1}`)}
	if diff := cmp.Diff(want, got); !found || err != nil || diff != "" {
		t.Errorf("Response = %v, %v (-want +got):\n%s", found, err, diff)
	}
}
