package patchbaycdk

import (
	"maps"
	"slices"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awscloudwatch"
	"github.com/aws/aws-cdk-go/awscdk/v2/interfaces/interfacesawscloudwatch"
	"github.com/aws/constructs-go/constructs/v10"
	"github.com/aws/jsii-runtime-go"

	"patchbay/dispatcher/metrics"
)

// newDashboard draws what the alarms watch, and what explains it. What is there for each tool is searched for, so that
// the dashboard is the same for 3 tools and for 300.
func newDashboard(
	scope constructs.Construct, props alarmProps, alarms []awscloudwatch.IAlarm,
) awscloudwatch.Dashboard {
	m := measures{prefix: props.stage.Prefix(), stage: props.stage.Name}
	rows := []*[]awscloudwatch.IWidget{{alarmStates(alarms)}}
	rows = append(rows, requestGraphs(m)...)
	if props.stage.Authorization != nil {
		rows = append(rows, authorizerGraphs(m))
	}
	rows = append(rows, toolGraphs(m)...)
	rows = append(rows, tableGraphs(m))
	return awscloudwatch.NewDashboard(scope, jsii.String("Dashboard"), &awscloudwatch.DashboardProps{
		DashboardName:   jsii.String(props.stage.Prefix()),
		DefaultInterval: awscdk.Duration_Hours(jsii.Number(3)),
		Widgets:         &rows,
	})
}

// requestGraphs draws what comes in, and what the dispatcher has to do with it.
func requestGraphs(m measures) []*[]awscloudwatch.IWidget {
	return []*[]awscloudwatch.IWidget{
		{
			graph("Requests", m.api("Count", sum), m.api("4XXError", sum), m.api("5XXError", sum)),
			graph("Latency at the gateway, ms", m.api("Latency", p50), m.api("Latency", p99),
				m.api("IntegrationLatency", p99)),
			graph("Calls of tools", m.own(metrics.Calls, sum), m.own(metrics.Errors, sum), m.own(metrics.Refusals, sum)),
		},
		{
			graph("Dispatcher", m.lambda(m.dispatcher(), "Invocations", sum), m.lambda(m.dispatcher(), "Errors", sum),
				m.lambda(m.dispatcher(), "Throttles", sum)),
			graph("Dispatcher: duration, ms", m.lambda(m.dispatcher(), "Duration", p50),
				m.lambda(m.dispatcher(), "Duration", p99), m.lambda(m.dispatcher(), "Duration", maximum)),
			graph("Dispatcher: concurrency and cold starts",
				m.lambda(m.dispatcher(), "ConcurrentExecutions", maximum), m.own(metrics.ColdStarts, sum)),
		},
	}
}

// authorizerGraphs draws the checking of tokens. To Lambda a request without a valid token is an error of the function.
func authorizerGraphs(m measures) *[]awscloudwatch.IWidget {
	return &[]awscloudwatch.IWidget{
		graph("Authorizer: errors are requests without a valid token, too",
			m.lambda(m.authorizer(), "Invocations", sum), m.lambda(m.authorizer(), "Errors", sum),
			m.lambda(m.authorizer(), "Throttles", sum)),
		graph("Authorizer: duration, ms", m.lambda(m.authorizer(), "Duration", p50),
			m.lambda(m.authorizer(), "Duration", p99), m.lambda(m.authorizer(), "Duration", maximum)),
		graph("Authorizer: refused, and not able to decide", m.own(metrics.Unauthorized, sum), m.own(metrics.Denied, sum),
			m.own(metrics.AuthorizerErrors, sum), m.own(authorizerFailures, sum)),
	}
}

// toolGraphs draws calls by tool, and what else becomes of them.
func toolGraphs(m measures) []*[]awscloudwatch.IWidget {
	return []*[]awscloudwatch.IWidget{
		{
			graph("Calls by tool", m.search(metrics.Calls, sum, metrics.DimensionTool)),
			graph("Errors by tool", m.search(metrics.Errors, sum, metrics.DimensionTool)),
			graph("Duration by tool, p99, ms", m.search(metrics.Duration, p99, metrics.DimensionTool)),
		},
		{
			graph("Refusals by reason", m.search(metrics.Refusals, sum, metrics.DimensionReason)),
			graph("Ledger: replays and what is unknown", m.own(metrics.Replays, sum), m.own(metrics.OutcomeUnknown, sum),
				m.own(metrics.LedgerUnavailable, sum)),
			graph("Registrar", m.lambda(m.registrar(), "Invocations", sum), m.lambda(m.registrar(), "Errors", sum)),
		},
	}
}

// tableGraphs draws what each table takes, and what it refuses.
func tableGraphs(m measures) *[]awscloudwatch.IWidget {
	var row []awscloudwatch.IWidget
	tables := m.tables()
	for _, name := range slices.Sorted(maps.Keys(tables)) {
		table := tables[name]
		row = append(row, graph("Table "+table.name, table.counted("ConsumedReadCapacityUnits"),
			table.counted("ConsumedWriteCapacityUnits"), table.throttles(), table.failures()))
	}
	return &row
}

// width is that of a third of the dashboard.
const width = 8

func graph(title string, shown ...awscloudwatch.IMetric) awscloudwatch.IWidget {
	return awscloudwatch.NewGraphWidget(&awscloudwatch.GraphWidgetProps{
		Title: jsii.String(title), Left: &shown, Width: jsii.Number(width),
		LeftYAxis: &awscloudwatch.YAxisProps{Min: jsii.Number(0), ShowUnits: jsii.Bool(false)},
	})
}

func alarmStates(alarms []awscloudwatch.IAlarm) awscloudwatch.IWidget {
	shown := make([]interfacesawscloudwatch.IAlarmRef, len(alarms))
	for i, a := range alarms {
		shown[i] = a
	}
	return awscloudwatch.NewAlarmStatusWidget(&awscloudwatch.AlarmStatusWidgetProps{
		Title: jsii.String("Alarms"), Alarms: &shown, Width: jsii.Number(3 * width),
	})
}
