package mcp

import (
	"encoding/json"

	"patchbay/shared/jsonrpc"
)

// Params is what any request may carry, read strictly: keys are case-sensitive and come once. Members that this server
// does not know are left alone, since later revisions may add some.
type Params struct {
	Meta Meta
	// Name is params.name; HasName tells an empty name from none.
	Name    string
	HasName bool
	// Arguments is the arguments object; nil when the call has none.
	Arguments json.RawMessage
	// Cursor is params.cursor; HasCursor tells an empty cursor, which is a valid one, from none.
	Cursor    string
	HasCursor bool
	// InputResponses is the object of answers to input requests; nil when there is none.
	InputResponses json.RawMessage
	// RequestState is what an earlier InputRequiredResult gave; HasState tells an empty one from none.
	RequestState string
	HasState     bool
	// ProtocolVersion is params.protocolVersion, which initialize of the earlier revisions carries.
	ProtocolVersion string
	// Notifications is the filter of subscriptions/listen, any JSON value as sent; nil when there is none.
	Notifications json.RawMessage
}

// Meta is params._meta. Source: basic/index#meta.
type Meta struct {
	// ProtocolVersion is the revision of this request; HasVersion tells a request of a modern revision.
	ProtocolVersion string
	HasVersion      bool
	// ClientInfo and ClientCapabilities are objects as sent; nil when absent.
	ClientInfo         json.RawMessage
	ClientCapabilities json.RawMessage
	// ProgressToken is a JSON string or integer as sent; nil when the client wants no progress.
	ProgressToken json.RawMessage
	// Traceparent, Tracestate and Baggage are W3C trace context.
	Traceparent string
	Tracestate  string
	Baggage     string
	// IdempotencyKey is the caller's key; HasIdempotencyKey tells an empty one, which cannot be used, from none.
	IdempotencyKey    string
	HasIdempotencyKey bool
}

// ParseParams reads params, which is a JSON object or nil. The error is a *jsonrpc.Error that names the first member
// that is wrong and what it must be; the others are read all the same, since they tell how to answer.
func ParseParams(params json.RawMessage) (Params, error) {
	var p Params
	if params == nil {
		return p, nil
	}
	members, err := jsonrpc.Members(params)
	if err != nil {
		return p, err
	}
	var first error
	for _, m := range members {
		if err := p.set(m.Key, m.Value); err != nil && first == nil {
			first = err
		}
	}
	return p, first
}

func (p *Params) set(key string, value json.RawMessage) (err error) {
	switch key {
	case "_meta":
		return p.Meta.parse(value)
	case "name":
		p.HasName = true
		p.Name, err = text("params.name", value)
	case "arguments":
		p.Arguments, err = object("params.arguments", value)
	case "cursor":
		p.HasCursor = true
		p.Cursor, err = text("params.cursor", value)
	case "inputResponses":
		p.InputResponses, err = object("params.inputResponses", value)
	case "requestState":
		p.HasState = true
		p.RequestState, err = text("params.requestState", value)
	case "notifications":
		p.Notifications = value
	case "protocolVersion":
		p.ProtocolVersion, err = text("params.protocolVersion", value)
	}
	return err
}

func (m *Meta) parse(raw json.RawMessage) error {
	if _, err := object("params._meta", raw); err != nil {
		return err
	}
	members, err := jsonrpc.Members(raw)
	if err != nil {
		return err
	}
	var first error
	for _, member := range members {
		if err := m.set(member.Key, member.Value); err != nil && first == nil {
			first = err
		}
	}
	return first
}

func (m *Meta) set(key string, value json.RawMessage) (err error) {
	switch key {
	case MetaProtocolVersion:
		m.HasVersion = true
		m.ProtocolVersion, err = text(nameVersion, value)
	case MetaClientInfo:
		m.ClientInfo, err = object(nameInfo, value)
	case MetaClientCapabilities:
		m.ClientCapabilities, err = object(nameCapabilities, value)
	case MetaProgressToken:
		m.ProgressToken, err = progressToken(value)
	case MetaIdempotencyKey:
		m.HasIdempotencyKey = true
		m.IdempotencyKey, err = text(nameIdempotency, value)
	case MetaTraceparent:
		m.Traceparent = traceContext(value)
	case MetaTracestate:
		m.Tracestate = traceContext(value)
	case MetaBaggage:
		m.Baggage = traceContext(value)
	}
	return err
}

// traceContext returns a W3C trace context value, or nothing where it is none: a broken trace never breaks the request
// (W3C Trace Context, section 3.2.2.5).
func traceContext(value json.RawMessage) string {
	s, err := text("", value)
	if err != nil {
		return ""
	}
	return s
}

// maxProgressToken bounds a progress token, in bytes: it is repeated in every notification.
const maxProgressToken = 1024

// progressToken accepts what basic/patterns/progress allows: a string or an integer.
func progressToken(value json.RawMessage) (json.RawMessage, error) {
	if len(value) > maxProgressToken {
		return nil, InvalidParams("Invalid params: %s is longer than %d bytes", nameProgressToken, maxProgressToken)
	}
	if value[0] == '"' {
		return value, nil
	}
	if _, ok := jsonrpc.CanonicalInteger(string(value)); ok {
		return value, nil
	}
	return nil, InvalidParams("Invalid params: %s must be a string or an integer", nameProgressToken)
}

// Names of the members of _meta in errors.
const (
	nameVersion       = `params._meta["` + MetaProtocolVersion + `"]`
	nameInfo          = `params._meta["` + MetaClientInfo + `"]`
	nameCapabilities  = `params._meta["` + MetaClientCapabilities + `"]`
	nameIdempotency   = `params._meta["` + MetaIdempotencyKey + `"]`
	nameProgressToken = `params._meta["` + MetaProgressToken + `"]`
)

func text(name string, value json.RawMessage) (string, error) {
	if value[0] != '"' {
		return "", InvalidParams("Invalid params: %s must be a string", name)
	}
	if plain := value[1 : len(value)-1]; isPlain(plain) {
		return string(plain), nil
	}
	var s string
	if err := json.Unmarshal(value, &s); err != nil {
		return "", InvalidParams("Invalid params: %s must be a string", name)
	}
	return s, nil
}

// isPlain reports whether the inside of a JSON string stands for itself.
func isPlain(inside []byte) bool {
	for _, c := range inside {
		if c == '\\' {
			return false
		}
	}
	return true
}

func object(name string, value json.RawMessage) (json.RawMessage, error) {
	if value[0] != '{' {
		return nil, InvalidParams("Invalid params: %s must be an object", name)
	}
	return value, nil
}
