package discovery

import (
	"cmp"
	"encoding/json"
	"errors"
	"net/http"
	"slices"

	"patchbay/shared/authorization"
	"patchbay/shared/issuer"
)

// pkceMethod is the one way of PKCE that MCP clients look for. Source: MCP 2026-07-28,
// basic/authorization/security-considerations#authorization-code-protection.
const pkceMethod = "S256"

// scopeOffline asks for a refresh token where the authorization server has such a scope. Clients ask for it when its
// metadata names it (MCP 2026-07-28, basic/authorization#refresh-tokens).
const scopeOffline = "offline_access"

// frontMetadata is the front document. Only what holds for the one client that can be registered here is in it, and how
// programs with a secret of their own, which the operator has registered, authenticate at the token endpoint: some take
// no other way than one that is named. Members whose values are the authorization server's are copied as they are.
// Those from subject types on are there for clients that check the document by OpenID's rules, which require them.
// Sources: RFC 8414, section 2; OpenID Connect Discovery 1.0, section 3.
type frontMetadata struct {
	Issuer                string          `json:"issuer"`
	AuthorizationEndpoint string          `json:"authorization_endpoint"`
	TokenEndpoint         string          `json:"token_endpoint"`
	JWKSURI               string          `json:"jwks_uri,omitempty"`
	RegistrationEndpoint  string          `json:"registration_endpoint"`
	ScopesSupported       []string        `json:"scopes_supported,omitempty"`
	ResponseTypes         []string        `json:"response_types_supported"`
	GrantTypes            []string        `json:"grant_types_supported"`
	TokenAuthMethods      []string        `json:"token_endpoint_auth_methods_supported"`
	PKCEMethods           []string        `json:"code_challenge_methods_supported"`
	SubjectTypes          json.RawMessage `json:"subject_types_supported,omitempty"`
	IDTokenAlgorithms     json.RawMessage `json:"id_token_signing_alg_values_supported,omitempty"`
}

func (ex *exchange) frontMetadata() {
	upstream, err := ex.config.Upstream.Metadata(ex.r.Context())
	if err != nil {
		ex.unavailable("The authorization server's metadata", err)
		return
	}
	fronted := ex.config.Authorization.Fronted()
	offered, err := readOffer(fronted, upstream)
	if errors.Is(err, errUnusable) {
		ex.cause = err
		ex.fail(http.StatusBadGateway, "server_error",
			"The authorization server's metadata cannot be used here; the log says why"+ex.requestID()+".")
		return
	}
	scopes, err := ex.scopes(ex.r.Context(), fronted)
	if err != nil {
		ex.unavailable("The tool catalogue", err)
		return
	}
	if slices.Contains(offered.Scopes, scopeOffline) {
		scopes = append(scopes, scopeOffline)
	}
	resource := ex.config.Resource
	ex.document(frontMetadata{
		Issuer:                resource.FrontIssuer(),
		AuthorizationEndpoint: upstream.AuthorizationEndpoint,
		TokenEndpoint:         upstream.TokenEndpoint,
		JWKSURI:               keysOf(fronted, upstream),
		RegistrationEndpoint:  resource.Base() + authorization.RegistrationPath,
		ScopesSupported:       scopes,
		ResponseTypes:         []string{responseTypeCode},
		GrantTypes:            grantTypes,
		TokenAuthMethods:      offered.authMethods(),
		PKCEMethods:           []string{pkceMethod},
		SubjectTypes:          offered.SubjectTypes,
		IDTokenAlgorithms:     offered.IDTokenAlgorithms,
	})
}

// keysOf is where the authorization server's keys are: by its own word, or by the settings'.
func keysOf(of *authorization.Issuer, metadata *issuer.Metadata) string {
	return cmp.Or(metadata.JWKSURI, of.JWKSURI)
}

// offer is what an authorization server's metadata says beside its endpoints.
type offer struct {
	// IssInResponse says that the code comes with the authorization server's issuer (RFC 9207, section 3).
	IssInResponse     bool            `json:"authorization_response_iss_parameter_supported"`
	PKCEMethods       []string        `json:"code_challenge_methods_supported"`
	ResponseTypes     []string        `json:"response_types_supported"`
	Scopes            []string        `json:"scopes_supported"`
	AuthMethods       []string        `json:"token_endpoint_auth_methods_supported"`
	SubjectTypes      json.RawMessage `json:"subject_types_supported"`
	IDTokenAlgorithms json.RawMessage `json:"id_token_signing_alg_values_supported"`
}

// authMethods are that of the client which can be registered here, and those that the authorization server names.
func (o offer) authMethods() []string {
	methods := []string{authMethodNone}
	for _, method := range o.AuthMethods {
		if method != authMethodNone {
			methods = append(methods, method)
		}
	}
	return methods
}

// readOffer reads metadata and checks that a front of it would work. The error is errUnusable.
func readOffer(of *authorization.Issuer, metadata *issuer.Metadata) (offer, error) {
	var o offer
	if err := json.Unmarshal(metadata.Raw, &o); err != nil {
		return o, unusable("decoding the metadata of %s: %w", of.URL, err)
	}
	for member, address := range map[string]string{
		"authorization_endpoint": metadata.AuthorizationEndpoint,
		"token_endpoint":         metadata.TokenEndpoint,
		"jwks_uri":               keysOf(of, metadata),
	} {
		if err := of.CheckAddress(address); err != nil {
			return o, unusable("%s of %s: %w", member, of.URL, err)
		}
	}
	switch {
	case o.IssInResponse:
		return o, unusable("%s sends its own issuer with every code (authorization_response_iss_parameter_supported), "+
			"which clients compare with the front's, and refuse (RFC 9207, section 2.4)", of.URL)
	case o.PKCEMethods != nil && !slices.Contains(o.PKCEMethods, pkceMethod):
		return o, unusable("%s knows PKCE by %v, and clients use %s", of.URL, o.PKCEMethods, pkceMethod)
	case o.ResponseTypes != nil && !slices.Contains(o.ResponseTypes, responseTypeCode):
		return o, unusable("%s answers with %v, and not with a code", of.URL, o.ResponseTypes)
	}
	return o, nil
}
