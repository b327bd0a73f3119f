package endpoint

import (
	"cmp"
	"context"
	"log/slog"
	"strings"
	"time"

	"patchbay/dispatcher/metrics"
	"patchbay/shared/jsonrpc"
	"patchbay/shared/mcp"
)

// Outcomes of requests that are not calls, or never became one; those of calls are package toolcall's.
const (
	outcomeOK      = "ok"
	outcomeRefused = "refused"
	outcomeFailed  = "failed"
	outcomePanic   = "panic"
)

// Reasons for which a request is refused before it is a message. Those of messages follow, and those of calls are
// package toolcall's outcomes; metrics have them all as values of one dimension.
const (
	reasonOrigin    = "origin_not_allowed"
	reasonMethod    = "method_not_allowed"
	reasonMediaType = "unsupported_media_type"
	reasonAccept    = "not_acceptable"
	reasonTooLarge  = "body_too_large"
	reasonCut       = "body_cut_off"
	// reasonOther is for a code that has no word here.
	reasonOther = "other"
)

// reasons are the words for the codes with which messages are refused.
var reasons = map[int]string{
	jsonrpc.CodeParseError:     "parse_error",
	jsonrpc.CodeInvalidRequest: "invalid_request",
	jsonrpc.CodeMethodNotFound: "method_not_found",
	jsonrpc.CodeInvalidParams:  "invalid_params",
	mcp.CodeHeaderMismatch:     "header_mismatch",
	mcp.CodeMissingCapability:  "missing_capability",
	mcp.CodeUnsupportedVersion: "unsupported_version",
}

// refusal is the reason for which the request was refused; empty where it was answered, or failed.
func (ex *exchange) refusal() string {
	if ex.outcome() != outcomeRefused {
		return ""
	}
	if ex.reason != "" {
		return ex.reason
	}
	return cmp.Or(reasons[ex.failure.Code], reasonOther)
}

// count counts a request that the Caller was not given.
func (ex *exchange) count() {
	if ex.calling {
		return
	}
	ex.config.Metrics.Request(metrics.Request{Refusal: ex.refusal(), Error: ex.cause != nil})
}

// record writes the request's line to the log: what was asked, by whom, and how it was answered. A call that the Caller
// has seen to the end has its line already.
func (ex *exchange) record(ctx context.Context) {
	outcome := ex.outcome()
	if ex.called && outcome != outcomePanic {
		return
	}
	attrs := append(make([]slog.Attr, 0, 14),
		slog.String("requestId", ex.facts.RequestID),
		slog.String("method", shorten(ex.message.Method)),
		slog.String("principal", ex.facts.Principal.Key()),
		slog.String("outcome", outcome),
		slog.Int("status", ex.answer.sent()),
		slog.Float64("durationMs", float64(time.Since(ex.started))/float64(time.Millisecond)),
		slog.String("protocolVersion", shorten(ex.claimedVersion())),
	)
	if ex.facts.TraceID != "" {
		attrs = append(attrs, slog.String("traceId", ex.facts.TraceID))
	}
	level := slog.LevelInfo
	if ex.message.Method == mcp.MethodToolsCall {
		attrs = append(attrs, slog.String("tool", shorten(ex.params.Name)))
	}
	if reason := ex.refusal(); reason != "" {
		attrs = append(attrs, slog.String("reason", reason))
	}
	if ex.failure != nil {
		attrs = append(attrs, slog.Int("code", ex.failure.Code), slog.String("error", ex.failure.Message))
	}
	if ex.cause != nil {
		level = slog.LevelError
		attrs = append(attrs, slog.String("cause", ex.cause.Error()))
	}
	if ex.stack != nil {
		attrs = append(attrs, slog.String("stack", string(ex.stack)))
	}
	ex.config.Log.LogAttrs(ctx, level, "request", attrs...)
}

func (ex *exchange) outcome() string {
	switch {
	case ex.stack != nil:
		return outcomePanic
	case ex.cause != nil:
		return outcomeFailed
	case ex.failure != nil:
		return outcomeRefused
	}
	return outcomeOK
}

// claimedVersion is the revision of the request, or what it says of it where that was refused.
func (ex *exchange) claimedVersion() string {
	if ex.version != "" {
		return ex.version
	}
	if ex.params.Meta.HasVersion {
		return ex.params.Meta.ProtocolVersion
	}
	return ex.http.Header.Get(mcp.HeaderProtocolVersion)
}

// shorten keeps what a client sent small enough for a line of the log, and for an error that repeats it.
func shorten(s string) string {
	const longest = 128
	if len(s) <= longest {
		return s
	}
	return strings.ToValidUTF8(s[:longest], "") + "…"
}
