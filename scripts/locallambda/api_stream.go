package locallambda

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"

	"github.com/aws/aws-sdk-go-v2/aws/protocol/eventstream"
)

// invokeComplete is the last event of a streamed answer.
// Source: docs.aws.amazon.com/lambda/latest/api/API_InvokeWithResponseStreamCompleteEvent.html.
type invokeComplete struct {
	ErrorCode    string `json:",omitempty"`
	ErrorDetails string `json:",omitempty"`
}

// serveStream answers InvokeWithResponseStream. A function that fails is reported in the last event, also when it fails
// before it answers.
func (s *Service) serveStream(w http.ResponseWriter, r *http.Request) {
	c, err := s.readCall(r, "RequestResponse", maxRequest)
	if err != nil {
		s.refuse(w, err)
		return
	}
	w.Header().Set("X-Amzn-Requestid", c.requestID)
	if r.Header.Get("X-Amz-Invocation-Type") == "DryRun" {
		s.dryRun(w, c)
		return
	}
	c.streaming = true
	inv, err := s.start(c)
	if err != nil {
		s.refuse(w, err)
		return
	}
	w.Header().Set("X-Amz-Executed-Version", inv.version.number)
	w.Header().Set("Content-Type", "application/vnd.amazon.eventstream")
	w.WriteHeader(http.StatusOK)
	events := &eventWriter{response: w, control: http.NewResponseController(w), encoder: eventstream.NewEncoder()}
	stop := context.AfterFunc(r.Context(), func() { inv.answer.Close() })
	defer stop()
	if events.payload(inv.answer) == nil {
		events.complete(inv.answer.failure())
	}
}

// eventWriter writes events of AWS's binary format, each at once.
type eventWriter struct {
	response http.ResponseWriter
	control  *http.ResponseController
	encoder  *eventstream.Encoder
}

// payload sends an answer as one PayloadChunk for each piece that comes.
func (e *eventWriter) payload(a *answer) error {
	for {
		chunk, err := a.next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := e.event("PayloadChunk", "application/octet-stream", chunk); err != nil {
			return err
		}
	}
}

func (e *eventWriter) complete(failure []byte) {
	var last invokeComplete
	if failure != nil {
		last = invokeComplete{ErrorCode: Unhandled, ErrorDetails: string(failure)}
	}
	data, err := json.Marshal(last)
	if err != nil {
		panic("locallambda: encoding two strings: " + err.Error())
	}
	// A caller that is gone needs no last event.
	_ = e.event("InvokeComplete", "application/json", data)
}

func (e *eventWriter) event(kind, contentType string, payload []byte) error {
	message := eventstream.Message{Payload: payload}
	message.Headers.Set(":message-type", eventstream.StringValue("event"))
	message.Headers.Set(":event-type", eventstream.StringValue(kind))
	message.Headers.Set(":content-type", eventstream.StringValue(contentType))
	if err := e.encoder.Encode(e.response, message); err != nil {
		return err
	}
	return e.control.Flush()
}
