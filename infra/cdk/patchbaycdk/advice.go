package patchbaycdk

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/constructs-go/constructs/v10"
	"github.com/aws/jsii-runtime-go"

	"patchbay/shared/access"
	"patchbay/shared/authorization"
	"patchbay/shared/contract"
	"patchbay/shared/nearest"
	"patchbay/shared/principal"
)

// advise prints what is not wrong and hardly meant.
func (p *project) advise(scope constructs.Construct) {
	if p.local {
		return
	}
	for _, advice := range slices.Concat(p.open(), p.hidden(), p.signIn(), p.unused()) {
		awscdk.Annotations_Of(scope).AddWarningV2(jsii.String("patchbay:"+advice.id), jsii.String(advice.text), nil)
	}
}

type advice struct{ id, text string }

// open says that a server is.
func (p *project) open() []advice {
	if !p.stage.Anonymous {
		return nil
	}
	return []advice{{"anonymous", fmt.Sprintf("stage %q is anonymous: everybody who reaches the endpoint may call its "+
		"tools; \"authorization\" in patchbay.json asks for access tokens instead", p.stage.Name)}}
}

// hidden are the tools that do not exist for anybody on a server without an authorizer.
func (p *project) hidden() []advice {
	var all []advice
	for _, tool := range p.tools {
		rules := &tool.Contract
		if !p.stage.Anonymous || access.Visible(rules, principal.Principal{}) || rules.Risk == contract.RiskForbidden {
			continue
		}
		asks := "a recent or strong sign-in"
		if len(rules.Permissions) > 0 {
			asks = "the permissions " + strings.Join(rules.Permissions, ", ")
		}
		all = append(all, advice{"permissions:" + tool.Name, fmt.Sprintf("%s asks for %s, which nobody has on an anonymous "+
			"server: %s is hidden there", tool.File, asks, tool.Name)})
	}
	return all
}

// unsuitable is what MCP clients miss in the authorization servers of some products.
// Source: MCP 2026-07-28, basic/authorization.
var unsuitable = map[authorization.Provider]string{
	authorization.ProviderCognito: "Cognito registers no clients, and its metadata does not say that it knows PKCE",
	authorization.ProviderEntra:   "Entra ID registers no clients, and its metadata does not say that it knows PKCE",
}

// refused are the issuers that MCP clients do not sign in at.
func (p *project) refused() []advice {
	config := p.stage.Authorization
	if config == nil {
		return nil
	}
	var all []advice
	for i := range config.Issuers {
		issuer := &config.Issuers[i]
		if lacks := unsuitable[issuer.Provider]; lacks != "" && issuer != config.Fronted() {
			all = append(all, advice{"issuer:" + issuer.URL, fmt.Sprintf("MCP clients refuse to sign in at %s: %s "+
				"(code_challenge_methods_supported); a \"front\" in the authorization of stage %q leads them there, and "+
				"programs with a client of their own need none", issuer.URL, lacks, p.stage.Name)})
		}
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
