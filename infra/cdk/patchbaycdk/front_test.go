package patchbaycdk

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/assertions"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"
	"github.com/aws/jsii-runtime-go"
	"github.com/cdklabs/cdk-nag-go/cdknag/v2"
	"github.com/google/go-cmp/cmp"

	"patchbay/infra/cdk/settings"
)

// front is a stack of what this part of the package makes, in front of a function that stands for the dispatcher.
type front struct {
	template map[string]any
	findings []string
}

const account, region = "123456789012", "eu-west-1"

// testTimeout is the longest that a tool may take, and a whole answer, in seconds.
const testTimeout = 320

// Each stack is synthesized once, for all tests.
var (
	// plain has the settings of a stage that sets nothing.
	plain = sync.OnceValue(func() *front { return synthesize(`{}`) })
	// full has everything that can be set.
	full = sync.OnceValue(func() *front {
		return synthesize(`{
			"domain": {
				"name": "mcp.example.com", "certificateArn": "arn:aws:acm:eu-west-1:123456789012:certificate/ab-1",
				"hostedZoneId": "Z0123456789ABC"
			},
			"alarmTopicArn": "arn:aws:sns:eu-west-1:123456789012:alarms",
			"throttle": {"ratePerSecond": 7, "burst": 9},
			"removalPolicy": "destroy",
			"gatewayLogRole": false
		}`)
	})
	// elsewhere has a domain whose names are kept elsewhere.
	elsewhere = sync.OnceValue(func() *front {
		return synthesize(`{"domain": {
			"name": "mcp.example.com", "certificateArn": "arn:aws:acm:eu-west-1:123456789012:certificate/ab-1"
		}}`)
	})
)

const (
	existingName     = "arn:aws:lambda:eu-west-1:123456789012:function:shipping-quote"
	existingFunction = existingName + ":live"
)

func synthesize(stageSettings string) *front {
	constructing.Lock()
	defer constructing.Unlock()
	stage, err := settings.Parse([]byte(`{"name":"tools","stages":{"prod":`+stageSettings+`}}`), "prod", "")
	if err != nil {
		panic(err)
	}
	tools, err := guardedTools().load(stage, false)
	if err != nil {
		panic(err)
	}
	app := awscdk.NewApp(&awscdk.AppProps{AnalyticsReporting: jsii.Bool(false), Context: flags()})
	stack := awscdk.NewStack(app, jsii.String("Stack"), &awscdk.StackProps{
		Env: &awscdk.Environment{Account: jsii.String(account), Region: jsii.String(region)},
	})
	gateway := newAPI(stack, stage, false)
	guard, err := newGuard(stage, gateway.resource, tools.tools)
	if err != nil {
		panic(err)
	}
	serving := serveProps{dispatcher: standIn(stack, "Dispatcher", guard), guard: guard, timeoutSeconds: testTimeout}
	if guard != nil {
		serving.authorizer = standIn(stack, "Authorizer", guard)
	}
	gateway.serve(serving)
	watched := alarmProps{stage: stage, url: gateway.url, longestSeconds: testTimeout}
	made := newAlarms(stack, watched)
	dashboard := newDashboard(stack, watched, made)
	levers := newOperatorPolicies(stack, operatorProps{stage: stage, existing: []string{existingFunction}})
	newOutputs(stack, outputProps{stage: stage, api: gateway, dashboard: dashboard, operators: levers})
	awscdk.Aspects_Of(stack).Add(cdknag.NewAwsSolutionsChecks(nil), nil)
	template := assertions.Template_FromStack(stack, nil)
	return &front{template: *template.ToJSON(), findings: findings(stack)}
}

// standIn is a function that stands for one of the control functions.
func standIn(stack awscdk.Stack, id string, guard *guard) awslambda.Function {
	function := awslambda.NewFunction(stack, jsii.String(id), &awslambda.FunctionProps{
		FunctionName: jsii.String("tools-prod-" + strings.ToLower(id)), Code: awslambda.Code_FromInline(jsii.String("x")),
		Runtime: awslambda.Runtime_NODEJS_LATEST(), Handler: jsii.String("index.handler"),
		Environment: variables(guard.variables()),
	})
	suppress(function, map[string]string{
		"AwsSolutions-IAM4": "It is not deployed.", "AwsSolutions-L1": "It is not deployed.",
	})
	return function
}

