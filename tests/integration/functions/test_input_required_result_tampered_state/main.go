// Command test_input_required_result_tampered_state is the conformance suite's tool whose state the client changes.
package main

import (
	"context"
	"encoding/json"

	"patchbay/shared/mcp"
	"patchbay/shared/tool"
)

const form = `{"type":"object","properties":{"ok":{"type":"boolean"}},"required":["ok"]}`

func confirm(ctx context.Context, _ struct{}) (string, error) {
	var answer tool.ElicitResult
	if ok, err := tool.CallFrom(ctx).Response("ok", &answer); !ok || err != nil {
		question := tool.Form("Please confirm", json.RawMessage(form))
		return "", tool.Ask(map[string]mcp.InputRequest{"ok": question}, "untouched")
	}
	return "confirmed: " + answer.Action, nil
}

func main() { tool.Serve(confirm) }
