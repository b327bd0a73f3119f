package main

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/url"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager"

	"patchbay/dispatcher/metrics"
	"patchbay/dispatcher/ratelimit"
	"patchbay/shared/mcp"
	"patchbay/shared/registry"
	"patchbay/shared/seal"
)

// attemptTime bounds one attempt of a request to DynamoDB or Secrets Manager, which answer in milliseconds.
const attemptTime = 3 * time.Second

// settings is the dispatcher's environment, read and checked once.
type settings struct {
	// aws is the part of the SDK's configuration that Lambda gives a function in its environment. It is read here rather
	// than by the SDK's config package, whose search through files and metadata services a function does not need and
	// pays for at every cold start.
	aws aws.Config
	// lambdaURL and dynamoDBURL redirect the SDK: the SDK's own variables for it.
	lambdaURL, dynamoDBURL, secretsURL string

	serverFile      string
	table           string
	ledgerTable     string
	origins         []string
	loopbackOrigins bool
	cacheTTL        time.Duration
	cacheScope      string
	page            registry.PageLimits
	answerWithin    time.Duration
	buffered        bool
	limit           ratelimit.Limit
	// One of the two says where the keys are that seal requestState.
	sealKeysFile, sealKeysSecret string
	// metrics is the namespace of what is counted; empty for counting nothing. deployment is the name of this one.
	metrics, deployment string
}

func readSettings(getenv func(string) string) (*settings, error) {
	env := reader{getenv: getenv}
	s := &settings{
		aws: aws.Config{
			Region: env.required("AWS_REGION"),
			Credentials: aws.NewCredentialsCache(credentials.NewStaticCredentialsProvider(
				getenv("AWS_ACCESS_KEY_ID"), getenv("AWS_SECRET_ACCESS_KEY"), getenv("AWS_SESSION_TOKEN"))),
		},
		lambdaURL:       getenv("AWS_ENDPOINT_URL_LAMBDA"),
		dynamoDBURL:     getenv("AWS_ENDPOINT_URL_DYNAMODB"),
		secretsURL:      getenv("AWS_ENDPOINT_URL_SECRETS_MANAGER"),
		serverFile:      filepath.Join(getenv("LAMBDA_TASK_ROOT"), "server.json"),
		table:           env.required("PATCHBAY_TABLE"),
		ledgerTable:     env.required("PATCHBAY_LEDGER_TABLE"),
		origins:         env.origins("PATCHBAY_ORIGINS"),
		loopbackOrigins: env.boolean("PATCHBAY_LOOPBACK_ORIGINS"),
		cacheTTL:        env.milliseconds("PATCHBAY_CACHE_TTL_MS", 5*time.Minute),
		cacheScope:      env.oneOf("PATCHBAY_CACHE_SCOPE", mcp.CachePublic, mcp.CachePrivate),
		page: registry.PageLimits{
			MaxTools: env.integer("PATCHBAY_PAGE_TOOLS"),
			MaxBytes: env.integer("PATCHBAY_PAGE_BYTES"),
		},
		answerWithin: env.milliseconds("PATCHBAY_ANSWER_WITHIN_MS", 0),
		limit: ratelimit.Limit{
			Calls: env.integer("PATCHBAY_LIMIT_CALLS"), Window: env.milliseconds("PATCHBAY_LIMIT_WINDOW_MS", time.Minute),
		},
		sealKeysFile:   getenv("PATCHBAY_SEAL_KEYS_FILE"),
		sealKeysSecret: getenv("PATCHBAY_SEAL_KEYS_SECRET"),
		metrics:        env.namespace("PATCHBAY_METRICS"),
		deployment:     getenv("PATCHBAY_DEPLOYMENT"),
		// SAM's local API cannot read a streamed answer.
		buffered: env.boolean("PATCHBAY_BUFFERED") || env.boolean("AWS_SAM_LOCAL"),
	}
	if s.metrics != "" && s.deployment == "" {
		env.fault("PATCHBAY_DEPLOYMENT", "", "set where PATCHBAY_METRICS is")
	}
	if env.err == nil && (s.sealKeysFile == "") == (s.sealKeysSecret == "") {
		env.err = errors.New("of the environment variables PATCHBAY_SEAL_KEYS_FILE and PATCHBAY_SEAL_KEYS_SECRET exactly " +
			"one must be set; it says where the keys are that seal requestState")
	}
	return s, env.err
}

