package discovery

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"slices"
	"strings"

	"patchbay/shared/jsonrpc"
)

const (
	// maxRegistration bounds a registration, in bytes. Those of known clients have less than 1 KB.
	maxRegistration = 64 << 10
	// maxRedirectURIs bounds how many addresses one registration may name.
	maxRedirectURIs = 32
	// maxText bounds one text that is sent back, in bytes.
	maxText = 2048
)

// What the one client can do. Sources: RFC 7591, section 2; RFC 6749, section 3.1.1.
const (
	responseTypeCode = "code"
	grantTypeCode    = "authorization_code"
	authMethodNone   = "none"
)

// grantTypes are those that a registration may have; the first must be among those that it asks for.
var grantTypes = []string{grantTypeCode, "refresh_token"}

// Members of a client's metadata. Source: RFC 7591, section 2.
const (
	memberRedirectURIs  = "redirect_uris"
	memberGrantTypes    = "grant_types"
	memberResponseTypes = "response_types"
	memberAuthMethod    = "token_endpoint_auth_method"
	memberClientID      = "client_id"
)

// texts are the members that say what a client is, and come back as they were sent. No others do: whatever else a
// client asked for is not registered.
var texts = []string{
	"client_name", "client_uri", "logo_uri", "tos_uri", "policy_uri", "scope", "software_id", "software_version",
	"application_type",
}

// registrationError is an answer to a registration that is refused.
type registrationError struct {
	status      int
	code        string
	description string
}

func (e *registrationError) Error() string { return e.code + ": " + e.description }

// Errors of registrations. Source: RFC 7591, section 3.2.2.
func invalidMetadata(format string, args ...any) *registrationError {
	return &registrationError{http.StatusBadRequest, "invalid_client_metadata", fmt.Sprintf(format, args...)}
}

func invalidRedirectURI(format string, args ...any) *registrationError {
	return &registrationError{http.StatusBadRequest, "invalid_redirect_uri", fmt.Sprintf(format, args...)}
}

// register answers a registration with the client that everybody gets. It is checked and forgotten: the authorization
// server has known the client and its addresses all along.
func (ex *exchange) register() {
	members, err := ex.readRegistration()
	if err == nil {
		err = ex.answerRegistration(members)
	}
	if refused, ok := errors.AsType[*registrationError](err); ok {
		ex.reason = reasonRegistration
		ex.fail(refused.status, refused.code, refused.description)
	}
}

// readRegistration reads the members of a registration. The error is a *registrationError.
func (ex *exchange) readRegistration() (map[string]json.RawMessage, error) {
	mediaType, _, err := mime.ParseMediaType(ex.r.Header.Get("Content-Type"))
	if err != nil || mediaType != "application/json" {
		return nil, invalidMetadata("Send the client's metadata as application/json.")
	}
	body, err := io.ReadAll(io.LimitReader(ex.r.Body, maxRegistration+1))
	if err != nil {
		return nil, invalidMetadata("The body ended early.")
	}
	if len(body) > maxRegistration {
		return nil, &registrationError{http.StatusRequestEntityTooLarge, "invalid_client_metadata",
			fmt.Sprintf("The client's metadata has more than %d bytes.", maxRegistration)}
	}
	if !json.Valid(body) {
		return nil, invalidMetadata("The body is not JSON.")
	}
	list, err := jsonrpc.Members(body)
	if err != nil {
		return nil, invalidMetadata("The body is not a JSON object whose members are each there once.")
	}
	members := make(map[string]json.RawMessage, len(list))
	for _, m := range list {
		// Some clients write a null for what they have nothing to say of.
		if string(m.Value) != "null" {
			members[m.Key] = m.Value
		}
	}
	return members, nil
}

