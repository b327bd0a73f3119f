package patchbaycdk

import (
	"maps"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsapigateway"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsiam"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"
	"github.com/aws/constructs-go/constructs/v10"
	"github.com/aws/jsii-runtime-go"
)

// authorizerSeconds is how long a token may take to be checked. A warm instance takes milliseconds; a new one fetches
// an issuer's keys, for which it waits four seconds at most, and then looks into the catalogue, for two. How long API
// Gateway waits for an authorizer is not documented, so the function ends first, and by its own time-out: what it is
// then is a failure that alarms, and an answer that says to try again.
const authorizerSeconds = 10

// newAuthorizer creates the function that checks access tokens; nil on an anonymous server. It may read the catalogue
// and nothing else: issuers' keys are public. It has the dispatcher's memory, since what a new instance mostly does is
// TLS, whose price is the same at more memory and less time. No concurrency is reserved for it: that would be a bound
// as well, at which calls fail that the gateway's throttle has let through.
func (d *deployment) newAuthorizer(scope constructs.Construct, t tableSet, g *guard) awslambda.Function {
	if g == nil {
		return nil
	}
	prefix := d.stage.Prefix()
	environment := map[string]string{
		"PATCHBAY_TABLE":      registryTable(prefix),
		"PATCHBAY_DEPLOYMENT": prefix,
		"PATCHBAY_METRICS":    metricNamespace,
	}
	maps.Copy(environment, g.variables())
	d.redirect(environment, "DYNAMODB")
	return d.newFunction(scope, "Authorizer", functionProps{
		name: authorizerName(prefix), description: "Checks the access tokens of callers of " + prefix,
		runtime: awslambda.Runtime_PROVIDED_AL2023(), handler: "bootstrap", dir: d.packages.Program(authorizerPackage),
		memoryMB: controlMemoryMB, timeout: authorizerSeconds, environment: environment, keepLog: true,
		statements: []awsiam.PolicyStatement{
			allow("Catalogue", []string{"dynamodb:GetItem", "dynamodb:Query"}, *t.registry.TableArn()),
		},
	})
}

// newRequestAuthorizer has API Gateway ask the function about every request. A kept decision would be about the tool of
// another call, so none is kept; and without an identity source the function is asked about requests without a token,
// too. The permission to invoke is for this authorizer alone.
func newRequestAuthorizer(
	scope constructs.Construct, prefix string, function awslambda.IFunction,
) awsapigateway.IAuthorizer {
	made := awsapigateway.NewRequestAuthorizer(scope, jsii.String("Authorizer"), &awsapigateway.RequestAuthorizerProps{
		AuthorizerName:  jsii.String(prefix),
		Handler:         function,
		IdentitySources: &[]*string{},
		ResultsCacheTtl: awscdk.Duration_Seconds(jsii.Number(0)),
	})
	// The construct writes an empty text, which is a source without a name.
	made.Node().DefaultChild().(awsapigateway.CfnAuthorizer).AddPropertyDeletionOverride(jsii.String("IdentitySource"))
	return made
}
