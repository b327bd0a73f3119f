package main

import (
	"errors"
	"io"
	"log/slog"
	"net/url"
	"path/filepath"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager"

	"patchbay/dispatcher/environment"
	"patchbay/dispatcher/metrics"
	"patchbay/dispatcher/ratelimit"
	"patchbay/shared/authorization"
	"patchbay/shared/mcp"
	"patchbay/shared/registry"
	"patchbay/shared/seal"
)

// attemptTime bounds one attempt of a request to DynamoDB or Secrets Manager, which answer in milliseconds.
const attemptTime = 3 * time.Second

// settings is the dispatcher's environment, read and checked once.
type settings struct {
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
	catalogueMaxAge time.Duration
	answerWithin    time.Duration
	buffered        bool
	limit           ratelimit.Limit
	// One of the two says where the keys are that seal requestState.
	sealKeysFile, sealKeysSecret string
	// authorizationFile says whose tokens are taken, and resource what this server is called in them; both are empty on
	// a server without sign-in.
	authorizationFile string
	resource          authorization.Resource
	// metrics is the namespace of what is counted; empty for counting nothing. deployment is the name of this one.
	metrics, deployment string
}

func readSettings(getenv func(string) string) (*settings, error) {
	env := environment.New(getenv)
	s := &settings{
		aws:             env.AWS(),
		lambdaURL:       getenv("AWS_ENDPOINT_URL_LAMBDA"),
		dynamoDBURL:     getenv("AWS_ENDPOINT_URL_DYNAMODB"),
		secretsURL:      getenv("AWS_ENDPOINT_URL_SECRETS_MANAGER"),
		serverFile:      filepath.Join(getenv("LAMBDA_TASK_ROOT"), "server.json"),
		table:           env.Required("PATCHBAY_TABLE"),
		ledgerTable:     env.Required("PATCHBAY_LEDGER_TABLE"),
		origins:         origins(env, "PATCHBAY_ORIGINS"),
		loopbackOrigins: env.Boolean("PATCHBAY_LOOPBACK_ORIGINS"),
		cacheTTL:        env.Milliseconds("PATCHBAY_CACHE_TTL_MS", 5*time.Minute),
		cacheScope:      cacheScope(env, "PATCHBAY_CACHE_SCOPE"),
		page: registry.PageLimits{
			MaxTools: env.Count("PATCHBAY_PAGE_TOOLS"),
			MaxBytes: env.Count("PATCHBAY_PAGE_BYTES"),
		},
		catalogueMaxAge: catalogueMaxAge(env, "PATCHBAY_CATALOGUE_MAX_AGE_MS"),
		answerWithin:    env.Milliseconds("PATCHBAY_ANSWER_WITHIN_MS", 0),
		limit: ratelimit.Limit{
			Calls: env.Count("PATCHBAY_LIMIT_CALLS"), Window: env.Milliseconds("PATCHBAY_LIMIT_WINDOW_MS", time.Minute),
		},
		sealKeysFile:      getenv("PATCHBAY_SEAL_KEYS_FILE"),
		sealKeysSecret:    getenv("PATCHBAY_SEAL_KEYS_SECRET"),
		authorizationFile: env.File("PATCHBAY_AUTHORIZATION_FILE"),
		resource:          resource(env, "PATCHBAY_RESOURCE"),
		metrics:           namespace(env, "PATCHBAY_METRICS"),
		deployment:        getenv("PATCHBAY_DEPLOYMENT"),
		// SAM's local API cannot read a streamed answer.
		buffered: env.Boolean("PATCHBAY_BUFFERED") || env.Boolean("AWS_SAM_LOCAL"),
	}
	if s.metrics != "" && s.deployment == "" {
		env.Fault("PATCHBAY_DEPLOYMENT", "", "set where PATCHBAY_METRICS is")
	}
	if err := env.Err(); err != nil {
		return nil, err
	}
	if (s.authorizationFile == "") != (s.resource == "") {
		return nil, errors.New("of the environment variables PATCHBAY_AUTHORIZATION_FILE and PATCHBAY_RESOURCE one is set " +
			"alone; a server that callers sign in to has both, any other neither")
	}
	if (s.sealKeysFile == "") == (s.sealKeysSecret == "") {
		return nil, errors.New("of the environment variables PATCHBAY_SEAL_KEYS_FILE and PATCHBAY_SEAL_KEYS_SECRET " +
			"exactly one must be set; it says where the keys are that seal requestState")
	}
	return s, nil
}

// signIn reports whether callers sign in.
func (s *settings) signIn() bool { return s.authorizationFile != "" }

// authorization reads whose tokens are taken; nil where nobody signs in.
func (s *settings) authorization() (*authorization.Config, error) {
	if !s.signIn() {
		return nil, nil
	}
	return authorization.ReadFile(s.authorizationFile)
}

// cacheScope reads who may share lists. Where callers sign in, what one sees need not be what another does, so nothing
// is shared unless the deployment says so.
func cacheScope(env *environment.Reader, name string) string {
	if env.Optional("PATCHBAY_AUTHORIZATION_FILE") != "" {
		return env.OneOf(name, mcp.CachePrivate, mcp.CachePublic)
	}
	return env.OneOf(name, mcp.CachePublic, mcp.CachePrivate)
}

// The bounds of how old an instance's view of the catalogue may be. Operators go by the upper one: within it a disabled
// tool is gone everywhere. Below the lower one the view would be too old by the time it has been read.
const (
	leastCatalogueAge = 100 * time.Millisecond
	mostCatalogueAge  = 10 * time.Second
)

// catalogueMaxAge reads how old an instance's view of the catalogue may be.
func catalogueMaxAge(env *environment.Reader, name string) time.Duration {
	age := env.Milliseconds(name, mostCatalogueAge)
	if age < leastCatalogueAge || age > mostCatalogueAge {
		env.Fault(name, env.Optional(name), "100 to 10000 milliseconds")
	}
	return age
}

// resource reads the server's canonical URI; empty where none is set.
func resource(env *environment.Reader, name string) authorization.Resource {
	value := env.Optional(name)
	if value == "" {
		return ""
	}
	parsed, err := authorization.ParseResource(value)
	if err != nil {
		env.Fault(name, value, "the URL of the MCP endpoint such as https://mcp.example.com/mcp")
	}
	return parsed
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

// lambda returns the configuration for the Lambda client.
func (s *settings) lambda() aws.Config {
	config := s.aws
	if s.lambdaURL != "" {
		config.BaseEndpoint = &s.lambdaURL
	}
	return config
}

// origins reads origins that are separated by white space. An origin is compared as a whole with what a browser sends,
// so one that no browser sends would never match, and is a mistake. Source: RFC 6454, section 6.2.
func origins(env *environment.Reader, name string) []string {
	given := strings.Fields(env.Optional(name))
	for _, origin := range given {
		if !isOrigin(origin) {
			env.Fault(name, origin, "origins such as https://app.example.com, in lower case, with a port only where it is "+
				"not the scheme's own, separated by spaces")
		}
	}
	return given
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
func namespace(env *environment.Reader, name string) string {
	value := env.Optional(name)
	if value != "" && metrics.CheckNamespace(value) != nil {
		env.Fault(name, value, "a namespace of metrics such as Patchbay: letters, digits and . - _ / # : and space, at most "+
			"255, and none of AWS's own")
	}
	return value
}
