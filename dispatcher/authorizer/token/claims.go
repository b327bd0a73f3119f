package token

import (
	"encoding/json"
	"math"

	"patchbay/shared/authorization"
	"patchbay/shared/principal"
)

// maxIdentity bounds what names somebody. It becomes part of keys in DynamoDB, which have at most 2,048 bytes.
const maxIdentity = 512

// claims are the members of a JSON object by their exact names. encoding/json would take them in any letter case.
type claims map[string]json.RawMessage

func (c claims) issuer() string {
	text, _ := c.text("iss")
	return text
}

// text reads a string; "" where there is none, and false for another type.
func (c claims) text(name string) (string, bool) {
	raw, set := c[name]
	if !set {
		return "", true
	}
	var text string
	if len(raw) == 0 || raw[0] != '"' || json.Unmarshal(raw, &text) != nil {
		return "", false
	}
	return text, true
}

// texts reads a string or a list of strings; nil where there is none, and false for another type.
func (c claims) texts(name string) ([]string, bool) {
	raw, set := c[name]
	if !set {
		return nil, true
	}
	if text, ok := c.text(name); ok {
		return []string{text}, true
	}
	var items []json.RawMessage
	if raw[0] != '[' || json.Unmarshal(raw, &items) != nil {
		return nil, false
	}
	var all []string
	for _, item := range items {
		text, ok := claims{"": item}.text("")
		if !ok {
			return nil, false
		}
		all = append(all, text)
	}
	return all, true
}

// time reads a NumericDate, in seconds since the Unix epoch; set says whether there is one, ok that it is no other
// type. Source: RFC 7519, section 2.
func (c claims) time(name string) (seconds float64, set, ok bool) {
	raw, set := c[name]
	if !set {
		return 0, false, true
	}
	if len(raw) == 0 || raw[0] != '-' && (raw[0] < '0' || raw[0] > '9') || json.Unmarshal(raw, &seconds) != nil {
		return 0, true, false
	}
	return seconds, true, !math.IsInf(seconds, 0)
}

// identify says who calls. A machine that calls for itself is its client: its token names the client as subject
// (RFC 9068, section 2.2; principal.Principal). A token without a subject, which that section demands, may still be a
// person's, as from a Keycloak realm without the client scope "basic". Taken for its client's it would make one caller
// of all who use that client, so it is refused.
func identify(c claims, rules *rules, issuer *authorization.Issuer) (principal.Principal, Reason) {
	who := principal.Principal{Issuer: issuer.URL}
	var ok bool
	if who.Subject, ok = c.text("sub"); !ok || who.Subject == "" {
		return who, ReasonClaims
	}
	for _, name := range rules.client {
		text, ok := c.text(name)
		if !ok {
			return who, ReasonClaims
		}
		if who.ClientID == "" {
			who.ClientID = text
		}
	}
	if who.ClientID == "" {
		return who, ReasonClaims
	}
	if who.Subject == who.ClientID {
		who.Subject = ""
	}
	if who.ACR, ok = c.text("acr"); !ok {
		who.ACR = ""
	}
	if issuer.TenantClaim != "" {
		if who.Tenant, ok = c.text(issuer.TenantClaim); !ok {
			return who, ReasonClaims
		}
	}
	for _, text := range []string{who.Subject, who.ClientID, who.ACR, who.Tenant} {
		if len(text) > maxIdentity {
			return who, ReasonClaims
		}
	}
	return who, ""
}
