package tool

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"sync/atomic"
)

// Answer is the body of a tool's response. It has what aws-lambda-go looks for in a handler's value: a reader is sent
// as it is read, under the content type that it names, and is closed afterwards.
type Answer struct {
	io.Reader
	contentType string
	close       func() error
}

// ContentType returns the media type of the body: application/json, or application/x-ndjson for a streamed answer.
func (a *Answer) ContentType() string { return a.contentType }

// Close ends a streamed answer whose reader has gone; the handler's context ends with it. When the handler panicked,
// Close panics with the same value (in a program of Serve it ends the process): by then the failure has been reported,
// and the process must end, as it does after any other panic of a Lambda function.
func (a *Answer) Close() error { return a.close() }

// MarshalJSON always fails: aws-lambda-go streams a reader only if it cannot be encoded as JSON.
func (a *Answer) MarshalJSON() ([]byte, error) {
	return nil, errors.New("an answer is read, not encoded")
}

func buffered(result json.RawMessage) *Answer {
	return &Answer{
		Reader:      bytes.NewReader(result),
		contentType: "application/json",
		close:       func() error { return nil },
	}
}

// stream runs the handler beside the answer that it writes. An error of the handler comes out of the reader, from where
// aws-lambda-go reports it in the trailers of the response, so that it is not lost after the first byte.
func stream(ctx context.Context, cancel context.CancelFunc, line *line, run runner, die func(value any)) *Answer {
	reader, writer := io.Pipe()
	lines := &progress{out: writer, log: line.log}
	var crashed atomic.Pointer[crash]
	go func() {
		err, returned := errors.New("the handler ended its goroutine without an answer"), false
		defer func() {
			if !returned {
				line.write(ended{}, err)
			}
			writer.CloseWithError(err)
		}()
		defer cancel()
		end, failure := guard(withProgress(ctx, lines), run)
		returned = true
		if c, ok := errors.AsType[*crash](failure); ok {
			crashed.Store(c)
			line.writePanic(c.value, c.stack)
		} else {
			// Before the last byte, after which Lambda may freeze the process.
			line.write(end, failure)
		}
		lines.finish(end.result)
		err = failure
	}()
	return &Answer{Reader: reader, contentType: "application/x-ndjson", close: func() error {
		cancel()
		if c := crashed.Load(); c != nil {
			die(c.value)
		}
		return reader.Close()
	}}
}

// guard runs the handler and returns its panic as an error, since nothing above it in its goroutine would report one.
func guard(ctx context.Context, run runner) (_ ended, err error) {
	defer func() {
		if value := recover(); value != nil {
			err = &crash{value: value, stack: debug.Stack()}
		}
	}()
	return run(ctx)
}

// crash is a panic of a handler whose answer is streamed.
type crash struct {
	value any
	stack []byte
}

// Error returns the panic's value as text.
func (c *crash) Error() string { return fmt.Sprintf("panic: %v", c.value) }
