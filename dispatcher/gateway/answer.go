package gateway

import (
	"errors"
	"io"
	"net/http"
)

const (
	// contentTypeStream marks an answer that begins with a prelude.
	contentTypeStream = "application/vnd.awslambda.http-integration-response"
	contentTypeJSON   = "application/json"
)

// answer is what the runtime reads: the part that was ready when it was returned, then the pipe, if the handler is
// still writing. Its end comes only after the handler's.
type answer struct {
	contentType string
	head        []byte
	tail        *io.PipeReader  // nil when head is everything
	done        <-chan struct{} // closed when the handler has returned; nil when it had
}

// ContentType is what aws-lambda-go sends the answer as.
func (a *answer) ContentType() string { return a.contentType }

var errNotJSON = errors.New("an answer is read, not encoded")

// MarshalJSON keeps aws-lambda-go from encoding the answer; it reads what cannot be encoded.
func (a *answer) MarshalJSON() ([]byte, error) { return nil, errNotJSON }

func (a *answer) Read(p []byte) (int, error) {
	if len(a.head) > 0 {
		n := copy(p, a.head)
		a.head = a.head[n:]
		return n, nil
	}
	if a.tail == nil {
		return 0, io.EOF
	}
	return a.tail.Read(p)
}

// Close ends the reading. It waits for the handler, which runs on: the runtime asks for the next event when Close
// returns, and what still runs then is frozen with the process.
func (a *answer) Close() error {
	if a.tail == nil {
		return nil
	}
	err := a.tail.Close()
	<-a.done
	return err
}

// whole runs the handler and returns its answer as one JSON document.
func (a *adapter) whole(request *http.Request, e *event) io.Reader {
	w := a.writer(request, e)
	w.whole = true
	w.serve(a.handler)
	return &answer{contentType: contentTypeJSON, head: appendBody(w.head, w.body)}
}

// stream runs the handler and returns as soon as its answer is complete or begins to flow. The handler has a goroutine
// of its own because it must run on behind a stream; an answer that is never flushed costs no pipe.
func (a *adapter) stream(request *http.Request, e *event) io.Reader {
	w := a.writer(request, e)
	w.started = make(chan *io.PipeReader)
	done := make(chan struct{})
	go func() {
		defer close(done)
		w.serve(a.handler)
	}()
	select {
	case tail := <-w.started:
		return &answer{contentType: contentTypeStream, head: w.body, tail: tail, done: done}
	case <-done:
		return &answer{contentType: contentTypeStream, head: w.body}
	}
}

func (a *adapter) writer(request *http.Request, e *event) *writer {
	return &writer{request: request, log: a.log, version: e.version, header: make(http.Header, 8)}
}
