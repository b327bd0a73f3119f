// Package authorization is what a deployment says of who may call: whose access tokens it takes, what they must say,
// and how scopes are called outside. The authorizer, the dispatcher, the constructs and the local stack read the same
// file.
//
// The server is an OAuth 2.1 resource server. It issues no tokens and sees no passwords. Sources: MCP 2026-07-28,
// basic/authorization; RFC 6750, 8707, 9068, 9470, 9728.
package authorization

// FileName is what the file with the configuration is called that lies beside a program which is deployed with it.
const FileName = "authorization.json"

// Config is the member "authorization" of a stage in patchbay.json, and the content of the file that
// PATCHBAY_AUTHORIZATION_FILE names. Read it with Parse, which checks it and fills in defaults.
type Config struct {
	// Issuers are the authorization servers whose tokens are taken, at least one.
	Issuers []Issuer `json:"issuers"`
	// Audiences are values of "aud" that are taken beside the server's canonical URI, from every issuer.
	Audiences []string `json:"audiences,omitempty"`
	// InitialScopes are what the challenge to a caller without a token names, in the contracts' words; none where
	// the list is empty; nil leaves the choice to Initial.
	InitialScopes []string `json:"initialScopes,omitzero"`
	// ScopeHierarchy maps a scope to those that it implies, as in {"admin": ["write"], "write": ["read"]}; what they
	// imply is implied, too.
	ScopeHierarchy map[string][]string `json:"scopeHierarchy,omitempty"`
	// LeewaySeconds is by how much clocks may differ; 30 where it is absent, at most 300.
	LeewaySeconds *int `json:"leewaySeconds,omitempty"`
	// Challenge is how the gateway's 403 gets its WWW-Authenticate.
	Challenge ChallengeMode `json:"challenge,omitempty"`
	// Front is for authorization servers that MCP clients refuse; nil for none.
	Front *Front `json:"front,omitempty"`
}

// ChallengeMode is how the gateway's 403 gets its WWW-Authenticate field.
type ChallengeMode string

// The authorizer computes the field, naming what this call needs; or it is fixed, like that of the 401, should a
// gateway spoil computed values.
const (
	ChallengeComputed ChallengeMode = "computed"
	ChallengeStatic   ChallengeMode = "static"
)

// Provider names the odd rules of a product's access tokens.
type Provider string

// The rules of RFC 9068, and those of products that differ from it.
const (
	ProviderGeneric  Provider = "generic"
	ProviderCognito  Provider = "cognito"
	ProviderEntra    Provider = "entra"
	ProviderAuth0    Provider = "auth0"
	ProviderOkta     Provider = "okta"
	ProviderKeycloak Provider = "keycloak"
)

// Issuer is one authorization server.
type Issuer struct {
	// URL is the token's "iss", compared character for character.
	URL      string   `json:"issuer"`
	Provider Provider `json:"provider,omitempty"`
	// JWKSURI is where its keys are; empty asks its metadata document.
	JWKSURI string `json:"jwksUri,omitempty"`
	// Algorithms are the signature algorithms that are taken; empty means the provider's own, RS256 at least.
	Algorithms []string `json:"algorithms,omitempty"`
	// Audiences are values of "aud" that are taken from this issuer alone, beside the server's canonical URI.
	Audiences []string `json:"audiences,omitempty"`
	// ClientIDs are the clients whose tokens are taken although they name no audience; empty takes no such token. A scope
	// with the prefix is demanded then.
	ClientIDs []string `json:"clientIds,omitempty"`
	// ScopePrefix stands before a contract's scope where clients ask for it, as in "tools/" or "api://tools/".
	ScopePrefix string `json:"scopePrefix,omitempty"`
	// TenantClaim is the claim that becomes the principal's tenant; empty for none.
	TenantClaim string `json:"tenantClaim,omitempty"`
}

// Front is the document and the registration endpoint that this server offers in the place of an authorization server
// which MCP clients refuse: one without registration or without code_challenge_methods_supported. Tokens keep their
// real issuer.
type Front struct {
	// Issuer is the one of Issuers that is fronted; empty where there is only one.
	Issuer string `json:"issuer,omitempty"`
	// ClientID is the public client, registered with the authorization server beforehand, that every registration gets.
	ClientID string `json:"clientId"`
	// RedirectURIs are those that may register, exact, but for the port of a loopback address written without one
	// (RFC 8252, section 7.3).
	RedirectURIs []string `json:"redirectUris"`
}
