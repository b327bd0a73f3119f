package smokecheck

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/oauthex"
)

// The fields by which a server says how to sign in. API Gateway renames the first where a function sends it.
const (
	challengeField = "Www-Authenticate"
	renamedField   = "X-Amzn-Remapped-Www-Authenticate"
)

// The well-known addresses. Sources: RFC 9728, section 3; RFC 8414, section 3; OpenID Connect Discovery 1.0, section 4.
const (
	resourcePath = "/.well-known/oauth-protected-resource"
	serverPath   = "/.well-known/oauth-authorization-server"
	openIDPath   = "/.well-known/openid-configuration"
)

const preflightExpected = "OPTIONS is answered without a token, and lets in the page of --origin alone"

// maxTokenProbes bounds how many tools are asked for to find one that the token may not call.
const maxTokenProbes = 25

// authorizationChecks look at what a client without a token finds out; first is the answer to one.
func (r *run) authorizationChecks(ctx context.Context, first answer) {
	r.check(ctx, "challenge", "401 with WWW-Authenticate: Bearer resource_metadata=\"…\"",
		func(ctx context.Context) (string, error) { return r.challenge(ctx, first) })
	r.check(ctx, "metadata", "the resource metadata names this URL and an authorization server", r.resourceMetadata)
	r.check(ctx, "sign-in", "each authorization server's metadata is its own and supports PKCE", r.authorizationServers)
	r.check(ctx, "bad token", "401 for a token that is none", r.badToken)
}

func (r *run) withoutToken(request request) request {
	request.withoutToken = true
	if r.Origin != "" {
		request.header.Set("Origin", r.Origin)
	}
	return request
}

// challenge looks at the first 401. A challenge that names nothing is a server's whose tokens come from elsewhere,
// unless its metadata is where a client would look for it.
func (r *run) challenge(ctx context.Context, got answer) (string, error) {
	if r.gatewayIsSAM {
		r.metadataURL = r.endpoint.ResolveReference(&url.URL{Path: resourcePath + r.endpoint.Path}).String()
		return "", &skip{"SAM answers 502 where API Gateway answers 401, and has no gateway responses"}
	}
	params, err := challengeOf(got)
	if err != nil {
		return "", err
	}
	r.metadataURL = params["resource_metadata"]
	if r.metadataURL == "" {
		return r.silentChallenge(ctx, got)
	}
	if at, err := url.Parse(r.metadataURL); err != nil || !at.IsAbs() {
		return "", fmt.Errorf("resource_metadata is %q, which is no whole URL", r.metadataURL)
	}
	if got.rpc.Error == nil {
		return "", fmt.Errorf("a body that is no JSON-RPC error: %s", got)
	}
	if err := r.crossOrigin(got); err != nil {
		return "", err
	}
	return got.header.Get(challengeField), nil
}

func (r *run) silentChallenge(ctx context.Context, got answer) (string, error) {
	for _, at := range r.resourceAddresses() {
		if read[resourceMetadata](ctx, r, at, &r.metadata) == nil {
			r.metadataURL = at
			return "", fmt.Errorf("%s, without resource_metadata, although %s is there",
				got.header.Get(challengeField), at)
		}
	}
	return "", &skip{"the server does not say where its tokens come from"}
}

// challengeOf are the parameters of an answer's Bearer challenge; the error says what spoiled it, where that is known.
func challengeOf(got answer) (map[string]string, error) {
	values := got.header.Values(challengeField)
	if len(values) == 0 && got.header.Get(renamedField) != "" {
		return nil, fmt.Errorf("status %d with %s: API Gateway renames the field of a function's answer, so it must come "+
			"from a gateway response; see docs/live.md", got.status, strings.ToLower(renamedField))
	}
	if len(values) == 0 || strings.TrimSpace(values[0]) == "" {
		return nil, fmt.Errorf("status %d without WWW-Authenticate; see docs/live.md%s", got.status, staticAdvice(got))
	}
	value := strings.Join(values, ", ")
	all, err := oauthex.ParseWWWAuthenticate(values)
	if err != nil || strings.Contains(value, `=\"`) || strings.Contains(value, "&quot;") {
		return nil, fmt.Errorf("WWW-Authenticate: %s, whose quotes are not right; see docs/live.md%s", value,
			staticAdvice(got))
	}
	for _, one := range all {
		if one.Scheme == "bearer" {
			return one.Params, nil
		}
	}
	return nil, fmt.Errorf("WWW-Authenticate: %s, which is no Bearer challenge", value)
}

