package localgateway

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"patchbay/scripts/locallambda"
)

// authorizerTimeout is how long the gateway waits for the authorizer. AWS documents no number; the integration's
// time-out does not cover it.
const authorizerTimeout = 30 * time.Second

// maxAuthorizerOutput bounds what is read of an authorizer's answer. AWS documents no number: it is Lambda's own.
const maxAuthorizerOutput = 6 << 20

// authorizerEvent is the input of a REQUEST authorizer, version 1. It has the members of AWS's; unlike a proxy event's,
// those that are empty are objects. It has no body: an authorizer decides by header fields.
// Sources: API Gateway developer guide, "Input to an API Gateway Lambda authorizer"; github.com/aws/aws-lambda-go,
// events/testdata/apigw-custom-auth-request-type-request.json.
type authorizerEvent struct {
	Type                            string              `json:"type"`
	MethodARN                       string              `json:"methodArn"`
	Resource                        string              `json:"resource"`
	Path                            string              `json:"path"`
	HTTPMethod                      string              `json:"httpMethod"`
	Headers                         map[string]string   `json:"headers"`
	MultiValueHeaders               map[string][]string `json:"multiValueHeaders"`
	QueryStringParameters           map[string]string   `json:"queryStringParameters"`
	MultiValueQueryStringParameters map[string][]string `json:"multiValueQueryStringParameters"`
	PathParameters                  map[string]string   `json:"pathParameters"`
	StageVariables                  map[string]string   `json:"stageVariables"`
	RequestContext                  requestContext      `json:"requestContext"`
}

// forAuthorizer is what the authorizer reads of a request.
func (event proxyEvent) forAuthorizer() authorizerEvent {
	return authorizerEvent{
		Type: "REQUEST", MethodARN: event.methodARN(), Resource: event.Resource, Path: event.Path,
		HTTPMethod: event.HTTPMethod, Headers: event.Headers, MultiValueHeaders: event.MultiValueHeaders,
		QueryStringParameters:           orEmpty(event.QueryStringParameters),
		MultiValueQueryStringParameters: orEmpty(event.MultiValueQueryStringParameters),
		PathParameters:                  orEmpty(event.PathParameters),
		StageVariables:                  orEmpty(event.StageVariables),
		RequestContext:                  event.RequestContext,
	}
}

func orEmpty[V any](m map[string]V) map[string]V {
	if m == nil {
		return map[string]V{}
	}
	return m
}

// methodARN is the resource that a policy allows or denies.
func (event proxyEvent) methodARN() string {
	return "arn:aws:execute-api:" + locallambda.Region + ":" + accountID + ":" + apiID + "/" + stage + "/" +
		event.HTTPMethod + event.Path
}

// authorizer decides who may call; it returns what an authorizer's Lambda returns. The error is errUnauthorized for
// a request that has to sign in, or a *misconfigured; any other is a failure of the authorizer.
type authorizer interface {
	authorize(ctx context.Context, event authorizerEvent) (output []byte, err error)
}

// errUnauthorized means that the caller has to sign in.
var errUnauthorized = errors.New("the caller has to sign in")

// unauthorizedText is the one failure of a Lambda that API Gateway answers with a 401: its text has to be exactly this.
// Source: API Gateway developer guide, "Use API Gateway Lambda authorizers".
const unauthorizedText = "Unauthorized"

// misconfigured is an authorizer that could not be called, or whose output API Gateway does not understand. Which of
// the two types of gateway response AWS gives for which fault is not documented, which is why both say the same.
type misconfigured struct{ cause error }

func (m *misconfigured) Error() string { return m.cause.Error() }
func (m *misconfigured) Unwrap() error { return m.cause }

// lambdaAuthorizer is a Lambda that decides, called for every request: there are no identity sources, without which the
// gateway would answer itself, and no result is kept.
type lambdaAuthorizer struct {
	invoker     Invoker
	functionARN string
}

