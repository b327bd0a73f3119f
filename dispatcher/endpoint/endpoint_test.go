package endpoint

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"patchbay/dispatcher/toolcall"
	"patchbay/shared/invoke"
	"patchbay/shared/jsonrpc"
	"patchbay/shared/mcp"
	"patchbay/shared/principal"
	"patchbay/shared/registry"
)

const meta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",` +
	`"io.modelcontextprotocol/clientCapabilities":{}}`

// callerFunc is a Caller that logs nothing, so that every line in the log is the endpoint's.
type callerFunc func(ctx context.Context, request *toolcall.Request) (json.RawMessage, error)

func (f callerFunc) Call(ctx context.Context, request *toolcall.Request) (json.RawMessage, error) {
	return f(ctx, request)
}

func answered(context.Context, *toolcall.Request) (json.RawMessage, error) {
	return json.RawMessage(`{}`), nil
}

// unreadable is a catalogue that cannot be read.
type unreadable struct{}

func (unreadable) Page(
	context.Context, string, registry.PageLimits, func(*registry.Entry) bool,
) (registry.Page, error) {
	return registry.Page{}, errors.New("table is gone")
}

func (unreadable) Entries(context.Context) ([]*registry.Entry, error) {
	return nil, errors.New("table is gone")
}

// asked is one request to a handler, and what came of it.
type asked struct {
	caller  callerFunc
	nobody  error
	verb    string
	header  map[string]string // beside those of a modern tools/call
	body    string
	content io.Reader // instead of body
}

func (a asked) handler(log io.Writer) *Handler {
	if a.caller == nil {
		a.caller = answered
	}
	return New(Config{
		ServerInfo: json.RawMessage(`{"name":"s","version":"1"}`),
		Catalogue:  unreadable{},
		Caller:     a.caller,
		Facts: func(context.Context) (Facts, error) {
			return Facts{RequestID: "req-1", Principal: principal.Principal{Subject: "u"}}, a.nobody
		},
		Log: slog.New(slog.NewJSONHandler(log, nil)),
	})
}

func (a asked) request(t *testing.T) *http.Request {
	if a.content == nil {
		a.content = strings.NewReader(a.body)
	}
	if a.verb == "" {
		a.verb = http.MethodPost
	}
	r := httptest.NewRequestWithContext(t.Context(), a.verb, "/mcp", a.content)
	for name, value := range map[string]string{
		"Content-Type": "application/json", "Accept": "application/json, text/event-stream",
		mcp.HeaderProtocolVersion: mcp.Version20260728, mcp.HeaderMethod: mcp.MethodToolsCall, mcp.HeaderName: "t",
	} {
		r.Header.Set(name, value)
	}
	for name, value := range a.header {
		r.Header.Del(name)
		if value != "" {
			r.Header.Set(name, value)
		}
	}
	return r
}

// ask returns the answer and the lines of the log, without what differs from run to run.
func (a asked) ask(t *testing.T) (*httptest.ResponseRecorder, []map[string]any) {
	t.Helper()
	var log bytes.Buffer
	w := httptest.NewRecorder()
	a.handler(&log).ServeHTTP(w, a.request(t))
	return w, logLines(t, &log)
}

func logLines(t *testing.T, log *bytes.Buffer) (lines []map[string]any) {
	t.Helper()
	for decoder := json.NewDecoder(log); ; {
		var line map[string]any
		err := decoder.Decode(&line)
		if err == io.EOF {
			return lines
		}
		if err != nil {
			t.Fatal(err)
		}
		if duration, ok := line["durationMs"].(float64); !ok || duration < 0 {
			t.Errorf("durationMs is %v", line["durationMs"])
		}
		delete(line, "durationMs")
		delete(line, "time")
		if stack, ok := line["stack"].(string); ok && strings.Contains(stack, "endpoint_test.go") {
			line["stack"] = "of the test"
		}
		lines = append(lines, line)
	}
}

// modernCall is the body of a tools/call.
func modernCall(id, name string) string {
	return `{"jsonrpc":"2.0","id":` + id + `,"method":"tools/call","params":{"name":"` + name + `",` + meta + `}}`
}

