package patchbaycdk

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/constructs-go/constructs/v10"
	"github.com/aws/jsii-runtime-go"

	"patchbay/infra/cdk/settings"
	"patchbay/shared/authorization"
	"patchbay/shared/contract"
)

// ReadStage reads the settings of the stage that the command names, as in -c stage=prod, from patchbay.json; functions
// is the folder with server.json, after which a server is called that patchbay.json gives no name.
//
// The template for SAM, -c local=true, has no authorizer whatever the stage says, since the stage's authorization
// servers know no server on this machine; -c authorization=FILE gives it one, with the configuration in the file.
func ReadStage(scope constructs.Construct, file, functions string) (*settings.Stage, error) {
	name, err := contextText(scope, "stage")
	if err != nil {
		return nil, err
	}
	path := filepath.Join(functions, "server.json")
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("reading what the server says of itself: %w", err)
	}
	server, problems := contract.ParseServer(path, data)
	if server == nil {
		return nil, problems.Err()
	}
	stage, err := settings.Read(file, name, server.Name)
	if err != nil || !IsLocal(scope) {
		return stage, err
	}
	return stage, setLocalCallers(scope, stage)
}

// setLocalCallers says who may call the server that SAM runs.
func setLocalCallers(scope constructs.Construct, stage *settings.Stage) error {
	path, err := contextText(scope, "authorization")
	if err != nil {
		return err
	}
	stage.Anonymous, stage.Authorization = path == "", nil
	if path == "" {
		return nil
	}
	stage.Authorization, err = authorization.ReadFile(path)
	return err
}

// IsLocal reports whether the command asks for the template that SAM runs on this machine: -c local=true.
func IsLocal(scope constructs.Construct) bool {
	text, err := contextText(scope, "local")
	return err == nil && text == "true"
}

func contextText(scope constructs.Construct, name string) (string, error) {
	switch value := scope.Node().TryGetContext(jsii.String(name)).(type) {
	case nil:
		return "", nil
	case string:
		return value, nil
	case bool:
		return fmt.Sprint(value), nil
	default:
		return "", errors.New("the context value " + name + " is no text; write it like -c " + name + "=VALUE")
	}
}

// StackProps are the properties of a stack for a server: its name, which carries the stage, and the protection that the
// stage asks for.
func StackProps(stage *settings.Stage) *awscdk.StackProps {
	return &awscdk.StackProps{
		StackName:             jsii.String(stage.Prefix()),
		Description:           jsii.String("Patchbay: MCP tools, one Lambda function each"),
		TerminationProtection: jsii.Bool(stage.RemovalPolicy == settings.Retain),
		// The CDK's own usage report would be a resource that differs with the versions of its libraries.
		AnalyticsReporting: jsii.Bool(false),
	}
}
