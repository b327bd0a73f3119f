// Package rights says what every role of a deployment needs and must never have, as questions to an IAM simulator: for
// tests of synthesized templates, and of what has come out of deploying one.
//
// The lists are made from what the code calls, not from the policies. What the code newly calls belongs here first.
package rights

import (
	"fmt"
	"slices"
	"strings"

	"patchbay/infra/cdk/assembly"
	"patchbay/infra/cdk/iamsim"
	"patchbay/infra/cdk/settings"
	"patchbay/shared/contract"
)

// T is what is used of *testing.T, so that a test can see that what is wrong would be told.
type T interface {
	Helper()
	Errorf(format string, args ...any)
	Fatal(args ...any)
}

// Deployment is what is asked about.
type Deployment struct {
	// Stage is its settings.
	Stage *settings.Stage
	// Stack is its stack.
	Stack *assembly.Stack
	// Roles are the stack's, by their ARNs, as the template or an account has them.
	Roles map[string]*iamsim.Role
	// RoleOf are the ARNs of functions' roles by the functions' names; nil where they are those of the template.
	RoleOf map[string]string
	// Tools are those of the stack, and Existing the functions of others that the contracts name.
	Tools    []*contract.Tool
	Existing []string
	// Account and Region are where it is.
	Account, Region string

	functions map[string]function // by name
	byTool    map[string]function // by the tool's name
	// secrets and namespaces are all that any contract names.
	secrets, namespaces []string
}

// function is a function with its role.
type function struct {
	name, arn string
	role      *iamsim.Role
}

// Check asks everything there is to ask.
func (d *Deployment) Check(t T) {
	t.Helper()
	if err := d.readFunctions(); err != nil {
		t.Fatal(err)
	}
	for _, f := range d.functions {
		d.checkAnyFunction(t, f)
	}
	d.checkDispatcher(t)
	d.checkRegistrar(t)
	if d.Stage.Authorization != nil {
		d.checkAuthorizer(t)
	}
	for _, tool := range d.Tools {
		d.checkTool(t, tool)
	}
}

// prefix is that of all names, SERVER-STAGE.
func (d *Deployment) prefix() string { return d.Stage.Prefix() }

// Function returns the role of a tool's function, for questions of one's own after a Check.
func (d *Deployment) Function(tool string) *iamsim.Role { return d.byTool[tool].role }

// toolTag is the tag that says which tool a function is.
const toolTag = "patchbay:tool"

func (d *Deployment) readFunctions() error {
	d.functions, d.byTool = map[string]function{}, map[string]function{}
	for _, r := range d.Stack.Resources("AWS::Lambda::Function") {
		f, err := d.readFunction(r)
		if err != nil {
			return fmt.Errorf("reading the function %s: %w", r.ID, err)
		}
		d.functions[f.name] = f
		tags, _ := r.Properties["Tags"].([]any)
		for _, tag := range tags {
			if fields, ok := tag.(map[string]any); ok && fields["Key"] == toolTag {
				d.byTool[fmt.Sprint(fields["Value"])] = f
			}
		}
	}
	d.secrets, d.namespaces = nil, nil
	for _, tool := range d.Tools {
		d.secrets = append(d.secrets, tool.Contract.Function.Secrets...)
		d.namespaces = append(d.namespaces, tool.Contract.Function.State...)
		if _, ok := d.byTool[tool.Name]; !ok && tool.Contract.Function.ARN == "" {
			return fmt.Errorf("no function has the tag %s=%s", toolTag, tool.Name)
		}
	}
	slices.Sort(d.secrets)
	slices.Sort(d.namespaces)
	d.secrets, d.namespaces = slices.Compact(d.secrets), slices.Compact(d.namespaces)
	return nil
}

func (d *Deployment) readFunction(r assembly.Resource) (function, error) {
	name, err := r.Ref()
	if err != nil {
		return function{}, err
	}
	role, err := r.Text("Role")
	if err != nil {
		return function{}, err
	}
	if d.RoleOf != nil {
		role = d.RoleOf[name]
	}
	f := function{name: name, arn: d.lambda(name), role: d.Roles[role]}
	if f.role == nil {
		return f, fmt.Errorf("its role %s is not among those of the stack", role)
	}
	return f, nil
}

// ARNs of what may be asked for.
func (d *Deployment) arn(service, resource string) string {
	return fmt.Sprintf("arn:aws:%s:%s:%s:%s", service, d.Region, d.Account, resource)
}
func (d *Deployment) lambda(name string) string { return d.arn("lambda", "function:"+name) }
func (d *Deployment) table(name string) string {
	return d.arn("dynamodb", "table/"+d.prefix()+"-"+name)
}

// secret is the ARN of a secret, with the six characters that package assembly gives for those of Secrets Manager.
func (d *Deployment) secret(name string) string {
	return d.arn("secretsmanager", "secret:"+name+"-AbCdEf")
}

// unqualified is a function's ARN without its version or alias.
func unqualified(arn string) string { return arn[:strings.LastIndexByte(arn, ':')] }

// stream is a stream of a function's log.
func (d *Deployment) stream(function string) string {
	return d.arn("logs", "log-group:/aws/lambda/"+function+":log-stream:2026/11/29/[1]0123")
}

// question is one request, or several that differ in their action alone.
type question struct {
	actions  string // separated by spaces
	resource string
	context  map[string][]string
}

// may demands that everything is allowed, and mayNot that nothing is.
func may(t T, role *iamsim.Role, questions ...question) {
	t.Helper()
	ask(t, role, true, questions)
}

func mayNot(t T, role *iamsim.Role, questions ...question) {
	t.Helper()
	ask(t, role, false, questions)
}

func ask(t T, role *iamsim.Role, want bool, questions []question) {
	t.Helper()
	for _, q := range questions {
		for action := range strings.FieldsSeq(q.actions) {
			request := iamsim.Request{Action: action, Resource: q.resource, Context: q.context}
			got, err := role.Decide(request)
			if err != nil || (got == iamsim.Allowed) != want {
				t.Errorf("%s: %s is %s, %v", role.ARN, request, got, err)
			}
		}
	}
}
