// Package token verifies access tokens and says who calls with one.
//
// A token is a signed JWT (RFC 7519, RFC 7515) of the profile for access tokens (RFC 9068), or what a known product
// issues in its place; see the table in provider.go. Which issuer's rules count is picked by the token's own "iss",
// before anything is verified; all that it is picked from is the configuration. Nothing in a token names a key or where
// to fetch one.
//
// What is refused, is refused with a reason out of a fixed list, for the log. It is the same 401 for whoever sent it.
// Sources: RFC 9068, section 4; RFC 8725, section 3; MCP 2026-07-28, basic/authorization#token-handling.
package token

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	jose "github.com/go-jose/go-jose/v4"

	"patchbay/dispatcher/authorizer/jwks"
	"patchbay/shared/authorization"
	"patchbay/shared/principal"
)

// Keys finds the public keys of one issuer, as jwks.Cache does.
type Keys interface {
	// Find returns the keys that may have made a signature. The error is jwks.ErrUnknownKey when there is none; any other
	// means that the issuer's keys are not known.
	Find(ctx context.Context, id, algorithm string) ([]any, error)
}

// Options say what a Verifier works with.
type Options struct {
	// Resource is the server's canonical URI.
	Resource authorization.Resource
	// Keys returns the keys of an issuer; it is called once for each of them.
	Keys func(*authorization.Issuer) Keys
	// Now is the clock; nil means time.Now.
	Now func() time.Time
}

// Verifier verifies the tokens of all issuers that a configuration trusts. It is safe for concurrent use.
type Verifier struct {
	config   *authorization.Config
	resource string
	keys     map[string]Keys
	leeway   float64
	now      func() time.Time
}

// New returns a verifier. The configuration is one that authorization.Parse returned.
func New(config *authorization.Config, options Options) *Verifier {
	v := &Verifier{
		config: config, resource: string(options.Resource), keys: map[string]Keys{},
		leeway: float64(*config.LeewaySeconds), now: options.Now,
	}
	if v.now == nil {
		v.now = time.Now
	}
	for i := range config.Issuers {
		v.keys[config.Issuers[i].URL] = options.Keys(&config.Issuers[i])
	}
	return v
}

// Verified is what a good token says.
type Verified struct {
	// Principal has the scopes in the contracts' words, and those that they imply.
	Principal principal.Principal
	Issuer    *authorization.Issuer
	// KeyID is the key that signed it; empty where the token names none.
	KeyID string
}

// Verify returns what a token says. The error is a *Refusal for a token that is not good; any other means that nobody
// knows whether it is, since the issuer's keys cannot be had.
func (v *Verifier) Verify(ctx context.Context, text string) (*Verified, error) {
	parsed, err := parse(text)
	if err != nil {
		return nil, err
	}
	issuer := v.config.Find(parsed.claims.issuer())
	if issuer == nil {
		return nil, parsed.refuse(ReasonIssuer)
	}
	if err := v.verifySignature(ctx, parsed, issuer); err != nil {
		return nil, err
	}
	who, err := v.principal(parsed, issuer)
	if err != nil {
		return nil, err
	}
	return &Verified{Principal: who, Issuer: issuer, KeyID: parsed.header.keyID}, nil
}

// verifySignature checks the header by the issuer's rules, and the signature by its keys.
func (v *Verifier) verifySignature(ctx context.Context, parsed *parsedToken, issuer *authorization.Issuer) error {
	if !slices.Contains(issuer.Algorithms, parsed.header.algorithm) {
		return parsed.refuse(ReasonAlgorithm)
	}
	if !rulesOf(issuer.Provider).takesType(parsed.header.kind) {
		return parsed.refuse(ReasonType)
	}
	algorithm := jose.SignatureAlgorithm(parsed.header.algorithm)
	signed, err := jose.ParseSignedCompact(parsed.text, []jose.SignatureAlgorithm{algorithm})
	if err != nil {
		return parsed.refuse(ReasonForm)
	}
	keys, err := v.keys[issuer.URL].Find(ctx, parsed.header.keyID, parsed.header.algorithm)
	if errors.Is(err, jwks.ErrUnknownKey) {
		return parsed.refuse(ReasonKey)
	}
	if err != nil {
		return fmt.Errorf("finding the key of an access token: %w", err)
	}
	for _, key := range keys {
		if payload, err := signed.Verify(key); err == nil && string(payload) == string(parsed.payload) {
			return nil
		}
	}
	return parsed.refuse(ReasonSignature)
}

// principal checks what a token with a good signature claims, and says who calls.
func (v *Verifier) principal(parsed *parsedToken, issuer *authorization.Issuer) (principal.Principal, error) {
	rules := rulesOf(issuer.Provider)
	for _, check := range []func(*parsedToken, *authorization.Issuer) Reason{
		v.checkTimes, rules.checkKind, v.checkAudience,
	} {
		if reason := check(parsed, issuer); reason != "" {
			return principal.Principal{}, parsed.refuse(reason)
		}
	}
	who, reason := identify(parsed.claims, rules, issuer)
	if reason != "" {
		return principal.Principal{}, parsed.refuse(reason)
	}
	granted, reason := rules.scopes(parsed, issuer)
	if reason != "" {
		return principal.Principal{}, parsed.refuse(reason)
	}
	who.Scopes = v.config.Expand(granted)
	if who.Subject == "" {
		// A machine has not signed in, whatever its token says: Cognito's has an auth_time, which is when it was issued.
		who.ACR = ""
		return who, nil
	}
	who.AuthTime = v.authTime(parsed.claims)
	return who, nil
}

// checkTimes wants a token that has not expired, and is not from the future. Sources: RFC 7519, section 4.1; RFC 9068,
// section 2.2, which demands an expiry.
func (v *Verifier) checkTimes(parsed *parsedToken, _ *authorization.Issuer) Reason {
	now := float64(v.now().UnixMilli()) / 1000
	expiry, set, ok := parsed.claims.time("exp")
	if !ok || !set {
		return ReasonClaims
	}
	if now >= expiry+v.leeway {
		return ReasonExpired
	}
	for _, name := range []string{"nbf", "iat"} {
		from, set, ok := parsed.claims.time(name)
		if !ok {
			return ReasonClaims
		}
		if set && now+v.leeway < from {
			return ReasonEarly
		}
	}
	return ""
}

// authTime is when the person signed in; 0 where the token does not say it, or says a time that is still to come, which
// would be a recent sign-in for ever.
func (v *Verifier) authTime(c claims) int64 {
	at, set, ok := c.time("auth_time")
	if !ok || !set || at <= 0 || at > float64(v.now().Unix())+v.leeway {
		return 0
	}
	return int64(at)
}

// checkAudience wants a token that was issued for this server, whatever else it was issued for: its canonical URI, or
// one of its aliases. A token that names no audience at all counts where the configuration names its client; that it is
// meant for this server is then known by a scope with the server's own prefix, which scopes demands.
func (v *Verifier) checkAudience(parsed *parsedToken, issuer *authorization.Issuer) Reason {
	audiences, ok := parsed.claims.texts("aud")
	if !ok {
		return ReasonClaims
	}
	if parsed.unaddressed = audiences == nil; parsed.unaddressed {
		if slices.Contains(issuer.ClientIDs, parsed.clientID(rulesOf(issuer.Provider))) {
			return ""
		}
		return ReasonAudience
	}
	for _, audience := range audiences {
		if audience == v.resource || slices.Contains(v.config.Audiences, audience) ||
			slices.Contains(issuer.Audiences, audience) {
			return ""
		}
	}
	return ReasonAudience
}
