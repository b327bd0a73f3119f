// Command test_input_required_result_multi_round is the conformance suite's tool that asks twice, one after the other.
package main

import (
	"context"
	"encoding/json"
	"strings"

	"patchbay/shared/mcp"
	"patchbay/shared/tool"
)

const (
	nameForm  = `{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}`
	colorForm = `{"type":"object","properties":{"color":{"type":"string"}},"required":["color"]}`
)

func ask(ctx context.Context, _ struct{}) (string, error) {
	call := tool.CallFrom(ctx)
	if name, ok := answered(call, "step1", "name"); ok {
		question := tool.Form("Step 2: What is your favorite color?", json.RawMessage(colorForm))
		return "", tool.Ask(map[string]mcp.InputRequest{"step2": question}, "name:"+name)
	}
	if color, ok := answered(call, "step2", "color"); ok {
		return strings.TrimPrefix(call.State, "name:") + " likes " + color + ".", nil
	}
	question := tool.Form("Step 1: What is your name?", json.RawMessage(nameForm))
	return "", tool.Ask(map[string]mcp.InputRequest{"step1": question}, "begun")
}

// answered returns one field of the form that the client filled in for the request of that key.
func answered(call tool.Call, key, field string) (string, bool) {
	var (
		answer tool.ElicitResult
		form   map[string]string
	)
	if ok, err := call.Response(key, &answer); !ok || err != nil || answer.Action != tool.ActionAccept {
		return "", false
	}
	if err := json.Unmarshal(answer.Content, &form); err != nil {
		return "", false
	}
	return form[field], true
}

func main() { tool.Serve(ask) }
