package toolcall

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"patchbay/dispatcher/function"
	"patchbay/shared/mcp"
)

// outcome says in one word how a call ended; it is what logs and metrics count by.
type outcome string

const (
	outcomeOK          outcome = "ok"
	outcomePanic       outcome = "panic"
	outcomeToolError   outcome = "tool_error"
	outcomeUnknownTool outcome = "unknown_tool"
	outcomeHeaders     outcome = "header_mismatch"
	outcomeForbidden   outcome = "insufficient_scope"
	outcomeInvalid     outcome = "invalid_arguments"
	outcomeUnavailable outcome = "catalogue_unavailable"
	outcomeTooLarge    outcome = "request_too_large"
	outcomeThrottled   outcome = "throttled"
	outcomeGone        outcome = "function_gone"
	outcomeDeadline    outcome = "deadline"
	outcomeCrash       outcome = "tool_crash"
	outcomeBroken      outcome = "invocation_broken"
	outcomeDefect      outcome = "defect"
	outcomeState       outcome = "bad_request_state"
	outcomeCapability  outcome = "missing_capability"
	outcomeAsks        outcome = "input_required"
	outcomeCannotAsk   outcome = "cannot_ask"
	outcomeKey         outcome = "bad_idempotency_key"
	outcomeNoKey       outcome = "idempotency_key_missing"
	outcomeReplayed    outcome = "replayed"
	outcomeInFlight    outcome = "in_flight"
	outcomeConflict    outcome = "key_conflict"
	outcomeUncertain   outcome = "outcome_unknown"
	outcomeLedger      outcome = "ledger_unavailable"
	outcomeUnrecorded  outcome = "outcome_not_recorded"
	outcomeStepUp      outcome = "insufficient_user_authentication"
	outcomeDeclined    outcome = "declined"
	outcomeDryRun      outcome = "dry_run_missing"
	outcomeLimited     outcome = "rate_limited"

	outcomeResultTooLarge outcome = "result_too_large"
)

func (c *call) refuse(outcome outcome, err error) error {
	c.outcome = outcome
	return err
}

// failed turns what went wrong with an invocation into an answer that says what the model can do and nothing of the
// inside; the cause goes to the log under the request id that the answer names.
func (c *call) failed(err error) reply {
	c.cause = err
	name := c.entry.Tool.Name
	switch {
	case errors.Is(err, function.ErrThrottled):
		return c.toolError(outcomeThrottled, "%s is busy: too many calls are running at the moment, and this one was not "+
			"started. Try again in a few seconds.", name)
	case errors.Is(err, function.ErrTooLarge):
		return c.toolError(outcomeTooLarge, "The arguments for %s are too large: a call may carry at most %d MB. The tool "+
			"was not started; send less.", name, function.MaxPayload>>20)
	case errors.Is(err, function.ErrGone):
		return c.toolError(outcomeGone, "%s is not available at the moment, and nothing has run. Try again in a "+
			"minute.", name)
	case errors.Is(err, function.ErrDeadline):
		return c.toolError(outcomeDeadline, "%s did not answer in time. It may still finish, so its effects are unknown. "+
			"Ask for less at once, or check before trying again (request id %s).", name, c.RequestID)
	case errors.Is(err, function.ErrUnknown):
		return c.toolError(outcomeBroken, "The connection to %s broke, so it is unknown whether it ran. Check before trying "+
			"again (request id %s).", name, c.RequestID)
	}
	return c.crashed(err)
}

// crashed answers for a function that ran and failed on its own.
func (c *call) crashed(err error) reply {
	name := c.entry.Tool.Name
	var failure *function.Failure
	if !errors.As(err, &failure) {
		return c.toolError(outcomeDefect, "%s could not be called because of an internal error (request id %s).",
			name, c.RequestID)
	}
	switch {
	case failure.TimedOut():
		return c.toolError(outcomeDeadline, "%s did not finish within its time limit of %d seconds and was stopped. Its "+
			"effects are unknown. Ask for less at once, or check before trying again (request id %s).",
			name, c.entry.Tool.Contract.Execution.TimeoutSeconds, c.RequestID)
	case failure.TooLarge():
		return c.toolError(outcomeResultTooLarge, "The answer of %s is larger than can be sent (%d MB). It has run, and "+
			"its effects are unknown. Ask for less: narrow the arguments or use a smaller limit.", name,
			function.MaxPayload>>20)
	}
	return c.toolError(outcomeCrash, "%s failed because of an internal error of the tool. Trying again may help; if it "+
		"does not, tell an operator the request id %s.", name, c.RequestID)
}

// toolError is a tool execution error made by the dispatcher: a result that a model reads.
func (c *call) toolError(outcome outcome, format string, args ...any) reply {
	c.outcome = outcome
	content, err := json.Marshal([]mcp.Content{{Type: "text", Text: fmt.Sprintf(format, args...)}})
	if err != nil {
		panic("encoding a block of text: " + err.Error())
	}
	return reply{{Key: memberContent, Value: content}, {Key: memberIsError, Value: json.RawMessage("true")}}
}

// record writes the call's line to the log.
func (c *call) record(ctx context.Context, err error) {
	level := slog.LevelInfo
	attrs := append(make([]slog.Attr, 0, 12),
		slog.String("requestId", c.RequestID),
		slog.String("tool", shorten(c.Params.Name)),
		slog.String("principal", c.Principal.Key()),
		slog.String("outcome", string(c.outcome)),
		slog.Float64("durationMs", float64(c.now().Sub(c.started))/float64(time.Millisecond)),
		slog.String("protocolVersion", shorten(c.ProtocolVersion)),
	)
	if c.entry != nil {
		attrs = append(attrs, slog.String("function", c.entry.Function))
	}
	if c.ledger != "" {
		attrs = append(attrs, slog.String("ledger", c.ledger))
	}
	if c.TraceID != "" {
		attrs = append(attrs, slog.String("traceId", c.TraceID))
	}
	if trace := c.Params.Meta.Traceparent; trace != "" {
		attrs = append(attrs, slog.String("traceparent", shorten(trace)))
	}
	if err != nil {
		attrs = append(attrs, slog.String("error", err.Error()))
	}
	if c.cause != nil {
		level = slog.LevelError
		attrs = append(attrs, slog.String("cause", c.cause.Error()))
	}
	c.Log.LogAttrs(ctx, level, "tools/call", attrs...)
}

// shorten keeps what a client wrote small enough for a log, without cutting inside a character.
func shorten(s string) string {
	const longest = 128
	if len(s) <= longest {
		return s
	}
	return strings.ToValidUTF8(s[:longest], "") + "…"
}
