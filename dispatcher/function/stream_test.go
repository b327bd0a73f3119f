package function

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/protocol/eventstream"
	"github.com/aws/aws-sdk-go-v2/service/lambda/types"
	"github.com/google/go-cmp/cmp"

	"patchbay/shared/invoke"
)

// seen is what a caller of Stream sees.
type seen struct {
	Progress []invoke.Progress
	Result   string
	// Failed is the type of the failure; Error is another error's text.
	Failed, Error string
}

// read gives the reader an answer in chunks and then the end of the invocation.
func read(chunks [][]byte, end types.InvokeWithResponseStreamCompleteEvent) seen {
	var got seen
	lines := lineReader{progress: func(p invoke.Progress) { got.Progress = append(got.Progress, p) }}
	for _, chunk := range chunks {
		event := &types.InvokeWithResponseStreamResponseEventMemberPayloadChunk{}
		event.Value.Payload = chunk
		if err := lines.event(event); err != nil {
			return got.failed(err)
		}
	}
	if err := lines.event(&types.InvokeWithResponseStreamResponseEventMemberInvokeComplete{Value: end}); err != nil {
		return got.failed(err)
	}
	result, err := lines.finish()
	if err != nil {
		return got.failed(err)
	}
	got.Result = string(result)
	return got
}

func (s seen) failed(err error) seen {
	var failure *Failure
	switch {
	case errors.As(err, &failure):
		s.Failed = failure.Type
	case errors.Is(err, ErrUnknown):
		s.Error = "unknown"
	default:
		s.Error = err.Error()
	}
	return s
}

// pieces cuts an answer into chunks of n bytes; 0 means one chunk.
func pieces(answer string, n int) [][]byte {
	if n == 0 {
		return [][]byte{[]byte(answer)}
	}
	var chunks [][]byte
	for len(answer) > n {
		chunks, answer = append(chunks, []byte(answer[:n])), answer[n:]
	}
	return append(chunks, []byte(answer))
}

const (
	one    = `{"progress":{"progress":1,"total":2,"message":"half"}}` + "\n"
	two    = `{"progress":{"progress":2}}` + "\n"
	result = `{"result":{"content":[]}}`
	bare   = `{"content":[]}`
)

var (
	first  = invoke.Progress{Progress: 1, Total: 2, Message: "half"}
	second = invoke.Progress{Progress: 2}
)

func TestLines(t *testing.T) {
	t.Parallel()
	ended := types.InvokeWithResponseStreamCompleteEvent{}
	broken := types.InvokeWithResponseStreamCompleteEvent{ErrorCode: aws.String("Unhandled")}
	reports := []invoke.Progress{first, second}
	for name, test := range map[string]struct {
		answer string
		end    types.InvokeWithResponseStreamCompleteEvent
		want   seen
	}{
		"progress and result": {one + two + result + "\n", ended, seen{Progress: reports, Result: bare}},
		"no last line break":  {one + two + result, ended, seen{Progress: reports, Result: bare}},
		"blank lines": {
			"\n \n" + one + "\r\n\n" + two + "\n\n" + result + "\n\n", ended, seen{reports, bare, "", ""},
		},
		"CR LF": {
			strings.ReplaceAll(one+two+result+"\n", "\n", "\r\n"), ended, seen{Progress: reports, Result: bare},
		},
		"both in one line": {
			`{"progress":{"progress":2},"result":{}}`, ended, seen{Progress: []invoke.Progress{second}, Result: "{}"},
		},
		"a result that is no object": {`{"result":7}`, ended, seen{Result: "7"}},
		"a null result":              {`{"result":null}`, ended, seen{Result: "null"}},

		"progress after the result": {result + "\n" + one, ended, seen{Result: bare}},
		"a second result":           {result + "\n" + `{"result":2}` + "\n", ended, seen{Result: bare}},
		"text after the result":     {result + "\nbye\n", ended, seen{Result: bare}},
		"too much after the result": {result + "\n" + strings.Repeat("x", MaxPayload+1), ended, seen{Result: bare}},

		"text before the lines": {"hello\n" + one + two + result, ended, seen{Progress: reports, Result: bare}},
		"text between":          {one + "hello\n" + two + result, ended, seen{Progress: reports, Result: bare}},
		"JSON that is no object": {
			one + "[1]\nnull\n7\n\"x\"\ntrue\n" + two + result, ended, seen{Progress: reports, Result: bare},
		},
		"other objects": {one + `{"level":"INFO"}` + "\n{}\n" + two + result, ended, seen{Progress: reports, Result: bare}},

		"no number": {
			`{"progress":{"progress":NaN}}` + "\n" + one + result, ended, seen{[]invoke.Progress{first}, bare, "", ""},
		},
		"infinite":           {`{"progress":{"progress":Infinity}}` + "\n" + result, ended, seen{Result: bare}},
		"beyond float64":     {`{"progress":{"progress":1e400}}` + "\n" + result, ended, seen{Result: bare}},
		"a total beyond it":  {`{"progress":{"progress":1,"total":-1e400}}` + "\n" + result, ended, seen{Result: bare}},
		"a number in quotes": {`{"progress":{"progress":"1"}}` + "\n" + result, ended, seen{Result: bare}},
		"negative": {
			`{"progress":{"progress":-1.5}}` + "\n" + result, ended,
			seen{Progress: []invoke.Progress{{Progress: -1.5}}, Result: bare},
		},
		"huge": {
			`{"progress":{"progress":1.7e308}}` + "\n" + result, ended,
			seen{Progress: []invoke.Progress{{Progress: 1.7e308}}, Result: bare},
		},

		"an answer that is not in lines": {bare, ended, seen{Result: bare}},
		"… over several lines":           {"{\n  \"content\": []\n}\n", ended, seen{Result: "{\n  \"content\": []\n}"}},
		"… that is no object":            {"[\n1\n]", ended, seen{Result: "[\n1\n]"}},
		"… that is text":                 {"hello", ended, seen{Result: "hello"}},
		"only blank lines":               {"\n \r\n\n", ended, seen{Failed: "Function.NoResult"}},
		"nothing":                        {"", ended, seen{Failed: "Function.NoResult"}},
		"progress alone":                 {one + two, ended, seen{Progress: reports, Failed: "Function.NoResult"}},
		"a bare result after progress": {
			one + bare, ended, seen{Progress: []invoke.Progress{first}, Failed: "Function.NoResult"},
		},

		"an error at the end":       {one, broken, seen{Progress: []invoke.Progress{first}, Failed: "Unhandled"}},
		"an error after the result": {result + "\n", broken, seen{Failed: "Unhandled"}},
		"an error and nothing else": {"", broken, seen{Failed: "Unhandled"}},
		"a line cut within its result": {
			one + result[:10], ended, seen{Progress: []invoke.Progress{first}, Failed: "Function.NoResult"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sizes := []int{0, 1, 2, 3, 7, 64}
			if len(test.answer) > MaxPayload {
				sizes = []int{0, 100_000}
			}
			for _, size := range sizes {
				if diff := cmp.Diff(test.want, read(pieces(test.answer, size), test.end)); diff != "" {
					t.Errorf("in chunks of %d (-want +got):\n%s", size, diff)
				}
			}
		})
	}
}

