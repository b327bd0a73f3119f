// Command cdk is the CDK app that deploys the server of this repository: npx cdk deploy -c stage=NAME in its folder.
package main

import (
	"fmt"
	"os"

	"github.com/aws/aws-cdk-go/awscdk/v2"
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
	functions := "../../functions"
	if given, ok := app.Node().TryGetContext(jsii.String("functions")).(string); ok {
		functions = given
	}
	stage, err := patchbaycdk.ReadStage(app, "patchbay.json", functions)
	if err != nil {
		return err
	}
	stack := awscdk.NewStack(app, jsii.String(stage.Prefix()), patchbaycdk.StackProps(stage))
	if _, err := patchbaycdk.NewServer(stack, jsii.String("Patchbay"), &patchbaycdk.ServerProps{
		Stage: stage, Functions: functions, Local: patchbaycdk.IsLocal(app),
	}); err != nil {
		return err
	}
	app.Synth(nil)
	return nil
}