// staticAdvice is what helps where a challenge that an authorizer computed is lost or spoiled: the 403's alone is one.
func staticAdvice(got answer) string {
	if got.status != http.StatusForbidden {
		return ""
	}
	return `, and set "challenge": "static" in the stage's authorization, which does without computed values`
}

// crossOrigin looks at whether the page of Origin may read the challenge.
func (r *run) crossOrigin(got answer) error {
	if r.Origin == "" {
		return nil
	}
	if !lets(got.header, r.Origin) || !names(got.header.Values("Access-Control-Expose-Headers"), challengeField) {
		return fmt.Errorf("Access-Control-Allow-Origin %q and Access-Control-Expose-Headers %q: a page of %s cannot read it",
			got.header.Get("Access-Control-Allow-Origin"), got.header.Get("Access-Control-Expose-Headers"), r.Origin)
	}
	return nil
}

// lets reports whether a page of an origin may read the answer, by what it says.
func lets(header http.Header, origin string) bool {
	allowed := header.Get("Access-Control-Allow-Origin")
	return allowed == "*" || allowed == origin
}

// names reports whether a name is in lists that are separated by commas, whatever its case.
func names(lists []string, name string) bool {
	for _, list := range lists {
		for one := range strings.SplitSeq(list, ",") {
			if strings.EqualFold(strings.TrimSpace(one), name) {
				return true
			}
		}
	}
	return false
}

// resourceMetadata is what a resource says of itself. Source: RFC 9728, section 2.
type resourceMetadata struct {
	Resource string   `json:"resource"`
	Servers  []string `json:"authorization_servers"`
	Scopes   []string `json:"scopes_supported"`
	Methods  []string `json:"bearer_methods_supported"`
}

func (r *run) resourceMetadata(ctx context.Context) (string, error) {
	if r.metadataURL == "" {
		return "", &skip{"the challenge does not say where it is"}
	}
	if err := read(ctx, r, r.metadataURL, &r.metadata); err != nil {
		return "", err
	}
	switch {
	case r.metadata.Resource != r.URL:
		return "", fmt.Errorf("%s is about %q, not about %s", r.metadataURL, r.metadata.Resource, r.URL)
	case len(r.metadata.Servers) == 0:
		return "", fmt.Errorf("%s names no authorization server", r.metadataURL)
	case len(r.metadata.Methods) > 0 && !slices.Contains(r.metadata.Methods, "header"):
		return "", fmt.Errorf("%s says that tokens come by %q", r.metadataURL, r.metadata.Methods)
	}
	seen := fmt.Sprintf("%s: %s", r.metadataURL, strings.Join(r.metadata.Servers, ", "))
	if probed := r.resourceAddresses(); !slices.Contains(probed, r.metadataURL) {
		seen += "; clients that do not read the challenge look for it at " + probed[0] + " and find nothing"
	}
	return seen, nil
}

// resourceAddresses are where clients look that the challenge does not tell where the metadata is. Source: MCP
// 2026-07-28, basic/authorization/authorization-server-discovery.
func (r *run) resourceAddresses() []string {
	at := func(path string) string { return r.endpoint.ResolveReference(&url.URL{Path: path}).String() }
	return []string{at(resourcePath + r.endpoint.Path), at(resourcePath)}
}

// read decodes a JSON document. The caller's headers go to the endpoint's own host alone.
func read[T any](ctx context.Context, r *run, at string, into *T) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, at, nil)
	if err != nil {
		return fmt.Errorf("asking for %s: %w", at, err)
	}
	client := newClient(nil)
	if request.URL.Host == r.endpoint.Host {
		client = r.stranger
	}
	if r.Origin != "" {
		request.Header.Set("Origin", r.Origin)
	}
	response, err := client.Do(request)
	if err != nil {
		return fmt.Errorf("no answer: %w", err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer))
	if err != nil {
		return fmt.Errorf("reading %s: %w", at, err)
	}
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("status %d for %s: %s", response.StatusCode, at, shorten(string(body)))
	}
	if json.Unmarshal(body, into) != nil {
		return fmt.Errorf("%s is no JSON document: %s", at, shorten(string(body)))
	}
	if r.Origin != "" && !lets(response.Header, r.Origin) {
		return fmt.Errorf("%s cannot be read by a page of %s: Access-Control-Allow-Origin is %q", at, r.Origin,
			response.Header.Get("Access-Control-Allow-Origin"))
	}
	return nil
}

