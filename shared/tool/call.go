package tool

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"reflect"
	"time"

	"patchbay/shared/invoke"
	"patchbay/shared/mcp"
	"patchbay/shared/principal"
)

// Call is what a handler may know of the call beside its arguments.
type Call struct {
	// Tool is the name under which the client called.
	Tool string
	// Principal is the caller, as the authorizer established it; its zero value is the anonymous caller.
	Principal principal.Principal
	// Meta is what the client reported of itself, with the request id and the trace context (W3C traceparent,
	// tracestate, baggage). It is unverified: for display, logs and tracing, never for decisions about rights.
	Meta invoke.Meta
	// InputResponses are the client's answers to what Ask asked for, a JSON object; see Response. Absent in round one.
	InputResponses json.RawMessage
	// State is what the tool gave to Ask in the round before, unchanged; empty in round one.
	State string
	// IdempotencyKey is the same for every re-send of one logical call; empty when the contract asks for none. Pass it
	// on to APIs that take one.
	IdempotencyKey string
	// DryRun asks what the call would do, without doing it. It is only ever set when the contract offers dry runs.
	DryRun bool
	// Deadline is when the dispatcher stops waiting; zero when it did not say. The context ends then, or earlier when
	// Lambda ends the function earlier.
	Deadline time.Time
}

// CallFrom returns the call that a handler's context belongs to; a zero Call for any other context.
func CallFrom(ctx context.Context) Call {
	if current, ok := ctx.Value(callKey{}).(*current); ok {
		return current.call
	}
	return Call{}
}

// Caller returns the principal of the call that a context belongs to, and false for a context that is not a handler's:
// that is not the anonymous caller. It is what handle.New of package handle takes to keep one caller's state from
// another.
func Caller(ctx context.Context) (principal.Principal, bool) {
	call := CallFrom(ctx)
	return call.Principal, call.Tool != ""
}

// Log returns a logger whose records carry the tool's name, the request id and the trace id, so that they can be found
// from the dispatcher's record of the same call; slog.Default() for a context that is not a handler's.
func Log(ctx context.Context) *slog.Logger {
	if current, ok := ctx.Value(callKey{}).(*current); ok {
		return current.log
	}
	return slog.Default()
}

// Client returns the name and version that the client reports of itself; zero when it reports none.
func (c Call) Client() mcp.Implementation {
	var client mcp.Implementation
	if err := json.Unmarshal(c.Meta.ClientInfo, &client); err != nil {
		return mcp.Implementation{}
	}
	return client
}

// Supports reports whether the client declared a capability in this request, given by its path: "sampling", or
// "elicitation", "url". An empty elicitation capability means forms (MCP 2026-07-28, client/elicitation, Capabilities).
// Asking a client for what it does not support makes the call fail, so a tool that can do without asks first.
func (c Call) Supports(path ...string) bool {
	at := c.Meta.ClientCapabilities
	for i, name := range path {
		var members map[string]json.RawMessage
		if json.Unmarshal(at, &members) != nil {
			return false
		}
		member, ok := members[name]
		if !ok {
			return i == 1 && path[0] == "elicitation" && name == "form" && len(members) == 0
		}
		at = member
	}
	return true
}

// Response decodes the client's answer to the input request of that key into v, which is a pointer to ElicitResult,
// SamplingResult or RootsResult. It reports false when there is no such answer: in round one, or when the client left
// it out, and then the tool asks again. An error means that the answer is not of v's form.
func (c Call) Response(key string, v any) (bool, error) {
	if len(c.InputResponses) == 0 {
		return false, nil
	}
	var responses map[string]json.RawMessage
	if err := json.Unmarshal(c.InputResponses, &responses); err != nil {
		return false, fmt.Errorf("decoding input responses: %w", err)
	}
	response, ok := responses[key]
	if !ok {
		return false, nil
	}
	if err := shapeOf(reflect.TypeOf(v), map[reflect.Type]*shape{}).read(response, v); err != nil {
		return false, fmt.Errorf("decoding the client's answer to %q: %w", key, err)
	}
	return true, nil
}

// callKey is the context key of *current.
type callKey struct{}

// current is the call in progress.
type current struct {
	call     Call
	log      *slog.Logger
	replay   *replay
	progress *progress // nil when the client did not ask for progress
}

func newCall(request invoke.Request) Call {
	call := Call{
		Tool: request.Tool, Principal: request.Principal, Meta: request.Meta,
		InputResponses: request.InputResponses, State: request.State,
		IdempotencyKey: request.IdempotencyKey, DryRun: request.DryRun,
	}
	if request.Deadline != 0 {
		call.Deadline = time.UnixMilli(request.Deadline)
	}
	return call
}

func withCall(ctx context.Context, call Call, log *slog.Logger) context.Context {
	return context.WithValue(ctx, callKey{}, &current{call: call, log: log, replay: new(replay)})
}

// withDeadline ends the context at the dispatcher's deadline, in milliseconds since the Unix epoch, unless it ends
// earlier already.
func withDeadline(ctx context.Context, deadline int64) (context.Context, context.CancelFunc) {
	if deadline == 0 {
		return context.WithCancel(ctx)
	}
	return context.WithDeadline(ctx, time.UnixMilli(deadline))
}
