package authorization

import (
	"maps"
	"slices"

	"patchbay/shared/contract"
)

// Initial are the scopes that somebody without a token is told to ask for, in the contracts' words: those that the
// configuration names, else what it takes to call the tools that everybody sees and that only read. Asking for all that
// there is would show people a consent that most of them need nothing of, and some may not give.
// Source: MCP 2026-07-28, basic/authorization#protected-resource-metadata-discovery-requirements.
func (c *Config) Initial(tools []*contract.Tool) []string {
	if c.InitialScopes != nil {
		return c.InitialScopes
	}
	scopes := map[string]bool{}
	for _, tool := range tools {
		if !initially(tool) {
			continue
		}
		for _, scope := range tool.Contract.Permissions {
			scopes[scope] = true
		}
	}
	return slices.Sorted(maps.Keys(scopes))
}

func initially(tool *contract.Tool) bool {
	rules := &tool.Contract
	readOnly := tool.Annotations.ReadOnlyHint
	return readOnly != nil && *readOnly && rules.Visibility == contract.VisibilityAlways &&
		rules.Risk != contract.RiskForbidden
}

// Asked is the issuer whose way of asking for scopes a challenge uses that is for nobody in particular: the one that is
// fronted, else the first.
func (c *Config) Asked() *Issuer {
	if fronted := c.Fronted(); fronted != nil {
		return fronted
	}
	return &c.Issuers[0]
}

// FixedChallenge is the WWW-Authenticate value of every 401, which on API Gateway is the same for all.
func (c *Config) FixedChallenge(resource Resource, tools []*contract.Tool) string {
	return Challenge{
		Scopes:           c.Asked().AskAll(c.Initial(tools)),
		ResourceMetadata: resource.MetadataURL(),
	}.String()
}

// FixedDenial is the WWW-Authenticate value of every 403 where challenges are static: it names no scopes, and leads to
// those that there are.
func FixedDenial(resource Resource) string {
	return Challenge{Error: ErrorInsufficientScope, ResourceMetadata: resource.MetadataURL()}.String()
}
