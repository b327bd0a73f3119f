package logview

import (
	"bytes"
	"encoding/json"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode"

	"patchbay/scripts/callpath"
)

// at is when every line of the tests is read that has no time of its own.
func at() time.Time { return time.Date(2026, 1, 2, 3, 4, 5, 6_000_000, time.Local) }

const id = "7d1f0f9e-0000-4000-8000-000000000001"

func TestPrettyLines(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ source, id, line, want string }{
		"a call": {
			"dispatcher", "", `{"time":"` + at().Format(time.RFC3339Nano) + `","level":"INFO","msg":"tools/call",` +
				`"requestId":"` + id + `","tool":"greet","principal":"0::ada","outcome":"ok","durationMs":12.34,` +
				`"protocolVersion":"2026-07-28","function":"arn:aws:lambda:x"}`,
			"03:04:05.006  dispatcher  7d1f0f9e  tools/call greet ok 12.3ms principal=0::ada\n",
		},
		"a warning": {
			"greet", id, `{"level":"WARN","msg":"slow","seconds":3,"of":"a b"}`,
			"03:04:05.006  greet       7d1f0f9e  WARN slow seconds=3 of=\"a b\"\n",
		},
		"a panic": {
			"greet", id, `{"level":"ERROR","msg":"tool call","outcome":"panic","error":"x","stack":"goroutine 1\n\tmain.go"}`,
			"03:04:05.006  greet       7d1f0f9e  ERROR tool call panic error=x\n" +
				strings.Repeat(" ", 36) + "goroutine 1\n" + strings.Repeat(" ", 36) + "    main.go\n",
		},
		"text": {
			"old_function", id, "Traceback:\r  File \"x\"\r", "03:04:05.006  old_function  7d1f0f9e  Traceback:\n" +
				strings.Repeat(" ", 38) + "  File \"x\"\n" + strings.Repeat(" ", 38) + "\n",
		},
		"nobody's":        {"auth", "", "listening", "03:04:05.006  auth                  listening\n"},
		"JSON, no object": {"auth", "", `[1]`, "03:04:05.006  auth                  [1]\n"},
		"metrics":         {"dispatcher", id, `{"_aws":{"Timestamp":1},"Calls":1}`, ""},
		"an escape":       {"a\x1b[2K", id, "\x1b[31m", "03:04:05.006  a\\u{1b}[2K  7d1f0f9e  \\u{1b}[31m\n"},
	} {
		var out bytes.Buffer
		New(&out, Options{Now: at}).Line(test.source, test.id, []byte(test.line))
		if out.String() != test.want {
			t.Errorf("%s:\ngot  %q\nwant %q", name, &out, test.want)
		}
	}
}

func TestColours(t *testing.T) {
	t.Parallel()
	for outcome, code := range map[string]string{
		"ok": green, "allowed": green, "replayed": green, "input_required": green, "unknown_tool": yellow, "refused": yellow,
		"tool_error": yellow, "tool_crash": red, "panic": red, "failed": red, "anything": red,
	} {
		var out bytes.Buffer
		line := []byte(`{"level":"ERROR","msg":"m","outcome":"` + outcome + `"}`)
		New(&out, Options{Now: at, Colour: true}).Line("greet", id, line)
		if want := "\x1b[" + code + "m" + outcome + "\x1b[0m"; !strings.Contains(out.String(), want) {
			t.Errorf("%s is not in %s: %q", outcome, code, &out)
		}
		if !strings.Contains(out.String(), "\x1b[31mERROR\x1b[0m") {
			t.Errorf("an error is not red: %q", &out)
		}
	}
}

func TestJSONLines(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ id, line, want string }{
		"an object": {id, `{"msg":"a","n": [1, 2],"source":"another"}`,
			`{"source":"greet","requestId":"` + id + `","msg":"a","n":[1,2]}`},
		"an object with an id": {"other", `{"requestId":"` + id + `","msg":"a"}`,
			`{"source":"greet","requestId":"` + id + `","msg":"a"}`},
		"text": {"", "a\x1b\u009b \"b\"", `{"source":"greet","time":"` + at().UTC().Format(time.RFC3339Nano) +
			`","msg":"a\u001b\u009b \"b\""}`},
	} {
		var out bytes.Buffer
		New(&out, Options{Format: JSON, Now: at}).Line("greet", test.id, []byte(test.line))
		if out.String() != test.want+"\n" || !json.Valid(out.Bytes()) {
			t.Errorf("%s:\ngot  %q\nwant %q", name, &out, test.want)
		}
	}
}

