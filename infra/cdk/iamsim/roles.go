package iamsim

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"patchbay/infra/cdk/assembly"
)

// Role is a role of a stack with all of its policies.
type Role struct {
	// ARN is the role's.
	ARN string
	// Policies are those written into the role and those attached to it.
	Policies []Policy
	// Services may take the role on, and nobody else.
	Services []string
}

// Decide says what becomes of a request by whoever has taken on the role.
func (r Role) Decide(request Request) (Decision, error) { return Decide(r.Policies, request) }

// Roles returns the roles of a stack and of those nested in it by their ARNs. A policy that this package cannot read
// whole, like one of AWS's own by its name, is an error.
func Roles(stack *assembly.Stack) (map[string]*Role, error) {
	roles := map[string]*Role{}
	for _, r := range stack.Resources("AWS::IAM::Role") {
		role, err := newRole(r)
		if err != nil {
			return nil, fmt.Errorf("reading the role %s: %w", r.ID, err)
		}
		roles[role.ARN] = role
	}
	for _, r := range stack.Resources("AWS::IAM::Policy", "AWS::IAM::ManagedPolicy", "AWS::IAM::RolePolicy") {
		if err := attach(roles, r); err != nil {
			return nil, fmt.Errorf("reading the policy %s: %w", r.ID, err)
		}
	}
	return roles, nil
}

// ManagedPolicies returns the managed policies of a stack, which may be for people as well as for roles, by their ARNs.
func ManagedPolicies(stack *assembly.Stack) (map[string]Policy, error) {
	policies := map[string]Policy{}
	for _, r := range stack.Resources("AWS::IAM::ManagedPolicy") {
		arn, err := r.ARN()
		if err != nil {
			return nil, fmt.Errorf("reading the policy %s: %w", r.ID, err)
		}
		if policies[arn], err = document(r.Stack, r.ID, r.Properties["PolicyDocument"]); err != nil {
			return nil, err
		}
	}
	return policies, nil
}

func newRole(r assembly.Resource) (*Role, error) {
	arn, err := r.ARN()
	if err != nil {
		return nil, err
	}
	role := &Role{ARN: arn}
	if boundary := r.Properties["PermissionsBoundary"]; boundary != nil {
		return nil, fmt.Errorf("its permissions boundary %v is not known here", boundary)
	}
	if role.Services, err = trusted(r); err != nil {
		return nil, err
	}
	inline, _ := r.Properties["Policies"].([]any)
	for _, one := range inline {
		fields, _ := one.(map[string]any)
		policy, err := document(r.Stack, fmt.Sprint(r.ID, " ", fields["PolicyName"]), fields["PolicyDocument"])
		if err != nil {
			return nil, err
		}
		role.Policies = append(role.Policies, policy)
	}
	return role, role.attachManaged(r)
}

// attachManaged attaches the managed policies that the role itself names. Those that name the role come by attach.
func (role *Role) attachManaged(r assembly.Resource) error {
	resolved, err := r.Stack.Resolve(r.Properties["ManagedPolicyArns"])
	if err != nil {
		return err
	}
	arns, _ := resolved.([]any)
	for _, arn := range arns {
		policies, err := ManagedPolicies(r.Stack)
		if err != nil {
			return err
		}
		policy, ok := policies[fmt.Sprint(arn)]
		if document, known := managedByAWS[afterPartition(fmt.Sprint(arn))]; known {
			policy, err = ParsePolicy(fmt.Sprint(arn), []byte(document))
			ok = err == nil
		}
		if !ok {
			return fmt.Errorf("the managed policy %v is not in its stack, so what it allows is not known here", arn)
		}
		role.Policies = append(role.Policies, policy)
	}
	return nil
}

