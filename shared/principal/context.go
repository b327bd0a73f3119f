package principal

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// The keys of an authorizer's context that say who calls. API Gateway takes texts alone there, no lists.
// Source: API Gateway developer guide, "Output from an API Gateway Lambda authorizer".
const (
	contextSubject  = "subject"
	contextIssuer   = "issuer"
	contextClientID = "clientId"
	contextScopes   = "scopes"   // separated by spaces
	contextAuthTime = "authTime" // seconds since the Unix epoch
	contextACR      = "acr"
	contextTenant   = "tenant"
)

// Context is the principal as an authorizer hands it to the dispatcher, without what is empty.
func (p Principal) Context() map[string]string {
	values := map[string]string{}
	for key, value := range map[string]string{
		contextSubject: p.Subject, contextIssuer: p.Issuer, contextClientID: p.ClientID,
		contextScopes: strings.Join(p.Scopes, " "), contextACR: p.ACR, contextTenant: p.Tenant,
	} {
		if value != "" {
			values[key] = value
		}
	}
	if p.AuthTime != 0 {
		values[contextAuthTime] = strconv.FormatInt(p.AuthTime, 10)
	}
	return values
}

// FromContext returns the principal that an authorizer named in its context; keys that are not Context's are left
// alone. One that names neither a subject nor a client is an error, so that a mistake in an authorizer never lets
// callers in as anonymous.
func FromContext(values map[string]string) (Principal, error) {
	p := Principal{
		Subject:  values[contextSubject],
		Issuer:   values[contextIssuer],
		ClientID: values[contextClientID],
		Scopes:   strings.Fields(values[contextScopes]),
		ACR:      values[contextACR],
		Tenant:   values[contextTenant],
	}
	if p.Subject == "" && p.ClientID == "" {
		return Principal{}, errors.New("authorizer context: want subject or clientId, got neither")
	}
	if text := values[contextAuthTime]; text != "" {
		seconds, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return Principal{}, fmt.Errorf("authorizer context: authTime: want seconds, got %q", text)
		}
		p.AuthTime = seconds
	}
	return p, nil
}
