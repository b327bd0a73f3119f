package wire

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// Every file parses, names are unique, and each case says where its expectation comes from.
func TestCasesParse(t *testing.T) {
	t.Parallel()
	seen := map[string]string{}
	for _, name := range append(Names(), Guarded) {
		cases, err := Load(name)
		if err != nil {
			t.Error(err)
			continue
		}
		for _, c := range cases {
			if before, ok := seen[c.Name]; ok {
				t.Errorf("%s:%d: case %q is in %s, too", c.File, c.Line, c.Name, before)
			}
			seen[c.Name] = c.File
		}
	}
	if len(seen) < 120 {
		t.Errorf("%d cases, want at least 120", len(seen))
	}
}

func TestParseRefuses(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, text, want string }{
		{"nothing before a case", "call x", "before the first case"},
		{"no source", "case a\ncall x\nexpect 200", "no spec or policy line"},
		{"no request", "case a\nspec s", "no request"},
		{"no expectation", "case a\nspec s\ncall x", "no expect line"},
		{"unknown directive", "case a\nspec s\ncall x\nfrobnicate", "unknown directive"},
		{"arguments that are not JSON", "case a\nspec s\ncall x {", "is not JSON"},
		{"an operator nobody knows", "case a\nspec s\ncall x\nexpect 200\nmatch result ? 1", "unknown operator"},
		{"a type nobody knows", "case a\nspec s\ncall x\nexpect 200\nmatch result is thing", "unknown type"},
		{"a word that is no expectation", "case a\nspec s\ncall x\nexpect ok", "want statuses"},
		{"a header without a value", "case a\nspec s\ncall x\nheader Foo\nexpect 200", "want NAME: VALUE"},
		{"an answer's header without a value", "case a\nspec s\ncall x\nanswer-header= Foo\nexpect 200", "want NAME VALUE"},
		{"a document that is not JSON", "case a\nspec s\nhttp GET\ndocument {\nexpect 200", "unexpected EOF"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			_, err := parse("f.wire", test.text)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want one that contains %q", err, test.want)
			}
		})
	}
}

func TestRequestBytes(t *testing.T) {
	t.Parallel()
	const want = "POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:1\r\nConnection: close\r\nContent-Type: application/json\r\n" +
		"MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: t\r\naccept: */*\r\n" +
		"Content-Length: 260\r\n\r\n" +
		`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"t","arguments":{"a": 1},"s":"v\"w",` +
		`"_meta":{"io.modelcontextprotocol/clientInfo":{"name":"wire-cases","version":"1.0.0"},` +
		`"io.modelcontextprotocol/protocolVersion":"2026-07-28","progressToken":0}}}`
	const text = `case a
spec s
call t {"a": 1}
id 7
param s "${state}"
meta progressToken 0
meta io.modelcontextprotocol/clientCapabilities -
header accept: */*
expect 200`
	step := onlyStep(t, text)
	got, err := step.request("http://127.0.0.1:1/mcp", map[string]any{"state": `v"w`})
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestVariablesAreFilledIn(t *testing.T) {
	t.Parallel()
	step := onlyStep(t, "case a\nspec s\nhttp GET\nat /other?token=${token}\n"+
		"header Authorization: Bearer ${token}\nexpect 200")
	got, err := step.request("http://127.0.0.1:1/mcp", map[string]any{"token": "t0k", "number": 1})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"GET /other?token=t0k HTTP/1.1\r\n", "\r\nAuthorization: Bearer t0k\r\n"} {
		if !strings.Contains(string(got), want) {
			t.Errorf("got %q, want %q in it", got, want)
		}
	}
}

func TestMutate(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ how, want string }{
		{"", "AbcdA"}, {"middle", "AbAdA"}, {"last", "AbcdB"}, {"cut", "Ab"},
	} {
		if got := mutate("AbcdA", test.how); got != test.want {
			t.Errorf("mutate %q: %q, want %q", test.how, got, test.want)
		}
	}
}

