// Package function invokes tools' Lambda functions and says how an invocation ended.
//
// What matters to a caller is whether the function can have run: only when it cannot is a call ever tried again, since
// a tool may have effects; the retries of the SDK itself would repeat a tool that ran.
package function

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"sync"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/lambda/types"
)

// MaxPayload is the most that Lambda takes as the event of a synchronous invocation and gives as its answer, in bytes.
const MaxPayload = 6 << 20

// Outcomes of an invocation that gave no result. Each is matched with errors.Is.
var (
	// ErrGone: the function version does not exist (any more). Nothing has run.
	ErrGone = errors.New("function not found")
	// ErrThrottled: Lambda had no capacity for the function, also after trying again. Nothing has run.
	ErrThrottled = errors.New("function throttled")
	// ErrTooLarge: the event is over MaxPayload. Nothing has run.
	ErrTooLarge = errors.New("event too large")
	// ErrDeadline: the deadline passed while the function ran. It may still be running.
	ErrDeadline = errors.New("deadline passed")
	// ErrUnknown: the invocation broke, so whether the function ran is not known.
	ErrUnknown = errors.New("invocation broke")
)

// Failure is a function's own failure: it ran, and crashed, timed out or returned an error. Payload is what Lambda
// reports of it; it names files and types of the function, so it belongs in the log and never in an answer.
type Failure struct {
	// Type is the function error of Invoke ("Unhandled"), or the error code of a stream.
	Type    string
	Payload string
}

func (f *Failure) Error() string {
	const longest = 2048
	payload := f.Payload
	if len(payload) > longest {
		end := longest
		for !utf8.RuneStart(payload[end]) {
			end--
		}
		payload = payload[:end] + "…"
	}
	return fmt.Sprintf("function error %s: %s", f.Type, payload)
}

// Error types of Lambda itself.
const (
	typeTimedOut = "Sandbox.Timedout"
	typeTooLarge = "Function.ResponseSizeTooLarge"
)

// timedOut is the message of an invocation that Lambda stopped at the function's time-out. It is compiled when a
// function has failed, not at every cold start.
var timedOut = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`Task timed out after [0-9.]+ seconds$`)
})

// TimedOut reports whether Lambda stopped the function at its time-out. The message alone shows it only where no error
// type is given, as by Lambda's older reports: an error that the function made itself has a type, and its message may
// be anybody's words.
//
// A function can still make a report that looks like Lambda's. So this decides how a failure is told, and never that
// the function has had no effect or that its effect is complete.
func (f *Failure) TimedOut() bool {
	report := f.report()
	return report.Type == typeTimedOut || report.Type == "" && timedOut().MatchString(report.Message)
}

// TooLarge reports whether the function's answer was larger than Lambda lets through. A function that streams may be
// running still, and one can make a report that looks like Lambda's: see TimedOut.
func (f *Failure) TooLarge() bool { return f.report().Type == typeTooLarge }

// report is what Lambda says of a failure.
type report struct {
	Type    string `json:"errorType"`
	Message string `json:"errorMessage"`
}

// report reads the payload; where it is no report it is the message. The error code of a stream stands in for a type.
func (f *Failure) report() report {
	var r report
	if json.Unmarshal([]byte(f.Payload), &r) != nil {
		r = report{Message: f.Payload}
	}
	if r.Type == "" && f.Type != unhandled {
		r.Type = f.Type
	}
	return r
}

// unhandled is the function error of every function that failed, whatever the reason.
const unhandled = "Unhandled"

// API is what this package needs of the Lambda client.
type API interface {
	Invoke(context.Context, *lambda.InvokeInput, ...func(*lambda.Options)) (*lambda.InvokeOutput, error)
	InvokeWithResponseStream(context.Context, *lambda.InvokeWithResponseStreamInput, ...func(*lambda.Options)) (
		*lambda.InvokeWithResponseStreamOutput, error)
}

// Client invokes functions through the Lambda API. It is safe for concurrent use.
type Client struct {
	api API
	// streaming returns the client for one stream: aws-sdk-go-v2 makes a client's decoder of streams with its first use,
	// unguarded, so that two streams of one client race.
	streaming func() API
	sleep     func(context.Context, time.Duration) error
}

