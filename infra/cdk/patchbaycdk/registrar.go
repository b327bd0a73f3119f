package patchbaycdk

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsiam"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"
	"github.com/aws/aws-cdk-go/awscdk/v2/awss3assets"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsssm"
	"github.com/aws/constructs-go/constructs/v10"
	"github.com/aws/jsii-runtime-go"

	"patchbay/dispatcher/registrar/order"
)

const (
	// registrarSeconds is how long a publish may take.
	registrarSeconds = 120
	// eventSeconds is how long an event may wait for the registrar; Lambda allows no less.
	eventSeconds = 60
	// answerSeconds is how long CloudFormation waits. Until then even an event that had to wait has been published or
	// never will be: a publish after CloudFormation gave up would undo its rollback. It is not much longer either: the
	// default is an hour, for which a failed deploy would stand still.
	answerSeconds = eventSeconds + registrarSeconds + 60
)

// newRegistrar creates the function that publishes catalogues, and exports it to other stacks. It writes the catalogue,
// reads what a publish consists of from the bucket that the CDK uploads to, asks for the time limits of functions, and
// deletes versions that no snapshot names any more; it cannot delete a function, whose ARN has no version.
func (d *deployment) newRegistrar(scope constructs.Construct, t tableSet) awslambda.Function {
	prefix := d.stage.Prefix()
	versions := d.functionARN(scope, toolVersions(prefix))
	function := d.newFunction(scope, "Registrar", functionProps{
		name: registrarName(prefix), description: "Publishes tools into the catalogue of " + prefix,
		runtime: awslambda.Runtime_PROVIDED_AL2023(), handler: "bootstrap", dir: d.packages.Program(registrarPackage),
		memoryMB: controlMemoryMB, timeout: registrarSeconds, keepLog: true,
		environment: map[string]string{
			"PATCHBAY_TABLE":            registryTable(prefix),
			"PATCHBAY_MAX_CALL_SECONDS": strconv.Itoa(d.maxCallSeconds()),
			"PATCHBAY_DEPLOYMENT":       prefix,
			// What the dispatcher's role allows beside the deployment's own: nothing else is published.
			"PATCHBAY_EXISTING": strings.Join(d.existing(), " "),
		},
		statements: []awsiam.PolicyStatement{
			allow("Catalogue", []string{
				"dynamodb:GetItem", "dynamodb:Query", "dynamodb:PutItem", "dynamodb:UpdateItem", "dynamodb:BatchWriteItem",
			}, *t.registry.TableArn()),
			allow("Asset", []string{"s3:GetObject"}, assetObjects(scope)),
			allow("Limits", []string{"lambda:GetFunctionConfiguration"},
				readableFunctions(d.functionARN(scope, toolPrefix(prefix)), d.existing())...),
			allow("OldVersions", []string{"lambda:DeleteFunction"}, versions),
		},
		wildcards: "The registrar reads and prunes versions of every tool, also of other stacks; catalogues are JSON files " +
			"under names that follow from their content.",
	})
	// A publish that failed has been reported; done again later it would undo what came after it.
	function.ConfigureAsyncInvoke(&awslambda.EventInvokeConfigOptions{
		RetryAttempts: jsii.Number(0), MaxEventAge: awscdk.Duration_Seconds(jsii.Number(eventSeconds)),
	})
	// People invoke it by this name alone, so that nothing they send can pass for CloudFormation's. It always is the
	// latest code: a version of its own would be one more thing to go out of date.
	awslambda.NewCfnAlias(scope, jsii.String("Orders"), &awslambda.CfnAliasProps{
		FunctionName: function.FunctionName(), FunctionVersion: jsii.String("$LATEST"), Name: jsii.String(order.Alias),
		Description: jsii.String("Takes orders of people: see the policy " + prefix + "-" + publishLever),
	})
	awsssm.NewStringParameter(scope, jsii.String("ServiceToken"), &awsssm.StringParameterProps{
		ParameterName: jsii.String(serviceToken(prefix)),
		StringValue:   function.FunctionArn(),
		Description:   jsii.String("ServiceToken of Custom::PatchbayTools, for stacks that publish tools to " + prefix),
	})
	return function
}

// readableFunctions are those whose time limits a publish compares with their contracts, by hand or by the registrar:
// the deployment's tools, by the beginning of their ARN, and existing functions. Whether Lambda asks for the right to
// read a version by the ARN with it or without is not documented, and a refusal would fail the deploy, so both are
// there.
func readableFunctions(tools string, existing []string) []string {
	arns := []string{tools + "*"}
	for _, arn := range existing {
		arns = append(arns, arn, unqualified(arn))
	}
	slices.Sort(arns)
	return slices.Compact(arns)
}

// unqualified is a function's ARN without its version or alias.
func unqualified(arn string) string { return arn[:strings.LastIndexByte(arn, ':')] }

// assetObjects are the JSON files in the bucket of the CDK's bootstrap, as its synthesizer names it.
func assetObjects(scope constructs.Construct) string {
	stack := awscdk.Stack_Of(scope)
	qualifier := awscdk.DefaultStackSynthesizer_DEFAULT_QUALIFIER()
	if given := stack.Synthesizer().BootstrapQualifier(); given != nil {
		qualifier = given
	}
	return fmt.Sprintf("arn:%s:s3:::cdk-%s-assets-%s-%s/*.json", *stack.Partition(), *qualifier, *stack.Account(),
		*stack.Region())
}

// publish creates the custom resource that publishes a folder's tools. It names every function's version, so that it
// runs after all of them exist, and whenever one changes; and it depends on what publishes and what serves the
// catalogue.
func (d *deployment) publish(
	scope constructs.Construct, tools *toolset, serviceToken string, after ...constructs.IConstruct,
) error {
	file, err := d.catalogueFile()
	if err != nil {
		return err
	}
	asset := awss3assets.NewAsset(scope, jsii.String("CatalogueFile"), &awss3assets.AssetProps{Path: jsii.String(file)})
	functions := map[string]any{}
	for name, arn := range tools.arns {
		functions[name] = arn
	}
	resource := awscdk.NewCustomResource(scope, jsii.String("Catalogue"), &awscdk.CustomResourceProps{
		ResourceType:   jsii.String("Custom::PatchbayTools"),
		ServiceToken:   jsii.String(serviceToken),
		ServiceTimeout: awscdk.Duration_Seconds(jsii.Number(answerSeconds)),
		Properties: &map[string]any{
			"Catalogue": map[string]any{"Bucket": asset.S3BucketName(), "Key": asset.S3ObjectKey()},
			"Functions": functions,
		},
	})
	for _, construct := range after {
		resource.Node().AddDependency(construct)
	}
	return nil
}
