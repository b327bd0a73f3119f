package patchbaycdk

import (
	"strings"
	"testing"

	"patchbay/infra/cdk/iamsim"
	"patchbay/infra/cdk/rights"
	"patchbay/infra/cdk/settings"
)

// What every role may do and must not, by IAM's rules: for a server with a tool of each kind, and for one with so many
// that a list of them would not fit.
func TestRights(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		from  sources
		stage *settings.Stage
		made  func() *synthesized
	}{
		"a tool of each kind": {team(), parseStage(teamStage), teamServer},
		"300 tools":           {crowdSources(300), parseStage(``), threeHundred},
		"callers with tokens": {guardedTools(), parseStage(guardedStage), securedServer},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, err := test.from.load(test.stage, false)
			if err != nil {
				t.Fatal(err)
			}
			stack := test.made().Stack
			roles, err := iamsim.Roles(stack)
			if err != nil {
				t.Fatal(err)
			}
			(&rights.Deployment{
				Stage: test.stage, Stack: stack, Roles: roles, Tools: p.tools, Existing: p.existing(),
				Account: account, Region: region,
			}).Check(t)
		})
	}
}

// What tools in a stack of their own publish, the server's registrar may read and its dispatcher call: existing
// functions, too, where the server's settings name them.
func TestRightsToWhatOtherStacksPublish(t *testing.T) {
	t.Parallel()
	roles, err := iamsim.Roles(teamServer().Stack)
	if err != nil {
		t.Fatal(err)
	}
	decide := func(function, action, resource string) iamsim.Decision {
		t.Helper()
		role := teamServer().function(t, function)["Role"].(string)
		decision, err := roles[role].Decide(iamsim.Request{Action: action, Resource: resource})
		if err != nil {
			t.Fatal(err)
		}
		return decision
	}
	published := properties(t, otherTeam().Resources("Custom::PatchbayTools")[0])["Functions"].(map[string]any)
	if len(published) != 3 {
		t.Fatalf("published: %v", published)
	}
	for tool, arn := range published {
		function := arn.(string)
		for _, form := range []string{function, function[:strings.LastIndexByte(function, ':')]} {
			if got := decide("tools-prod-registrar", "lambda:GetFunctionConfiguration", form); got != iamsim.Allowed {
				t.Errorf("%s: reading %s is %s", tool, form, got)
			}
		}
		if got := decide("tools-prod-dispatcher", "lambda:InvokeFunction", function); got != iamsim.Allowed {
			t.Errorf("%s: calling %s is %s", tool, function, got)
		}
	}
}
