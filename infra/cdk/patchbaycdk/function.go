package patchbaycdk

import (
	"encoding/json"
	"fmt"
	"runtime"
	"strings"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsiam"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslogs"
	"github.com/aws/constructs-go/constructs/v10"
	"github.com/aws/jsii-runtime-go"

	"patchbay/infra/cdk/settings"
	"patchbay/scripts/build"
	"patchbay/shared/contract"
)

// functionProps is what every function of a deployment is made of, a tool's or a control function's.
type functionProps struct {
	name, description string
	runtime           awslambda.Runtime
	handler           string
	dir               string // the content of its package
	memoryMB, timeout int
	concurrency       int // 0 shares the account's
	environment       map[string]string
	// statements are what the role may do beside writing its own logs and traces.
	statements []awsiam.PolicyStatement
	// roleName is fixed where somebody outside has to name the role; empty otherwise.
	roleName string
	vpc      *network
	// keepLog keeps the log when the function goes.
	keepLog bool
	// wildcards explains those in the function's own statements.
	wildcards string
}

// newFunction creates a function with a role and a log group of its own.
func (d *deployment) newFunction(scope constructs.Construct, id string, props functionProps) awslambda.Function {
	at := constructs.NewConstruct(scope, jsii.String(id))
	log := awslogs.NewLogGroup(at, jsii.String("Log"), &awslogs.LogGroupProps{
		LogGroupName:  jsii.String(logGroupName(props.name)),
		Retention:     retention(d.stage),
		RemovalPolicy: logRemoval(d.stage, props.keepLog),
	})
	role := d.newRole(at, props, log)
	function := awslambda.NewFunction(at, jsii.String("Function"), &awslambda.FunctionProps{
		FunctionName: jsii.String(props.name),
		Description:  jsii.String(props.description),
		Runtime:      props.runtime,
		Handler:      jsii.String(props.handler),
		Code:         awslambda.Code_FromAsset(jsii.String(props.dir), nil),
		Architecture: d.architecture,
		MemorySize:   jsii.Number(props.memoryMB),
		Timeout:      awscdk.Duration_Seconds(jsii.Number(props.timeout)),
		Environment:  variables(props.environment),
		Role:         role,
		LogGroup:     log,
		// What the platform and managed runtimes write becomes JSON, as what the functions write is already.
		LoggingFormat:                awslambda.LoggingFormat_JSON,
		ReservedConcurrentExecutions: reserved(props.concurrency),
		Vpc:                          props.vpc.vpcOrNil(),
		VpcSubnets:                   props.vpc.subnetsOrNil(),
		SecurityGroups:               props.vpc.groupsOrNil(),
		// The default would delete a version in the deploy that replaces it, while instances still call it; the registrar
		// deletes versions with the snapshots that named them. One of a failed deploy goes with it: else the next deploy of
		// the same code would be refused.
		CurrentVersionOptions: &awslambda.VersionOptions{
			RemovalPolicy: awscdk.RemovalPolicy_RETAIN_ON_UPDATE_OR_DELETE,
		},
	})
	// Set here, since the construct would give the role a second policy for it.
	function.Node().DefaultChild().(awslambda.CfnFunction).SetTracingConfig(
		&awslambda.CfnFunction_TracingConfigProperty{Mode: jsii.String("Active")})
	suppress(role, roleReasons(props))
	if reasons := runtimeReasons(props.runtime); reasons != nil {
		suppress(function, reasons)
	}
	return function
}

// newRole is the function's own: its log, traces, and what the statements say.
func (d *deployment) newRole(scope constructs.Construct, props functionProps, log awslogs.LogGroup) awsiam.Role {
	statements := []awsiam.PolicyStatement{
		allow("Log", []string{"logs:CreateLogStream", "logs:PutLogEvents"}, *log.LogGroupArn()),
		allow("Trace", []string{"xray:PutTraceSegments", "xray:PutTelemetryRecords"}, "*"),
	}
	if props.vpc != nil {
		statements = append(statements, networkStatements(d.functionARN(scope, props.name))...)
	}
	statements = append(statements, props.statements...)
	var name *string
	if props.roleName != "" {
		name = jsii.String(props.roleName)
	}
	return awsiam.NewRole(scope, jsii.String("Role"), &awsiam.RoleProps{
		RoleName:    name,
		Description: jsii.String("What " + props.name + " may do"),
		AssumedBy:   awsiam.NewServicePrincipal(jsii.String("lambda.amazonaws.com"), nil),
		InlinePolicies: &map[string]awsiam.PolicyDocument{
			"own": awsiam.NewPolicyDocument(&awsiam.PolicyDocumentProps{Statements: &statements}),
		},
	})
}

func allow(sid string, actions []string, resources ...string) awsiam.PolicyStatement {
	return awsiam.NewPolicyStatement(&awsiam.PolicyStatementProps{
		Sid: jsii.String(sid), Actions: jsii.Strings(actions...), Resources: jsii.Strings(resources...),
	})
}

func variables(values map[string]string) *map[string]*string {
	set := map[string]*string{}
	for name, value := range values {
		set[name] = jsii.String(value)
	}
	return &set
}

func reserved(concurrency int) *float64 {
	if concurrency == 0 {
		return nil
	}
	return jsii.Number(concurrency)
}

func retention(stage *settings.Stage) awslogs.RetentionDays {
	// The names of RetentionDays are words; what CloudFormation takes is the number, which the schema of the settings
	// holds to those that there are.
	return retentionDays[stage.LogRetentionDays]
}

// removal is what becomes of a thing with a name of its own when its stack goes.
func removal(stage *settings.Stage) awscdk.RemovalPolicy {
	if stage.RemovalPolicy == settings.Destroy {
		return awscdk.RemovalPolicy_DESTROY
	}
	// What a failed first deploy made goes with it: under its name it would be in the way of the next.
	return awscdk.RemovalPolicy_RETAIN_ON_UPDATE_OR_DELETE
}

