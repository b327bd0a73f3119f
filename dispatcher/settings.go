package main

import (
	"fmt"
	"net/url"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"patchbay/dispatcher/ratelimit"
	"patchbay/shared/mcp"
	"patchbay/shared/registry"
	"patchbay/shared/seal"
)

// databaseAttempt bounds one attempt of a request to DynamoDB, which answers in milliseconds.
const databaseAttempt = 3 * time.Second

// settings is the dispatcher's environment, read and checked once.
type settings struct {
	// aws is the part of the SDK's configuration that Lambda gives a function in its environment. It is read here rather
	// than by the SDK's config package, whose search through files and metadata services a function does not need and
	// pays for at every cold start.
	aws aws.Config
	// lambdaURL and dynamoDBURL redirect the SDK: the SDK's own variables for it.
	lambdaURL, dynamoDBURL string

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
	sealKeysFile    string
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
		sealKeysFile: env.required("PATCHBAY_SEAL_KEYS_FILE"),
		// SAM's local API cannot read a streamed answer.
		buffered: env.boolean("PATCHBAY_BUFFERED") || env.boolean("AWS_SAM_LOCAL"),
	}
	return s, env.err
}

// dynamoDB returns a client whose every attempt is bounded, so that one that is never answered, as on a connection
// which died while Lambda had frozen the process, leaves time for the next.
func (s *settings) dynamoDB() *dynamodb.Client {
	return dynamodb.NewFromConfig(s.aws, func(o *dynamodb.Options) {
		o.HTTPClient = awshttp.NewBuildableClient().WithTimeout(databaseAttempt)
		if s.dynamoDBURL != "" {
			o.BaseEndpoint = &s.dynamoDBURL
		}
	})
}

// sealer seals requestState with the keys in a file.
func (s *settings) sealer() *seal.Sealer { return seal.New(seal.File(s.sealKeysFile), seal.Options{}) }

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
