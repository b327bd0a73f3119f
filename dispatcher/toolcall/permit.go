package toolcall

import (
	"fmt"
	"strings"

	"patchbay/shared/access"
)

// authorize checks the caller's scopes and sign-in against the contract. The authorizer has done so already for whoever
// named the tool in Mcp-Name; what is found here alone cannot be a challenge any more, so the answer says in words all
// that the challenge would have: everything the call needs, in one go. The caller may see the tool, so it may be told.
func (c *call) authorize() reply {
	rules := &c.entry.Tool.Contract
	lack := access.Check(rules, c.Principal, c.now())
	switch {
	case lack.None():
		return nil
	case lack.Scopes == nil:
		return c.toolError(outcomeStepUp, "Calling %s needs %s. Nothing has run. Sign in again and repeat the call.",
			c.Params.Name, c.signIn(lack))
	case !lack.StepUp():
		return c.toolError(outcomeForbidden, "Calling %s needs the OAuth scopes: %s. This caller lacks: %s. Nothing has "+
			"run. Sign in again with all of them, or ask an operator to grant them.",
			c.Params.Name, c.asked(rules.Permissions), c.asked(lack.Scopes))
	}
	return c.toolError(outcomeForbidden, "Calling %s needs the OAuth scopes: %s. This caller lacks: %s. It also needs "+
		"%s. Nothing has run. Sign in again with all of that, or ask an operator to grant it.",
		c.Params.Name, c.asked(rules.Permissions), c.asked(lack.Scopes), c.signIn(lack))
}

// asked are scopes as the caller's client asks its issuer for them.
func (c *call) asked(scopes []string) string {
	if c.Ask != nil {
		scopes = c.Ask(c.Principal.Issuer, scopes)
	}
	return strings.Join(scopes, " ")
}

// signIn names what a sign-in must be, with the parameters of an authorization request that ask for it.
// Source: RFC 9470, section 3.
func (c *call) signIn(lack access.Lack) string {
	var wants []string
	if lack.ACR != "" {
		wants = append(wants, fmt.Sprintf("the authentication class %q (acr_values)", lack.ACR))
	}
	if lack.MaxAge {
		wants = append(wants, fmt.Sprintf("a sign-in at most %d seconds ago (max_age)",
			c.entry.Tool.Contract.StepUp.MaxAgeSeconds))
	}
	return strings.Join(wants, " and ")
}
