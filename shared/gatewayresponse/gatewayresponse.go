// Package gatewayresponse says what clients read where API Gateway answers a request itself, without the dispatcher:
// when it is throttled, too large, denied, or the integration fails.
//
// One table makes the deployed API's gateway responses and what the local gateway answers. Each body is a JSON-RPC
// error without an id, since nobody has read the message, and tells what to do next; above all whether the call may
// have run. None of them repeats what API Gateway or the function says of the failure: that is for the logs, where the
// request id finds it.
//
// These responses are also the only way for a WWW-Authenticate field to reach a client under its name: API Gateway
// renames the one that a Lambda sends. Source: API Gateway developer guide, "Amazon API Gateway important notes".
package gatewayresponse

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"strconv"
	"strings"

	"patchbay/shared/jsonrpc"
)

// The types of API Gateway that others name in their code.
// Source: API Gateway developer guide, "Gateway response types for API Gateway".
const (
	AccessDenied               = "ACCESS_DENIED"
	AuthorizerConfiguration    = "AUTHORIZER_CONFIGURATION_ERROR"
	AuthorizerFailure          = "AUTHORIZER_FAILURE"
	ConfigurationError         = "API_CONFIGURATION_ERROR"
	Default4XX                 = "DEFAULT_4XX"
	Default5XX                 = "DEFAULT_5XX"
	IntegrationFailure         = "INTEGRATION_FAILURE"
	IntegrationTimeout         = "INTEGRATION_TIMEOUT"
	MissingAuthenticationToken = "MISSING_AUTHENTICATION_TOKEN"
	RequestTooLarge            = "REQUEST_TOO_LARGE"
	Throttled                  = "THROTTLED"
	Unauthorized               = "UNAUTHORIZED"
)

// Response is what a client reads for one type of gateway response.
type Response struct {
	// Type is API Gateway's name of it.
	Type string
	// Status is the HTTP status; 0 leaves the one that the failure has. The two defaults must leave it: a status set on
	// them becomes that of every other type.
	Status int
	// Code is InvalidRequest where the request has to be another one, InternalError where the same may succeed later.
	Code int
	// Message tells what to do.
	Message string
	// RetryAfter is after how many seconds it is worth trying again; 0 says nothing. Only what has not run says it: HTTP
	// libraries send such a request again by themselves.
	RetryAfter int

	header map[string]string // expressions, of the options
	scoped bool              // the body names the scopes that the call needs
}

// Options are what the responses of one API depend on. The zero value is for an API without an authorizer.
type Options struct {
	// Challenge is the value of the WWW-Authenticate field of every 401. It is fixed: an authorizer that has the gateway
	// answer 401 cannot say anything else. Empty means the scheme alone.
	Challenge string
	// Denied is the value of the WWW-Authenticate field of the 403 for a call that was denied, where it is fixed, too;
	// empty for none.
	Denied string
	// Computed has that 403 carry the challenge that the authorizer computed for the call, from the key ContextChallenge
	// of its context, and name its scopes in the body, from the key ContextScope.
	Computed bool
	// CrossOrigin lets web pages of every origin read the responses, and in them the fields that a client needs. They
	// have nothing of a caller in them: tokens travel in a field that a browser never adds by itself.
	CrossOrigin bool
}

// The keys of an authorizer's context that a computed 403 reads.
const (
	// ContextChallenge is the whole value of WWW-Authenticate.
	ContextChallenge = "challenge"
	// ContextScope has the scopes that the call needs, as clients ask for them, separated by spaces.
	ContextScope = "scope"
)

// authorizerContext is how mapping expressions and templates name the authorizer's context.
const authorizerContext = "context.authorizer."

// Table has what clients read of every type.
type Table struct{ responses []Response }

// Check reports a challenge that a gateway response cannot carry, which a scope or an address can lead to.
func (o Options) Check() error {
	for _, challenge := range []string{o.Challenge, o.Denied} {
		for _, c := range challenge {
			if c == '\'' || c < ' ' || c > '~' {
				return fmt.Errorf("the challenge %q has %q, which API Gateway cannot send; allowed: printable ASCII without "+
					"single quotes", challenge, c)
			}
		}
	}
	return nil
}

