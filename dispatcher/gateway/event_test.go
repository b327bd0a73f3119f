package gateway

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/events"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"patchbay/shared/principal"
)

// seen is what a handler saw of a request.
type seen struct {
	Method, Host, Path, RequestURI, Query string
	RemoteAddr, RequestID                 string
	Received                              int64       // milliseconds since the Unix epoch
	Header                                http.Header // those of the table only
	Body                                  string
	Length                                int64
	Principal                             principal.Principal
	PrincipalError                        string
	Door                                  door
}

func TestRequestsFromRecordedEvents(t *testing.T) {
	t.Parallel()
	call := string(read(t, "call.body"))
	const (
		restHost   = "a1b2c3d4e5.execute-api.eu-central-1.amazonaws.com"
		httpHost   = "f6g7h8i9j0.execute-api.eu-central-1.amazonaws.com"
		urlHost    = "x9y8z7w6v5u4.lambda-url.eu-central-1.on.aws"
		restID     = "0f9ad5d8-3c1b-4c55-9f0e-7d1c2f1b7a10"
		v2ID       = "XcV1bGmRoAMEjbw="
		namedNoOne = "authorizer context: want subject or clientId, got neither"
	)
	post := func(host, id string, door door, change func(*seen)) seen {
		s := seen{
			Method: "POST", Host: host, Path: "/mcp", RequestURI: "/mcp", RemoteAddr: "203.0.113.24", RequestID: id,
			Received: 1794647564012,
			Header:   http.Header{"Mcp-Protocol-Version": {"2026-07-28"}, "Mcp-Name": {"get_weather"}},
			Body:     call, Length: int64(len(call)), Door: door,
		}
		if change != nil {
			change(&s)
		}
		return s
	}
	user := principal.Principal{
		Subject: "user-17", Issuer: "https://login.example.com/", ClientID: "desktop",
		Scopes: []string{"weather:read"}, AuthTime: 1794640000,
	}
	tests := []struct {
		event string
		want  seen
	}{
		{"rest-call", post(restHost, restID, restAPI, nil)},
		{"rest-base64", post(restHost, restID, restAPI, nil)},
		{"rest-authorized-duplicates", post(restHost, restID, restAPI, func(s *seen) {
			s.Header["Mcp-Name"] = []string{"get_weather", "drop_table", "third"}
			s.Principal = user
			s.Principal.Scopes = []string{"weather:read", "tracker:write"}
			s.Principal.ACR, s.Principal.Tenant = "urn:example:mfa", "north"
		})},
		{"rest-get", post(restHost, restID, restAPI, func(s *seen) {
			s.Method, s.Body, s.Length = "GET", "", 0
			s.Query = "a=1&a=2&b+c=%C3%BC%26%3D"
			s.RequestURI = "/mcp?" + s.Query
		})},
		{"http-call", post(httpHost, v2ID, httpAPI, nil)},
		{"http-payload-1", post(restHost, restID, httpAPI, nil)},
		{"http-custom-domain", post("mcp.example.com", v2ID, httpAPI, nil)},
		{"http-jwt", post(httpHost, v2ID, httpAPI, func(s *seen) { s.PrincipalError = namedNoOne })},
		{"http-authorized-stage", post(httpHost, v2ID, httpAPI, func(s *seen) {
			s.Header["Cookie"] = []string{"theme=dark; lang=de"}
			s.Principal = user
		})},
		{"url-call", post(urlHost, v2ID, functionURL, func(s *seen) {
			s.Header["Mcp-Name"] = []string{"get_weather,drop_table"}
		})},
		{"url-base64-iam", post(urlHost, v2ID, functionURL, func(s *seen) {
			s.Query = "q=%C3%BC&q=2"
			s.RequestURI = "/mcp?q=%C3%BC&q=2"
		})},
	}
	for _, test := range tests {
		t.Run(test.event, func(t *testing.T) {
			t.Parallel()
			got := see(t, read(t, test.event+".json"))
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("request (-want +got):\n%s", diff)
			}
		})
	}
}

