package patchbaycdk

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"patchbay/infra/cdk/settings"
	"patchbay/shared/authorization"
	"patchbay/shared/gatewayresponse"
)

// guardedTools are tools that ask for permissions: the first only reads, the second does not.
func guardedTools() sources {
	return newSources().
		tool("reads", `{"permissions": ["issues:read"]}`).
		tool("writes", `{"permissions": ["issues:write"], "risk": "medium"}`).
		tool("steps_up", `{"permissions": ["issues:admin"], "stepUp": {"maxAgeSeconds": 900}, "risk": "medium"}`).
		annotated("reads", `{"readOnlyHint": true, "openWorldHint": false}`)
}

// annotated gives a tool annotations.
func (s sources) annotated(folder, annotations string) sources {
	file := "functions/" + folder + "/tool.json"
	s[file] = strings.Replace(s[file], `"contract":`, `"annotations": `+annotations+`, "contract":`, 1)
	return s
}

const (
	cognitoIssuer = "https://cognito-idp.eu-west-1.amazonaws.com/eu-west-1_AbCdEf123"
	// guardedStage has no domain, a fronted issuer and another.
	guardedStage = `"authorization": {
		"issuers": [
			{"issuer": "` + cognitoIssuer + `", "provider": "cognito", "clientIds": ["c1"], "scopePrefix": "tools/"},
			{"issuer": "https://login.example.com"}
		],
		"front": {"issuer": "` + cognitoIssuer + `", "clientId": "c1", "redirectUris": ["https://app.example/cb"]}
	}`
	// strictStage has a domain, one issuer without a front, and challenges that are all fixed.
	strictStage = `"authorization": {"issuers": [{"issuer": "https://login.example.com"}], "challenge": "static",
			"initialScopes": ["a:b", "c"]},
		"domain": {"name": "mcp.example.com", "certificateArn": "arn:aws:acm:eu-west-1:123456789012:certificate/ab-1"}`
)

var (
	guarded = sync.OnceValue(func() *front { return synthesize(`{` + guardedStage + `}`) })
	strict  = sync.OnceValue(func() *front { return synthesize(`{` + strictStage + `}`) })
)

// method returns the properties of the method at a path.
func (f *front) method(t *testing.T, httpMethod, path string) map[string]any {
	t.Helper()
	for _, properties := range f.resources(apiGateway + "Method") {
		if properties["HttpMethod"] == httpMethod && f.path(text(properties["ResourceId"])) == path {
			return properties
		}
	}
	t.Fatalf("no method %s %s", httpMethod, path)
	return nil
}

// path is that of a resource, from a reference to it.
func (f *front) path(reference string) string {
	if strings.HasSuffix(reference, ".RootResourceId>") {
		return ""
	}
	properties := f.byID(strings.Trim(reference, "<>"))["Properties"].(map[string]any)
	return f.path(text(properties["ParentId"])) + "/" + properties["PathPart"].(string)
}

// methods are all that an API has, with how they are authorized.
func (f *front) methods() []string {
	var all []string
	for _, properties := range f.resources(apiGateway + "Method") {
		all = append(all, fmt.Sprint(properties["HttpMethod"], " ", f.path(text(properties["ResourceId"])), " ",
			properties["AuthorizationType"]))
	}
	slices.Sort(all)
	return all
}

// The endpoint alone asks for a token, but not of the request that a browser sends before its own; what leads to a
// token is open, and nothing else is there.
func TestMethodsOfAGuardedServer(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		front *front
		want  []string
	}{
		"with a front": {guarded(), []string{
			"ANY /.well-known/oauth-authorization-server NONE", "ANY /.well-known/oauth-protected-resource NONE",
			"ANY /.well-known/oauth-protected-resource/mcp NONE", "ANY /.well-known/openid-configuration NONE",
			"ANY /mcp CUSTOM", "ANY /oauth/register NONE", "OPTIONS /mcp NONE",
		}},
		"without": {strict(), []string{
			"ANY /.well-known/oauth-protected-resource NONE", "ANY /.well-known/oauth-protected-resource/mcp NONE",
			"ANY /mcp CUSTOM", "OPTIONS /mcp NONE",
		}},
		"anonymous": {plain(), []string{"ANY /mcp NONE"}},
	} {
		if diff := cmp.Diff(test.want, test.front.methods()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		integrations := map[string]bool{}
		for _, method := range test.front.resources(apiGateway + "Method") {
			encoded, err := json.Marshal(method["Integration"])
			if err != nil {
				t.Fatal(err)
			}
			integrations[string(encoded)] = true
		}
		if len(integrations) != 1 {
			t.Errorf("%s: the methods have %d integrations; want the dispatcher's alone", name, len(integrations))
		}
	}
}

