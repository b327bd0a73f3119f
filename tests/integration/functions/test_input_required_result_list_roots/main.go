// Command test_input_required_result_list_roots is the conformance suite's tool that asks for the client's roots.
package main

import (
	"context"
	"fmt"

	"patchbay/shared/mcp"
	"patchbay/shared/tool"
)

func ask(ctx context.Context, _ struct{}) (string, error) {
	var answer tool.RootsResult
	if ok, err := tool.CallFrom(ctx).Response("client_roots", &answer); !ok || err != nil {
		return "", tool.Ask(map[string]mcp.InputRequest{"client_roots": tool.ListRoots()}, "")
	}
	return fmt.Sprintf("The client's roots are %v.", answer.Roots), nil
}

func main() { tool.Serve(ask) }
