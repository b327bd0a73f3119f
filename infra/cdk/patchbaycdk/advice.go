package patchbaycdk

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/constructs-go/constructs/v10"
	"github.com/aws/jsii-runtime-go"

	"patchbay/shared/nearest"
)

// advise prints what is not wrong and hardly meant.
func (p *project) advise(scope constructs.Construct) {
	if p.local {
		return
	}
	for _, advice := range slices.Concat(p.outOfReach(), p.unused()) {
		awscdk.Annotations_Of(scope).AddWarningV2(jsii.String("patchbay:"+advice.id), jsii.String(advice.text), nil)
	}
}

type advice struct{ id, text string }

// outOfReach are the tools that nobody may call on a server without an authorizer.
func (p *project) outOfReach() []advice {
	var all []advice
	for _, tool := range p.tools {
		if len(tool.Contract.Permissions) == 0 || !p.stage.Anonymous {
			continue
		}
		all = append(all, advice{"permissions:" + tool.Name, fmt.Sprintf("%s asks for the permissions %s, which nobody has "+
			"on an anonymous server: every call of %s is refused",
			tool.File, strings.Join(tool.Contract.Permissions, ", "), tool.Name)})
	}
	return all
}

// unused are settings by names that no contract of the folder has, deployed or not.
func (p *project) unused() []advice {
	var secrets, variables []string
	for _, tool := range p.all {
		secrets = append(secrets, tool.Contract.Function.Secrets...)
		variables = append(variables, slices.Collect(maps.Keys(tool.Contract.Function.Environment))...)
	}
	return append(p.strange("secrets", slices.Sorted(maps.Keys(p.stage.Secrets)), secrets),
		p.strange("environment", slices.Sorted(maps.Keys(p.stage.Environment)), variables)...)
}

// strange are the names of a setting that contracts do not have.
func (p *project) strange(setting string, given, known []string) []advice {
	var all []advice
	for _, name := range given {
		if slices.Contains(known, name) {
			continue
		}
		hint := ""
		if found := nearest.Name(name, known); found != "" {
			hint = fmt.Sprintf(" (did you mean %q?)", found)
		}
		all = append(all, advice{setting + ":" + name, fmt.Sprintf("stage %q sets %q under %q, which no tool.json names%s",
			p.stage.Name, name, setting, hint)})
	}
	return all
}
