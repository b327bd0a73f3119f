package tool

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"runtime/debug"
	"time"

	"github.com/aws/aws-lambda-go/lambdacontext"

	"patchbay/shared/invoke"
	"patchbay/shared/xray"
)

// Outcomes of a call on the tool's side, as its line in the log says them. Where the dispatcher can see the same it
// uses the same word.
const (
	outcomeOK        = "ok"
	outcomeToolError = "tool_error"     // a failure that the model reads
	outcomeAsks      = "input_required" // a question to the client
	outcomeError     = "error"          // a defect: the client learns only that the tool failed
	outcomePanic     = "panic"
)

// ended is how a handler's run ended, if not with a defect.
type ended struct {
	result  json.RawMessage
	outcome string
	// code is the contract's failure mode; empty where there is none.
	code string
}

// line is the one line of the log that a call leaves.
type line struct {
	log     *slog.Logger
	started time.Time
	first   bool
	// invocation is Lambda's id of the invocation, which its own lines (START, REPORT) carry.
	invocation string
}

func (h *Handler) newLine(ctx context.Context, request invoke.Request) *line {
	l := &line{log: h.logger(request), started: time.Now(), first: !h.begun.Swap(true)}
	if trace := xray.FromContext(ctx); trace != "" {
		l.log = l.log.With("traceId", trace)
	}
	if lambda, ok := lambdacontext.FromContext(ctx); ok {
		l.invocation = lambda.AwsRequestID
	}
	return l
}

// write says how the call ended. err is the defect, if there was one.
func (l *line) write(end ended, err error) {
	if err != nil {
		l.put(slog.LevelError, outcomeError, slog.String("error", err.Error()))
		return
	}
	if end.code != "" {
		l.put(slog.LevelInfo, end.outcome, slog.String("code", end.code))
		return
	}
	l.put(slog.LevelInfo, end.outcome)
}

func (l *line) writePanic(value any, stack []byte) {
	l.put(slog.LevelError, outcomePanic, slog.String("error", fmt.Sprint(value)), slog.String("stack", string(stack)))
}

// panicked writes down a panic, in a deferred call, and lets it go on: the Lambda runtime reports it and ends the
// process, whose state cannot be trusted any more.
func (l *line) panicked() {
	if value := recover(); value != nil {
		l.writePanic(value, debug.Stack())
		panic(value)
	}
}

func (l *line) put(level slog.Level, outcome string, more ...slog.Attr) {
	attrs := append(make([]slog.Attr, 0, 8),
		slog.String("outcome", outcome),
		slog.Float64("durationMs", float64(time.Since(l.started))/float64(time.Millisecond)),
	)
	if l.invocation != "" {
		attrs = append(attrs, slog.String("lambdaRequestId", l.invocation))
	}
	if l.first {
		attrs = append(attrs, slog.Bool("coldStart", true))
	}
	l.log.LogAttrs(context.Background(), level, "tool call", append(attrs, more...)...)
}
