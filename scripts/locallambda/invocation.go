package locallambda

import (
	"bytes"
	"context"
	"io"
	"sync"
	"time"

	"github.com/google/uuid"
)

// The payload limits in bytes. Source: docs.aws.amazon.com/lambda/latest/dg/gettingstarted-limits.html; the response
// limit is the figure in AWS's own error message.
const (
	maxRequest          = 6291456
	maxEventRequest     = 1048576
	maxBufferedResponse = 6291556
	maxStreamedResponse = 209715200
)

// call is one invocation as a caller wants it.
type call struct {
	target
	requestID     string
	payload       []byte
	clientContext string
	trace         string
	// of is the request for which it is, by its id; empty where nobody has said.
	of string
	// streaming callers get the answer as it is written.
	streaming bool
}

// invocation is one run of a function.
type invocation struct {
	call
	version *version
	// answer is where the function's answer goes.
	answer *answer
	// deadline is when the function is killed. It is set when the invocation is handed to an instance.
	deadline time.Time
	timer    *time.Timer
	// claimed: the runtime has begun to answer. Guarded by the instance's lock.
	claimed bool
}

func (s *Service) newInvocation(c call, v *version) *invocation {
	window := 0
	if c.streaming {
		window = streamWindow
	}
	answer := newAnswer(window)
	answer.ended = func(failure []byte) { s.observe(Ended, c, v.number, "", errorType(failure)) }
	return &invocation{call: c, version: v, answer: answer}
}

// fail ends the invocation with a failure that the function did not report itself. An answer that is complete stays.
func (i *invocation) fail(payload []byte) { i.answer.finish(payload) }

// Response is the answer of a function, from the moment it begins.
type Response struct {
	// RequestID is the invocation's id, which the function's logs show.
	RequestID string
	// ExecutedVersion is the number of the version that ran (AWS says "$LATEST" when no version was named).
	ExecutedVersion string
	// ContentType is what the function gave its answer; "" when it failed before it answered.
	ContentType string
	// Body yields the answer as the function writes it, and then io.EOF, also when the function failed: what it wrote
	// before is all there is. Read it or close it: a function whose answer is not taken has to wait. Closing it early
	// lets the function run on to its end, unheard.
	Body io.ReadCloser

	answer *answer
}

// FunctionError says after the end of Body whether the function failed: Unhandled, else "".
func (r *Response) FunctionError() string {
	if r.ErrorPayload() == nil {
		return ""
	}
	return Unhandled
}

// ErrorPayload is, after the end of Body, the failure as JSON with errorType and errorMessage; nil if there was none.
func (r *Response) ErrorPayload() []byte { return r.answer.failure() }

// Invoke runs a function and returns when its answer begins, or when it has failed: see Response. It streams, as the
// Lambda API's InvokeWithResponseStream does: the answer may have 200 MB. The ARN may also be a bare name.
//
// The error is a *Error when Lambda refuses, or that of the context, which bounds the wait for the beginning alone; the
// function is not stopped when it ends.
func (s *Service) Invoke(ctx context.Context, arn string, payload []byte) (*Response, error) {
	to, err := s.options.place().target(arn, "")
	if err != nil {
		return nil, err
	}
	c := call{
		target: to, requestID: uuid.NewString(), payload: payload, trace: continueTrace(ctx), of: requestOf(ctx),
		streaming: true,
	}
	if err := c.check("RequestResponse", maxRequest); err != nil {
		return nil, err
	}
	inv, err := s.start(c)
	if err != nil {
		return nil, err
	}
	return inv.response(ctx)
}

// response waits for the beginning of the answer.
func (i *invocation) response(ctx context.Context) (*Response, error) {
	select {
	case <-i.answer.begun:
		return &Response{
			RequestID: i.requestID, ExecutedVersion: i.version.number, ContentType: i.answer.contentType,
			Body: i.answer, answer: i.answer,
		}, nil
	case <-ctx.Done():
		i.answer.Close()
		return nil, ctx.Err()
	}
}