// sample is a call that has everything.
func sample() callpath.Call {
	return callpath.Call{
		RequestID: id, HTTPMethod: "POST", Path: "/mcp", Method: "tools/call", Status: 200, DurationMS: 40, Tool: "greet",
		Principal: "0::ada", Outcome: "throttled", Ledger: "released",
		Spans: []callpath.Span{
			{Name: "gateway", DurationMS: 40},
			{Name: "authorizer", StartMS: 1, DurationMS: 9, ColdStart: true, InitMS: 5},
			{Name: "dispatcher", StartMS: 10, DurationMS: 30, Outcome: "throttled"},
			{Name: "greet", StartMS: 20, DurationMS: 0, Outcome: "TooManyRequestsException"},
			{Name: "greet", StartMS: 30, Running: true},
		},
	}
}

func TestDraw(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	Draw(&out, sample(), false)
	want := `call 7d1f0f9e-0000-4000-8000-000000000001 tools/call greet 200 OK throttled 40.0ms
  gateway           +0.0ms  ████████████████████████████████████████     40.0ms
  ├─ authorizer     +1.0ms   ░░░░░████                                    9.0ms  cold start 5.0ms
  └─ dispatcher    +10.0ms            ██████████████████████████████     30.0ms  throttled
     ├─ greet      +20.0ms                      █                         0.0ms  TooManyRequestsException
     └─ greet      +30.0ms                                ██████████    runs on
  ledger: released
  principal: 0::ada
`
	if out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", &out, want)
	}
}

// Whatever the times are, a bar stays in its columns.
func TestBars(t *testing.T) {
	t.Parallel()
	for _, whole := range []float64{0, 1e-9, 40, 1e9} {
		for _, span := range []callpath.Span{
			{}, {StartMS: -5, DurationMS: 3}, {StartMS: 1e12}, {DurationMS: 1e12}, {StartMS: 39, DurationMS: 1, InitMS: 1e12},
			{StartMS: 40, DurationMS: 0, InitMS: 7},
		} {
			if got := []rune(bar(span, whole, false)); len(got) != barWidth || !strings.ContainsRune(string(got), '█') {
				t.Errorf("%+v of %g: %q", span, whole, string(got))
			}
		}
	}
}

// What clients and tools wrote acts on no terminal, with colours or without: those are the only escapes that come out.
func TestNothingActsOnTheTerminal(t *testing.T) {
	t.Parallel()
	const hostile = "a\x1b[2K\u009b31m\u202eb\rc\n03:04:05.006  gateway     forged\x7f\xff"
	encoded, err := json.Marshal(map[string]any{
		"msg": hostile, "level": hostile, "outcome": hostile, "tool": hostile, "stack": hostile, "requestId": hostile,
		"durationMs": hostile, hostile: hostile, "time": hostile,
	})
	if err != nil {
		t.Fatal(err)
	}
	call := callpath.Call{
		RequestID: hostile, HTTPMethod: hostile, Path: hostile, Method: hostile, Tool: hostile, Principal: hostile,
		Outcome: hostile, Ledger: hostile, Refusal: hostile, Spans: []callpath.Span{{Name: hostile, Outcome: hostile}},
	}
	for _, format := range []Format{Pretty, JSON} {
		for _, colour := range []bool{false, true} {
			var out bytes.Buffer
			view := New(&out, Options{Format: format, Colour: colour, Now: at})
			view.Line(hostile, hostile, []byte(hostile))
			view.Line(hostile, "", encoded)
			view.Call(call)
			for line := range strings.Lines(out.String()) {
				text := strings.TrimSuffix(line, "\n")
				for _, code := range append(names, bold, faint, red, green, yellow, "0") {
					text = strings.ReplaceAll(text, "\x1b["+code+"m", "")
				}
				if i := strings.IndexFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }); i >= 0 {
					t.Errorf("%s: acts on a terminal: %q", format, line)
				}
				if strings.HasPrefix(text, "03:04:05.006  gateway ") {
					t.Errorf("%s: a forged line: %q", format, line)
				}
			}
		}
	}
}

// Lines of several writers at once stay whole.
func TestLinesStayWhole(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	view := New(&out, Options{Now: at})
	var writers sync.WaitGroup
	for _, name := range []string{"one", "two", "a_long_name_of_a_tool"} {
		writers.Go(func() {
			for range 50 {
				view.Line(name, id, []byte(`{"msg":"m","from":"`+name+`"}`))
			}
		})
	}
	writers.Wait()
	for line := range strings.Lines(out.String()) {
		fields := strings.Fields(line)
		if len(fields) != 5 || fields[4] != "from="+fields[1] {
			t.Errorf("got %q", line)
		}
	}
}

func TestParseFormat(t *testing.T) {
	t.Parallel()
	for _, format := range []Format{Pretty, JSON} {
		if got, err := ParseFormat(string(format)); got != format || err != nil {
			t.Errorf("%s: %v", format, err)
		}
	}
	if _, err := ParseFormat("xml"); err == nil || !strings.Contains(err.Error(), "pretty, json") {
		t.Errorf("got %v", err)
	}
}
