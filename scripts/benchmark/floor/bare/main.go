// Bare is a Lambda function that does nothing: it answers with the bytes that it was told. It is the second of the two
// hops that are the benchmark's floor, and, answering a gateway, the least that a process needs from its start to its
// first answer.
package main

import (
	"context"
	"encoding/json"
	"os"
	"strings"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambda"
)

func main() {
	answer := os.Getenv("BARE_ANSWER")
	if os.Getenv("BARE_FOR") == "gateway" {
		lambda.Start(forGateway(answer))
		return
	}
	lambda.Start(func(context.Context, json.RawMessage) (json.RawMessage, error) {
		return json.RawMessage(answer), nil
	})
}

// forGateway answers as a function behind a streaming REST API does.
func forGateway(
	answer string,
) func(context.Context, json.RawMessage) (*events.APIGatewayProxyStreamingResponse, error) {
	return func(context.Context, json.RawMessage) (*events.APIGatewayProxyStreamingResponse, error) {
		return &events.APIGatewayProxyStreamingResponse{
			StatusCode: 200,
			Headers:    map[string]string{"Content-Type": "application/json"},
			Body:       strings.NewReader(answer),
		}, nil
	}
}
