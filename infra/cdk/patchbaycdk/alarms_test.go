package patchbaycdk

import (
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"patchbay/dispatcher/ratelimit"
	"patchbay/shared/handle"
	"patchbay/shared/ledger"
	"patchbay/shared/registry"
)

// alarms returns the alarms of a stack by the last part of their name.
func (f *front) alarms() map[string]map[string]any {
	found := map[string]map[string]any{}
	for _, properties := range f.resources("AWS::CloudWatch::Alarm") {
		found[strings.TrimPrefix(properties["AlarmName"].(string), "tools-prod-")] = properties
	}
	return found
}

func TestAlarms(t *testing.T) {
	t.Parallel()
	want := []string{
		"api-failures", "dispatcher-errors", "dispatcher-slow", "dispatcher-throttled", "ledger-failures",
		"ledger-throttled", "ledger-unavailable", "outcome-unknown", "refusals-insufficient", "registrar-errors",
		"registry-failures", "registry-throttled", "state-failures", "state-throttled", "tool-errors",
	}
	if diff := cmp.Diff(want, slices.Sorted(maps.Keys(plain().alarms()))); diff != "" {
		t.Errorf("alarms (-want +got):\n%s", diff)
	}
	for name, alarm := range plain().alarms() {
		checkHas(t, name, alarm, map[string]any{
			"TreatMissingData": "notBreaching", "ComparisonOperator": "GreaterThanOrEqualToThreshold",
			"AlarmActions": nil, "OKActions": nil,
		})
	}
	topic := []any{"arn:aws:sns:eu-west-1:123456789012:alarms"}
	for name, alarm := range full().alarms() {
		checkHas(t, name, alarm, map[string]any{"AlarmActions": topic, "OKActions": topic})
	}
}

// book is the last line of an alarm's description.
var book = regexp.MustCompile(`\nRunbook: docs/operate\.md#([a-z-]+)\. First: go tool patchbay (.+)$`)

// Each alarm says what to do: a section that exists, and a command that can be typed.
func TestAlarmsNameTheirRunbook(t *testing.T) {
	t.Parallel()
	commands := regexp.MustCompile(`^(smoke https://\S+/mcp|catalogue show --deployment tools-prod|` +
		`ledger show RECORD --deployment tools-prod|calls REQUEST_ID --deployment tools-prod)$`)
	for name, alarm := range guarded().alarms() {
		description := text(alarm["AlarmDescription"])
		found := book.FindStringSubmatch(description)
		if found == nil || !commands.MatchString(found[2]) {
			t.Errorf("%s: %s", name, description)
			continue
		}
		if len(description) > 900 { // CloudWatch takes 1,024, and the address becomes longer
			t.Errorf("%s: the description has %d characters", name, len(description))
		}
	}
}

// The runbooks are the sections of docs/operate.md, each for an alarm, and begin with the alarm's command.
func TestRunbooksAreTheAlarms(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("../../../docs/operate.md")
	if err != nil {
		t.Fatal(err)
	}
	_, books, _ := strings.Cut(string(data), "\n## Runbooks\n")
	books, _, _ = strings.Cut(books, "\n## ")
	want := map[string]string{}
	section := regexp.MustCompile("\n### (\\S+)\n\nFirst: `go tool patchbay ([^`]+)`")
	for _, found := range section.FindAllStringSubmatch(books, -1) {
		want[found[1]] = found[2]
	}
	got := map[string]string{}
	for _, alarm := range guarded().alarms() { // all that there can be
		found := book.FindStringSubmatch(text(alarm["AlarmDescription"]))
		command := strings.ReplaceAll(found[2], "tools-prod", "P")
		got[found[1]] = regexp.MustCompile(`https://\S+`).ReplaceAllString(command, "URL")
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the runbooks in docs/operate.md and the alarms (-runbooks +alarms):\n%s", diff)
	}
}

