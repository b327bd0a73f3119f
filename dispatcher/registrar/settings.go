package main

import (
	"fmt"
	"log/slog"
	"regexp"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/ratelimit"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/s3"

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
	env := reader{getenv: getenv}
	config := aws.Config{
		Region: env.required("AWS_REGION"),
		Credentials: aws.NewCredentialsCache(credentials.NewStaticCredentialsProvider(
			getenv("AWS_ACCESS_KEY_ID"), getenv("AWS_SECRET_ACCESS_KEY"), getenv("AWS_SESSION_TOKEN"))),
		HTTPClient: awshttp.NewBuildableClient().WithTimeout(attemptTime),
		Retryer: func() aws.Retryer {
			return retry.NewStandard(func(o *retry.StandardOptions) {
				o.MaxAttempts, o.MaxBackoff, o.RateLimiter = attempts, 5*time.Second, ratelimit.None
			})
		},
	}
	options := resource.Options{
		Table:          env.required("PATCHBAY_TABLE"),
		MaxCallSeconds: env.seconds("PATCHBAY_MAX_CALL_SECONDS", longestCall),
		Deployment:     env.matching("PATCHBAY_DEPLOYMENT", deployment, "a deployment's name, as in notes-prod"),
		Region:         config.Region,
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
	if env.err != nil {
		return nil, env.err
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

// reader reads variables and keeps the first fault.
type reader struct {
	getenv func(string) string
	err    error
}

func (r *reader) fault(name, value, want string) {
	if r.err == nil {
		r.err = fmt.Errorf("environment variable %s is %q; it must be %s", name, value, want)
	}
}

func (r *reader) required(name string) string {
	value := r.getenv(name)
	if value == "" {
		r.fault(name, value, "set")
	}
	return value
}

func (r *reader) matching(name string, form *regexp.Regexp, want string) string {
	value := r.getenv(name)
	if !form.MatchString(value) {
		r.fault(name, value, want)
	}
	return value
}

func (r *reader) seconds(name string, most int) int {
	value := r.getenv(name)
	parsed, err := strconv.Atoi(value)
	if err != nil || parsed < 1 || parsed > most {
		r.fault(name, value, fmt.Sprintf("a whole number from 1 to %d", most))
	}
	return parsed
}
