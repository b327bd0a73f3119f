package patchbaycdk

import (
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
