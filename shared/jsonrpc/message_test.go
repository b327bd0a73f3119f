package jsonrpc_test

import (
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"patchbay/shared/jsonrpc"
)

func TestDecode(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		body   string
		id     string
		method string
		params string
	}{
		"request":            {`{"jsonrpc":"2.0","id":1,"method":"m","params":{"a":1}}`, `1`, "m", `{"a":1}`},
		"notification":       {`{"jsonrpc":"2.0","method":"m"}`, ``, "m", ``},
		"id a string":        {`{"jsonrpc":"2.0","id":"a\u0041","method":"m"}`, `"a\u0041"`, "m", ``},
		"id an empty string": {`{"jsonrpc":"2.0","id":"","method":"m"}`, `""`, "m", ``},
		"id past 2^53":       {`{"jsonrpc":"2.0","id":9007199254740993,"method":"m"}`, `9007199254740993`, "m", ``},
		"id past 2^64": {`{"jsonrpc":"2.0","id":-18446744073709551617,"method":"m"}`,
			`-18446744073709551617`, "m", ``},
		"id with a zero fraction": {`{"jsonrpc":"2.0","id":1.0,"method":"m"}`, `1.0`, "m", ``},
		"id with an exponent":     {`{"jsonrpc":"2.0","id":1e3,"method":"m"}`, `1e3`, "m", ``},
		"white space": {" \n{ \"jsonrpc\" : \"2.0\" , \"id\" : 7 , \"method\" : \"m\" , \"params\" : { } }\r\n",
			`7`, "m", `{ }`},
		"escaped method": {`{"jsonrpc":"2.0","id":1,"method":"\u006d"}`, `1`, "m", ``},
		"same key at other levels": {`{"jsonrpc":"2.0","id":1,"method":"m","params":{"id":{"id":[{"id":1},{"id":2}]}}}`,
			`1`, "m", `{"id":{"id":[{"id":1},{"id":2}]}}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := jsonrpc.Decode([]byte(test.body))
			if err != nil {
				t.Fatal(err)
			}
			if got.ID.String() != test.id || got.Method != test.method || string(got.Params) != test.params {
				t.Errorf("got id %s, method %q, params %s", got.ID, got.Method, got.Params)
			}
			if got.IsNotification() != (test.id == "") {
				t.Errorf("IsNotification is %v", got.IsNotification())
			}
		})
	}
}

func TestDecodeRefuses(t *testing.T) {
	t.Parallel()
	const parse, invalid = jsonrpc.CodeParseError, jsonrpc.CodeInvalidRequest
	deep := strings.Repeat("[", jsonrpc.MaxDepth+1) + strings.Repeat("]", jsonrpc.MaxDepth+1)
	many := func(n int) string {
		var b strings.Builder
		for i := range n {
			b.WriteString(`"k` + strconv.Itoa(i) + `":1,`)
		}
		return b.String()
	}
	for name, test := range map[string]struct {
		body string
		code int
		id   string // what could be read all the same
		says string
	}{
		"nothing":                 {"", parse, "", "empty"},
		"white space":             {" \n", parse, "", "empty"},
		"no JSON":                 {"{nope", parse, "", "JSON"},
		"two values":              {`{} {}`, parse, "", "one JSON value"},
		"a comment":               {`{} // x`, parse, "", "JSON"},
		"bytes of Latin-1":        {"{\"a\":\"\xe9\"}", parse, "", "UTF-8"},
		"byte order mark":         {"\xef\xbb\xbf{}", parse, "", "JSON"},
		"a hundred thousand deep": {strings.Repeat("[", 100_000), parse, "", "JSON"},
		"129 deep":                {strings.Repeat("[", 130) + strings.Repeat("]", 130), invalid, "", "deep"},
		"batch":                   {`[{"jsonrpc":"2.0","id":1,"method":"m"}]`, invalid, "", "batch"},
		"a string":                {`"m"`, invalid, "", "object"},
		"null":                    {`null`, invalid, "", "object"},
		"empty object":            {`{}`, invalid, "", "jsonrpc"},
		"version 1.0":             {`{"jsonrpc":"1.0","id":1,"method":"m"}`, invalid, "1", `"2.0"`},
		"version a number":        {`{"jsonrpc":2.0,"id":1,"method":"m"}`, invalid, "1", `"2.0"`},
		"version missing":         {`{"id":1,"method":"m"}`, invalid, "1", "jsonrpc"},
		"method missing":          {`{"jsonrpc":"2.0","id":"x"}`, invalid, `"x"`, "method"},
		"method a number":         {`{"jsonrpc":"2.0","id":1,"method":5}`, invalid, "1", "method"},
		"method null":             {`{"jsonrpc":"2.0","id":1,"method":null}`, invalid, "1", "method"},
		"method in another case":  {`{"jsonrpc":"2.0","id":1,"Method":"m"}`, invalid, "1", "Method"},
		"id null":                 {`{"jsonrpc":"2.0","id":null,"method":"m"}`, invalid, "", "id"},
		"id a fraction":           {`{"jsonrpc":"2.0","id":1.5,"method":"m"}`, invalid, "", "id"},
		"id a tiny number":        {`{"jsonrpc":"2.0","id":1e-3,"method":"m"}`, invalid, "", "id"},
		"id a huge exponent":      {`{"jsonrpc":"2.0","id":1e999999999,"method":"m"}`, invalid, "", "id"},
		"id an object":            {`{"jsonrpc":"2.0","id":{},"method":"m"}`, invalid, "", "id"},
		"id true":                 {`{"jsonrpc":"2.0","id":true,"method":"m"}`, invalid, "", "id"},
		"params an array":         {`{"jsonrpc":"2.0","id":1,"method":"m","params":[]}`, invalid, "1", "params"},
		"params null":             {`{"jsonrpc":"2.0","id":1,"method":"m","params":null}`, invalid, "1", "params"},
		"a response":              {`{"jsonrpc":"2.0","id":1,"result":{}}`, invalid, "1", "response"},
		"an error response":       {`{"jsonrpc":"2.0","id":1,"error":{}}`, invalid, "1", "response"},
		"request and response":    {`{"jsonrpc":"2.0","id":1,"method":"m","result":{}}`, invalid, "1", "response"},
		"unknown member":          {`{"jsonrpc":"2.0","id":1,"method":"m","x":1}`, invalid, "1", `"x"`},
		"method twice":            {`{"jsonrpc":"2.0","id":1,"method":"m","method":"n"}`, invalid, "1", "twice"},
		"method twice, escaped":   {`{"jsonrpc":"2.0","id":1,"method":"m","metho\u0064":"n"}`, invalid, "1", "twice"},
		"key twice, deep": {`{"jsonrpc":"2.0","id":1,"method":"m","params":{"a":[{"b":1,"b":1}]}}`,
			invalid, "1", `"b"`},
		"id twice":          {`{"jsonrpc":"2.0","id":1,"method":"m","id":2}`, invalid, "", "twice"},
		"id twice, escaped": {`{"jsonrpc":"2.0","id":1,"method":"m","\u0069d":1}`, invalid, "", "twice"},
		"id after a fault": {`{"jsonrpc":"2.0","params":{"a":1,"a":1},"method":"m","id":"x"}`,
			invalid, `"x"`, "twice"},
		"bad id beside a fault":  {`{"jsonrpc":"2.0","params":{"a":1,"a":1},"id":1.5}`, invalid, "", "twice"},
		"id inside a fault":      {`{"jsonrpc":"2.0","method":"m","params":{"id":1,"id":1}}`, invalid, "", "twice"},
		"id beside a deep value": {`{"jsonrpc":"2.0","params":` + deep + `,"id":7,"method":"m"}`, invalid, "7", "deep"},
		"id inside a batch":      {`[{"jsonrpc":"2.0","id":1,"id":1}]`, invalid, "", "twice"},
		"key twice among many":   {`{` + many(1000) + `"k500":1}`, invalid, "", "k500"},
		"key twice, the 17th":    {`{` + many(17) + `"k16":1}`, invalid, "", "k16"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := jsonrpc.Decode([]byte(test.body))
			var e *jsonrpc.Error
			if !errors.As(err, &e) {
				t.Fatalf("got %+v and error %v, want an *Error", got, err)
			}
			if e.Code != test.code || got.ID.String() != test.id || !strings.Contains(e.Message, test.says) {
				t.Errorf("got code %d, id %q, message %q", e.Code, got.ID, e.Message)
			}
		})
	}
}

