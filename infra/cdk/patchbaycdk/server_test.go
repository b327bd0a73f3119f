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
	"github.com/google/go-cmp/cmp"

	"patchbay/infra/cdk/assembly"
)

// destroyed is the team's server in a stage whose data goes with the stack.
var destroyed = sync.OnceValue(func() *synthesized {
	return synthServer(newSources().tool("plain", `{}`), parseStage(`"removalPolicy": "destroy"`), false)
})

func TestTables(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]struct {
		key []any
		ttl any
	}{
		"tools-prod-registry": {key: []any{"pk HASH", "sk RANGE"}},
		"tools-prod-ledger":   {key: []any{"pk HASH", "sk RANGE"}, ttl: "expiresAt"},
		"tools-prod-state":    {key: []any{"pk HASH"}, ttl: "expiresAt"},
	} {
		kept := teamServer().find(t, "AWS::DynamoDB::Table", "TableName", name)
		checkHas(t, name, properties(t, kept), map[string]any{
			"BillingMode":                      "PAY_PER_REQUEST",
			"DeletionProtectionEnabled":        true,
			"PointInTimeRecoverySpecification": map[string]any{"PointInTimeRecoveryEnabled": true},
			"SSESpecification":                 map[string]any{"SSEEnabled": true},
		})
		if diff := cmp.Diff(want.key, keyOf(properties(t, kept))); diff != "" {
			t.Errorf("key of %s (-want +got):\n%s", name, diff)
		}
		ttl, _ := properties(t, kept)["TimeToLiveSpecification"].(map[string]any)
		if ttl["AttributeName"] != want.ttl {
			t.Errorf("TTL of %s is %v; want %v", name, ttl, want.ttl)
		}
		checkPolicy(t, kept, "RetainExceptOnCreate", "Retain")
		gone := destroyed().find(t, "AWS::DynamoDB::Table", "TableName", name)
		checkHas(t, name, properties(t, gone), map[string]any{"DeletionProtectionEnabled": false})
		checkPolicy(t, gone, "Delete", "Delete")
	}
}

func keyOf(table map[string]any) []any {
	var key []any
	for _, element := range table["KeySchema"].([]any) {
		e := element.(map[string]any)
		key = append(key, fmt.Sprint(e["AttributeName"], " ", e["KeyType"]))
	}
	return key
}

func checkPolicy(t *testing.T, r assembly.Resource, deletion, replacement string) {
	t.Helper()
	if r.DeletionPolicy != deletion || r.UpdateReplacePolicy != replacement {
		t.Errorf("%s: deletion policy %q, update-replace policy %q; want %q, %q",
			r.ID, r.DeletionPolicy, r.UpdateReplacePolicy, deletion, replacement)
	}
}

func TestFunctionsOfTools(t *testing.T) {
	t.Parallel()
	s := teamServer()
	for tool, want := range map[string]map[string]any{
		"plain": {"Runtime": "provided.al2023", "Handler": "bootstrap", "Timeout": 5.0, "MemorySize": 128.0,
			"VpcConfig": nil, "ReservedConcurrentExecutions": nil, "Environment": nil},
		"keeps_state": {"Environment": map[string]any{"Variables": map[string]any{
			"PATCHBAY_STATE_TABLE": "tools-prod-state"}}},
		"has_secrets": {"Environment": map[string]any{"Variables": map[string]any{
			"BASE_URL": "https://base.example", "MODE": "fast",
			"PATCHBAY_SECRETS": `{"by_arn":"arn:aws:secretsmanager:eu-west-1:123456789012:secret:there-AbCdEf",` +
				`"by_default":"arn:aws:secretsmanager:eu-west-1:123456789012:secret:tools-prod/tools/by_default",` +
				`"by_parameter":"arn:aws:ssm:eu-west-1:123456789012:parameter/tools/there"}`}}},
		"in_network": {"Runtime": "python3.14", "Handler": "app.handler", "Timeout": 60.0, "MemorySize": 256.0,
			"ReservedConcurrentExecutions": 5.0, "VpcConfig": map[string]any{
				"SubnetIds":        []any{"subnet-1234567a", "subnet-1234567b"},
				"SecurityGroupIds": []any{"sg-12345678"}}},
		"in_node": {"Runtime": "nodejs24.x", "Handler": "index.handler"},
	} {
		name := s.nameOf(t, tool)
		if !strings.HasPrefix(name, "tools-prod-tool-"+strings.ReplaceAll(tool, "_", "-")+"-") {
			t.Errorf("the function of %s is called %s", tool, name)
		}
		function := s.function(t, name)
		checkHas(t, tool, function, want)
		checkHas(t, tool, function, map[string]any{
			"Architectures": []any{"arm64"}, "TracingConfig": map[string]any{"Mode": "Active"},
			"LoggingConfig": map[string]any{"LogFormat": "JSON", "LogGroup": "/aws/lambda/" + name},
		})
		log := s.find(t, "AWS::Logs::LogGroup", "LogGroupName", "/aws/lambda/"+name)
		checkHas(t, "log of "+tool, properties(t, log), map[string]any{"RetentionInDays": 90.0})
		// It would stand in the way of a tool that comes back.
		checkPolicy(t, log, "Delete", "Delete")
	}
	if n := len(s.Resources("AWS::Lambda::Function")); n != 7 {
		t.Errorf("%d functions; want those of 5 tools, the dispatcher and the registrar", n)
	}
}

