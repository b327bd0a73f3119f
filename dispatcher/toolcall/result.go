package toolcall

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"patchbay/shared/contract"
	"patchbay/shared/jsonrpc"
	"patchbay/shared/mcp"
)

// Members of a CallToolResult that the dispatcher reads or writes. All others pass as the tool wrote them.
const (
	memberContent    = "content"
	memberStructured = "structuredContent"
	memberIsError    = "isError"
	memberMeta       = "_meta"
	memberResultType = "resultType"
)

// finish makes the result that the client gets from the answer of the tool's function. An answer that breaks the
// protocol's shape or the tool's own outputSchema is a defect of the tool: logged, and a clean error for the client.
func (c *call) finish(ctx context.Context, answer []byte) (reply, trace, error) {
	if most := c.entry.Tool.Contract.MaxResultBytes; most > 0 && len(answer) > most {
		return c.toolError(outcomeResultTooLarge, "The answer of %s is larger than it may be (%d bytes; allowed: %d). It "+
			"has run. Ask for less: narrow the arguments or use a smaller limit.",
			c.entry.Tool.Name, len(answer), most), traceAnswered, nil
	}
	members, err := c.readAnswer(answer)
	if err != nil {
		return c.broken(err), traceAnswered, nil
	}
	if isQuestion(members) {
		reply, err := c.ask(ctx, members)
		return reply, traceNone, err
	}
	if err := checkShape(members); err != nil {
		return c.broken(err), traceAnswered, nil
	}
	if err := c.checkOutput(members); err != nil {
		return c.broken(err), traceAnswered, nil
	}
	if c.dryRun {
		c.checkDryRun(members)
	}
	return sanitize(members), c.traceOfResult(members), nil
}

// traceOfResult lets a failure that the contract declares to have no effect leave none. A code that it does not declare
// is a defect of the tool, and the failure counts as any other.
func (c *call) traceOfResult(members reply) trace {
	if c.outcome != outcomeToolError {
		return traceAnswered
	}
	code := failureCode(members)
	if code == "" {
		return traceAnswered
	}
	for _, mode := range c.entry.Tool.Contract.FailureModes {
		if mode.Code != code {
			continue
		}
		if mode.Effect == contract.EffectNone {
			return traceNone
		}
		return traceAnswered
	}
	c.Log.Error("a tool failed with a code that its contract does not declare",
		"requestId", c.RequestID, "tool", c.entry.Tool.Name, "code", shorten(code))
	return traceAnswered
}

// failureCode is the declared failure mode that a tool error names; empty when it names none.
func failureCode(members reply) string {
	for _, m := range members {
		if m.Key != memberMeta {
			continue
		}
		var meta struct {
			Failure struct {
				Code string `json:"code"`
			} `json:"dev.patchbay/failure"`
		}
		if json.Unmarshal(m.Value, &meta) == nil {
			return meta.Failure.Code
		}
	}
	return ""
}

func (c *call) broken(cause error) reply {
	c.cause = cause
	return c.toolError(outcomeDefect, "%s answered in a way that breaks its own contract, so its answer was discarded. "+
		"It has run, and its effects are unknown. Tell an operator the request id %s.", c.entry.Tool.Name, c.RequestID)
}

// readAnswer returns the members of the tool's result.
func (c *call) readAnswer(answer []byte) (reply, error) {
	if !utf8.Valid(answer) {
		answer = bytes.ToValidUTF8(answer, []byte("\uFFFD"))
	}
	if !json.Valid(answer) {
		return nil, errors.New("the function's answer is not JSON")
	}
	if c.entry.Tool.Contract.Function.Payload == contract.PayloadArguments {
		return structuredResult(bytes.TrimSpace(answer)), nil
	}
	members, err := jsonrpc.Members(answer)
	if err != nil {
		return nil, fmt.Errorf("reading the function's answer: %w", err)
	}
	return members, nil
}

// structuredResult wraps what a function that knows nothing of Patchbay returned: its answer is the structured content,
// repeated as text for clients that read no other (server/tools#structured-content).
func structuredResult(answer json.RawMessage) reply {
	content, err := json.Marshal([]mcp.Content{{Type: "text", Text: string(answer)}})
	if err != nil {
		panic("encoding a text block: " + err.Error())
	}
	return reply{
		{Key: memberContent, Value: content},
		{Key: memberStructured, Value: answer},
	}
}

// checkShape refuses what is no CallToolResult.
func checkShape(members reply) error {
	var hasContent bool
	for _, m := range members {
		switch m.Key {
		case memberContent:
			hasContent = true
			if err := checkContent(m.Value); err != nil {
				return err
			}
		case memberIsError:
			if m.Value[0] != 't' && m.Value[0] != 'f' {
				return errors.New("the result's isError is not a boolean")
			}
		case memberMeta:
			if m.Value[0] != '{' {
				return errors.New("the result's _meta is not an object")
			}
		case memberResultType:
			if string(m.Value) != `"`+mcp.ResultComplete+`"` {
				return fmt.Errorf("the result's resultType %s cannot be passed on", m.Value)
			}
		}
	}
	if !hasContent {
		return errors.New("the result has no content")
	}
	return nil
}

// requiredMembers are what a block of each type must have, each of a JSON type that its first byte tells. A type that
// is not known here may be one of a later revision, and passes. Source: schema 2026-07-28, ContentBlock.
var requiredMembers = map[string]map[string]byte{
	"text":          {"text": '"'},
	"image":         {"data": '"', "mimeType": '"'},
	"audio":         {"data": '"', "mimeType": '"'},
	"resource_link": {"uri": '"', "name": '"'},
	"resource":      {"resource": '{'},
}

