package assembly

import (
	"cmp"
	"fmt"
	"strings"
)

// kind tells how resources of one type are named.
type kind struct {
	// name is the property that names it.
	name string
	// arn is its ARN after the partition, with REGION, ACCOUNT and NAME.
	arn string
	// refIsARN says that a reference comes to the ARN instead of the name.
	refIsARN bool
}

var kinds = map[string]kind{
	"AWS::CloudWatch::Alarm":      {name: "AlarmName", arn: "cloudwatch:REGION:ACCOUNT:alarm:NAME"},
	"AWS::DynamoDB::Table":        {name: "TableName", arn: "dynamodb:REGION:ACCOUNT:table/NAME"},
	"AWS::IAM::ManagedPolicy":     {name: "ManagedPolicyName", arn: "iam::ACCOUNT:policy/NAME", refIsARN: true},
	"AWS::IAM::Role":              {name: "RoleName", arn: "iam::ACCOUNT:role/NAME"},
	"AWS::KMS::Key":               {arn: "kms:REGION:ACCOUNT:key/NAME"},
	"AWS::Lambda::Function":       {name: "FunctionName", arn: "lambda:REGION:ACCOUNT:function:NAME"},
	"AWS::Logs::LogGroup":         {name: "LogGroupName", arn: "logs:REGION:ACCOUNT:log-group:NAME:*"},
	"AWS::S3::Bucket":             {name: "BucketName", arn: "s3:::NAME"},
	"AWS::SNS::Topic":             {name: "TopicName", arn: "sns:REGION:ACCOUNT:NAME", refIsARN: true},
	"AWS::SQS::Queue":             {name: "QueueName", arn: "sqs:REGION:ACCOUNT:NAME"},
	"AWS::SSM::Parameter":         {name: "Name", arn: "ssm:REGION:ACCOUNT:parameter/NAME"},
	"AWS::SecretsManager::Secret": {name: "Name", arn: "secretsmanager:REGION:ACCOUNT:secret:NAME-AbCdEf", refIsARN: true},
}

// ref resolves Ref: a pseudo parameter, a parameter, or a resource.
func (s *Stack) ref(name string) (any, error) {
	if value, ok := s.pseudo(name); ok {
		return value, nil
	}
	if parameters, _ := s.Template["Parameters"].(map[string]any); parameters[name] != nil {
		return s.parameter(name, parameters[name])
	}
	r, ok := s.find(name)
	if !ok {
		return nil, fmt.Errorf("there is neither a parameter nor a resource %s", name)
	}
	if r.Type == "AWS::Lambda::Version" {
		return s.qualified(r, s.versionNumber(name))
	}
	if r.Type == "AWS::Lambda::Alias" {
		alias, err := r.Text("Name")
		if err != nil {
			return nil, err
		}
		return s.qualified(r, alias)
	}
	if kinds[r.Type].refIsARN || r.Type == nestedStackType {
		return s.arn(r)
	}
	return s.name(r)
}

// Version is the number of a function's version; empty where it is not known.
func (s *Stack) Version(r Resource) string {
	at := s.like(r.Stack)
	if at == nil {
		return ""
	}
	return at.versions[r.ID]
}

// SetVersion says which number Lambda has given to a function's version.
func (s *Stack) SetVersion(r Resource, number string) {
	at := s.like(r.Stack)
	if at.versions == nil {
		at.versions = map[string]string{}
	}
	at.versions[r.ID] = number
}

// like finds the stack of that name in this one, which may be of another synth.
func (s *Stack) like(other *Stack) *Stack {
	if s.Name == other.Name {
		return s
	}
	for _, nested := range s.nested {
		if found := nested.like(other); found != nil {
			return found
		}
	}
	return nil
}

// versionNumber is a version's number, else the first that Lambda gives.
func (s *Stack) versionNumber(id string) string { return cmp.Or(s.versions[id], "1") }

func (s *Stack) pseudo(name string) (any, bool) {
	switch name {
	case "AWS::Partition":
		return s.environment.Partition, true
	case "AWS::Region":
		return s.environment.Region, true
	case "AWS::AccountId":
		return s.environment.Account, true
	case "AWS::URLSuffix":
		return "amazonaws.com", true
	case "AWS::StackName":
		return s.Name, true
	case "AWS::StackId":
		return s.ID(), true
	case "AWS::NoValue":
		return absent{}, true
	}
	return nil, false
}