// The commands are those of the program, with the flags that they are named with.
func TestAlarmsNameCommandsThatExist(t *testing.T) {
	t.Parallel()
	program := filepath.Join(t.TempDir(), "patchbay")
	if out, err := exec.Command("go", "build", "-o", program, "patchbay/scripts/patchbay").CombinedOutput(); err != nil {
		t.Fatalf("building the program: %v\n%s", err, out)
	}
	for _, command := range []string{showCatalogue, showRecord, showCall, smoke} {
		words, flag := []string{}, ""
		for _, word := range strings.Fields(command) {
			switch {
			case strings.HasPrefix(word, "--"):
				flag = word
			case word == strings.ToLower(word):
				words = append(words, word)
			}
		}
		help, err := exec.Command(program, append(words, "--help")...).CombinedOutput()
		if err != nil || !strings.Contains(string(help), "patchbay "+strings.Join(words, " ")+" ") ||
			!strings.Contains(string(help), flag) {
			t.Errorf("%s: %v\n%s", command, err, help)
		}
	}
}

// metricOf is the namespace, name and dimensions of an alarm on one metric.
func metricOf(t *testing.T, properties map[string]any) (name string, dimensions map[string]any) {
	t.Helper()
	namespace, _ := properties["Namespace"].(string)
	metricName, _ := properties["MetricName"].(string)
	dimensions = map[string]any{}
	list, _ := properties["Dimensions"].([]any)
	for _, d := range list {
		dimension := d.(map[string]any)
		dimensions[dimension["Name"].(string)] = dimension["Value"]
	}
	return namespace + " " + metricName, dimensions
}

func TestAlarmsOfOneMetric(t *testing.T) {
	t.Parallel()
	function := func(name string) map[string]any { return map[string]any{"FunctionName": "tools-prod-" + name} }
	deployment := map[string]any{"deployment": "tools-prod"}
	stage := map[string]any{"ApiName": "tools-prod", "Stage": "prod"}
	for name, want := range map[string]struct {
		metric     string
		dimensions map[string]any
		statistic  string
		threshold  float64
	}{
		"api-failures":         {"AWS/ApiGateway 5XXError", stage, "Sum", 5},
		"dispatcher-errors":    {"AWS/Lambda Errors", function("dispatcher"), "Sum", 1},
		"dispatcher-throttled": {"AWS/Lambda Throttles", function("dispatcher"), "Sum", 1},
		"dispatcher-slow":      {"AWS/Lambda Duration", function("dispatcher"), "Maximum", 0.9 * 1000 * testTimeout},
		"registrar-errors":     {"AWS/Lambda Errors", function("registrar"), "Sum", 1},
		"ledger-unavailable":   {"Patchbay LedgerUnavailable", deployment, "Sum", 1},
		"outcome-unknown":      {"Patchbay OutcomeUnknown", deployment, "Sum", 1},
	} {
		alarm := plain().alarms()[name]
		metric, dimensions := metricOf(t, alarm)
		if diff := cmp.Diff(want.dimensions, dimensions); metric != want.metric || diff != "" {
			t.Errorf("%s watches %s, want %s (-want +got):\n%s", name, metric, want.metric, diff)
		}
		checkHas(t, name, alarm, map[string]any{
			"Statistic": want.statistic, "Threshold": want.threshold, "Period": float64(300),
		})
	}
}

// A tool that takes as long as its contract lets it rings the alarm, however long the dispatcher itself may run.
func TestSlowToolsRingAnAlarm(t *testing.T) {
	t.Parallel()
	alarm := properties(t, teamServer().find(t, "AWS::CloudWatch::Alarm", "AlarmName", "tools-prod-dispatcher-slow"))
	// The slowest contract's 60 seconds, in milliseconds.
	if threshold := alarm["Threshold"].(float64); threshold >= 60_000 || threshold < 50_000 {
		t.Errorf("the alarm rings from %v ms on", threshold)
	}
	for name, test := range map[string]struct {
		stage string
		want  int
	}{
		"its own tools":            {"", 200},
		"slower ones of elsewhere": {`"maxCallSeconds": 300`, 300},
	} {
		p, err := newSources().tool("fast", `{}`).tool("slow", `{"execution":{"timeoutSeconds":200}}`).
			load(parseStage(test.stage), false)
		if err != nil {
			t.Fatal(err)
		}
		if got := p.longestSeconds(); got != test.want {
			t.Errorf("%s: the slowest tool takes %d s; want %d", name, got, test.want)
		}
	}
}

// parts returns an alarm's expression and the metrics in it by id.
func parts(t *testing.T, properties map[string]any) (expression string, metrics map[string]string) {
	t.Helper()
	metrics = map[string]string{}
	for _, m := range properties["Metrics"].([]any) {
		query := m.(map[string]any)
		if e, ok := query["Expression"].(string); ok {
			expression = e
			continue
		}
		name, dimensions := metricOf(t, query["MetricStat"].(map[string]any)["Metric"].(map[string]any))
		encoded, err := json.Marshal(dimensions)
		if err != nil {
			t.Fatal(err)
		}
		metrics[query["Id"].(string)] = name + " " + string(encoded)
	}
	return expression, metrics
}

