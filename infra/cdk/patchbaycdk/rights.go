package patchbaycdk

import (
	"strings"

	"github.com/aws/aws-cdk-go/awscdk/v2/awsiam"
	"github.com/aws/constructs-go/constructs/v10"
	"github.com/aws/jsii-runtime-go"

	"patchbay/shared/contract"
)

// toolStatements are what a tool's contract declares: its secrets, and its own rows of the state table. wildcards is
// why there are some in them.
func (d *deployment) toolStatements(
	scope constructs.Construct, tool *contract.Tool,
) (statements []awsiam.PolicyStatement, wildcards string) {
	var secrets, parameters []string
	for _, name := range tool.Contract.Function.Secrets {
		where := d.stage.Secret(name)
		if where.Parameter != "" {
			parameters = append(parameters, d.parameterARN(scope, where.Parameter))
			continue
		}
		secrets = append(secrets, d.secretResource(scope, where.Secret))
	}
	if len(secrets) > 0 {
		statements = append(statements, allow("Secrets", []string{"secretsmanager:GetSecretValue"}, secrets...))
		wildcards = "Secrets Manager ends the ARN of a secret with six characters that are not known before it exists."
	}
	if len(parameters) > 0 {
		statements = append(statements, allow("Parameters", []string{"ssm:GetParameter"}, parameters...))
	}
	if len(tool.Contract.Function.State) > 0 {
		statements = append(statements, d.stateStatement(scope, tool.Contract.Function.State))
	}
	return statements, wildcards
}

// stateStatement allows the rows of the tool's namespaces. ForAllValues holds for a request without leading keys, too,
// so that Null is needed to refuse one.
func (d *deployment) stateStatement(scope constructs.Construct, namespaces []string) awsiam.PolicyStatement {
	rows := make([]string, len(namespaces))
	for i, namespace := range namespaces {
		rows[i] = "state#" + namespace + "#*"
	}
	return awsiam.NewPolicyStatement(&awsiam.PolicyStatementProps{
		Sid:       jsii.String("OwnState"),
		Actions:   jsii.Strings("dynamodb:GetItem", "dynamodb:PutItem", "dynamodb:UpdateItem", "dynamodb:DeleteItem"),
		Resources: jsii.Strings(d.arn(scope, "dynamodb", "table/"+stateTable(d.stage.Prefix()))),
		Conditions: &map[string]any{
			"ForAllValues:StringLike": map[string]any{"dynamodb:LeadingKeys": rows},
			"Null":                    map[string]any{"dynamodb:LeadingKeys": "false"},
		},
	})
}

// secretReference is what shared/secret reads a secret by: the ARN of a parameter or a secret, of the latter without
// the six characters where they are not known, as Secrets Manager allows.
func (d *deployment) secretReference(scope constructs.Construct, name string) string {
	where := d.stage.Secret(name)
	if where.Parameter != "" {
		return d.parameterARN(scope, where.Parameter)
	}
	return d.secretARN(scope, where.Secret)
}

func (d *deployment) parameterARN(scope constructs.Construct, name string) string {
	return d.arn(scope, "ssm", "parameter/"+strings.TrimPrefix(name, "/"))
}

func (d *deployment) secretARN(scope constructs.Construct, nameOrARN string) string {
	if strings.HasPrefix(nameOrARN, "arn:") {
		return nameOrARN
	}
	return d.arn(scope, "secretsmanager", "secret:"+nameOrARN)
}

// secretResource is a secret's ARN in a policy.
func (d *deployment) secretResource(scope constructs.Construct, nameOrARN string) string {
	arn := d.secretARN(scope, nameOrARN)
	if arn == nameOrARN {
		return arn
	}
	return arn + "-??????"
}
