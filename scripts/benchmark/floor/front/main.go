// Front is the first of the two bare Lambda hops that are the benchmark's floor: it invokes the second with the event
// that it was told and returns the bytes that come back, without a look at either.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	lambdaapi "github.com/aws/aws-sdk-go-v2/service/lambda"
)

func main() {
	config := aws.Config{
		Region:       os.Getenv("AWS_REGION"),
		BaseEndpoint: aws.String(os.Getenv("AWS_ENDPOINT_URL_LAMBDA")),
		Credentials: credentials.NewStaticCredentialsProvider(
			os.Getenv("AWS_ACCESS_KEY_ID"), os.Getenv("AWS_SECRET_ACCESS_KEY"), os.Getenv("AWS_SESSION_TOKEN")),
	}
	lambda.Start(forward(lambdaapi.NewFromConfig(config), os.Getenv("FLOOR_FUNCTION"), []byte(os.Getenv("FLOOR_PAYLOAD"))))
}

type handler func(context.Context, json.RawMessage) (*events.APIGatewayProxyStreamingResponse, error)

func forward(client *lambdaapi.Client, function string, payload []byte) handler {
	return func(ctx context.Context, _ json.RawMessage) (*events.APIGatewayProxyStreamingResponse, error) {
		output, err := client.Invoke(ctx, &lambdaapi.InvokeInput{FunctionName: &function, Payload: payload})
		if err != nil {
			return nil, err
		}
		return &events.APIGatewayProxyStreamingResponse{
			StatusCode: 200,
			Headers:    map[string]string{"Content-Type": "application/json"},
			Body:       bytes.NewReader(output.Payload),
		}, nil
	}
}
