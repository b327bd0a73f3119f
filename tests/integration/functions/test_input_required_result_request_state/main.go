// Command test_input_required_result_request_state is the conformance suite's tool whose state must come back.
package main

import (
	"context"
	"encoding/json"

	"patchbay/shared/mcp"
	"patchbay/shared/tool"
)

const form = `{"type":"object","properties":{"ok":{"type":"boolean"}},"required":["ok"]}`

func confirm(ctx context.Context, _ struct{}) (string, error) {
	call := tool.CallFrom(ctx)
	var answer tool.ElicitResult
	if ok, err := call.Response("confirm", &answer); !ok || err != nil {
		question := tool.Form("Please confirm", json.RawMessage(form))
		return "", tool.Ask(map[string]mcp.InputRequest{"confirm": question}, "round-1")
	}
	if call.State != "round-1" {
		return "", tool.Fail("wrong_state", "The state %q is not the one of the first round.", call.State)
	}
	return "state-ok: " + answer.Action, nil
}

func main() { tool.Serve(confirm) }