// Under SAM two methods of a path that lead to the same function are told apart by a name alone.
func TestThePreflightHasAName(t *testing.T) {
	t.Parallel()
	checkHas(t, "OPTIONS /mcp", guarded().method(t, "OPTIONS", "/mcp"), map[string]any{
		"OperationName": "Preflight", "AuthorizerId": nil,
	})
}

// API Gateway asks about every request, also one without a token, and keeps no answer.
func TestRequestAuthorizer(t *testing.T) {
	t.Parallel()
	authorizers := guarded().resources(apiGateway + "Authorizer")
	if len(authorizers) != 1 {
		t.Fatalf("%d authorizers", len(authorizers))
	}
	for id, authorizer := range authorizers {
		checkHas(t, "the authorizer", authorizer, map[string]any{
			"Type": "REQUEST", "AuthorizerResultTtlInSeconds": 0.0, "Name": "tools-prod", "AuthorizerCredentials": nil,
		})
		if source, has := authorizer["IdentitySource"]; has {
			t.Errorf("the authorizer has the identity source %v: a request without it is refused unasked", source)
		}
		if uri := text(authorizer["AuthorizerUri"]); !regexp.MustCompile(
			`:lambda:path/2015-03-31/functions/<Authorizer\w+\.Arn>/invocations$`).MatchString(uri) {
			t.Errorf("the authorizer asks %s", uri)
		}
		if used := text(guarded().method(t, "ANY", "/mcp")["AuthorizerId"]); used != "<"+id+">" {
			t.Errorf("the endpoint asks %s", used)
		}
	}
	if n := len(plain().resources(apiGateway + "Authorizer")); n != 0 {
		t.Errorf("%d authorizers of an anonymous server", n)
	}
}

// Each function is invoked by API Gateway alone: the authorizer by its authorizer, the dispatcher by its methods.
func TestPermissionsOfAGuardedServer(t *testing.T) {
	t.Parallel()
	functions := regexp.MustCompile(`^<(Dispatcher|Authorizer)\w+\.Arn>$`)
	var got []string
	for _, permission := range guarded().resources("AWS::Lambda::Permission") {
		checkHas(t, "a permission", permission, map[string]any{
			"Principal": "apigateway.amazonaws.com", "Action": "lambda:InvokeFunction",
		})
		function := functions.FindStringSubmatch(text(permission["FunctionName"]))
		_, source, _ := strings.Cut(text(permission["SourceArn"]), ":execute-api:eu-west-1:123456789012:")
		if function == nil {
			t.Errorf("a permission for %s", text(permission["FunctionName"]))
			continue
		}
		got = append(got, function[1]+" "+regexp.MustCompile(`<(\w+?)[0-9A-F]{8}>`).ReplaceAllString(source, "<$1>"))
	}
	slices.Sort(got)
	const stage = "Dispatcher <ApiRest>/<ApiRestDeploymentStageprod>/"
	want := []string{
		"Authorizer <ApiRest>/authorizers/<ApiAuthorizer>",
		stage + "*/.well-known/oauth-authorization-server", stage + "*/.well-known/oauth-protected-resource",
		stage + "*/.well-known/oauth-protected-resource/mcp", stage + "*/.well-known/openid-configuration",
		stage + "*/mcp", stage + "*/oauth/register", stage + "OPTIONS/mcp",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("permissions (-want +got):\n%s", diff)
	}
}

// responseHeader is the mapping expression of a header field of a gateway response; empty for none.
func (f *front) responseHeader(kind, name string) string {
	for _, properties := range f.resources(apiGateway + "GatewayResponse") {
		if properties["ResponseType"] == kind {
			parameters := properties["ResponseParameters"].(map[string]any)
			if value, ok := parameters["gatewayresponse.header."+name]; ok {
				return text(value)
			}
		}
	}
	return ""
}

