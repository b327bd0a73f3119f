// Command test_image_content is the conformance suite's tool with an image.
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
	return tool.Result{Content: []mcp.Content{tool.Image(red, "image/png")}}, nil
}

func main() { tool.Serve(answer) }
