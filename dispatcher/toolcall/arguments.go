package toolcall

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"patchbay/shared/contract"
	"patchbay/shared/invoke"
	"patchbay/shared/jsonrpc"
	"patchbay/shared/schema"
)

var noArguments = json.RawMessage("{}")

// checkArguments applies the schema's defaults and validates. A failure is a tool execution error, so that a model
// reads it and tries again (server/tools#error-handling).
func (c *call) checkArguments() (reply, error) {
	input, err := c.entry.Tool.InputSchema()
	if err != nil {
		return nil, c.defect(fmt.Errorf("compiling inputSchema of %s: %w", c.entry.Tool.Name, err))
	}
	arguments := c.Params.Arguments
	if arguments == nil {
		arguments = noArguments
	}
	checked, err := input.Check(arguments)
	var invalid *schema.Invalid
	if errors.As(err, &invalid) {
		return c.toolError(outcomeInvalid, "The call of %s has %s", c.entry.Tool.Name, invalid.Error()), nil
	}
	if err != nil {
		return nil, c.defect(fmt.Errorf("checking arguments of %s: %w", c.entry.Tool.Name, err))
	}
	c.arguments = checked
	return nil, nil
}

// payload is the event of the tool's function: the envelope, or the bare arguments for a function that knows nothing of
// Patchbay.
func (c *call) payload() ([]byte, error) {
	if c.entry.Tool.Contract.Function.Payload == contract.PayloadArguments {
		return c.arguments, nil
	}
	payload, err := encodeEnvelope(&invoke.Request{
		Version:   invoke.Version,
		Tool:      c.entry.Tool.Name,
		Arguments: c.arguments,
		Principal: c.Principal,
		Meta: invoke.Meta{
			RequestID:          c.RequestID,
			ProtocolVersion:    c.ProtocolVersion,
			ClientInfo:         c.Params.Meta.ClientInfo,
			ClientCapabilities: c.Params.Meta.ClientCapabilities,
			Progress:           c.streams(),
			Traceparent:        c.Params.Meta.Traceparent,
			Tracestate:         c.Params.Meta.Tracestate,
			Baggage:            c.Params.Meta.Baggage,
		},
		InputResponses: c.responses,
		State:          c.state,
		IdempotencyKey: c.key,
		DryRun:         c.dryRun,
		Deadline:       c.Deadline.UnixMilli(),
	})
	if err != nil {
		return nil, fmt.Errorf("encoding the envelope for %s: %w", c.entry.Tool.Name, err)
	}
	return payload, nil
}

// encodeEnvelope leaves <, > and & as they are: escaped, they would take six bytes each of what Lambda lets through.
func encodeEnvelope(request *invoke.Request) ([]byte, error) {
	var out bytes.Buffer
	out.Grow(len(request.Arguments) + 512)
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(request); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(out.Bytes(), []byte{'\n'}), nil
}

// defect is the answer to a fault of Patchbay's or a tool's own making that keeps the call from running.
func (c *call) defect(cause error) error {
	c.cause = cause
	return c.refuse(outcomeDefect, jsonrpc.Errorf(jsonrpc.CodeInternalError,
		"Internal error; nothing has run (request id %s)", c.RequestID))
}
