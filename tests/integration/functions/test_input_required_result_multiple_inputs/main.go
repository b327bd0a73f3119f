// Command test_input_required_result_multiple_inputs is the conformance suite's tool that asks for three things at
// once.
package main

import (
	"context"
	"encoding/json"
	"fmt"

	"patchbay/shared/mcp"
	"patchbay/shared/tool"
)

const nameForm = `{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}`

func ask(ctx context.Context, _ struct{}) (string, error) {
	var (
		call     = tool.CallFrom(ctx)
		name     tool.ElicitResult
		greeting tool.SamplingResult
		roots    tool.RootsResult
	)
	for key, answer := range map[string]any{"user_name": &name, "greeting": &greeting, "client_roots": &roots} {
		if ok, err := call.Response(key, answer); !ok || err != nil {
			return "", tool.Ask(questions(), "asked")
		}
	}
	return fmt.Sprintf("%s answered; the model said %d things; %d roots.", name.Action, len(greeting.Content),
		len(roots.Roots)), nil
}

func questions() map[string]mcp.InputRequest {
	return map[string]mcp.InputRequest{
		"user_name": tool.Form("What is your name?", json.RawMessage(nameForm)),
		"greeting": tool.Sample(tool.Sampling{
			Messages:  []tool.SamplingMessage{{Role: "user", Content: tool.Text("Generate a greeting")}},
			MaxTokens: 50,
		}),
		"client_roots": tool.ListRoots(),
	}
}

func main() { tool.Serve(ask) }
