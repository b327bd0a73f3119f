package benchmark

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	"patchbay/dispatcher/ratelimit"
	"patchbay/dispatcher/toolcall"
	"patchbay/shared/contract"
	"patchbay/shared/jsonrpc"
	"patchbay/shared/ledger"
	"patchbay/shared/mcp"
	"patchbay/shared/registry"
	"patchbay/shared/seal"
)

// The contracts under which the tool is called.
const (
	plainContract = `{"risk":"low","idempotency":{"mode":"none"},"execution":{"timeoutSeconds":5}}`
	keyedContract = `{"risk":"low","idempotency":{"mode":"key","whenAbsent":"refuse","ttl":"1h"},` +
		`"execution":{"timeoutSeconds":5}}`
	confirmedContract = `{"risk":"critical","confirmation":"always","sideEffects":["Opens the sluice."],` +
		`"auditEvent":"sluice.opened","idempotency":{"mode":"none"},"execution":{"timeoutSeconds":5}}`
)

// desk is a dispatcher's tool calls of one tool.
type desk struct {
	caller *toolcall.Caller
	params mcp.Params
}

func newDesk(rules string, db *counted) (*desk, error) {
	all, err := tools(1)
	if err != nil {
		return nil, err
	}
	tool, err := contract.Decode(all[0].Definition, json.RawMessage(rules))
	if err != nil {
		return nil, err
	}
	message, err := jsonrpc.Decode([]byte(callOf(toolName).body))
	if err != nil {
		return nil, err
	}
	params, err := mcp.ParseParams(message.Params)
	if err != nil {
		return nil, err
	}
	params.Meta.ClientCapabilities = json.RawMessage(`{"elicitation":{"form":{}}}`)
	return &desk{params: params, caller: toolcall.New(toolcall.Config{
		Catalogue: single{&registry.Entry{Tool: tool, Function: functionARN}}, Functions: instant{},
		Sealer:  seal.New(seal.NewRing(), seal.Options{}),
		Ledger:  ledger.New(db, ledgerTable, ledger.Options{}),
		Limiter: ratelimit.New(db, ledgerTable), ServerInfo: json.RawMessage(`{"name":"bench","version":"1.0.0"}`),
		Log: quiet(), Audit: quiet(),
	})}, nil
}

// request is a call under an idempotency key; empty for none.
func (d *desk) request(key string) *toolcall.Request {
	request := &toolcall.Request{
		RequestID: "00000000-0000-0000-0000-000000000000", ProtocolVersion: mcp.Version20260728, Modern: true,
		Header: http.Header{}, Params: d.params, Principal: subject, Deadline: time.Now().Add(time.Minute),
	}
	if key != "" {
		request.Header.Set("Idempotency-Key", key)
	}
	return request
}

// run makes a call, whose answer must be the tool's, and a recorded one or not.
func (d *desk) run(ctx context.Context, request *toolcall.Request, replayed bool) error {
	answer, err := d.caller.Call(ctx, request)
	if err != nil {
		return fmt.Errorf("calling the tool: %w", err)
	}
	text := string(answer)
	if !strings.Contains(text, structured) || strings.Contains(text, `"`+mcp.MetaReplayed+`":true`) != replayed {
		return fmt.Errorf("a call was answered with %.500s; expected is the tool's answer, replayed: %t", text, replayed)
	}
	return nil
}

// ask makes a call that must be confirmed and returns the state that came with the question.
func (d *desk) ask(ctx context.Context) (string, error) {
	answer, err := d.caller.Call(ctx, d.request(""))
	if err != nil {
		return "", fmt.Errorf("calling the tool: %w", err)
	}
	var question struct{ ResultType, RequestState string }
	if err := json.Unmarshal(answer, &question); err != nil {
		return "", fmt.Errorf("reading a question: %w", err)
	}
	if question.ResultType != "input_required" || question.RequestState == "" {
		return "", fmt.Errorf("a call was answered with %.500s; expected is a question", answer)
	}
	return question.RequestState, nil
}

// confirm makes a call, agrees to it, and makes it again, so that it runs.
func (d *desk) confirm(ctx context.Context) error {
	state, err := d.ask(ctx)
	if err != nil {
		return err
	}
	request := d.request("")
	request.Params.RequestState, request.Params.HasState = state, true
	request.Params.InputResponses = json.RawMessage(
		`{"patchbay_confirmation":{"action":"accept","content":{"confirm":true}}}`)
	return d.run(ctx, request, false)
}
