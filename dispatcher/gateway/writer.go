package gateway

import (
	"errors"
	"io"
	"log/slog"
	"net/http"
	"runtime/debug"
	"strconv"

	"patchbay/shared/jsonrpc"
)

// writer is the http.ResponseWriter of one request; like net/http's it is for one goroutine at a time. What the handler
// writes is collected until the first Flush, and sent as it is written from then on. In an answer that is sent whole,
// Flush does nothing.
type writer struct {
	request *http.Request
	log     *slog.Logger
	version string // the event's, whose answer differs
	whole   bool

	header http.Header
	status int    // 0 until the header is written
	head   []byte // status and header as JSON, without the closing brace
	body   []byte // what follows head; in a streamed answer the prelude is in it
	failed error  // what every further Write returns

	started chan *io.PipeReader // gets the reader of the stream when it begins
	pipe    *io.PipeWriter      // nil until then
}

func (w *writer) Header() http.Header { return w.header }

// WriteHeader fixes status and header. Informational statuses are dropped, as no front door passes them on.
func (w *writer) WriteHeader(status int) {
	if status < 100 || status > 999 {
		panic("gateway: status " + strconv.Itoa(status) + " is not of three digits")
	}
	if w.status != 0 || status < 200 {
		return
	}
	w.status = status
	w.head = appendHead(make([]byte, 0, 512), w.version, status, w.header)
	if w.whole {
		return
	}
	w.body = appendPrelude(w.head)
	if len(w.body) > maxPrelude {
		w.fail("the response header is longer than the front door takes", "bytes", len(w.body), "limit", maxPrelude)
	}
}

// Write returns an error when the front door has stopped reading; the handler may go on with its work.
func (w *writer) Write(p []byte) (int, error) {
	if w.status == 0 {
		w.WriteHeader(http.StatusOK)
	}
	switch {
	case w.failed != nil:
		return 0, w.failed
	case w.status == http.StatusNoContent || w.status == http.StatusNotModified:
		return 0, http.ErrBodyNotAllowed
	case w.request.Method == http.MethodHead:
		return len(p), nil
	case w.pipe != nil:
		return w.pipe.Write(p)
	}
	w.body = append(w.body, p...)
	return len(p), nil
}

// Flush is FlushError for those who look for an http.Flusher.
func (w *writer) Flush() { _ = w.FlushError() }

// FlushError sends what was written so far and makes every further Write a chunk of its own.
func (w *writer) FlushError() error {
	if w.status == 0 {
		w.WriteHeader(http.StatusOK)
	}
	if w.whole || w.failed != nil || w.pipe != nil {
		return w.failed
	}
	var reader *io.PipeReader
	reader, w.pipe = io.Pipe()
	w.started <- reader
	return nil
}

// serve runs the handler to its end. A panic becomes an internal error where nothing was sent yet, else the stream ends
// as a failed one; the record in the log has what happened.
func (w *writer) serve(handler http.Handler) {
	defer func() {
		if cause := recover(); cause != nil {
			w.fail("handler panicked", "panic", cause, "stack", string(debug.Stack()))
		}
		w.end()
	}()
	handler.ServeHTTP(w, w.request)
}

func (w *writer) end() {
	if w.status == 0 {
		w.WriteHeader(http.StatusOK)
	}
	if w.pipe != nil {
		_ = w.pipe.CloseWithError(w.failed) // never fails
	}
}

// errInternal is all that a client learns of a failure.
var errInternal = errors.New("internal error")

// fail logs what went wrong, and replaces an answer that was not yet sent by an internal error.
func (w *writer) fail(message string, attributes ...any) {
	id := FromContext(w.request.Context()).RequestID
	w.log.ErrorContext(w.request.Context(), message, append(attributes, "requestId", id)...)
	w.failed = errInternal
	if w.pipe != nil {
		return
	}
	w.status = http.StatusInternalServerError
	w.head = appendHead(nil, w.version, w.status, http.Header{"Content-Type": {"application/json"}})
	w.body = nil
	if !w.whole {
		w.body = appendPrelude(w.head)
	}
	failure := jsonrpc.Errorf(jsonrpc.CodeInternalError, "Internal error")
	w.body = jsonrpc.AppendError(w.body, jsonrpc.ID{}, failure)
}
