package tool

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"

	"patchbay/shared/mcp"
)

// Result is the whole answer of a tool that is not just structured output. A handler's Out decides what is sent:
//
//   - Result or *Result: exactly what it says;
//   - string: one text block and no structured content;
//   - anything else: its JSON as structuredContent, and the same JSON once more as a text block, for clients that read
//     only text (MCP 2026-07-28, server/tools, Structured Content). It should encode as an object, since clients of
//     earlier revisions accept nothing else.
type Result struct {
	// Content are the blocks for the model; see Text, Image, Audio, ResourceLink and Embed. When it is empty and
	// Structured is set, a text block with the JSON of Structured is sent.
	Content []mcp.Content
	// Structured is encoded as structuredContent and must fit the tool's outputSchema. Nil: none is sent.
	Structured any
	// IsError says that the content describes a failure. Fail is the simpler way, and the one that names a declared
	// failure mode.
	IsError bool
	// Meta is sent as _meta. Keys follow the protocol's rule: a prefix of your own domain, a slash, a name.
	Meta map[string]any
}

// resultOf encodes what a handler returned.
func resultOf(ctx context.Context, out any) (ended, error) {
	result, err := asResult(out)
	if err != nil {
		return ended{}, err
	}
	wire, err := wireOf(result)
	if err != nil {
		return ended{}, err
	}
	if err := setReplay(ctx, wire); err != nil {
		return ended{}, err
	}
	end := ended{outcome: outcomeOK}
	if result.IsError {
		end.outcome = outcomeToolError
	}
	end.result, err = encode(wire)
	return end, err
}

func asResult(out any) (Result, error) {
	switch out := out.(type) {
	case Result:
		return out, nil
	case *Result:
		if out != nil {
			return *out, nil
		}
	case string:
		return Result{Content: []mcp.Content{Text(out)}}, nil
	}
	if isNil(out) {
		return Result{}, errors.New("the handler returned neither a result nor an error")
	}
	return Result{Structured: out}, nil
}

func isNil(out any) bool {
	value := reflect.ValueOf(out)
	return !value.IsValid() || value.Kind() == reflect.Pointer && value.IsNil()
}

// wireOf returns a result as the protocol wants it.
func wireOf(result Result) (*mcp.CallToolResult, error) {
	wire := &mcp.CallToolResult{Content: result.Content, IsError: result.IsError}
	if result.Structured != nil {
		structured, err := encode(result.Structured)
		if err != nil {
			return nil, fmt.Errorf("encoding structured content: %w", err)
		}
		wire.StructuredContent = structured
		if len(wire.Content) == 0 {
			wire.Content = []mcp.Content{Text(string(structured))}
		}
	}
	if wire.Content == nil {
		wire.Content = []mcp.Content{} // the protocol wants an array, not null
	}
	for key, value := range result.Meta {
		if err := setMeta(wire, key, value); err != nil {
			return nil, err
		}
	}
	return wire, nil
}

func setMeta(wire *mcp.CallToolResult, key string, value any) error {
	raw, err := encode(value)
	if err != nil {
		return fmt.Errorf("encoding _meta[%q]: %w", key, err)
	}
	if wire.Meta == nil {
		wire.Meta = map[string]json.RawMessage{}
	}
	wire.Meta[key] = raw
	return nil
}

// encode writes JSON without HTML escapes, which would cost a model tokens wherever a text holds <, > or &, and without
// line breaks, which end a line of a streamed answer.
func encode(v any) (json.RawMessage, error) {
	var buffer bytes.Buffer
	encoder := json.NewEncoder(&buffer)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(buffer.Bytes(), []byte("\n")), nil
}
