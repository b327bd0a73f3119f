package patchbaycdk

import (
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-cdk-go/awscdk/v2/awsapigateway"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslogs"
	"github.com/aws/jsii-runtime-go"

	"patchbay/dispatcher/metrics"
	"patchbay/infra/cdk/settings"
	"patchbay/shared/gatewayresponse"
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

// authorizerFields are what a line has beside, where an authorizer is asked. What it said of an error is not among
// them: a quote in it would end the line's JSON. Its own log has it, under the requestId.
var authorizerFields = [][2]string{
	// What API Gateway made of the authorizer's answer, and what Lambda said of the invocation.
	{"authorizerStatus", "$context.authorizer.status"},
	{"authorizerLambdaStatus", "$context.authorizer.integrationStatus"},
	{"authorizerLambdaRequestId", "$context.authorizer.requestId"},
	{"authorizerLatency", "$context.authorizer.latency"},
}

// logDeployment is the field of a line that says whose it is, for metrics that are made of lines.
const logDeployment = "deployment"

// fieldsOf are the fields of a stage's access log.
func fieldsOf(stage *settings.Stage) [][2]string {
	if stage.Authorization == nil {
		return accessFields
	}
	return slices.Concat(accessFields, authorizerFields, [][2]string{{logDeployment, stage.Prefix()}})
}

// accessLogFormat is one JSON object a line, its values texts: a variable without a value becomes "-".
func accessLogFormat(stage *settings.Stage) awsapigateway.AccessLogFormat {
	var line strings.Builder
	for i, field := range fieldsOf(stage) {
		separator := ","
		if i == 0 {
			separator = "{"
		}
		line.WriteString(separator + `"` + field[0] + `":"` + field[1] + `"`)
	}
	line.WriteString("}")
	return awsapigateway.AccessLogFormat_Custom(jsii.String(line.String()))
}

// authorizerFailures is the metric of requests whose token could not be checked: the authorizer crashed, took too long,
// was throttled, or could not get an issuer's keys. Lambda's own count of its errors would not do, since a request
// without a valid token is an error there, too: it is how an authorizer has API Gateway answer 401.
const authorizerFailures = "AuthorizerFailures"

// countFailures makes a metric of the access log's lines, which see every way in which an authorizer can fail.
func (a *api) countFailures() {
	awslogs.NewCfnMetricFilter(a.scope, jsii.String("AuthorizerFailures"), &awslogs.CfnMetricFilterProps{
		LogGroupName: a.accessLog.LogGroupName(),
		FilterPattern: jsii.String(fmt.Sprintf("{ $.responseType = %q || $.responseType = %q }",
			gatewayresponse.AuthorizerFailure, gatewayresponse.AuthorizerConfiguration)),
		MetricTransformations: &[]any{&awslogs.CfnMetricFilter_MetricTransformationProperty{
			MetricNamespace: jsii.String(metricNamespace),
			MetricName:      jsii.String(authorizerFailures),
			MetricValue:     jsii.String("1"),
			Dimensions: &[]any{&awslogs.CfnMetricFilter_DimensionProperty{
				Key: jsii.String(metrics.DimensionDeployment), Value: jsii.String("$." + logDeployment),
			}},
		}},
	})
}
