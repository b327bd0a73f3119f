// Command test_missing_capability is the conformance suite's tool that needs a capability which the client may lack.
package main

import (
	"context"

	"patchbay/shared/mcp"
	"patchbay/shared/tool"
)

func answer(ctx context.Context, _ struct{}) (string, error) {
	var completion tool.SamplingResult
	if ok, err := tool.CallFrom(ctx).Response("completion", &completion); ok && err == nil {
		return "Success", nil
	}
	question := tool.Sample(tool.Sampling{
		Messages:  []tool.SamplingMessage{{Role: "user", Content: tool.Text("Say yes")}},
		MaxTokens: 10,
	})
	return "", tool.Ask(map[string]mcp.InputRequest{"completion": question}, "")
}

func main() { tool.Serve(answer) }
