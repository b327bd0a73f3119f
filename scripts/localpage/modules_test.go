package localpage_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"testing"

	"patchbay/scripts/nodemodules"
	"patchbay/shared/mcp"
	"patchbay/shared/schema"
)

// run calls a function of the page's modules once for each of the arguments.
func run[Result any](t *testing.T, name string, arguments ...any) []Result {
	t.Helper()
	modules, err := nodemodules.Find(".")
	if errors.Is(err, nodemodules.ErrNotInstalled) && !nodemodules.Required(os.Getenv) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	asked, err := json.Marshal(map[string]any{name: arguments})
	if err != nil {
		t.Fatal(err)
	}
	var output, complaints bytes.Buffer
	cmd := exec.CommandContext(t.Context(), nodemodules.Node(modules), filepath.Join("testdata", "modules.mjs"))
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(asked), &output, &complaints
	if err := cmd.Run(); err != nil {
		t.Fatalf("running %s: %v\n%s", name, err, &complaints)
	}
	var told map[string][]Result
	if err := json.Unmarshal(output.Bytes(), &told); err != nil {
		t.Fatalf("decoding %s: %v", &output, err)
	}
	if len(told[name]) != len(arguments) {
		t.Fatalf("%s returned %d results for %d arguments", name, len(told[name]), len(arguments))
	}
	return told[name]
}

// The page writes header values as the dispatcher reads them.
func TestHeaderValues(t *testing.T) {
	t.Parallel()
	values := []any{
		"us-west1", "Hello, 世界", " padded ", "line1\nline2", "=?base64?literal?=", "", "a\tb", "\t", "é", "\x7f",
		"emails.send_external", "=?base64?", "=?base64??=", "😀",
	}
	for i, got := range run[string](t, "encodeHeader", values...) {
		if want := mcp.EncodeHeaderValue(values[i].(string)); got != want {
			t.Errorf("%q: %s, want %s", values[i], got, want)
		}
		if back, err := mcp.DecodeHeaderValue(got); err != nil || back != values[i] {
			t.Errorf("%q: read back %q, %v", values[i], back, err)
		}
	}
}

// Which parameters are mirrored, and which definitions a client must leave out.
// Source: basic/transports/streamable-http#schema-extension.
func TestMirroredParameters(t *testing.T) {
	t.Parallel()
	tests := []struct{ schema, want string }{
		{`{}`, `[]`},
		{`{"properties":{"a":{"type":"string","x-mcp-header":"A"},"o":{"properties":{"b":{"type":"integer",` +
			`"x-mcp-header":"B"}}}}}`, `[{"path":["a"],"header":"A"},{"path":["o","b"],"header":"B"}]`},
		// A parameter of this name, and values that look like one, are no annotation.
		{`{"properties":{"x-mcp-header":{"type":"string"}},"default":{"x-mcp-header":1},"examples":[{"x-mcp-header":1}]}`,
			`[]`},
		{`{"properties":{"a":{"type":"string","x-mcp-header":""}}}`, `{"error":"x-mcp-header \"\" is no field name"}`},
		{`{"properties":{"a":{"type":"string","x-mcp-header":"a b"}}}`, `{"error":"x-mcp-header \"a b\" is no field name"}`},
		{`{"properties":{"a":{"type":"number","x-mcp-header":"A"}}}`, `{"error":"x-mcp-header \"A\" is at a number"}`},
		{`{"properties":{"a":{"type":"string","x-mcp-header":"A"},"b":{"type":"string","x-mcp-header":"a"}}}`,
			`{"error":"x-mcp-header \"a\" is there twice"}`},
		{`{"type":"string","x-mcp-header":"A"}`,
			`{"error":"x-mcp-header \"A\" is not at a property that properties alone lead to"}`},
		{`{"properties":{"l":{"items":{"properties":{"a":{"type":"string","x-mcp-header":"A"}}}}}}`,
			`{"error":"x-mcp-header \"A\" is not at a property that properties alone lead to"}`},
		{`{"anyOf":[{"properties":{"a":{"type":"string","x-mcp-header":"A"}}}]}`,
			`{"error":"x-mcp-header \"A\" is not at a property that properties alone lead to"}`},
		{`{"$defs":{"d":{"properties":{"a":{"type":"string","x-mcp-header":"A"}}}}}`,
			`{"error":"x-mcp-header \"A\" is not at a property that properties alone lead to"}`},
	}
	var schemas []any
	for _, test := range tests {
		schemas = append(schemas, json.RawMessage(test.schema))
	}
	for i, got := range run[json.RawMessage](t, "mirrored", schemas...) {
		if string(got) != tests[i].want {
			t.Errorf("%s\n got %s\nwant %s", tests[i].schema, got, tests[i].want)
		}
	}
}

// A stream is read alike however it is cut, and whichever line ends it has.
func TestEventStream(t *testing.T) {
	t.Parallel()
	const (
		lf   = ":\n\ndata: {\"a\":\ndata:1}\n\nevent: message\nid: 7\ndata: Grüße\n\n\ndata: cut off"
		crlf = ":\r\n\r\ndata: {\"a\":\r\ndata:1}\r\n\r\nevent: message\r\nid: 7\r\ndata: Grüße\r\n\r\n\r\ndata: cut off"
		cr   = ":\r\rdata: {\"a\":\rdata:1}\r\revent: message\rid: 7\rdata: Grüße\r\r\rdata: cut off"
	)
	var streams []any
	for _, stream := range []string{lf, crlf, cr} {
		for _, size := range []int{1, 2, 7, len(stream)} {
			var chunks [][]byte
			for rest := []byte(stream); len(rest) > 0; rest = rest[min(size, len(rest)):] {
				chunks = append(chunks, rest[:min(size, len(rest))])
			}
			streams = append(streams, chunks)
		}
	}
	want := []string{"{\"a\":\n1}", "Grüße"}
	for i, got := range run[[]string](t, "events", streams...) {
		if !reflect.DeepEqual(got, want) {
			t.Errorf("stream %d is read as %q", i, got)
		}
	}
}

