// Package tool is what the author of a Go tool imports: it turns a typed function into the Lambda function of one tool.
//
//	type Input struct {
//		Name string `json:"name"`
//	}
//
//	type Output struct {
//		Greeting string `json:"greeting"`
//	}
//
//	func greet(ctx context.Context, in Input) (Output, error) {
//		if in.Name == "nobody" {
//			return Output{}, tool.Fail("unknown_person", "nobody is not a person; give a name")
//		}
//		return Output{Greeting: "Hello, " + in.Name}, nil
//	}
//
//	func main() { tool.Serve(greet) }
//
// The arguments have been validated against the tool's inputSchema, with its defaults applied, before a function runs;
// package tooltest checks in the tool's own test that its Go types and its schemas agree. A field is filled only by the
// member that has exactly its name, with the case of its letters. An integer may be written as 20.0 or 2e1; a number
// beyond the range of its field's type is answered as a tool error before the function runs.
//
// What a handler returns as its first value becomes the result: see Result. What it returns as an error is one of
// three: Fail is an error that the model reads and can act on; Ask is a question to the client; any other error is a
// defect, which is logged and of which the client only learns that the tool failed, so that no internals leak.
package tool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"reflect"
	"sync/atomic"

	"github.com/aws/aws-lambda-go/lambda"

	"patchbay/shared/invoke"
)

// Serve runs the handler as a Lambda function and does not return. Logs of the default slog.Logger go to standard error
// as JSON, one line a record, where Lambda collects them; so do those of package log. Every call leaves one such line,
// by which it is found from the dispatcher's: see Log for lines of the author's own. It is the last statement of a
// tool's main.
func Serve[In, Out any](handler func(context.Context, In) (Out, error)) {
	logAsJSON()
	h := NewHandler(handler)
	// The panic is in the log by then; the runtime's own report of it would be many lines more.
	h.crash = func(any) { os.Exit(1) }
	lambda.Start(h.Invoke)
}

// Stop ends a tool's program that cannot serve, for want of a setting for example, with one line of the log that says
// why. Lambda then answers every invocation with a failure.
func Stop(reason error) {
	logAsJSON()
	slog.Error("tool cannot start", "error", reason.Error())
	os.Exit(1)
}

func logAsJSON() { slog.SetDefault(slog.New(slog.NewJSONHandler(os.Stderr, nil))) }

// Handler is a tool as the dispatcher sees it: an envelope in, an answer out. It is safe for concurrent use where the
// author's function is.
type Handler struct {
	// Log gets a line for every call; nil means slog.Default().
	Log *slog.Logger

	run func(ctx context.Context, arguments json.RawMessage) (ended, error)
	// crash ends the process after a panic whose report is complete.
	crash func(value any)
	// begun says that this process has had a call.
	begun atomic.Bool
}

// NewHandler makes a Handler of a typed function. Serve is the usual way; this one is for tests and for programs that
// run a tool without Lambda.
func NewHandler[In, Out any](handler func(context.Context, In) (Out, error)) *Handler {
	input := shapeOf(reflect.TypeFor[In](), map[reflect.Type]*shape{})
	run := func(ctx context.Context, arguments json.RawMessage) (ended, error) {
		var in In
		err := input.read(arguments, &in)
		if misfit, ok := errors.AsType[*misfit](err); ok {
			result, err := misfit.result()
			return ended{result: result, outcome: outcomeToolError}, err
		}
		if err != nil {
			return ended{}, fmt.Errorf("decoding arguments, which its inputSchema accepted, into %T: %w", in, err)
		}
		out, err := handler(ctx, in)
		if err != nil {
			return resultOfError(err)
		}
		return resultOf(ctx, out)
	}
	return &Handler{run: run, crash: func(value any) { panic(value) }}
}

// Invoke answers one event, an invoke.Request as JSON. The answer is one JSON object, or lines of JSON where the
// request asks for progress; those are written while the handler runs. An error is a defect: an event that is not an
// envelope of a known version, arguments that do not fit In, or an error of the handler that is neither Fail nor Ask.
func (h *Handler) Invoke(ctx context.Context, event json.RawMessage) (*Answer, error) {
	request, err := decode(event)
	if err != nil {
		h.logger(request).Error("event refused", "error", err.Error())
		return nil, err
	}
	ctx, cancel := withDeadline(ctx, request.Deadline)
	line := h.newLine(ctx, request)
	ctx = withCall(ctx, newCall(request), line.log)
	run := func(ctx context.Context) (ended, error) { return h.run(ctx, request.Arguments) }
	if request.Meta.Progress {
		return stream(ctx, cancel, line, run, h.crash), nil
	}
	defer cancel()
	defer line.panicked()
	end, err := run(ctx)
	line.write(end, err)
	if err != nil {
		return nil, err
	}
	return buffered(end.result), nil
}

// runner runs a handler with the arguments of one call.
type runner func(context.Context) (ended, error)

func (h *Handler) logger(request invoke.Request) *slog.Logger {
	log := h.Log
	if log == nil {
		log = slog.Default()
	}
	return log.With("tool", request.Tool, "requestId", request.Meta.RequestID)
}

// decode reads the version before anything else, since every other field may mean something else in another version.
func decode(event json.RawMessage) (invoke.Request, error) {
	var envelope struct {
		Version int `json:"version"`
	}
	if err := json.Unmarshal(event, &envelope); err != nil {
		return invoke.Request{}, fmt.Errorf("decoding the envelope: %w", err)
	}
	if envelope.Version != invoke.Version {
		return invoke.Request{}, fmt.Errorf("envelope version %d is not known; this tool speaks version %d",
			envelope.Version, invoke.Version)
	}
	var request invoke.Request
	if err := json.Unmarshal(event, &request); err != nil {
		return invoke.Request{}, fmt.Errorf("decoding the envelope: %w", err)
	}
	return request, nil
}
