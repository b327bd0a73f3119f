// Package patchbaycdk has the constructs that put Patchbay on AWS: a whole server, or tools alone in a stack of their
// own that publish into the catalogue of a server elsewhere.
//
// What a tool is and needs stands in its tool.json, what a deployment is in patchbay.json; the constructs add nothing
// to either. A stack of one's own looks like this:
//
//	app := awscdk.NewApp(nil)
//	stage, err := patchbaycdk.ReadStage(app, "patchbay.json", "functions")
//	…
//	stack := awscdk.NewStack(app, jsii.String(stage.Prefix()), patchbaycdk.StackProps(stage))
//	server, err := patchbaycdk.NewServer(stack, jsii.String("Patchbay"), &patchbaycdk.ServerProps{Stage: stage})
//	…
//	bucket.GrantRead(server.Tool("get_report"), nil)
//	app.Synth(nil)
package patchbaycdk

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsapigateway"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsdynamodb"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsiam"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"
	"github.com/aws/constructs-go/constructs/v10"
	"github.com/aws/jsii-runtime-go"

	"patchbay/infra/cdk/settings"
	"patchbay/shared/nearest"
)

// ServerProps says which server to deploy.
type ServerProps struct {
	// Stage is the deployment's settings. Required.
	Stage *settings.Stage
	// Functions is the folder of functions, with server.json; empty means functions.
	Functions string
	// Local makes the template for SAM on this machine: the machine's processor, the variables declared that redirect
	// clients of AWS, and the functions that contracts name as local:NAME made from the folder Existing.
	Local bool
	// Existing is the folder with the code of local:NAME functions, used when Local is set; empty means
	// tests/integration/existing in the module.
	Existing string
}

// Server is a whole server: its API, the dispatcher, the tools of one folder, and the tables.
type Server struct {
	// Construct is the server's place in the tree; everything is below it.
	Construct constructs.Construct
	// Dispatcher is the function behind the API, and Registrar the one that publishes catalogues.
	Dispatcher, Registrar awslambda.Function
	// Authorizer is the function that checks access tokens; nil on an anonymous server.
	Authorizer awslambda.Function
	// Registry, Ledger and State are the tables of the catalogue, of the records of calls, and of tools' state.
	Registry, Ledger, State awsdynamodb.Table
	// API is the REST API in front, and URL the address of the MCP endpoint.
	API awsapigateway.RestApi
	URL *string
	// Policies let people use the levers, by lever: tool-switch, catalogue, ledger, calls, keys and publish. They are
	// attached to nobody.
	Policies map[string]awsiam.ManagedPolicy

	tools *toolset
}

// NewServer creates a server. The error tells everything that is wrong with contracts and settings, or what does not
// build.
func NewServer(scope constructs.Construct, id *string, props *ServerProps) (*Server, error) {
	p, err := loadProject(props.Functions, props.Stage, props.Local)
	if err != nil {
		return nil, err
	}
	if err := p.checkCallers(); err != nil {
		return nil, err
	}
	p.existingFolder = props.Existing
	if err := p.pack(context.Background(), p.programs()...); err != nil {
		return nil, err
	}
	return newServer(scope, id, p)
}

// newServer creates a server from what is packaged.
func newServer(scope constructs.Construct, id *string, p *project) (*Server, error) {
	if err := p.addAuthorization(); err != nil {
		return nil, err
	}
	at := constructs.NewConstruct(scope, id)
	s := &Server{Construct: at}
	d := newDeployment(p, "")
	tables := newTables(at, p.stage)
	s.Registry, s.Ledger, s.State = tables.registry, tables.ledger, tables.state
	front := newAPI(at, p.stage, p.local)
	guard, err := newGuard(p.stage, front.resource, p.tools)
	if err != nil {
		return nil, err
	}
	s.Dispatcher = d.newDispatcher(at, tables, guard)
	s.Authorizer = d.newAuthorizer(at, tables, guard)
	s.Registrar = d.newRegistrar(at, tables)
	s.tools = d.newToolset(at, tables.state)
	if err := d.publish(at, s.tools, *s.Registrar.FunctionArn(), s.Registrar, s.Dispatcher, tables.registry); err != nil {
		return nil, err
	}
	d.explainExisting(at)
	p.advise(at)
	s.open(p, front, guard)
	awscdk.Tags_Of(at).Add(jsii.String("patchbay:deployment"), jsii.String(p.stage.Prefix()), nil)
	return s, nil
}

// open puts the API in front of the dispatcher, and around it what people need who look after it.
func (s *Server) open(p *project, front *api, guard *guard) {
	front.serve(serveProps{
		dispatcher: s.Dispatcher, authorizer: s.Authorizer, guard: guard, timeoutSeconds: p.maxCallSeconds(),
	})
	s.API, s.URL = front.rest, front.url
	watched := alarmProps{stage: p.stage, url: front.url, longestSeconds: p.longestSeconds()}
	dashboard := newDashboard(s.Construct, watched, newAlarms(s.Construct, watched))
	levers := newOperatorPolicies(s.Construct, operatorProps{stage: p.stage, existing: p.existing()})
	s.Policies = levers.policies
	newOutputs(s.Construct, outputProps{stage: p.stage, api: front, dashboard: dashboard, operators: levers})
}

// Tool returns the function of a tool, to grant it more or attach something to it. It panics when the folder has no
// such tool, or the tool's function is an existing one.
func (s *Server) Tool(name string) awslambda.Function { return s.tools.tool(name) }

// ToolNames are the names of the tools that have a function here, sorted.
func (s *Server) ToolNames() []string { return s.tools.names() }

// toolset is the functions of a folder of tools.
type toolset struct {
	functions map[string]awslambda.Function
	// arns are the functions that the catalogue names, with version or alias, by tool: existing ones, too.
	arns map[string]*string
}

func (t *toolset) names() []string { return slices.Sorted(maps.Keys(t.functions)) }

func (t *toolset) tool(name string) awslambda.Function {
	if function, ok := t.functions[name]; ok {
		return function
	}
	hint := ""
	if found := nearest.Name(name, t.names()); found != "" {
		hint = fmt.Sprintf(" (did you mean %q?)", found)
	}
	panic(fmt.Sprintf("patchbaycdk: no tool %q has a function of its own here%s; there are: %s",
		name, hint, strings.Join(t.names(), ", ")))
}