// For returns the responses of an API. It panics when Check finds a fault.
func For(options Options) Table {
	if err := options.Check(); err != nil {
		panic("gatewayresponse: " + err.Error())
	}
	all := make([]Response, 0, len(responses))
	for _, r := range responses {
		r.header = options.header(r)
		if options.Computed && r.Type == AccessDenied {
			r.scoped, r.Message = true, challenged
		}
		all = append(all, r)
	}
	return Table{all}
}

// exposed are the fields that a web page may read beside those that every page may.
// Source: Fetch standard, "CORS-safelisted response-header name".
const exposed = "WWW-Authenticate, Retry-After, x-amzn-RequestId, x-amzn-ErrorType"

func (o Options) header(r Response) map[string]string {
	header := map[string]string{
		"Content-Type":  static("application/json"),
		"Cache-Control": static("no-store"),
	}
	if r.RetryAfter > 0 {
		header["Retry-After"] = static(strconv.Itoa(r.RetryAfter))
	}
	if challenge := o.challenge(r); challenge != "" {
		header["WWW-Authenticate"] = challenge
	}
	if o.CrossOrigin {
		header["Access-Control-Allow-Origin"] = static("*")
		header["Access-Control-Expose-Headers"] = static(exposed)
	}
	return header
}

// challenge is the expression of a response's WWW-Authenticate field; empty for none.
func (o Options) challenge(r Response) string {
	switch {
	case r.Status == http.StatusUnauthorized && o.Challenge == "":
		return static(scheme)
	case r.Status == http.StatusUnauthorized:
		return static(o.Challenge)
	case r.Type == AccessDenied && o.Computed:
		return authorizerContext + ContextChallenge
	case r.Type == AccessDenied && o.Denied != "":
		return static(o.Denied)
	}
	return ""
}

// scheme is the whole challenge of a gateway that says nothing else. Source: RFC 6750, section 3.
const scheme = "Bearer"

// static is the mapping expression of a fixed value.
// Source: API Gateway developer guide, "Parameter mapping source reference for REST APIs".
func static(value string) string { return "'" + value + "'" }

// Words that several messages share. A call that broke is safe to send again where its key is the same: then it runs
// once.
const (
	notRun = "Nothing has run. "
	mayRun = "The call may have run, and may still be running: send it again with the same idempotency key to get " +
		"its result, or look at what it changes before calling without one"
)

// responses has every type that API Gateway knows.
var responses = []Response{
	refusal("BAD_REQUEST_BODY", http.StatusBadRequest, badRequest),
	refusal("BAD_REQUEST_PARAMETERS", http.StatusBadRequest, badRequest),
	refusal(Unauthorized, http.StatusUnauthorized, "Sign in: send a valid bearer token in Authorization"),
	refusal("EXPIRED_TOKEN", http.StatusUnauthorized, "Sign in again: the token has expired"),
	refusal("INVALID_SIGNATURE", http.StatusForbidden, "Send a bearer token: signed AWS requests are not accepted here"),
	refusal("INVALID_API_KEY", http.StatusForbidden, "Send a bearer token: API keys are not accepted here"),
	refusal(AccessDenied, http.StatusForbidden, "Ask for access: this caller may not do this"),
	refusal("WAF_FILTERED", http.StatusForbidden, "A firewall rule refused the request: ask whoever runs this "+
		"server, with the request id"),
	// API Gateway means a path or method that the API does not have; its own text about a token sends people to look
	// for a wrong password. Not "method not found": a client takes that for an MCP endpoint without the method.
	refusal(MissingAuthenticationToken, http.StatusNotFound, notFound),
	refusal("RESOURCE_NOT_FOUND", http.StatusNotFound, notFound),
	// A body over 10 MB gets a text of API Gateway's own, which cannot be customized; this is for what else it counts
	// among these.
	refusal(RequestTooLarge, http.StatusRequestEntityTooLarge, "The request is too large: send smaller arguments. "+
		"A body may have 10 MB, all headers together 10 KB"),
	refusal("UNSUPPORTED_MEDIA_TYPE", http.StatusUnsupportedMediaType, "Content-Type must be application/json in UTF-8"),
	later(Throttled, http.StatusTooManyRequests, 1, notRun+"Too many requests at once: wait a second, then send it "+
		"again, more slowly"),
	later("QUOTA_EXCEEDED", http.StatusTooManyRequests, 3600, notRun+"The quota of requests is used up: send it again "+
		"when the quota begins anew"),
	later(AuthorizerFailure, http.StatusServiceUnavailable, 5, notRun+noAuthorizer),
	later(AuthorizerConfiguration, http.StatusServiceUnavailable, 5, notRun+noAuthorizer),
	later(ConfigurationError, http.StatusBadGateway, 0, "The server did not answer as it should. "+mayRun),
	// Also what a throttled dispatcher looks like from outside.
	later(IntegrationFailure, http.StatusBadGateway, 0, "The server could not answer. "+mayRun),
	later(IntegrationTimeout, http.StatusGatewayTimeout, 0, "The server took too long to answer. "+mayRun),
	refusal(Default4XX, 0, badRequest),
	later(Default5XX, 0, 0, "The server could not answer. "+mayRun),
}