// checkContent refuses content that would break a client's parser, and with it the whole answer.
func checkContent(content json.RawMessage) error {
	var blocks []map[string]json.RawMessage
	if err := json.Unmarshal(content, &blocks); err != nil {
		return errors.New("the result's content is not an array of objects")
	}
	for i, block := range blocks {
		var kind string
		if json.Unmarshal(block["type"], &kind) != nil {
			return fmt.Errorf("block %d of the result's content has no type", i)
		}
		for name, first := range requiredMembers[kind] {
			if value := block[name]; len(value) == 0 || value[0] != first {
				return fmt.Errorf("block %d of the result's content, of type %s, has no usable %s", i, kind, name)
			}
		}
		if err := checkLinks(block); err != nil {
			return fmt.Errorf("block %d of the result's content: %w", i, err)
		}
	}
	return nil
}

// checkDryRun logs the defect of a tool that says it had an effect when it was only asked what it would do.
func (c *call) checkDryRun(members reply) {
	for _, m := range members {
		if m.Key != memberMeta {
			continue
		}
		var effects []json.RawMessage
		if json.Unmarshal(memberOf(m.Value, mcp.MetaSideEffects), &effects) == nil && len(effects) > 0 {
			c.Log.Error("a tool reports side effects of a dry run", "requestId", c.RequestID, "tool", c.entry.Tool.Name,
				"sideEffects", shorten(string(memberOf(m.Value, mcp.MetaSideEffects))))
		}
	}
}

// checkOutput holds the tool to its outputSchema. An error result need not have structured content
// (server/tools#output-schema).
func (c *call) checkOutput(members reply) error {
	var structured, failed json.RawMessage
	for _, m := range members {
		switch m.Key {
		case memberStructured:
			structured = m.Value
		case memberIsError:
			failed = m.Value
		}
	}
	if string(failed) == "true" {
		c.outcome = outcomeToolError
		return nil
	}
	output, err := c.entry.Tool.OutputSchema()
	if err != nil {
		return fmt.Errorf("compiling outputSchema: %w", err)
	}
	if output == nil {
		return nil
	}
	if structured == nil {
		return errors.New("the tool has an outputSchema, and its result has no structuredContent")
	}
	if err := output.Validate(structured); err != nil {
		return fmt.Errorf("the result breaks its outputSchema: %w", err)
	}
	return nil
}

// dress writes the result for the client's era: resultType and serverInfo belong to every modern result, and to none of
// an earlier revision.
func (c *call) dress(members reply) json.RawMessage {
	out := make([]byte, 0, sizeOf(members)+len(c.ServerInfo)+128)
	out = append(out, '{')
	if c.Modern {
		out = append(out, `"resultType":"`+resultType(members)+`",`...)
	}
	var meta json.RawMessage
	for _, m := range members {
		switch m.Key {
		case memberMeta:
			meta = m.Value
		case memberResultType:
		case memberStructured:
			// Earlier revisions know objects alone; the text says the same.
			if c.Modern || m.Value[0] == '{' {
				out = append(appendMember(out, m), ',')
			}
		default:
			out = appendMember(out, m)
			out = append(out, ',')
		}
	}
	out = c.appendMeta(out, meta)
	return append(bytes.TrimSuffix(out, []byte{','}), '}')
}

func resultType(members reply) string {
	if isQuestion(members) {
		return mcp.ResultInputRequired
	}
	return mcp.ResultComplete
}

// encode writes the members as they are, in the form in which a result is recorded: for neither era.
func (r reply) encode() []byte {
	out := append(make([]byte, 0, sizeOf(r)+2), '{')
	for i, m := range r {
		if i > 0 {
			out = append(out, ',')
		}
		out = appendMember(out, m)
	}
	return append(out, '}')
}

// appendMeta appends _meta, with serverInfo for a modern client; a tool cannot speak in the server's name, so one that
// it wrote is dropped.
func (c *call) appendMeta(out []byte, meta json.RawMessage) []byte {
	if !c.Modern && meta == nil && !c.replayed && !c.dryRun {
		return out
	}
	out = append(out, `"_meta":{`...)
	if c.dryRun {
		out = append(out, `"`+mcp.MetaDryRun+`":true,`...)
	}
	if c.replayed {
		out = append(out, `"`+mcp.MetaReplayed+`":true,`...)
	}
	if c.Modern {
		out = append(out, `"`+mcp.MetaServerInfo+`":`...)
		out = append(out, c.ServerInfo...)
		out = append(out, ',')
	}
	if meta != nil {
		members, err := jsonrpc.Members(meta)
		if err != nil {
			c.Log.Warn("dropped a result's _meta", "requestId", c.RequestID, "tool", c.Params.Name, "error", err)
		}
		for _, m := range members {
			if strings.EqualFold(m.Key, mcp.MetaServerInfo) || m.Key == mcp.MetaReplayed || m.Key == mcp.MetaDryRun {
				continue
			}
			out = append(appendMember(out, m), ',')
		}
	}
	return append(bytes.TrimSuffix(out, []byte{','}), '}')
}

func appendMember(out []byte, m jsonrpc.Member) []byte {
	key, err := json.Marshal(m.Key)
	if err != nil {
		panic("encoding a key: " + err.Error())
	}
	out = append(out, key...)
	out = append(out, ':')
	return append(out, m.Value...)
}

func sizeOf(members reply) int {
	size := 0
	for _, m := range members {
		size += len(m.Key) + len(m.Value) + 4
	}
	return size
}
