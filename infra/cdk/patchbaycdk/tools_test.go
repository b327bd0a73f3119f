package patchbaycdk

import (
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/jsii-runtime-go"
	"github.com/google/go-cmp/cmp"
)

// otherTeam is a stack of tools beside a server's.
var otherTeam = sync.OnceValue(func() *synthesized {
	stage := parseStage(`"secrets": {}`)
	p, err := newSources().tool("plain", `{}`).tool("keeps_state", `{"function": {"state": ["carts"]}}`).
		tool("theirs", `{"function": {"arn": "arn:aws:lambda:eu-west-1:123456789012:function:rates:live"}}`).
		load(stage, false)
	if err != nil {
		panic(err)
	}
	return synthStack(stage, func(stack awscdk.Stack) error {
		_, err := newTools(stack, jsii.String("Tools"), p)
		return err
	})
})

// The stack publishes as itself, by the service token that the server exports, and names no source.
func TestToolsOfAnotherStackArePublished(t *testing.T) {
	t.Parallel()
	s := otherTeam()
	publications := s.Resources("Custom::PatchbayTools")
	if len(publications) != 1 {
		t.Fatalf("%d publications", len(publications))
	}
	raw := publications[0].Properties
	token, _ := raw["ServiceToken"].(map[string]any)["Ref"].(string)
	parameter, _ := s.Template["Parameters"].(map[string]any)[token].(map[string]any)
	want := map[string]any{"Type": "AWS::SSM::Parameter::Value<String>", "Default": "/tools-prod/registrar"}
	if diff := cmp.Diff(want, parameter); diff != "" {
		t.Errorf("the service token (-want +got):\n%s", diff)
	}
	properties := []string{"Catalogue", "Functions", "ServiceTimeout", "ServiceToken"}
	if diff := cmp.Diff(properties, slices.Sorted(maps.Keys(raw))); diff != "" {
		t.Errorf("properties (-want +got):\n%s", diff)
	}
}

// The functions have names that the server's dispatcher may invoke, and that no other stack's have.
func TestToolsOfAnotherStackHaveTheirOwnNames(t *testing.T) {
	t.Parallel()
	name := otherTeam().nameOf(t, "plain")
	if !strings.HasPrefix(name, "tools-prod-tool-plain-") || name == teamServer().nameOf(t, "plain") {
		t.Errorf("the function is called %s", name)
	}
	want := append(own(otherTeam().nameOf(t, "keeps_state")),
		`{"Action":["dynamodb:DeleteItem","dynamodb:GetItem","dynamodb:PutItem","dynamodb:UpdateItem"],`+
			`"Condition":{"ForAllValues:StringLike":{"dynamodb:LeadingKeys":["state#carts#*"]},`+
			`"Null":{"dynamodb:LeadingKeys":"false"}},"Resource":"`+table+`state"}`)
	if diff := cmp.Diff(want, otherTeam().rights(t, otherTeam().nameOf(t, "keeps_state"))); diff != "" {
		t.Errorf("rights (-want +got):\n%s", diff)
	}
}

func TestToolsOfAnotherStackMakeNothingElse(t *testing.T) {
	t.Parallel()
	kinds := map[string]int{}
	for _, resource := range otherTeam().Resources() {
		kinds[resource.Type]++
	}
	want := map[string]int{
		"AWS::CloudFormation::Stack": 1, "AWS::Lambda::Function": 2, "AWS::Lambda::Version": 2, "AWS::IAM::Role": 2,
		"AWS::Logs::LogGroup": 2, "Custom::PatchbayTools": 1,
	}
	if diff := cmp.Diff(want, kinds); diff != "" {
		t.Errorf("resources (-want +got):\n%s", diff)
	}
	for _, finding := range otherTeam().findings {
		t.Error(finding)
	}
}
