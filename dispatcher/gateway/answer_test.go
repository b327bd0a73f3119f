package gateway

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambda"
	"github.com/google/go-cmp/cmp"
)

// prelude is what a front door reads of a streamed answer.
type prelude struct {
	StatusCode        int
	Headers           map[string]string
	MultiValueHeaders map[string][]string
	Cookies           []string
	Body              string `json:"-"`
}

// serve runs handler on a recorded event through aws-lambda-go and returns the bytes of the answer.
func serve(t *testing.T, event string, options Options, handler http.HandlerFunc) []byte {
	t.Helper()
	out, err := lambda.NewHandler(New(handler, options)).Invoke(context.Background(), read(t, event+".json"))
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func parsePrelude(t *testing.T, out []byte) prelude {
	t.Helper()
	head, body, found := bytes.Cut(out, make([]byte, 8))
	if !found {
		t.Fatalf("no end of the prelude in %q", out)
	}
	var p prelude
	if err := json.Unmarshal(head, &p); err != nil {
		t.Fatalf("%v in %q", err, head)
	}
	p.Body = string(body)
	return p
}

func quiet() Options { return Options{Logger: slog.New(slog.DiscardHandler)} }

func TestStreamedAnswer(t *testing.T) {
	t.Parallel()
	fields := func(h http.Header) {
		h.Set("Content-Type", "application/json")
		h.Set("X-Quote", "say \"hi\"\\ \u00fc\x01")
		h.Set("X-Split", "a\r\nSet-Cookie: evil=1")
		h["Bad Name"] = []string{"x"}
		h["X-Many"] = []string{"1", "2"}
		h["X-None"] = nil
		h["Set-Cookie"] = []string{"a=1", "b=2"}
		h.Set("Connection", "close, X-Hop")
		h.Set("X-Hop", "1")
		h.Set("Transfer-Encoding", "chunked")
		h.Set("Keep-Alive", "timeout=5")
	}
	single := map[string]string{
		"Content-Type": "application/json", "X-Quote": "say \"hi\"\\ \u00fc\x01", "X-Split": "a  Set-Cookie: evil=1",
	}
	joined := map[string]string{"X-Many": "1, 2"}
	for name, value := range single {
		joined[name] = value
	}
	tests := []struct {
		name, event string
		handler     http.HandlerFunc
		want        prelude
	}{
		{"nothing written", "rest-call", func(http.ResponseWriter, *http.Request) {}, prelude{StatusCode: 200}},
		{"status alone", "rest-call", func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusEarlyHints)
			w.WriteHeader(http.StatusAccepted)
			w.WriteHeader(http.StatusTeapot)
		}, prelude{StatusCode: 202}},
		{"version 1 header", "rest-call", func(w http.ResponseWriter, _ *http.Request) {
			fields(w.Header())
			_, _ = io.WriteString(w, "{}")
			w.Header().Set("X-Late", "1")
		}, prelude{StatusCode: 200, Headers: single, Body: "{}",
			MultiValueHeaders: map[string][]string{"X-Many": {"1", "2"}, "Set-Cookie": {"a=1", "b=2"}}}},
		{"version 2 header", "url-call", func(w http.ResponseWriter, _ *http.Request) {
			fields(w.Header())
			_, _ = io.WriteString(w, "{}")
		}, prelude{StatusCode: 200, Headers: joined, Cookies: []string{"a=1", "b=2"}, Body: "{}"}},
		{"no body where none belongs", "rest-call", func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusNoContent)
			if _, err := w.Write([]byte("x")); !errors.Is(err, http.ErrBodyNotAllowed) {
				t.Errorf("Write after 204: %v", err)
			}
		}, prelude{StatusCode: 204}},
		{"no body for HEAD", "url-head", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "1")
			if n, err := w.Write([]byte("x")); n != 1 || err != nil {
				t.Errorf("Write for HEAD: %d, %v", n, err)
			}
		}, prelude{StatusCode: 200, Headers: map[string]string{"Content-Length": "1"}}},
		{"flushed", "rest-call", func(w http.ResponseWriter, _ *http.Request) {
			for _, part := range []string{"one", "two", "three"} {
				_, _ = io.WriteString(w, part)
				if err := http.NewResponseController(w).Flush(); err != nil {
					t.Errorf("Flush: %v", err)
				}
			}
		}, prelude{StatusCode: 200, Body: "onetwothree"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got := parsePrelude(t, serve(t, test.event, quiet(), test.handler))
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("answer (-want +got):\n%s", diff)
			}
		})
	}
}

