package authorization

import (
	"fmt"
	"strings"
)

// EndpointPath is where the MCP endpoint is, below the stage of an API or at the root of a domain.
const EndpointPath = "/mcp"

// The public addresses below the same base as the endpoint. Sources: RFC 9728, section 3; RFC 8414, section 3; OpenID
// Connect Discovery 1.0, section 4; RFC 7591, section 3.
const (
	ResourceMetadataPath = "/.well-known/oauth-protected-resource"
	ServerMetadataPath   = "/.well-known/oauth-authorization-server"
	OpenIDMetadataPath   = "/.well-known/openid-configuration"
	RegistrationPath     = "/oauth/register"
)

// PublicPaths are the addresses, below the same base as the endpoint, at which clients learn how to get a token, and so
// need none: the resource metadata, for clients that know the endpoint's path and for those that do not, and with a
// front what stands in for the authorization server.
func (c *Config) PublicPaths() []string {
	paths := []string{ResourceMetadataPath, ResourceMetadataPath + EndpointPath}
	if c.Front != nil {
		paths = append(paths, ServerMetadataPath, OpenIDMetadataPath, RegistrationPath)
	}
	return paths
}

// Resource is the server's canonical URI: the URL of its MCP endpoint, without a slash at the end. It is what
// "resource" says in an authorization request, and a token's audience. Source: RFC 8707, section 2.
type Resource string

// Base is what stands before the endpoint's path: a domain, or an API's address with its stage.
func (r Resource) Base() string { return strings.TrimSuffix(string(r), EndpointPath) }

// MetadataURL is where the protected resource metadata is. On a domain this is the address that clients find by
// themselves, the endpoint's path behind the well-known one. Behind a stage the well-known path would have to stand
// before the stage, where an API serves nothing: clients find it there only by the challenge's resource_metadata.
func (r Resource) MetadataURL() string { return r.Base() + ResourceMetadataPath + EndpointPath }

// FrontIssuer is the issuer of the front document.
func (r Resource) FrontIssuer() string { return r.Base() }

// ParseResource reads a canonical URI: https, or http on a loopback address, with the endpoint's path at its end.
// Source: MCP 2026-07-28, basic/authorization#canonical-server-uri.
func ParseResource(text string) (Resource, error) {
	u, err := parseURL(text)
	if err != nil {
		return "", err
	}
	if !u.secure() || u.RawQuery != "" || !strings.HasSuffix(u.Path, EndpointPath) || u.Host != strings.ToLower(u.Host) {
		return "", fmt.Errorf("%q is no canonical URI of a server here; allowed: https://host/mcp or "+
			"https://host/stage/mcp, the host in lower case, without a query; http on a loopback address", text)
	}
	return Resource(text), nil
}
