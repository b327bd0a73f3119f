package iamsim

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"testing"

	"patchbay/infra/cdk/assembly"
)

func TestRoles(t *testing.T) {
	t.Parallel()
	a, err := assembly.Open(filepath.Join("..", "assembly", "testdata", "small"),
		assembly.Environment{Partition: "aws", Region: "eu-west-1", Account: "111122223333"})
	if err != nil {
		t.Fatal(err)
	}
	roles, err := Roles(a.Stacks[0])
	if err != nil {
		t.Fatal(err)
	}
	const lambda = "arn:aws:lambda:eu-west-1:111122223333:function:"
	dispatcher := roles["arn:aws:iam::111122223333:role/shop-dev-stack-DispatcherRole"]
	tool := roles["arn:aws:iam::111122223333:role/quote"]
	if len(roles) != 2 || dispatcher == nil || tool == nil {
		t.Fatalf("got %v", roles)
	}
	if !slices.Equal(tool.Services, []string{"lambda.amazonaws.com"}) {
		t.Errorf("taken on by %v", tool.Services)
	}
	invoke := Request{Action: "lambda:InvokeFunction", Resource: lambda + "shop-dev-tool-quote-0123abcd:1"}
	read := Request{
		Action: "dynamodb:GetItem", Resource: "arn:aws:dynamodb:eu-west-1:111122223333:table/shop-dev-state",
	}
	for _, test := range []struct {
		role    *Role
		request Request
		want    Decision
	}{
		{dispatcher, invoke, Allowed}, {tool, invoke, ImplicitDeny},
		{dispatcher, read, ImplicitDeny}, {tool, read, Allowed},
	} {
		if got, err := test.role.Decide(test.request); err != nil || got != test.want {
			t.Errorf("%s: %s is %s, %v; want %s", test.role.ARN, test.request, got, err, test.want)
		}
	}
}

// What a role may do is known whole, or it is an error.
func TestRolesThatAreNotKnownWhole(t *testing.T) {
	t.Parallel()
	const trust = `"AssumeRolePolicyDocument":{"Version":"2012-10-17","Statement":[
		{"Effect":"Allow","Action":"sts:AssumeRole","Principal":{"Service":"lambda.amazonaws.com"}}]}`
	for name, resource := range map[string]string{
		"a policy of AWS's own": `{"Type":"AWS::IAM::Role","Properties":{` + trust + `,
			"ManagedPolicyArns":["arn:aws:iam::aws:policy/service-role/AWSLambdaBasicExecutionRole"]}}`,
		"a boundary": `{"Type":"AWS::IAM::Role","Properties":{` + trust + `,"PermissionsBoundary":"x"}}`,
		"trust in an account": `{"Type":"AWS::IAM::Role","Properties":{"AssumeRolePolicyDocument":{"Statement":[
			{"Effect":"Allow","Action":"sts:AssumeRole","Principal":{"AWS":"arn:aws:iam::1:root"}}]}}}`,
		"a foreign role": `{"Type":"AWS::IAM::Policy","Properties":{"Roles":["nobody"],
			"PolicyDocument":{"Version":"2012-10-17","Statement":[]}}}`,
		"a policy for a resource that is not there": `{"Type":"AWS::IAM::Policy","Properties":{"Roles":[],
			"PolicyDocument":{"Version":"2012-10-17","Statement":[
			{"Effect":"Allow","Action":"*","Resource":{"Ref":"Gone"}}]}}}`,
	} {
		stack := &assembly.Stack{Name: "s", Template: template(t, resource)}
		if roles, err := Roles(stack); err == nil {
			t.Errorf("%s: got %v", name, roles)
		}
	}
}

func template(t *testing.T, resource string) map[string]any {
	t.Helper()
	var template map[string]any
	if err := json.Unmarshal([]byte(`{"Resources":{"X":`+resource+`}}`), &template); err != nil {
		t.Fatal(err)
	}
	return template
}