// dynamoDB returns a client whose every attempt is bounded, so that one that is never answered, as on a connection
// which died while Lambda had frozen the process, leaves time for the next.
func (s *settings) dynamoDB() *dynamodb.Client {
	return dynamodb.NewFromConfig(s.aws, func(o *dynamodb.Options) {
		o.HTTPClient = awshttp.NewBuildableClient().WithTimeout(attemptTime)
		if s.dynamoDBURL != "" {
			o.BaseEndpoint = &s.dynamoDBURL
		}
	})
}

// sealer seals requestState with the keys in a file or in Secrets Manager.
func (s *settings) sealer(log *slog.Logger) *seal.Sealer {
	return seal.New(s.sealKeys(), seal.Options{Log: log})
}

func (s *settings) sealKeys() seal.Source {
	if s.sealKeysFile != "" {
		return seal.File(s.sealKeysFile)
	}
	client := secretsmanager.NewFromConfig(s.aws, func(o *secretsmanager.Options) {
		o.HTTPClient = awshttp.NewBuildableClient().WithTimeout(attemptTime)
		if s.secretsURL != "" {
			o.BaseEndpoint = &s.secretsURL
		}
	})
	return seal.Stored{Client: client, ID: s.sealKeysSecret}
}

// counters writes what is counted to out, and is nil where nothing is.
func (s *settings) counters(out io.Writer) *metrics.Writer {
	if s.metrics == "" {
		return nil
	}
	return metrics.New(out, metrics.Options{Namespace: s.metrics, Deployment: s.deployment})
}

// named returns the log with the deployment's name in every line, where it has one.
func (s *settings) named(log *slog.Logger) *slog.Logger {
	if s.deployment == "" {
		return log
	}
	return log.With("deployment", s.deployment)
}

// lambda returns the configuration for the Lambda client.
func (s *settings) lambda() aws.Config {
	config := s.aws
	if s.lambdaURL != "" {
		config.BaseEndpoint = &s.lambdaURL
	}
	return config
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

// origins reads origins that are separated by white space. An origin is compared as a whole with what a browser sends,
// so one that no browser sends would never match, and is a mistake. Source: RFC 6454, section 6.2.
func (r *reader) origins(name string) []string {
	origins := strings.Fields(r.getenv(name))
	for _, origin := range origins {
		if !isOrigin(origin) {
			r.fault(name, origin, "origins such as https://app.example.com, in lower case, with a port only where it is "+
				"not the scheme's own, separated by spaces")
		}
	}
	return origins
}

func isOrigin(text string) bool {
	u, err := url.Parse(text)
	if err != nil || u.Scheme == "" || u.Hostname() == "" || u.Scheme+"://"+u.Host != text {
		return false
	}
	own := map[string]string{"http": "80", "https": "443"}[u.Scheme]
	return text == strings.ToLower(text) && !strings.HasSuffix(text, ":") && (own == "" || u.Port() != own) &&
		!strings.ContainsAny(u.Host, "*,;")
}

// namespace reads a namespace of metrics; empty where none is set.
func (r *reader) namespace(name string) string {
	value := r.getenv(name)
	if value != "" && metrics.CheckNamespace(value) != nil {
		r.fault(name, value, "a namespace of metrics such as Patchbay: letters, digits and . - _ / # : and space, at most "+
			"255, and none of AWS's own")
	}
	return value
}

func (r *reader) boolean(name string) bool {
	value := r.getenv(name)
	if value == "" {
		return false
	}
	parsed, err := strconv.ParseBool(value)
	if err != nil {
		r.fault(name, value, "true or false")
	}
	return parsed
}

func (r *reader) integer(name string) int {
	value := r.getenv(name)
	if value == "" {
		return 0
	}
	parsed, err := strconv.Atoi(value)
	if err != nil || parsed < 1 {
		r.fault(name, value, "a whole number above zero")
	}
	return parsed
}

func (r *reader) milliseconds(name string, absent time.Duration) time.Duration {
	value := r.getenv(name)
	if value == "" {
		return absent
	}
	parsed, err := strconv.ParseInt(value, 10, 64)
	if err != nil || parsed < 0 || parsed > 366*24*3600*1000 {
		r.fault(name, value, "a number of milliseconds, at most a year")
	}
	return time.Duration(parsed) * time.Millisecond
}

func (r *reader) oneOf(name, absent string, others ...string) string {
	value := r.getenv(name)
	if value == "" || value == absent {
		return absent
	}
	for _, other := range others {
		if value == other {
			return value
		}
	}
	r.fault(name, value, strings.Join(append([]string{absent}, others...), " or "))
	return absent
}