// see returns what the handler sees of an event.
func see(t *testing.T, raw []byte) seen {
	t.Helper()
	e, err := parseEvent(raw)
	if err != nil {
		t.Fatal(err)
	}
	r, err := e.request(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	who, err := Principal(r.Context())
	s := seen{
		Method: r.Method, Host: r.Host, Path: r.URL.Path, RequestURI: r.RequestURI, Query: r.URL.RawQuery,
		RemoteAddr: r.RemoteAddr, RequestID: FromContext(r.Context()).RequestID, Header: http.Header{},
		Received: FromContext(r.Context()).Received.UnixMilli(),
		Body:     string(body), Length: r.ContentLength, Principal: who, Door: e.door,
	}
	if err != nil {
		s.PrincipalError = err.Error()
	}
	for _, name := range []string{"Mcp-Protocol-Version", "Mcp-Name", "Cookie", "Host"} {
		if values := r.Header[name]; values != nil {
			s.Header[name] = values
		}
	}
	return s
}

// The golden events must survive aws-lambda-go's own types, or they are no such events.
func TestRecordedEventsRoundTrip(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/*.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("testdata: %v, %d files", err, len(files))
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			raw := read(t, filepath.Base(file))
			e, err := parseEvent(raw)
			if err != nil {
				t.Fatal(err)
			}
			var official any = &events.APIGatewayProxyRequest{}
			if e.version == "2.0" {
				official = &events.APIGatewayV2HTTPRequest{}
			}
			if err := json.Unmarshal(raw, official); err != nil {
				t.Fatal(err)
			}
			again, err := json.Marshal(official)
			if err != nil {
				t.Fatal(err)
			}
			f, err := parseEvent(again)
			if err != nil {
				t.Fatal(err)
			}
			if e.version == "1.0" {
				f.version, f.door, f.path = e.version, e.door, e.path // the official type has no version
			}
			if diff := cmp.Diff(e, f, cmp.AllowUnexported(event{}), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("aws-lambda-go's copy of the event is read differently:\n%s", diff)
			}
		})
	}
}

func TestMalformedEventsNameTheField(t *testing.T) {
	t.Parallel()
	tests := []struct{ event, want string }{
		{``, "gateway event: want an object, got the end of the event"},
		{`[]`, `gateway event: want an object, got '[' at byte 0`},
		{`null`, `gateway event: want an object, got 'n' at byte 0`},
		{`{"httpMethod":"GET","path":"/"} x`, `gateway event: want the end of the event, got 'x' at byte 32`},
		{`{"httpMethod":7}`, `gateway event: httpMethod: want a string, got '7' at byte 14`},
		{`{"httpMethod":"GET","path":"mcp"}`, `gateway event: path: want a path that begins with a slash, got "mcp"`},
		{`{"httpMethod":"GET","path":"/%zz"}`, `gateway event: path: invalid URL escape "%zz"`},
		{`{"httpMethod":"G T","path":"/"}`, `gateway event: httpMethod: want an HTTP method, got "G T"`},
		{`{"Records":[]}`, `gateway event: httpMethod: want an HTTP method, got ""`},
		{`{"version":"3.0"}`, `gateway event: version: want "1.0", "2.0" or none, got "3.0"`},
		{`{"version":"2.0","rawPath":"/"}`, `gateway event: requestContext.http.method: want an HTTP method`},
		{`{"version":"2.0","requestContext":{"http":{"method":[]}}}`,
			`gateway event: requestContext.http.method: want a string, got '['`},
		{`{"multiValueHeaders":{"A":"b"}}`, `gateway event: multiValueHeaders.A: want a list, got '"'`},
		{`{"httpMethod":"GET","path":"/","headers":{"A":["b"]}}`, `gateway event: headers.A: want a string, got '['`},
		{`{"httpMethod":"GET","path":"/","body":"§","isBase64Encoded":true}`,
			"gateway event: body: isBase64Encoded is true, but illegal base64 data at input byte 0"},
		{`{"isBase64Encoded":"yes"}`, `gateway event: isBase64Encoded: want true or false, got "yes"`},
		{`{"httpMethod":"GET","path":"/","body":"\x"}`, `gateway event: body: a string holds an escape that is not JSON`},
		{`{"body":"\u12`, `gateway event: body: want a closing quote, got the end of the event`},
		{`{"requestContext":{"timeEpoch":"noon"}}`,
			`gateway event: requestContext.timeEpoch: want milliseconds since 1970, got "noon"`},
		{`{"requestContext":{"requestTimeEpoch":1.5}}`,
			`gateway event: requestContext.requestTimeEpoch: want milliseconds since 1970, got 1.5`},
		{`{"requestContext":{"stage":"prod"`, `gateway event: requestContext: want a comma or a closing bracket, got the`},
	}
	handler := New(http.NotFoundHandler(), Options{})
	for _, test := range tests {
		_, err := handler(context.Background(), json.RawMessage(test.event))
		if err == nil || !strings.HasPrefix(err.Error(), test.want) {
			t.Errorf("%s:\n got %v\nwant %s", test.event, err, test.want)
		}
	}
}

func TestPrincipalOfBadAuthorizerContext(t *testing.T) {
	t.Parallel()
	tests := []struct {
		authorizer map[string]string
		want       string
	}{
		{map[string]string{"principalId": "u"}, "authorizer context: want subject or clientId, got neither"},
		{map[string]string{"subject": "u", "authTime": "noon"}, `authorizer context: authTime: want seconds, got "noon"`},
	}
	for _, test := range tests {
		_, err := Principal(newContext(context.Background(), Facts{Authorizer: test.authorizer}))
		if err == nil || err.Error() != test.want {
			t.Errorf("%v: got %v, want %s", test.authorizer, err, test.want)
		}
	}
	if who, err := Principal(context.Background()); err != nil || !who.Anonymous() {
		t.Errorf("without an authorizer: got %v, %v", who, err)
	}
}

func TestUnescapeAgreesWithEncodingJSON(t *testing.T) {
	t.Parallel()
	for _, inside := range []string{
		``, `plain`, `\"\\\/\b\f\n\r\t`, `ü\u00fc\u20ac`, `\ud83d\ude00!`, `\ud83d`, `\ud83dx`, `\ud83d\u0041`, `\ude00`,
		`\u003cb\u003e\u0026`, `a\u0000b`,
	} {
		var want string
		if err := json.Unmarshal([]byte(`"`+inside+`"`), &want); err != nil {
			t.Fatal(err)
		}
		if got, err := unescape(inside); err != nil || string(got) != want {
			t.Errorf("unescape(%s) = %q, %v; want %q", inside, got, err, want)
		}
	}
}

// FuzzEvent says that no event makes the adapter panic, and that what is an event for encoding/json has the same body
// here.
func FuzzEvent(f *testing.F) {
	files, _ := filepath.Glob("testdata/*.json")
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(raw)
	}
	echo := New(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.Copy(w, r.Body) }), Options{})
	f.Fuzz(func(t *testing.T, raw []byte) {
		out, err := echo(context.Background(), raw)
		if err != nil || !json.Valid(raw) {
			return
		}
		if _, err := io.ReadAll(out); err != nil {
			t.Fatal(err)
		}
	})
}

// FuzzBody says that a body arrives as it was sent, through either form.
func FuzzBody(f *testing.F) {
	f.Add([]byte(`{"jsonrpc":"2.0"}`), "GET")
	f.Add([]byte("\x00\xff\u2028\U0001F600\\\"</script>"), "POST")
	f.Fuzz(func(t *testing.T, body []byte, name string) {
		for _, binary := range []bool{true, false} {
			want, event := proxyEvent(t, body, name, binary)
			var got []byte
			handler := New(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				got, _ = io.ReadAll(r.Body)
			}), Options{Buffered: true})
			if _, err := handler(context.Background(), event); err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(got, want) {
				t.Errorf("base64 %v: got %q, want %q", binary, got, want)
			}
		}
	})
}

// proxyEvent encodes a version 1 event with aws-lambda-go, and returns the body that its encoder can carry with it.
func proxyEvent(t *testing.T, body []byte, name string, binary bool) ([]byte, json.RawMessage) {
	t.Helper()
	e := events.APIGatewayProxyRequest{HTTPMethod: "POST", Path: "/mcp", Headers: map[string]string{"X-Name": name}}
	if binary {
		e.IsBase64Encoded, e.Body = true, base64.StdEncoding.EncodeToString(body)
	} else {
		body = bytes.ToValidUTF8(body, []byte("\uFFFD"))
		e.Body = string(body)
	}
	event, err := json.Marshal(e)
	if err != nil {
		t.Fatal(err)
	}
	return body, event
}

func read(t testing.TB, name string) []byte {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// BenchmarkCall is a small POST whose answer is one JSON document; "official" reads the same event with the types of
// aws-lambda-go, and does nothing else.
func BenchmarkCall(b *testing.B) {
	raw := json.RawMessage(read(b, "rest-call.json"))
	compact := &bytes.Buffer{}
	if err := json.Compact(compact, raw); err != nil {
		b.Fatal(err)
	}
	raw = compact.Bytes()
	answer := []byte(`{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"11 °C"}]}}`)
	handler := New(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(answer)
	}), Options{})
	b.Run("gateway", func(b *testing.B) {
		b.ReportAllocs()
		buffer := make([]byte, 4096)
		for b.Loop() {
			out, err := handler(context.Background(), raw)
			if err != nil {
				b.Fatal(err)
			}
			if _, err := out.Read(buffer); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("official", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			var e events.APIGatewayProxyRequest
			if err := json.Unmarshal(raw, &e); err != nil {
				b.Fatal(err)
			}
		}
	})
}
