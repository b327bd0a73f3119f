package patchbaycdk

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const managedPolicy = "AWS::IAM::ManagedPolicy"

// statement is one of a policy, in words, what is a list there sorted.
type statement struct {
	actions, resources []string
	condition          string
}

func texts(value any) []string {
	list, ok := value.([]any)
	if !ok {
		list = []any{value}
	}
	var out []string
	for _, item := range list {
		out = append(out, strings.ReplaceAll(text(item), "<AWS::Partition>", "aws"))
	}
	slices.Sort(out)
	return out
}

// policy returns a policy's statements.
func (f *front) policy(t *testing.T, name string) []statement {
	t.Helper()
	properties := f.raw(t, managedPolicy, "ManagedPolicyName", "tools-prod-"+name)["Properties"].(map[string]any)
	var all []statement
	for _, s := range properties["PolicyDocument"].(map[string]any)["Statement"].([]any) {
		of := s.(map[string]any)
		if of["Effect"] != "Allow" {
			t.Fatalf("%s: %v", name, of)
		}
		one := statement{actions: texts(of["Action"]), resources: texts(of["Resource"])}
		condition, _ := of["Condition"].(map[string]any)
		for operator, keys := range condition {
			for key, values := range keys.(map[string]any) {
				one.condition = operator + " " + key + " " + strings.Join(texts(values), ",")
			}
		}
		all = append(all, one)
	}
	return all
}

