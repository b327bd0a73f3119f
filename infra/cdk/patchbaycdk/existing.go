package patchbaycdk

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"
	"github.com/aws/constructs-go/constructs/v10"
	"github.com/aws/jsii-runtime-go"

	"patchbay/shared/consent"
	"patchbay/shared/contract"
)

// MaxExistingBytes is the room for existing functions in a policy that grants them one by one, each by its ARN with
// version or alias and by the one without: what the catalogue's policy for operators leaves of the 6,144 characters
// that a managed policy has. That is 11 functions with the longest names that there are, and 30 with usual ones.
const MaxExistingBytes = 4400

// existingTool returns the function of a tool that names an existing one; nil for any other. For SAM it makes the
// functions that exist in the local stack alone.
func (d *deployment) existingTool(scope constructs.Construct, tool *contract.Tool) *string {
	if tool.Contract.Function.ARN == "" {
		return nil
	}
	name, isLocal := tool.Contract.Function.Local()
	if !isLocal || !d.local {
		return jsii.String(d.existingARN(tool))
	}
	if d.existingARNs[name] == nil {
		function := d.newFunction(scope, "Existing-"+name, functionProps{
			name: existingLocal(d.stage.Prefix(), name), description: "Stands for an existing function",
			runtime: awslambda.Runtime_PROVIDED_AL2023(), handler: "bootstrap",
			dir: d.packages.Program("./" + name), memoryMB: 128, timeout: tool.Contract.Execution.TimeoutSeconds,
		})
		d.existingARNs[name] = function.CurrentVersion().FunctionArn()
	}
	return d.existingARNs[name]
}

// existingPrograms are the packages of the functions that exist in the local stack alone, where SAM is to run them.
func (p *project) existingPrograms() ([]string, error) {
	var packages []string
	if !p.local {
		return nil, nil
	}
	folder := p.existingFolder
	if folder == "" {
		folder = filepath.Join(p.module, "tests", "integration", "existing")
	}
	for _, tool := range p.tools {
		name, isLocal := tool.Contract.Function.Local()
		if !isLocal {
			continue
		}
		relative, err := filepath.Rel(p.module, filepath.Join(folder, name))
		if err != nil {
			return nil, fmt.Errorf("resolving the folder of %s: %w", tool.Contract.Function.ARN, err)
		}
		packages = append(packages, "./"+filepath.ToSlash(relative))
	}
	return packages, nil
}

// explainExisting prints, for each existing function, what its owner adds where that is another account: both sides
// must allow the call, and a resource policy belongs to one version or alias.
func (d *deployment) explainExisting(scope constructs.Construct) {
	if d.local {
		return
	}
	for _, arn := range d.existing() {
		awscdk.Annotations_Of(scope).AddInfoV2(jsii.String("patchbay:existing:"+arn),
			jsii.String(ownersCommand(arn, d.stage.Prefix())))
	}
}

func ownersCommand(arn, prefix string) string {
	server := consent.Server{Deployment: prefix, Account: "THIS_ACCOUNT", Region: "THIS_REGION"}
	return fmt.Sprintf("%s is granted to the dispatcher. If it belongs to another account than this stack, its owner "+
		"(%s) runs, after the first deploy, since Lambda refuses a role that does not exist: %s", arn,
		strings.Split(arn, ":")[4], server.Command(arn))
}
