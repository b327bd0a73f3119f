package patchbaycdk

import (
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"patchbay/shared/gatewayresponse"
)

const apiGateway = "AWS::ApiGateway::"

func TestAPIIsRegional(t *testing.T) {
	t.Parallel()
	checkHas(t, "the API", plain().resource(t, apiGateway+"RestApi"), map[string]any{
		"Name": "tools-prod", "EndpointConfiguration": map[string]any{"Types": []any{"REGIONAL"}},
		"DisableExecuteApiEndpoint": false, "MinimumCompressionSize": nil, "BinaryMediaTypes": nil,
	})
}

// One method at one address, so that everything else is API Gateway's to refuse.
func TestOneMethodStreams(t *testing.T) {
	t.Parallel()
	resource, method := plain().resource(t, apiGateway+"Resource"), plain().resource(t, apiGateway+"Method")
	if resource["PathPart"] != "mcp" || !strings.HasSuffix(text(resource["ParentId"]), ".RootResourceId>") {
		t.Errorf("resource %v", resource)
	}
	if method["HttpMethod"] != "ANY" || method["AuthorizationType"] != "NONE" {
		t.Errorf("method %v", method)
	}
	integration := method["Integration"].(map[string]any)
	checkHas(t, "the integration", integration, map[string]any{
		"Type": "AWS_PROXY", "IntegrationHttpMethod": "POST", "ResponseTransferMode": "STREAM",
		"TimeoutInMillis": float64(1000 * testTimeout),
	})
	uri := text(integration["Uri"])
	if !strings.HasSuffix(uri, "/response-streaming-invocations") ||
		!strings.Contains(uri, "2021-11-15/functions/<Dispatcher") {
		t.Errorf("integration of %s", uri)
	}
}

// The API may invoke the dispatcher for this stage's method, and not from the console.
func TestOnePermissionToInvoke(t *testing.T) {
	t.Parallel()
	permission := plain().resource(t, "AWS::Lambda::Permission")
	source := regexp.MustCompile(
		`:execute-api:eu-west-1:123456789012:<ApiRest\w+>/<ApiRestDeploymentStageprod\w+>/\*/mcp$`)
	if got := text(permission["SourceArn"]); !source.MatchString(got) {
		t.Errorf("permission for %s", got)
	}
	checkHas(t, "the permission", permission, map[string]any{"Principal": "apigateway.amazonaws.com"})
}

func TestStage(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		front       *front
		rate, burst float64
	}{"plain": {plain(), 100, 200}, "full": {full(), 7, 9}} {
		stage := test.front.resource(t, apiGateway+"Stage")
		checkHas(t, name, stage, map[string]any{"StageName": "prod", "TracingEnabled": true})
		want := []any{map[string]any{
			"HttpMethod": "*", "ResourcePath": "/*", "DataTraceEnabled": false, "LoggingLevel": "OFF",
			"MetricsEnabled": false, "ThrottlingRateLimit": test.rate, "ThrottlingBurstLimit": test.burst,
		}}
		if diff := cmp.Diff(want, stage["MethodSettings"]); diff != "" {
			t.Errorf("%s: settings of methods (-want +got):\n%s", name, diff)
		}
	}
}

// secretive are variables of what a caller writes, or of what functions say: where secrets come from.
var secretive = regexp.MustCompile(`(?i)\.(header|querystring|body|path|input|claims|message|messagestring|user)\b|` +
	`\.error$|userAgent|authorizer\.|apiKey|caller|errorMessage|requestOverride|stageVariables|validation`)

func TestAccessLog(t *testing.T) {
	t.Parallel()
	log := plain().raw(t, "AWS::Logs::LogGroup", "LogGroupName", "/aws/apigateway/tools-prod")
	checkHas(t, "the log group", log["Properties"], map[string]any{"RetentionInDays": float64(30)})
	if log["DeletionPolicy"] != "RetainExceptOnCreate" {
		t.Errorf("the access log goes with the stack: %v", log["DeletionPolicy"])
	}
	setting := plain().resource(t, apiGateway+"Stage")["AccessLogSetting"].(map[string]any)
	if got := text(setting["DestinationArn"]); !strings.Contains(got, ":log-group:<ApiAccessLog") {
		t.Errorf("the log goes to %s", got)
	}
	var fields map[string]string
	if err := json.Unmarshal([]byte(setting["Format"].(string)), &fields); err != nil {
		t.Fatalf("the format is no JSON object of texts: %v", err)
	}
	if len(fields) != len(accessFields) {
		t.Errorf("%d fields of %d: a name comes twice", len(fields), len(accessFields))
	}
	for name, variable := range fields {
		if secretive.MatchString(variable) {
			t.Errorf("%s is %s, which may hold a secret", name, variable)
		}
	}
	for _, name := range []string{
		"requestId", "extendedRequestId", "status", "responseType", "responseLatency", "integrationLatency",
		"lambdaStatus", "lambdaRequestId", "ip", "path", "responseTransferMode", "timeToAllHeaders", "timeToFirstContent",
	} {
		if fields[name] == "" {
			t.Errorf("the log does not say %s", name)
		}
	}
	if fields["requestId"] != "$context.requestId" {
		t.Errorf("requestId is %s; the dispatcher and the answer's x-amzn-RequestId have $context.requestId",
			fields["requestId"])
	}
}