func TestControlFunctions(t *testing.T) {
	t.Parallel()
	s := teamServer()
	dispatcher := s.function(t, "tools-prod-dispatcher")
	checkHas(t, "dispatcher", dispatcher, map[string]any{
		"Timeout": 80.0, // the slowest contract's 60, ten for a start, ten for the answer
		"Environment": map[string]any{"Variables": map[string]any{
			"PATCHBAY_TABLE": "tools-prod-registry", "PATCHBAY_LEDGER_TABLE": "tools-prod-ledger",
			"PATCHBAY_SEAL_KEYS_SECRET": sealKeysARN(t, s), "PATCHBAY_CACHE_TTL_MS": "60000",
			"PATCHBAY_ANSWER_WITHIN_MS": "70000", "PATCHBAY_DEPLOYMENT": "tools-prod", "PATCHBAY_METRICS": "Patchbay",
			"PATCHBAY_ORIGINS": "https://app.example",
		}},
	})
	checkHas(t, "registrar", s.function(t, "tools-prod-registrar"), map[string]any{
		"Timeout": 120.0, "Environment": map[string]any{"Variables": map[string]any{
			"PATCHBAY_TABLE": "tools-prod-registry", "PATCHBAY_MAX_CALL_SECONDS": "70", "PATCHBAY_DEPLOYMENT": "tools-prod",
			"PATCHBAY_EXISTING": "arn:aws:lambda:eu-west-1:123456789012:function:quote:live " +
				"arn:aws:lambda:eu-west-1:123456789012:function:rates:live " +
				"arn:aws:lambda:eu-west-1:210987654321:function:rates:7",
		}},
	})
	for _, name := range []string{"dispatcher", "registrar"} {
		log := s.find(t, "AWS::Logs::LogGroup", "LogGroupName", "/aws/lambda/tools-prod-"+name)
		checkPolicy(t, log, "RetainExceptOnCreate", "Retain")
		checkHas(t, name, s.function(t, "tools-prod-"+name), map[string]any{
			"Runtime": "provided.al2023", "Architectures": []any{"arm64"}, "TracingConfig": map[string]any{"Mode": "Active"},
		})
	}
}

// The dispatcher reads the first key as seal.ParseRing does, from a value that is made in the account.
func TestSealKeysAreMadeInTheAccount(t *testing.T) {
	t.Parallel()
	secret := teamServer().find(t, "AWS::SecretsManager::Secret", "Name", "tools-prod/seal-keys")
	checkHas(t, "the secret", properties(t, secret)["GenerateSecretString"], map[string]any{
		"SecretStringTemplate": `{"version":1}`, "GenerateStringKey": "generated", "PasswordLength": 64.0,
		"ExcludeUppercase": true, "ExcludePunctuation": true, "ExcludeCharacters": "ghijklmnopqrstuvwxyz",
	})
	checkPolicy(t, secret, "RetainExceptOnCreate", "Retain")
}

