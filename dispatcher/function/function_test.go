package function

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/google/go-cmp/cmp"

	"patchbay/shared/invoke"
)

const arn = "arn:aws:lambda:us-east-1:000000000000:function:f:1"

// reply is what the service answers one request with.
type reply func(http.ResponseWriter)

// refusal is an error as Lambda writes it.
func refusal(status int, code string) reply {
	return func(w http.ResponseWriter) {
		w.Header().Set("X-Amzn-Errortype", code)
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, `{"Type":"User","Message":"no","message":"no"}`)
	}
}

// answer is what a function returned; failed is what Lambda reports of one that failed.
func answer(payload string) reply {
	return func(w http.ResponseWriter) { _, _ = io.WriteString(w, payload) }
}

func failed(payload string) reply {
	return func(w http.ResponseWriter) {
		w.Header().Set("X-Amz-Function-Error", "Unhandled")
		_, _ = io.WriteString(w, payload)
	}
}

// cut breaks the connection off instead of answering.
func cut(http.ResponseWriter) { panic(http.ErrAbortHandler) }

// service speaks the Lambda API with the replies in turn, the last one for all further requests.
func service(t *testing.T, replies ...reply) (client *Client, requests *atomic.Int32) {
	t.Helper()
	requests = new(atomic.Int32)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		replies[min(int(requests.Add(1)), len(replies))-1](w)
	}))
	t.Cleanup(server.Close)
	return clientOf(t, server.URL), requests
}

// clientOf pauses without waiting.
func clientOf(t *testing.T, url string) *Client {
	t.Helper()
	client := New(aws.Config{
		Region:      "us-east-1",
		Credentials: credentials.NewStaticCredentialsProvider("id", "secret", ""),
	}, func(o *lambda.Options) { o.BaseEndpoint = &url })
	client.sleep = func(ctx context.Context, _ time.Duration) error { return ctx.Err() }
	return client
}

// both runs the test with Invoke and with Stream, which fail alike before a function has begun.
func both(t *testing.T, test func(t *testing.T, run func(*Client, context.Context, []byte) ([]byte, error))) {
	t.Helper()
	t.Run("invoke", func(t *testing.T) {
		t.Parallel()
		test(t, func(c *Client, ctx context.Context, payload []byte) ([]byte, error) {
			return c.Invoke(ctx, arn, payload)
		})
	})
	t.Run("stream", func(t *testing.T) {
		t.Parallel()
		test(t, func(c *Client, ctx context.Context, payload []byte) ([]byte, error) {
			return c.Stream(ctx, arn, payload, func(invoke.Progress) {})
		})
	})
}

// Only a refusal for want of capacity proves that the function has not run, so it alone is tried again.
func TestOutcomes(t *testing.T) {
	t.Parallel()
	throttled := refusal(http.StatusTooManyRequests, "TooManyRequestsException")
	for name, test := range map[string]struct {
		replies  []reply
		want     error
		requests int32
	}{
		"throttled":              {[]reply{throttled}, ErrThrottled, 4},
		"throttled, then broken": {[]reply{throttled, throttled, cut}, ErrUnknown, 3},
		"429 of another kind":    {[]reply{refusal(http.StatusTooManyRequests, "SlowDown")}, ErrUnknown, 1},
		"gone":                   {[]reply{refusal(http.StatusNotFound, "ResourceNotFoundException")}, ErrGone, 1},
		"404 of something else":  {[]reply{refusal(http.StatusNotFound, "NoSuchPage")}, ErrUnknown, 1},
		"too large": {
			[]reply{refusal(http.StatusRequestEntityTooLarge, "RequestTooLargeException")}, ErrTooLarge, 1,
		},
		"service error":    {[]reply{refusal(http.StatusInternalServerError, "ServiceException")}, ErrUnknown, 1},
		"bad gateway":      {[]reply{refusal(http.StatusBadGateway, "EC2ThrottledException")}, ErrUnknown, 1},
		"unavailable":      {[]reply{refusal(http.StatusServiceUnavailable, "ServiceUnavailableException")}, ErrUnknown, 1},
		"forbidden":        {[]reply{refusal(http.StatusForbidden, "AccessDeniedException")}, ErrUnknown, 1},
		"a lost answer":    {[]reply{cut}, ErrUnknown, 1},
		"an unknown error": {[]reply{refusal(http.StatusTeapot, "")}, ErrUnknown, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			both(t, func(t *testing.T, run func(*Client, context.Context, []byte) ([]byte, error)) {
				client, requests := service(t, test.replies...)
				got, err := run(client, t.Context(), []byte(`{}`))
				if !errors.Is(err, test.want) || got != nil {
					t.Errorf("got %s, %v; want %v", got, err, test.want)
				}
				for _, other := range []error{ErrGone, ErrThrottled, ErrTooLarge, ErrDeadline, ErrUnknown} {
					if other != test.want && errors.Is(err, other) {
						t.Errorf("%v is also %v", err, other)
					}
				}
				if requests.Load() != test.requests {
					t.Errorf("%d requests, want %d", requests.Load(), test.requests)
				}
			})
		})
	}
}