// The challenges, to the letter: by nothing else does a client find out where to sign in.
func TestChallenges(t *testing.T) {
	t.Parallel()
	const guardedMetadata = `resource_metadata="https://<ApiRest%s>.execute-api.eu-west-1.<AWS::URLSuffix>/prod` +
		`/.well-known/oauth-protected-resource/mcp"`
	unauthorized := guarded().responseHeader("UNAUTHORIZED", "WWW-Authenticate")
	id := regexp.MustCompile(`<ApiRest([0-9A-F]+)>`).FindStringSubmatch(unauthorized)
	if id == nil {
		t.Fatalf("the challenge is %s", unauthorized)
	}
	const strictMetadata = `resource_metadata="https://mcp.example.com/.well-known/oauth-protected-resource/mcp"`
	for _, test := range []struct {
		front      *front
		kind, want string
	}{
		// The permission of the tool that only reads, as the fronted issuer wants it asked for.
		{guarded(), "UNAUTHORIZED", `'Bearer ` + fmt.Sprintf(guardedMetadata, id[1]) + `, scope="tools/issues:read"'`},
		{guarded(), "EXPIRED_TOKEN", `'Bearer ` + fmt.Sprintf(guardedMetadata, id[1]) + `, scope="tools/issues:read"'`},
		{guarded(), "ACCESS_DENIED", `context.authorizer.challenge`},
		{guarded(), "AUTHORIZER_FAILURE", ""},
		{strict(), "UNAUTHORIZED", `'Bearer ` + strictMetadata + `, scope="a:b c"'`},
		{strict(), "ACCESS_DENIED", `'Bearer error="insufficient_scope", ` + strictMetadata + `'`},
		{plain(), "UNAUTHORIZED", `'Bearer'`},
		{plain(), "ACCESS_DENIED", ""},
	} {
		if got := test.front.responseHeader(test.kind, "WWW-Authenticate"); got != test.want {
			t.Errorf("%s: WWW-Authenticate: %s\nwant %s", test.kind, got, test.want)
		}
	}
	// The body names the scopes, from the same place, where they are computed.
	for f, want := range map[*front]bool{guarded(): true, strict(): false} {
		denied := f.raw(t, apiGateway+"GatewayResponse", "ResponseType", "ACCESS_DENIED")["Properties"].(map[string]any)
		if got := strings.Contains(fmt.Sprint(denied["ResponseTemplates"]), "$context.authorizer.scope"); got != want {
			t.Errorf("the body of a denial is %v", denied["ResponseTemplates"])
		}
	}
}

// A change of a challenge, of the authorizer or of a method reaches clients only with a deployment of the API.
func TestAGuardIsDeployed(t *testing.T) {
	t.Parallel()
	deployments := map[string]string{}
	for name, f := range map[string]*front{"plain": plain(), "guarded": guarded(), "strict": strict()} {
		for id := range f.resources(apiGateway + "Deployment") {
			if other := deployments[id]; other != "" {
				t.Errorf("%s and %s have the same deployment", name, other)
			}
			deployments[id] = name
			depends := fmt.Sprint(f.byID(id)["DependsOn"])
			for kind, least := range map[string]int{"Method": 1, "GatewayResponse": 20} {
				for resource := range f.resources(apiGateway + kind) {
					if !strings.Contains(depends, resource) {
						t.Errorf("%s: the deployment does not wait for %s", name, resource)
					}
					least--
				}
				if least > 0 {
					t.Errorf("%s: too few of %s", name, kind)
				}
			}
		}
	}
	if len(deployments) != 3 {
		t.Errorf("deployments %v", deployments)
	}
}

// Web pages of other origins can read the gateway's own answers where there may be such pages.
func TestGatewayResponsesAreReadable(t *testing.T) {
	t.Parallel()
	open := synthesizeOrigins()
	for name, test := range map[string]struct {
		front *front
		want  string
	}{"guarded": {guarded(), "'*'"}, "with origins": {open, "'*'"}, "neither": {plain(), ""}} {
		for _, response := range gatewayresponse.For(gatewayresponse.Options{}).All() {
			if got := test.front.responseHeader(response.Type, "Access-Control-Allow-Origin"); got != test.want {
				t.Errorf("%s: %s may be read by %q; want %q", name, response.Type, got, test.want)
			}
			exposed := test.front.responseHeader(response.Type, "Access-Control-Expose-Headers")
			if strings.Contains(exposed, "WWW-Authenticate") != (test.want != "") {
				t.Errorf("%s: %s exposes %q", name, response.Type, exposed)
			}
		}
	}
}