// What has a name that would be in the way of the next deploy goes with a first one that fails.
func TestNothingIsInTheWayOfASecondDeploy(t *testing.T) {
	t.Parallel()
	names := map[string]string{
		"AWS::DynamoDB::Table": "TableName", "AWS::Logs::LogGroup": "LogGroupName", "AWS::SecretsManager::Secret": "Name",
		"AWS::Lambda::Function": "FunctionName", "AWS::IAM::Role": "RoleName", "AWS::SSM::Parameter": "Name",
		"AWS::IAM::ManagedPolicy": "ManagedPolicyName", "AWS::CloudWatch::Alarm": "AlarmName",
	}
	seen := 0
	for _, r := range teamServer().Resources() {
		if r.Properties[names[r.Type]] == nil {
			continue
		}
		seen++
		if r.DeletionPolicy == "Retain" {
			t.Errorf("%s %v stays after a deploy that failed to make the rest", r.Type, r.Properties[names[r.Type]])
		}
	}
	if seen < 3+9+1 {
		t.Errorf("only %d things have names", seen)
	}
}

// What is protected from being deleted even then is in the commands for it.
func TestCommandsAfterAFailedFirstDeploy(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("../../../docs/operate.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(data), "\n## The first deploy failed\n")
	section, _, _ = strings.Cut(section, "\n## ")
	_, loop, _ := strings.Cut(section, "\nfor table in ")
	loop, _, _ = strings.Cut(loop, ";")
	var tables []string
	for _, r := range teamServer().Resources() {
		if r.Properties["DeletionProtectionEnabled"] != true {
			continue
		}
		switch all := properties(t, r); r.Type {
		case "AWS::DynamoDB::Table":
			tables = append(tables, strings.TrimPrefix(all["TableName"].(string), "tools-prod-"))
		case "AWS::Logs::LogGroup":
			name := strings.ReplaceAll(all["LogGroupName"].(string), "tools-prod", "P")
			if !strings.Contains(section, "put-log-group-deletion-protection --log-group-identifier "+name+" ") {
				t.Errorf("nothing is said of the log group %s", name)
			}
		default:
			t.Errorf("nothing is known of a %s that is protected", r.Type)
		}
	}
	slices.Sort(tables)
	listed := strings.Fields(loop)
	slices.Sort(listed)
	if diff := cmp.Diff(tables, listed); diff != "" {
		t.Errorf("tables (-protected +listed):\n%s", diff)
	}
	protected := *StackProps(parseStage(``)).TerminationProtection
	if protected && !strings.Contains(section, "--no-enable-termination-protection") {
		t.Error("nothing is said of the stack's protection")
	}
}

// Every tool has a version, which stays when another follows it, and goes with a deploy that fails.
func TestVersionsStay(t *testing.T) {
	t.Parallel()
	versions := teamServer().Resources("AWS::Lambda::Version")
	if len(versions) != 5 {
		t.Errorf("%d versions; want one of each tool", len(versions))
	}
	for _, version := range versions {
		checkPolicy(t, version, "RetainExceptOnCreate", "Retain")
	}
}

func TestPublication(t *testing.T) {
	t.Parallel()
	s := teamServer()
	resources := s.Resources("Custom::PatchbayTools")
	if len(resources) != 1 {
		t.Fatalf("%d publications", len(resources))
	}
	publication := properties(t, resources[0])
	checkHas(t, "the publication", publication, map[string]any{
		"ServiceToken": "arn:aws:lambda:eu-west-1:123456789012:function:tools-prod-registrar", "ServiceTimeout": "240",
	})
	functions := publication["Functions"].(map[string]any)
	want := []string{"foreign", "has_secrets", "in_network", "in_node", "keeps_state", "local_one", "plain"}
	var names []string
	for name, arn := range functions {
		names = append(names, name)
		if parts := strings.Split(arn.(string), ":"); len(parts) != 8 || parts[7] == "$LATEST" {
			t.Errorf("%s is published with %s, which has no version", name, arn)
		}
	}
	slices.Sort(names)
	if diff := cmp.Diff(want, names); diff != "" {
		t.Errorf("published tools (-want +got):\n%s", diff)
	}
	if functions["foreign"] != "arn:aws:lambda:eu-west-1:210987654321:function:rates:7" ||
		functions["local_one"] != "arn:aws:lambda:eu-west-1:123456789012:function:quote:live" {
		t.Errorf("existing functions are published as %v, %v", functions["foreign"], functions["local_one"])
	}
	if len(publication) != 4 {
		t.Errorf("the registrar refuses properties that it does not know: %v", publication)
	}
	checkCatalogue(t, s, publication["Catalogue"].(map[string]any), want)
}

// checkCatalogue reads what is uploaded.
func checkCatalogue(t *testing.T, s *synthesized, at map[string]any, want []string) {
	t.Helper()
	if at["Bucket"] != "cdk-hnb659fds-assets-123456789012-eu-west-1" {
		t.Errorf("the catalogue is in %v", at["Bucket"])
	}
	data, err := os.ReadFile(filepath.Join(s.dir, "asset."+at["Key"].(string)))
	if err != nil {
		t.Fatal(err)
	}
	var catalogue struct {
		FormatVersion int
		Tools         []struct{ Contract, File string }
	}
	if err := json.Unmarshal(data, &catalogue); err != nil {
		t.Fatal(err)
	}
	var files, wanted []string
	for _, tool := range catalogue.Tools {
		files = append(files, tool.File)
		if !strings.Contains(tool.Contract, `"inputSchema"`) {
			t.Errorf("%s has the contract %s", tool.File, tool.Contract)
		}
	}
	for _, name := range want {
		wanted = append(wanted, "functions/"+name+"/tool.json")
	}
	if diff := cmp.Diff(wanted, files); diff != "" || catalogue.FormatVersion != 1 {
		t.Errorf("catalogue of format %d (-want +got):\n%s", catalogue.FormatVersion, diff)
	}
}

// What serves the catalogue and what writes it is there before the first publish, and goes after the last.
func TestPublicationComesLast(t *testing.T) {
	t.Parallel()
	s := teamServer()
	publication := s.Resources("Custom::PatchbayTools")[0]
	raw := publication.Stack.Template["Resources"].(map[string]any)[publication.ID].(map[string]any)
	depends := fmt.Sprint(raw["DependsOn"]) + text(raw["Properties"])
	for _, want := range []string{
		s.find(t, "AWS::DynamoDB::Table", "TableName", "tools-prod-registry").ID,
		s.find(t, "AWS::Lambda::Function", "FunctionName", "tools-prod-dispatcher").ID,
		s.find(t, "AWS::Lambda::Function", "FunctionName", "tools-prod-registrar").ID,
		s.Resources("AWS::Lambda::EventInvokeConfig")[0].ID,
	} {
		if !strings.Contains(depends, want) {
			t.Errorf("the publication does not wait for %s", want)
		}
	}
	for nested := range s.Nested() {
		if data, _ := json.Marshal(raw["Properties"]); !strings.Contains(string(data), nested) {
			t.Errorf("the publication names nothing of %s", nested)
		}
	}
}

func TestRegistrarIsNotTriedAgain(t *testing.T) {
	t.Parallel()
	configs := teamServer().Resources("AWS::Lambda::EventInvokeConfig")
	if len(configs) != 1 {
		t.Fatalf("%d asynchronous settings; want the registrar's", len(configs))
	}
	checkHas(t, "the registrar", properties(t, configs[0]), map[string]any{
		"FunctionName": "tools-prod-registrar", "Qualifier": "$LATEST",
		"MaximumRetryAttempts": 0.0, "MaximumEventAgeInSeconds": 60.0,
	})
}

func TestServiceTokenIsExported(t *testing.T) {
	t.Parallel()
	parameter := teamServer().find(t, "AWS::SSM::Parameter", "Name", "/tools-prod/registrar")
	checkHas(t, "the parameter", properties(t, parameter), map[string]any{
		"Type": "String", "Value": "arn:aws:lambda:eu-west-1:123456789012:function:tools-prod-registrar",
	})
}

// Stage's longest call is what everybody goes by, where it is set.
func TestLongestCall(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		stage, execution string
		want             int
	}{
		"a fast tool":   {"", `{"timeoutSeconds": 3}`, 29},
		"a slow tool":   {"", `{"timeoutSeconds": 200}`, 210},
		"a setting":     {`"maxCallSeconds": 300`, `{"timeoutSeconds": 200}`, 300},
		"lambda's most": {"", `{"timeoutSeconds": 900}`, 900},
	} {
		p, err := newSources().tool("x", `{"execution":`+test.execution+`}`).load(parseStage(test.stage), false)
		if err != nil {
			t.Fatal(err)
		}
		if got := p.maxCallSeconds(); got != test.want {
			t.Errorf("%s: the gateway waits %d s; want %d", name, got, test.want)
		}
	}
}

