package authorization

import (
	"strconv"
	"strings"
)

// The errors of a challenge. Sources: RFC 6750, section 3.1; RFC 9470, section 3.
const (
	ErrorInsufficientScope   = "insufficient_scope"
	ErrorInsufficientSignIn  = "insufficient_user_authentication"
	challengeScheme          = "Bearer"
	challengeParameterJoiner = ", "
)

// Challenge is the value of a WWW-Authenticate field that tells a client how to become somebody who may.
// Sources: RFC 6750, section 3; RFC 9728, section 5.1; RFC 9470, section 3.
type Challenge struct {
	// Error is empty for a request that brought no token.
	Error string
	// Description says in words what is lacking, without quotes and backslashes; empty for none.
	Description string
	// Scopes are all that the call needs, as clients ask for them.
	Scopes []string
	// ACR is the authentication class that is needed; empty for any.
	ACR string
	// MaxAgeSeconds is how long ago the person may have signed in; 0 when it does not matter.
	MaxAgeSeconds int
	// ResourceMetadata is the URL of the protected resource metadata.
	ResourceMetadata string
}

// String is the field's value. What it quotes has no quotes in it: scopes and classes are checked where they are
// written down, and URLs have none.
func (c Challenge) String() string {
	var params []string
	add := func(name, value string) {
		if value != "" {
			params = append(params, name+`="`+value+`"`)
		}
	}
	add("error", c.Error)
	add("error_description", c.Description)
	add("resource_metadata", c.ResourceMetadata)
	add("scope", strings.Join(c.Scopes, " "))
	add("acr_values", c.ACR)
	if c.MaxAgeSeconds > 0 {
		add("max_age", strconv.Itoa(c.MaxAgeSeconds))
	}
	if params == nil {
		return challengeScheme
	}
	return challengeScheme + " " + strings.Join(params, challengeParameterJoiner)
}
