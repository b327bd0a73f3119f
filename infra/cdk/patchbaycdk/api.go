package patchbaycdk

import (
	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsapigateway"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslogs"
	"github.com/aws/constructs-go/constructs/v10"
	"github.com/aws/jsii-runtime-go"

	"patchbay/infra/cdk/settings"
	"patchbay/shared/authorization"
)

// maxTimeoutSeconds is the longest time-out of a streaming integration.
// Source: API Gateway developer guide, "Stream the integration response for your proxy integrations".
const maxTimeoutSeconds = 900

// api is the deployed REST API.
type api struct {
	stage *settings.Stage
	// scope is its place in the tree.
	scope constructs.Construct
	rest  awsapigateway.RestApi
	// accessLog is where API Gateway writes a line for each request.
	accessLog awslogs.LogGroup
	// resource is the URL of the MCP endpoint as functions of the API may know it: by the API's id and the name of its
	// stage. They come before the deployment of the API, which knows them all.
	resource authorization.Resource
	// url is that of the MCP endpoint, from when it is served on.
	url *string
	// domain is nil without a domain of one's own.
	domain awsapigateway.DomainName
}

// localResource is the MCP endpoint of SAM on this machine, where nothing else is said.
const localResource = "http://127.0.0.1:3000" + authorization.EndpointPath

// newAPI creates a regional REST API that serves nothing yet; see serve.
func newAPI(scope constructs.Construct, stage *settings.Stage, local bool) *api {
	front := constructs.NewConstruct(scope, jsii.String("Api"))
	a := &api{stage: stage, scope: front, accessLog: awslogs.NewLogGroup(front, jsii.String("AccessLog"),
		&awslogs.LogGroupProps{
			LogGroupName:  jsii.String(accessLogGroup(stage.Prefix())),
			Retention:     retention(stage),
			RemovalPolicy: removal(stage),
		})}
	a.rest = newRestAPI(front, stage, a.accessLog)
	a.resource = resourceOf(a.rest, stage, local)
	return a
}

func resourceOf(rest awsapigateway.RestApi, stage *settings.Stage, local bool) authorization.Resource {
	if local {
		return localResource
	}
	if stage.Domain != nil {
		return authorization.Resource("https://" + stage.Domain.Name + authorization.EndpointPath)
	}
	at := awscdk.Stack_Of(rest)
	return authorization.Resource("https://" + *rest.RestApiId() + ".execute-api." + *at.Region() + "." + *at.UrlSuffix() +
		"/" + stage.Name + authorization.EndpointPath)
}

// serveProps is what an API serves.
type serveProps struct {
	// dispatcher answers all requests.
	dispatcher awslambda.IFunction
	// authorizer is asked before; nil on an anonymous server, as guard is.
	authorizer awslambda.IFunction
	guard      *guard
	// timeoutSeconds is how long a whole answer may take: the longest call with what comes before and after it.
	timeoutSeconds int
}

// serve puts the API in front of the dispatcher. The endpoint has one method, ANY, so that the dispatcher itself
// answers what the protocol does not allow; every other address but those where clients learn how to sign in is API
// Gateway's to refuse.
func (a *api) serve(props serveProps) {
	to := integration(props)
	endpoint := a.rest.Root().ResourceForPath(jsii.String(authorization.EndpointPath))
	a.explain()
	if props.guard == nil {
		explainAnonymous(open(endpoint, "ANY", to))
	} else {
		a.guard(endpoint, to, props)
	}
	addGatewayResponses(a.rest, props.guard.responses(a.stage))
	a.url = a.rest.UrlForPath(jsii.String(authorization.EndpointPath))
	if domain := a.stage.Domain; domain != nil {
		a.domain = addDomain(a.scope, a.rest, domain)
		a.url = jsii.String(string(a.resource))
	}
}

