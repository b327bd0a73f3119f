// Command test_simple_text is the conformance suite's tool with one block of text.
package main

import (
	"context"

	"patchbay/shared/tool"
)

func answer(context.Context, struct{}) (string, error) {
	return "This is a simple text response for testing.", nil
}

func main() { tool.Serve(answer) }
