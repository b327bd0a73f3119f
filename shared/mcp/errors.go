package mcp

import (
	"errors"
	"net/http"

	"patchbay/shared/jsonrpc"
)

// Error codes that the protocol adds to JSON-RPC's. Source: basic/index#error-codes.
const (
	CodeHeaderMismatch     = -32020
	CodeMissingCapability  = -32021
	CodeUnsupportedVersion = -32022
)

// HeaderMismatch returns the error for headers that are missing, malformed or differ from the body.
func HeaderMismatch(format string, args ...any) *jsonrpc.Error {
	return jsonrpc.Errorf(CodeHeaderMismatch, "Header mismatch: "+format, args...)
}

// InvalidParams returns the error for parameters that do not fit the method.
func InvalidParams(format string, args ...any) *jsonrpc.Error {
	return jsonrpc.Errorf(jsonrpc.CodeInvalidParams, format, args...)
}

// Answered is an error that answers a request which was in order as a message, so that its HTTP status is 200.
type Answered struct{ Err *jsonrpc.Error }

func (a *Answered) Error() string { return a.Err.Message }

func (a *Answered) Unwrap() error { return a.Err }

// UnknownTool is the answer for a tool that does not exist for this caller: unknown, forbidden, disabled and invisible
// ones are not to be told apart.
func UnknownTool(name string) error {
	return &Answered{InvalidParams("Unknown tool: %s", printable(name))}
}

// InvalidCursor is the answer for a cursor that this server never gave (server/utilities/pagination#error-handling).
func InvalidCursor() error {
	return &Answered{InvalidParams("Invalid cursor: send a nextCursor exactly as it was received, or none for the " +
		"first page")}
}

// UnsupportedVersion returns the error for a request of the modern form whose revision is not served in that form, and
// lists those that this server speaks. An earlier revision is one of them, but not so: the client is told how to open
// it, and the list has only what it may send instead, or it would try the same again.
// Source: basic/versioning#protocol-version-negotiation.
func UnsupportedVersion(requested string) *jsonrpc.Error {
	message, supported := "Unsupported protocol version", append(ModernVersions(), LegacyVersions()...)
	if IsLegacy(requested) {
		message += ": revision " + requested + " opens with " + MethodInitialize + " and carries no _meta[\"" +
			MetaProtocolVersion + "\"]"
		supported = ModernVersions()
	}
	return &jsonrpc.Error{
		Code:    CodeUnsupportedVersion,
		Message: message,
		Data:    map[string]any{"supported": supported, "requested": printable(requested)},
	}
}

// MissingCapability returns the error for a client that did not declare what answering would need.
// required is a ClientCapabilities object.
func MissingCapability(required map[string]any) *jsonrpc.Error {
	return &jsonrpc.Error{
		Code:    CodeMissingCapability,
		Message: "Missing required client capability",
		Data:    map[string]any{"requiredCapabilities": required},
	}
}

// Status is the HTTP status of an error response to a request of a modern revision. Errors of the message and its
// metadata are the client's (400); an unknown method is 404; a tool or cursor that does not exist is an answer to a
// request that was in order (200).
// Source: basic/transports/streamable-http#server-validation, #protocol-version-header.
func Status(err error) int {
	var answered *Answered
	if errors.As(err, &answered) {
		return http.StatusOK
	}
	var e *jsonrpc.Error
	if !errors.As(err, &e) {
		return http.StatusInternalServerError
	}
	switch e.Code {
	case jsonrpc.CodeMethodNotFound:
		return http.StatusNotFound
	case jsonrpc.CodeInternalError:
		return http.StatusInternalServerError
	default:
		return http.StatusBadRequest
	}
}

// printable bounds what of the client's own text is repeated to it. Quotation is left to the JSON encoding.
func printable(s string) string {
	const longest = 128
	runes := []rune(s)
	if len(runes) <= longest {
		return s
	}
	return string(runes[:longest]) + "…"
}