const (
	badRequest = "The request is malformed: send one JSON-RPC message by POST, with the headers that MCP asks for"
	notFound   = "There is nothing at this address: the MCP endpoint takes POST at the URL that ends in /mcp"

	challenged = "The token does not allow this call: sign in again with what WWW-Authenticate names, or ask for access"

	noAuthorizer = "The token could not be checked: send the request again in a few seconds"
)

// refusal is for what another request would cure.
func refusal(kind string, status int, message string) Response {
	return Response{Type: kind, Status: status, Code: jsonrpc.CodeInvalidRequest, Message: message}
}

// later is for what the same request may not meet again.
func later(kind string, status, retryAfter int, message string) Response {
	return Response{
		Type: kind, Status: status, Code: jsonrpc.CodeInternalError, Message: message, RetryAfter: retryAfter,
	}
}

// All returns every gateway response that there is, the two defaults last.
func (t Table) All() []Response { return append([]Response(nil), t.responses...) }

// Of returns the response of a type, and that of Default5XX for a type that API Gateway does not know.
func (t Table) Of(kind string) Response {
	for _, r := range t.responses {
		if r.Type == kind {
			return r
		}
	}
	return t.Of(Default5XX)
}

// The variables that API Gateway replaces in a template, without encoding what it puts in. The request's id is always a
// UUID: what a client sets instead is replaced if it is none. Scopes have no quotes and no backslashes (RFC 6749,
// section 3.3), so a body stays JSON whatever they are, and also when the authorizer has named none.
// Source: API Gateway developer guide, "Set up CloudWatch logging for REST APIs".
const (
	requestID = "$context.requestId"
	scope     = "$" + authorizerContext + ContextScope
)

// Template is the body as a mapping template of API Gateway. It has the request's id, the same that the
// x-amzn-RequestId field, the access log and the dispatcher's log carry, and where the authorizer computes challenges,
// the scopes that the call needs.
func (r Response) Template() string {
	told := data{RequestID: requestID}
	if r.scoped {
		told.Scope = scope
	}
	return string(jsonrpc.AppendError(nil, jsonrpc.ID{}, &jsonrpc.Error{
		Code: r.Code, Message: r.Message + " (request id " + requestID + ")", Data: told,
	}))
}

type data struct {
	RequestID string `json:"requestId"`
	// Scope are scopes separated by spaces, as a client asks for them.
	Scope string `json:"scope,omitempty"`
}

// Body is the body as a client reads it: with the request's id and the authorizer's context in it, which is nil where
// no authorizer has given one.
func (r Response) Body(id string, authorizer map[string]string) string {
	quoted, err := json.Marshal(id)
	if err != nil {
		panic("gatewayresponse: encoding a string: " + err.Error())
	}
	values := strings.NewReplacer(requestID, strings.Trim(string(quoted), `"`), scope, authorizer[ContextScope])
	return values.Replace(r.Template())
}

// Header are the fields that a response has beside those that API Gateway always sends: for each name a mapping
// expression, which is a static value in single quotes, or names where API Gateway takes the value from. A field whose
// value is not there may be left out, or be empty: AWS does not say.
func (r Response) Header() map[string]string { return maps.Clone(r.header) }
