package localgateway

import (
	"io"
	"net/http"
)

// refusal is a response that the gateway gives itself.
type refusal struct {
	status int
	kind   string // the value of x-amzn-ErrorType; empty for what is refused before there is a request
	body   string
}

// The gateway responses. Messages and kinds are those of AWS. The sources of the less known ones: both 413s are
// recorded in github.com/koki-develop/lgtm-generator, issue 10 (2021); AWS documents the limit on header fields but not
// the status (431 is unverified, and so is the 408 for a body that does not come); an invocation that Lambda refuses,
// throttled ones too, is a 500 (repost.aws/questions/QUfI6bsdd0SOiPeyimzxSkfQ); a failure before the prelude is a 500
// in the API Gateway developer guide, "Set up a Lambda proxy integration with payload response streaming"; 502 for a
// bad prelude is the answer to a malformed response in a buffered integration, and unverified for a streamed one.
var (
	// AWS says 403 Missing Authentication Token for a route that does not exist; the deployed API maps it to this.
	unknownRoute      = refusal{404, "MissingAuthenticationTokenException", `{"message":"Not Found"}`}
	unauthorized      = refusal{401, "UnauthorizedException", `{"message":"Unauthorized"}`}
	headerTooLong     = refusal{431, "", "HTTP header is larger than 10240 bytes."}
	bodyTooLong       = refusal{413, "", "HTTP content length exceeded 10485760 bytes."}
	badRequest        = refusal{400, "BadRequestException", `{"message":"Bad Request"}`}
	bodyTooSlow       = refusal{408, "", "Request Timeout"}
	eventTooLong      = refusal{413, "BadRequestException", `{"message": "Request Too Long"}`}
	integrationFailed = refusal{500, "InternalServerErrorException", `{"message": "Internal server error"}`}
	badAnswer         = refusal{502, "InternalServerErrorException", `{"message": "Internal server error"}`}
	timedOut          = refusal{504, "InternalServerErrorException", `{"message": "Endpoint request timed out"}`}
)

func (e *exchange) refuse(with refusal) {
	e.log.Info("gateway response", "requestId", e.id, "method", e.request.Method, "path", e.request.URL.Path,
		"status", with.status, "body", with.body)
	header := e.writer.Header()
	header.Set("Content-Type", "text; charset=utf-8")
	if with.kind != "" {
		header.Set("Content-Type", "application/json")
		header.Set("X-Amzn-Errortype", with.kind)
		e.stamp(header)
	}
	e.writer.WriteHeader(with.status)
	_, _ = io.WriteString(e.writer, with.body) // a client that has left is nobody to tell
}

// stamp adds the fields by which a response is found in AWS's logs.
func (e *exchange) stamp(header http.Header) {
	header.Set("X-Amzn-Requestid", e.id)
	header.Set("X-Amz-Apigw-Id", extendedID(e.id))
	header.Set("X-Amzn-Trace-Id", e.trace)
}
