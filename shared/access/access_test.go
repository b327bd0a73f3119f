package access_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"patchbay/shared/access"
	"patchbay/shared/contract"
	"patchbay/shared/principal"
)

var (
	nobody = principal.Principal{}
	ada    = principal.Principal{Subject: "ada", Issuer: "https://i.example", Scopes: []string{"read", "write"}}
	bob    = principal.Principal{Subject: "bob", Issuer: "https://i.example", Scopes: []string{"read"}}
	robot  = principal.Principal{ClientID: "robot", Issuer: "https://i.example"}
)

func TestVisible(t *testing.T) {
	t.Parallel()
	write := []string{"read", "write"}
	for _, test := range []struct {
		name                    string
		rules                   contract.Contract
		nobody, ada, bob, robot bool
	}{
		{"open", contract.Contract{}, true, true, true, true},
		{"critical", contract.Contract{Risk: contract.RiskCritical}, true, true, true, true},
		{"forbidden", contract.Contract{Risk: contract.RiskForbidden, Permissions: write}, false, false, false, false},
		{"with permissions", contract.Contract{Permissions: write}, false, true, true, true},
		{"said to be always visible", contract.Contract{Permissions: write, Visibility: contract.VisibilityAlways},
			false, true, true, true},
		{"to those who may", contract.Contract{Permissions: write, Visibility: contract.VisibilityPermitted},
			false, true, false, false},
		{"with a step-up", contract.Contract{StepUp: &contract.StepUp{MaxAgeSeconds: 1}}, false, true, true, true},
		{"to those who may, with a step-up", contract.Contract{
			Permissions: write, Visibility: contract.VisibilityPermitted, StepUp: &contract.StepUp{ACR: "mfa"},
		}, false, true, false, false},
	} {
		for who, want := range map[*principal.Principal]bool{
			&nobody: test.nobody, &ada: test.ada, &bob: test.bob, &robot: test.robot,
		} {
			if got := access.Visible(&test.rules, *who); got != want {
				t.Errorf("%s: visible to %q %q: %v", test.name, who.Subject, who.ClientID, got)
			}
		}
	}
}

func TestCheck(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_780_000_000, 500e6)
	signedIn := func(seconds int64, acr string) principal.Principal {
		p := ada
		p.AuthTime, p.ACR = now.Unix()-seconds, acr
		return p
	}
	stepUp := func(acr string, seconds int) contract.Contract {
		return contract.Contract{StepUp: &contract.StepUp{ACR: acr, MaxAgeSeconds: seconds}}
	}
	both := stepUp("mfa", 60)
	both.Permissions = []string{"admin", "read"}
	for _, test := range []struct {
		name  string
		rules contract.Contract
		who   principal.Principal
		want  access.Lack
	}{
		{"nothing needed", contract.Contract{}, robot, access.Lack{}},
		{"all scopes", contract.Contract{Permissions: []string{"write", "read"}}, ada, access.Lack{}},
		{"one missing", contract.Contract{Permissions: []string{"write", "read"}}, bob,
			access.Lack{Scopes: []string{"write"}}},
		{"all missing, in order", contract.Contract{Permissions: []string{"write", "read"}}, robot,
			access.Lack{Scopes: []string{"write", "read"}}},
		{"fresh enough", stepUp("", 60), signedIn(59, ""), access.Lack{}},
		{"too long ago", stepUp("", 60), signedIn(61, ""), access.Lack{MaxAge: true}},
		{"the second in which it ends", stepUp("", 60), signedIn(60, ""), access.Lack{MaxAge: true}},
		{"no word of a sign-in", stepUp("", 60), ada, access.Lack{MaxAge: true}},
		{"the class", stepUp("mfa", 0), signedIn(1e6, "mfa"), access.Lack{}},
		{"another class", stepUp("mfa", 0), signedIn(1, "pwd"), access.Lack{ACR: "mfa"}},
		{"a class in another case", stepUp("mfa", 0), signedIn(1, "MFA"), access.Lack{ACR: "mfa"}},
		{"no word of a class", stepUp("mfa", 0), ada, access.Lack{ACR: "mfa"}},
		{"everything", both, bob, access.Lack{Scopes: []string{"admin"}, ACR: "mfa", MaxAge: true}},
		{"a machine signs in nowhere", stepUp("", 60), robot, access.Lack{MaxAge: true}},
	} {
		got := access.Check(&test.rules, test.who, now)
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.name, diff)
		}
		if got.None() != cmp.Equal(test.want, access.Lack{}) {
			t.Errorf("%s: none %v", test.name, got.None())
		}
		if got.StepUp() != (test.want.ACR != "" || test.want.MaxAge) {
			t.Errorf("%s: step-up %v", test.name, got.StepUp())
		}
	}
}
