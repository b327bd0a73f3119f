package patchbaycdk

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awscloudwatch"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsiam"
	"github.com/aws/constructs-go/constructs/v10"
	"github.com/aws/jsii-runtime-go"

	"patchbay/infra/cdk/settings"
)

// outputProps is what people need who have deployed.
type outputProps struct {
	stage     *settings.Stage
	api       *api
	dashboard awscloudwatch.Dashboard
	operators *operators
}

// newOutputs writes the outputs of the stack. Their names stay as they are: scripts read them. A stack has one set of
// them, so two servers in one stack stop the synth.
func newOutputs(scope constructs.Construct, props outputProps) {
	prefix := props.stage.Prefix()
	output(scope, "Url", "The MCP endpoint", props.api.url)
	output(scope, "ClientConfig", "For an MCP client that reads mcpServers", clientConfig(prefix, *props.api.url))
	output(scope, "Callers", "Who may call", jsii.String(callers(props.stage)))
	discoveryOutputs(scope, props)
	output(scope, "SmokeCommand", "Run it first: it checks the deployment",
		jsii.String("go tool patchbay smoke "+*props.api.url))
	output(scope, "DashboardUrl", "What goes on", dashboardURL(scope, props.dashboard))
	output(scope, "ServiceTokenParameter", "Where stacks that publish tools find the registrar's service token",
		jsii.String(serviceToken(prefix)))
	output(scope, "PolicyArns", "Policies for people: a lever each; attach them to whom they fit",
		policyARNs(props.operators.policies))
	if domain := props.api.domain; domain != nil && props.stage.Domain.HostedZoneID == "" {
		output(scope, "DomainTarget", "Where the domain's DNS record points: a CNAME, or an alias in the zone after it",
			jsii.String(*domain.DomainNameAliasDomainName()+" "+*domain.DomainNameAliasHostedZoneId()))
	}
}

// callers says who may call.
func callers(stage *settings.Stage) string {
	if stage.Authorization == nil {
		return "WARNING: everybody who reaches the endpoint, as nobody in particular; tools that ask for permissions or a " +
			"sign-in are hidden"
	}
	var issuers []string
	for _, issuer := range stage.Authorization.Issuers {
		issuers = append(issuers, issuer.URL)
	}
	return "Whoever has an access token for this server from " + strings.Join(issuers, " or ")
}

// discoveryOutputs say where clients learn how to sign in; there are none on an anonymous server.
func discoveryOutputs(scope constructs.Construct, props outputProps) {
	if props.stage.Authorization == nil {
		return
	}
	output(scope, "ResourceMetadataUrl", "Where clients learn which authorization server to ask",
		jsii.String(props.api.resource.MetadataURL()))
	if props.stage.Domain == nil {
		output(scope, "Discovery", "How clients find it", jsii.String("By resource_metadata in the challenge alone. Clients "+
			"that look for /.well-known at the root of the host instead fail: without a domain of its own an API serves "+
			"nothing there; so do some of those that look for a front. Set \"domain\" in patchbay.json"))
	}
}

func output(scope constructs.Construct, name, description string, value *string) {
	awscdk.NewCfnOutput(scope, jsii.String(name), &awscdk.CfnOutputProps{
		Value: value, Description: jsii.String(description),
	}).OverrideLogicalId(jsii.String(name))
}

// clientConfig is the form that most clients read a server from.
func clientConfig(name, url string) *string {
	config, err := json.Marshal(map[string]any{
		"mcpServers": map[string]any{name: map[string]any{"type": "http", "url": url}},
	})
	if err != nil {
		panic("patchbaycdk: encoding a client configuration: " + err.Error())
	}
	return jsii.String(string(config))
}

func dashboardURL(scope constructs.Construct, dashboard awscloudwatch.Dashboard) *string {
	region := *awscdk.Stack_Of(scope).Region()
	return jsii.String("https://" + region + ".console.aws.amazon.com/cloudwatch/home?region=" + region +
		"#dashboards/dashboard/" + *dashboard.DashboardName())
}

func policyARNs(policies map[string]awsiam.ManagedPolicy) *string {
	var arns []string
	for _, lever := range slices.Sorted(maps.Keys(policies)) {
		arns = append(arns, *policies[lever].ManagedPolicyArn())
	}
	return jsii.String(strings.Join(arns, " "))
}
