package tool

import (
	"encoding/json"
	"fmt"

	"patchbay/shared/mcp"
)

// Ask is the error with which a handler asks the client for more before it can go on; see Form, OpenURL, Sample and
// ListRoots for the requests, under keys of the tool's choice. The client answers by calling again: the handler then
// starts anew, with the answers in Call.Response and the given state in Call.State. The dispatcher seals the state on
// its way through the client, so it can be trusted to be the tool's own, but not to be secret from the tool's logs or
// used only once. At least one of requests and state must be given. Source: MCP 2026-07-28, basic/patterns/mrtr.
func Ask(requests map[string]mcp.InputRequest, state string) error {
	return &question{result: mcp.InputRequiredResult{
		ResultType:    mcp.ResultInputRequired,
		InputRequests: requests,
		RequestState:  state,
	}}
}

// question is the error that Ask makes.
type question struct{ result mcp.InputRequiredResult }

// Error says that this is a question, for a caller that forgot to return it as the handler's error.
func (q *question) Error() string {
	return fmt.Sprintf("input required: %d requests to the client", len(q.result.InputRequests))
}

// Form asks the user to fill in a form. The schema is a flat object of strings, numbers, booleans and enums, and must
// not ask for passwords, keys or other credentials; OpenURL is for those. The answer is an ElicitResult. Form panics
// when the schema is not JSON. Source: MCP 2026-07-28, client/elicitation, Form Mode.
func Form(message string, schema json.RawMessage) mcp.InputRequest {
	return inputRequest("elicitation/create", struct {
		Mode            string          `json:"mode"`
		Message         string          `json:"message"`
		RequestedSchema json.RawMessage `json:"requestedSchema"`
	}{"form", message, schema})
}

// OpenURL asks the user to visit a page, for what must not pass through the client. The answer is an ElicitResult whose
// acceptance only means that the user agreed to go there. Source: MCP 2026-07-28, client/elicitation, URL Mode.
func OpenURL(message, url string) mcp.InputRequest {
	return inputRequest("elicitation/create", struct {
		Mode    string `json:"mode"`
		Message string `json:"message"`
		URL     string `json:"url"`
	}{"url", message, url})
}

// The three actions of an ElicitResult: submitted or agreed, refused, dismissed without a choice.
const (
	ActionAccept  = "accept"
	ActionDecline = "decline"
	ActionCancel  = "cancel"
)

// ElicitResult is the answer to Form and OpenURL. Source: schema 2026-07-28, ElicitResult.
type ElicitResult struct {
	Action string `json:"action"`
	// Content is the filled form; only with ActionAccept.
	Content json.RawMessage `json:"content,omitempty"`
}

// Sampling is what Sample asks of the client's model. Source: schema 2026-07-28, CreateMessageRequestParams.
type Sampling struct {
	Messages     []SamplingMessage `json:"messages"`
	SystemPrompt string            `json:"systemPrompt,omitempty"`
	// MaxTokens must be at least 1.
	MaxTokens     int      `json:"maxTokens"`
	Temperature   *float64 `json:"temperature,omitempty"`
	StopSequences []string `json:"stopSequences,omitempty"`
	// ModelPreferences is a ModelPreferences object of the schema.
	ModelPreferences json.RawMessage `json:"modelPreferences,omitempty"`
}

// SamplingMessage is one message of a conversation with a model; Role is "user" or "assistant".
type SamplingMessage struct {
	Role    string      `json:"role"`
	Content mcp.Content `json:"content"`
}

// Sample asks the client's model for a completion. The answer is a SamplingResult. The protocol deprecates sampling
// since 2026-07-28: a new tool calls a model's own API. Source: client/sampling.
func Sample(sampling Sampling) mcp.InputRequest {
	return inputRequest("sampling/createMessage", sampling)
}

// SamplingResult is the answer to Sample. Source: schema 2026-07-28, CreateMessageResult.
type SamplingResult struct {
	Role string `json:"role"`
	// Content is one block or an array of blocks on the wire; here it is always a list.
	Content    SamplingContent `json:"content"`
	Model      string          `json:"model"`
	StopReason string          `json:"stopReason,omitempty"`
}

// SamplingContent is a list of content blocks.
type SamplingContent []mcp.Content

// UnmarshalJSON accepts one block as a list of one.
func (c *SamplingContent) UnmarshalJSON(data []byte) error {
	var blocks []mcp.Content
	if err := json.Unmarshal(data, &blocks); err == nil {
		*c = blocks
		return nil
	}
	var block mcp.Content
	if err := json.Unmarshal(data, &block); err != nil {
		return fmt.Errorf("decoding sampled content: %w", err)
	}
	*c = SamplingContent{block}
	return nil
}

// ListRoots asks which folders the client works in. The answer is a RootsResult. The protocol deprecates roots since
// 2026-07-28: a new tool takes paths as arguments. Source: client/roots.
func ListRoots() mcp.InputRequest {
	return mcp.InputRequest{Method: "roots/list"}
}

// RootsResult is the answer to ListRoots. Source: schema 2026-07-28, ListRootsResult.
type RootsResult struct {
	Roots []Root `json:"roots"`
}

// Root is one folder, as a file:// URI.
type Root struct {
	URI  string `json:"uri"`
	Name string `json:"name,omitempty"`
}

// inputRequest panics where the params do not encode, which only a schema or preferences that are not JSON can cause:
// a mistake in the tool's source.
func inputRequest(method string, params any) mcp.InputRequest {
	raw, err := encode(params)
	if err != nil {
		panic(fmt.Sprintf("tool: encoding params of %s: %v", method, err))
	}
	return mcp.InputRequest{Method: method, Params: raw}
}
