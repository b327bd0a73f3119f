package patchbaycdk

import (
	"strings"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsiam"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslogs"
	"github.com/aws/constructs-go/constructs/v10"
	"github.com/aws/jsii-runtime-go"

	"patchbay/dispatcher/registrar/order"
	"patchbay/infra/cdk/settings"
)

// operatorProps is what operators act on. All else goes by the names that the deployment gives.
type operatorProps struct {
	stage *settings.Stage
	// existing are the qualified ARNs of the functions of others that tools are.
	existing []string
}

// logs are the log groups in which the lines of a call are.
func (p operatorProps) logs(n operatorNames) []string {
	logs := []string{n.logGroup(accessLogGroup(n.prefix)), n.logGroup(logGroupName(dispatcherName(n.prefix)))}
	if p.stage.Authorization != nil {
		logs = append(logs, n.logGroup(logGroupName(authorizerName(n.prefix))))
	}
	return append(logs, n.logGroup(logGroupName(toolPrefix(n.prefix))+"*"))
}

// operators are the policies of the levers, and the log of what is done with them.
type operators struct {
	audit awslogs.LogGroup
	// policies are by lever.
	policies map[string]awsiam.ManagedPolicy
}

// newOperatorPolicies creates a policy for each lever and attaches them to nobody: who may do what is decided where the
// people are known. Each may write to the operators' log and to nothing else that is not its lever's.
func newOperatorPolicies(scope constructs.Construct, props operatorProps) *operators {
	place := constructs.NewConstruct(scope, jsii.String("Operators"))
	audit := newAuditLog(place, props.stage)
	names := operatorNames{
		stack: awscdk.Stack_Of(scope), prefix: props.stage.Prefix(), sealKeys: props.stage.SealKeys(),
	}
	o := &operators{audit: audit, policies: map[string]awsiam.ManagedPolicy{}}
	for _, lever := range names.levers(props) {
		o.policies[lever.name] = names.policy(place, lever)
	}
	return o
}

// newAuditLog outlives the stack where data does: it tells what people did.
func newAuditLog(scope constructs.Construct, stage *settings.Stage) awslogs.LogGroup {
	return awslogs.NewLogGroup(scope, jsii.String("Audit"), &awslogs.LogGroupProps{
		LogGroupName:              jsii.String(auditLogGroup(stage.Prefix())),
		Retention:                 awslogs.RetentionDays_TEN_YEARS,
		RemovalPolicy:             removal(stage),
		DeletionProtectionEnabled: jsii.Bool(stage.RemovalPolicy == settings.Retain),
	})
}

func auditLogGroup(prefix string) string { return "/patchbay/" + prefix + "/operators" }

// lever is what one policy allows.
type lever struct {
	name       string
	statements []*awsiam.PolicyStatementProps
	// audited levers write to the operators' log.
	audited bool
}

// operatorNames makes the ARNs of what levers touch.
type operatorNames struct {
	stack            awscdk.Stack
	prefix, sealKeys string
}

// publishLever is the lever by which people publish tools for functions that exist already; the lever "publish" is for
// whoever deploys stacks.
const publishLever = "tool-publish"

// Partition keys of the tables: see packages registry and ledger.
const (
	keyHead      = "HEAD"
	keyManifests = "SNAPSHOTS"
	keySnapshots = "SNAP#*"
	keyRetired   = "RETIRED"
	keyRecords   = "LEASE#*"
	keyResults   = "RESULT#*"
)