var synthesizeOrigins = sync.OnceValue(func() *front {
	return synthesize(`{"anonymous": true, "origins": ["https://app.example"]}`)
})

// securedServer is a server whose functions know whose tokens are taken.
var securedServer = sync.OnceValue(func() *synthesized {
	return synthServer(guardedTools(), parseStage(guardedStage), false)
})

// Nothing that the API deploys is known by something that comes before it, and all say the same of the server.
func TestFunctionsOfAGuardedServer(t *testing.T) {
	t.Parallel()
	s := securedServer()
	api, err := s.find(t, apiGateway+"RestApi", "Name", "tools-prod").Ref()
	if err != nil {
		t.Fatal(err)
	}
	resource := "https://" + api + ".execute-api.eu-west-1.amazonaws.com/prod/mcp"
	authorizer := s.function(t, "tools-prod-authorizer")
	checkHas(t, "authorizer", authorizer, map[string]any{
		"Runtime": "provided.al2023", "Handler": "bootstrap", "Architectures": []any{"arm64"}, "Timeout": 10.0,
		"MemorySize": 256.0, "ReservedConcurrentExecutions": nil, "VpcConfig": nil,
		"TracingConfig": map[string]any{"Mode": "Active"},
		"LoggingConfig": map[string]any{"LogFormat": "JSON", "LogGroup": "/aws/lambda/tools-prod-authorizer"},
		"Environment": map[string]any{"Variables": map[string]any{
			"PATCHBAY_AUTHORIZATION_FILE": "authorization.json", "PATCHBAY_RESOURCE": resource,
			"PATCHBAY_TABLE": "tools-prod-registry", "PATCHBAY_DEPLOYMENT": "tools-prod", "PATCHBAY_METRICS": "Patchbay",
		}},
	})
	log := s.find(t, "AWS::Logs::LogGroup", "LogGroupName", "/aws/lambda/tools-prod-authorizer")
	checkHas(t, "its log", properties(t, log), map[string]any{"RetentionInDays": 30.0})
	checkPolicy(t, log, "RetainExceptOnCreate", "Retain")
	dispatcher := s.function(t, "tools-prod-dispatcher")["Environment"].(map[string]any)["Variables"]
	checkHas(t, "dispatcher", dispatcher, map[string]any{
		"PATCHBAY_AUTHORIZATION_FILE": "authorization.json", "PATCHBAY_RESOURCE": resource,
	})
	anonymous := teamServer().function(t, "tools-prod-dispatcher")["Environment"].(map[string]any)["Variables"]
	for name := range anonymous.(map[string]any) {
		if strings.Contains(name, "AUTHORIZATION") || strings.Contains(name, "RESOURCE") {
			t.Errorf("the dispatcher of an anonymous server has %s", name)
		}
	}
	if _, err := authorization.ParseResource(resource); err != nil {
		t.Errorf("the functions would not take their own address: %v", err)
	}
	if s.server.Authorizer == nil || teamServer().server.Authorizer != nil {
		t.Error("the server hands out no authorizer, or one that is not there")
	}
}

// The dispatcher and the authorizer go by the configuration that was checked; other programs have none.
func TestTheConfigurationLiesBesidePrograms(t *testing.T) {
	t.Parallel()
	s := securedServer()
	stage := parseStage(guardedStage)
	for _, name := range []string{"dispatcher", "authorizer"} {
		if diff := cmp.Diff([]string{"authorization.json", "bootstrap"}, packaged(t, s, "tools-prod-"+name)); diff != "" {
			t.Errorf("package of the %s (-want +got):\n%s", name, diff)
		}
		config, err := authorization.ReadFile(filepath.Join(packageDir(t, s, "tools-prod-"+name), "authorization.json"))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(stage.Authorization, config); diff != "" {
			t.Errorf("configuration of the %s (-settings +package):\n%s", name, diff)
		}
	}
	if diff := cmp.Diff([]string{"bootstrap"}, packaged(t, s, "tools-prod-registrar")); diff != "" {
		t.Errorf("package of the registrar (-want +got):\n%s", diff)
	}
}

