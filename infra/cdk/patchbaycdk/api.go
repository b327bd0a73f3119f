package patchbaycdk

import (
	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsapigateway"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslogs"
	"github.com/aws/constructs-go/constructs/v10"
	"github.com/aws/jsii-runtime-go"

	"patchbay/infra/cdk/settings"
)

// endpointPath is where the MCP endpoint is, below the stage or at the root of a domain.
const endpointPath = "mcp"

// maxTimeoutSeconds is the longest time-out of a streaming integration.
// Source: API Gateway developer guide, "Stream the integration response for your proxy integrations".
const maxTimeoutSeconds = 900

// apiProps is what the API front is made of.
type apiProps struct {
	stage *settings.Stage
	// dispatcher answers all requests.
	dispatcher awslambda.IFunction
	// timeoutSeconds is how long a whole answer may take: the longest call with what comes before and after it.
	timeoutSeconds int
}

// api is the deployed REST API.
type api struct {
	rest awsapigateway.RestApi
	// accessLog is where API Gateway writes a line for each request.
	accessLog awslogs.LogGroup
	// url is that of the MCP endpoint.
	url *string
	// domain is nil without a domain of one's own.
	domain awsapigateway.DomainName
}

// newAPI puts a regional REST API in front of the dispatcher. It has one resource with one method, ANY, so that the
// dispatcher itself answers what the protocol does not allow; every other address is API Gateway's to refuse.
func newAPI(scope constructs.Construct, props apiProps) *api {
	front := constructs.NewConstruct(scope, jsii.String("Api"))
	a := &api{accessLog: awslogs.NewLogGroup(front, jsii.String("AccessLog"), &awslogs.LogGroupProps{
		LogGroupName:  jsii.String(accessLogGroup(props.stage.Prefix())),
		Retention:     retention(props.stage),
		RemovalPolicy: removal(props.stage),
	})}
	a.rest = newRestAPI(front, props, a.accessLog)
	method := a.rest.Root().AddResource(jsii.String(endpointPath), nil).
		AddMethod(jsii.String("ANY"), integration(props), &awsapigateway.MethodOptions{
			AuthorizationType: awsapigateway.AuthorizationType_NONE,
		})
	addGatewayResponses(a.rest)
	a.url = a.rest.UrlForPath(jsii.String("/" + endpointPath))
	if domain := props.stage.Domain; domain != nil {
		a.domain = addDomain(front, a.rest, domain)
		a.url = jsii.String("https://" + domain.Name + "/" + endpointPath)
	}
	a.explain(method)
	return a
}

// accessLogGroup is the log group of the API's access log.
func accessLogGroup(prefix string) string { return "/aws/apigateway/" + prefix }

func newRestAPI(scope constructs.Construct, props apiProps, log awslogs.LogGroup) awsapigateway.RestApi {
	stage := props.stage
	rest := awsapigateway.NewRestApi(scope, jsii.String("Rest"), &awsapigateway.RestApiProps{
		RestApiName: jsii.String(stage.Prefix()),
		Description: jsii.String("The MCP endpoint of " + stage.Prefix()),
		EndpointConfiguration: &awsapigateway.EndpointConfiguration{
			Types: &[]awsapigateway.EndpointType{awsapigateway.EndpointType_REGIONAL},
		},
		// Whoever named a domain wants the rules of that domain to hold for everybody.
		DisableExecuteApiEndpoint: jsii.Bool(stage.Domain != nil),
		// An account has one such role in a region, which all of its REST APIs write their logs by. The one that is made
		// here outlives the stack, as its setting does.
		CloudWatchRole: jsii.Bool(stage.GatewayLogRole),
		// Without a binary media type and a least size for compression bodies pass as they are; a streaming integration
		// knows neither.
		DeployOptions: &awsapigateway.StageOptions{
			StageName:            jsii.String(stage.Name),
			Description:          jsii.String("The deployment " + stage.Prefix()),
			TracingEnabled:       jsii.Bool(true),
			ThrottlingRateLimit:  jsii.Number(stage.Throttle.RatePerSecond),
			ThrottlingBurstLimit: jsii.Number(stage.Throttle.Burst),
			AccessLogDestination: awsapigateway.NewLogGroupLogDestination(log),
			AccessLogFormat:      accessLogFormat(),
			// Execution logs would hold arguments, results and tokens.
			LoggingLevel:     awsapigateway.MethodLoggingLevel_OFF,
			DataTraceEnabled: jsii.Bool(false),
			// Metrics per method would be charged and say the same: there is one method.
			MetricsEnabled: jsii.Bool(false),
		},
	})
	// The construct's own output names the address that a domain disables.
	rest.Node().TryRemoveChild(jsii.String("Endpoint"))
	return rest
}

// integration invokes the dispatcher and streams its answer. The permission to invoke is for this stage's method alone,
// not for the console's test of it: that would call tools in the name of nobody.
func integration(props apiProps) awsapigateway.LambdaIntegration {
	return awsapigateway.NewLambdaIntegration(props.dispatcher, &awsapigateway.LambdaIntegrationOptions{
		Proxy:                   jsii.Bool(true),
		ResponseTransferMode:    awsapigateway.ResponseTransferMode_STREAM,
		Timeout:                 awscdk.Duration_Seconds(jsii.Number(min(props.timeoutSeconds, maxTimeoutSeconds))),
		ScopePermissionToMethod: jsii.Bool(true),
		AllowTestInvoke:         jsii.Bool(false),
	})
}

// explain tells cdk-nag what of the API is meant as it is.
func (a *api) explain(method awsapigateway.Method) {
	suppress(a.rest.Node().DefaultChild(), map[string]string{
		"AwsSolutions-APIG2": "The dispatcher checks every request strictly, against JSON-RPC, the protocol and the tool's " +
			"own schema, and answers with errors that a model can act on; a validator of API Gateway could do neither.",
	})
	suppress(a.rest.DeploymentStage(), map[string]string{
		"AwsSolutions-APIG3": "A web ACL is the account's to choose and is attached to the stage's ARN; the stage is " +
			"throttled without one.",
		"AwsSolutions-APIG6": "Execution logs would hold arguments, results and tokens. The access log and the " +
			"dispatcher's log have every request under one id.",
	})
	suppress(method, map[string]string{
		"AwsSolutions-APIG4": "The protocol lets a server answer without authorization; who may call which tool is decided " +
			"by the dispatcher, by the principal that an authorizer established or for anonymous callers.",
		"AwsSolutions-COG4": "Callers come with tokens of the deployment's own authorization server, which need not be a " +
			"user pool.",
	})
	if role := a.rest.Node().TryFindChild(jsii.String("CloudWatchRole")); role != nil {
		suppress(role, map[string]string{
			"AwsSolutions-IAM4": "The role by which API Gateway writes logs belongs to the whole account, whose other APIs " +
				"need what AWS's own policy for it gives.",
		})
	}
}
