package tooltest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"patchbay/shared/invoke"
	"patchbay/shared/mcp"
	"patchbay/shared/principal"
	"patchbay/shared/tool"
)

const greetFile = "testdata/greet.json"

type greetIn struct {
	Name  string `json:"name"`
	Times int    `json:"times"`
}

type greetOut struct {
	Greeting string `json:"greeting"`
}

func greet(ctx context.Context, in greetIn) (greetOut, error) {
	call := tool.CallFrom(ctx)
	switch in.Name {
	case "gone":
		return greetOut{}, tool.Fail("gone", "%s has left", in.Name)
	case "undeclared":
		return greetOut{}, tool.Fail("lost", "who?")
	case "defect":
		return greetOut{}, errors.New("disk full")
	case "long":
		return greetOut{strings.Repeat("long", 11)}, nil
	case "me":
		return greetOut{"Hello, " + call.Principal.Subject}, nil
	case "?":
		return ask(call)
	}
	for i := range in.Times {
		tool.Progress(ctx, float64(i+1), float64(in.Times), "greeting")
	}
	return greetOut{strings.Repeat("Hello, "+in.Name+"! ", in.Times)}, nil
}

func ask(call tool.Call) (greetOut, error) {
	var who tool.ElicitResult
	ok, err := call.Response("who", &who)
	if err != nil {
		return greetOut{}, err
	}
	if !ok {
		form := tool.Form("Who are you?", json.RawMessage(`{"type":"object","properties":{"name":{"type":"string"}}}`))
		return greetOut{}, tool.Ask(map[string]mcp.InputRequest{"who": form}, "asked")
	}
	return greetOut{fmt.Sprintf("%s after %s", who.Content, call.State)}, nil
}

// recorder is a test that is expected to fail.
type recorder struct {
	testing.TB
	failures []string
}

func (r *recorder) Helper()           {}
func (r *recorder) Output() io.Writer { return io.Discard }
func (r *recorder) Error(args ...any) { r.failures = append(r.failures, fmt.Sprint(args...)) }
func (r *recorder) Errorf(f string, args ...any) {
	r.failures = append(r.failures, fmt.Sprintf(f, args...))
}
func (r *recorder) Fatal(args ...any) { r.Error(args...); runtime.Goexit() }
func (r *recorder) Fatalf(f string, args ...any) {
	r.Errorf(f, args...)
	runtime.Goexit()
}

// failuresOf runs a test of its own and returns why it failed.
func failuresOf(t *testing.T, test func(testing.TB)) string {
	t.Helper()
	r := &recorder{TB: t}
	done := make(chan struct{})
	go func() {
		defer close(done)
		test(r)
	}()
	<-done
	return strings.Join(r.failures, "\n")
}

func TestCall(t *testing.T) {
	t.Parallel()
	options := Options{File: greetFile}
	plain := Call(t, greet, `{"name":"Ada"}`, options)
	if got := Structured[greetOut](t, plain).Greeting; got != "Hello, Ada! " { // the default of times was applied
		t.Errorf("greeting = %q", got)
	}
	if plain.Text() != `{"greeting":"Hello, Ada! "}` || plain.IsError || plain.Refused {
		t.Errorf("result = %+v", plain)
	}
	refused := Call(t, greet, map[string]any{"name": "Ada", "times": 4}, options)
	if !refused.Refused || !refused.IsError || !strings.Contains(refused.Text(), "times") {
		t.Errorf("result = %+v, want a refusal that names times", refused)
	}
	failed := Call(t, greet, greetIn{Name: "gone", Times: 1}, options)
	if !failed.IsError || failed.Code != "gone" || failed.Text() != "gone has left" || failed.Refused {
		t.Errorf("result = %+v, want the failure mode gone", failed)
	}
	me := Call(t, greet, `{"name":"me"}`, Options{File: greetFile, Principal: principal.Principal{Subject: "u1"}})
	if got := Structured[greetOut](t, me).Greeting; got != "Hello, u1" {
		t.Errorf("greeting = %q", got)
	}
	defect := Call(t, greet, `{"name":"defect"}`, Options{File: greetFile, WantDefect: true})
	if defect.Defect == nil || defect.Defect.Error() != "disk full" {
		t.Errorf("defect = %v", defect.Defect)
	}
}