// A stage with a configuration leaves nothing of it in the packages of one without, or with another.
func TestConfigurationsOfStagesDoNotMix(t *testing.T) {
	t.Parallel()
	module := guardedTools().write()
	shared := sources{"bootstrap": "#!/bin/sh\n"}.write()
	dirs := map[string]string{}
	for name, stage := range map[string]*settings.Stage{
		"anonymous": parseStage(`"anonymous": true`), "guarded": parseStage(guardedStage), "strict": parseStage(strictStage),
	} {
		for range 2 { // a second synthesis finds what the first has left
			p, err := loadProject(filepath.Join(module, "functions"), stage, false)
			if err != nil {
				t.Fatal(err)
			}
			p.packages = onePackage(shared)
			if err := p.addAuthorization(); err != nil {
				t.Fatal(err)
			}
			dirs[name] = p.packages.Program(dispatcherPackage)
		}
		entries, err := os.ReadDir(dirs[name])
		if err != nil {
			t.Fatal(err)
		}
		want := 2
		if name == "anonymous" {
			want = 1
		}
		if len(entries) != want {
			t.Errorf("%s: the dispatcher's package has %v", name, entries)
		}
	}
	if dirs["anonymous"] != shared || dirs["guarded"] == dirs["strict"] {
		t.Errorf("packages %v", dirs)
	}
}

// The authorizer reads the catalogue and nothing else; and it changes nothing for the dispatcher.
func TestRoleOfTheAuthorizer(t *testing.T) {
	t.Parallel()
	s := securedServer()
	const name = "tools-prod-authorizer"
	want := append(own(name), `{"Action":["dynamodb:GetItem","dynamodb:Query"],"Resource":"`+table+`registry"}`)
	if diff := cmp.Diff(want, s.rights(t, name)); diff != "" {
		t.Errorf("rights of the authorizer (-want +got):\n%s", diff)
	}
}

func TestNoFindingsOfAGuardedServer(t *testing.T) {
	t.Parallel()
	for _, finding := range securedServer().findings {
		t.Error(finding)
	}
	if said := validation(t, securedServer().dir); len(said) > 0 {
		t.Errorf("the CDK's validation: %s", said)
	}
}

// A line of the access log says what became of the authorizer; still there is nothing in it that somebody wrote.
func TestAccessLogOfAGuardedServer(t *testing.T) {
	t.Parallel()
	setting := guarded().resource(t, apiGateway+"Stage")["AccessLogSetting"].(map[string]any)
	var fields map[string]string
	if err := json.Unmarshal([]byte(setting["Format"].(string)), &fields); err != nil {
		t.Fatalf("the format is no JSON object of texts: %v", err)
	}
	allowed := []string{"integrationStatus", "latency", "requestId", "status"}
	var got []string
	for name, variable := range fields {
		if of, ok := strings.CutPrefix(variable, "$context.authorizer."); ok {
			got = append(got, of)
		} else if secretive.MatchString(variable) {
			t.Errorf("%s is %s, which may hold a secret", name, variable)
		}
	}
	slices.Sort(got)
	if diff := cmp.Diff(allowed, got); diff != "" {
		t.Errorf("what is said of the authorizer (-want +got):\n%s", diff)
	}
	if fields["deployment"] != "tools-prod" {
		t.Errorf("the line is of the deployment %q", fields["deployment"])
	}
}

// Every way in which tokens cannot be checked is counted by the line that API Gateway writes of it.
func TestFailuresOfTheAuthorizerAreCounted(t *testing.T) {
	t.Parallel()
	filter := guarded().resource(t, "AWS::Logs::MetricFilter")
	checkHas(t, "the filter", filter, map[string]any{
		"FilterPattern": `{ $.responseType = "AUTHORIZER_FAILURE" || $.responseType = "AUTHORIZER_CONFIGURATION_ERROR" }`,
		"MetricTransformations": []any{map[string]any{
			"MetricNamespace": "Patchbay", "MetricName": "AuthorizerFailures", "MetricValue": "1",
			"Dimensions": []any{map[string]any{"Key": "deployment", "Value": "$.deployment"}},
		}},
	})
	if group := text(filter["LogGroupName"]); !strings.HasPrefix(group, "<ApiAccessLog") {
		t.Errorf("the filter reads %s", group)
	}
	if n := len(plain().resources("AWS::Logs::MetricFilter")); n != 0 {
		t.Errorf("%d filters of an anonymous server", n)
	}
}

