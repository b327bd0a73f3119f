// Package tooltest tests a Go tool as the dispatcher will use it, in the tool's own test:
//
//	func TestAgreement(t *testing.T) { tooltest.Check(t, greet) }
//
//	func TestGreet(t *testing.T) {
//		result := tooltest.Call(t, greet, `{"name": "Ada"}`)
//		if got := tooltest.Structured[Output](t, result); got.Greeting != "Hello, Ada" {
//			t.Errorf("greeting = %q", got.Greeting)
//		}
//	}
//
// Check compares the handler's Go types with the schemas of tool.json, in both directions. Call sends arguments through
// the input schema, the envelope and the output schema.
package tooltest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"testing"
	"time"

	"patchbay/shared/contract"
	"patchbay/shared/invoke"
	"patchbay/shared/mcp"
	"patchbay/shared/principal"
	"patchbay/shared/tool"
)

// Options are what a call has beside its arguments; the zero value is an anonymous call of round one.
type Options struct {
	// File is the tool's definition; empty means tool.json in the folder of the test.
	File string
	// Principal is the caller.
	Principal principal.Principal
	// Capabilities is the client's capabilities object; nil means a client that can do nothing.
	Capabilities json.RawMessage
	// Responses are the client's answers to the tool's input requests, by key; each is encoded as JSON.
	Responses map[string]any
	// State is the requestState of the round before.
	State string
	// IdempotencyKey is the key of the logical call.
	IdempotencyKey string
	// Progress asks for progress, which the tool's contract must offer as "streaming".
	Progress bool
	// Deadline is when the dispatcher stops waiting; zero for never.
	Deadline time.Time
	// WantDefect expects the handler to return an error that is neither Fail nor Ask, which otherwise ends the test. It
	// is in Result.Defect then.
	WantDefect bool
}

// Result is the answer to a call.
type Result struct {
	// IsError, Content and StructuredContent are what the client gets.
	IsError           bool
	Content           []mcp.Content
	StructuredContent json.RawMessage
	// Meta is the result's _meta.
	Meta map[string]json.RawMessage
	// Refused says that the arguments do not fit the input schema, and so the handler did not run. The text is what the
	// dispatcher answers.
	Refused bool
	// Code is the failure mode that the handler gave to tool.Fail; empty when it did not.
	Code string
	// Progress are the reports in the order of arrival.
	Progress []invoke.Progress
	// Asked is set when the handler asked the client for input; the other fields are empty then.
	Asked *mcp.InputRequiredResult
	// Defect is the handler's unforeseen error; see Options.WantDefect.
	Defect error
}

// Text joins the text blocks of a result with line breaks.
func (r *Result) Text() string {
	var texts []string
	for _, block := range r.Content {
		if block.Type == "text" {
			texts = append(texts, block.Text)
		}
	}
	return strings.Join(texts, "\n")
}

// Structured decodes the structured content of a successful result. The test ends when the call failed.
func Structured[T any](t testing.TB, result *Result) T {
	t.Helper()
	var value T
	if result.IsError || result.StructuredContent == nil {
		t.Fatalf("the call has no structured content (isError %v): %s", result.IsError, result.Text())
	}
	if err := json.Unmarshal(result.StructuredContent, &value); err != nil {
		t.Fatalf("decoding structured content: %v", err)
	}
	return value
}

// Call calls the handler with arguments, which are JSON as a string or json.RawMessage, or any value that encodes as a
// JSON object. At most one Options may be given. The test fails when the tool breaks its own contract: structured
// content that outputSchema does not allow, a failure code that is not declared, an unforeseen error.
func Call[In, Out any](t testing.TB, handler func(context.Context, In) (Out, error), arguments any,
	options ...Options) *Result {
	t.Helper()
	option := optionsOf(t, options)
	definition := load(t, option.File)
	checked, refusal := validate(t, definition, encode(t, arguments))
	if refusal != nil {
		return refusal
	}
	if option.Progress && !definition.Contract.Execution.Streaming {
		t.Fatalf("%s does not set execution.streaming, so no caller gets progress", definition.File)
	}
	request := request(t, definition, checked, option)
	result := answer(t, tool.NewHandler(handler), encode(t, request))
	if result.Defect != nil && !option.WantDefect {
		t.Fatalf("the handler returned an unforeseen error, of which a client only learns that the tool failed: %v",
			result.Defect)
	}
	if result.Defect == nil && option.WantDefect {
		t.Errorf("the handler returned no unforeseen error; it answered %s", result.Text())
	}
	for _, problem := range breaches(definition, result) {
		t.Error(problem)
	}
	return result
}

func optionsOf(t testing.TB, options []Options) Options {
	t.Helper()
	switch len(options) {
	case 0:
		return Options{}
	case 1:
		return options[0]
	}
	t.Fatalf("%d Options given; allowed: one", len(options))
	return Options{}
}

// load reads and checks a tool.json; its faults end the test.
func load(t testing.TB, file string) *contract.Tool {
	t.Helper()
	if file == "" {
		file = "tool.json"
	}
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatalf("reading the tool's definition: %v", err)
	}
	definition, problems := contract.Parse(file, data)
	if err := problems.Err(); err != nil {
		t.Fatal(err)
	}
	return definition
}

func encode(t testing.TB, value any) json.RawMessage {
	t.Helper()
	if text, ok := value.(string); ok {
		return json.RawMessage(text)
	}
	raw, err := json.Marshal(value)
	if err != nil {
		t.Fatalf("encoding %T: %v", value, err)
	}
	return raw
}