func TestCallWithProgress(t *testing.T) {
	t.Parallel()
	got := Call(t, greet, `{"name":"Ada","times":2}`, Options{File: greetFile, Progress: true})
	want := []invoke.Progress{
		{Progress: 1, Total: 2, Message: "greeting"},
		{Progress: 2, Total: 2, Message: "greeting"},
	}
	if diff := cmp.Diff(want, got.Progress); diff != "" {
		t.Errorf("progress (-want +got):\n%s", diff)
	}
	if got := Structured[greetOut](t, got).Greeting; got != "Hello, Ada! Hello, Ada! " {
		t.Errorf("greeting = %q", got)
	}
	defect := Call(t, greet, `{"name":"defect"}`, Options{File: greetFile, Progress: true, WantDefect: true})
	if defect.Defect == nil || defect.Defect.Error() != "disk full" {
		t.Errorf("defect = %v", defect.Defect)
	}
}

func TestCallInRounds(t *testing.T) {
	t.Parallel()
	first := Call(t, greet, `{"name":"?"}`, Options{File: greetFile})
	if first.Asked == nil || first.Asked.InputRequests["who"].Method != "elicitation/create" {
		t.Fatalf("result = %+v, want a question", first)
	}
	second := Call(t, greet, `{"name":"?"}`, Options{
		File:  greetFile,
		State: first.Asked.RequestState,
		Responses: map[string]any{"who": tool.ElicitResult{
			Action: tool.ActionAccept, Content: json.RawMessage(`{"name":"Ada"}`)}},
	})
	if got := Structured[greetOut](t, second).Greeting; got != `{"name":"Ada"} after asked` {
		t.Errorf("greeting = %q", got)
	}
}

func TestCallFails(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		test func(testing.TB)
		want string
	}{
		"an undeclared failure": {
			func(t testing.TB) { Call(t, greet, `{"name":"undeclared"}`, Options{File: greetFile}) },
			`failure code "lost" is not in failureModes of testdata/greet.json; declared: gone`,
		},
		"output that its schema does not allow": {
			func(t testing.TB) { Call(t, greet, `{"name":"long"}`, Options{File: greetFile}) },
			"outputSchema of testdata/greet.json does not allow",
		},
		"no structured content": {
			func(t testing.TB) {
				text := func(context.Context, greetIn) (string, error) { return "hi", nil }
				Call(t, text, `{"name":"x"}`, Options{File: greetFile})
			},
			"the result has none",
		},
		"an unforeseen error": {
			func(t testing.TB) { Call(t, greet, `{"name":"defect"}`, Options{File: greetFile}) },
			"unforeseen error, of which a client only learns that the tool failed: disk full",
		},
		"no unforeseen error": {
			func(t testing.TB) { Call(t, greet, `{"name":"Ada"}`, Options{File: greetFile, WantDefect: true}) },
			"the handler returned no unforeseen error",
		},
		"progress that nobody gets": {
			func(t testing.TB) {
				Call(t, greet, `{"name":"Ada"}`, Options{File: "testdata/plain.json", Progress: true})
			},
			"testdata/plain.json does not set execution.streaming",
		},
		"no tool.json": {
			func(t testing.TB) { Call(t, greet, `{}`) },
			"reading the tool's definition: open tool.json",
		},
		"arguments that are not JSON": {
			func(t testing.TB) { Call(t, greet, func() {}, Options{File: greetFile}) },
			"encoding func()",
		},
		"two options": {
			func(t testing.TB) { Call(t, greet, `{}`, Options{}, Options{}) },
			"2 Options given; allowed: one",
		},
		"structure of a failure": {
			func(t testing.TB) {
				Structured[greetOut](t, Call(t, greet, `{"name":"gone"}`, Options{File: greetFile}))
			},
			"no structured content (isError true): gone has left",
		},
		"two files": {
			func(t testing.TB) { Check(t, greet, greetFile, greetFile) },
			"2 files given; allowed: one",
		},
		"types of another tool": {
			func(t testing.TB) {
				Check(t, func(context.Context, greetOut) (greetIn, error) { return greetIn{}, nil }, greetFile)
			},
			"inputSchema.name: no field of tooltest.greetOut has this JSON name",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := failuresOf(t, test.test); !strings.Contains(got, test.want) {
				t.Errorf("failures = %q, want %q", got, test.want)
			}
		})
	}
}

