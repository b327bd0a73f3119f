package patchbaycdk

import (
	"maps"
	"slices"
	"strings"

	"github.com/aws/aws-cdk-go/awscdk/v2/awscloudwatch"
	"github.com/aws/aws-cdk-go/awscdk/v2/awscloudwatchactions"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssns"
	"github.com/aws/constructs-go/constructs/v10"
	"github.com/aws/jsii-runtime-go"

	"patchbay/dispatcher/metrics"
	"patchbay/infra/cdk/settings"
)

// alarmProps is what the alarms and the dashboard watch.
type alarmProps struct {
	stage *settings.Stage
	// url is that of the MCP endpoint.
	url *string
	// longestSeconds is the longest that a tool may take.
	longestSeconds int
}

// alarm is one alarm: when it rings, and what to do first.
type alarm struct {
	name string
	says string
	// book is the section of docs/operate.md; the alarm's name when it is empty.
	book string
	// first is the command to run first.
	first  string
	metric awscloudwatch.IMetric
	// threshold is the least value that is bad.
	threshold float64
	// periods is how many periods in a row must be bad; 0 is one.
	periods float64
}

// Commands that alarms name. DEPLOYMENT and URL are filled in.
const (
	showCatalogue = "catalogue show --deployment DEPLOYMENT"
	showRecord    = "ledger show RECORD --deployment DEPLOYMENT"
	showCall      = "calls REQUEST_ID --deployment DEPLOYMENT"
	smoke         = "smoke URL"
)

// minCalls is how many calls of a period make a percentage of them say something.
const minCalls = "20"

// alarms lists the alarms, what clients notice most first.
func alarms(props alarmProps) []alarm {
	m := measures{prefix: props.stage.Prefix(), stage: props.stage.Name}
	list := []alarm{
		{
			name: "api-failures", first: smoke, metric: m.api("5XXError", sum), threshold: 5,
			says: "Clients get 5xx answers: the dispatcher cannot be reached, crashes or takes too long.",
		},
		{
			name: "dispatcher-errors", first: smoke, metric: m.lambda(m.dispatcher(), "Errors", sum), threshold: 1,
			says: "The dispatcher crashed or ran into its time-out. Whatever tools do, it never should.",
		},
		{
			name: "dispatcher-throttled", first: smoke, metric: m.lambda(m.dispatcher(), "Throttles", sum), threshold: 1,
			says: "Lambda refuses to run the dispatcher: the account's concurrency is used up. A call takes two of it, " +
				"the dispatcher's and the tool's.",
		},
		{
			name: "dispatcher-slow", first: smoke, metric: m.lambda(m.dispatcher(), "Duration", maximum), periods: 3,
			threshold: 900 * float64(props.longestSeconds), // milliseconds: nine tenths
			says:      "For 15 minutes there were calls that took nearly as long as the slowest tool may take, or longer.",
		},
		{
			name: "ledger-unavailable", first: smoke, metric: m.own(metrics.LedgerUnavailable, sum), threshold: 1,
			says: "The ledger cannot be read or written: calls that must be recorded are refused before they run, and what " +
				"ran may not be recorded.",
		},
		{
			name: "outcome-unknown", first: showRecord, metric: m.own(metrics.OutcomeUnknown, sum), threshold: 1,
			says: "A call with side effects ended without anybody knowing how: its repeats are refused until somebody finds " +
				"out what it did. The audit line of the call names the record.",
		},
		{
			name: "tool-errors", first: showCatalogue, metric: m.errorRate(minCalls), threshold: 10, periods: 3,
			says: "For 15 minutes one call in ten has failed. The dashboard tells which tools; a tool can be disabled, and a " +
				"publish that broke some rolled back.",
		},
		{
			name: "refusals-insufficient", first: showCall, metric: m.insufficient(props.stage.Authorization != nil),
			threshold: 100,
			says: "Many calls are refused for want of a scope or a recent sign-in: a client was set up wrongly, or somebody " +
				"tries what they may not.",
		},
		{
			name: "registrar-errors", first: showCatalogue, metric: m.lambda(m.registrar(), "Errors", sum), threshold: 1,
			says: "The registrar crashed, ran into its time-out or could not tell CloudFormation how it ended: a deploy " +
				"waits, or has failed. A publish that it refuses is not counted: CloudFormation tells whoever deploys.",
		},
	}
	if props.stage.Authorization != nil {
		list = append(list, authorizerAlarms(m)...)
	}
	tables := m.tables()
	for _, name := range slices.Sorted(maps.Keys(tables)) {
		table := tables[name]
		list = append(list,
			alarm{
				name: name + "-throttled", book: "table-throttled", first: showCatalogue,
				metric: table.throttles(), threshold: 10,
				says: "DynamoDB refuses requests to the table " + table.name + " for their rate.",
			},
			alarm{
				name: name + "-failures", book: "table-failures", first: showCatalogue,
				metric: table.failures(), threshold: 5,
				says: "DynamoDB fails to answer requests to the table " + table.name + ".",
			})
	}
	return list
}

