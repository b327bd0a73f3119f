// Package costmodel says what calls cost on AWS: a few prices, multiplied by what a call does. It leaves out what does
// not grow with calls or is small beside the rest, and says so.
package costmodel

import (
	"fmt"
	"math"
	"strings"
)

// Price is what AWS asks for one unit.
type Price struct {
	What string
	// USD is for Unit.
	USD    float64
	Unit   string
	Source string
}

// AsOf is when the prices were read, and Region where they hold. Others differ by up to a third.
const (
	AsOf   = "November 2026"
	Region = "us-east-1"
)

// The prices, without any free tier, in the first tier of each.
var (
	restRequest   = Price{"API Gateway, REST API", 3.50, "million requests", "aws.amazon.com/api-gateway/pricing"}
	lambdaRequest = Price{"Lambda, requests", 0.20, "million requests", "aws.amazon.com/lambda/pricing"}
	lambdaGBs     = Price{"Lambda, duration on arm64", 13.3334, "million GB-seconds", "aws.amazon.com/lambda/pricing"}
	tableWrite    = Price{"DynamoDB, on demand, writes", 0.625, "million write units of 1 KB",
		"aws.amazon.com/dynamodb/pricing/on-demand"}
	tableRead = Price{"DynamoDB, on demand, consistent reads", 0.125, "million read units of 4 KB",
		"aws.amazon.com/dynamodb/pricing/on-demand"}
	logGB     = Price{"CloudWatch Logs, ingestion", 0.50, "GB", "aws.amazon.com/cloudwatch/pricing"}
	trace     = Price{"X-Ray, traces recorded", 5.00, "million traces", "aws.amazon.com/xray/pricing"}
	outGB     = Price{"Data transfer out to the internet", 0.09, "GB", "aws.amazon.com/ec2/pricing/on-demand"}
	metric    = Price{"CloudWatch, custom metrics", 0.30, "metric and month", "aws.amazon.com/cloudwatch/pricing"}
	alarm     = Price{"CloudWatch, alarms", 0.10, "alarm and month", "aws.amazon.com/cloudwatch/pricing"}
	dashboard = Price{"CloudWatch, dashboard", 3.00, "month", "aws.amazon.com/cloudwatch/pricing"}
	keyRing   = Price{"Secrets Manager, secrets", 0.40, "secret and month", "aws.amazon.com/secrets-manager/pricing"}
)

// Prices are all of them.
func Prices() []Price {
	return []Price{restRequest, lambdaRequest, lambdaGBs, tableWrite, tableRead, logGB, trace, outGB, metric, alarm,
		dashboard, keyRing}
}

// What a call that is recorded asks of the ledger: it reads its record; it writes a lease, the result, and the record
// again. A repeat reads the record and the result. `bench` counts them.
const (
	recordedReads  = 1
	recordedWrites = 2 // beside the result
	replayReads    = 2
)

// sampled is the part of calls that X-Ray's default rule records, at more than a few calls a second.
const sampled = 0.05

// cacheHits is the part of calls that would find the authorizer's answer in API Gateway's cache, were it on: an agent
// calls several times within the five minutes that such an answer is kept by default.
const cacheHits = 0.9

// Workload is what calls are like.
type Workload struct {
	// ToolMS and ToolMB are the tool's billed duration and its memory.
	ToolMS, ToolMB float64
	// OverheadMS is how long the dispatcher runs beside the tool's duration, and DispatcherMB its memory. It waits for
	// the tool, and is billed for that.
	OverheadMS, DispatcherMB float64
	// AuthorizerMS and AuthorizerMB are the authorizer's billed duration and its memory. Lambda bills whole milliseconds.
	AuthorizerMS, AuthorizerMB float64
	// ResultKB is the size of a recorded result, compressed; LogKB what gateway, dispatcher and tool log of a call;
	// AnswerKB the size of an answer.
	ResultKB, LogKB, AnswerKB float64
	// Tools, Alarms and Secrets are how many a deployment has.
	Tools, Alarms, Secrets float64
}

// The dispatcher's metrics, see package dispatcher/metrics: so many for all calls and again for each tool; and further
// ones, of cold starts and of refusals by reason. Those that had no data in an hour are not billed for it.
const (
	metricsEach    = 7
	furtherMetrics = 13
)

// Typical is a tool that asks something else over HTTP.
func Typical() Workload {
	return Workload{
		ToolMS: 100, ToolMB: 256, OverheadMS: 15, DispatcherMB: 256, AuthorizerMS: 2, AuthorizerMB: 256,
		ResultKB: 1, LogKB: 2, AnswerKB: 4, Tools: 10, Alarms: 15, Secrets: 1,
	}
}

// Check refuses what no workload can be.
func (w Workload) Check() error {
	for name, value := range map[string]float64{
		"the tool's duration": w.ToolMS, "the tool's memory": w.ToolMB, "the dispatcher's memory": w.DispatcherMB,
		"the authorizer's duration": w.AuthorizerMS, "the authorizer's memory": w.AuthorizerMB,
	} {
		if value <= 0 {
			return fmt.Errorf("%s is %g; allowed: above 0", name, value)
		}
	}
	for name, value := range map[string]float64{
		"the dispatcher's overhead": w.OverheadMS, "the size of a result": w.ResultKB, "the size of a log": w.LogKB,
		"the size of an answer": w.AnswerKB, "the number of tools": w.Tools, "the number of alarms": w.Alarms,
		"the number of secrets": w.Secrets,
	} {
		if value < 0 {
			return fmt.Errorf("%s is %g; allowed: 0 or more", name, value)
		}
	}
	return nil
}