// The prelude must be what aws-lambda-go's own type writes.
func TestPreludeIsTheOfficialOne(t *testing.T) {
	t.Parallel()
	official, err := io.ReadAll(&events.APIGatewayProxyStreamingResponse{
		StatusCode:        404,
		Headers:           map[string]string{"Content-Type": "application/json", "X-A": "b"},
		MultiValueHeaders: map[string][]string{"X-Many": {"1", "2"}},
		Body:              strings.NewReader("{}"),
	})
	if err != nil {
		t.Fatal(err)
	}
	ours := serve(t, "rest-call", quiet(), func(w http.ResponseWriter, _ *http.Request) {
		w.Header()["X-Many"] = []string{"1", "2"}
		w.Header().Set("X-A", "b")
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusNotFound)
		_, _ = io.WriteString(w, "{}")
	})
	if diff := cmp.Diff(string(official), string(ours)); diff != "" {
		t.Errorf("answer (-official +ours):\n%s", diff)
	}
}

func TestChunksArriveAsTheyAreWritten(t *testing.T) {
	t.Parallel()
	goOn := make(chan struct{})
	handler := New(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "first")
		w.(http.Flusher).Flush()
		<-goOn
		_, _ = io.WriteString(w, "second")
		<-goOn
	}), quiet())
	out, err := handler(context.Background(), read(t, "rest-call.json"))
	if err != nil {
		t.Fatal(err)
	}
	if got := parsePrelude(t, readOnce(t, out)).Body; got != "first" {
		t.Errorf("first read: %q", got)
	}
	goOn <- struct{}{}
	if got := string(readOnce(t, out)); got != "second" {
		t.Errorf("second read: %q", got)
	}
	goOn <- struct{}{}
	if n, err := out.Read(make([]byte, 10)); n != 0 || err != io.EOF {
		t.Errorf("after the handler's end: %d, %v", n, err)
	}
}

func readOnce(t *testing.T, r io.Reader) []byte {
	t.Helper()
	buffer := make([]byte, 4096)
	n, err := r.Read(buffer)
	if err != nil {
		t.Fatal(err)
	}
	return buffer[:n]
}

// A reader that leaves early waits for the handler all the same, and does not cancel it.
func TestCloseWaitsForTheHandler(t *testing.T) {
	t.Parallel()
	var (
		writeErr, contextErr error
		finished             bool
		closing              = make(chan struct{})
	)
	handler := New(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.(http.Flusher).Flush()
		<-closing
		for writeErr == nil {
			_, writeErr = io.WriteString(w, "is anybody there?")
		}
		contextErr = r.Context().Err()
		finished = true
	}), quiet())
	out, err := handler(context.Background(), read(t, "rest-call.json"))
	if err != nil {
		t.Fatal(err)
	}
	close(closing)
	if err := out.(io.Closer).Close(); err != nil {
		t.Errorf("Close: %v", err)
	}
	if !finished || contextErr != nil || !errors.Is(writeErr, io.ErrClosedPipe) {
		t.Errorf("finished %v, context %v, Write %v", finished, contextErr, writeErr)
	}
}

func TestPanics(t *testing.T) {
	t.Parallel()
	const internal = `{"jsonrpc":"2.0","error":{"code":-32603,"message":"Internal error"}}`
	failure := prelude{StatusCode: 500, Headers: map[string]string{"Content-Type": "application/json"}}
	tests := []struct {
		name    string
		handler http.HandlerFunc
	}{
		{"at once", func(http.ResponseWriter, *http.Request) { panic("secret") }},
		{"after a write that was not sent", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("X-Secret", "1")
			_, _ = io.WriteString(w, "half an answ")
			panic("secret")
		}},
		{"by a bad status", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(42) }},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			var log bytes.Buffer
			options := Options{Logger: slog.New(slog.NewJSONHandler(&log, nil))}
			got := parsePrelude(t, serve(t, "rest-call", options, test.handler))
			if !sameJSON(t, got.Body, internal) {
				t.Errorf("body %s, want %s", got.Body, internal)
			}
			got.Body = ""
			if diff := cmp.Diff(failure, got); diff != "" {
				t.Errorf("answer (-want +got):\n%s", diff)
			}
			checkLog(t, log.Bytes(), "handler panicked")
		})
	}
}

// sameJSON compares but for the id, which is null or absent where no request could be read.
func sameJSON(t *testing.T, got, want string) bool {
	t.Helper()
	var a, b map[string]any
	if err := errors.Join(json.Unmarshal([]byte(got), &a), json.Unmarshal([]byte(want), &b)); err != nil {
		t.Fatalf("%v in %q", err, got)
	}
	delete(a, "id")
	return cmp.Equal(a, b)
}

