package deployment

import (
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/apigateway"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/ssm"
	"github.com/google/go-cmp/cmp"

	"patchbay/infra/cdk/assembly"
	"patchbay/infra/cdk/rights"
	"patchbay/infra/cdk/settings"
	"patchbay/shared/contract"
	"patchbay/shared/handle"
	"patchbay/shared/ledger"
	"patchbay/shared/registry"
)

const examplesPrefix = "patchbay-examples"

// What the template says is there after a deployment, as an emulator that nobody here wrote understands it.
func TestDeployedExamples(t *testing.T) {
	t.Parallel()
	w, stack := start(t), examples(t)
	existing := w.existingFunction(t, "shipping-quote", "live")
	w.host(t, stack, examplesPrefix+"-registrar", "registrar", nil)
	if err := w.engine(t).Deploy(t.Context(), stack); err != nil {
		t.Fatal(err)
	}
	tools := exampleTools(t)

	t.Run("tables", func(t *testing.T) { checkTables(t, w, stack) })
	t.Run("functions", func(t *testing.T) { checkFunctions(t, w, stack, tools) })
	t.Run("logs", func(t *testing.T) { checkLogs(t, w, stack) })
	t.Run("API", func(t *testing.T) { checkAPI(t, w, examplesPrefix, map[string]string{"ANY /mcp": "NONE"}) })
	t.Run("roles as they are deployed", func(t *testing.T) {
		(&rights.Deployment{
			Stage: examplesStage(t), Stack: stack, Roles: w.roles(t, examplesPrefix), RoleOf: w.roleOf(t), Tools: tools,
			Existing: []string{existing}, Account: account, Region: region,
		}).Check(t)
	})
	t.Run("the registrar's service token", func(t *testing.T) {
		got, err := ssm.NewFromConfig(w.config).GetParameter(t.Context(), &ssm.GetParameterInput{
			Name: aws.String("/" + examplesPrefix + "/registrar"),
		})
		want := fmt.Sprintf("arn:aws:lambda:%s:%s:function:%s-registrar", region, account, examplesPrefix)
		if err != nil || *got.Parameter.Value != want {
			t.Errorf("got %+v, %v; want %s", got, err, want)
		}
	})
	t.Run("catalogue", func(t *testing.T) {
		want := map[string]string{}
		for _, tool := range tools {
			want[tool.Name] = "1"
		}
		want["quote_shipping"] = "live"
		if diff := cmp.Diff(want, w.catalogue(t, examplesPrefix)); diff != "" {
			t.Errorf("tools with the versions of their functions (-want +got)\n%s", diff)
		}
	})
}

// examplesStage is the settings that the examples were synthesized by.
func examplesStage(t *testing.T) *settings.Stage {
	t.Helper()
	return stageOf(t, "examples")
}

func stageOf(t *testing.T, name string) *settings.Stage {
	t.Helper()
	stage, err := settings.Read(filepath.Join(root, "infra", "cdk", "patchbay.json"), name, "")
	if err != nil {
		t.Fatal(err)
	}
	return stage
}

func exampleTools(t *testing.T) []*contract.Tool {
	t.Helper()
	set, problems := contract.LoadDir(filepath.Join(root, "functions"))
	if err := problems.Err(); err != nil {
		t.Fatal(err)
	}
	return set.Tools
}

