// Command infra is the CDK app of this repository: the MCP server, and beside it what is the team's own.
package main

import (
	"fmt"
	"os"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awscloudwatch"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsdynamodb"
	"github.com/aws/constructs-go/constructs/v10"
	"github.com/aws/jsii-runtime-go"

	"patchbay/infra/cdk/patchbaycdk"
)

func main() {
	err := synth()
	jsii.Close()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func synth() error {
	app := awscdk.NewApp(nil)
	const functions = "../functions"
	stage, err := patchbaycdk.ReadStage(app, "patchbay.json", functions)
	if err != nil {
		return err
	}
	stack := awscdk.NewStack(app, jsii.String(stage.Prefix()), patchbaycdk.StackProps(stage))
	server, err := patchbaycdk.NewServer(stack, jsii.String("Patchbay"), &patchbaycdk.ServerProps{
		Stage: stage, Functions: functions, Local: patchbaycdk.IsLocal(app),
	})
	if err != nil {
		return err
	}
	addPrices(stack, stage.Prefix(), server)
	app.Synth(nil)
	return nil
}

// addPrices creates the price list, which the tool may read, and an alarm on the tool.
func addPrices(stack constructs.Construct, prefix string, server *patchbaycdk.Server) {
	tool := server.Tool("quote_price")
	prices := awsdynamodb.NewTable(stack, jsii.String("Prices"), &awsdynamodb.TableProps{
		TableName:    jsii.String(prefix + "-prices"),
		PartitionKey: &awsdynamodb.Attribute{Name: jsii.String("sku"), Type: awsdynamodb.AttributeType_STRING},
		BillingMode:  awsdynamodb.BillingMode_PAY_PER_REQUEST,
	})
	prices.Grant(tool, jsii.String("dynamodb:GetItem"))
	tool.AddEnvironment(jsii.String("PRICES_TABLE"), prices.TableName(), nil)
	tool.MetricErrors(nil).CreateAlarm(stack, jsii.String("QuotesFail"), &awscloudwatch.CreateAlarmOptions{
		AlarmDescription:  jsii.String("Somebody asks for prices and gets none; see the tool's log"),
		EvaluationPeriods: jsii.Number(1),
		Threshold:         jsii.Number(5),
		TreatMissingData:  awscloudwatch.TreatMissingData_NOT_BREACHING,
	})
}