// serverMetadata is what an authorization server says of itself. Source: RFC 8414, section 2; OAuth Client ID Metadata
// Document, section 5.
type serverMetadata struct {
	Issuer        string   `json:"issuer"`
	Authorization string   `json:"authorization_endpoint"`
	Token         string   `json:"token_endpoint"`
	Registration  string   `json:"registration_endpoint"`
	Challenges    []string `json:"code_challenge_methods_supported"`
	Documents     bool     `json:"client_id_metadata_document_supported"`
}

func (r *run) authorizationServers(ctx context.Context) (string, error) {
	if len(r.metadata.Servers) == 0 {
		return "", &skip{"no resource metadata names one"}
	}
	var seen []string
	for _, issuer := range r.metadata.Servers {
		one, err := r.authorizationServer(ctx, issuer)
		if err != nil {
			return "", err
		}
		seen = append(seen, one)
	}
	return strings.Join(seen, "; "), nil
}

func (r *run) authorizationServer(ctx context.Context, issuer string) (string, error) {
	addresses, err := serverAddresses(issuer)
	if err != nil {
		return "", err
	}
	var faults []string
	for _, at := range addresses {
		var found serverMetadata
		if err := read(ctx, r, at, &found); err != nil {
			faults = append(faults, err.Error())
			continue
		}
		return found.judge(issuer, at)
	}
	return "", fmt.Errorf("no metadata of %s: %s", issuer, strings.Join(faults, "; "))
}

// serverAddresses are those of an issuer's metadata, in the order in which clients try them. Source: MCP 2026-07-28,
// basic/authorization/authorization-server-discovery.
func serverAddresses(issuer string) ([]string, error) {
	at, err := url.Parse(issuer)
	if err != nil || at.Host == "" {
		return nil, fmt.Errorf("the authorization server %q is no URL", issuer)
	}
	origin, path := at.Scheme+"://"+at.Host, strings.TrimSuffix(at.EscapedPath(), "/")
	if path == "" {
		return []string{origin + serverPath, origin + openIDPath}, nil
	}
	return []string{origin + serverPath + path, origin + openIDPath + path, origin + path + openIDPath}, nil
}

// judge says whether MCP clients go on with an authorization server, and how they register.
func (m serverMetadata) judge(issuer, at string) (string, error) {
	switch {
	case m.Issuer != issuer:
		return "", fmt.Errorf("%s is about %q, not about %q, so clients must not use it", at, m.Issuer, issuer)
	case m.Authorization == "" || m.Token == "":
		return "", fmt.Errorf("%s lacks authorization_endpoint or token_endpoint", at)
	case !slices.Contains(m.Challenges, "S256"):
		return "", fmt.Errorf("%s has code_challenge_methods_supported %q, without S256: MCP clients refuse it, unless "+
			"authorization.front stands for it; see docs/authorization.md", at, m.Challenges)
	}
	ways := "clients need a client id that was registered by hand"
	switch {
	case m.Documents && m.Registration != "":
		ways = "clients register by metadata document or dynamically"
	case m.Documents:
		ways = "clients register by metadata document"
	case m.Registration != "":
		ways = "clients register dynamically"
	}
	return issuer + ": " + ways, nil
}

func (r *run) badToken(ctx context.Context) (string, error) {
	if r.gatewayIsSAM {
		return "", &skip{"SAM answers 502 where API Gateway answers 401"}
	}
	request := r.withoutToken(r.modern("server/discover", nil))
	request.header.Set("Authorization", "Bearer patchbay-smoke-no-token")
	got, err := r.send(ctx, request)
	if err != nil {
		return "", err
	}
	if got.status != http.StatusUnauthorized {
		return "", fmt.Errorf("%s", got)
	}
	if _, err := challengeOf(got); err != nil {
		return "", err
	}
	return got.String(), nil
}

// tokenTaken reports whether the server takes the token that was given. One that it refuses is one failure, and not one
// for each check that needs a token.
func (r *run) tokenTaken(ctx context.Context) bool {
	got, err := r.send(ctx, r.modern("server/discover", nil))
	if err != nil || got.status != http.StatusUnauthorized {
		return true // the checks say more of what else is wrong
	}
	r.check(ctx, "with a token", "the token is taken", func(context.Context) (string, error) {
		return "", fmt.Errorf("%s; the authorizer's log says why, in \"reason\": patchbay calls REQUEST_ID", got)
	})
	return false
}

