package function

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/lambda/types"

	"patchbay/shared/invoke"
)

// Stream runs the function with payload as its event, hands every progress report on as it arrives, and returns the
// result line. An answer that is not in lines, as of a tool that does not stream after all, is returned whole.
func (c *Client) Stream(ctx context.Context, function string, payload []byte,
	progress func(invoke.Progress)) ([]byte, error) {
	if len(payload) > MaxPayload {
		return nil, fmt.Errorf("invoking %s with %d bytes: %w", function, len(payload), ErrTooLarge)
	}
	api := c.streaming()
	output, err := retryThrottled(ctx, c.sleep, func() (*lambda.InvokeWithResponseStreamOutput, error) {
		return api.InvokeWithResponseStream(ctx, &lambda.InvokeWithResponseStreamInput{
			FunctionName: &function, Payload: payload,
		})
	})
	if err != nil {
		return nil, classify(ctx, function, err)
	}
	stream := output.GetStream()
	defer stream.Close()
	lines := lineReader{progress: progress}
	for event := range stream.Events() {
		if err := lines.event(event); err != nil {
			return nil, fmt.Errorf("reading the stream of %s: %w", function, err)
		}
	}
	if !lines.complete {
		return nil, classify(ctx, function, cmp.Or(stream.Err(), errCut))
	}
	return lines.finish()
}

// errCut: the SDK's stream has no error of its own where its context ends, or where the connection ends between events.
var errCut = errors.New("the stream ended before the invocation was complete")

// lineReader puts the lines of a streamed answer together from its chunks. Where the chunks are cut changes nothing.
type lineReader struct {
	progress func(invoke.Progress)
	// buffer holds the line at hand from start on. Until the first line of the envelope it holds all that came before
	// that too, since the answer may not be in lines at all.
	buffer []byte
	start  int
	// lined says that there was a line of the envelope.
	lined    bool
	result   []byte
	failure  *Failure
	complete bool
	total    int
}

func (r *lineReader) event(event types.InvokeWithResponseStreamResponseEvent) error {
	switch e := event.(type) {
	case *types.InvokeWithResponseStreamResponseEventMemberPayloadChunk:
		return r.chunk(e.Value.Payload)
	case *types.InvokeWithResponseStreamResponseEventMemberInvokeComplete:
		r.complete = true
		if e.Value.ErrorCode != nil {
			r.failure = &Failure{Type: *e.Value.ErrorCode, Payload: deref(e.Value.ErrorDetails)}
		}
	}
	return nil
}

// chunk takes a piece of the answer. What follows the result is not looked at: the tool has said how the call ended.
func (r *lineReader) chunk(chunk []byte) error {
	r.total += len(chunk)
	for r.result == nil {
		line, after, found := bytes.Cut(chunk, []byte{'\n'})
		if len(r.buffer)+len(line) > MaxPayload {
			return &Failure{Type: typeTooLarge, Payload: fmt.Sprintf("a line of over %d bytes", MaxPayload)}
		}
		r.buffer = append(r.buffer, line...)
		if !found {
			return nil
		}
		r.endLine()
		chunk = after
	}
	return nil
}

// endLine takes the line at hand. Among lines of the envelope one that is none, blank or not, is passed over.
func (r *lineReader) endLine() {
	line, ok := parseLine(r.buffer[r.start:])
	if !ok && !r.lined {
		r.buffer = append(r.buffer, '\n')
		r.start = len(r.buffer)
		return
	}
	r.buffer, r.start = r.buffer[:0], 0
	if !ok {
		return
	}
	r.lined = true
	if line.Progress != nil {
		r.progress(*line.Progress)
	}
	r.result = line.Result
}

// parseLine reports false for what is no line of the envelope: other JSON, numbers that JSON does not have or float64
// does not hold, and text.
func parseLine(text []byte) (invoke.Line, bool) {
	var line invoke.Line
	if err := json.Unmarshal(text, &line); err != nil {
		return invoke.Line{}, false
	}
	return line, line.Progress != nil || line.Result != nil
}

// finish returns what a complete invocation came to.
func (r *lineReader) finish() ([]byte, error) {
	if r.result == nil {
		r.endLine()
	}
	whole := bytes.TrimSpace(r.buffer)
	switch {
	case r.failure != nil:
		return nil, r.failure
	case r.result != nil:
		return r.result, nil
	case len(whole) > 0:
		return whole, nil
	}
	return nil, &Failure{Type: "Function.NoResult", Payload: fmt.Sprintf("%d bytes without a result line", r.total)}
}

func deref(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}
