// Package access decides what a caller may see and call, from the contract alone. The authorizer asks it early, from
// the Mcp-Name header, so that a client reads a challenge; the dispatcher asks it again for every call, from the body.
package access

import (
	"time"

	"patchbay/shared/contract"
	"patchbay/shared/principal"
)

// Visible reports whether the tool exists for the caller at all: a forbidden one for nobody, one of visibility
// "permitted" for those who have its permissions. On a server without an authorizer nobody has permissions or signs in,
// so what asks for either does not exist there.
func Visible(rules *contract.Contract, caller principal.Principal) bool {
	if rules.Risk == contract.RiskForbidden {
		return false
	}
	if caller.Anonymous() {
		return len(rules.Permissions) == 0 && rules.StepUp == nil
	}
	return rules.Visibility != contract.VisibilityPermitted || caller.Missing(rules.Permissions) == nil
}

// Lack is what a caller's token lacks for a call; the zero value lacks nothing.
type Lack struct {
	// Scopes are those that are missing, in the contract's order.
	Scopes []string
	// ACR is the authentication class that was not reached; empty when it was, or any will do.
	ACR string
	// MaxAge says that the sign-in is too long ago, or that the token does not tell when it was.
	MaxAge bool
}

// None reports whether nothing is lacking.
func (l Lack) None() bool { return l.Scopes == nil && !l.StepUp() }

// StepUp reports whether another sign-in is needed, beside scopes.
func (l Lack) StepUp() bool { return l.ACR != "" || l.MaxAge }

// Check compares the contract's permissions and step-up with the caller's token. What a token does not tell is not
// there: one without auth_time is never fresh enough (RFC 9470, section 4).
func Check(rules *contract.Contract, caller principal.Principal, now time.Time) Lack {
	lack := Lack{Scopes: caller.Missing(rules.Permissions)}
	step := rules.StepUp
	if step == nil {
		return lack
	}
	if step.ACR != "" && caller.ACR != step.ACR {
		lack.ACR = step.ACR
	}
	if step.MaxAgeSeconds > 0 {
		oldest := now.Add(-time.Duration(step.MaxAgeSeconds) * time.Second)
		lack.MaxAge = caller.AuthTime == 0 || time.Unix(caller.AuthTime, 0).Before(oldest)
	}
	return lack
}