// What an answer may fall short of, one row each; the first row is the answer that is as wanted.
func TestPlay(t *testing.T) {
	t.Parallel()
	const (
		good = `{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","n":9007199254740993,"list":["a"]}}`
		note = `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":0,"progress":1}}`
		fail = `{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"m"}}`

		stream = "data: " + note + "\n\n: keep-alive\n\nevent: message\ndata: " + good + "\n\n"

		asJSON, asStream = "application/json", "text/event-stream"
	)
	long := strings.Replace(good, "complete", strings.Repeat("x", 500), 1)
	tests := []struct{ name, kind, answer, expect, want string }{
		{"result", asJSON, good, "expect 200 result", ""},
		{"number", asJSON, good, "expect 200\nmatch result.n = 9007199254740993", ""},
		{"list", asJSON, good, "expect 200\nmatch result.list has \"a\"\nmatch result.list.0 = \"a\"", ""},
		{"pattern", asJSON, good, "expect 200\nmatch result.resultType ~ ^comp\nmatch result.none absent", ""},
		{"pattern far into a value", asJSON, long, "expect 200\nmatch result ~ x\"}$", ""},
		{"stream", asStream, stream, "expect 200 result\nprogress 1 0\nmessages 2\nmatch@0 params.progress = 1", ""},

		{"status", asJSON, good, "expect 400", "status 200"},
		{"code", asJSON, fail, "expect 200 -32602", "code -32601"},
		{"result instead of an error", asJSON, good, "expect 200 -32602", "a result, want"},
		{"error instead of a result", asJSON, fail, "expect 200 result", "want a result"},
		{"no message", asJSON, strings.Replace(fail, `"m"`, `""`, 1), "expect 200 -32601", "without a message"},
		{"both", asJSON, strings.Replace(fail, `"id"`, `"result":{},"id"`, 1), "expect 200 -32601", "exactly one"},
		{"id", asJSON, strings.Replace(good, `"id":1`, `"id":"1"`, 1), "expect 200 result", "id is"},
		{"neighbouring number", asJSON, good, "expect 200\nmatch result.n = 9007199254740992", "result.n is"},
		{"absent", asJSON, good, "expect 200\nmatch result.other = 1", "is absent"},
		{"present", asJSON, good, "expect 200\nmatch result.n absent", "want it absent"},
		{"kind", asJSON, good, "expect 200\nmatch result.n is string", "want type string"},
		{"forbidden pattern", asJSON, good, "expect 200\nmatch result !~ complete", "want !~"},
		{"exact header", asJSON, good, "expect 200\nanswer-header= Content-Type application/json", ""},
		{"document", asJSON, `{"a":[1]}`, "expect 200\ndocument {\"a\": [1]}", ""},

		{"header", asJSON, good, "expect 200\nanswer-header X-Accel-Buffering no", "header X-Accel-Buffering"},
		{"header that only begins so", asJSON, good, "expect 200\nanswer-header= Content-Type application", "want [\"app"},
		{"another document", asJSON, `{"a":[1,2]}`, "expect 200\ndocument {\"a\": [1]}", "the body is"},
		{"present header", asJSON, good, "expect 200\nno-answer-header Content-Type", "Content-Type is there"},
		{"body", asJSON, good, "expect 200 empty", "want none"},
		{"content type", "text/html", good, "expect 200 result", "content type"},
		{"not JSON", asJSON, "{", "expect 200 result", "is not JSON"},
		{"no progress", asJSON, good, "expect 200\nprogress 1 0", "0 progress notifications"},
		{"token", asStream, stream, "expect 200\nprogress 1 \"0\"", "progressToken is 0"},
		{"capture", asJSON, good, "expect 200\ncapture v result.nothing", "nothing at"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			err := playAgainst(t, test.kind, test.answer, "case a\nspec s\ncall x\n"+test.expect)
			if test.want == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want one that contains %q", err, test.want)
			}
		})
	}
}

func playAgainst(t *testing.T, kind, body, text string) error {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", kind)
		_, _ = io.WriteString(w, body)
	}))
	t.Cleanup(server.Close)
	cases, err := parse("f.wire", text)
	if err != nil {
		t.Fatal(err)
	}
	return cases[0].Play(context.Background(), server.URL)
}

func onlyStep(t *testing.T, text string) *Step {
	t.Helper()
	cases, err := parse("f.wire", text)
	if err != nil {
		t.Fatal(err)
	}
	return cases[0].Steps[0]
}
