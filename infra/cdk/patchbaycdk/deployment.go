package patchbaycdk

import (
	"fmt"
	"maps"
	"strconv"
	"strings"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsdynamodb"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsiam"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssecretsmanager"
	"github.com/aws/constructs-go/constructs/v10"
	"github.com/aws/jsii-runtime-go"

	"patchbay/scripts/build"
	"patchbay/shared/contract"
)

// deployment makes the functions of a project in a stack.
type deployment struct {
	*project
	// owner is empty for the server's own tools, else what tells a stack's tools from those of others.
	owner        string
	architecture awslambda.Architecture
	networks     map[string]*network // by the path of their stack
	existingARNs map[string]*string  // of functions that are made in place of existing ones, for SAM
}

func newDeployment(p *project, owner string) *deployment {
	return &deployment{
		project: p, owner: owner, architecture: architectureOf(p.arch()), networks: map[string]*network{},
		existingARNs: map[string]*string{},
	}
}

// controlMemoryMB is the memory of the dispatcher, the registrar and the authorizer. The dispatcher mostly waits, so
// that its price is memory times the tools' durations.
const controlMemoryMB = 256

// dispatcherTimeout leaves the dispatcher time to answer after the gateway's, so that an answer that comes late is
// still recorded.
func (p *project) dispatcherTimeout() int {
	return min(p.maxCallSeconds()+10, contract.MaxTimeoutSeconds)
}

// newDispatcher creates the function behind the API. It may read the catalogue, keep the records of calls, and invoke
// versions of Patchbay's tools: by a pattern, which stays the same however many there are.
func (d *deployment) newDispatcher(scope constructs.Construct, t tableSet, guard *guard) awslambda.Function {
	prefix := d.stage.Prefix()
	keys := d.newSealKeys(scope)
	statements := []awsiam.PolicyStatement{
		allow("Catalogue", []string{"dynamodb:GetItem", "dynamodb:Query"}, *t.registry.TableArn()),
		allow("Ledger", []string{"dynamodb:GetItem", "dynamodb:PutItem", "dynamodb:UpdateItem", "dynamodb:DeleteItem"},
			*t.ledger.TableArn()),
		allow("Tools", []string{"lambda:InvokeFunction"}, d.functionARN(scope, toolVersions(prefix))),
		allow("SealKeys", []string{"secretsmanager:GetSecretValue"}, *keys.SecretArn()),
	}
	if existing := d.existing(); len(existing) > 0 {
		statements = append(statements, allow("Existing", []string{"lambda:InvokeFunction"}, existing...))
	}
	environment := map[string]string{
		"PATCHBAY_TABLE":            registryTable(prefix),
		"PATCHBAY_LEDGER_TABLE":     ledgerTable(prefix),
		"PATCHBAY_SEAL_KEYS_SECRET": *keys.SecretArn(),
		"PATCHBAY_CACHE_TTL_MS":     strconv.Itoa(d.stage.CacheTTLSeconds * 1000),
		"PATCHBAY_ANSWER_WITHIN_MS": strconv.Itoa(d.maxCallSeconds() * 1000),
		"PATCHBAY_DEPLOYMENT":       prefix,
		"PATCHBAY_METRICS":          metricNamespace,
	}
	if len(d.stage.Origins) > 0 {
		environment["PATCHBAY_ORIGINS"] = strings.Join(d.stage.Origins, " ")
	}
	if d.local {
		environment["PATCHBAY_LOOPBACK_ORIGINS"] = "true"
		environment["PATCHBAY_SEAL_KEYS_SECRET"] = d.stage.SealKeys()
		environment["PATCHBAY_SEAL_KEYS_FILE"] = ""
	}
	maps.Copy(environment, guard.variables())
	d.redirect(environment, "DYNAMODB", "LAMBDA", "SECRETS_MANAGER")
	return d.newFunction(scope, "Dispatcher", functionProps{
		name: dispatcherName(prefix), description: "Serves the MCP endpoint of " + prefix,
		runtime: awslambda.Runtime_PROVIDED_AL2023(), handler: "bootstrap", dir: d.packages.Program(dispatcherPackage),
		memoryMB: controlMemoryMB, timeout: d.dispatcherTimeout(), environment: environment, statements: statements,
		roleName: dispatcherRole(scope, prefix), keepLog: true,
		wildcards: "The dispatcher invokes every version of every tool, also of stacks that come later; the pattern names " +
			"the deployment's tools and nothing else.",
	})
}

// dispatcherRole is the name of the dispatcher's role. It is fixed, since owners of existing functions name the role
// when they let it in; roles belong to no region, so the name does.
func dispatcherRole(scope constructs.Construct, prefix string) string {
	return prefix + "-dispatcher-" + *awscdk.Stack_Of(scope).Region()
}

// newSealKeys creates the secret with the keys that seal requestState. Its value is made in the account, and nobody
// sees it: neither this machine nor the template.
func (d *deployment) newSealKeys(scope constructs.Construct) awssecretsmanager.Secret {
	secret := awssecretsmanager.NewSecret(scope, jsii.String("SealKeys"), &awssecretsmanager.SecretProps{
		SecretName:  jsii.String(d.stage.SealKeys()),
		Description: jsii.String("Seals what a call remembers between its rounds; see docs/operate.md for changing it"),
		GenerateSecretString: &awssecretsmanager.SecretStringGenerator{
			SecretStringTemplate: jsii.String(`{"version":1}`),
			GenerateStringKey:    jsii.String("generated"),
			// 64 hexadecimal digits, which seal.ParseRing reads as the first key.
			PasswordLength:     jsii.Number(64),
			ExcludeUppercase:   jsii.Bool(true),
			ExcludePunctuation: jsii.Bool(true),
			ExcludeCharacters:  jsii.String("ghijklmnopqrstuvwxyz"),
		},
		RemovalPolicy: removal(d.stage),
	})
	suppress(secret, map[string]string{
		"AwsSolutions-SMG4": "A key is changed in three steps with a pause between them, so that no text on its way is " +
			"refused; a rotation function would do so no better than a person with the command for it.",
	})
	return secret
}

// newToolset creates the functions of all tools, in nested stacks.
func (d *deployment) newToolset(scope constructs.Construct, state awsdynamodb.ITable) *toolset {
	set := &toolset{functions: map[string]awslambda.Function{}, arns: map[string]*string{}}
	byFolder := map[string]*contract.Tool{}
	var folders []string
	for _, tool := range d.tools {
		if arn := d.existingTool(scope, tool); arn != nil {
			set.arns[tool.Name] = arn
			continue
		}
		byFolder[build.Folder(tool)] = tool
		folders = append(folders, build.Folder(tool))
	}
	for bucket, folders := range buckets(folders) {
		if len(folders) == 0 {
			continue
		}
		nested := awscdk.NewNestedStack(scope, jsii.String(fmt.Sprintf("Tools%d", bucket)), &awscdk.NestedStackProps{
			Description: jsii.String("Tools of " + d.stage.Prefix()),
		})
		if state != nil {
			// Tables are named by their names, so CloudFormation does not see that tools need one.
			nested.Node().AddDependency(state)
		}
		for _, folder := range folders {
			tool := byFolder[folder]
			function := d.newTool(nested, tool, bucket)
			set.functions[tool.Name] = function
			set.arns[tool.Name] = function.CurrentVersion().FunctionArn()
		}
	}
	return set
}
