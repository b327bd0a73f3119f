package patchbaycdk

import (
	"context"
	"fmt"

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
	// Environment, secrets, functions, examples and networks are those of these tools; an existing function that one of
	// them is must be in the settings of the server's own stack, too. Required.
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
	d.explainNeeds(at)
	p.advise(at)
	token := awsssm.StringParameter_ValueForStringParameter(at, jsii.String(serviceToken(p.stage.Prefix())), nil)
	if err := d.publish(at, t.tools, *token); err != nil {
		return nil, err
	}
	awscdk.Tags_Of(at).Add(jsii.String("patchbay:deployment"), jsii.String(p.stage.Prefix()), nil)
	return t, nil
}

// Tool returns the function of a tool, as Server.Tool does.
func (t *Tools) Tool(name string) awslambda.Function { return t.tools.tool(name) }

// ToolNames are the names of the tools that have a function here, sorted.
func (t *Tools) ToolNames() []string { return t.tools.names() }

// explainNeeds prints which existing functions the server must know of: who may call and read them is decided by the
// roles of its stack, which this one does not touch.
func (d *deployment) explainNeeds(scope constructs.Construct) {
	named := map[string]bool{}
	for _, tool := range d.tools {
		if arn := d.existingARN(tool); arn != "" && !named[arn] {
			named[arn] = true
			awscdk.Annotations_Of(scope).AddInfoV2(jsii.String("patchbay:existing:"+arn), jsii.String(fmt.Sprintf(
				"%s can be published once the settings of %s name it under \"functions\", whatever the name there, and are "+
					"deployed: else the registrar may not read it, nor the dispatcher call it", arn, d.stage.Prefix())))
		}
	}
}