func (n operatorNames) levers(props operatorProps) []lever {
	registry, ledger := n.table(registryTable(n.prefix)), n.table(ledgerTable(n.prefix))
	return []lever{
		{
			name: "tool-switch", audited: true,
			// Disabling looks whether there is such a tool, among the names that are published, and writes HEAD.
			statements: []*awsiam.PolicyStatementProps{
				rows(registry, []string{keyHead, keySnapshots}, "dynamodb:GetItem"),
				rows(registry, []string{keyHead}, "dynamodb:PutItem"),
			},
		},
		{
			name: publishLever, audited: true,
			// What is published, and whether it may be, is the registrar's to say. By this alias it takes no event of
			// CloudFormation's, which could be in the name of any stack.
			statements: []*awsiam.PolicyStatementProps{
				permit([]string{n.function(registrarName(n.prefix)) + ":" + order.Alias}, "lambda:InvokeFunction"),
			},
		},
		{
			name: "catalogue", audited: true,
			// Rolling back publishes the contents of an older snapshot under a new id; withdrawing writes HEAD alone.
			statements: []*awsiam.PolicyStatementProps{
				rows(registry, []string{keyHead, keyManifests, keySnapshots}, "dynamodb:GetItem"),
				rows(registry, []string{keyManifests, keySnapshots, keyRetired}, "dynamodb:Query"),
				rows(registry, []string{keyHead, keyManifests}, "dynamodb:PutItem"),
				rows(registry, []string{keyManifests}, "dynamodb:UpdateItem"),
				rows(registry, []string{keySnapshots}, "dynamodb:BatchWriteItem"),
				// A snapshot goes live only if every function version that it names exists.
				permit(readableFunctions(n.function(toolPrefix(n.prefix)), props.existing), "lambda:GetFunctionConfiguration"),
			},
		},
		{
			name: "ledger", audited: true,
			// Whoever may show records reads what calls answered.
			statements: []*awsiam.PolicyStatementProps{
				rows(ledger, []string{keyRecords, keyResults}, "dynamodb:GetItem", "dynamodb:PutItem"),
				rows(ledger, []string{keyRecords}, "dynamodb:DeleteItem"),
				// For a record that is not found by its key: whether the tool is one, and what its calls are recorded by.
				rows(registry, []string{keyHead, keySnapshots}, "dynamodb:GetItem"),
			},
		},
		{
			name: "calls", audited: true,
			statements: []*awsiam.PolicyStatementProps{
				permit(props.logs(n), "logs:FilterLogEvents"),
				// For a call of which only the tool's name is known.
				rows(registry, []string{keyHead, keySnapshots}, "dynamodb:GetItem"),
				rows(registry, []string{keySnapshots}, "dynamodb:Query"),
			},
		},
		{
			name: "keys", audited: true,
			// Whoever may change the keys can read them: the commands do not show them.
			statements: []*awsiam.PolicyStatementProps{
				permit([]string{n.arn("secretsmanager", "secret", n.sealKeys+"-??????",
					awscdk.ArnFormat_COLON_RESOURCE_NAME)},
					"secretsmanager:GetSecretValue", "secretsmanager:PutSecretValue",
					"secretsmanager:UpdateSecretVersionStage"),
			},
		},
		{
			name: "publish",
			// For teams whose stacks are deployed with their own rights. Where CloudFormation has a role of its own, that
			// needs the right to invoke the registrar, without the condition.
			statements: []*awsiam.PolicyStatementProps{
				{
					Actions:   jsii.Strings("lambda:InvokeFunction"),
					Resources: jsii.Strings(n.function(registrarName(n.prefix))),
					Conditions: &map[string]any{"ForAnyValue:StringEquals": map[string]any{
						"aws:CalledVia": []string{"cloudformation.amazonaws.com"},
					}},
				},
				permit([]string{n.arn("ssm", "parameter", strings.TrimPrefix(serviceToken(n.prefix), "/"),
					awscdk.ArnFormat_SLASH_RESOURCE_NAME)},
					"ssm:GetParameter", "ssm:GetParameters"),
			},
		},
	}
}

func (n operatorNames) policy(scope constructs.Construct, of lever) awsiam.ManagedPolicy {
	if of.audited {
		of.statements = append(of.statements, permit([]string{n.logGroup(auditLogGroup(n.prefix))},
			"logs:CreateLogStream", "logs:PutLogEvents"))
	}
	var statements []awsiam.PolicyStatement
	for _, statement := range of.statements {
		statements = append(statements, awsiam.NewPolicyStatement(statement))
	}
	// No description: to change one, IAM would have to make a second policy of the same name.
	made := awsiam.NewManagedPolicy(scope, jsii.String(of.name), &awsiam.ManagedPolicyProps{
		ManagedPolicyName: jsii.String(n.prefix + "-" + of.name),
		Statements:        &statements,
	})
	suppress(made, map[string]string{
		"AwsSolutions-IAM5": "The wildcards are a log group's streams, the deployment's tools and their versions, whose " +
			"names are not known here, and rows of its tables by the beginning of their keys.",
	})
	return made
}

func (n operatorNames) arn(service, resource, name string, format awscdk.ArnFormat) string {
	return *n.stack.FormatArn(&awscdk.ArnComponents{
		Service: jsii.String(service), Resource: jsii.String(resource), ResourceName: jsii.String(name), ArnFormat: format,
	})
}

func (n operatorNames) table(name string) string {
	return n.arn("dynamodb", "table", name, awscdk.ArnFormat_SLASH_RESOURCE_NAME)
}

func (n operatorNames) function(name string) string {
	return n.arn("lambda", "function", name, awscdk.ArnFormat_COLON_RESOURCE_NAME)
}

// logGroup is the ARN of a log group with its streams, which is what actions on its events are allowed on.
func (n operatorNames) logGroup(name string) string {
	return n.arn("logs", "log-group", name+":*", awscdk.ArnFormat_COLON_RESOURCE_NAME)
}

// permit allows actions on resources.
func permit(resources []string, actions ...string) *awsiam.PolicyStatementProps {
	return &awsiam.PolicyStatementProps{Actions: jsii.Strings(actions...), Resources: jsii.Strings(resources...)}
}

// rows allows actions on the items of a table whose partition keys are among keys. An action that touches none, such as
// a scan, is not among those that are allowed.
func rows(table string, keys []string, actions ...string) *awsiam.PolicyStatementProps {
	statement := permit([]string{table}, actions...)
	statement.Conditions = &map[string]any{"ForAllValues:StringLike": map[string]any{"dynamodb:LeadingKeys": keys}}
	return statement
}