func TestThrottledThenRun(t *testing.T) {
	t.Parallel()
	throttled := refusal(http.StatusTooManyRequests, "TooManyRequestsException")
	client, requests := service(t, throttled, throttled, throttled, answer(`{"a":1}`))
	var pauses []time.Duration
	client.sleep = func(_ context.Context, pause time.Duration) error { pauses = append(pauses, pause); return nil }
	got, err := client.Invoke(t.Context(), arn, []byte(`{}`))
	if err != nil || string(got) != `{"a":1}` || requests.Load() != 4 {
		t.Errorf("got %s, %v after %d requests", got, err, requests.Load())
	}
	if !slices.Equal(pauses, throttleDelays[:]) {
		t.Errorf("pauses %v, want %v", pauses, throttleDelays)
	}
}

// The deadline passes while nothing is running: that is known, and told.
func TestDeadlineBetweenThrottledAttempts(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, run func(*Client, context.Context, []byte) ([]byte, error)) {
		client, requests := service(t, refusal(http.StatusTooManyRequests, "TooManyRequestsException"))
		client.sleep = func(context.Context, time.Duration) error { return context.DeadlineExceeded }
		_, err := run(client, t.Context(), []byte(`{}`))
		if !errors.Is(err, ErrThrottled) || errors.Is(err, ErrDeadline) || requests.Load() != 1 {
			t.Errorf("%v after %d requests", err, requests.Load())
		}
	})
}

// The pause ends with its context, and otherwise by itself.
func TestSleep(t *testing.T) {
	t.Parallel()
	over, cancel := context.WithCancel(t.Context())
	cancel()
	if err := sleep(over, time.Hour); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	if err := sleep(t.Context(), time.Nanosecond); err != nil {
		t.Errorf("error %v", err)
	}
}

func TestDeadlineWhileTheFunctionRuns(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, run func(*Client, context.Context, []byte) ([]byte, error)) {
		ctx, cancel := context.WithCancel(t.Context())
		server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			cancel() // stands for the deadline, which this way comes when the request is there
			<-r.Context().Done()
		}))
		defer server.Close()
		if _, err := run(clientOf(t, server.URL), ctx, []byte(`{}`)); !errors.Is(err, ErrDeadline) {
			t.Errorf("error %v", err)
		}
	})
}

func TestEventTooLarge(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, run func(*Client, context.Context, []byte) ([]byte, error)) {
		client, requests := service(t, cut)
		_, err := run(client, t.Context(), make([]byte, MaxPayload+1))
		if !errors.Is(err, ErrTooLarge) || requests.Load() != 0 {
			t.Errorf("%v after %d requests", err, requests.Load())
		}
		if _, err := run(client, t.Context(), make([]byte, MaxPayload)); errors.Is(err, ErrTooLarge) {
			t.Errorf("the largest event: %v", err)
		}
	})
}

