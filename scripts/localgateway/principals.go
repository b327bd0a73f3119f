package localgateway

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"

	"patchbay/shared/principal"
)

// Principals maps bearer tokens to callers. It lets the gateway play an authorizer while there is no authorization
// server; the tokens are what they stand in a file, and guard nothing.
type Principals map[string]principal.Principal

// ReadPrincipals reads a JSON object {"<bearer token>": {"subject", "issuer", "clientId", "scopes", "authTime", "acr",
// "tenant"}} from a file. It never returns nil Principals, which would let everybody in, without an error. The error
// names the file and what is wrong.
func ReadPrincipals(file string) (Principals, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("reading principals: %w", err)
	}
	principals, err := decodePrincipals(data)
	if err != nil {
		return nil, fmt.Errorf("reading principals from %s: %w; it must be {\"<bearer token>\": {\"subject\", "+
			"\"issuer\", \"clientId\", \"scopes\": [], \"authTime\", \"acr\", \"tenant\"}}", file, err)
	}
	for token, who := range principals {
		if err := checkPrincipal(token, who); err != nil {
			return nil, fmt.Errorf("reading principals from %s: %w", file, err)
		}
	}
	return principals, nil
}

func decodePrincipals(data []byte) (Principals, error) {
	var principals Principals
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&principals); err != nil {
		return nil, err
	}
	if principals == nil {
		return nil, errors.New("it is null")
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("something follows the object")
	}
	return principals, nil
}

func checkPrincipal(token string, who principal.Principal) error {
	const spaces = " \t\r\n"
	if token == "" || strings.ContainsAny(token, spaces) {
		return fmt.Errorf("the bearer token %q is empty or has spaces", token)
	}
	if who.Subject == "" && who.ClientID == "" {
		return fmt.Errorf("%q names nobody; a caller has a subject or a clientId", token)
	}
	for _, scope := range who.Scopes {
		if scope == "" || strings.ContainsAny(scope, spaces) {
			return fmt.Errorf("%q has the scope %q, which is empty or has spaces", token, scope)
		}
	}
	return nil
}

// authorize returns the context that an authorizer would give for the request's bearer token; false when the request
// has no token, more than one, or one that nobody has.
func (p Principals) authorize(r *http.Request) (map[string]string, bool) {
	values := r.Header.Values("Authorization")
	if len(values) != 1 {
		return nil, false
	}
	scheme, token, _ := strings.Cut(values[0], " ")
	who, known := p[token]
	if !strings.EqualFold(scheme, "Bearer") || !known {
		return nil, false
	}
	context := map[string]string{"principalId": who.Key(), "scopes": strings.Join(who.Scopes, " ")}
	for name, value := range map[string]string{
		"subject": who.Subject, "issuer": who.Issuer, "clientId": who.ClientID, "acr": who.ACR, "tenant": who.Tenant,
	} {
		if value != "" {
			context[name] = value
		}
	}
	if who.AuthTime != 0 {
		context["authTime"] = strconv.FormatInt(who.AuthTime, 10)
	}
	return context, true
}