func TestAlarmsOfSeveralMetrics(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]struct {
		expression string
		metrics    map[string]string
	}{
		"tool-errors": {"IF(calls >= 20, 100 * FILL(errors, 0) / calls, 0)", map[string]string{
			"calls":  `Patchbay Calls {"deployment":"tools-prod"}`,
			"errors": `Patchbay Errors {"deployment":"tools-prod"}`,
		}},
		"refusals-insufficient": {"FILL(scope, 0) + FILL(authentication, 0)", map[string]string{
			"scope":          `Patchbay Refusals {"deployment":"tools-prod","reason":"insufficient_scope"}`,
			"authentication": `Patchbay Refusals {"deployment":"tools-prod","reason":"insufficient_user_authentication"}`,
		}},
		"ledger-throttled": {"FILL(reads, 0) + FILL(writes, 0)", map[string]string{
			"reads":  `AWS/DynamoDB ReadThrottleEvents {"TableName":"tools-prod-ledger"}`,
			"writes": `AWS/DynamoDB WriteThrottleEvents {"TableName":"tools-prod-ledger"}`,
		}},
	} {
		expression, metrics := parts(t, plain().alarms()[name])
		if diff := cmp.Diff(want.metrics, metrics); expression != want.expression || diff != "" {
			t.Errorf("%s watches %s, want %s (-want +got):\n%s", name, expression, want.expression, diff)
		}
	}
}

// DynamoDB counts its failures by operation; every operation that the code can use is watched.
func TestEveryOperationIsWatched(t *testing.T) {
	t.Parallel()
	for name, uses := range map[string][]reflect.Type{
		"registry": {reflect.TypeFor[registry.DB]()},
		"ledger":   {reflect.TypeFor[ledger.DB](), reflect.TypeFor[ratelimit.DB]()},
		"state":    {reflect.TypeFor[handle.DB]()},
	} {
		expression, metrics := parts(t, plain().alarms()[name+"-failures"])
		for _, use := range uses {
			for i := range use.NumMethod() {
				operation := use.Method(i).Name
				id := strings.ToLower(operation)
				if !strings.Contains(metrics[id], `"Operation":"`+operation+`"`) ||
					!strings.Contains(expression, "FILL("+id+", 0)") {
					t.Errorf("the failures of %s in table %s are not watched: %s of %v", operation, name, expression, metrics)
				}
			}
		}
	}
}

func TestDashboard(t *testing.T) {
	t.Parallel()
	properties := plain().resource(t, "AWS::CloudWatch::Dashboard")
	body := text(properties["DashboardBody"])
	if properties["DashboardName"] != "tools-prod" || !json.Valid([]byte(body)) {
		t.Fatalf("dashboard %v", properties)
	}
	for _, want := range []string{
		`SEARCH('{Patchbay,deployment,tool} MetricName=\"Calls\" deployment=\"tools-prod\"', 'Sum')`,
		`SEARCH('{Patchbay,deployment,tool} MetricName=\"Errors\" deployment=\"tools-prod\"', 'Sum')`,
		`SEARCH('{Patchbay,deployment,tool} MetricName=\"Duration\" deployment=\"tools-prod\"', 'p99')`,
		`SEARCH('{Patchbay,deployment,reason} MetricName=\"Refusals\" deployment=\"tools-prod\"', 'Sum')`,
		`"Replays"`, `"OutcomeUnknown"`, `"LedgerUnavailable"`, `"ColdStarts"`, `"ConcurrentExecutions"`,
		`"4XXError"`, `"5XXError"`, `"ConsumedReadCapacityUnits"`, `"ConsumedWriteCapacityUnits"`,
		`tools-prod-registry`, `tools-prod-ledger`, `tools-prod-state`,
	} {
		if !strings.Contains(body, want) {
			t.Errorf("the dashboard does not show %s", want)
		}
	}
	for id := range plain().resources("AWS::CloudWatch::Alarm") {
		if !strings.Contains(body, `"<`+id+`.Arn>"`) {
			t.Errorf("the dashboard does not show the alarm %s", id)
		}
	}
}