// New returns a Client over the Lambda API for config. The SDK's own retries are off.
func New(config aws.Config, options ...func(*lambda.Options)) *Client {
	config.HTTPClient = &http.Client{Transport: &freshTransport{base: newTransport(), now: time.Now}}
	options = append([]func(*lambda.Options){func(o *lambda.Options) {
		o.Retryer = aws.NopRetryer{}
	}}, options...)
	api := lambda.NewFromConfig(config, options...)
	return &Client{api: api, streaming: func() API { return lambda.New(api.Options()) }, sleep: sleep}
}

// Invoke runs the function with payload as its event and returns its answer. The deadline is the context's.
func (c *Client) Invoke(ctx context.Context, function string, payload []byte) ([]byte, error) {
	if len(payload) > MaxPayload {
		return nil, fmt.Errorf("invoking %s with %d bytes: %w", function, len(payload), ErrTooLarge)
	}
	output, err := retryThrottled(ctx, c.sleep, func() (*lambda.InvokeOutput, error) {
		return c.api.Invoke(ctx, &lambda.InvokeInput{FunctionName: &function, Payload: payload})
	})
	if err != nil {
		return nil, classify(ctx, function, err)
	}
	if output.FunctionError != nil {
		return nil, &Failure{Type: *output.FunctionError, Payload: string(output.Payload)}
	}
	return output.Payload, nil
}

// throttleDelays are the pauses before a throttled invocation is tried again: short, since a person or a model waits.
var throttleDelays = [...]time.Duration{50 * time.Millisecond, 200 * time.Millisecond, 500 * time.Millisecond}

// retryThrottled runs attempt again when Lambda refused it for want of capacity, the one failure that proves that the
// function has not run.
func retryThrottled[T any](ctx context.Context, sleep func(context.Context, time.Duration) error,
	attempt func() (T, error)) (T, error) {
	for _, delay := range throttleDelays {
		output, err := attempt()
		if !isThrottled(err) {
			return output, err
		}
		if sleep(ctx, delay) != nil {
			return output, err
		}
	}
	return attempt()
}

func isThrottled(err error) bool {
	var throttled *types.TooManyRequestsException
	return errors.As(err, &throttled)
}

// classify wraps an error of the Lambda API in the outcome that it means.
func classify(ctx context.Context, function string, err error) error {
	return fmt.Errorf("invoking %s: %w: %w", function, outcome(ctx, err), err)
}

func outcome(ctx context.Context, err error) error {
	var (
		gone     *types.ResourceNotFoundException
		tooLarge *types.RequestTooLargeException
	)
	switch {
	case errors.As(err, &gone):
		return ErrGone
	case isThrottled(err):
		return ErrThrottled
	case errors.As(err, &tooLarge):
		return ErrTooLarge
	case ctx.Err() != nil:
		return ErrDeadline
	}
	return ErrUnknown
}

func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// newTransport returns a transport for one host with many invocations at a time and no overall time-out: an invocation
// ends by its context.
func newTransport() *http.Transport {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConnsPerHost = 64
	return transport
}

// maxIdle is how long a connection may have been idle, by the wall clock, before it is not trusted any more.
const maxIdle = 5 * time.Second

// freshTransport drops idle connections after a pause. Lambda freezes an instance between events, timers and all; the
// other side may have closed the connection meanwhile, and a POST on it would end in ErrUnknown for no reason.
type freshTransport struct {
	base *http.Transport
	now  func() time.Time
	// last is when a request was last seen, in nanoseconds of the wall clock.
	last atomic.Int64
}

func (t *freshTransport) RoundTrip(request *http.Request) (*http.Response, error) {
	now := t.now().UnixNano()
	if last := t.last.Swap(now); now-last > int64(maxIdle) || now < last {
		t.base.CloseIdleConnections()
	}
	return t.base.RoundTrip(plainBody(request))
}

// plainBody hides the WriteTo of a request's body. That of smithy-go 1.28.9 returns io.EOF as an error once smithy-go
// has closed the body, which it does when the head of the answer is there; net/http may then take the request for
// broken and close the connection under a streamed answer.
func plainBody(request *http.Request) *http.Request {
	if request.Body == nil {
		return request
	}
	plain := *request
	plain.Body = struct {
		io.Reader
		io.Closer
	}{request.Body, request.Body}
	return &plain
}
