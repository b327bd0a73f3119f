// Command test_embedded_resource is the conformance suite's tool with an embedded resource.
package main

import (
	"context"

	"patchbay/shared/mcp"
	"patchbay/shared/tool"
)

func answer(context.Context, struct{}) (tool.Result, error) {
	return tool.Result{Content: []mcp.Content{tool.Embed(mcp.ResourceContents{
		URI:      "test://embedded-resource",
		MIMEType: "text/plain",
		Text:     "This is an embedded resource content.",
	})}}, nil
}

func main() { tool.Serve(answer) }
