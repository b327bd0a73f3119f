package toolcall

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"time"

	"patchbay/shared/jsonrpc"
	"patchbay/shared/ledger"
	"patchbay/shared/mcp"
	"patchbay/shared/schema"
	"patchbay/shared/seal"
)

// roundLifetime is how long a client may take to answer what a tool asks: long enough for a person, short enough that a
// state which leaked is soon worth nothing (basic/patterns/mrtr#server-requirements-basic-workflow).
const roundLifetime = 15 * time.Minute

// Sealer keeps what a call must remember between its rounds. The errors are those of package seal.
type Sealer interface {
	Seal(ctx context.Context, binding seal.Binding, state seal.State) (string, error)
	Open(ctx context.Context, text string, binding seal.Binding, kinds ...seal.Kind) (seal.State, error)
}

// openRound reads what an earlier round left with the client. Answers without a state are those of nobody: it is round
// one. A state of another version of the contract is let go for the same reason: what was asked then may mean something
// else now.
func (c *call) openRound(ctx context.Context) (reply, error) {
	if !c.Modern || !c.Params.HasState {
		return nil, nil
	}
	binding, err := c.binding()
	if err != nil {
		return nil, c.refuse(outcomeState, unopenable())
	}
	state, err := c.Sealer.Open(ctx, c.Params.RequestState, binding, seal.KindRound, seal.KindConfirmation)
	switch {
	case errors.Is(err, seal.ErrContractChanged):
		return nil, nil
	case errors.Is(err, seal.ErrUnopenable):
		return nil, c.refuse(outcomeState, unopenable())
	case errors.Is(err, seal.ErrExpired):
		c.expired = true
	case err != nil:
		return nil, c.defect(fmt.Errorf("opening requestState: %w", err))
	}
	c.key, c.confirmed = state.Key, state.Confirmed
	responses, err := usableResponses(state.Asked, c.Params.InputResponses)
	if err != nil {
		return nil, err
	}
	if state.Kind == seal.KindConfirmation {
		return c.readConfirmation(state, responses), nil
	}
	c.state, c.responses = state.Tool, responses
	return nil, nil
}

// unopenable is the one answer for every state that does not open, so that it tells a forger nothing.
func unopenable() error {
	return mcp.InvalidParams("Invalid params: %s; begin the call again without it", seal.ErrUnopenable)
}

// binding is what ties a state to this caller, tool, arguments and contract.
func (c *call) binding() (seal.Binding, error) {
	arguments, err := ledger.Digest(c.Params.Arguments)
	if err != nil {
		return seal.Binding{}, err
	}
	contract := c.entry.Tool.Digest()
	return seal.Binding{
		Principal: c.Principal,
		Tool:      c.entry.Tool.Name,
		Arguments: arguments[:],
		Contract:  contract[:],
	}, nil
}

// usableResponses returns those of the client's answers that were asked for and fit what was asked. The others are left
// out, so that the tool sees them missing and asks again (basic/patterns/mrtr#error-handling).
func usableResponses(asked map[string]seal.Asked, responses json.RawMessage) (json.RawMessage, error) {
	if responses == nil {
		return nil, nil
	}
	members, err := jsonrpc.Members(responses)
	if err != nil {
		return nil, err
	}
	usable := map[string]json.RawMessage{}
	for _, m := range members {
		if request, known := asked[m.Key]; known && fits(request, m.Value) {
			usable[m.Key] = m.Value
		}
	}
	return json.Marshal(usable)
}

// fits reports whether a response is what its request can be answered with. Source: schema 2026-07-28, ElicitResult,
// CreateMessageResult, ListRootsResult.
func fits(request seal.Asked, response json.RawMessage) bool {
	var result struct {
		Action  string          `json:"action"`
		Content json.RawMessage `json:"content"`
		Role    string          `json:"role"`
		Roots   json.RawMessage `json:"roots"`
	}
	if json.Unmarshal(response, &result) != nil {
		return false
	}
	switch request.Method {
	case methodSample:
		return result.Role != "" && len(result.Content) > 0
	case methodListRoots:
		return len(result.Roots) > 0 && result.Roots[0] == '['
	}
	if result.Action != "accept" || request.Schema == nil {
		return result.Action == "accept" || result.Action == "decline" || result.Action == "cancel"
	}
	form, err := schema.Compile(request.Schema, schema.Limits{})
	return err == nil && len(result.Content) > 0 && form.Validate(result.Content) == nil
}

// Methods that a tool may ask of a client. Source: basic/patterns/mrtr#server-requirements-basic-workflow.
const (
	methodElicit    = "elicitation/create"
	methodSample    = "sampling/createMessage"
	methodListRoots = "roots/list"
)

// question is a tool's InputRequiredResult.
type question struct {
	// requests are passed on as the tool wrote them; nil when there are none.
	requests json.RawMessage
	asked    map[string]seal.Asked
	// required is what a client must be able to do to answer, as a ClientCapabilities object.
	required capabilities
	state    string
}