// The method of a refused message tells how to answer it, where it is one and the only one.
func TestDecodeTellsTheMethodOfWhatItRefuses(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]string{
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"a":1,"a":2}}`: "tools/call",
		`{"jsonrpc":"2.0","id":1,"id":1,"method":"tools\u002fcall"}`:            "tools/call",
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","x":1}`:                  "tools/call",
		`{"id":1,"method":"tools/call"}`:                                        "tools/call",
		`{"jsonrpc":"2.0","id":1,"method":"m","method":"m"}`:                    "",
		`{"jsonrpc":"2.0","id":1,"id":2,"method":5}`:                            "",
		`{"jsonrpc":"2.0","id":1,"method":["m"]}`:                               "",
		`{"jsonrpc":"2.0","id":1,"id":1,"Method":"m","params":{"method":"m"}}`:  "",
		`{"method":"m"`: "",
	} {
		got, err := jsonrpc.Decode([]byte(body))
		if err == nil || got.Method != want || got.Params != nil {
			t.Errorf("%s: got method %q, params %s, error %v; want method %q and an error",
				body, got.Method, got.Params, err, want)
		}
	}
}

func TestAppend(t *testing.T) {
	t.Parallel()
	request, err := jsonrpc.Decode([]byte(`{"jsonrpc":"2.0","id":9007199254740993,"method":"m"}`))
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct{ got, want string }{
		"result": {
			string(jsonrpc.AppendResult(nil, request.ID, json.RawMessage(`{"a":1}`))),
			`{"jsonrpc":"2.0","id":9007199254740993,"result":{"a":1}}`,
		},
		"error": {
			string(jsonrpc.AppendError(nil, request.ID, jsonrpc.Errorf(-32601, "no %q", "m"))),
			`{"jsonrpc":"2.0","id":9007199254740993,"error":{"code":-32601,"message":"no \"m\""}}`,
		},
		"error without id": {
			string(jsonrpc.AppendError(nil, jsonrpc.ID{}, &jsonrpc.Error{Code: -32700, Message: "x", Data: []int{1}})),
			`{"jsonrpc":"2.0","error":{"code":-32700,"message":"x","data":[1]}}`,
		},
		"error whose data cannot be encoded": {
			string(jsonrpc.AppendError(nil, jsonrpc.ID{}, &jsonrpc.Error{Code: -1, Message: "x", Data: func() {}})),
			`{"jsonrpc":"2.0","error":{"code":-1,"message":"x"}}`,
		},
		"notification": {
			string(jsonrpc.AppendNotification(nil, "notifications/progress", json.RawMessage(`{}`))),
			`{"jsonrpc":"2.0","method":"notifications/progress","params":{}}`,
		},
	} {
		if diff := cmp.Diff(test.want, test.got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestErrorIsComparesCodes(t *testing.T) {
	t.Parallel()
	err := error(jsonrpc.Errorf(jsonrpc.CodeInvalidParams, "one"))
	if !errors.Is(err, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams}) {
		t.Error("errors of one code differ")
	}
	if errors.Is(err, &jsonrpc.Error{Code: jsonrpc.CodeParseError}) {
		t.Error("errors of two codes are the same")
	}
}

func TestCanonicalInteger(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"0": "0", "-0": "0", "0.0": "0", "0e5": "0", "42": "42", "42.0": "42", "4.2e1": "42", "4.2E+1": "42", "420e-1": "42",
		"-7": "-7", "9007199254740993": "9007199254740993", "1e3": "1000", "100": "100", "12.50e2": "1250",
		"": "", "-": "", "+1": "", "01": "", "1.": "", ".5": "", "1.5": "", "1e-1": "", "1e": "", "0x10": "", "1e400": "",
		"1e999999999999999999999": "", "1 ": "", "NaN": "", "--1": "", "1e+-3": "",
	} {
		got, ok := jsonrpc.CanonicalInteger(text)
		if got != want || ok != (want != "") {
			t.Errorf("%q is %q, %v; want %q", text, got, ok, want)
		}
	}
}

// FuzzDecode holds the strict reader against encoding/json where meanings could fork: what it accepts, an ordinary
// reader understands the same way, key for key.
func FuzzDecode(f *testing.F) {
	for _, seed := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"m","params":{"a":[1,{"b":"\""}]}}`,
		`{"jsonrpc":"2.0","id":"\\","method":"m","params":{"":{"":{}}}}`,
		`{"jsonrpc":"2.0","method":"m","Method":"n"}`,
		`{"method":"m","id":1,"params":{"id":2,"id":3}}`,
		`[[]]`, `{"a":1,"a":2}`, `{"\ud800":1,"\ufffd":2}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		got, err := jsonrpc.Decode(body)
		var plain map[string]json.RawMessage
		if err != nil {
			// Whatever was wrong, what was read is what an ordinary reader reads: it stands there once.
			if _ = json.Unmarshal(body, &plain); !got.ID.IsZero() && string(plain["id"]) != got.ID.String() {
				t.Errorf("id %s of refused %q, encoding/json reads %s", got.ID, body, plain["id"])
			}
			return
		}
		if err := json.Unmarshal(body, &plain); err != nil {
			t.Fatalf("accepted %q, which encoding/json does not: %v", body, err)
		}
		var method string
		if err := json.Unmarshal(plain["method"], &method); err != nil || method != got.Method {
			t.Errorf("method %q of %q, encoding/json reads %q", got.Method, body, method)
		}
		if string(plain["id"]) != got.ID.String() || string(plain["params"]) != string(got.Params) {
			t.Errorf("id %s, params %s of %q", got.ID, got.Params, body)
		}
		if got.Params == nil {
			return
		}
		members, err := jsonrpc.Members(got.Params)
		if err != nil {
			t.Fatalf("members of accepted params %s: %v", got.Params, err)
		}
		var params map[string]json.RawMessage
		if err := json.Unmarshal(got.Params, &params); err != nil || len(params) != len(members) {
			t.Fatalf("%d members of %s, encoding/json reads %d: %v", len(members), got.Params, len(params), err)
		}
		for _, m := range members {
			if string(params[m.Key]) != string(m.Value) {
				t.Errorf("member %q is %s, encoding/json reads %s", m.Key, m.Value, params[m.Key])
			}
		}
	})
}

func BenchmarkDecode(b *testing.B) {
	body := []byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get_weather","arguments":` +
		`{"location":"Oslo"},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",` +
		`"io.modelcontextprotocol/clientInfo":{"name":"c","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}}}`)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := jsonrpc.Decode(body); err != nil {
			b.Fatal(err)
		}
	}
}
