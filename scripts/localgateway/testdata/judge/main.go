// Command judge is the authorizer before the probe in the gateway's tests. The request says in its header what it
// returns: Judge-Returns is its output, Judge-Fails the text of its error, Judge-Lets lets the caller in and puts the
// event itself into the context, Judge-Waits waits for a file in a folder first, Judge-Exits ends the process.
package main

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambda"
)

func main() { lambda.Start(judge) }

func judge(event json.RawMessage) (json.RawMessage, error) {
	var request events.APIGatewayCustomAuthorizerRequestTypeRequest
	if err := json.Unmarshal(event, &request); err != nil {
		return nil, err
	}
	asked := func(name string) (string, bool) {
		value, has := request.Headers[name]
		return value, has
	}
	if dir, is := asked("Judge-Waits"); is {
		await(filepath.Join(dir, "go on"))
	}
	if _, is := asked("Judge-Exits"); is {
		os.Exit(3)
	}
	if text, is := asked("Judge-Fails"); is {
		return nil, errors.New(text)
	}
	if output, is := asked("Judge-Returns"); is {
		return json.RawMessage(output), nil
	}
	if _, is := asked("Judge-Lets"); is {
		return json.Marshal(map[string]any{
			"principalId": "somebody",
			"policyDocument": map[string]any{"Version": "2012-10-17", "Statement": []any{map[string]string{
				"Effect": "Allow", "Action": "execute-api:Invoke", "Resource": request.MethodArn,
			}}},
			"context": map[string]string{"event": string(event)},
		})
	}
	return nil, errors.New("Unauthorized")
}

func await(file string) {
	for {
		if _, err := os.Stat(file); err == nil {
			return
		}
		time.Sleep(time.Millisecond)
	}
}