// What each lever may do, to the letter: more is a danger, less is a lever that fails at night.
func TestPoliciesOfLevers(t *testing.T) {
	t.Parallel()
	const (
		arn       = "arn:aws:"
		here      = ":eu-west-1:123456789012:"
		registry  = arn + "dynamodb" + here + "table/tools-prod-registry"
		ledger    = arn + "dynamodb" + here + "table/tools-prod-ledger"
		functions = arn + "lambda" + here + "function:"
		logs      = arn + "logs" + here + "log-group:"
		leading   = "ForAllValues:StringLike dynamodb:LeadingKeys "
	)
	audit := statement{[]string{"logs:CreateLogStream", "logs:PutLogEvents"},
		[]string{logs + "/patchbay/tools-prod/operators:*"}, ""}
	for name, want := range map[string][]statement{
		"tool-switch": {
			{[]string{"dynamodb:GetItem"}, []string{registry}, leading + "HEAD,SNAP#*"},
			{[]string{"dynamodb:PutItem"}, []string{registry}, leading + "HEAD"},
			audit,
		},
		"tool-publish": {
			{[]string{"lambda:InvokeFunction"}, []string{functions + "tools-prod-registrar:operators"}, ""},
			audit,
		},
		"catalogue": {
			{[]string{"dynamodb:GetItem"}, []string{registry}, leading + "HEAD,SNAP#*,SNAPSHOTS"},
			{[]string{"dynamodb:Query"}, []string{registry}, leading + "RETIRED,SNAP#*,SNAPSHOTS"},
			{[]string{"dynamodb:PutItem"}, []string{registry}, leading + "HEAD,SNAPSHOTS"},
			{[]string{"dynamodb:UpdateItem"}, []string{registry}, leading + "SNAPSHOTS"},
			{[]string{"dynamodb:BatchWriteItem"}, []string{registry}, leading + "SNAP#*"},
			{[]string{"lambda:GetFunctionConfiguration"}, []string{
				existingName, existingFunction, functions + "tools-prod-tool-*",
			}, ""},
			audit,
		},
		"ledger": {
			{[]string{"dynamodb:GetItem", "dynamodb:PutItem"}, []string{ledger}, leading + "LEASE#*,RESULT#*"},
			{[]string{"dynamodb:DeleteItem"}, []string{ledger}, leading + "LEASE#*"},
			{[]string{"dynamodb:GetItem"}, []string{registry}, leading + "HEAD,SNAP#*"},
			audit,
		},
		"calls": {
			{[]string{"logs:FilterLogEvents"}, []string{
				logs + "/aws/apigateway/tools-prod:*", logs + "/aws/lambda/tools-prod-dispatcher:*",
				logs + "/aws/lambda/tools-prod-tool-*:*",
			}, ""},
			{[]string{"dynamodb:GetItem"}, []string{registry}, leading + "HEAD,SNAP#*"},
			{[]string{"dynamodb:Query"}, []string{registry}, leading + "SNAP#*"},
			audit,
		},
		"keys": {
			{[]string{
				"secretsmanager:GetSecretValue", "secretsmanager:PutSecretValue", "secretsmanager:UpdateSecretVersionStage",
			}, []string{arn + "secretsmanager" + here + "secret:tools-prod/seal-keys-??????"}, ""},
			audit,
		},
		"publish": {
			{[]string{"lambda:InvokeFunction"}, []string{functions + "tools-prod-registrar"},
				"ForAnyValue:StringEquals aws:CalledVia cloudformation.amazonaws.com"},
			{[]string{"ssm:GetParameter", "ssm:GetParameters"},
				[]string{arn + "ssm" + here + "parameter/tools-prod/registrar"}, ""},
		},
	} {
		if diff := cmp.Diff(want, plain().policy(t, name), cmp.AllowUnexported(statement{})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	var names []string
	for _, properties := range plain().resources(managedPolicy) {
		names = append(names, properties["ManagedPolicyName"].(string))
	}
	slices.Sort(names)
	want := []string{
		"tools-prod-calls", "tools-prod-catalogue", "tools-prod-keys", "tools-prod-ledger", "tools-prod-publish",
		"tools-prod-tool-publish", "tools-prod-tool-switch",
	}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Errorf("policies (-want +got):\n%s", diff)
	}
}

// Nothing of another deployment, and nothing by a bare wildcard.
func TestPoliciesStayInTheDeployment(t *testing.T) {
	t.Parallel()
	own := regexp.MustCompile(
		`^arn:aws:[a-z]+:eu-west-1:123456789012:[a-z-]+[:/](/(aws/(lambda|apigateway)|patchbay)/)?tools-prod[-/:]`)
	for _, name := range []string{"tool-switch", "tool-publish", "catalogue", "ledger", "calls", "keys", "publish"} {
		for _, s := range plain().policy(t, name) {
			for _, action := range s.actions {
				if strings.Contains(action, "*") {
					t.Errorf("%s allows %s", name, action)
				}
			}
			for _, resource := range s.resources {
				if resource != existingFunction && resource != existingName && !own.MatchString(resource) {
					t.Errorf("%s allows something on %s", name, resource)
				}
			}
		}
	}
}

// A description cannot be changed under a name that stays, and members of a policy are for others to name.
func TestPoliciesCanBeUpdated(t *testing.T) {
	t.Parallel()
	for id, properties := range plain().resources(managedPolicy) {
		got := slices.Sorted(maps.Keys(properties))
		if description, ok := properties["Description"]; ok && description == "" {
			got = slices.DeleteFunc(got, func(name string) bool { return name == "Description" })
		}
		want := []string{"ManagedPolicyName", "Path", "PolicyDocument"}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", id, diff)
		}
	}
}

func TestAuditLogIsKept(t *testing.T) {
	t.Parallel()
	for policy, test := range map[string]struct {
		front     *front
		deletion  string
		protected bool
	}{"Retain": {plain(), "RetainExceptOnCreate", true}, "Delete": {full(), "Delete", false}} {
		log := test.front.raw(t, "AWS::Logs::LogGroup", "LogGroupName", "/patchbay/tools-prod/operators")
		checkHas(t, policy, log["Properties"], map[string]any{
			"RetentionInDays": float64(3653), "DeletionProtectionEnabled": test.protected,
		})
		if log["DeletionPolicy"] != test.deletion || log["UpdateReplacePolicy"] != policy {
			t.Errorf("the operators' log has the policies %v and %v; want %s and %s", log["DeletionPolicy"],
				log["UpdateReplacePolicy"], test.deletion, policy)
		}
	}
}
