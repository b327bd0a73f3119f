package patchbaycdk

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const table = `arn:aws:dynamodb:eu-west-1:123456789012:table/tools-prod-`

// Each role is written out as a whole: what a role gains must be seen here.
func TestRolesOfTools(t *testing.T) {
	t.Parallel()
	s := teamServer()
	vpc := `["ec2:AssignPrivateIpAddresses","ec2:CreateNetworkInterface","ec2:DeleteNetworkInterface",` +
		`"ec2:DescribeNetworkInterfaces","ec2:DescribeSubnets","ec2:UnassignPrivateIpAddresses"]`
	inNetwork := s.nameOf(t, "in_network")
	for tool, more := range map[string][]string{
		"plain":   nil,
		"in_node": nil,
		"keeps_state": {`{"Action":["dynamodb:DeleteItem","dynamodb:GetItem","dynamodb:PutItem","dynamodb:UpdateItem"],` +
			`"Condition":{"ForAllValues:StringLike":{"dynamodb:LeadingKeys":["state#carts#*","state#drafts#*"]},` +
			`"Null":{"dynamodb:LeadingKeys":"false"}},"Resource":"` + table + `state"}`},
		"has_secrets": {
			`{"Action":"secretsmanager:GetSecretValue","Resource":[` +
				`"arn:aws:secretsmanager:eu-west-1:123456789012:secret:there-AbCdEf",` +
				`"arn:aws:secretsmanager:eu-west-1:123456789012:secret:tools-prod/tools/by_default-??????"]}`,
			`{"Action":"ssm:GetParameter","Resource":"arn:aws:ssm:eu-west-1:123456789012:parameter/tools/there"}`,
		},
		"in_network": {
			`{"Action":` + vpc + `,"Resource":"*"}`,
			`{"Action":` + vpc + `,"Condition":{"ArnEquals":{"lambda:SourceFunctionArn":` +
				`"arn:aws:lambda:eu-west-1:123456789012:function:` + inNetwork + `"}},"Effect":"Deny","Resource":"*"}`,
		},
	} {
		name := s.nameOf(t, tool)
		if diff := cmp.Diff(slices.Concat(own(name), more), s.rights(t, name)); diff != "" {
			t.Errorf("rights of %s (-want +got):\n%s", tool, diff)
		}
	}
	if n := len(s.Resources("AWS::IAM::Policy")); n > 0 {
		t.Errorf("%d policies beside the roles' own", n)
	}
}

func TestRoleOfTheDispatcher(t *testing.T) {
	t.Parallel()
	s := teamServer()
	const name = "tools-prod-dispatcher"
	want := slices.Concat(own(name), []string{
		`{"Action":["dynamodb:GetItem","dynamodb:Query"],"Resource":"` + table + `registry"}`,
		`{"Action":["dynamodb:DeleteItem","dynamodb:GetItem","dynamodb:PutItem","dynamodb:UpdateItem"],` +
			`"Resource":"` + table + `ledger"}`,
		`{"Action":"lambda:InvokeFunction",` +
			`"Resource":"arn:aws:lambda:eu-west-1:123456789012:function:tools-prod-tool-*:*"}`,
		`{"Action":"secretsmanager:GetSecretValue","Resource":"` + sealKeysARN(t, s) + `"}`,
		`{"Action":"lambda:InvokeFunction","Resource":["arn:aws:lambda:eu-west-1:123456789012:function:quote:live",` +
			`"arn:aws:lambda:eu-west-1:123456789012:function:rates:live",` +
			`"arn:aws:lambda:eu-west-1:210987654321:function:rates:7"]}`,
	})
	if diff := cmp.Diff(want, s.rights(t, name)); diff != "" {
		t.Errorf("rights of the dispatcher (-want +got):\n%s", diff)
	}
	role, err := s.roleOf(t, name).Text("RoleName")
	if err != nil || role != "tools-prod-dispatcher-eu-west-1" {
		t.Errorf("the dispatcher's role is called %q, %v", role, err)
	}
}

func sealKeysARN(t *testing.T, s *synthesized) string {
	t.Helper()
	arn, err := s.find(t, "AWS::SecretsManager::Secret", "Name", "tools-prod/seal-keys").Ref()
	if err != nil {
		t.Fatal(err)
	}
	return arn
}

func TestRoleOfTheRegistrar(t *testing.T) {
	t.Parallel()
	s := teamServer()
	const name, function = "tools-prod-registrar", "arn:aws:lambda:eu-west-1:123456789012:function:"
	want := slices.Concat(own(name), []string{
		`{"Action":["dynamodb:BatchWriteItem","dynamodb:GetItem","dynamodb:PutItem","dynamodb:Query",` +
			`"dynamodb:UpdateItem"],"Resource":"` + table + `registry"}`,
		`{"Action":"s3:GetObject","Resource":"arn:aws:s3:::cdk-hnb659fds-assets-123456789012-eu-west-1/*.json"}`,
		`{"Action":"lambda:GetFunctionConfiguration","Resource":["` + function + `quote","` + function + `quote:live",` +
			`"` + function + `rates","` + function + `rates:live","` + function + `tools-prod-tool-*",` +
			`"arn:aws:lambda:eu-west-1:210987654321:function:rates",` +
			`"arn:aws:lambda:eu-west-1:210987654321:function:rates:7"]}`,
		`{"Action":"lambda:DeleteFunction","Resource":"` + function + `tools-prod-tool-*:*"}`,
	})
	if diff := cmp.Diff(want, s.rights(t, name)); diff != "" {
		t.Errorf("rights of the registrar (-want +got):\n%s", diff)
	}
}

// Only Lambda itself takes on the roles of functions.
func TestRolesAreLambdas(t *testing.T) {
	t.Parallel()
	s := teamServer()
	for _, function := range s.Resources("AWS::Lambda::Function") {
		name, err := function.Text("FunctionName")
		if err != nil {
			t.Fatal(err)
		}
		role := properties(t, s.roleOf(t, name))
		want := map[string]any{"Version": "2012-10-17", "Statement": []any{map[string]any{
			"Action": "sts:AssumeRole", "Effect": "Allow", "Principal": map[string]any{"Service": "lambda.amazonaws.com"},
		}}}
		if diff := cmp.Diff(want, role["AssumeRolePolicyDocument"]); diff != "" {
			t.Errorf("who may be %s (-want +got):\n%s", name, diff)
		}
		if role["ManagedPolicyArns"] != nil {
			t.Errorf("the role of %s has managed policies: %v", name, role["ManagedPolicyArns"])
		}
	}
}