// Neither cdk-nag nor the CDK's own validation, by its default rules, has anything to say.
func TestNoFindings(t *testing.T) {
	t.Parallel()
	for name, s := range map[string]*synthesized{"kept": teamServer(), "destroyed": destroyed()} {
		for _, finding := range s.findings {
			t.Errorf("%s: %s", name, finding)
		}
		if said := validation(t, s.dir); len(said) > 0 {
			t.Errorf("%s: the CDK's validation: %s", name, said)
		}
	}
}

// validation is what the CDK's own validation has reported.
func validation(t *testing.T, dir string) []json.RawMessage {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, "validation-report.json"))
	if err != nil {
		t.Fatal(err)
	}
	var report struct{ PluginReports []json.RawMessage }
	if err := json.Unmarshal(data, &report); err != nil {
		t.Fatalf("the CDK's validation: %v: %s", err, data)
	}
	return report.PluginReports
}

// A validation that does not run reports nothing either, so it is seen to run: by the same synthesis, of what is wrong.
func TestTheCDKsValidationRuns(t *testing.T) {
	t.Parallel()
	said := func() (said string) {
		defer func() { said = fmt.Sprint(recover()) }()
		synthStack(parseStage(``), func(stack awscdk.Stack) error {
			awscdk.NewCfnResource(stack, jsii.String("Wrong"), &awscdk.CfnResourceProps{
				Type: jsii.String("AWS::SQS::Queue"), Properties: &map[string]any{"DelaySeconds": "soon"},
			})
			return nil
		})
		return ""
	}()
	_, report, found := strings.Cut(said, "report can be found in: ")
	if !found {
		t.Fatalf("the synthesis says %q", said)
	}
	reports := validation(t, filepath.Dir(report))
	if len(reports) == 0 || !strings.Contains(string(reports[0]), "DelaySeconds") {
		t.Errorf("the CDK's validation: %s", reports)
	}
}

