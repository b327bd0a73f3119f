package token

import "strings"

// Reason is why a token was refused, in a word for the log.
type Reason string

// The reasons. They say what is wrong, and nothing that the token says.
const (
	// ReasonForm is a text that is no signed JWT.
	ReasonForm Reason = "form"
	// ReasonSize is one that is longer than any that an authorization server issues.
	ReasonSize Reason = "size"
	// ReasonTwice is a header or claims in which a member comes twice, and readers may differ.
	ReasonTwice Reason = "duplicate"
	// ReasonType is a JWT of another kind, by its header's "typ".
	ReasonType Reason = "typ"
	// ReasonAlgorithm is an algorithm that the issuer does not use, "none" among them.
	ReasonAlgorithm Reason = "algorithm"
	// ReasonEmbedded is a header that brings a key, or says where to fetch one.
	ReasonEmbedded Reason = "embedded-key"
	// ReasonCritical is a header with an extension that must be understood.
	ReasonCritical Reason = "critical"
	// ReasonIssuer is an issuer that is not trusted.
	ReasonIssuer Reason = "issuer"
	// ReasonKey is a key id that the issuer does not have.
	ReasonKey Reason = "key"
	// ReasonSignature is a signature that the issuer did not make.
	ReasonSignature Reason = "signature"
	// ReasonClaims is a claim that is missing or has the wrong type.
	ReasonClaims Reason = "claims"
	// ReasonExpired is a token whose time is over.
	ReasonExpired Reason = "expired"
	// ReasonEarly is one whose time has not come.
	ReasonEarly Reason = "early"
	// ReasonAudience is one that was issued for somebody else.
	ReasonAudience Reason = "audience"
	// ReasonKind is one that is no access token: an ID token, a refresh token.
	ReasonKind Reason = "kind"
	// ReasonBound is one that only counts with a proof, of a key or a certificate, which is not asked for here.
	ReasonBound Reason = "bound"
	// ReasonScope is one that carries none of the scopes by which it would be known to be meant for this server.
	ReasonScope Reason = "scope"
)

// Refusal is the error for a token that is not good. What it holds, beside the reason, is what the token said and may
// be made up.
type Refusal struct {
	Reason   Reason
	Issuer   string
	ClientID string
	KeyID    string
}

// Error names the reason and nothing of the token.
func (r *Refusal) Error() string { return "access token refused: " + string(r.Reason) }

// maxLogged is how much of a text that a token says gets into the log.
const maxLogged = 200

// shorten cuts a text for the log.
func shorten(text string) string {
	if len(text) <= maxLogged {
		return text
	}
	return strings.ToValidUTF8(text[:maxLogged], "") + "…"
}
