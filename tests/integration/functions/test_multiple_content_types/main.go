// Command test_multiple_content_types is the conformance suite's tool with several kinds of content, and a link with
// annotations beside them.
package main

import (
	"context"
	_ "embed"

	"patchbay/shared/mcp"
	"patchbay/shared/tool"
)

//go:embed red.png
var red []byte

func answer(context.Context, struct{}) (tool.Result, error) {
	link := tool.ResourceLink("test://linked-resource", "linked")
	return tool.Result{Content: []mcp.Content{
		tool.Text("Multiple content types test:"),
		tool.Image(red, "image/png"),
		tool.Embed(mcp.ResourceContents{
			URI:      "test://mixed-content-resource",
			MIMEType: "application/json",
			Text:     `{"test":"data","value":123}`,
		}),
		tool.Annotate(link, mcp.Annotations{Audience: []string{"user"}}),
	}}, nil
}

func main() { tool.Serve(answer) }
