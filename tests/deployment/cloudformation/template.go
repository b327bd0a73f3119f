package cloudformation

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"patchbay/infra/cdk/assembly"
)

const versionType = "AWS::Lambda::Version"

// withheld are the types of resources that moto 5.2.5 does not get, with the reason.
var withheld = map[string]string{
	"AWS::CloudFormation::Stack": "moto replaces a nested stack whole at an update, with the versions of its functions: " +
		"here it is deployed as a stack of its own",
	"Custom::PatchbayTools": "moto cannot resolve a reference to a function's version, and would run the function in " +
		"Docker: here its events are sent by this package",
	versionType: "moto makes new resources before it changes old ones, so that a version would have the code of before; " +
		"and one that was removed and comes again it does not make: here it is published by the API of Lambda",
	"AWS::SecretsManager::Secret": "moto makes none from a template: here it is made by the API of Secrets Manager",

	"AWS::ApiGateway::Account":         "moto makes none from a template",
	"AWS::ApiGateway::Authorizer":      "moto makes none from a template",
	"AWS::ApiGateway::GatewayResponse": "moto makes none from a template",
	"AWS::ApiGateway::Stage":           "moto makes none from a template",
	"AWS::CDK::Metadata":               "it is nothing but a note",
	"AWS::CloudWatch::Alarm":           "moto makes none from a template",
	"AWS::Lambda::Alias":               "moto makes none from a template",
	"AWS::Lambda::EventInvokeConfig":   "moto makes none from a template",
	"AWS::Logs::MetricFilter":          "moto makes none from a template",
}

// made are the types that moto makes.
var made = []string{
	"AWS::ApiGateway::Deployment", "AWS::ApiGateway::Method", "AWS::ApiGateway::Resource", "AWS::ApiGateway::RestApi",
	"AWS::CloudWatch::Dashboard", "AWS::DynamoDB::Table", "AWS::IAM::ManagedPolicy", "AWS::IAM::Policy",
	"AWS::IAM::Role", "AWS::Lambda::Function", "AWS::Lambda::Permission", "AWS::Logs::LogGroup",
	"AWS::S3::Bucket", "AWS::SNS::Topic", "AWS::SQS::Queue", "AWS::SSM::Parameter",
}

// withheldProperties are properties that moto 5.2.5 does not get, by the type of the resource, with the reason.
var withheldProperties = map[string]map[string]string{
	"AWS::SSM::Parameter": {"Tags": "moto takes a list of tags alone, and CloudFormation for this type an object alone"},
}

// template is the resources that moto gets of one stack, by their logical ids.
type template map[string]any

// prepare makes what moto gets of a stack and of those nested in it, by the names of the stacks. A type that is neither
// made nor withheld is an error: nothing is left out unsaid.
func prepare(stack *assembly.Stack) (map[string]template, error) {
	parts := map[string]template{}
	if err := prepareInto(parts, stack); err != nil {
		return nil, fmt.Errorf("preparing %s: %w", stack.Name, err)
	}
	return parts, nil
}

func prepareInto(parts map[string]template, stack *assembly.Stack) error {
	literal := map[string]bool{} // what references to it are replaced by what they come to
	parameters, _ := stack.Template["Parameters"].(map[string]any)
	for name := range parameters {
		literal[name] = true
	}
	kept := map[string]any{}
	all, _ := stack.Template["Resources"].(map[string]any)
	for _, r := range stack.Own() {
		_, out := withheld[r.Type]
		if !out && !slices.Contains(made, r.Type) {
			return fmt.Errorf("%s is a %s, of which is not known whether moto makes it", r.ID, r.Type)
		}
		literal[r.ID] = out
		// CloudFormation's ARN of a log group ends in :*, moto's does not.
		literal[r.ID+".Arn"] = r.Type == "AWS::Logs::LogGroup"
		if !out {
			kept[r.ID] = all[r.ID]
		}
	}
	part := template{}
	for id, written := range kept {
		replaced, err := replace(stack, written, literal)
		if err != nil {
			return fmt.Errorf("preparing %s: %w", id, err)
		}
		part[id] = withoutGone(replaced.(map[string]any), kept)
	}
	parts[stack.Name] = part
	for _, nested := range stack.Nested() {
		if err := prepareInto(parts, nested); err != nil {
			return err
		}
	}
	return nil
}

// replace replaces references to what moto does not get.
func replace(stack *assembly.Stack, value any, literal map[string]bool) (any, error) {
	switch value := value.(type) {
	case []any:
		list := make([]any, len(value))
		for i, one := range value {
			var err error
			if list[i], err = replace(stack, one, literal); err != nil {
				return nil, err
			}
		}
		return list, nil
	case map[string]any:
		if to, attribute, is := reference(value); is && (literal[to] || literal[to+"."+attribute]) {
			return stack.Resolve(value)
		}
		object := make(map[string]any, len(value))
		for name, one := range value {
			var err error
			if object[name], err = replace(stack, one, literal); err != nil {
				return nil, err
			}
		}
		return object, nil
	}
	return value, nil
}

// reference tells what a Ref or Fn::GetAtt refers to, and of the latter the attribute.
func reference(value map[string]any) (to, attribute string, is bool) {
	if len(value) != 1 {
		return "", "", false
	}
	if name, ok := value["Ref"].(string); ok {
		return name, "", true
	}
	list, ok := value["Fn::GetAtt"].([]any)
	if !ok || len(list) != 2 {
		return "", "", false
	}
	return fmt.Sprint(list[0]), fmt.Sprint(list[1]), true
}

// withoutGone takes what moto does not get out of a resource: dependencies, and properties.
func withoutGone(resource map[string]any, kept map[string]any) any {
	if properties, ok := resource["Properties"].(map[string]any); ok {
		for name := range withheldProperties[fmt.Sprint(resource["Type"])] {
			delete(properties, name)
		}
	}
	if resource["DependsOn"] == nil {
		return resource
	}
	dependencies, ok := resource["DependsOn"].([]any)
	if !ok {
		dependencies = []any{resource["DependsOn"]}
	}
	resource["DependsOn"] = slices.DeleteFunc(slices.Clone(dependencies), func(id any) bool {
		return kept[fmt.Sprint(id)] == nil
	})
	return resource
}

// overlaid is the template with all of the fresh one's resources in it.
func (t template) overlaid(fresh template) template {
	all := template{}
	maps.Copy(all, t)
	maps.Copy(all, fresh)
	return all
}

func (t template) encode() (string, error) {
	data, err := json.Marshal(map[string]any{"Resources": t})
	return string(data), err
}
