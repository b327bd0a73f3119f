package localgateway

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"patchbay/shared/principal"
)

// Principals maps bearer tokens to callers. It lets the gateway play an authorizer where there is no authorization
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

// authorize answers as an authorizer does: it allows the whole API to the caller whose bearer token the request has.
// A request without a token, with more than one, or with one that nobody has, has to sign in.
func (p Principals) authorize(_ context.Context, event authorizerEvent) ([]byte, error) {
	values := event.MultiValueHeaders["Authorization"]
	if len(values) != 1 {
		return nil, errUnauthorized
	}
	scheme, token, _ := strings.Cut(values[0], " ")
	who, known := p[token]
	if !strings.EqualFold(scheme, "Bearer") || !known {
		return nil, errUnauthorized
	}
	return encode(map[string]any{
		"principalId": who.Key(),
		"policyDocument": map[string]any{"Version": "2012-10-17", "Statement": []any{map[string]string{
			"Effect": "Allow", "Action": "execute-api:Invoke", "Resource": "*",
		}}},
		"context": who.Context(),
	}), nil
}