// line is a line of the log with the members that all have, changed by pairs of key and value; nil removes a member.
func line(pairs ...any) map[string]any {
	l := map[string]any{
		"level": "INFO", "msg": "request", "requestId": "req-1", "principal": "0::sub:u", "method": "tools/call",
		"tool": "t", "protocolVersion": "2026-07-28", "status": 400.0, "outcome": "refused",
	}
	for i := 0; i < len(pairs); i += 2 {
		key := pairs[i].(string)
		if l[key] = pairs[i+1]; l[key] == nil {
			delete(l, key)
		}
	}
	if code, ok := l["code"].(float64); ok && l["outcome"] == outcomeRefused && l["reason"] == nil {
		l["reason"] = reasons[int(code)]
	}
	return l
}

// Every request that does not reach the Caller leaves one line, which says what it was and how it was answered.
func TestEveryRequestLeavesOneLine(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("n", 1000)
	for name, test := range map[string]struct {
		asked asked
		want  []map[string]any
	}{
		"a call that the caller answers": {asked{body: modernCall("1", "t")}, nil},
		"a call that the caller refuses": {asked{
			body: modernCall("1", "t"),
			caller: func(context.Context, *toolcall.Request) (json.RawMessage, error) {
				return nil, mcp.UnknownTool("t")
			},
		}, nil},
		"a name that the header does not say": {asked{body: modernCall("1", "other")}, []map[string]any{
			line("tool", "other", "code", -32020.0,
				"error", `Header mismatch: Mcp-Name is "t", and the body says "other"`),
		}},
		"a long name": {asked{body: modernCall("1", long), header: map[string]string{mcp.HeaderName: "t"}},
			[]map[string]any{line("tool", long[:128]+"…", "code", -32020.0,
				"error", `Header mismatch: Mcp-Name is "t", and the body says "`+long[:128]+`…"`)}},
		"metadata missing": {asked{
			body: `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t"}}`,
		}, []map[string]any{line("code", -32602.0, "error", `Invalid params: params._meta[`+
			`"io.modelcontextprotocol/protocolVersion"] is missing; it must be the protocol version as a string`)}},
		"a version that nobody speaks": {asked{
			body:   strings.ReplaceAll(modernCall("1", "t"), mcp.Version20260728, "2099-01-01"),
			header: map[string]string{mcp.HeaderProtocolVersion: "2099-01-01"},
		}, []map[string]any{line("protocolVersion", "2099-01-01", "code", -32022.0,
			"error", "Unsupported protocol version")}},
		"no name, of an earlier revision": {asked{
			body: `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{}}`,
			header: map[string]string{
				mcp.HeaderProtocolVersion: mcp.Version20250618, mcp.HeaderMethod: "", mcp.HeaderName: "",
			},
		}, []map[string]any{line("tool", "", "status", 200.0, "protocolVersion", "2025-06-18", "code", -32602.0,
			"error", "Invalid params: params.name is missing; it must name the tool")}},
		"a key that comes twice": {asked{
			body: `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t","name":"t"}}`,
		}, []map[string]any{line("tool", "", "code", -32600.0,
			"error", `Invalid request: the key "name" comes twice in one object`)}},
		"no JSON": {asked{body: `{`}, []map[string]any{line("tool", nil, "method", "", "code", -32700.0,
			"error", "Parse error: the body is not one JSON value")}},
		"another site": {asked{body: modernCall("1", "t"), header: map[string]string{"Origin": "https://evil.example"}},
			[]map[string]any{line("tool", nil, "method", "", "status", 403.0, "code", -32600.0,
				"reason", "origin_not_allowed", "error", "Origin not allowed")}},
		"another verb": {asked{verb: http.MethodGet}, []map[string]any{line("tool", nil, "method", "", "status", 405.0,
			"code", -32600.0, "reason", "method_not_allowed", "error", "Method not allowed: the MCP endpoint takes POST only")}},
		"nobody that is known": {asked{body: modernCall("1", "t"), nobody: errors.New("no subject")}, []map[string]any{
			line("level", "ERROR", "status", 500.0, "outcome", "failed", "code", -32603.0,
				"error", "Internal error (request id req-1)", "cause", "reading the caller of a request: no subject"),
		}},
		"a panic": {asked{
			body:   modernCall("1", "t"),
			caller: func(context.Context, *toolcall.Request) (json.RawMessage, error) { panic("broken") },
		}, []map[string]any{
			line("level", "ERROR", "status", 500.0, "outcome", "panic", "code", -32603.0,
				"error", "Internal error (request id req-1)", "cause", "panic: broken", "stack", "of the test"),
		}},
		"a list that cannot be read": {asked{
			body:   `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{` + meta + `}}`,
			header: map[string]string{mcp.HeaderMethod: mcp.MethodToolsList},
		}, []map[string]any{
			line("level", "ERROR", "method", "tools/list", "tool", nil, "status", 500.0, "outcome", "failed",
				"code", -32603.0, "cause", "listing tools: table is gone",
				"error", "The tool catalogue cannot be read at the moment (request id req-1)"),
		}},
		"discovery": {asked{
			body:   `{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{` + meta + `}}`,
			header: map[string]string{mcp.HeaderMethod: mcp.MethodDiscover},
		}, []map[string]any{line("method", "server/discover", "tool", nil, "status", 200.0, "outcome", "ok")}},
		"a notification": {asked{
			body:   `{"jsonrpc":"2.0","method":"notifications/initialized"}`,
			header: map[string]string{mcp.HeaderProtocolVersion: mcp.Version20251125},
		}, []map[string]any{line("method", "notifications/initialized", "tool", nil, "status", 202.0, "outcome", "ok",
			"protocolVersion", "2025-11-25")}},
		"a long method": {asked{
			body: `{"jsonrpc":"2.0","id":1,"method":"mé` + long + `"}`,
			header: map[string]string{
				mcp.HeaderProtocolVersion: mcp.Version20251125, mcp.HeaderMethod: "", mcp.HeaderName: "",
			},
		}, []map[string]any{line("method", "mé"+long[:125]+"…", "tool", nil, "status", 200.0,
			"protocolVersion", "2025-11-25", "code", -32601.0, "error", "Method not found: mé"+long[:125]+"…")}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, got := test.asked.ask(t)
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("log (-want +got):\n%s", diff)
			}
			if len(got) == 1 && got[0]["status"] != float64(w.Code) {
				t.Errorf("the log says status %v, the client got %d", got[0]["status"], w.Code)
			}
		})
	}
}