// flags are the feature flags that the app is synthesized with.
func flags() *map[string]any {
	data, err := os.ReadFile("../cdk.json")
	if err != nil {
		panic(err)
	}
	var file struct{ Context map[string]any }
	if err := json.Unmarshal(data, &file); err != nil {
		panic(err)
	}
	return &file.Context
}

// findings is what cdk-nag's AwsSolutions and the CDK itself say of a stack.
func findings(stack awscdk.Stack) []string {
	annotations := assertions.Annotations_FromStack(stack)
	var found []string
	for _, check := range []func(*string, any){annotations.HasNoError, annotations.HasNoWarning} {
		if complaint := complaintOf(check); complaint != "" {
			found = append(found, complaint)
		}
	}
	return found
}

// complaintOf returns what an assertion of the CDK panics with.
func complaintOf(check func(*string, any)) (complaint string) {
	defer func() {
		if reason := recover(); reason != nil {
			complaint = fmt.Sprint(reason)
		}
	}()
	check(jsii.String("*"), assertions.Match_AnyValue())
	return ""
}

// resources returns the properties of all resources of a type, by logical id.
func (f *front) resources(kind string) map[string]map[string]any {
	found := map[string]map[string]any{}
	for id, resource := range f.template["Resources"].(map[string]any) {
		if r := resource.(map[string]any); r["Type"] == kind {
			properties, _ := r["Properties"].(map[string]any)
			found[id] = properties
		}
	}
	return found
}

// resource returns the only resource of a type.
func (f *front) resource(t *testing.T, kind string) map[string]any {
	t.Helper()
	all := f.resources(kind)
	if len(all) != 1 {
		t.Fatalf("%d resources of the type %s; want one", len(all), kind)
	}
	for _, properties := range all {
		return properties
	}
	return nil
}

// byID returns the whole of a resource.
func (f *front) byID(id string) map[string]any {
	return f.template["Resources"].(map[string]any)[id].(map[string]any)
}

// raw returns the whole of the resource of a type whose property has a value.
func (f *front) raw(t *testing.T, kind, property, value string) map[string]any {
	t.Helper()
	for id, properties := range f.resources(kind) {
		if properties[property] == value {
			return f.byID(id)
		}
	}
	t.Fatalf("no %s with %s %q", kind, property, value)
	return nil
}

// text is a value of a template with references as <logical id>, and with the parts of a Fn::Join put together.
func text(value any) string {
	switch v := value.(type) {
	case string:
		return v
	case []any:
		var parts string
		for _, part := range v {
			parts += text(part)
		}
		return parts
	case map[string]any:
		if join, ok := v["Fn::Join"].([]any); ok {
			var parts []string
			for _, part := range join[1].([]any) {
				parts = append(parts, text(part))
			}
			return strings.Join(parts, join[0].(string))
		}
		if id, ok := v["Ref"].(string); ok {
			return "<" + id + ">"
		}
		if get, ok := v["Fn::GetAtt"].([]any); ok {
			return "<" + get[0].(string) + "." + get[1].(string) + ">"
		}
	}
	return fmt.Sprint(value)
}

// checkHas checks that a value of a template has what want has; maps may have more.
func checkHas(t *testing.T, what string, got any, want map[string]any) {
	t.Helper()
	have, ok := got.(map[string]any)
	if !ok {
		t.Errorf("%s is %v", what, got)
		return
	}
	for name, value := range want {
		if diff := cmp.Diff(value, have[name]); diff != "" {
			t.Errorf("%s: %s (-want +got):\n%s", what, name, diff)
		}
	}
}

func TestFindings(t *testing.T) {
	t.Parallel()
	for name, f := range map[string]*front{
		"plain": plain(), "full": full(), "elsewhere": elsewhere(), "guarded": guarded(), "strict": strict(),
	} {
		for _, finding := range f.findings {
			t.Errorf("%s: %s", name, finding)
		}
	}
}
