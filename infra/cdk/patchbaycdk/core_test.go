package patchbaycdk

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/jsii-runtime-go"
	"github.com/cdklabs/cdk-nag-go/cdknag/v2"

	"patchbay/infra/cdk/assembly"
	"patchbay/infra/cdk/settings"
)

// sources are the files of a module, by path.
type sources map[string]string

// tool adds a folder with a contract.
func (s sources) tool(folder, contract string) sources {
	s["functions/"+folder+"/tool.json"] = fmt.Sprintf(`{
		"name": %q, "description": "Answers for a test, and does nothing else.",
		"inputSchema": {"type": "object", "properties": {}, "additionalProperties": false},
		"outputSchema": {"type": "object"}, "contract": %s
	}`, folder, contract)
	return s
}

func newSources() sources {
	return sources{"go.mod": "module example.com/tools\n", "functions/server.json": `{"name":"tools","version":"1.0.0"}`}
}

// write puts the files into a new folder.
func (s sources) write() string {
	dir, err := os.MkdirTemp("", "patchbay-cdk-")
	if err != nil {
		panic(err)
	}
	removeLater(dir)
	for name, text := range s {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			panic(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			panic(err)
		}
	}
	return dir
}

// temporary are the folders that TestMain removes: what is synthesized once outlives the test that wanted it first.
var (
	temporary   []string
	temporaryMu sync.Mutex
)

func removeLater(dir string) {
	temporaryMu.Lock()
	defer temporaryMu.Unlock()
	temporary = append(temporary, dir)
}

// onePackage stands for every function's package, so that nothing is built.
type onePackage string

func (p onePackage) Function(string) string { return string(p) }
func (p onePackage) Program(string) string  { return string(p) }

// team is a module with a tool of each kind.
func team() sources {
	return newSources().
		tool("plain", `{"function": {"runtime": "go"}, "execution": {"timeoutSeconds": 5}}`).
		tool("keeps_state", `{"function": {"runtime": "go", "state": ["carts", "drafts"]}}`).
		tool("has_secrets", `{"function": {"runtime": "go", "secrets": ["by_default", "by_arn", "by_parameter"],
			"environment": {"BASE_URL": "", "MODE": "fast"}}}`).
		tool("in_network", `{"function": {"runtime": "python", "handler": "app.handler"},
			"execution": {"network": "vpc", "memoryMB": 256, "timeoutSeconds": 60, "concurrency": 5}}`).
		tool("in_node", `{"function": {"runtime": "nodejs", "handler": "index.handler"}}`).
		tool("foreign", `{"function": {"arn": "arn:aws:lambda:eu-west-1:210987654321:function:rates:7"}}`).
		tool("local_one", `{"function": {"arn": "local:quote", "payload": "arguments"}}`).
		tool("example", `{"example": true, "function": {"runtime": "go", "environment": {"NOT_SET": ""}}}`)
}

const teamStage = `
	"environment": {"BASE_URL": "https://base.example"},
	"secrets": {
		"by_arn": {"secret": "arn:aws:secretsmanager:eu-west-1:123456789012:secret:there-AbCdEf"},
		"by_parameter": {"parameter": "/tools/there"}
	},
	"functions": {
		"quote": "arn:aws:lambda:eu-west-1:123456789012:function:quote:live",
		"for_other_stacks": "arn:aws:lambda:eu-west-1:123456789012:function:rates:live"
	},
	"networks": {"vpc": {
		"vpcId": "vpc-12345678", "subnetIds": ["subnet-1234567a", "subnet-1234567b"],
		"availabilityZones": ["eu-west-1a", "eu-west-1b"], "securityGroupIds": ["sg-12345678"]
	}},
	"origins": ["https://app.example"], "cacheTtlSeconds": 60, "logRetentionDays": 90`

func parseStage(text string) *settings.Stage {
	stage, err := settings.Parse([]byte(`{"name":"tools","stages":{"prod":{`+text+`}}}`), "prod", "")
	if err != nil {
		panic(err)
	}
	return stage
}

// load reads a module's contracts for a stage, with one package for everything.
func (s sources) load(stage *settings.Stage, local bool) (*project, error) {
	dir := s.write()
	p, err := loadProject(filepath.Join(dir, "functions"), stage, local)
	if err != nil {
		return nil, err
	}
	content := sources{"bootstrap": "#!/bin/sh\n"}.write()
	p.packages = onePackage(content)
	return p, nil
}

// synthesized is a stack that was written and read again.
type synthesized struct {
	*assembly.Stack
	dir      string
	server   *Server
	findings []string
}

// synthServer writes a server's stack as a deployment would.
func synthServer(s sources, stage *settings.Stage, local bool) *synthesized {
	p, err := s.load(stage, local)
	if err != nil {
		panic(err)
	}
	var server *Server
	out := synthStack(stage, func(stack awscdk.Stack) (err error) {
		server, err = newServer(stack, jsii.String("Patchbay"), p)
		return err
	})
	out.server = server
	return out
}