// managedByAWS are the policies of AWS's own that deployments use, without the partition in their ARNs.
// Source: AWS managed policy reference guide, which shows each as JSON.
var managedByAWS = map[string]string{
	"iam::aws:policy/service-role/AmazonAPIGatewayPushToCloudWatchLogs": `{"Version": "2012-10-17", "Statement": [{
		"Effect": "Allow",
		"Action": ["logs:CreateLogGroup", "logs:CreateLogStream", "logs:DescribeLogGroups", "logs:DescribeLogStreams",
			"logs:PutLogEvents", "logs:GetLogEvents", "logs:FilterLogEvents"],
		"Resource": "*"}]}`,
}

// afterPartition is an ARN without its first two parts.
func afterPartition(arn string) string {
	parts := strings.SplitN(arn, ":", 3)
	return parts[len(parts)-1]
}

// attach adds a policy to the roles that it names.
func attach(roles map[string]*Role, r assembly.Resource) error {
	policy, err := document(r.Stack, r.ID, r.Properties["PolicyDocument"])
	if err != nil {
		return err
	}
	names, _ := r.Properties["Roles"].([]any)
	if name, ok := r.Properties["RoleName"]; ok {
		names = append(names, name)
	}
	for _, written := range names {
		name, err := r.Stack.Text(written)
		if err != nil {
			return err
		}
		role := named(roles, name)
		if role == nil {
			return fmt.Errorf("it names the role %s, which the stack does not make", name)
		}
		role.Policies = append(role.Policies, policy)
	}
	return nil
}

func named(roles map[string]*Role, name string) *Role {
	for arn, role := range roles {
		if strings.HasSuffix(arn, "/"+name) {
			return role
		}
	}
	return nil
}

func document(stack *assembly.Stack, name string, written any) (Policy, error) {
	resolved, err := stack.Resolve(written)
	if err != nil {
		return Policy{}, fmt.Errorf("resolving the policy %s: %w", name, err)
	}
	data, err := json.Marshal(resolved)
	if err != nil {
		return Policy{}, fmt.Errorf("encoding the policy %s: %w", name, err)
	}
	return ParsePolicy(name, data)
}

// trusted returns the services that a role's trust policy names. Any other principal, or a condition, is an error.
func trusted(r assembly.Resource) ([]string, error) {
	resolved, err := r.Stack.Resolve(r.Properties["AssumeRolePolicyDocument"])
	if err != nil {
		return nil, err
	}
	data, err := json.Marshal(resolved)
	if err != nil {
		return nil, fmt.Errorf("encoding its trust policy: %w", err)
	}
	return trustedServices(data)
}

func trustedServices(document []byte) ([]string, error) {
	var trust struct {
		Statement []struct {
			Effect    string
			Action    texts
			Principal map[string]texts
			Condition map[string]map[string]texts
		}
	}
	if err := json.Unmarshal(document, &trust); err != nil {
		return nil, fmt.Errorf("decoding its trust policy: %w", err)
	}
	var services []string
	for _, statement := range trust.Statement {
		if statement.Effect != "Allow" || !slices.Equal(statement.Action, texts{"sts:AssumeRole"}) ||
			len(statement.Principal) != 1 || statement.Principal["Service"] == nil || statement.Condition != nil {
			return nil, fmt.Errorf("its trust policy is more than services that may take it on: %s", document)
		}
		services = append(services, statement.Principal["Service"]...)
	}
	return services, nil
}

// NewRole returns a role from its documents as IAM has them: the trust policy, and the others by their names.
func NewRole(arn string, trust []byte, policies map[string][]byte) (*Role, error) {
	role := &Role{ARN: arn}
	var err error
	if role.Services, err = trustedServices(trust); err != nil {
		return nil, fmt.Errorf("reading the role %s: %w", arn, err)
	}
	for _, name := range slices.Sorted(maps.Keys(policies)) {
		policy, err := ParsePolicy(name, policies[name])
		if err != nil {
			return nil, fmt.Errorf("reading the role %s: %w", arn, err)
		}
		role.Policies = append(role.Policies, policy)
	}
	return role, nil
}