func TestAlarmsOfAGuardedServer(t *testing.T) {
	t.Parallel()
	want := append(slices.Collect(maps.Keys(plain().alarms())),
		"authorizer-failures", "authorizer-slow", "authorizer-throttled")
	slices.Sort(want)
	if diff := cmp.Diff(want, slices.Sorted(maps.Keys(guarded().alarms()))); diff != "" {
		t.Errorf("alarms (-want +got):\n%s", diff)
	}
	function := map[string]any{"FunctionName": "tools-prod-authorizer"}
	for name, want := range map[string]struct {
		metric     string
		dimensions map[string]any
		statistic  string
		threshold  float64
	}{
		"authorizer-failures":  {"Patchbay AuthorizerFailures", map[string]any{"deployment": "tools-prod"}, "Sum", 1},
		"authorizer-throttled": {"AWS/Lambda Throttles", function, "Sum", 1},
		"authorizer-slow":      {"AWS/Lambda Duration", function, "Maximum", 3000},
	} {
		alarm := guarded().alarms()[name]
		metric, dimensions := metricOf(t, alarm)
		if diff := cmp.Diff(want.dimensions, dimensions); metric != want.metric || diff != "" {
			t.Errorf("%s watches %s, want %s (-want +got):\n%s", name, metric, want.metric, diff)
		}
		checkHas(t, name, alarm, map[string]any{"Statistic": want.statistic, "Threshold": want.threshold})
	}
	expression, metrics := parts(t, guarded().alarms()["refusals-insufficient"])
	if !strings.Contains(expression, "FILL(denied, 0)") ||
		metrics["denied"] != `Patchbay Denied {"deployment":"tools-prod"}` {
		t.Errorf("what the authorizer denies does not count as refused: %s of %v", expression, metrics)
	}
	body := text(guarded().resource(t, "AWS::CloudWatch::Dashboard")["DashboardBody"])
	if !json.Valid([]byte(body)) || !strings.Contains(body, "tools-prod-authorizer") ||
		!strings.Contains(body, `"AuthorizerFailures"`) || !strings.Contains(body, `"Unauthorized"`) {
		t.Errorf("the dashboard does not show the authorizer: %s", body)
	}
	if strings.Contains(text(plain().resource(t, "AWS::CloudWatch::Dashboard")["DashboardBody"]), "uthorizer") {
		t.Error("the dashboard of an anonymous server shows an authorizer")
	}
}

// Whoever may read the lines of a call may read the authorizer's.
func TestCallsOfAGuardedServer(t *testing.T) {
	t.Parallel()
	logs := guarded().policy(t, "calls")[0].resources
	const want = "arn:aws:logs:eu-west-1:123456789012:log-group:/aws/lambda/tools-prod-authorizer:*"
	if !slices.Contains(logs, want) || len(logs) != 4 {
		t.Errorf("calls may read %v", logs)
	}
}

// What a gateway cannot send stops the synthesis.
func TestChallengesThatCannotBeSent(t *testing.T) {
	t.Parallel()
	many := newSources()
	for i := range 200 {
		name := fmt.Sprintf("reads_%03d", i)
		many.tool(name, `{"permissions": ["a-permission-with-a-long-name:`+name+`"]}`).
			annotated(name, `{"readOnlyHint": true, "openWorldHint": false}`)
	}
	stage := parseStage(guardedStage)
	p, err := many.load(stage, false)
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		resource authorization.Resource
		want     string
	}{
		"too much": {"https://mcp.example.com/mcp", `names 200 scopes; allowed: 4096; name fewer under "initialScopes"`},
		"a quote":  {"https://mcp.example.com/o'clock/mcp", "without single quotes"},
	} {
		if _, err := newGuard(stage, test.resource, p.tools); err == nil || !strings.Contains(err.Error(), test.want) ||
			!strings.Contains(err.Error(), `stage "prod"`) {
			t.Errorf("%s: got %v, want an error that says %s", name, err, test.want)
		}
	}
}
