package patchbaycdk

import (
	"strconv"

	"github.com/aws/aws-cdk-go/awscdk/v2/awsapigateway"
	"github.com/aws/jsii-runtime-go"

	"patchbay/shared/gatewayresponse"
)

// addGatewayResponses customizes every response that API Gateway gives itself. They become part of what a deployment of
// the API is known by, so that a change of one deploys the API anew.
func addGatewayResponses(rest awsapigateway.RestApi, options gatewayresponse.Options) {
	for _, response := range gatewayresponse.For(options).All() {
		header := map[string]*string{}
		for name, expression := range response.Header() {
			header[name] = jsii.String(expression)
		}
		rest.AddGatewayResponse(jsii.String(response.Type), &awsapigateway.GatewayResponseOptions{
			Type:            awsapigateway.ResponseType_Of(jsii.String(response.Type)),
			StatusCode:      statusCode(response.Status),
			ResponseHeaders: &header,
			Templates:       &map[string]*string{"application/json": jsii.String(response.Template())},
		})
	}
}

// statusCode leaves the status of a default response alone: set, it would become that of every other type.
func statusCode(status int) *string {
	if status == 0 {
		return nil
	}
	return jsii.String(strconv.Itoa(status))
}