// logRemoval lets a tool's log go with the tool: a log group that stayed would stand in the way of the tool's return,
// whose log has the same name. What calls did stands in the dispatcher's log, which is kept as the stage says.
func logRemoval(stage *settings.Stage, keep bool) awscdk.RemovalPolicy {
	if !keep {
		return awscdk.RemovalPolicy_DESTROY
	}
	return removal(stage)
}

// roleReasons explains what cdk-nag asks about a function's role.
func roleReasons(props functionProps) map[string]string {
	reasons := []string{"X-Ray's actions take no resource; CloudWatch names the streams of a log group by a wildcard."}
	if props.vpc != nil {
		reasons = append(reasons, "Lambda makes the network interfaces of a function by the function's role, and asks for "+
			"these rights on every resource; the function's own code is denied them.")
	}
	if props.wildcards != "" {
		reasons = append(reasons, props.wildcards)
	}
	return map[string]string{"AwsSolutions-IAM5": strings.Join(reasons, " ")}
}

// runtimeReasons explains what cdk-nag asks about a managed runtime.
func runtimeReasons(runtime awslambda.Runtime) map[string]string {
	if *runtime.Name() == *awslambda.Runtime_PROVIDED_AL2023().Name() {
		return nil
	}
	return map[string]string{"AwsSolutions-L1": "The newest runtime in long-term support, which packages are made for."}
}

// newTool creates the function of a tool.
func (d *deployment) newTool(scope constructs.Construct, tool *contract.Tool, bucket int) awslambda.Function {
	folder := build.Folder(tool)
	k := tool.Contract
	statements, wildcards := d.toolStatements(scope, tool)
	function := d.newFunction(scope, folder, functionProps{
		name:        toolName(d.stage.Prefix(), d.owner, folder, bucket),
		description: "Tool " + tool.Name + " of " + d.stage.Prefix(),
		runtime:     runtimeOf(k.Function.Runtime),
		handler:     handlerOf(k.Function),
		dir:         d.packages.Function(folder),
		memoryMB:    k.Execution.MemoryMB,
		timeout:     k.Execution.TimeoutSeconds,
		concurrency: k.Execution.Concurrency,
		environment: d.toolEnvironment(scope, tool),
		statements:  statements,
		vpc:         d.networkOf(scope, k.Execution.Network),
		wildcards:   wildcards,
	})
	awscdk.Tags_Of(function).Add(jsii.String("patchbay:tool"), jsii.String(tool.Name), nil)
	return function
}

func runtimeOf(language contract.Runtime) awslambda.Runtime {
	switch language {
	case contract.RuntimeNodeJS:
		return awslambda.NewRuntime(jsii.String(build.NodeRuntime), awslambda.RuntimeFamily_NODEJS, nil)
	case contract.RuntimePython:
		return awslambda.NewRuntime(jsii.String(build.PythonRuntime), awslambda.RuntimeFamily_PYTHON, nil)
	}
	return awslambda.Runtime_PROVIDED_AL2023()
}

func handlerOf(function contract.Function) string {
	if function.Handler == "" {
		return "bootstrap"
	}
	return function.Handler
}

// toolEnvironment is what the contract names and the settings fill in, and where state and secrets lie. There is no
// secret in it.
func (d *deployment) toolEnvironment(scope constructs.Construct, tool *contract.Tool) map[string]string {
	function := tool.Contract.Function
	environment := map[string]string{}
	for name, value := range function.Environment {
		if value == "" {
			value = d.stage.Environment[name]
		}
		environment[name] = value
	}
	if len(function.State) > 0 {
		environment["PATCHBAY_STATE_TABLE"] = stateTable(d.stage.Prefix())
		d.redirect(environment, "DYNAMODB")
	}
	if len(function.Secrets) > 0 {
		references := map[string]string{}
		for _, name := range function.Secrets {
			references[name] = d.secretReference(scope, name)
		}
		// Maps of strings can be encoded, and are so in the order of their names. The ARNs' parts that only AWS knows are
		// placeholders here, whose characters JSON leaves alone.
		text, _ := json.Marshal(references)
		environment["PATCHBAY_SECRETS"] = string(text)
		d.redirect(environment, "SECRETS_MANAGER", "SSM")
		if d.local {
			environment["PATCHBAY_SECRETS_FILE"] = ""
		}
	}
	return environment
}

// redirect declares the variables that redirect clients of services, for SAM, which can only set what is declared.
func (d *deployment) redirect(environment map[string]string, services ...string) {
	if !d.local {
		return
	}
	for _, service := range services {
		environment["AWS_ENDPOINT_URL_"+service] = ""
	}
}

// arch is the processor that packages are made for: Graviton, or this machine's where SAM runs them here.
func (p *project) arch() string {
	if p.local && runtime.GOARCH == build.Amd64 {
		return build.Amd64
	}
	return build.Arm64
}

func architectureOf(arch string) awslambda.Architecture {
	if arch == build.Amd64 {
		return awslambda.Architecture_X86_64()
	}
	return awslambda.Architecture_ARM_64()
}

// functionARN is the ARN of a function of this deployment, from its name.
func (d *deployment) functionARN(scope constructs.Construct, name string) string {
	return d.arn(scope, "lambda", "function:"+name)
}

// arn is one in the deployment's account and region.
func (d *deployment) arn(scope constructs.Construct, service, resource string) string {
	stack := awscdk.Stack_Of(scope)
	return fmt.Sprintf("arn:%s:%s:%s:%s:%s", *stack.Partition(), service, *stack.Region(), *stack.Account(), resource)
}