// synthStack writes a stack and opens it as one in a region of an account.
func synthStack(stage *settings.Stage, fill func(awscdk.Stack) error) *synthesized {
	constructing.Lock()
	defer constructing.Unlock()
	props := StackProps(stage)
	out := sources{}.write()
	context := *flags()
	context["aws:cdk:enable-asset-metadata"] = true
	app := awscdk.NewApp(&awscdk.AppProps{
		AnalyticsReporting: jsii.Bool(false), Context: &context, Outdir: jsii.String(out),
	})
	stack := awscdk.NewStack(app, props.StackName, props)
	if err := fill(stack); err != nil {
		panic(err)
	}
	awscdk.Aspects_Of(stack).Add(cdknag.NewAwsSolutionsChecks(nil), nil)
	app.Synth(nil)
	opened, err := assembly.Open(out, assembly.Environment{Partition: "aws", Region: region, Account: account})
	if err != nil {
		panic(err)
	}
	found, err := opened.Stack(*props.StackName)
	if err != nil {
		panic(err)
	}
	return &synthesized{Stack: found, dir: out, findings: findings(stack)}
}

// teamServer is the team's server in a stage that keeps its data.
var teamServer = sync.OnceValue(func() *synthesized { return synthServer(team(), parseStage(teamStage), false) })

// find returns the only resource of a type whose resolved properties have a text.
func (s *synthesized) find(t *testing.T, kind, property, value string) assembly.Resource {
	t.Helper()
	var found []assembly.Resource
	for _, resource := range s.Resources(kind) {
		if text, err := resource.Text(property); err == nil && text == value {
			found = append(found, resource)
		}
	}
	if len(found) != 1 {
		t.Fatalf("%d resources %s with %s %q; want one", len(found), kind, property, value)
	}
	return found[0]
}

// properties are a resource's, resolved.
func properties(t *testing.T, r assembly.Resource) map[string]any {
	t.Helper()
	resolved, err := r.Stack.Resolve(map[string]any(r.Properties))
	if err != nil {
		t.Fatal(err)
	}
	return resolved.(map[string]any)
}

// function returns the properties of a tool's function, or of a control function.
func (s *synthesized) function(t *testing.T, name string) map[string]any {
	t.Helper()
	return properties(t, s.find(t, "AWS::Lambda::Function", "FunctionName", name))
}

// nameOf is the name of a tool's function.
func (s *synthesized) nameOf(t *testing.T, tool string) string {
	t.Helper()
	for _, resource := range s.Resources("AWS::Lambda::Function") {
		all := properties(t, resource)
		for _, tag := range all["Tags"].([]any) {
			pair := tag.(map[string]any)
			if pair["Key"] == "patchbay:tool" && pair["Value"] == tool {
				return all["FunctionName"].(string)
			}
		}
	}
	t.Fatalf("no function has the tag of tool %s", tool)
	return ""
}

// rights returns the statements of a function's role, without those that every role has, as JSON.
func (s *synthesized) rights(t *testing.T, function string) []string {
	t.Helper()
	role := s.roleOf(t, function)
	policies := properties(t, role)["Policies"].([]any)
	if len(policies) != 1 {
		t.Fatalf("the role of %s has %d policies", function, len(policies))
	}
	document := policies[0].(map[string]any)["PolicyDocument"].(map[string]any)
	var texts []string
	for _, statement := range document["Statement"].([]any) {
		fields := statement.(map[string]any)
		delete(fields, "Sid")
		if fields["Effect"] == "Allow" {
			delete(fields, "Effect")
		}
		// A feature flag of the CDK sorts them; the order has no meaning.
		sortTexts(fields["Action"])
		sortTexts(fields["Resource"])
		data, err := json.Marshal(fields)
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, string(data))
	}
	return texts
}

func sortTexts(list any) {
	if values, ok := list.([]any); ok {
		slices.SortFunc(values, func(a, b any) int { return strings.Compare(a.(string), b.(string)) })
	}
}

func (s *synthesized) roleOf(t *testing.T, function string) assembly.Resource {
	t.Helper()
	wanted := "What " + function + " may do"
	return s.find(t, "AWS::IAM::Role", "Description", wanted)
}

// own are the statements that every function's role begins with.
func own(function string) []string {
	return []string{
		`{"Action":["logs:CreateLogStream","logs:PutLogEvents"],` +
			`"Resource":"arn:aws:logs:eu-west-1:123456789012:log-group:/aws/lambda/` + function + `:*"}`,
		`{"Action":["xray:PutTelemetryRecords","xray:PutTraceSegments"],"Resource":"*"}`,
	}
}