// checkTables compares the tables with what the packages that use them create where there is no deployment.
func checkTables(t *testing.T, w *world, stack *assembly.Stack) {
	api := dynamodb.NewFromConfig(w.config)
	for name, want := range map[string]struct{ keys, ttl string }{
		"registry": {registry.PartitionKey + " " + registry.SortKey, ""},
		"ledger":   {ledger.PartitionKey + " " + ledger.SortKey, ledger.TTLAttribute},
		"state":    {handle.PartitionKey, handle.TTLAttribute},
	} {
		name = examplesPrefix + "-" + name
		table, err := api.DescribeTable(t.Context(), &dynamodb.DescribeTableInput{TableName: &name})
		if err != nil {
			t.Error(err)
			continue
		}
		var keys []string
		for _, key := range table.Table.KeySchema {
			keys = append(keys, *key.AttributeName)
		}
		if got := strings.Join(keys, " "); got != want.keys {
			t.Errorf("%s has the keys %s, want %s", name, got, want.keys)
		}
		if mode := table.Table.BillingModeSummary; mode == nil || mode.BillingMode != types.BillingModePayPerRequest {
			t.Errorf("%s is billed by %+v", name, mode)
		}
		ttl, err := api.DescribeTimeToLive(t.Context(), &dynamodb.DescribeTimeToLiveInput{TableName: &name})
		if err != nil || aws.ToString(ttl.TimeToLiveDescription.AttributeName) != want.ttl {
			t.Errorf("%s has the TTL %+v, %v; want %q", name, ttl, err, want.ttl)
		}
		backups, err := api.DescribeContinuousBackups(t.Context(), &dynamodb.DescribeContinuousBackupsInput{TableName: &name})
		if err != nil || backups.ContinuousBackupsDescription.PointInTimeRecoveryDescription.PointInTimeRecoveryStatus !=
			types.PointInTimeRecoveryStatusEnabled {
			t.Errorf("%s has the backups %+v, %v", name, backups, err)
		}
		if aws.ToBool(table.Table.DeletionProtectionEnabled) {
			t.Errorf("%s is protected from deletion in a stage whose data are to be deleted", name)
		}
	}
}

// checkFunctions compares functions with their contracts.
func checkFunctions(t *testing.T, w *world, stack *assembly.Stack, tools []*contract.Tool) {
	api := lambda.NewFromConfig(w.config)
	byTool := toolFunctions(t, stack)
	for _, tool := range tools {
		name, own := byTool[tool.Name]
		if !own {
			continue
		}
		got, err := api.GetFunction(t.Context(), &lambda.GetFunctionInput{FunctionName: &name, Qualifier: aws.String("1")})
		if err != nil {
			t.Errorf("%s: %v", tool.Name, err)
			continue
		}
		k, c := tool.Contract, got.Configuration
		if *c.MemorySize != int32(k.Execution.MemoryMB) || *c.Timeout != int32(k.Execution.TimeoutSeconds) {
			t.Errorf("%s has %d MB and %d s", tool.Name, *c.MemorySize, *c.Timeout)
		}
		reserved, err := api.GetFunctionConcurrency(t.Context(), &lambda.GetFunctionConcurrencyInput{FunctionName: &name})
		if err != nil || aws.ToInt32(reserved.ReservedConcurrentExecutions) != int32(k.Execution.Concurrency) {
			t.Errorf("%s reserves %+v, %v; want %d", tool.Name, reserved, err, k.Execution.Concurrency)
		}
		variables := map[string]string{}
		if c.Environment != nil {
			variables = c.Environment.Variables
		}
		checkVariables(t, tool, variables)
	}
}

// checkVariables demands what the contract names and nothing else, and of a secret only where it is.
func checkVariables(t *testing.T, tool *contract.Tool, variables map[string]string) {
	t.Helper()
	function := tool.Contract.Function
	want := slices.Collect(maps.Keys(function.Environment))
	if len(function.State) > 0 {
		want = append(want, "PATCHBAY_STATE_TABLE")
	}
	if len(function.Secrets) > 0 {
		want = append(want, "PATCHBAY_SECRETS")
	}
	slices.Sort(want)
	if diff := cmp.Diff(want, slices.Sorted(maps.Keys(variables)), cmp.Transformer("none", func(s []string) []string {
		return append([]string{}, s...)
	})); diff != "" {
		t.Errorf("%s has variables (-want +got)\n%s", tool.Name, diff)
	}
	if len(function.Secrets) == 0 {
		return
	}
	references := map[string]string{}
	if err := json.Unmarshal([]byte(variables["PATCHBAY_SECRETS"]), &references); err != nil {
		t.Fatal(err)
	}
	for _, name := range function.Secrets {
		want := fmt.Sprintf("arn:aws:secretsmanager:%s:%s:secret:%s/tools/%s", region, account, examplesPrefix, name)
		if references[name] != want || len(references) != len(function.Secrets) {
			t.Errorf("%s has its secrets in %v, want %s", tool.Name, references, want)
		}
	}
}

