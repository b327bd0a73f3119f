package patchbaycdk

import (
	"fmt"
	"strings"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awscloudwatch"
	"github.com/aws/jsii-runtime-go"

	"patchbay/dispatcher/metrics"
)

// metricNamespace is that of the dispatcher's own metrics, which it writes to its log in the embedded metric format.
const metricNamespace = "Patchbay"

// Statistics of CloudWatch.
const (
	sum     = "Sum"
	maximum = "Maximum"
	p50     = "p50"
	p99     = "p99"
)

// periodMinutes is the length of all periods.
const periodMinutes = 5

// measures makes the metrics of one deployment. All go by the names that the deployment gives, so that the alarms and
// the dashboard need none of the constructs.
type measures struct{ prefix, stage string }

func (m measures) dispatcher() string { return dispatcherName(m.prefix) }

func (m measures) registrar() string { return registrarName(m.prefix) }

func (m measures) authorizer() string { return authorizerName(m.prefix) }

// watchedTable is a table, and the requests that it gets.
type watchedTable struct {
	name       string
	operations []string
}

// tables are the deployment's, under the words that alarms have for them.
func (m measures) tables() map[string]watchedTable {
	return map[string]watchedTable{
		"registry": {registryTable(m.prefix), []string{"GetItem", "Query", "PutItem", "UpdateItem", "BatchWriteItem"}},
		"ledger":   {ledgerTable(m.prefix), []string{"GetItem", "PutItem", "UpdateItem", "DeleteItem"}},
		"state":    {stateTable(m.prefix), []string{"GetItem", "PutItem", "UpdateItem", "DeleteItem"}},
	}
}

// metric has no label: CloudWatch makes one of what differs between the metrics of a graph, and an alarm on a metric
// with one becomes an expression.
func metric(namespace, name, statistic string, dimensions map[string]string) awscloudwatch.IMetric {
	by := map[string]*string{}
	for key, value := range dimensions {
		by[key] = jsii.String(value)
	}
	return awscloudwatch.NewMetric(&awscloudwatch.MetricProps{
		Namespace: jsii.String(namespace), MetricName: jsii.String(name), Statistic: jsii.String(statistic),
		DimensionsMap: &by, Period: awscdk.Duration_Minutes(jsii.Number(periodMinutes)),
	})
}

func (m measures) api(name, statistic string) awscloudwatch.IMetric {
	return metric("AWS/ApiGateway", name, statistic,
		map[string]string{"ApiName": m.prefix, "Stage": m.stage})
}

func (m measures) lambda(function, name, statistic string) awscloudwatch.IMetric {
	return metric("AWS/Lambda", name, statistic, map[string]string{"FunctionName": function})
}

func (m measures) own(name, statistic string) awscloudwatch.IMetric {
	return metric(metricNamespace, name, statistic, map[string]string{metrics.DimensionDeployment: m.prefix})
}

func (m measures) refusals(reason string) awscloudwatch.IMetric {
	return metric(metricNamespace, metrics.Refusals, sum,
		map[string]string{metrics.DimensionDeployment: m.prefix, metrics.DimensionReason: reason})
}

// search finds a metric of the dispatcher under every value that a second dimension has, however many tools there are.
func (m measures) search(name, statistic, dimension string) awscloudwatch.IMetric {
	expression := fmt.Sprintf(`SEARCH('{%s,%s,%s} MetricName="%s" %[2]s="%[5]s"', '%[6]s')`,
		metricNamespace, metrics.DimensionDeployment, dimension, name, m.prefix, statistic)
	return awscloudwatch.NewMathExpression(&awscloudwatch.MathExpressionProps{
		Expression: jsii.String(expression), Label: jsii.String(""), UsingMetrics: &map[string]awscloudwatch.IMetric{},
		Period: awscdk.Duration_Minutes(jsii.Number(periodMinutes)),
	})
}

// counted is what DynamoDB counts of a table as a whole.
func (t watchedTable) counted(name string) awscloudwatch.IMetric {
	return metric("AWS/DynamoDB", name, sum, map[string]string{"TableName": t.name})
}

// throttles counts the requests that a table refused for their rate.
func (t watchedTable) throttles() awscloudwatch.IMetric {
	return total([]string{"FILL(reads, 0)", "FILL(writes, 0)"}, map[string]awscloudwatch.IMetric{
		"reads": t.counted("ReadThrottleEvents"), "writes": t.counted("WriteThrottleEvents"),
	}, "throttled")
}

// failures counts the requests that DynamoDB failed to answer, which it does by operation.
func (t watchedTable) failures() awscloudwatch.IMetric {
	var terms []string
	using := map[string]awscloudwatch.IMetric{}
	for _, operation := range t.operations {
		id := strings.ToLower(operation)
		using[id] = metric("AWS/DynamoDB", "SystemErrors", sum,
			map[string]string{"TableName": t.name, "Operation": operation})
		terms = append(terms, "FILL("+id+", 0)")
	}
	return total(terms, using, "failures")
}

func total(terms []string, using map[string]awscloudwatch.IMetric, label string) awscloudwatch.IMetric {
	return awscloudwatch.NewMathExpression(&awscloudwatch.MathExpressionProps{
		Expression: jsii.String(strings.Join(terms, " + ")), UsingMetrics: &using, Label: jsii.String(label),
		Period: awscdk.Duration_Minutes(jsii.Number(periodMinutes)),
	})
}

// errorRate is the percentage of calls that fail, of those periods that have enough of them to say so.
func (m measures) errorRate(least string) awscloudwatch.IMetric {
	return awscloudwatch.NewMathExpression(&awscloudwatch.MathExpressionProps{
		Expression: jsii.String("IF(calls >= " + least + ", 100 * FILL(errors, 0) / calls, 0)"),
		Label:      jsii.String("errors, %"),
		UsingMetrics: &map[string]awscloudwatch.IMetric{
			"calls": m.own(metrics.Calls, sum), "errors": m.own(metrics.Errors, sum),
		},
		Period: awscdk.Duration_Minutes(jsii.Number(periodMinutes)),
	})
}

// insufficient counts the calls that lacked a scope or a recent enough sign-in: those that the dispatcher refused, and
// where there is an authorizer those that it denied.
func (m measures) insufficient(authorizer bool) awscloudwatch.IMetric {
	terms := []string{"FILL(scope, 0)", "FILL(authentication, 0)"}
	using := map[string]awscloudwatch.IMetric{
		"scope":          m.refusals("insufficient_scope"),
		"authentication": m.refusals("insufficient_user_authentication"),
	}
	if authorizer {
		terms = append(terms, "FILL(denied, 0)")
		using["denied"] = m.own(metrics.Denied, sum)
	}
	return total(terms, using, "insufficient rights")
}
