package discovery

import (
	"context"
	"maps"
	"slices"

	"patchbay/shared/authorization"
	"patchbay/shared/contract"
)

// resourceMetadata is the protected resource metadata document. Source: RFC 9728, section 2.
type resourceMetadata struct {
	Resource             string   `json:"resource"`
	AuthorizationServers []string `json:"authorization_servers"`
	ScopesSupported      []string `json:"scopes_supported,omitempty"`
	BearerMethods        []string `json:"bearer_methods_supported"`
	Name                 string   `json:"resource_name,omitempty"`
	Documentation        string   `json:"resource_documentation,omitempty"`
}

func (ex *exchange) resourceMetadata() {
	config := ex.config
	var asking []*authorization.Issuer
	for i := range config.Authorization.Issuers {
		asking = append(asking, &config.Authorization.Issuers[i])
	}
	scopes, err := ex.scopes(ex.r.Context(), asking...)
	if err != nil {
		ex.unavailable("The tool catalogue", err)
		return
	}
	ex.document(resourceMetadata{
		Resource:             string(config.Resource),
		AuthorizationServers: ex.authorizationServers(),
		ScopesSupported:      scopes,
		BearerMethods:        []string{"header"},
		Name:                 config.Name,
		Documentation:        config.Documentation,
	})
}

// authorizationServers are those that a client may choose from. The front's comes first, in the place of the one that
// it stands for: clients take the first, and the challenge names scopes as that one wants to be asked for them.
func (ex *exchange) authorizationServers() []string {
	config := ex.config.Authorization
	fronted := config.Fronted()
	var servers []string
	if fronted != nil {
		servers = append(servers, ex.config.Resource.FrontIssuer())
	}
	for i := range config.Issuers {
		if of := &config.Issuers[i]; of != fronted {
			servers = append(servers, of.URL)
		}
	}
	return servers
}

// scopes are all that a caller may need, as clients ask each of the issuers for them, in order. Those of tools that are
// only visible to who has their scopes are among them: nobody could learn to ask for them otherwise. What a scope's
// name tells about such a tool is told to everybody.
func (h *Handler) scopes(ctx context.Context, asked ...*authorization.Issuer) ([]string, error) {
	entries, err := h.config.Catalogue.Entries(ctx)
	if err != nil {
		return nil, err
	}
	all := map[string]bool{}
	for _, entry := range entries {
		rules := &entry.Tool.Contract
		if rules.Risk == contract.RiskForbidden {
			continue
		}
		for _, scope := range rules.Permissions {
			for _, of := range asked {
				all[of.Ask(scope)] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(all)), nil
}