// Row is one line of the cost.
type Row struct {
	What string  `json:"what"`
	USD  float64 `json:"usd"`
}

// Calls is what a million calls of the tool cost, whatever its contract says.
func (w Workload) Calls() []Row {
	dispatcher := w.ToolMS + w.OverheadMS
	return []Row{
		{"API Gateway (REST)", restRequest.USD},
		{"dispatcher, requests", lambdaRequest.USD},
		{fmt.Sprintf("dispatcher, %g ms at %g MB", dispatcher, w.DispatcherMB), duration(dispatcher, w.DispatcherMB)},
		{"tool, requests", lambdaRequest.USD},
		{fmt.Sprintf("tool, %g ms at %g MB", w.ToolMS, w.ToolMB), duration(w.ToolMS, w.ToolMB)},
	}
}

// Further is what comes on top for a million calls.
func (w Workload) Further() []Row {
	authorizer := lambdaRequest.USD + duration(w.AuthorizerMS, w.AuthorizerMB)
	return []Row{
		{fmt.Sprintf("the authorizer, %g ms at %g MB, with its requests", w.AuthorizerMS, w.AuthorizerMB), authorizer},
		{
			fmt.Sprintf("what a cache of its answers would save of that, with %g %% hits; it is off", 100*cacheHits),
			-cacheHits * authorizer,
		},
		{
			fmt.Sprintf("recorded calls (idempotency), results of %g KB", w.ResultKB),
			recordedReads*tableRead.USD + (recordedWrites+units(w.ResultKB, 1))*tableWrite.USD,
		},
		{"a repeat of a recorded call, instead of the tool", replayReads * tableRead.USD},
		{fmt.Sprintf("log lines of %g KB", w.LogKB), w.LogKB * logGB.USD},
		{fmt.Sprintf("traces, %g %% of the calls", 100*sampled), sampled * trace.USD},
		{fmt.Sprintf("answers of %g KB to the internet", w.AnswerKB), w.AnswerKB * outGB.USD},
	}
}

// Monthly is what a deployment costs whatever the number of calls is.
func (w Workload) Monthly() []Row {
	metrics := metricsEach*(w.Tools+1) + furtherMetrics
	return []Row{
		{fmt.Sprintf("alarms: %g", w.Alarms), w.Alarms * alarm.USD},
		{"the dashboard", dashboard.USD},
		{fmt.Sprintf("secrets: %g", w.Secrets), w.Secrets * keyRing.USD},
		{
			fmt.Sprintf("at most, %g custom metrics of %g tools, while they are called", metrics, w.Tools),
			metrics * metric.USD,
		},
	}
}

// What a server that asks for tokens is watched by beside the others: alarms on its authorizer, and what the authorizer
// and the access log count of it.
const (
	authorizerAlarms  = 3
	authorizerMetrics = 4
)

// MonthlyFurther is what comes on top in a month.
func (w Workload) MonthlyFurther() []Row {
	return []Row{{
		fmt.Sprintf("a server that asks for tokens: alarms %d, custom metrics %d", authorizerAlarms, authorizerMetrics),
		authorizerAlarms*alarm.USD + authorizerMetrics*metric.USD,
	}}
}

// duration is a million invocations' price.
func duration(ms, mb float64) float64 { return ms / 1000 * mb / 1024 * lambdaGBs.USD }

// units is how many capacity units an item of a size takes.
func units(kb, each float64) float64 {
	whole := float64(int(kb / each))
	if whole*each < kb || whole == 0 {
		whole++
	}
	return whole
}

// Total is the sum of rows as they are shown, in whole cents, so that a reader who adds them up gets the same.
func Total(rows []Row) float64 {
	cents := 0.0
	for _, row := range rows {
		cents += math.Round(100 * row.USD)
	}
	return cents / 100
}

// Markdown is the table that the documentation shows.
func (w Workload) Markdown() string {
	var out strings.Builder
	out.WriteString("| a million calls | USD |\n|---|---:|\n")
	writeRows(&out, w.Calls(), "")
	fmt.Fprintf(&out, "| **together** | **%.2f** |\n", Total(w.Calls()))
	writeRows(&out, w.Further(), "on top: ")
	out.WriteString("\n| a month, beside its calls | USD |\n|---|---:|\n")
	writeRows(&out, w.Monthly(), "")
	fmt.Fprintf(&out, "| **together** | **%.2f** |\n", Total(w.Monthly()))
	writeRows(&out, w.MonthlyFurther(), "on top: ")
	return out.String()
}

// PricesMarkdown is the table of the inputs.
func PricesMarkdown() string {
	var out strings.Builder
	fmt.Fprintf(&out, "| price in %s, %s | USD | for a | source |\n|---|---:|---|---|\n", Region, AsOf)
	for _, price := range Prices() {
		fmt.Fprintf(&out, "| %s | %.4g | %s | %s |\n", price.What, price.USD, price.Unit, price.Source)
	}
	return out.String()
}

func writeRows(out *strings.Builder, rows []Row, before string) {
	for _, row := range rows {
		fmt.Fprintf(out, "| %s%s | %.2f |\n", before, row.What, row.USD)
	}
}
