package main

import (
	"io"
	"log/slog"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"patchbay/dispatcher/environment"
	"patchbay/dispatcher/metrics"
	"patchbay/shared/authorization"
)

// attemptTime bounds one attempt of a request to DynamoDB, which answers in milliseconds. It is less than what a look
// at the catalogue may take, so that one attempt on a connection which died in a freeze leaves time for another.
const attemptTime = 800 * time.Millisecond

// settings is the authorizer's environment, read and checked once.
type settings struct {
	aws         aws.Config
	dynamoDBURL string

	authorizationFile string
	resource          authorization.Resource
	table             string
	// metrics is the namespace of what is counted; empty for counting nothing. deployment is the name of this one.
	metrics, deployment string
}

func readSettings(getenv func(string) string) (*settings, error) {
	env := environment.New(getenv)
	s := &settings{
		aws:               env.AWS(),
		dynamoDBURL:       getenv("AWS_ENDPOINT_URL_DYNAMODB"),
		authorizationFile: env.File("PATCHBAY_AUTHORIZATION_FILE"),
		resource:          resource(env, "PATCHBAY_RESOURCE"),
		table:             env.Required("PATCHBAY_TABLE"),
		metrics:           env.Optional("PATCHBAY_METRICS"),
		deployment:        env.Optional("PATCHBAY_DEPLOYMENT"),
	}
	env.Required("PATCHBAY_AUTHORIZATION_FILE")
	if s.metrics != "" && metrics.CheckNamespace(s.metrics) != nil {
		env.Fault("PATCHBAY_METRICS", s.metrics, "a namespace of metrics such as Patchbay")
	}
	if s.metrics != "" && s.deployment == "" {
		env.Fault("PATCHBAY_DEPLOYMENT", "", "set where PATCHBAY_METRICS is")
	}
	if err := env.Err(); err != nil {
		return nil, err
	}
	return s, nil
}

// resource reads the server's canonical URI.
func resource(env *environment.Reader, name string) authorization.Resource {
	parsed, err := authorization.ParseResource(env.Required(name))
	if err != nil {
		env.Fault(name, env.Optional(name), "the URL of the MCP endpoint, as in https://mcp.example.com/mcp")
	}
	return parsed
}

// dynamoDB returns a client whose every attempt is bounded.
func (s *settings) dynamoDB() *dynamodb.Client {
	return dynamodb.NewFromConfig(s.aws, func(o *dynamodb.Options) {
		o.HTTPClient = awshttp.NewBuildableClient().WithTimeout(attemptTime)
		if s.dynamoDBURL != "" {
			o.BaseEndpoint = &s.dynamoDBURL
		}
	})
}

// counters writes what is counted to out.
func (s *settings) counters(out io.Writer) *metrics.Writer {
	return metrics.New(out, metrics.Options{Namespace: s.metrics, Deployment: s.deployment})
}

// named returns the log with the deployment's name in every line, where it has one.
func (s *settings) named(log *slog.Logger) *slog.Logger {
	if s.deployment == "" {
		return log
	}
	return log.With("deployment", s.deployment)
}