// preflight asks as a browser does before a page calls. A page of a stranger must not be let in, which is seen even
// where nobody said which page may.
func (r *run) preflight(ctx context.Context) (string, error) {
	stranger, err := r.options(ctx, "https://patchbay-smoke.invalid")
	if err != nil {
		return "", err
	}
	if stranger.status == http.StatusUnauthorized || stranger.status >= 500 {
		return "", fmt.Errorf("%s, so that no page can ever call", stranger)
	}
	if stranger.status < 300 && lets(stranger.header, "https://patchbay-smoke.invalid") {
		return "", errors.New("any page of any site may call")
	}
	if r.Origin == "" {
		return fmt.Sprintf("status %d for a page of a stranger; name one that may call by --origin", stranger.status), nil
	}
	got, err := r.options(ctx, r.Origin)
	if err != nil {
		return "", err
	}
	if got.status >= 300 || !lets(got.header, r.Origin) {
		return "", fmt.Errorf("Access-Control-Allow-Origin %q with %s: a page of %s may not call",
			got.header.Get("Access-Control-Allow-Origin"), got, r.Origin)
	}
	for _, field := range preflightFields {
		if !names(got.header.Values("Access-Control-Allow-Headers"), field) {
			return "", fmt.Errorf("Access-Control-Allow-Headers %q lacks %s",
				got.header.Get("Access-Control-Allow-Headers"), field)
		}
	}
	return fmt.Sprintf("a page of %s may call", r.Origin), nil
}

// preflightFields are those that a page cannot do without. A star would not stand for Authorization: see the Fetch
// standard, CORS-preflight fetch.
var preflightFields = []string{"Authorization", "Content-Type", "MCP-Protocol-Version", "Mcp-Method", "Mcp-Name"}

func (r *run) options(ctx context.Context, origin string) (answer, error) {
	header := http.Header{}
	header.Set("Origin", origin)
	header.Set("Access-Control-Request-Method", http.MethodPost)
	header.Set("Access-Control-Request-Headers", strings.ToLower(strings.Join(preflightFields, ",")))
	return r.send(ctx, request{url: r.URL, method: http.MethodOptions, header: header, withoutToken: true})
}

// missingScope looks for a tool that is listed and that the token may not call. Nothing is called: the header names the
// tool, by which the authorizer decides, and the body one that no server has, which the dispatcher refuses.
func (r *run) missingScope(ctx context.Context) (string, error) {
	if r.gatewayIsSAM {
		return "", &skip{"SAM has no gateway responses"}
	}
	asked := 0
	for _, tool := range r.likeliest() {
		if asked++; asked > maxTokenProbes {
			break
		}
		request := r.modern("tools/call", map[string]any{"name": unknownTool, "arguments": map[string]any{}})
		request.header.Set("Mcp-Name", tool.Name)
		got, err := r.send(ctx, request)
		if err != nil {
			return "", err
		}
		if got.status == http.StatusForbidden {
			return r.denial(tool.Name, got)
		}
	}
	asked = min(asked, maxTokenProbes)
	return "", &skip{fmt.Sprintf("the token may call each of the %d tools that were asked for", asked)}
}

// likeliest are the tools that are listed, those first that do not only read.
func (r *run) likeliest() []listed {
	sorted := slices.Clone(r.tools)
	slices.SortStableFunc(sorted, func(a, b listed) int {
		switch {
		case a.readOnly() == b.readOnly():
			return 0
		case a.readOnly():
			return 1
		}
		return -1
	})
	return sorted
}

// denial judges the answer for a tool that the token may not call.
func (r *run) denial(tool string, got answer) (string, error) {
	params, err := challengeOf(got)
	if err != nil {
		return "", fmt.Errorf("%s: %w", tool, err)
	}
	value := got.header.Get(challengeField)
	switch {
	case r.metadataURL != "" && params["resource_metadata"] != r.metadataURL:
		return "", fmt.Errorf("%s: %s, whose resource_metadata is not that of the 401", tool, value)
	case params["error"] == "insufficient_user_authentication" && params["acr_values"] == "" && params["max_age"] == "":
		return "", fmt.Errorf("%s: %s, without acr_values and max_age", tool, value)
	case params["error"] == "insufficient_user_authentication":
		return tool + ": " + value, nil
	case params["error"] != "insufficient_scope":
		return "", fmt.Errorf("%s: %s, whose error is not insufficient_scope", tool, value)
	case params["scope"] == "":
		return fmt.Sprintf(`%s: %s, which names no scope: as the setting "challenge": "static" has it`, tool, value), nil
	}
	return tool + ": " + value, nil
}