// An error carries the id of whatever it answers, where that could be read (basic/index#error-responses).
func TestErrorsCarryTheID(t *testing.T) {
	t.Parallel()
	earlier := map[string]string{mcp.HeaderProtocolVersion: mcp.Version20250618}
	twice := `{"jsonrpc":"2.0","params":{"a":1,"a":1},"id":"x","method":"tools/list"}`
	panics := func(context.Context, *toolcall.Request) (json.RawMessage, error) { panic("broken") }
	for name, test := range map[string]struct {
		asked  asked
		status int
		want   string
	}{
		"a key twice":                      {asked{body: twice}, 400, `"id":"x","error":{"code":-32600,`},
		"a key twice, an earlier revision": {asked{body: twice, header: earlier}, 200, `"id":"x","error":{"code":-32600,`},
		"a key twice, no version": {
			asked{body: twice, header: map[string]string{mcp.HeaderProtocolVersion: ""}}, 200, `"id":"x",`},
		"the id twice, an earlier revision": {
			asked{body: `{"id":1,"id":1,"jsonrpc":"2.0","method":"ping"}`, header: earlier}, 400, `"2.0","error":`},
		"the method twice, an earlier revision": {
			asked{body: `{"id":1,"method":"m","jsonrpc":"2.0","method":"ping"}`, header: earlier}, 400, `"id":1,"error":`},
		"nobody that is known": {
			asked{body: modernCall("7", "t"), nobody: errors.New("no subject")}, 500, `"id":7,"error":{"code":-32603,`},
		"a panic": {asked{body: modernCall("7", "t"), caller: panics}, 500, `"id":7,"error":{"code":-32603,`},
		"a panic, an earlier revision": {
			asked{body: modernCallEarlier, header: earlier, caller: panics}, 200, `"id":7,"error":{"code":-32603,`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, _ := test.asked.ask(t)
			if w.Code != test.status || !strings.Contains(w.Body.String(), test.want) {
				t.Errorf("got %d %s, want %d and %s", w.Code, w.Body, test.status, test.want)
			}
		})
	}
}