// toolFunctions are the names of the tools' functions by the tools' names.
func toolFunctions(t *testing.T, stack *assembly.Stack) map[string]string {
	t.Helper()
	byTool := map[string]string{}
	for _, r := range stack.Resources("AWS::Lambda::Function") {
		tags, _ := r.Properties["Tags"].([]any)
		for _, tag := range tags {
			if fields, ok := tag.(map[string]any); ok && fields["Key"] == "patchbay:tool" {
				name, err := r.Ref()
				if err != nil {
					t.Fatal(err)
				}
				byTool[fmt.Sprint(fields["Value"])] = name
			}
		}
	}
	return byTool
}

// checkLogs demands that every function has a log that ends.
func checkLogs(t *testing.T, w *world, stack *assembly.Stack) {
	api := cloudwatchlogs.NewFromConfig(w.config)
	days := map[string]int32{}
	paginator := cloudwatchlogs.NewDescribeLogGroupsPaginator(api, &cloudwatchlogs.DescribeLogGroupsInput{})
	for paginator.HasMorePages() {
		page, err := paginator.NextPage(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, group := range page.LogGroups {
			days[*group.LogGroupName] = aws.ToInt32(group.RetentionInDays)
		}
	}
	for _, r := range stack.Resources("AWS::Lambda::Function") {
		name, err := r.Ref()
		if err != nil {
			t.Fatal(err)
		}
		if days["/aws/lambda/"+name] != 30 {
			t.Errorf("the log of %s is kept for %d days, want 30", name, days["/aws/lambda/"+name])
		}
	}
}

// checkAPI follows the way of a request: the resources, their methods and how these are authorized, the function that
// they invoke, and the function's leave to be invoked. Moto keeps neither the integration's time-out nor its transfer
// mode, nor which authorizer a method has.
func checkAPI(t *testing.T, w *world, prefix string, want map[string]string) {
	api := apigateway.NewFromConfig(w.config)
	id := w.restAPI(t, api, prefix)
	resources, err := api.GetResources(t.Context(), &apigateway.GetResourcesInput{RestApiId: id})
	if err != nil {
		t.Fatal(err)
	}
	function := functionARN(prefix + "-dispatcher")
	uri := fmt.Sprintf(
		"arn:aws:apigateway:%s:lambda:path/2021-11-15/functions/%s/response-streaming-invocations", region, function)
	methods := map[string]string{}
	for _, resource := range resources.Items {
		for method := range resource.ResourceMethods {
			got, err := api.GetMethod(t.Context(), &apigateway.GetMethodInput{
				RestApiId: id, ResourceId: resource.Id, HttpMethod: &method,
			})
			if err != nil {
				t.Fatal(err)
			}
			methods[method+" "+*resource.Path] = *got.AuthorizationType
			if invoked := got.MethodIntegration; invoked == nil || *invoked.Uri != uri {
				t.Errorf("%s %s invokes %+v", method, *resource.Path, invoked)
			}
		}
	}
	if diff := cmp.Diff(want, methods); diff != "" {
		t.Errorf("methods with how they are authorized (-want +got)\n%s", diff)
	}
	w.checkInvokedBy(t, prefix+"-dispatcher", fmt.Sprintf("arn:aws:execute-api:%s:%s:%s/", region, account, *id))
}

// restAPI is the id of the API of a deployment.
func (w *world) restAPI(t *testing.T, api *apigateway.Client, name string) *string {
	t.Helper()
	apis, err := api.GetRestApis(t.Context(), &apigateway.GetRestApisInput{})
	if err != nil {
		t.Fatal(err)
	}
	for _, made := range apis.Items {
		if *made.Name == name {
			return made.Id
		}
	}
	t.Fatalf("no API has the name %s", name)
	return nil
}

func functionARN(name string) string {
	return fmt.Sprintf("arn:aws:lambda:%s:%s:function:%s", region, account, name)
}

// checkInvokedBy demands that API Gateway may invoke a function for an API.
func (w *world) checkInvokedBy(t *testing.T, function, source string) {
	t.Helper()
	policy, err := lambda.NewFromConfig(w.config).GetPolicy(t.Context(), &lambda.GetPolicyInput{FunctionName: &function})
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{"apigateway.amazonaws.com", source, "lambda:InvokeFunction"} {
		if !strings.Contains(*policy.Policy, part) {
			t.Errorf("the policy of %s does not say %s: %s", function, part, *policy.Policy)
		}
	}
}