func TestCheck(t *testing.T) {
	t.Parallel()
	Check(t, greet, greetFile)
}

// The types below stand for tools whose types and schemas do or do not agree.
type (
	inner struct {
		City string `json:"city"`
	}
	base struct {
		ID string `json:"id"`
	}
	agreeing struct {
		base
		Text    string            `json:"text"`
		Level   level             `json:"level"`
		Count   uint8             `json:"count"`
		Ratio   float64           `json:"ratio"`
		On      bool              `json:"on"`
		When    time.Time         `json:"when"`
		Data    []byte            `json:"data"`
		Tags    []string          `json:"tags"`
		Home    *inner            `json:"home,omitempty"`
		All     []inner           `json:"all"`
		Labels  map[string]string `json:"labels"`
		Any     any               `json:"any"`
		Raw     json.RawMessage   `json:"raw"`
		Quoted  int               `json:"quoted,string"`
		Node    *tree             `json:"node,omitempty"`
		private int
		Skipped int `json:"-"`
	}
	level string
	tree  struct {
		Next *tree `json:"next,omitempty"`
	}
)

const agreeingSchema = `{"type":"object","properties":{
	"id":{"type":"string"}, "text":{"type":"string"}, "level":{"enum":["low","high"],"default":"low"},
	"count":{"type":"integer","minimum":0,"exclusiveMaximum":256}, "ratio":{"type":"number"}, "on":{"type":"boolean"},
	"when":{"type":"string","format":"date-time"}, "data":{"type":"string"},
	"tags":{"type":"array","items":{"type":"string"}}, "home":{"$ref":"#/$defs/place"},
	"all":{"type":"array","items":{"$ref":"#/$defs/place"}},
	"labels":{"type":"object","additionalProperties":{"type":"string"}}, "any":{"type":["string","integer"]},
	"raw":true, "quoted":{"type":"string"}, "node":{"$ref":"#/$defs/node"}},
	"$defs":{"place":{"type":"object","properties":{"city":{"type":"string"}}},
		"node":{"type":"object","properties":{"next":{"$ref":"#/$defs/node"}}}}}`

func TestCompareAgreeing(t *testing.T) {
	t.Parallel()
	_ = agreeing{private: 1} // encoding/json does not see it, and neither may the comparison
	for _, output := range []bool{false, true} {
		if got := compareWith[agreeing](agreeingSchema, output); len(got) > 0 {
			t.Errorf("output %v: %s", output, strings.Join(got, "\n"))
		}
		if got := compareWith[*agreeing](agreeingSchema, output); len(got) > 0 {
			t.Errorf("output %v, by pointer: %s", output, strings.Join(got, "\n"))
		}
	}
}

func compareWith[T any](schema string, output bool) []string {
	return compare("schema", json.RawMessage(schema), reflect.TypeFor[T](), output)
}