// A line may be as long as an answer may be. That many lines of it come in one chunk does not count.
func TestLineLength(t *testing.T) {
	t.Parallel()
	long := func(n int) string {
		const around = len(`{"result":""}`)
		return `{"result":"` + strings.Repeat("x", n-around) + `"}`
	}
	const inner = len(`{"result":}`)
	blanks := strings.Repeat(" ", MaxPayload)
	for name, test := range map[string]struct {
		answer string
		fails  bool
		length int
	}{
		"the longest line":           {long(MaxPayload) + "\n", false, MaxPayload - inner},
		"one byte more":              {long(MaxPayload+1) + "\n", true, 0},
		"two long lines":             {one + blanks + "\n" + long(MaxPayload), false, MaxPayload - inner},
		"one of them too long":       {one + blanks + " \n" + result, true, 0},
		"the longest without lines":  {strings.Repeat("x", MaxPayload), false, MaxPayload},
		"one byte more, no lines":    {strings.Repeat("x", MaxPayload-1) + "\nx", true, 0},
		"a long line of other words": {one + strings.Repeat("x", MaxPayload+1) + "\n" + result, true, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, size := range []int{0, 65_537} {
				got := read(pieces(test.answer, size), types.InvokeWithResponseStreamCompleteEvent{})
				if tooLarge := got.Failed == "Function.ResponseSizeTooLarge"; tooLarge != test.fails {
					t.Errorf("in chunks of %d: failed with %q", size, got.Failed)
				}
				if len(got.Result) != test.length {
					t.Errorf("in chunks of %d: a result of %d bytes, want %d", size, len(got.Result), test.length)
				}
			}
		})
	}
}

// Where an answer is cut into chunks changes nothing of what is seen.
func FuzzLinesAnySplit(f *testing.F) {
	for _, answer := range []string{
		one + two + result + "\n", "\n" + result, "hello\n" + one + result, bare, "{\n\"content\": []\n}", one + "x\n" + bare,
		result + "\n" + result, `{"progress":{"progress":1e400}}` + "\n" + result, "", "\n\n", "\xff\n\x00", "{}\n[1]\nnull",
	} {
		f.Add(answer, []byte{1, 0, 5, 40})
	}
	f.Fuzz(func(t *testing.T, answer string, cuts []byte) {
		end := types.InvokeWithResponseStreamCompleteEvent{}
		want := read(pieces(answer, 0), end)
		var chunks [][]byte
		rest := []byte(answer)
		for _, n := range cuts {
			n := min(int(n), len(rest))
			chunks, rest = append(chunks, rest[:n:n]), rest[n:]
		}
		if diff := cmp.Diff(want, read(append(chunks, rest), end)); diff != "" {
			t.Errorf("in %d chunks (-in one +in many):\n%s", len(chunks)+1, diff)
		}
		if want.Result != "" && !strings.Contains(answer, want.Result) {
			t.Errorf("the result %q is no part of the answer", want.Result)
		}
	})
}