func checkLog(t *testing.T, raw []byte, message string) {
	t.Helper()
	var record struct{ Msg, RequestID, Level string }
	if err := json.Unmarshal(raw, &record); err != nil {
		t.Fatalf("log %q: %v", raw, err)
	}
	if record.Msg != message || record.Level != "ERROR" || record.RequestID != "0f9ad5d8-3c1b-4c55-9f0e-7d1c2f1b7a10" {
		t.Errorf("log record %s", raw)
	}
}

func TestPanicAfterTheFirstByteEndsTheStreamAsFailed(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	handler := New(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "begun")
		w.(http.Flusher).Flush()
		panic("secret")
	}), Options{Logger: slog.New(slog.NewJSONHandler(&log, nil))})
	out, err := handler(context.Background(), read(t, "rest-call.json"))
	if err != nil {
		t.Fatal(err)
	}
	all, err := io.ReadAll(out)
	if got := parsePrelude(t, all); got.Body != "begun" || got.StatusCode != 200 {
		t.Errorf("answer %+v", got)
	}
	if !errors.Is(err, errInternal) || strings.Contains(err.Error(), "secret") {
		t.Errorf("the stream ended with %v", err)
	}
	checkLog(t, log.Bytes(), "handler panicked")
}

func TestHeaderLongerThanThePreludeMayBe(t *testing.T) {
	t.Parallel()
	for _, flush := range []bool{false, true} {
		var log bytes.Buffer
		got := parsePrelude(t, serve(t, "rest-call", Options{Logger: slog.New(slog.NewJSONHandler(&log, nil))},
			func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("X-Long", strings.Repeat("x", maxPrelude))
				if flush {
					w.(http.Flusher).Flush()
				}
				if _, err := io.WriteString(w, "secret"); err == nil {
					t.Error("Write: no error")
				}
			}))
		if got.StatusCode != 500 || strings.Contains(got.Body, "secret") {
			t.Errorf("answer %+v", got)
		}
		checkLog(t, log.Bytes(), "the response header is longer than the front door takes")
	}
}

func TestWholeAnswers(t *testing.T) {
	t.Parallel()
	write := func(body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/plain")
			w.Header().Add("Set-Cookie", "a=1")
			w.Header().Add("Set-Cookie", "b=2")
			_, _ = io.WriteString(w, body)
			w.(http.Flusher).Flush()
		}
	}
	headers := map[string]string{"Content-Type": "text/plain"}
	v1 := events.APIGatewayProxyResponse{StatusCode: 200, Headers: headers,
		MultiValueHeaders: map[string][]string{"Set-Cookie": {"a=1", "b=2"}}}
	v2 := events.APIGatewayV2HTTPResponse{StatusCode: 200, Headers: headers, Cookies: []string{"a=1", "b=2"}}
	v1Text, v1Binary, v2Text := v1, v1, v2
	v1Text.Body = "line\n\"quoted\" \u00fc \x7f \u2028"
	v1Binary.Body, v1Binary.IsBase64Encoded = "AP8=", true
	v2Text.Body = "text"
	t.Run("version 1", func(t *testing.T) {
		t.Parallel()
		compareWhole(t, v1Text, serve(t, "rest-call", Options{Buffered: true}, write(v1Text.Body)))
	})
	t.Run("binary", func(t *testing.T) {
		t.Parallel()
		compareWhole(t, v1Binary, serve(t, "rest-call", Options{Buffered: true}, write("\x00\xff")))
	})
	t.Run("version 2", func(t *testing.T) {
		t.Parallel()
		compareWhole(t, v2Text, serve(t, "url-call", Options{Buffered: true}, write("text")))
	})
	t.Run("an HTTP API cannot stream", func(t *testing.T) {
		t.Parallel()
		compareWhole(t, v2Text, serve(t, "http-call", Options{}, write("text")))
	})
	t.Run("nor with payload version 1", func(t *testing.T) {
		t.Parallel()
		compareWhole(t, v1Text, serve(t, "http-payload-1", Options{}, write(v1Text.Body)))
	})
}

func compareWhole[T any](t *testing.T, want T, raw []byte) {
	t.Helper()
	var got T
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&got); err != nil {
		t.Fatalf("%v in %q", err, raw)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("answer (-want +got):\n%s", diff)
	}
}

func TestPanicInAWholeAnswer(t *testing.T) {
	t.Parallel()
	var got events.APIGatewayProxyResponse
	options := quiet()
	options.Buffered = true
	out := serve(t, "rest-call", options, func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "half")
		panic("secret")
	})
	if err := json.Unmarshal(out, &got); err != nil {
		t.Fatal(err)
	}
	if got.StatusCode != 500 || !strings.Contains(got.Body, "-32603") || strings.Contains(got.Body, "half") {
		t.Errorf("answer %s", out)
	}
}