// ID is the stack's id, which is an ARN.
func (s *Stack) ID() string {
	return fmt.Sprintf("arn:%s:cloudformation:%s:%s:stack/%s/00000000-0000-4000-8000-000000000000",
		s.environment.Partition, s.environment.Region, s.environment.Account, s.Name)
}

// parameter is what the parent stack gives, else the default.
func (s *Stack) parameter(name string, declared any) (any, error) {
	if value, ok := s.arguments[name]; ok {
		return s.parent.Resolve(value)
	}
	fields, _ := declared.(map[string]any)
	value, ok := fields["Default"]
	if !ok {
		return nil, fmt.Errorf("the parameter %s has no value", name)
	}
	if kind := fmt.Sprint(fields["Type"]); strings.HasPrefix(kind, "AWS::SSM::Parameter::Value<") &&
		s.environment.Parameter != nil {
		return s.environment.Parameter(fmt.Sprint(value))
	}
	return value, nil
}

// name is what the template calls the resource, else one made of stack and logical id, as CloudFormation makes them. An
// API's is in lower case, as the ids are that API Gateway gives, since it is part of a host's name.
func (s *Stack) name(r Resource) (string, error) {
	if r.Type == "AWS::ApiGateway::RestApi" {
		return strings.ToLower(s.Name + "-" + r.ID), nil
	}
	if property := kinds[r.Type].name; property != "" && r.Properties[property] != nil {
		return r.Text(property)
	}
	return s.Name + "-" + r.ID, nil
}

func (s *Stack) arn(r Resource) (string, error) {
	if r.Type == nestedStackType {
		return s.nested[r.ID].ID(), nil
	}
	k, known := kinds[r.Type]
	if !known {
		return "", fmt.Errorf("the ARN of %s, a %s, is not known here", r.ID, r.Type)
	}
	name, err := s.name(r)
	if err != nil {
		return "", err
	}
	path := strings.TrimPrefix(name, "/") // of a parameter: its ARN has one slash
	if r.Type != "AWS::SSM::Parameter" {
		path = name
	}
	return "arn:" + s.environment.Partition + ":" + strings.NewReplacer(
		"REGION", s.environment.Region, "ACCOUNT", s.environment.Account, "NAME", path).Replace(k.arn), nil
}

// qualified is the ARN of a version or an alias.
func (s *Stack) qualified(r Resource, qualifier string) (string, error) {
	function, err := r.Text("FunctionName")
	if err != nil {
		return "", err
	}
	if !strings.HasPrefix(function, "arn:") {
		function = fmt.Sprintf("arn:%s:lambda:%s:%s:function:%s",
			s.environment.Partition, s.environment.Region, s.environment.Account, function)
	}
	return function + ":" + qualifier, nil
}

// attribute resolves Fn::GetAtt, in both of its spellings.
func (s *Stack) attribute(argument any) (any, error) {
	id, attribute, _ := strings.Cut(fmt.Sprint(argument), ".")
	if list, ok := argument.([]any); ok && len(list) == 2 {
		id, attribute = fmt.Sprint(list[0]), fmt.Sprint(list[1])
	}
	r, ok := s.find(id)
	if !ok {
		return nil, fmt.Errorf("there is no resource %s", id)
	}
	if output, ok := strings.CutPrefix(attribute, "Outputs."); ok && r.Type == nestedStackType {
		return s.nested[id].output(output)
	}
	switch {
	case attribute == "Arn":
		return s.arn(r)
	case attribute == "Version" && r.Type == "AWS::Lambda::Version":
		return s.versionNumber(id), nil
	case r.Type == "AWS::ApiGateway::RestApi" && attribute == "RootResourceId":
		return id + "Root", nil
	}
	return nil, fmt.Errorf("the attribute %s of %s, a %s, is not known here", attribute, id, r.Type)
}

// output is the value of one of the stack's outputs.
func (s *Stack) output(name string) (any, error) {
	outputs, _ := s.Template["Outputs"].(map[string]any)
	output, ok := outputs[name].(map[string]any)
	if !ok {
		return nil, fmt.Errorf("the stack %s has no output %s", s.Name, name)
	}
	return s.Resolve(output["Value"])
}
