package toolcall

import (
	"bytes"
	"encoding/json"
	"strings"

	"patchbay/shared/contract"
	"patchbay/shared/jsonrpc"
	"patchbay/shared/mcp"
)

// compareHeaders refuses a call whose Mcp-Param-* fields are not what the arguments say, so that whoever routes on the
// header and the tool that reads the body see the same value. Fields that the tool does not declare are ignored.
// Source: basic/transports/streamable-http#server-behavior-for-custom-headers.
func (c *call) compareHeaders() error {
	if !c.Modern {
		return nil
	}
	for i := range c.entry.Tool.HeaderParams {
		if err := compareHeader(&c.entry.Tool.HeaderParams[i], c.Header.Values, c.Params.Arguments); err != nil {
			return err
		}
	}
	return nil
}

func compareHeader(param *contract.HeaderParam, values func(string) []string, arguments json.RawMessage) error {
	sent := values(param.Header)
	argument := valueAt(arguments, param.Path)
	path := strings.Join(param.Path, ".")
	if argument == nil {
		if len(sent) > 0 {
			return mcp.HeaderMismatch("%s is sent, but the argument %q has no value in the body", param.Header, path)
		}
		return nil
	}
	if len(sent) == 0 {
		return mcp.HeaderMismatch("%s is missing; it must mirror the argument %q", param.Header, path)
	}
	for _, value := range sent {
		decoded, err := mcp.DecodeHeaderValue(value)
		if err != nil {
			return mcp.HeaderMismatch("%s %s", param.Header, err)
		}
		if !sameValue(decoded, argument) {
			return mcp.HeaderMismatch("%s does not match the argument %q in the body", param.Header, path)
		}
	}
	return nil
}

// valueAt returns the value at the chain of keys, nil when there is none or it is null.
func valueAt(object json.RawMessage, path []string) json.RawMessage {
	value := object
	for _, key := range path {
		if value = memberOf(value, key); value == nil {
			return nil
		}
	}
	if bytes.Equal(value, []byte("null")) {
		return nil
	}
	return value
}

func memberOf(object json.RawMessage, key string) json.RawMessage {
	members, err := jsonrpc.Members(object)
	if err != nil {
		return nil
	}
	for _, m := range members {
		if m.Key == key {
			return m.Value
		}
	}
	return nil
}

// sameValue compares a header with the argument that it mirrors, by the argument's own JSON type: text with text,
// integers as numbers, true and false by name. Anything else cannot be mirrored, so it never matches.
func sameValue(header string, argument json.RawMessage) bool {
	switch argument[0] {
	case '"':
		var text string
		return json.Unmarshal(argument, &text) == nil && text == header
	case 't', 'f':
		return header == string(argument)
	case '{', '[':
		return false
	}
	want, ok := jsonrpc.CanonicalInteger(string(argument))
	if !ok {
		return header == string(argument)
	}
	got, ok := jsonrpc.CanonicalInteger(header)
	return ok && got == want
}
