// Package principal says who is calling.
//
// A principal is established once, by the authorizer in front of the dispatcher, and travels to the tool in the
// envelope. Tools never see the access token it came from.
package principal

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Principal is the caller of a request. The zero value is the anonymous caller of a server without an authorizer.
type Principal struct {
	// Subject is the token's "sub" (RFC 9068, section 2.2). It is unique only together with Issuer.
	Subject string `json:"subject,omitempty"`
	// Issuer is the token's "iss", compared character for character.
	Issuer string `json:"issuer,omitempty"`
	// ClientID is the OAuth client that acts for the subject ("client_id", RFC 9068).
	ClientID string `json:"clientId,omitempty"`
	// Scopes are the granted OAuth scopes (RFC 6749, section 3.3).
	Scopes []string `json:"scopes,omitempty"`
	// AuthTime is when the end user signed in, in seconds since the Unix epoch; 0 when unknown (RFC 9470, section 6.1).
	AuthTime int64 `json:"authTime,omitempty"`
	// ACR is the authentication context class that was reached; empty when unknown (RFC 9470, section 6.1).
	ACR string `json:"acr,omitempty"`
	// Tenant is a claim chosen by configuration; empty when none is.
	Tenant string `json:"tenant,omitempty"`
}

// Anonymous reports whether nobody is named. All anonymous callers share one identity.
func (p Principal) Anonymous() bool { return p.Subject == "" && p.Issuer == "" && p.ClientID == "" }

// Key identifies the principal in stored records. Issuer and subject are both in it, length-prefixed, since neither
// alone is unique and a plain separator could be part of either. A machine client without a subject is known by its
// client id.
func (p Principal) Key() string {
	if p.Anonymous() {
		return "anonymous"
	}
	who, kind := p.Subject, "sub"
	if who == "" {
		who, kind = p.ClientID, "client"
	}
	return strconv.Itoa(len(p.Issuer)) + ":" + p.Issuer + ":" + kind + ":" + who
}

// CheckKey says what is wrong with a text that is to be what Key returns; nil when it may be some principal's.
func CheckKey(text string) error {
	fault := fmt.Errorf("principal %.200q; allowed: %s, or <length of the issuer>:<issuer>:sub:<subject>, with client "+
		"and the client's id in the place of sub and the subject for a machine", text, Principal{}.Key())
	if text == (Principal{}).Key() {
		return nil
	}
	digits, rest, _ := strings.Cut(text, ":")
	length, err := strconv.Atoi(digits)
	if err != nil || strconv.Itoa(length) != digits || length < 0 || length > len(rest) {
		return fault
	}
	for _, kind := range []string{":sub:", ":client:"} {
		if who, ok := strings.CutPrefix(rest[length:], kind); ok && who != "" {
			return nil
		}
	}
	return fault
}

// Missing returns those of the wanted scopes that the principal was not granted, in the order wanted; nil when it has
// them all.
func (p Principal) Missing(wanted []string) []string {
	var missing []string
	for _, scope := range wanted {
		if !slices.Contains(p.Scopes, scope) {
			missing = append(missing, scope)
		}
	}
	return missing
}