// A CDK main gets the functions by the tools' names.
func TestToolHandsOutFunctions(t *testing.T) {
	t.Parallel()
	server := teamServer().server
	want := []string{"has_secrets", "in_network", "in_node", "keeps_state", "plain"}
	if diff := cmp.Diff(want, server.ToolNames()); diff != "" {
		t.Errorf("names (-want +got):\n%s", diff)
	}
	for _, name := range want {
		if server.Tool(name) == nil {
			t.Errorf("no function of %s", name)
		}
	}
	defer func() {
		said := fmt.Sprint(recover())
		if !strings.Contains(said, `no tool "keep_state" has a function of its own here (did you mean "keeps_state"?)`) {
			t.Errorf("an unknown tool: %s", said)
		}
	}()
	server.Tool("keep_state")
}

// What an owner in another account adds is said.
func TestExistingFunctionsAreExplained(t *testing.T) {
	t.Parallel()
	got := ownersCommand("arn:aws:lambda:eu-west-1:210987654321:function:rates:7", "tools-prod")
	for _, part := range []string{
		"its owner (210987654321)", "after the first deploy",
		"aws lambda add-permission --region eu-west-1 --function-name rates --qualifier 7",
		"--action lambda:InvokeFunction", ":role/tools-prod-dispatcher-",
	} {
		if !strings.Contains(got, part) {
			t.Errorf("%q does not say %q", got, part)
		}
	}
}