func TestFunctionFails(t *testing.T) {
	t.Parallel()
	client, requests := service(t, failed(`{"errorType":"Runtime.ExitError"}`))
	_, err := client.Invoke(t.Context(), arn, []byte(`{}`))
	var failure *Failure
	if !errors.As(err, &failure) || requests.Load() != 1 {
		t.Fatalf("%v after %d requests", err, requests.Load())
	}
	if diff := cmp.Diff(&Failure{Type: "Unhandled", Payload: `{"errorType":"Runtime.ExitError"}`}, failure); diff != "" {
		t.Errorf("failure (-want +got):\n%s", diff)
	}
}

// Reports are told apart by Lambda's error types. A function's own error does not pass for one by its words, which may
// be those of whoever called.
func TestFailureKinds(t *testing.T) {
	t.Parallel()
	const stopped = "2026-07-28T10:00:00.000Z 8f5c Task timed out after 3.00 seconds"
	for name, test := range map[string]struct {
		kind               string
		payload            any
		timedOut, tooLarge bool
	}{
		"time-out":            {"Unhandled", report{"Sandbox.Timedout", "RequestId: 8f5c Error: " + stopped}, true, false},
		"time-out, old form":  {"Unhandled", map[string]string{"errorMessage": stopped}, true, false},
		"time-out, streamed":  {"Sandbox.Timedout", "Task timed out", true, false},
		"… with its message":  {"Unhandled", stopped, true, false},
		"… with half a form":  {"Sandbox.Timedout", map[string]string{"errorMessage": "stopped"}, true, false},
		"too large":           {"Unhandled", report{"Function.ResponseSizeTooLarge", "over 6291556 bytes"}, false, true},
		"too large, streamed": {"Function.ResponseSizeTooLarge", "over 6291556 bytes", false, true},

		"an error that quotes it": {
			"Unhandled", report{"errorString", "Task timed out after 3.00 seconds"}, false, false,
		},
		"one that quotes it, streamed": {"errorString", "Task timed out after 3.00 seconds", false, false},
		"an error that names the type": {"Unhandled", report{"Error", "Sandbox.Timedout"}, false, false},
		"words behind it":              {"Unhandled", map[string]string{"errorMessage": stopped + " or so"}, false, false},
		"an error of its own":          {"Unhandled", report{"Error", "too large"}, false, false},
		"a crash":                      {"Unhandled", report{"Runtime.ExitError", "exit status 3"}, false, false},
		"nothing":                      {"Unhandled", "", false, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			payload, isText := test.payload.(string)
			if !isText {
				raw, err := json.Marshal(test.payload)
				if err != nil {
					t.Fatal(err)
				}
				payload = string(raw)
			}
			failure := &Failure{Type: test.kind, Payload: payload}
			if failure.TimedOut() != test.timedOut || failure.TooLarge() != test.tooLarge {
				t.Errorf("timed out %v, too large %v", failure.TimedOut(), failure.TooLarge())
			}
		})
	}
}

func TestFailureTextIsCutBetweenCharacters(t *testing.T) {
	t.Parallel()
	for shift := range 4 {
		payload := strings.Repeat("x", shift) + strings.Repeat("𝛼", 1000)
		text := (&Failure{Type: "Unhandled", Payload: payload}).Error()
		if !utf8.ValidString(text) || !strings.HasSuffix(text, "𝛼…") || len(text) > 2100 {
			t.Errorf("%d bytes that end in %q", len(text), text[len(text)-8:])
		}
	}
	if text := (&Failure{Type: "T", Payload: "short"}).Error(); text != "function error T: short" {
		t.Errorf("got %q", text)
	}
}
