package endpoint

import (
	"context"
	"log/slog"
	"strings"
	"time"

	"patchbay/shared/mcp"
)

// Outcomes of requests that are not calls, or never became one; those of calls are package toolcall's.
const (
	outcomeOK      = "ok"
	outcomeRefused = "refused"
	outcomeFailed  = "failed"
	outcomePanic   = "panic"
)

// record writes the request's line to the log: what was asked, by whom, and how it was answered. A call that the Caller
// has seen to the end has its line already.
func (ex *exchange) record(ctx context.Context) {
	outcome := ex.outcome()
	if ex.called && outcome != outcomePanic {
		return
	}
	attrs := append(make([]slog.Attr, 0, 12),
		slog.String("requestId", ex.facts.RequestID),
		slog.String("method", shorten(ex.message.Method)),
		slog.String("principal", ex.facts.Principal.Key()),
		slog.String("outcome", outcome),
		slog.Int("status", ex.answer.sent()),
		slog.Float64("durationMs", float64(time.Since(ex.started))/float64(time.Millisecond)),
		slog.String("protocolVersion", shorten(ex.claimedVersion())),
	)
	level := slog.LevelInfo
	if ex.message.Method == mcp.MethodToolsCall {
		attrs = append(attrs, slog.String("tool", shorten(ex.params.Name)))
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
