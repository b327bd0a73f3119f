// Package gatewayresponse says what clients read where API Gateway answers a request itself, without the dispatcher:
// when it is throttled, too large, denied, or the integration fails.
//
// One table makes the deployed API's gateway responses and what the local gateway answers. Each body is a JSON-RPC
// error without an id, since nobody has read the message, and tells what to do next; above all whether the call may
// have run. None of them repeats what API Gateway or the function says of the failure: that is for the logs, where the
// request id finds it.
package gatewayresponse

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"

	"patchbay/shared/jsonrpc"
)

// The types of API Gateway that others name in their code.
// Source: API Gateway developer guide, "Gateway response types for API Gateway".
const (
	AccessDenied               = "ACCESS_DENIED"
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
}

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
	later("AUTHORIZER_FAILURE", http.StatusServiceUnavailable, 5, notRun+noAuthorizer),
	later("AUTHORIZER_CONFIGURATION_ERROR", http.StatusServiceUnavailable, 5, notRun+noAuthorizer),
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
func All() []Response { return append([]Response(nil), responses...) }

// Of returns the response of a type, and that of Default5XX for a type that API Gateway does not know.
func Of(kind string) Response {
	for _, r := range responses {
		if r.Type == kind {
			return r
		}
	}
	return Of(Default5XX)
}

// requestID is the variable that API Gateway replaces in a template. It is always a UUID: what a client sets instead is
// replaced if it is none. Source: API Gateway developer guide, "Set up CloudWatch logging for REST APIs".
const requestID = "$context.requestId"

// Template is the body as a mapping template of API Gateway. Its only variable is the request's id, the same that the
// x-amzn-RequestId field, the access log and the dispatcher's log carry.
func (r Response) Template() string {
	return string(jsonrpc.AppendError(nil, jsonrpc.ID{}, &jsonrpc.Error{
		Code: r.Code, Message: r.Message + " (request id " + requestID + ")", Data: data{RequestID: requestID},
	}))
}

type data struct {
	RequestID string `json:"requestId"`
}

// Body is the body as a client reads it.
func (r Response) Body(id string) string {
	quoted, err := json.Marshal(id)
	if err != nil {
		panic("gatewayresponse: encoding a string: " + err.Error())
	}
	return strings.ReplaceAll(r.Template(), requestID, strings.Trim(string(quoted), `"`))
}

// Header are the fields that a response has beside those that API Gateway always sends.
func (r Response) Header() map[string]string {
	header := map[string]string{"Content-Type": "application/json", "Cache-Control": "no-store"}
	if r.RetryAfter > 0 {
		header["Retry-After"] = strconv.Itoa(r.RetryAfter)
	}
	return header
}
