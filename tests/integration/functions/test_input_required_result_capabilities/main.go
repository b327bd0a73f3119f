// Command test_input_required_result_capabilities is the conformance suite's tool that asks only for what the client
// supports.
package main

import (
	"context"
	"encoding/json"

	"patchbay/shared/mcp"
	"patchbay/shared/tool"
)

const nameForm = `{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}`

func ask(ctx context.Context, _ struct{}) (string, error) {
	call, questions := tool.CallFrom(ctx), map[string]mcp.InputRequest{}
	if call.Supports("elicitation") {
		questions["user_name"] = tool.Form("What is your name?", json.RawMessage(nameForm))
	}
	if call.Supports("sampling") {
		questions["greeting"] = tool.Sample(tool.Sampling{
			Messages:  []tool.SamplingMessage{{Role: "user", Content: tool.Text("Generate a greeting")}},
			MaxTokens: 50,
		})
	}
	if len(questions) == 0 || len(call.InputResponses) > 0 {
		return "Nothing more to ask.", nil
	}
	return "", tool.Ask(questions, "asked")
}

func main() { tool.Serve(ask) }
