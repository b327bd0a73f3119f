// Package invoke is the JSON envelope between the dispatcher and a tool's Lambda.
//
// The dispatcher sends one Request and gets back a CallToolResult or an InputRequiredResult as JSON. A tool that is
// invoked with a response stream answers in lines of newline-delimited JSON instead: any number of progress lines, then
// one result line (see Line). A tool in any language that speaks this envelope is a Patchbay tool; docs/envelope.md
// describes it for authors without Go.
package invoke

import (
	"encoding/json"

	"patchbay/shared/principal"
)

// Version is the envelope version that this release writes. A tool refuses one that it does not know, so that a field
// whose meaning changed is never misread.
const Version = 1

// Request is what a tool's Lambda gets as its event.
type Request struct {
	// Version is the envelope version; see the constant.
	Version int `json:"version"`
	// Tool is the name under which the client called, so that one function may serve several tools.
	Tool string `json:"tool"`
	// Arguments is the JSON object of the call, with the schema's defaults applied; validated against inputSchema.
	Arguments json.RawMessage `json:"arguments"`
	// Principal is the caller.
	Principal principal.Principal `json:"principal"`
	// Meta is what the tool may know of the client's request.
	Meta Meta `json:"meta"`
	// InputResponses holds the client's answers to the tool's earlier input requests, by key; absent in round one.
	// Source: MCP 2026-07-28, basic/patterns/mrtr.
	InputResponses json.RawMessage `json:"inputResponses,omitempty"`
	// State is what the tool returned as requestState in the round before, opened and verified; empty in round one.
	State string `json:"state,omitempty"`
	// IdempotencyKey is the same for every re-send of one logical call; empty when the contract asks for none.
	IdempotencyKey string `json:"idempotencyKey,omitempty"`
	// DryRun asks the tool to say what it would do, without doing it.
	DryRun bool `json:"dryRun,omitempty"`
	// Deadline is when the dispatcher stops waiting, in milliseconds since the Unix epoch.
	Deadline int64 `json:"deadline"`
}

// Meta is the part of the client's request metadata that tools may use for display, logs and tracing, never for
// decisions about rights: it is reported by the client and not verified.
type Meta struct {
	// RequestID identifies this call in the dispatcher's and the tool's logs.
	RequestID string `json:"requestId"`
	// ProtocolVersion is the MCP revision that the client speaks.
	ProtocolVersion string `json:"protocolVersion"`
	// ClientInfo is the client's Implementation object as sent; absent when it sent none.
	ClientInfo json.RawMessage `json:"clientInfo,omitempty"`
	// ClientCapabilities is the client's capabilities object as sent in this request.
	ClientCapabilities json.RawMessage `json:"clientCapabilities,omitempty"`
	// Progress is true when the client asked for progress, and so the function was invoked with a response stream.
	Progress bool `json:"progress,omitempty"`
	// Traceparent, Tracestate and Baggage are W3C trace context from the request's _meta.
	Traceparent string `json:"traceparent,omitempty"`
	Tracestate  string `json:"tracestate,omitempty"`
	Baggage     string `json:"baggage,omitempty"`
}

// Line is one line of a streamed response. Exactly one of its fields is set; the line with Result is the last. A stream
// that ends without one is a crash of the tool.
type Line struct {
	Progress *Progress       `json:"progress,omitempty"`
	Result   json.RawMessage `json:"result,omitempty"`
}

// Progress is one report of how far a call has come. Source: MCP 2026-07-28, basic/patterns/progress.
type Progress struct {
	// Progress must increase with every report of a call.
	Progress float64 `json:"progress"`
	// Total is the value of Progress at the end; 0 when unknown.
	Total float64 `json:"total,omitempty"`
	// Message says what is happening, for people.
	Message string `json:"message,omitempty"`
}