// validate applies the input schema. Arguments that do not fit are answered as the dispatcher does.
func validate(t testing.TB, definition *contract.Tool, arguments json.RawMessage) (json.RawMessage, *Result) {
	t.Helper()
	schema, err := definition.InputSchema()
	if err != nil {
		t.Fatalf("compiling inputSchema of %s: %v", definition.File, err)
	}
	checked, err := schema.Check(arguments)
	if err != nil {
		return nil, &Result{IsError: true, Refused: true, Content: []mcp.Content{tool.Text(err.Error())}}
	}
	return checked, nil
}

func request(t testing.TB, definition *contract.Tool, arguments json.RawMessage, option Options) invoke.Request {
	t.Helper()
	request := invoke.Request{
		Version:        invoke.Version,
		Tool:           definition.Name,
		Arguments:      arguments,
		Principal:      option.Principal,
		State:          option.State,
		IdempotencyKey: option.IdempotencyKey,
		DryRun:         isDryRun(definition, arguments),
		Meta: invoke.Meta{
			RequestID:          "test",
			ProtocolVersion:    "2026-07-28",
			ClientInfo:         json.RawMessage(`{"name":"tooltest","version":"1"}`),
			ClientCapabilities: option.Capabilities,
			Progress:           option.Progress,
		},
	}
	if option.Responses != nil {
		request.InputResponses = encode(t, option.Responses)
	}
	if !option.Deadline.IsZero() {
		request.Deadline = option.Deadline.UnixMilli()
	}
	return request
}

// isDryRun reports whether a contract that offers dry runs is asked for one.
func isDryRun(definition *contract.Tool, arguments json.RawMessage) bool {
	if definition.Contract.DryRun == contract.DryRunNone {
		return false
	}
	var asked struct {
		DryRun bool `json:"dryRun"`
	}
	return json.Unmarshal(arguments, &asked) == nil && asked.DryRun
}

// answer runs the handler on the bytes of an envelope and reads the bytes that it answers.
func answer(t testing.TB, handler *tool.Handler, event json.RawMessage) *Result {
	t.Helper()
	handler.Log = slog.New(slog.NewTextHandler(t.Output(), nil))
	got, err := handler.Invoke(t.Context(), event)
	if err != nil {
		return &Result{Defect: err}
	}
	body, readErr := io.ReadAll(got)
	if err := got.Close(); err != nil {
		t.Fatalf("closing the answer: %v", err)
	}
	if got.ContentType() == "application/json" {
		return parse(t, &Result{}, body)
	}
	result := parseLines(t, body)
	result.Defect = readErr
	return result
}

// parseLines reads a streamed answer, whose last line holds the result unless the handler failed.
func parseLines(t testing.TB, body []byte) *Result {
	t.Helper()
	result := &Result{}
	for text := range bytes.Lines(body) {
		var line invoke.Line
		if err := json.Unmarshal(text, &line); err != nil {
			t.Fatalf("the line %s is not JSON: %v", text, err)
		}
		if line.Progress != nil {
			result.Progress = append(result.Progress, *line.Progress)
		} else {
			parse(t, result, line.Result)
		}
	}
	return result
}

// parse fills in the result that body describes.
func parse(t testing.TB, result *Result, body []byte) *Result {
	t.Helper()
	var asked mcp.InputRequiredResult
	if err := json.Unmarshal(body, &asked); err != nil {
		t.Fatalf("the answer %s is no result: %v", body, err)
	}
	if asked.ResultType == mcp.ResultInputRequired {
		result.Asked = &asked
		return result
	}
	var wire mcp.CallToolResult
	if err := json.Unmarshal(body, &wire); err != nil {
		t.Fatalf("the answer %s is no result: %v", body, err)
	}
	result.IsError, result.Content = wire.IsError, wire.Content
	result.StructuredContent, result.Meta = wire.StructuredContent, wire.Meta
	result.Code = code(wire.Meta[mcp.MetaFailure])
	return result
}

func code(failure json.RawMessage) string {
	var declared struct {
		Code string `json:"code"`
	}
	if json.Unmarshal(failure, &declared) != nil {
		return ""
	}
	return declared.Code
}

// breaches says where a result does not keep what the contract promises.
func breaches(definition *contract.Tool, result *Result) []string {
	if result.Asked != nil || result.Defect != nil {
		return nil
	}
	if result.IsError {
		return undeclared(definition, result.Code)
	}
	schema, err := definition.OutputSchema()
	if err != nil {
		return []string{fmt.Sprintf("compiling outputSchema of %s: %v", definition.File, err)}
	}
	if schema == nil {
		return nil
	}
	if result.StructuredContent == nil {
		return []string{definition.File + " promises structured content by its outputSchema; the result has none"}
	}
	if err := schema.For("structuredContent").Validate(result.StructuredContent); err != nil {
		return []string{fmt.Sprintf("outputSchema of %s does not allow %s: %v", definition.File,
			result.StructuredContent, err)}
	}
	return nil
}

func undeclared(definition *contract.Tool, code string) []string {
	if code == "" {
		return nil
	}
	var declared []string
	for _, mode := range definition.Contract.FailureModes {
		if mode.Code == code {
			return nil
		}
		declared = append(declared, mode.Code)
	}
	return []string{fmt.Sprintf("failure code %q is not in failureModes of %s; declared: %s", code, definition.File,
		strings.Join(declared, ", "))}
}