// guard has the authorizer asked about every request to the endpoint but those that a browser sends before its own,
// which never carry a token; and opens the addresses where clients learn how to get one.
func (a *api) guard(endpoint awsapigateway.IResource, to awsapigateway.Integration, props serveProps) {
	explainGuarded(endpoint.AddMethod(jsii.String("ANY"), to, &awsapigateway.MethodOptions{
		AuthorizationType: awsapigateway.AuthorizationType_CUSTOM,
		Authorizer:        newRequestAuthorizer(a.scope, a.stage.Prefix(), props.authorizer),
	}))
	preflight := open(endpoint, "OPTIONS", to)
	// SAM makes one route of all methods of a path that lead to the same function, with the authorizer of the last. One
	// that has a name of its own stays by itself.
	preflight.Node().DefaultChild().(awsapigateway.CfnMethod).SetOperationName(jsii.String("Preflight"))
	explainPublic(preflight)
	for _, path := range props.guard.config.PublicPaths() {
		explainPublic(open(a.rest.Root().ResourceForPath(jsii.String(path)), "ANY", to))
	}
	a.countFailures()
}

// open adds a method that anybody may use.
func open(at awsapigateway.IResource, method string, to awsapigateway.Integration) awsapigateway.Method {
	return at.AddMethod(jsii.String(method), to, &awsapigateway.MethodOptions{
		AuthorizationType: awsapigateway.AuthorizationType_NONE,
	})
}

// accessLogGroup is the log group of the API's access log.
func accessLogGroup(prefix string) string { return "/aws/apigateway/" + prefix }

func newRestAPI(
	scope constructs.Construct, stage *settings.Stage, log awslogs.LogGroup,
) awsapigateway.RestApi {
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
			AccessLogFormat:      accessLogFormat(stage),
			// Execution logs would hold arguments, results and tokens.
			LoggingLevel:     awsapigateway.MethodLoggingLevel_OFF,
			DataTraceEnabled: jsii.Bool(false),
			// Metrics per method would be charged and say the same: there is one method that calls come by.
			MetricsEnabled: jsii.Bool(false),
		},
	})
	// The construct's own output names the address that a domain disables.
	rest.Node().TryRemoveChild(jsii.String("Endpoint"))
	return rest
}

// integration invokes the dispatcher and streams its answer. The permission to invoke is for this stage's method alone,
// not for the console's test of it: that would call tools in the name of nobody.
func integration(props serveProps) awsapigateway.LambdaIntegration {
	return awsapigateway.NewLambdaIntegration(props.dispatcher, &awsapigateway.LambdaIntegrationOptions{
		Proxy:                   jsii.Bool(true),
		ResponseTransferMode:    awsapigateway.ResponseTransferMode_STREAM,
		Timeout:                 awscdk.Duration_Seconds(jsii.Number(min(props.timeoutSeconds, maxTimeoutSeconds))),
		ScopePermissionToMethod: jsii.Bool(true),
		AllowTestInvoke:         jsii.Bool(false),
	})
}

// explain tells cdk-nag what of the API is meant as it is.
func (a *api) explain() {
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
	if role := a.rest.Node().TryFindChild(jsii.String("CloudWatchRole")); role != nil {
		suppress(role, map[string]string{
			"AwsSolutions-IAM4": "The role by which API Gateway writes logs belongs to the whole account, whose other APIs " +
				"need what AWS's own policy for it gives.",
		})
	}
}

// notCognito is why no method has an authorizer of API Gateway's own kind for user pools.
const notCognito = "Callers come with tokens of the deployment's own authorization server, which need not be a user " +
	"pool, and API Gateway's own authorizer can neither tell a client which scopes a call lacks nor send a challenge."

func explainAnonymous(method awsapigateway.Method) {
	suppress(method, map[string]string{
		"AwsSolutions-APIG4": "The settings of the stage say that everybody may call who reaches the endpoint. Tools that " +
			"ask for permissions or a sign-in do not exist there.",
		"AwsSolutions-COG4": "The settings of the stage say that nobody signs in.",
	})
}

func explainGuarded(method awsapigateway.Method) {
	suppress(method, map[string]string{"AwsSolutions-COG4": notCognito})
}

func explainPublic(method awsapigateway.Method) {
	suppress(method, map[string]string{
		"AwsSolutions-APIG4": "Clients learn here how to get a token, which they do not have yet, or ask what a browser " +
			"asks before it sends one. The dispatcher answers with public documents and calls no tool.",
		"AwsSolutions-COG4": notCognito,
	})
}
