// Command echo_envelope answers with the event that it got, so that tests can see what a tool is told. It stands
// directly on aws-lambda-go, since shared/tool hides the envelope.
package main

import (
	"encoding/json"

	"github.com/aws/aws-lambda-go/lambda"

	"patchbay/shared/mcp"
)

func echo(event json.RawMessage) (mcp.CallToolResult, error) {
	return mcp.CallToolResult{
		Content:           []mcp.Content{{Type: "text", Text: string(event)}},
		StructuredContent: event,
	}, nil
}

func main() { lambda.Start(echo) }
