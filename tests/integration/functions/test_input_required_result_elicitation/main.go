// Command test_input_required_result_elicitation is the conformance suite's tool that asks the user one question.
package main

import (
	"context"
	"encoding/json"

	"patchbay/shared/mcp"
	"patchbay/shared/tool"
)

const nameForm = `{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}`

func greet(ctx context.Context, _ struct{}) (string, error) {
	var (
		answer tool.ElicitResult
		form   struct{ Name string }
	)
	// An answer that cannot be read is no answer: the tool asks again.
	if ok, err := tool.CallFrom(ctx).Response("user_name", &answer); !ok || err != nil {
		question := tool.Form("What is your name?", json.RawMessage(nameForm))
		return "", tool.Ask(map[string]mcp.InputRequest{"user_name": question}, "")
	}
	if answer.Action != tool.ActionAccept || json.Unmarshal(answer.Content, &form) != nil {
		return "Hello, whoever you are!", nil
	}
	return "Hello, " + form.Name + "!", nil
}

func main() { tool.Serve(greet) }
