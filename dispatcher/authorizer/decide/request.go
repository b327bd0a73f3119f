package decide

import (
	"net/http"
	"slices"
	"strings"

	"github.com/aws/aws-lambda-go/events"

	"patchbay/shared/mcp"
)

// Event is what API Gateway sends a REQUEST authorizer of a REST API.
type Event = events.APIGatewayCustomAuthorizerRequestTypeRequest

// maxName bounds the name of a tool that is looked up.
const maxName = 1 << 10

// header returns every value of a field, whatever letter case its name came in: API Gateway hands names on as the
// client wrote them. Where both of an event's forms are there, multiValueHeaders has all values, and headers the last
// alone.
func header(event *Event, name string) []string {
	var values []string
	for key, all := range event.MultiValueHeaders {
		if strings.EqualFold(key, name) {
			values = append(values, all...)
		}
	}
	if values != nil {
		return values
	}
	for key, value := range event.Headers {
		if strings.EqualFold(key, name) {
			values = append(values, value)
		}
	}
	return values
}

// bearer returns the access token; false when there is none, more than one, or one in another place or scheme. Sources:
// RFC 6750, sections 2 and 2.1; RFC 9110, section 11.1, on the letter case of a scheme. A token in the URL would stand
// in logs and histories (MCP 2026-07-28, basic/authorization#token-requirements), so it does not count, and neither
// does a second one beside it: RFC 6750 allows one way at a time.
func bearer(event *Event) (string, bool) {
	if inQuery(event) {
		return "", false
	}
	values := header(event, "Authorization")
	if len(values) != 1 {
		return "", false
	}
	scheme, token, _ := strings.Cut(strings.Trim(values[0], " \t"), " ")
	token = strings.Trim(token, " ")
	if !strings.EqualFold(scheme, "Bearer") || token == "" || strings.ContainsFunc(token, notInToken) {
		return "", false
	}
	return token, true
}

// notInToken reports characters that a bearer token cannot have. Source: RFC 6750, section 2.1.
func notInToken(r rune) bool {
	return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("-._~+/=", r)
}

func inQuery(event *Event) bool {
	const parameter = "access_token"
	for name := range event.QueryStringParameters {
		if strings.EqualFold(name, parameter) {
			return true
		}
	}
	for name := range event.MultiValueQueryStringParameters {
		if strings.EqualFold(name, parameter) {
			return true
		}
	}
	return false
}

// called returns the name of the tool that the request says it calls; false when it says nothing clear. The dispatcher
// compares what the header says with the body, and decides by the body.
func called(event *Event) (string, bool) {
	method, ok := single(event, mcp.HeaderMethod)
	if event.HTTPMethod != http.MethodPost || !ok || method != mcp.MethodToolsCall {
		return "", false
	}
	name, ok := single(event, mcp.HeaderName)
	if !ok || len(name) > maxName {
		return "", false
	}
	return name, true
}

// single decodes a field that comes once, or several times with one value.
func single(event *Event, name string) (string, bool) {
	values := slices.Compact(header(event, name))
	if len(values) != 1 {
		return "", false
	}
	decoded, err := mcp.DecodeHeaderValue(values[0])
	return decoded, err == nil && decoded != ""
}