// slowAuthorizerMillis is below what the authorizer gives an issuer's answer, four seconds, after which it fails.
const slowAuthorizerMillis = 3000

// authorizerAlarms are those of a server that asks for tokens.
func authorizerAlarms(m measures) []alarm {
	return []alarm{
		{
			name: "authorizer-failures", first: smoke, metric: m.own(authorizerFailures, sum), threshold: 1,
			says: "Tokens could not be checked, and calls were refused for it: the authorizer crashed, took too long or was " +
				"throttled, or an issuer's keys cannot be had.",
		},
		{
			name: "authorizer-throttled", first: smoke, metric: m.lambda(m.authorizer(), "Throttles", sum), threshold: 1,
			says: "Lambda refuses to run the authorizer: the account's concurrency is used up.",
		},
		{
			name: "authorizer-slow", first: smoke, metric: m.lambda(m.authorizer(), "Duration", maximum), periods: 3,
			threshold: slowAuthorizerMillis,
			says: "For 15 minutes there were tokens that took seconds to check: an issuer is nearly too slow, or the " +
				"catalogue's table.",
		},
	}
}

// newAlarms creates the alarms. With a topic in the settings they tell it when they begin and when they end.
func newAlarms(scope constructs.Construct, props alarmProps) []awscloudwatch.IAlarm {
	watched := constructs.NewConstruct(scope, jsii.String("Alarms"))
	var action awscloudwatch.IAlarmAction
	if arn := props.stage.AlarmTopicARN; arn != "" {
		topic := awssns.Topic_FromTopicArn(watched, jsii.String("Topic"), jsii.String(arn))
		action = awscloudwatchactions.NewSnsAction(topic)
	}
	var made []awscloudwatch.IAlarm
	for _, a := range alarms(props) {
		created := newAlarm(watched, a, props)
		if action != nil {
			created.AddAlarmAction(action)
			created.AddOkAction(action)
		}
		made = append(made, created)
	}
	return made
}

// newAlarm takes missing data for no reason to ring: a deployment that nobody calls is well.
func newAlarm(scope constructs.Construct, a alarm, props alarmProps) awscloudwatch.Alarm {
	return awscloudwatch.NewAlarm(scope, jsii.String(a.name), &awscloudwatch.AlarmProps{
		AlarmName:          jsii.String(props.stage.Prefix() + "-" + a.name),
		AlarmDescription:   jsii.String(a.description(props)),
		Metric:             a.metric,
		Threshold:          jsii.Number(a.threshold),
		ComparisonOperator: awscloudwatch.ComparisonOperator_GREATER_THAN_OR_EQUAL_TO_THRESHOLD,
		EvaluationPeriods:  jsii.Number(max(a.periods, 1)),
		TreatMissingData:   awscloudwatch.TreatMissingData_NOT_BREACHING,
	})
}

// anchor is the section of docs/operate.md.
func (a alarm) anchor() string {
	if a.book != "" {
		return a.book
	}
	return a.name
}

// description is what a person who is woken reads first.
func (a alarm) description(props alarmProps) string {
	first := strings.NewReplacer("DEPLOYMENT", props.stage.Prefix(), "URL", *props.url).Replace(a.first)
	return a.says + "\nRunbook: docs/operate.md#" + a.anchor() + ". First: go tool patchbay " + first
}
