package localpage

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"time"
)

const (
	// recent is how many calls a page gets that has just been opened.
	recent = 100
	// keepAlive is the longest silence on a stream, after which a browser would learn late that the stack has gone.
	keepAlive = 15 * time.Second
)

// serveEvents sends the last calls, the oldest first, and the faults of what was saved, and then each call and each
// change as it comes, as server-sent events, until the page goes or there will be no more. A call may come twice at
// first; its request id tells. Source: WHATWG HTML, section 9.2.
func (h *handler) serveEvents(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/event-stream")
	if r.Method == http.MethodHead {
		return
	}
	calls, stopCalls := h.options.Calls.Subscribe()
	defer stopCalls()
	now, changes, stopChanges := h.options.Changes.subscribe()
	defer stopChanges()
	stream := &stream{w: w, connection: http.NewResponseController(w)}
	for _, call := range slices.Backward(h.options.Calls.Recent(recent)) {
		stream.event("call", call)
	}
	stream.event("ready", now)
	stream.flush()
	silence := time.NewTicker(keepAlive)
	defer silence.Stop()
	for stream.err == nil {
		select {
		case call, more := <-calls:
			if !more {
				return
			}
			stream.event("call", call)
		case change := <-changes:
			stream.event("change", change)
		case <-silence.C:
			stream.write(":\n\n")
		case <-r.Context().Done():
			return
		}
		stream.flush()
	}
}

// stream writes events until one does not reach the page any more.
type stream struct {
	w          http.ResponseWriter
	connection *http.ResponseController
	err        error
}

// event writes an event. Encoded JSON has no line breaks, which would end its data.
func (s *stream) event(name string, data any) {
	encoded, err := json.Marshal(data)
	if err != nil {
		panic("encoding an event of the page: " + err.Error()) // only for types that JSON has no form for
	}
	s.write(fmt.Sprintf("event: %s\ndata: %s\n\n", name, encoded))
}

func (s *stream) write(text string) {
	if s.err == nil {
		_, s.err = s.w.Write([]byte(text))
	}
}

func (s *stream) flush() {
	if s.err == nil {
		s.err = s.connection.Flush()
	}
}
