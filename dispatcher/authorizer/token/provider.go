package token

import (
	"slices"
	"strings"

	"patchbay/shared/authorization"
	"patchbay/shared/contract"
)

// rules are how a provider's access tokens are told from its other tokens, and where they say what.
type rules struct {
	// types are the values of the header's "typ" that access tokens have, without "application/"; "" for none.
	types []string
	// client are the claims that name the client, the provider's own first.
	client []string
	// scope are the claims that grant scopes.
	scope []string
	// bare says that tokens carry scopes without the prefix with which clients ask for them.
	bare bool
	// kind refuses a token that is no access token by a claim; nil where the header tells.
	kind func(claims, *authorization.Issuer) Reason
}

// providers are the rules of each, by the product's own sources, which are named beside it. docs/authorization.md says
// what was tried with the product itself.
var providers = map[authorization.Provider]*rules{
	// RFC 9068: the type of the header tells an access token from everything else, and the claims are those of section
	// 2.2.
	authorization.ProviderGeneric: {
		types: []string{"at+jwt"}, client: []string{"client_id", "azp"}, scope: []string{"scope", "scp"},
	},
	// Amazon Cognito Developer Guide, "Understanding the access token": a header without typ; token_use; aud only where
	// a resource was asked for; scopes as <resource server>/<scope>.
	authorization.ProviderCognito: {
		types: []string{"", "jwt", "at+jwt"}, client: []string{"client_id"}, scope: []string{"scope"},
		kind: cognito,
	},
	// Microsoft identity platform, "Access token claims reference": typ JWT always; scp for a person's delegated scopes,
	// separated by spaces and without the application's URI; roles for applications; azp in version 2.0, appid in 1.0.
	authorization.ProviderEntra: {
		types: []string{"jwt", "at+jwt"}, client: []string{"azp", "appid"}, scope: []string{"scp"},
		bare: true, kind: entra,
	},
	// Auth0, "Access Token Profiles": typ JWT and azp, or at+jwt and client_id, by the API's profile. The claim
	// permissions is what a person may, whatever the client asked for, so it grants nothing here; scope is what was asked
	// for and, with RBAC, what the person may of it.
	authorization.ProviderAuth0: {
		types: []string{"jwt", "at+jwt"}, client: []string{"client_id", "azp"}, scope: []string{"scope"}, kind: auth0,
	},
	// Okta, "OpenID Connect & OAuth 2.0 API", access token payload: cid, uid for a person, scp as a list, ver. A token of
	// the org authorization server has the type okta-internal-at+jwt and is for Okta alone.
	authorization.ProviderOkta: {
		types: []string{"", "jwt", "at+jwt"}, client: []string{"cid"}, scope: []string{"scp"}, kind: okta,
	},
	// Keycloak, class TokenUtil and the client attribute access.token.header.type.rfc9068: the header's typ is JWT unless
	// that is set; the claim typ tells Bearer from ID, Refresh, Offline and Logout.
	authorization.ProviderKeycloak: {
		types: []string{"jwt", "at+jwt"}, client: []string{"azp", "client_id"}, scope: []string{"scope"}, kind: keycloak,
	},
}

func rulesOf(provider authorization.Provider) *rules {
	if known := providers[provider]; known != nil {
		return known
	}
	return providers[authorization.ProviderGeneric]
}

// takesType compares media types, whose letter case does not count. Sources: RFC 7515, section 4.1.9; RFC 9068,
// section 4.
func (r *rules) takesType(kind string) bool {
	kind = strings.ToLower(kind)
	return slices.Contains(r.types, strings.TrimPrefix(kind, "application/")) && kind != "application/"
}

// checkKind refuses what is no access token, and one that only counts with a proof. A token that is bound to a key or a
// certificate ("cnf", RFC 7800) is of no use to whoever stole it; taking it as a mere bearer token would undo that
// (RFC 9449, section 7.2).
func (r *rules) checkKind(parsed *parsedToken, issuer *authorization.Issuer) Reason {
	if _, bound := parsed.claims["cnf"]; bound {
		return ReasonBound
	}
	// These are what an authorization response puts into an ID token, to tie it to a code or an access token.
	// Source: OpenID Connect Core 1.0, sections 2 and 3.3.2.11.
	for _, name := range []string{"at_hash", "c_hash"} {
		if _, tied := parsed.claims[name]; tied {
			return ReasonKind
		}
	}
	if r.kind == nil {
		return ""
	}
	return r.kind(parsed.claims, issuer)
}

