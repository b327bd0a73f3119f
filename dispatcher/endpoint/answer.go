package endpoint

import (
	"encoding/json"
	"net/http"
	"strconv"
	"sync"
	"time"

	"patchbay/shared/jsonrpc"
)

// answer writes the one answer of an exchange: a JSON object, or a stream of events that ends with it. It becomes a
// stream with the first notification, or when the client would otherwise hear nothing for too long; until then an error
// can still have its HTTP status. It is safe for concurrent use: keep-alives come from a timer.
//
// A client that went away is not told from one that is there: the first write that fails is the last one, and the call
// goes on to its end.
type answer struct {
	w         http.ResponseWriter
	accepts   accepted
	keepAlive time.Duration

	mu     sync.Mutex
	code   int // the status that was sent; 0 before
	opened bool
	closed bool
	gone   bool // a write failed
	timer  *time.Timer
}

func newAnswer(w http.ResponseWriter, keepAlive time.Duration) *answer {
	return &answer{w: w, keepAlive: keepAlive}
}

func (a *answer) header() http.Header { return a.w.Header() }

// status answers with a status alone.
func (a *answer) status(code int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.stop()
	a.writeHeader(code)
}

// sent returns the status that was sent; 0 when there is none yet.
func (a *answer) sent() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.code
}

// close ends the answer without a word: nothing is sent any more.
func (a *answer) close() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.stop()
}

func (a *answer) stop() {
	a.closed = true
	if a.timer != nil {
		a.timer.Stop()
	}
}

// result answers with a result and ends the answer.
func (a *answer) result(id jsonrpc.ID, result json.RawMessage) {
	body := jsonrpc.AppendResult(make([]byte, 0, len(result)+64), id, result)
	a.finish(http.StatusOK, body)
}

// fail answers with an error and ends the answer.
func (a *answer) fail(status int, id jsonrpc.ID, e *jsonrpc.Error) {
	a.finish(status, jsonrpc.AppendError(nil, id, e))
}

// finish sends the last message: as the last event where a stream is open or the client reads nothing else, else as the
// whole body.
func (a *answer) finish(status int, body []byte) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed {
		return
	}
	a.stop()
	if !a.opened && (a.accepts.json || !a.accepts.stream || status != http.StatusOK) {
		header := a.w.Header()
		header.Set("Content-Type", "application/json")
		header.Set("Content-Length", strconv.Itoa(len(body)))
		a.writeHeader(status)
		_, _ = a.w.Write(body)
		return
	}
	a.event(body)
}

// notify sends a notification as an event.
func (a *answer) notify(message []byte) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed {
		return
	}
	a.event(message)
	a.rearm()
}

// keepAwake sends comments from now on whenever nothing else was sent for the keep-alive time. Source:
// basic/transports/streamable-http#receiving-messages; comment lines carry no data.
func (a *answer) keepAwake() {
	if !a.accepts.stream {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.timer = time.AfterFunc(a.keepAlive, func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		if a.closed {
			return
		}
		a.open()
		a.write([]byte(":\n\n"))
		a.rearm()
	})
}

func (a *answer) rearm() {
	if a.timer != nil && !a.gone {
		a.timer.Reset(a.keepAlive)
	}
}

// event sends one message of the stream. JSON has no line breaks once its white space is gone; a message that has some
// is sent line by line, which the receiver joins again (WHATWG HTML, section 9.2.6).
func (a *answer) event(message []byte) {
	a.open()
	out := make([]byte, 0, len(message)+16)
	out = append(out, "data: "...)
	for _, c := range message {
		switch c {
		case '\n':
			out = append(out, "\ndata: "...)
		case '\r':
			out = append(out, ' ')
		default:
			out = append(out, c)
		}
	}
	a.write(append(out, "\n\n"...))
}

func (a *answer) open() {
	if a.opened {
		return
	}
	a.opened = true
	header := a.w.Header()
	header.Set("Content-Type", "text/event-stream")
	header.Set("Cache-Control", "no-cache")
	// Asks proxies in between not to hold events back.
	header.Set("X-Accel-Buffering", "no")
	a.writeHeader(http.StatusOK)
}

func (a *answer) writeHeader(status int) {
	a.code = status
	a.w.WriteHeader(status)
}

// write sends a part of the stream. Once that failed there is nobody to send the rest to.
func (a *answer) write(p []byte) {
	if a.gone {
		return
	}
	if _, err := a.w.Write(p); err != nil {
		a.gone = true
		return
	}
	if flusher, ok := a.w.(http.Flusher); ok {
		flusher.Flush()
	}
}
