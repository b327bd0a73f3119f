// Command test_input_required_result_sampling is the conformance suite's tool that asks the client's model.
package main

import (
	"context"

	"patchbay/shared/mcp"
	"patchbay/shared/tool"
)

func ask(ctx context.Context, _ struct{}) (string, error) {
	var answer tool.SamplingResult
	if ok, err := tool.CallFrom(ctx).Response("capital_question", &answer); !ok || err != nil {
		question := tool.Sample(tool.Sampling{
			Messages:  []tool.SamplingMessage{{Role: "user", Content: tool.Text("What is the capital of France?")}},
			MaxTokens: 100,
		})
		return "", tool.Ask(map[string]mcp.InputRequest{"capital_question": question}, "")
	}
	if len(answer.Content) == 0 {
		return "The model said nothing.", nil
	}
	return "The model said: " + answer.Content[0].Text, nil
}

func main() { tool.Serve(ask) }