func cognito(c claims, _ *authorization.Issuer) Reason {
	if use, _ := c.text("token_use"); use != "access" {
		return ReasonKind
	}
	return ""
}

// entra wants a token for a client (ID tokens name none), of the tenant that the issuer is, and with scopes or roles:
// every application of a tenant can get a token for every API of it, one without either if nobody has allowed it
// anything. Source: Microsoft identity platform, "Secure applications and APIs by validating claims".
func entra(c claims, issuer *authorization.Issuer) Reason {
	azp, _ := c.text("azp")
	appID, _ := c.text("appid")
	if azp == "" && appID == "" {
		return ReasonKind
	}
	if tenant, ok := c.text("tid"); !ok || tenant == "" || !strings.Contains(issuer.URL+"/", "/"+tenant+"/") {
		return ReasonIssuer
	}
	if version, _ := c.text("ver"); version != "1.0" && version != "2.0" {
		return ReasonKind
	}
	_, delegated := c["scp"]
	_, assigned := c["roles"]
	if !delegated && !assigned {
		return ReasonScope
	}
	return ""
}

// auth0 tells an ID token by what only it has, and by the client, which it names as its audience alone.
func auth0(c claims, _ *authorization.Issuer) Reason {
	if _, answers := c["nonce"]; answers {
		return ReasonKind
	}
	for _, name := range []string{"azp", "client_id"} {
		if client, _ := c.text(name); client != "" {
			return ""
		}
	}
	return ReasonKind
}

// okta tells an ID token by what only access tokens have.
func okta(c claims, _ *authorization.Issuer) Reason {
	client, _ := c.text("cid")
	_, scopes := c["scp"]
	if client == "" || !scopes {
		return ReasonKind
	}
	return ""
}

func keycloak(c claims, _ *authorization.Issuer) Reason {
	if kind, _ := c.text("typ"); kind != "Bearer" {
		return ReasonKind
	}
	return ""
}

// scopes are what the token grants, in the contracts' words. Where scopes have a prefix, the others are none of this
// server's, and are dropped: what another API calls "write" is no right here. A token without an audience must have one
// with the prefix.
func (r *rules) scopes(parsed *parsedToken, issuer *authorization.Issuer) ([]string, Reason) {
	granted, ok := r.granted(parsed.claims)
	if !ok {
		return nil, ReasonClaims
	}
	if r.bare {
		if parsed.unaddressed {
			return nil, ReasonScope
		}
		return withRoles(parsed.claims, granted)
	}
	if issuer.ScopePrefix == "" {
		return granted, ""
	}
	var own []string
	for _, scope := range granted {
		if name, ok := strings.CutPrefix(scope, issuer.ScopePrefix); ok && name != "" {
			own = append(own, name)
		}
	}
	if parsed.unaddressed && own == nil {
		return nil, ReasonScope
	}
	return own, ""
}

// granted reads the first of the claims that is there: a text with spaces between the scopes (RFC 8693, section 4.2),
// or a list. What is no scope is dropped, lest one with a space in it became two.
func (r *rules) granted(c claims) ([]string, bool) {
	for _, name := range r.scope {
		raw, set := c[name]
		if !set {
			continue
		}
		if text, ok := c.text(name); ok {
			return valid(strings.Split(text, " ")), true
		}
		if name == "scope" || raw[0] != '[' {
			return nil, false
		}
		list, ok := c.texts(name)
		return valid(list), ok
	}
	return nil, true
}

func valid(scopes []string) []string {
	return slices.DeleteFunc(scopes, func(scope string) bool { return !contract.IsScope(scope) })
}

// withRoles adds Entra's application roles, which are what an application that calls for itself may. A person's roles
// are not what the person let the client do, so beside scp they grant nothing.
func withRoles(c claims, granted []string) ([]string, Reason) {
	if _, delegated := c["scp"]; delegated {
		return granted, ""
	}
	roles, ok := c.texts("roles")
	if !ok {
		return nil, ReasonClaims
	}
	return valid(roles), ""
}