const modernCallEarlier = `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"t"}}`

// A panic behind an open stream ends it with an error, and ends what keeps the stream awake.
func TestPanicBehindAStream(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		h := asked{caller: func(context.Context, *toolcall.Request) (json.RawMessage, error) {
			time.Sleep(20 * time.Second)
			panic("broken")
		}}.handler(&log)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, asked{body: modernCall("7", "t")}.request(t))
		time.Sleep(time.Hour)
		const want = ":\n\ndata: {\"jsonrpc\":\"2.0\",\"id\":7,\"error\":{\"code\":-32603," +
			"\"message\":\"Internal error (request id req-1)\"}}\n\n"
		if w.Body.String() != want {
			t.Errorf("got %q, want %q", w.Body, want)
		}
		if lines := logLines(t, &log); len(lines) != 1 || lines[0]["outcome"] != outcomePanic {
			t.Errorf("got log %v", lines)
		}
	})
}

// A client that left neither ends the call nor changes what its context says.
func TestACallOutlivesItsClient(t *testing.T) {
	t.Parallel()
	finished := false
	a := asked{body: strings.Replace(modernCall("7", "t"), `"_meta":{`, `"_meta":{"progressToken":1,`, 1)}
	a.caller = func(ctx context.Context, request *toolcall.Request) (json.RawMessage, error) {
		for step := range 3 {
			request.Progress(invoke.Progress{Progress: float64(step)})
		}
		finished = ctx.Err() == nil
		return json.RawMessage(`{}`), nil
	}
	r := a.request(t)
	ctx, leave := context.WithCancel(r.Context())
	leave()
	w := &leaver{ResponseWriter: httptest.NewRecorder(), left: 1}
	a.handler(io.Discard).ServeHTTP(w, r.WithContext(ctx))
	if !finished || w.tries != 2 {
		t.Errorf("finished is %v after %d writes, want true and 2", finished, w.tries)
	}
}

// A body that ends early or breaks is no message; one that comes in small pieces is.
func TestBodies(t *testing.T) {
	t.Parallel()
	whole := modernCall("1", "t")
	for name, test := range map[string]struct {
		content io.Reader
		length  int64
		want    int
	}{
		"whole":                           {strings.NewReader(whole), int64(len(whole)), 200},
		"whole, length unknown":           {strings.NewReader(whole), -1, 200},
		"byte by byte":                    {iotest.OneByteReader(strings.NewReader(whole)), int64(len(whole)), 200},
		"byte by byte, length unknown":    {iotest.OneByteReader(strings.NewReader(whole)), -1, 200},
		"end told with the last bytes":    {iotest.DataErrReader(strings.NewReader(whole)), int64(len(whole)), 200},
		"shorter than declared":           {strings.NewReader(whole), int64(len(whole)) + 1, 400},
		"nothing of what was declared":    {strings.NewReader(""), 10, 400},
		"broken":                          {iotest.TimeoutReader(iotest.OneByteReader(strings.NewReader(whole))), 200, 400},
		"broken, length unknown":          {iotest.TimeoutReader(iotest.OneByteReader(strings.NewReader(whole))), -1, 400},
		"broken at once":                  {iotest.ErrReader(errors.New("reset")), 10, 400},
		"larger than declared possible":   {strings.NewReader(whole), maxBody + 1, 200},
		"too large, length unknown":       {io.LimitReader(endless{}, maxBody+1), -1, 413},
		"too large, as it was declared":   {io.LimitReader(endless{}, maxBody+1), maxBody + 1, 413},
		"as large as may be, but no JSON": {io.LimitReader(endless{}, maxBody), maxBody, 400},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := asked{content: test.content}.request(t)
			r.ContentLength = test.length
			w := httptest.NewRecorder()
			asked{}.handler(io.Discard).ServeHTTP(w, r)
			if w.Code != test.want || !json.Valid(w.Body.Bytes()) {
				t.Errorf("got %d %s, want %d", w.Code, w.Body, test.want)
			}
		})
	}
}

// endless is a body that never ends.
type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	return len(p), nil
}

