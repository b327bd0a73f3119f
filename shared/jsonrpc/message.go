// Package jsonrpc reads and writes the JSON-RPC 2.0 messages of the Model Context Protocol, strictly.
//
// A message that two readers could understand differently is refused: duplicate or differently cased keys, batches,
// bytes that are not UTF-8. What passes travels on as the bytes that came in. Source:
// https://www.jsonrpc.org/specification and MCP 2026-07-28, basic/index#messages.
package jsonrpc

import (
	"encoding/json"
	"strconv"
)

// ID is a request id exactly as the client wrote it: the JSON text of a string or an integer. The zero value means that
// there is none. Source: MCP 2026-07-28, basic/index#requests.
type ID struct{ text string }

// IsZero reports whether there is no id.
func (id ID) IsZero() bool { return id.text == "" }

// String returns the JSON text of the id, for logs; empty when there is none.
func (id ID) String() string { return id.text }

// MarshalJSON writes the id as it was read; null when there is none.
func (id ID) MarshalJSON() ([]byte, error) {
	if id.IsZero() {
		return []byte("null"), nil
	}
	return []byte(id.text), nil
}

// parseID returns the id in raw and whether raw is one: a string or an integer, never null.
func parseID(raw json.RawMessage) (ID, bool) {
	if len(raw) == 0 {
		return ID{}, false
	}
	if raw[0] == '"' {
		return ID{text: string(raw)}, true
	}
	_, ok := CanonicalInteger(string(raw))
	if !ok {
		return ID{}, false
	}
	return ID{text: string(raw)}, true
}

// Request is a request, or a notification when it has no ID.
type Request struct {
	ID     ID
	Method string
	// Params is a JSON object, or nil when the message has none.
	Params json.RawMessage
}

// IsNotification reports whether the message expects no response.
func (r Request) IsNotification() bool { return r.ID.IsZero() }

// Decode reads exactly one request or notification. The error, if any, is an *Error with the code to answer with; the
// returned request then holds the ID and the method where each could be read, so that the answer can carry the one and
// fit the other. Source: basic/index#error-responses.
func Decode(body []byte) (Request, error) {
	if err := validate(body); err != nil {
		return Request{}, err
	}
	if err := unambiguous(body); err != nil {
		return outline(body), err
	}
	if first := firstByte(body); first == '[' {
		return Request{}, Errorf(CodeInvalidRequest, "Invalid request: batches are not supported; send one message per POST")
	} else if first != '{' {
		return Request{}, Errorf(CodeInvalidRequest, "Invalid request: a message is a JSON object")
	}
	members, err := Members(body)
	if err != nil {
		return Request{}, err
	}
	return decodeMembers(members)
}

// outline returns the ID and the method of a JSON value that is refused as a whole: each of them where the value is an
// object that has it exactly once.
func outline(body []byte) Request {
	if firstByte(body) != '{' {
		return Request{}
	}
	var ids, methods []json.RawMessage
	s := scanner{data: body}
	s.members(func(key []byte, value json.RawMessage) {
		switch string(key) {
		case "id":
			ids = append(ids, value)
		case "method":
			methods = append(methods, value)
		}
	})
	var request Request
	if len(ids) == 1 {
		request.ID, _ = parseID(ids[0])
	}
	if len(methods) == 1 {
		request.Method, _ = parseMethod(methods[0])
	}
	return request
}

func decodeMembers(members []Member) (Request, error) {
	var (
		request Request
		problem *Error
		version bool
		method  bool
	)
	// The first fault decides the answer, but reading goes on: the id may come after it.
	refuse := func(format string, args ...any) {
		if problem == nil {
			problem = Errorf(CodeInvalidRequest, "Invalid request: "+format, args...)
		}
	}
	for _, m := range members {
		switch m.Key {
		case "jsonrpc":
			version = true
			if string(m.Value) != `"2.0"` {
				refuse(`"jsonrpc" must be "2.0"`)
			}
		case "id":
			id, ok := parseID(m.Value)
			if !ok {
				refuse(`"id" must be a string or an integer; a notification has none`)
			}
			request.ID = id
		case "method":
			method = true
			name, ok := parseMethod(m.Value)
			if !ok {
				refuse(`"method" must be a string`)
			}
			request.Method = name
		case "params":
			if m.Value[0] != '{' {
				refuse(`"params" must be an object`)
				continue
			}
			request.Params = m.Value
		case "result", "error":
			refuse("a response is not accepted; send a request or a notification")
		default:
			refuse(`unknown member %s; allowed: "jsonrpc", "id", "method", "params"`, strconv.Quote(shorten(m.Key)))
		}
	}
	if !version {
		refuse(`"jsonrpc" is missing; it must be "2.0"`)
	}
	if !method {
		refuse(`"method" is missing`)
	}
	if problem != nil {
		return Request{ID: request.ID, Method: request.Method}, problem
	}
	return request, nil
}

// parseMethod returns the method in raw and whether raw is one: a string.
func parseMethod(raw json.RawMessage) (method string, ok bool) {
	if raw[0] != '"' || json.Unmarshal(raw, &method) != nil {
		return "", false
	}
	return method, true
}

// shorten keeps a name from the client small enough to repeat in an error.
func shorten(s string) string {
	const longest = 64
	if len(s) <= longest {
		return s
	}
	return s[:longest] + "…"
}

// AppendResult appends a success response whose result is the given JSON.
func AppendResult(dst []byte, id ID, result json.RawMessage) []byte {
	dst = appendID(dst, id)
	dst = append(dst, `,"result":`...)
	dst = append(dst, result...)
	return append(dst, '}')
}

// AppendError appends an error response. Without an ID the member is left out, as the protocol wants it where the id
// could not be read (basic/index#error-responses).
func AppendError(dst []byte, id ID, e *Error) []byte {
	encoded, err := json.Marshal(e)
	if err != nil {
		// Data that cannot be encoded is a programmer's mistake; the answer must still be one.
		encoded, _ = json.Marshal(&Error{Code: e.Code, Message: e.Message})
	}
	dst = appendID(dst, id)
	dst = append(dst, `,"error":`...)
	dst = append(dst, encoded...)
	return append(dst, '}')
}

// AppendNotification appends a notification with the given params, which is a JSON object.
func AppendNotification(dst []byte, method string, params json.RawMessage) []byte {
	dst = append(dst, `{"jsonrpc":"2.0","method":`...)
	dst = strconv.AppendQuote(dst, method)
	dst = append(dst, `,"params":`...)
	dst = append(dst, params...)
	return append(dst, '}')
}

func appendID(dst []byte, id ID) []byte {
	dst = append(dst, `{"jsonrpc":"2.0"`...)
	if id.IsZero() {
		return dst
	}
	dst = append(dst, `,"id":`...)
	return append(dst, id.text...)
}
