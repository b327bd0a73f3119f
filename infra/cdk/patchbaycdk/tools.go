package patchbaycdk

import (
	"context"
	"fmt"
	"strings"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsssm"
	"github.com/aws/constructs-go/constructs/v10"
	"github.com/aws/jsii-runtime-go"

	"patchbay/infra/cdk/settings"
)

// ToolsProps says which tools to deploy into a stack of their own.
type ToolsProps struct {
	// Stage is the settings of the server's stage that the tools publish to: the name and the stage must be the server's.
	// Environment, secrets, functions and networks are those of these tools. Required.
	Stage *settings.Stage
	// Functions is the folder of functions; empty means functions. Its server.json is checked and not used.
	Functions string
}

// Tools are the tools of one folder in a stack of their own, in the account and region of a server that is there
// already. They are published as this stack's: the server's own tools and those of other stacks are not touched, and a
// name that one of those has is refused.
type Tools struct {
	// Construct is the tools' place in the tree; everything is below it.
	Construct constructs.Construct

	tools *toolset
}

// NewTools creates the functions of a folder and publishes them into the catalogue of a server.
func NewTools(scope constructs.Construct, id *string, props *ToolsProps) (*Tools, error) {
	p, err := loadProject(props.Functions, props.Stage, false)
	if err != nil {
		return nil, err
	}
	if err := p.pack(context.Background()); err != nil {
		return nil, err
	}
	return newTools(scope, id, p)
}

// newTools creates tools from what is packaged.
func newTools(scope constructs.Construct, id *string, p *project) (*Tools, error) {
	at := constructs.NewConstruct(scope, id)
	// Two stacks may have folders of one name, and one stack may have several of these.
	d := newDeployment(p, *at.Node().Path())
	t := &Tools{Construct: at, tools: d.newToolset(at, nil)}
	permissions, err := d.letIn(at)
	if err != nil {
		return nil, err
	}
	token := awsssm.StringParameter_ValueForStringParameter(at, jsii.String(serviceToken(p.stage.Prefix())), nil)
	if err := d.publish(at, t.tools, *token, permissions...); err != nil {
		return nil, err
	}
	awscdk.Tags_Of(at).Add(jsii.String("patchbay:deployment"), jsii.String(p.stage.Prefix()), nil)
	return t, nil
}

// Tool returns the function of a tool, as Server.Tool does.
func (t *Tools) Tool(name string) awslambda.Function { return t.tools.tool(name) }

// ToolNames are the names of the tools that have a function here, sorted.
func (t *Tools) ToolNames() []string { return t.tools.names() }

// letIn lets the server's dispatcher call the existing functions that these tools name, by the functions' own policies,
// since the dispatcher's belongs to another stack. Within an account that is enough; where the function is another
// account's, its owner and the server's stack decide.
func (d *deployment) letIn(scope constructs.Construct) ([]constructs.IConstruct, error) {
	var permissions []constructs.IConstruct
	stack := awscdk.Stack_Of(scope)
	for i, arn := range d.existing() {
		account := strings.Split(arn, ":")[4]
		if own := *stack.Account(); !*awscdk.Token_IsUnresolved(own) && own != account {
			return nil, fmt.Errorf("%s belongs to the account %s, and only the server's own stack can be granted a function "+
				"of another account; name its tool there", arn, account)
		}
		role := fmt.Sprintf("arn:%s:iam::%s:role/%s", *stack.Partition(), *stack.Account(),
			dispatcherRole(scope, d.stage.Prefix()))
		permissions = append(permissions, awslambda.NewCfnPermission(scope, jsii.String(fmt.Sprintf("LetIn%d", i)),
			&awslambda.CfnPermissionProps{
				Action: jsii.String("lambda:InvokeFunction"), FunctionName: jsii.String(arn), Principal: jsii.String(role),
			}))
	}
	return permissions, nil
}