// streamed is an answer as Lambda streams it. Without an end the connection breaks.
func streamed(end any, chunks ...string) reply {
	return func(w http.ResponseWriter) {
		w.Header().Set("Content-Type", "application/vnd.amazon.eventstream")
		encoder := eventstream.NewEncoder()
		send := func(kind string, payload []byte) {
			message := eventstream.Message{Payload: payload}
			message.Headers.Set(":message-type", eventstream.StringValue("event"))
			message.Headers.Set(":event-type", eventstream.StringValue(kind))
			if err := encoder.Encode(w, message); err != nil {
				panic(err)
			}
			w.(http.Flusher).Flush()
		}
		for _, chunk := range chunks {
			send("PayloadChunk", []byte(chunk))
		}
		if end == nil {
			panic(http.ErrAbortHandler)
		}
		data, err := json.Marshal(end)
		if err != nil {
			panic(err)
		}
		send("InvokeComplete", data)
	}
}

// unended is a stream whose connection ends in good order where its last event should be.
func unended(broken reply) reply {
	return func(w http.ResponseWriter) {
		defer func() { _ = recover() }()
		broken(w)
	}
}

func TestStream(t *testing.T) {
	t.Parallel()
	type complete struct {
		ErrorCode    string `json:",omitempty"`
		ErrorDetails string `json:",omitempty"`
	}
	crash := complete{"Unhandled", `{"errorType":"Sandbox.Timedout"}`}
	for name, test := range map[string]struct {
		reply reply
		want  seen
	}{
		"lines": {
			streamed(complete{}, one[:9], one[9:]+result[:4], result[4:]+"\n"),
			seen{Progress: []invoke.Progress{first}, Result: bare},
		},
		"not in lines": {streamed(complete{}, bare), seen{Result: bare}},
		"an error at the end": {
			streamed(crash, one), seen{Progress: []invoke.Progress{first}, Failed: "Unhandled"},
		},
		"a broken connection": {streamed(nil, one), seen{Progress: []invoke.Progress{first}, Error: "unknown"}},
		"… after the result":  {streamed(nil, result+"\n"), seen{Error: "unknown"}},
		"… of an answer":      {streamed(nil, bare), seen{Error: "unknown"}},
		"no end":              {unended(streamed(nil, result+"\n")), seen{Error: "unknown"}},
		"nothing":             {unended(streamed(nil)), seen{Error: "unknown"}},
		"a line too long": {
			streamed(complete{}, one, strings.Repeat("x", 4<<20), strings.Repeat("x", 4<<20)),
			seen{Progress: []invoke.Progress{first}, Failed: "Function.ResponseSizeTooLarge"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			client, requests := service(t, test.reply)
			var got seen
			report := func(p invoke.Progress) { got.Progress = append(got.Progress, p) }
			result, err := client.Stream(t.Context(), arn, []byte(`{}`), report)
			if got.Result = string(result); err != nil {
				got = got.failed(err)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if requests.Load() != 1 {
				t.Errorf("%d requests", requests.Load())
			}
		})
	}
}

func TestStreamFailureKeepsItsDetails(t *testing.T) {
	t.Parallel()
	details := map[string]string{"ErrorCode": "Unhandled", "ErrorDetails": `{"errorType":"Sandbox.Timedout"}`}
	client, _ := service(t, streamed(details, one))
	_, err := client.Stream(t.Context(), arn, []byte(`{}`), func(invoke.Progress) {})
	var failure *Failure
	if !errors.As(err, &failure) || !failure.TimedOut() {
		t.Errorf("error %v", err)
	}
}

func TestDeadlineWithinAStream(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	hold := make(chan struct{})
	defer close(hold)
	client, _ := service(t, func(w http.ResponseWriter) {
		unended(streamed(nil, one))(w)
		<-hold
	})
	_, err := client.Stream(ctx, arn, []byte(`{}`), func(invoke.Progress) { cancel() })
	if !errors.Is(err, ErrDeadline) {
		t.Errorf("error %v", err)
	}
}

func BenchmarkLines(b *testing.B) {
	var answer bytes.Buffer
	for i := range 1000 {
		fmt.Fprintf(&answer, `{"progress":{"progress":%d,"total":1000,"message":"Reading"}}`+"\n", i+1)
	}
	answer.WriteString(result)
	chunks := pieces(answer.String(), 4096)
	b.SetBytes(int64(answer.Len()))
	for b.Loop() {
		if got := read(chunks, types.InvokeWithResponseStreamCompleteEvent{}); got.Result != bare {
			b.Fatalf("got %+v", got)
		}
	}
}