// ask passes on what a tool asks, with its state sealed. Nothing is stored: the next round brings all of it back.
func (c *call) ask(ctx context.Context, members reply) (reply, error) {
	if !c.Modern {
		return c.toolError(outcomeCannotAsk, "%s needs an answer from the user before it can go on. This client speaks "+
			"revision %s of MCP, over which a stateless server cannot ask; a client of revision %s can confirm it.",
			c.entry.Tool.Name, c.ProtocolVersion, mcp.Version20260728), nil
	}
	asks, err := readQuestion(members)
	if err != nil {
		return c.broken(err), nil
	}
	if missing := asks.required.missingFrom(c.Params.Meta.ClientCapabilities); missing != nil {
		return nil, c.refuse(outcomeCapability, mcp.MissingCapability(missing))
	}
	binding, err := c.binding()
	if err != nil {
		return c.toolError(outcomeInvalid, "The call of %s cannot be continued: %s", c.entry.Tool.Name, err), nil
	}
	sealed, err := c.Sealer.Seal(ctx, binding, seal.State{
		Kind: seal.KindRound, Key: c.key, Confirmed: c.confirmed, Asked: asks.asked, Tool: asks.state,
		Expires: c.now().Add(roundLifetime),
	})
	if errors.Is(err, seal.ErrTooLarge) {
		return c.broken(err), nil
	}
	if err != nil {
		c.cause = fmt.Errorf("sealing requestState: %w", err)
		return c.crashed(c.cause), nil
	}
	c.outcome = outcomeAsks
	return inputRequired(asks.requests, sealed), nil
}

// inputRequired is the reply that passes a question on.
func inputRequired(requests json.RawMessage, sealed string) reply {
	asks := reply{{Key: memberResultType, Value: json.RawMessage(`"` + mcp.ResultInputRequired + `"`)}}
	if requests != nil {
		asks = append(asks, jsonrpc.Member{Key: "inputRequests", Value: requests})
	}
	return append(asks, jsonrpc.Member{Key: "requestState", Value: json.RawMessage(strconv.Quote(sealed))})
}

// isQuestion reports whether a result asks for input.
func isQuestion(members reply) bool {
	for _, m := range members {
		if m.Key == memberResultType {
			return string(m.Value) == `"`+mcp.ResultInputRequired+`"`
		}
	}
	return false
}

// readQuestion reads a tool's InputRequiredResult. The error is about the tool.
func readQuestion(members reply) (question, error) {
	q := question{asked: map[string]seal.Asked{}, required: capabilities{}}
	stateGiven := false
	for _, m := range members {
		switch m.Key {
		case "inputRequests":
			if err := q.readRequests(m.Value); err != nil {
				return q, err
			}
		case "requestState":
			if err := json.Unmarshal(m.Value, &q.state); err != nil {
				return q, fmt.Errorf("reading the tool's requestState: %w", err)
			}
			stateGiven = true
		}
	}
	if len(q.asked) == 0 && !stateGiven {
		return q, errors.New("the tool asks for input without inputRequests and without requestState")
	}
	return q, nil
}

func (q *question) readRequests(raw json.RawMessage) error {
	requests, err := jsonrpc.Members(raw)
	if err != nil {
		return fmt.Errorf("reading the tool's inputRequests: %w", err)
	}
	for _, m := range requests {
		if err := q.readRequest(m.Key, m.Value); err != nil {
			return fmt.Errorf("reading the tool's input request %q: %w", m.Key, err)
		}
	}
	if len(requests) > 0 {
		q.requests = raw
	}
	return nil
}

func (q *question) readRequest(key string, raw json.RawMessage) error {
	var request struct {
		Method string `json:"method"`
		Params struct {
			Mode            string          `json:"mode"`
			URL             string          `json:"url"`
			RequestedSchema json.RawMessage `json:"requestedSchema"`
			Tools           json.RawMessage `json:"tools"`
			IncludeContext  string          `json:"includeContext"`
		} `json:"params"`
	}
	if err := json.Unmarshal(raw, &request); err != nil {
		return err
	}
	asked := seal.Asked{Method: request.Method}
	switch request.Method {
	case methodListRoots:
		q.required.need("roots", "")
	case methodSample:
		q.required.need("sampling", "")
		if len(request.Params.Tools) > 0 {
			q.required.need("sampling", "tools")
		}
		if context := request.Params.IncludeContext; context != "" && context != "none" {
			q.required.need("sampling", "context")
		}
	case methodElicit:
		if request.Params.Mode == "url" {
			q.required.need("elicitation", "url")
			if err := checkLink(request.Params.URL); err != nil {
				return err
			}
			break
		}
		q.required.need("elicitation", "form")
		if _, err := schema.Compile(request.Params.RequestedSchema, schema.Limits{}); err != nil {
			return fmt.Errorf("compiling requestedSchema: %w", err)
		}
		asked.Schema = request.Params.RequestedSchema
	default:
		return fmt.Errorf("the method %q cannot be asked of a client; allowed: %s, %s, %s",
			request.Method, methodElicit, methodSample, methodListRoots)
	}
	q.asked[key] = asked
	return nil
}

// checkLink lets only web pages through: a client opens what it is given.
func checkLink(link string) error {
	u, err := url.Parse(link)
	if err != nil || u.Host == "" || (u.Scheme != "https" && u.Scheme != "http") {
		return fmt.Errorf("the link %q is no http or https URL", link)
	}
	return nil
}