// An address or a pointer that is no such thing breaks nothing.
func TestDecoding(t *testing.T) {
	t.Parallel()
	got := run[string](t, "decoded", "emails.send%20it", "100%", "%E0")
	if want := []string{"emails.send it", "100%", "%E0"}; !reflect.DeepEqual(got, want) {
		t.Errorf("decoded: %q, want %q", got, want)
	}
}

// JSON is taken apart and written in lines without a change to any part of it.
func TestJSONStaysAsItIs(t *testing.T) {
	t.Parallel()
	const text = `{"big":12345678901234567890,"price": 1.50 ,"a\"b":{"c":[1,{"d":[]}],"e":{}},"n":-1e-7,` +
		`"n":null,"s":"}],:"}`
	members := run[map[string]string](t, "members", text, `[1, {"a":[2]} ,"x"]`, `{}`, `[]`)
	for i, want := range []map[string]string{
		{"big": "12345678901234567890", "price": "1.50", `a"b`: `{"c":[1,{"d":[]}],"e":{}}`, "n": "null", "s": `"}],:"`},
		{"0": "1", "1": `{"a":[2]}`, "2": `"x"`}, {}, {},
	} {
		if !reflect.DeepEqual(members[i], want) {
			t.Errorf("text %d has the members %q", i, members[i])
		}
	}
	long := fmt.Sprintf(`{"rows":[%s],"total":1.50}`,
		`["aaaaaaaaaaaaaaaaaaaaaaaaaaaa",1],["bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb",2]`)
	pretty := run[string](t, "pretty", long, `{"a":[1,2.0]}`, `[]`)
	for i, want := range []string{`{
  "rows": [
    ["aaaaaaaaaaaaaaaaaaaaaaaaaaaa", 1],
    ["bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb", 2]
  ],
  "total": 1.50
}`, `{"a": [1, 2.0]}`, `[]`} {
		if pretty[i] != want {
			t.Errorf("text %d is shown as\n%s", i, pretty[i])
		}
	}
	same := run[bool](t, "same", []string{`{"a":1,"b":[2]}`, "{\"b\": [2],\n\"a\": 1}"}, []string{`[1,2]`, `[2,1]`},
		[]string{`Oslo`, `"Oslo"`})
	if !reflect.DeepEqual(same, []bool{true, false, false}) {
		t.Errorf("same: %v", same)
	}
}

func TestChallenges(t *testing.T) {
	t.Parallel()
	const full = `Bearer error="insufficient_scope", error_description="It says \"no\", or so.", scope="a b",max_age=900`
	got := run[map[string]string](t, "parseChallenge", full, `Basic realm="x", Bearer scope="a"`, `Basic realm="x"`, nil)
	for i, want := range []map[string]string{
		{"error": "insufficient_scope", "error_description": `It says "no", or so.`, "scope": "a b", "max_age": "900"},
		{"scope": "a"}, {}, {},
	} {
		if !reflect.DeepEqual(got[i], want) {
			t.Errorf("challenge %d is read as %q", i, got[i])
		}
	}
}

// What the dispatcher says of arguments is found again at the fields that it is about.
func TestFailuresAreFoundAtTheirFields(t *testing.T) {
	t.Parallel()
	compiled, err := schema.Compile(json.RawMessage(`{"type":"object","properties":{"limit":{"type":"integer",
		"maximum":50},"note":{"type":"string"},"rows":{"type":"array","items":{"type":"object","properties":{"unit price":
		{"type":"number"}},"required":["unit price"],"additionalProperties":false}}},"required":["note"],
		"additionalProperties":false}`), schema.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	type failure struct{ Path, Message string }
	tests := []struct {
		arguments string
		want      []failure
	}{
		{`{"limit":99,"note":"x"}`, []failure{{"limit", "99 is too large; allowed: at most 50"}}},
		{`{"limit":99,"rows":[{},{"unit price":"1"}],"nope":1}`, []failure{
			{"limit", "99 is too large; allowed: at most 50"},
			{`rows[0]["unit price"]`, "is missing; allowed: number"},
			{`rows[1]["unit price"]`, `"1" is a string; write 1 without quotation marks; allowed: number`},
			{"nope", `is not a known name (did you mean "note"?); allowed: "limit", "note", "rows"`},
			{"note", "is missing; allowed: string"},
		}},
	}
	said := []any{"The tracker says: limit: no", ""}
	for _, test := range tests {
		said = append(said, fmt.Sprintf("The call of %s has %s", "greet", compiled.Validate([]byte(test.arguments))))
	}
	got := run[[]failure](t, "failures", said...)
	if len(got[0])+len(got[1]) > 0 {
		t.Errorf("other texts are read as %q, %q", got[0], got[1])
	}
	for i, test := range tests {
		if !reflect.DeepEqual(got[i+2], test.want) {
			t.Errorf("%q\nis read as %q", said[i+2], got[i+2])
		}
	}
}
