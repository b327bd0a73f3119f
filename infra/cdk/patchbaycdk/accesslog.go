package patchbaycdk

import (
	"strings"

	"github.com/aws/aws-cdk-go/awscdk/v2/awsapigateway"
	"github.com/aws/jsii-runtime-go"
)

// accessFields is a line of the access log, in order. There is nothing in it that a caller wrote but the method, which
// can only be a token: no header field, no query, no path beyond the route, no body, and no message of the
// integration, which may repeat what a function said. requestId is the one that the answer's x-amzn-RequestId and the
// dispatcher's log carry. A client may choose it, in the form of a UUID; extendedRequestId is always API Gateway's own.
// Source: API Gateway developer guide, "Variables for access logging for API Gateway".
var accessFields = [][2]string{
	{"requestId", "$context.requestId"},
	{"extendedRequestId", "$context.extendedRequestId"},
	{"traceId", "$context.xrayTraceId"},
	{"requestTime", "$context.requestTime"},
	{"ip", "$context.identity.sourceIp"},
	{"httpMethod", "$context.httpMethod"},
	{"path", "$context.resourcePath"},
	{"protocol", "$context.protocol"},
	{"status", "$context.status"},
	// The type of the gateway response, where API Gateway answered itself.
	{"responseType", "$context.error.responseType"},
	{"responseLength", "$context.responseLength"},
	{"responseLatency", "$context.responseLatency"},
	// What Lambda said of the invocation: 429 for a throttled dispatcher.
	{"lambdaStatus", "$context.integrationStatus"},
	// The dispatcher's invocation, by which Lambda's own lines of its log are found.
	{"lambdaRequestId", "$context.integration.requestId"},
	{"integrationLatency", "$context.integration.latency"},
	{"responseTransferMode", "$context.integration.responseTransferMode"},
	{"timeToAllHeaders", "$context.integration.timeToAllHeaders"},
	{"timeToFirstContent", "$context.integration.timeToFirstContent"},
}

// accessLogFormat is one JSON object a line, its values texts: a variable without a value becomes "-".
func accessLogFormat() awsapigateway.AccessLogFormat {
	var line strings.Builder
	for i, field := range accessFields {
		separator := ","
		if i == 0 {
			separator = "{"
		}
		line.WriteString(separator + `"` + field[0] + `":"` + field[1] + `"`)
	}
	line.WriteString("}")
	return awsapigateway.AccessLogFormat_Custom(jsii.String(line.String()))
}
