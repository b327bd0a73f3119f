package patchbaycdk

import (
	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsec2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsiam"
	"github.com/aws/constructs-go/constructs/v10"
	"github.com/aws/jsii-runtime-go"

	"patchbay/shared/contract"
)

// network is where functions of network "vpc" run.
type network struct {
	vpc     awsec2.IVpc
	subnets *awsec2.SubnetSelection
	groups  []awsec2.ISecurityGroup
}

// networkOf returns where a function runs that asks for a network; nil for Lambda's own.
func (d *deployment) networkOf(scope constructs.Construct, name contract.Network) *network {
	vpc := d.stage.Networks.VPC
	if name != contract.NetworkVPC || vpc == nil || d.local {
		return nil
	}
	// One for all functions of a stack.
	stack := awscdk.Stack_Of(scope)
	if found := d.networks[*stack.Node().Path()]; found != nil {
		return found
	}
	at := constructs.NewConstruct(stack, jsii.String("Network"))
	// Nothing here is put into the subnets' route tables.
	awscdk.Annotations_Of(at).AcknowledgeWarning(jsii.String("@aws-cdk/aws-ec2:noSubnetRouteTableId"), nil)
	n := &network{vpc: awsec2.Vpc_FromVpcAttributes(at, jsii.String("Vpc"), &awsec2.VpcAttributes{
		VpcId:             jsii.String(vpc.ID),
		AvailabilityZones: jsii.Strings(vpc.AvailabilityZones...),
		PrivateSubnetIds:  jsii.Strings(vpc.SubnetIDs...),
	})}
	n.subnets = &awsec2.SubnetSelection{SubnetType: awsec2.SubnetType_PRIVATE_WITH_EGRESS}
	for _, id := range vpc.SecurityGroupIDs {
		n.groups = append(n.groups, awsec2.SecurityGroup_FromSecurityGroupId(at, jsii.String(id), jsii.String(id),
			&awsec2.SecurityGroupImportOptions{Mutable: jsii.Bool(false)}))
	}
	d.networks[*stack.Node().Path()] = n
	return n
}

func (n *network) vpcOrNil() awsec2.IVpc {
	if n == nil {
		return nil
	}
	return n.vpc
}

func (n *network) subnetsOrNil() *awsec2.SubnetSelection {
	if n == nil {
		return nil
	}
	return n.subnets
}

func (n *network) groupsOrNil() *[]awsec2.ISecurityGroup {
	if n == nil {
		return nil
	}
	return &n.groups
}

// networkStatements let Lambda make the function's network interfaces, which it does by the function's role, and deny
// the same to the function's own code. Source: Lambda developer guide, "Giving Lambda functions access to resources in
// an Amazon VPC", "Required IAM permissions".
func networkStatements(function string) []awsiam.PolicyStatement {
	actions := []string{
		"ec2:CreateNetworkInterface", "ec2:DescribeNetworkInterfaces", "ec2:DescribeSubnets",
		"ec2:DeleteNetworkInterface", "ec2:AssignPrivateIpAddresses", "ec2:UnassignPrivateIpAddresses",
	}
	return []awsiam.PolicyStatement{
		allow("NetworkOfLambda", actions, "*"),
		awsiam.NewPolicyStatement(&awsiam.PolicyStatementProps{
			Sid: jsii.String("NotOfTheCode"), Effect: awsiam.Effect_DENY,
			Actions: jsii.Strings(actions...), Resources: jsii.Strings("*"),
			Conditions: &map[string]any{"ArnEquals": map[string]any{"lambda:SourceFunctionArn": function}},
		}),
	}
}