func TestDeadline(t *testing.T) {
	t.Parallel()
	started := time.Now()
	for name, test := range map[string]struct {
		received time.Duration // before started
		within   time.Duration
		own      time.Duration // the context's, after started; 0 for none
		want     time.Duration
	}{
		"no bound":                                 {0, 0, 0, 15 * time.Minute},
		"the function's own":                       {0, 0, 60 * time.Second, 60 * time.Second},
		"the gateway's":                            {0, 29 * time.Second, 0, 29 * time.Second},
		"the gateway's is earlier":                 {0, 29 * time.Second, 60 * time.Second, 29 * time.Second},
		"the function's own is earlier":            {0, 29 * time.Second, 10 * time.Second, 10 * time.Second},
		"the gateway began earlier":                {3 * time.Second, 29 * time.Second, 0, 26 * time.Second},
		"the gateway began so that its is earlier": {5 * time.Second, 29 * time.Second, 28 * time.Second, 24 * time.Second},
		"received in the future":                   {-5 * time.Second, 29 * time.Second, 0, 29 * time.Second},
		"received half of its patience before":     {15 * time.Second, 30 * time.Second, 0, 15 * time.Second},
		"received longer before":                   {29 * time.Second, 30 * time.Second, 0, 15 * time.Second},
		"received before it would have given up":   {30 * time.Second, 30 * time.Second, 0, 30 * time.Second},
		"received an age ago":                      {50 * 365 * 24 * time.Hour, 30 * time.Second, 0, 30 * time.Second},
		"received early, no gateway that waits":    {5 * time.Second, 0, 60 * time.Second, 60 * time.Second},
	} {
		ctx := t.Context()
		if test.own > 0 {
			bounded, cancel := context.WithDeadline(ctx, started.Add(test.own))
			defer cancel()
			ctx = bounded
		}
		ex := &exchange{
			Handler: New(Config{AnswerWithin: test.within}),
			http:    httptest.NewRequestWithContext(ctx, http.MethodPost, "/mcp", nil),
			started: started,
			facts:   Facts{Received: started.Add(-test.received).Round(0)},
		}
		if got := ex.deadline().Sub(started) + answerMargin; got.Round(time.Millisecond) != test.want {
			t.Errorf("%s: %v after the start, want %v", name, got, test.want)
		}
	}
	ex := &exchange{Handler: New(Config{AnswerWithin: time.Second}), started: started}
	if got := ex.received(); got != started {
		t.Errorf("a gateway that does not say: got %v, want %v", got, started)
	}
}

// What comes of a request is decided by one revision, or none.
func TestVersionHeaders(t *testing.T) {
	t.Parallel()
	const list = `{"jsonrpc":"2.0","id":1,"method":"ping"}`
	for name, test := range map[string]struct {
		values []string
		status int
		code   int
	}{
		"none":                            {nil, 200, 0},
		"one earlier":                     {[]string{"2025-06-18"}, 200, 0},
		"one earlier, twice":              {[]string{"2025-06-18", " 2025-06-18 "}, 200, 0},
		"two earlier":                     {[]string{"2025-06-18", "2025-11-25"}, 400, mcp.CodeHeaderMismatch},
		"earlier and empty":               {[]string{"2025-06-18", ""}, 400, mcp.CodeHeaderMismatch},
		"earlier and modern":              {[]string{"2025-06-18", "2026-07-28"}, 400, mcp.CodeHeaderMismatch},
		"two in one field":                {[]string{"2025-06-18, 2025-11-25"}, 400, mcp.CodeUnsupportedVersion},
		"unknown":                         {[]string{"1999-01-01"}, 400, mcp.CodeUnsupportedVersion},
		"modern, and the body is earlier": {[]string{"2026-07-28"}, 400, mcp.CodeHeaderMismatch},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := asked{body: list, header: map[string]string{
				mcp.HeaderProtocolVersion: "", mcp.HeaderMethod: "", mcp.HeaderName: "",
			}}.request(t)
			r.Header[http.CanonicalHeaderKey(mcp.HeaderProtocolVersion)] = test.values
			w := httptest.NewRecorder()
			asked{}.handler(io.Discard).ServeHTTP(w, r)
			var got struct{ Error jsonrpc.Error }
			if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil {
				t.Fatal(err)
			}
			if w.Code != test.status || got.Error.Code != test.code {
				t.Errorf("got %d %s, want %d and code %d", w.Code, w.Body, test.status, test.code)
			}
		})
	}
}
