package localgateway

import (
	"io"
	"net/http"

	"patchbay/shared/gatewayresponse"
)

// refusal is a response that the gateway gives itself.
type refusal struct {
	status int
	// kind is the value of x-amzn-ErrorType; empty for what is refused before there is a request.
	kind string
	// response is the type of the gateway response, which the deployed API customizes as this gateway does.
	response string
	// text is the body of what cannot be customized.
	text string
}

// What the gateway answers itself. Kinds are those of AWS; which type of gateway response stands for what is documented
// for the time-out, the rate, the route and the token, and a guess for the rest, which is why all of those that a
// failing function could be say the same. The sources of the less known: both 413s are recorded in
// github.com/koki-develop/lgtm-generator, issue 10 (2021), and the API Gateway developer guide, "Amazon API Gateway
// important notes", says that the first cannot be customized; AWS documents the limit on header fields but not the
// status (431 is unverified, and so is the 408 for a body that does not come). An invocation that Lambda refuses,
// throttled ones too, is a failed integration (repost.aws/questions/QUfI6bsdd0SOiPeyimzxSkfQ), and a bad prelude is
// what a malformed response is to a buffered one; a 500 and a 502 where they are not customized.
var (
	// AWS says 403 Missing Authentication Token for a route that does not exist; the deployed API maps it to 404.
	unknownRoute      = answered("MissingAuthenticationTokenException", gatewayresponse.MissingAuthenticationToken)
	unauthorized      = answered("UnauthorizedException", gatewayresponse.Unauthorized)
	accessDenied      = answered("AccessDeniedException", gatewayresponse.AccessDenied)
	throttled         = answered("TooManyRequestsException", gatewayresponse.Throttled)
	eventTooLong      = answered("BadRequestException", gatewayresponse.RequestTooLarge)
	integrationFailed = answered("InternalServerErrorException", gatewayresponse.IntegrationFailure)
	badAnswer         = answered("InternalServerErrorException", gatewayresponse.ConfigurationError)
	timedOut          = answered("InternalServerErrorException", gatewayresponse.IntegrationTimeout)

	authorizerFailed        = answered("AuthorizerFailureException", gatewayresponse.AuthorizerFailure)
	authorizerMisconfigured = answered("AuthorizerConfigurationException", gatewayresponse.AuthorizerConfiguration)

	// A type of its own would set the status; the default one leaves it.
	badRequest    = refusal{status: 400, kind: "BadRequestException", response: gatewayresponse.Default4XX}
	headerTooLong = refusal{status: 431, text: "HTTP header is larger than 10240 bytes."}
	bodyTooLong   = refusal{status: 413, text: "HTTP content length exceeded 10485760 bytes."}
	bodyTooSlow   = refusal{status: 408, text: "Request Timeout"}
)

// statuses are the same for every API.
var statuses = gatewayresponse.For(gatewayresponse.Options{})

func answered(kind, response string) refusal {
	return refusal{status: statuses.Of(response).Status, kind: kind, response: response}
}

// refuse answers with a gateway response. What it says of the request and of the caller is what the event has of them.
func (e *exchange) refuse(with refusal) {
	header := e.writer.Header()
	body := with.text
	if with.response == "" {
		header.Set("Content-Type", "text; charset=utf-8")
	} else {
		body = e.respond(header, e.responses[with.response])
		header.Set("X-Amzn-Errortype", with.kind)
		e.stamp(header)
	}
	e.log.Info("gateway response", "requestId", e.id, "method", e.request.Method, "path", e.request.URL.Path,
		"status", with.status, "responseType", with.response, "body", body)
	if counted, ok := e.writer.(*countingWriter); ok {
		counted.responseType = with.response
	}
	e.writer.WriteHeader(with.status)
	_, _ = io.WriteString(e.writer, body) // a client that has left is nobody to tell
}

// respond sets the header of a gateway response and returns its body.
func (e *exchange) respond(header http.Header, response response) string {
	known := e.event.RequestContext.decoded()
	for name, expression := range response.header {
		if value, has := expression.value(e.event.MultiValueHeaders, known); has {
			header.Set(name, value)
		}
	}
	caller := map[string]string{}
	for name := range e.event.RequestContext.Authorizer {
		caller[name], _ = contextText(known, []string{"authorizer", name})
	}
	return response.Body(e.id, caller)
}

// stamp adds the fields by which a response is found in AWS's logs.
func (e *exchange) stamp(header http.Header) {
	header.Set("X-Amzn-Requestid", e.id)
	header.Set("X-Amz-Apigw-Id", extendedID(e.id))
	header.Set("X-Amzn-Trace-Id", e.trace)
}
