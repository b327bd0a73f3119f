package localpage

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"time"

	"patchbay/scripts/callpath"
)

const (
	// recent is how many calls a page gets that has just been opened.
	recent = 100
	// keepAlive is the longest silence on a stream, after which a browser would learn late that the stack has gone.
	keepAlive = 15 * time.Second
)

// streamCalls sends the last calls, the oldest first, and then each one as it ends, as server-sent events, until the
// page goes or there will be no more. Between the two a call may come twice; its request id tells. Source: WHATWG HTML,
// section 9.2.
func (h *handler) streamCalls(w http.ResponseWriter, r *http.Request) {
	calls, stop := h.options.Calls.Subscribe()
	defer stop()
	w.Header().Set("Content-Type", "text/event-stream")
	stream := &stream{w: w, connection: http.NewResponseController(w)}
	for _, call := range slices.Backward(h.options.Calls.Recent(recent)) {
		stream.call(call)
	}
	stream.send("event: ready\ndata:\n\n")
	silence := time.NewTicker(keepAlive)
	defer silence.Stop()
	for stream.err == nil {
		select {
		case call, more := <-calls:
			if !more {
				return
			}
			stream.call(call)
			stream.flush()
		case <-silence.C:
			stream.send(":\n\n")
		case <-r.Context().Done():
			return
		}
	}
}

// stream writes events until one does not reach the page any more.
type stream struct {
	w          http.ResponseWriter
	connection *http.ResponseController
	err        error
}

func (s *stream) call(call callpath.Call) {
	data, err := json.Marshal(call)
	if err != nil {
		panic("encoding a call: " + err.Error())
	}
	s.write(fmt.Sprintf("event: call\ndata: %s\n\n", data)) // encoded JSON has no line breaks
}

func (s *stream) send(text string) {
	s.write(text)
	s.flush()
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
