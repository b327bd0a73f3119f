// Command registrar is the Lambda function behind the custom resource Custom::PatchbayTools: it publishes the tools of
// a CloudFormation stack into the catalogue, and withdraws them; and it publishes for people, behind an alias of its
// own, tools whose functions exist already. It only wires; what it does is package resource.
package main

import (
	"log/slog"
	"os"

	"github.com/aws/aws-lambda-go/lambda"
)

func main() {
	log := slog.New(slog.NewJSONHandler(os.Stderr, nil))
	handler, err := newHandler(os.Getenv, log)
	if err != nil {
		log.Error("starting the registrar", "error", err)
		os.Exit(1)
	}
	lambda.Start(handler)
}
