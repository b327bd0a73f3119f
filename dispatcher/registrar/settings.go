package main

import (
	"log/slog"
	"regexp"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/ratelimit"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"patchbay/dispatcher/environment"
	"patchbay/dispatcher/registrar/resource"
)

// attemptTime bounds one attempt of a request, so that one that is never answered leaves time for the next.
const attemptTime = 10 * time.Second

// attempts is how often a request is tried. All that the registrar asks of Lambda together may come 15 times a second,
// with those of everybody else in the account, so being throttled is normal in a deploy of many tools.
const attempts = 12

// deployment is the form of a deployment's name, as in the names of its functions.
var deployment = regexp.MustCompile(`^[a-z][a-z0-9-]{0,17}-[a-z][a-z0-9]{0,11}$`)

// longestCall is the longest that a Lambda function can run.
const longestCall = 900

// newHandler puts the registrar together from its environment.
func newHandler(getenv func(string) string, log *slog.Logger) (*resource.Handler, error) {
	env := environment.New(getenv)
	config := env.AWS()
	config.HTTPClient = awshttp.NewBuildableClient().WithTimeout(attemptTime)
	config.Retryer = func() aws.Retryer {
		return retry.NewStandard(func(o *retry.StandardOptions) {
			o.MaxAttempts, o.MaxBackoff, o.RateLimiter = attempts, 5*time.Second, ratelimit.None
		})
	}
	options := resource.Options{
		Table:          env.Required("PATCHBAY_TABLE"),
		MaxCallSeconds: env.CountTo("PATCHBAY_MAX_CALL_SECONDS", longestCall),
		Deployment:     env.Matching("PATCHBAY_DEPLOYMENT", deployment, "a deployment's name, as in notes-prod"),
		Region:         config.Region,
		Existing:       strings.Fields(env.Optional("PATCHBAY_EXISTING")),
		Log:            log,
	}
	options.DynamoDB = dynamodb.NewFromConfig(config, func(o *dynamodb.Options) {
		o.BaseEndpoint = endpoint(getenv("AWS_ENDPOINT_URL_DYNAMODB"))
	})
	options.Lambda = lambda.NewFromConfig(config, func(o *lambda.Options) {
		o.BaseEndpoint = endpoint(getenv("AWS_ENDPOINT_URL_LAMBDA"))
	})
	options.S3 = s3.NewFromConfig(config, func(o *s3.Options) {
		o.BaseEndpoint = endpoint(getenv("AWS_ENDPOINT_URL_S3"))
		o.UsePathStyle = o.BaseEndpoint != nil // An endpoint of one's own has no names for buckets.
	})
	if err := env.Err(); err != nil {
		return nil, err
	}
	return resource.New(options), nil
}

// endpoint is the SDK's own way to be redirected; nil where the variable is not set.
func endpoint(url string) *string {
	if url == "" {
		return nil
	}
	return &url
}
