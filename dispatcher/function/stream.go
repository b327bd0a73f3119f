package function

import (
	"bytes"
	"context"
	"encoding/json"
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
	if err := stream.Err(); err != nil {
		return nil, classify(ctx, function, err)
	}
	return lines.finish()
}

// lineReader puts the lines of a streamed answer together from its chunks.
type lineReader struct {
	progress func(invoke.Progress)
	rest     []byte
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

func (r *lineReader) chunk(chunk []byte) error {
	r.total += len(chunk)
	if len(r.rest)+len(chunk) > MaxPayload {
		return &Failure{Type: "Function.ResponseSizeTooLarge", Payload: fmt.Sprintf("a line of over %d bytes", MaxPayload)}
	}
	for {
		line, after, found := bytes.Cut(chunk, []byte{'\n'})
		r.rest = append(r.rest, line...)
		if !found {
			return nil
		}
		r.line(r.rest)
		r.rest, chunk = r.rest[:0], after
	}
}

// line takes one line. A line that is no invoke.Line is kept as a result: it is for the caller to judge.
func (r *lineReader) line(line []byte) {
	if len(bytes.TrimSpace(line)) == 0 {
		return
	}
	var parsed invoke.Line
	if err := json.Unmarshal(line, &parsed); err != nil || (parsed.Progress == nil && parsed.Result == nil) {
		r.result = bytes.Clone(line)
		return
	}
	if parsed.Progress != nil && r.result == nil {
		r.progress(*parsed.Progress)
	}
	if parsed.Result != nil {
		r.result = parsed.Result
	}
}

func (r *lineReader) finish() ([]byte, error) {
	r.line(r.rest)
	switch {
	case r.failure != nil:
		return nil, r.failure
	case !r.complete:
		return nil, fmt.Errorf("the stream ended before the invocation was complete: %w", ErrUnknown)
	case r.result == nil:
		return nil, &Failure{Type: "Function.NoResult", Payload: fmt.Sprintf("%d bytes without a result line", r.total)}
	}
	return r.result, nil
}

func deref(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}
