// Package gateway turns the events of an HTTP front door into requests for an http.Handler, and what the handler writes
// into the answer that the front door reads.
//
// Three front doors are understood: API Gateway's REST API (proxy event version 1), its HTTP API (version 2, or 1 by
// choice) and the Lambda function URL (version 2). The kind is told from the event itself. Where the front door can
// stream, the answer begins with a prelude of status and headers, and the body follows as the handler flushes it.
//
// A front door does not tell that its client has gone. The handler runs to its end, its context carries the deadline
// of the invocation and is never cancelled early, and an invocation is not reported as finished before the handler has
// returned, since Lambda freezes the process then.
package gateway

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
)

// Options say how answers are sent. The zero value is ready for a streaming integration.
type Options struct {
	// Buffered sends whole answers as one JSON document. It is for what cannot read a streamed answer: SAM's local API,
	// an integration with transfer mode BUFFERED, a function URL with invoke mode BUFFERED. Answers to an HTTP API are
	// always sent so.
	Buffered bool
	// Logger gets one record for each handler that panicked or sent more headers than the front door takes; nil is
	// slog.Default().
	Logger *slog.Logger
}

// Handler is a Lambda handler for lambda.Start. The reader that it returns names its own content type and must be read
// to its end and closed, as aws-lambda-go does. The error is about the event: it names the field that is wrong.
type Handler func(ctx context.Context, event json.RawMessage) (io.Reader, error)

// New returns a Lambda handler that answers the events of all three front doors with handler.
func New(handler http.Handler, options Options) Handler {
	if options.Logger == nil {
		options.Logger = slog.Default()
	}
	a := &adapter{handler: handler, buffered: options.Buffered, log: options.Logger}
	return a.answer
}

type adapter struct {
	handler  http.Handler
	buffered bool
	log      *slog.Logger
}

func (a *adapter) answer(ctx context.Context, raw json.RawMessage) (io.Reader, error) {
	e, err := parseEvent(raw)
	if err != nil {
		return nil, err
	}
	request, err := e.request(ctx)
	if err != nil {
		return nil, err
	}
	if a.buffered || e.door == httpAPI {
		return a.whole(request, e), nil
	}
	return a.stream(request, e), nil
}