func (l lambdaAuthorizer) authorize(ctx context.Context, event authorizerEvent) ([]byte, error) {
	response, err := l.invoker.Invoke(ctx, l.functionARN, encode(event))
	if err != nil {
		var refusal *locallambda.Error
		if errors.As(err, &refusal) {
			return nil, &misconfigured{fmt.Errorf("invoking the authorizer: %w", err)}
		}
		return nil, fmt.Errorf("invoking the authorizer: %w", err)
	}
	defer response.Body.Close()
	defer context.AfterFunc(ctx, func() { response.Body.Close() })()
	output, err := io.ReadAll(io.LimitReader(response.Body, maxAuthorizerOutput))
	if err != nil {
		return nil, fmt.Errorf("reading the authorizer's output: %w", errors.Join(err, ctx.Err()))
	}
	if failure := response.ErrorPayload(); failure != nil {
		return nil, functionError(failure)
	}
	return output, nil
}

// functionError is the failure that a function reported.
func functionError(payload []byte) error {
	var failure struct {
		Message string `json:"errorMessage"`
	}
	if err := json.Unmarshal(payload, &failure); err != nil {
		return fmt.Errorf("decoding the authorizer's failure: %w", err)
	}
	if failure.Message == unauthorizedText {
		return errUnauthorized
	}
	return fmt.Errorf("the authorizer failed: %s", failure.Message)
}

// decision is what an authorizer's output says.
type decision struct {
	allowed bool
	// context is what gateway responses and the integration read of the caller.
	context map[string]any
}

// decide evaluates an authorizer's output for the ARN of a method.
// Source: API Gateway developer guide, "Output from an API Gateway Lambda authorizer".
func decide(output []byte, methodARN string) (decision, error) {
	given, err := members(output, "principalId", "policyDocument", "context", "usageIdentifierKey")
	if err != nil {
		return decision{}, fmt.Errorf("output: %w", err)
	}
	var principalID string
	if err := json.Unmarshal(given["principalId"], &principalID); err != nil || principalID == "" {
		return decision{}, errors.New("principalId is no text, or an empty one")
	}
	p, err := parsePolicy(given["policyDocument"])
	if err != nil {
		return decision{}, fmt.Errorf("policyDocument: %w", err)
	}
	facts, err := parseContext(given["context"])
	if err != nil {
		return decision{}, fmt.Errorf("context: %w", err)
	}
	facts["principalId"] = principalID
	return decision{p.allows(methodARN), facts}, nil
}

// parseContext reads texts, numbers and booleans, all of which become texts; anything else breaks the request.
func parseContext(raw json.RawMessage) (map[string]any, error) {
	facts := map[string]any{}
	if raw == nil {
		return facts, nil
	}
	decoder := json.NewDecoder(strings.NewReader(string(raw)))
	decoder.UseNumber()
	var given map[string]any
	if err := decoder.Decode(&given); err != nil {
		return nil, err
	}
	for name, value := range given {
		switch value := value.(type) {
		case string, json.Number, bool:
			facts[name] = fmt.Sprint(value)
		default:
			return nil, fmt.Errorf("%s is neither a text nor a number nor a boolean", name)
		}
	}
	return facts, nil
}

// admit asks the authorizer, and adds what it says of the caller to the event. When the request ends here, it answers
// and returns false.
func (g *gateway) admit(e *exchange) bool {
	ctx, cancel := context.WithTimeout(e.request.Context(), g.AuthorizerTimeout)
	defer cancel()
	begun := time.Now()
	output, err := g.authorizer.authorize(e.traced(ctx), e.event.forAuthorizer())
	if err != nil {
		e.refuseCaller(err)
		return false
	}
	decided, err := decide(output, e.event.methodARN())
	if err != nil {
		e.refuseCaller(&misconfigured{fmt.Errorf("the authorizer's output: %w", err)})
		return false
	}
	decided.context["integrationLatency"] = time.Since(begun).Milliseconds()
	e.event.RequestContext.Authorizer = decided.context
	if !decided.allowed {
		e.refuse(accessDenied)
	}
	return decided.allowed
}

// refuseCaller answers for an authorizer that decided nothing.
func (e *exchange) refuseCaller(err error) {
	var wrong *misconfigured
	switch {
	case errors.Is(err, errUnauthorized):
		e.refuse(unauthorized)
	case e.request.Context().Err() != nil: // the client has left
	case errors.As(err, &wrong):
		e.log.Error("authorizer misconfigured", "requestId", e.id, "error", err)
		e.refuse(authorizerMisconfigured)
	default:
		e.log.Error("authorizer failed", "requestId", e.id, "error", err)
		e.refuse(authorizerFailed)
	}
}