// start gives the call to an instance, or begins to start one for it.
func (s *Service) start(c call) (*invocation, error) {
	s.mu.Lock()
	v, err := s.find(c.name, c.qualifier)
	s.mu.Unlock()
	if err != nil {
		s.observe(Asked, c, "", "", "")
		s.observe(Ended, c, "", "", refused(err))
		return nil, err
	}
	s.observe(Asked, c, v.number, "", "")
	inv := s.newInvocation(c, v)
	for {
		in, err := s.acquire(v)
		if err != nil {
			s.observe(Ended, c, v.number, "", refused(err))
			return nil, err
		}
		if in == nil {
			go s.launch(inv)
			return inv, nil
		}
		if in.deliver(inv, time.Now().Add(v.Timeout)) {
			return inv, nil
		}
	}
}

// streamWindow is how many bytes of a streamed answer may wait for their reader before the function has to.
const streamWindow = 1 << 20

// answer carries a function's answer to its caller, chunk by chunk.
type answer struct {
	// begun is closed when contentType is known: when the function begins to answer, or has failed.
	begun       chan struct{}
	contentType string
	// ended is told of the end before the caller can see it.
	ended func(failure []byte)

	mu      sync.Mutex
	changed sync.Cond
	chunks  [][]byte
	// size is that of the chunks; window bounds it if it is not 0.
	size, window int
	started      bool
	complete     bool
	closed       bool
	failed       []byte
}

func newAnswer(window int) *answer {
	a := &answer{begun: make(chan struct{}), window: window}
	a.changed.L = &a.mu
	return a
}

// begin tells the caller that an answer comes.
func (a *answer) begin(contentType string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.beginLocked(contentType)
}

func (a *answer) beginLocked(contentType string) {
	if !a.started {
		a.started = true
		a.contentType = contentType
		close(a.begun)
	}
}

// write adds a chunk, which the answer keeps. It waits while the reader of a streamed answer is far behind.
func (a *answer) write(chunk []byte) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for a.window > 0 && a.size >= a.window && !a.closed && !a.complete {
		a.changed.Wait()
	}
	if a.closed || a.complete {
		return
	}
	a.chunks = append(a.chunks, chunk)
	a.size += len(chunk)
	a.changed.Broadcast()
}

// finish ends the answer; failure is nil for one that is whole. Only the first end counts.
func (a *answer) finish(failure []byte) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.complete {
		return
	}
	a.ended(failure)
	a.beginLocked("")
	a.complete = true
	a.failed = failure
	a.changed.Broadcast()
}

func (a *answer) failure() []byte {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.failed
}

// Read gives at most one chunk, so that chunks stay apart as far as the function kept them apart.
func (a *answer) Read(p []byte) (int, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if err := a.awaitChunk(); err != nil {
		return 0, err
	}
	n := copy(p, a.chunks[0])
	a.take(n)
	return n, nil
}

// next gives one chunk, which is the caller's then.
func (a *answer) next() ([]byte, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if err := a.awaitChunk(); err != nil {
		return nil, err
	}
	chunk := a.chunks[0]
	a.take(len(chunk))
	return chunk, nil
}

// awaitChunk waits for a chunk, the end (io.EOF) or Close. The lock must be held.
func (a *answer) awaitChunk() error {
	for len(a.chunks) == 0 && !a.complete && !a.closed {
		a.changed.Wait()
	}
	switch {
	case a.closed:
		return io.ErrClosedPipe
	case len(a.chunks) == 0:
		return io.EOF
	}
	return nil
}

// take removes n bytes of the first chunk. The lock must be held.
func (a *answer) take(n int) {
	a.chunks[0] = a.chunks[0][n:]
	if len(a.chunks[0]) == 0 {
		a.chunks = a.chunks[1:]
	}
	a.size -= n
	a.changed.Broadcast()
}

// Close lets the function write on into nothing.
func (a *answer) Close() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.closed = true
	a.chunks, a.size = nil, 0
	a.changed.Broadcast()
	return nil
}

// all waits for the end and returns the whole answer; the error is that of a closed one.
func (a *answer) all() ([]byte, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for !a.complete && !a.closed {
		a.changed.Wait()
	}
	if a.closed {
		return nil, io.ErrClosedPipe
	}
	if len(a.chunks) == 1 {
		return a.chunks[0], nil
	}
	return bytes.Join(a.chunks, nil), nil
}