func TestCompareDisagreeing(t *testing.T) {
	t.Parallel()
	property := func(schema string) string { return `{"type":"object","properties":{"a":` + schema + `}}` }
	tests := map[string]struct {
		got  []string
		want string // empty: agrees
	}{
		"a property without a field": {
			compareWith[struct{}](property(`{}`), false), "schema.a: no field of struct {} has this JSON name",
		},
		"a field without a property": {
			compareWith[struct{ A, B int }](`{"type":"object","properties":{"A":{}}}`, false),
			"schema.B: field B of struct { A int; B int } is no property of the schema",
		},
		"fractions": {
			compareWith[ints](property(`{"type":"number"}`), false), "allows number, which Go type int does not hold",
		},
		"whole output":   {compareWith[ints](property(`{"type":"number"}`), true), ""},
		"below zero":     {compareWith[uints](property(`{"type":"integer"}`), false), "holds no negative numbers"},
		"not below zero": {compareWith[uints](property(`{"type":"integer","minimum":0}`), false), ""},
		"above -1":       {compareWith[uints](property(`{"type":"integer","exclusiveMinimum":-1}`), false), ""},
		"no maximum": {
			compareWith[tiny](property(`{"type":"integer","minimum":-128}`), false), "holds nothing above 127",
		},
		"no minimum": {
			compareWith[tiny](property(`{"type":"integer","maximum":127}`), false), "holds nothing below -128",
		},
		"too high a maximum": {
			compareWith[tiny](property(`{"type":"integer","minimum":0,"maximum":128}`), false), "holds nothing above 127",
		},
		"a range": {
			compareWith[tiny](property(`{"type":"integer","minimum":-128,"exclusiveMaximum":128}`), false), "",
		},
		"a few integers": {compareWith[tiny](property(`{"type":"integer","enum":[1,2]}`), false), ""},
		"any of 64 bits": {compareWith[ints](property(`{"type":"integer"}`), false), ""},
		"beyond 64 bits": {
			compareWith[ints](property(`{"type":"integer","maximum":1e20}`), false), "holds nothing above 922337203685477",
		},
		"two types": {
			compareWith[ints](property(`{"type":["integer","string"]}`), false), "allows string, which Go type int",
		},
		"one of two":      {compareWith[ints](property(`{"type":["integer","string"]}`), true), ""},
		"null for a zero": {compareWith[ints](property(`{"type":["integer","null"]}`), false), ""},
		"a text": {
			compareWith[ints](property(`{"type":"string"}`), true),
			"allows [string], which Go type int does not hold",
		},
		"an enum": {
			compareWith[ints](property(`{"enum":[1,"x"]}`), false), `value "x" does not decode into Go type int`,
		},
		"a default": {
			compareWith[tiny](property(`{"type":"integer","default":300}`), false),
			"value 300 does not decode into Go type int8",
		},
		"items": {
			compareWith[lists](property(`{"type":"array","items":{"type":"integer"}}`), false),
			"schema.a[]: the schema allows integer",
		},
		"values of a map": {
			compareWith[maps1](property(`{"type":"object","additionalProperties":{"type":"integer"}}`), false),
			"schema.a.*: the schema allows integer",
		},
		"nested": {
			compareWith[nested](property(`{"type":"object","properties":{"town":{"type":"string"}}}`), false),
			"schema.a.town: no field of tooltest.inner",
		},
		"an object for a list": {
			compareWith[lists](property(`{"type":"object"}`), false), "allows object, which Go type []string",
		},
		"a time": {
			compareWith[times](property(`{"type":"integer"}`), false), "allows integer, which Go type time.Time",
		},
		"required, left out": {
			compareWith[maybe](`{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]}`, true),
			"schema.a: required, but field A is left out when it is empty",
		},
		"required of the caller": {
			compareWith[maybe](`{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]}`, false), "",
		},
		"null":         {compareWith[pointers](property(`{"type":"string"}`), true), "field A is null when it is nil"},
		"null allowed": {compareWith[pointers](property(`{"type":["string","null"]}`), true), ""},
		"an outside $ref": {
			compareWith[ints](property(`{"$ref":"other.json"}`), false), "$ref other.json is not found by this check",
		},
		"no JSON form": {compareWith[channels](property(`{}`), false), "Go type chan int has no JSON form"},
		"a renamed embedded struct": {
			compareWith[named](`{"type":"object","properties":{
				"base":{"type":"object","properties":{"id":{"type":"string"}}}}}`, false), "",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := strings.Join(test.got, "\n")
			if test.want == "" && got != "" || !strings.Contains(got, test.want) {
				t.Errorf("problems = %q, want %q", got, test.want)
			}
		})
	}
}

type (
	ints struct {
		A int `json:"a"`
	}
	uints struct {
		A uint `json:"a"`
	}
	tiny struct {
		A int8 `json:"a"`
	}
	lists struct {
		A []string `json:"a"`
	}
	maps1 struct {
		A map[string]string `json:"a"`
	}
	nested struct {
		A inner `json:"a"`
	}
	times struct {
		A time.Time `json:"a"`
	}
	maybe struct {
		A string `json:"a,omitempty"`
	}
	pointers struct {
		A *string `json:"a"`
	}
	channels struct {
		A chan int `json:"a"`
	}
	named struct {
		base `json:"base"`
	}
)