func TestGatewayResponses(t *testing.T) {
	t.Parallel()
	made := plain().resources(apiGateway + "GatewayResponse")
	byType := map[string]map[string]any{}
	for _, properties := range made {
		byType[properties["ResponseType"].(string)] = properties
	}
	all := gatewayresponse.For(gatewayresponse.Options{}).All()
	if len(byType) != len(all) {
		t.Errorf("%v; want %d types", slices.Sorted(maps.Keys(byType)), len(all))
	}
	for _, response := range all {
		want := map[string]any{
			"ResponseTemplates": map[string]any{"application/json": response.Template()},
			"StatusCode":        nil,
		}
		if response.Status != 0 {
			want["StatusCode"] = *statusCode(response.Status)
		}
		header := map[string]any{}
		for name, expression := range response.Header() {
			header["gatewayresponse.header."+name] = expression
		}
		want["ResponseParameters"] = header
		checkHas(t, response.Type, byType[response.Type], want)
	}
}

// A change of what API Gateway answers reaches clients only with a deployment of the API.
func TestGatewayResponsesAreDeployed(t *testing.T) {
	t.Parallel()
	for id := range plain().resources(apiGateway + "Deployment") {
		dependsOn := plain().byID(id)["DependsOn"].([]any)
		for response := range plain().resources(apiGateway + "GatewayResponse") {
			if !slices.Contains(dependsOn, any(response)) {
				t.Errorf("the deployment does not wait for %s", response)
			}
		}
	}
}

// The account's role for logs is set unless somebody else does, and stays when the stack goes, as other APIs need it.
func TestRoleForLogs(t *testing.T) {
	t.Parallel()
	for id := range plain().resources(apiGateway + "Account") {
		account := plain().byID(id)
		arn := text(account["Properties"].(map[string]any)["CloudWatchRoleArn"])
		made := plain().byID(strings.TrimSuffix(strings.TrimPrefix(arn, "<"), ".Arn>"))
		if account["DeletionPolicy"] != "Retain" || made["DeletionPolicy"] != "Retain" {
			t.Errorf("the role goes with the stack: %v, %v", account["DeletionPolicy"], made["DeletionPolicy"])
		}
	}
	if got := len(plain().resources(apiGateway + "Account")); got != 1 {
		t.Errorf("%d settings of the account", got)
	}
	if got := full().resources(apiGateway + "Account"); len(got) != 0 {
		t.Errorf("the setting leaves the role to others: %v", got)
	}
}

func TestDomain(t *testing.T) {
	t.Parallel()
	checkHas(t, "the API", full().resource(t, apiGateway+"RestApi"), map[string]any{"DisableExecuteApiEndpoint": true})
	checkHas(t, "the domain", full().resource(t, apiGateway+"DomainName"), map[string]any{
		"DomainName": "mcp.example.com", "EndpointConfiguration": map[string]any{"Types": []any{"REGIONAL"}},
		"RegionalCertificateArn": "arn:aws:acm:eu-west-1:123456789012:certificate/ab-1", "SecurityPolicy": "TLS_1_2",
	})
	mapping := full().resource(t, apiGateway+"BasePathMapping")
	if mapping["BasePath"] != nil || !strings.HasPrefix(text(mapping["Stage"]), "<ApiRestDeploymentStageprod") {
		t.Errorf("the domain is mapped so: %v", mapping)
	}
	record := full().resource(t, "AWS::Route53::RecordSet")
	checkHas(t, "the record", record, map[string]any{
		"HostedZoneId": "Z0123456789ABC", "Name": "mcp.example.com", "Type": "A",
	})
	target := text(record["AliasTarget"].(map[string]any)["DNSName"])
	if !strings.HasSuffix(target, ".RegionalDomainName>") {
		t.Errorf("the record points to %s", target)
	}
	if got := elsewhere().resources("AWS::Route53::RecordSet"); len(got) != 0 {
		t.Errorf("a record without a zone: %v", got)
	}
	if got := plain().resources(apiGateway + "DomainName"); len(got) != 0 {
		t.Errorf("a domain that nobody asked for: %v", got)
	}
}