// answerRegistration checks a client's metadata and hands out the client. The error is a *registrationError.
func (ex *exchange) answerRegistration(members map[string]json.RawMessage) error {
	answer := map[string]any{
		memberClientID:      ex.config.Authorization.Front.ClientID,
		memberResponseTypes: []string{responseTypeCode},
		memberAuthMethod:    authMethodNone,
	}
	uris, err := ex.redirectURIs(members[memberRedirectURIs])
	if err != nil {
		return err
	}
	answer[memberRedirectURIs] = uris
	if answer[memberGrantTypes], err = grants(members[memberGrantTypes]); err != nil {
		return err
	}
	if err := checkResponseTypes(members[memberResponseTypes]); err != nil {
		return err
	}
	for _, member := range texts {
		text, given, err := textOf(member, members[member])
		if err != nil {
			return err
		}
		if given {
			answer[member] = text
		}
	}
	body, err := json.Marshal(answer)
	if err != nil {
		panic("encoding a registration: " + err.Error())
	}
	ex.w.Header().Set("Cache-Control", "no-store")
	ex.write(http.StatusCreated, body)
	return nil
}

// redirectURIs returns the redirect URIs, every one of which must be allowed.
func (ex *exchange) redirectURIs(raw json.RawMessage) ([]string, error) {
	allowed := ex.config.Authorization.Front.RedirectURIs
	uris, err := list(memberRedirectURIs, raw)
	if err != nil {
		return nil, invalidRedirectURI("redirect_uris is not a list of texts. Allowed: %s", say(allowed))
	}
	if len(uris) == 0 || len(uris) > maxRedirectURIs {
		return nil, invalidRedirectURI("redirect_uris has %d entries; it must have 1 to %d. Allowed: %s",
			len(uris), maxRedirectURIs, say(allowed))
	}
	for i, uri := range uris {
		if !redirectAllowed(allowed, uri) {
			return nil, invalidRedirectURI("redirect_uris[%d] is not one that may be registered here. Allowed: %s",
				i, say(allowed))
		}
	}
	return uris, nil
}

// say lists the redirect URIs that are allowed, in the characters that an error's description may have (RFC 6749,
// section 5.2), which a checked configuration's URIs do.
func say(allowed []string) string {
	return strings.Join(allowed, ", ") + "; one on a loopback address without a port allows any port"
}

// grants are the grant types that a client asks for and can have; without a wish, the protocol's default.
func grants(raw json.RawMessage) ([]string, error) {
	if raw == nil {
		return []string{grantTypeCode}, nil
	}
	asked, err := list(memberGrantTypes, raw)
	if err != nil || !slices.Contains(asked, grantTypeCode) {
		return nil, invalidMetadata("grant_types is not a list with %s. Allowed: %s", grantTypeCode,
			strings.Join(grantTypes, ", "))
	}
	var granted []string
	for _, grant := range grantTypes {
		if slices.Contains(asked, grant) {
			granted = append(granted, grant)
		}
	}
	return granted, nil
}

func checkResponseTypes(raw json.RawMessage) error {
	if raw == nil {
		return nil
	}
	if asked, err := list(memberResponseTypes, raw); err != nil || !slices.Contains(asked, responseTypeCode) {
		return invalidMetadata("response_types is not a list with %s. Allowed: %s", responseTypeCode, responseTypeCode)
	}
	return nil
}

// list reads a member that is a list of texts; nil for one that is not there.
func list(member string, raw json.RawMessage) ([]string, error) {
	if raw == nil {
		return nil, nil
	}
	var values []*string
	if err := json.Unmarshal(raw, &values); err != nil {
		return nil, fmt.Errorf("decoding %s: %w", member, err)
	}
	all := make([]string, 0, len(values))
	for _, value := range values {
		if value == nil {
			return nil, fmt.Errorf("decoding %s: a null in the list", member)
		}
		all = append(all, *value)
	}
	return all, nil
}

// textOf reads a member that is sent back.
func textOf(member string, raw json.RawMessage) (text string, given bool, err error) {
	if raw == nil {
		return "", false, nil
	}
	if json.Unmarshal(raw, &text) != nil || len(text) > maxText {
		return "", false, invalidMetadata("%s is not a text of at most %d bytes.", member, maxText)
	}
	return text, true, nil
}
