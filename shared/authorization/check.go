package authorization

import (
	"errors"
	"fmt"
	"maps"
	"net"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"patchbay/shared/contract"
)

// maxLeewaySeconds is where clocks are wrong, not different.
const maxLeewaySeconds = 300

// algorithms are the signature algorithms that a key anybody may read can verify. Those with a shared secret are not
// among them: a server that took HS256 would take a token that was signed with the public key as the secret.
// Sources: RFC 7518, section 3.1; RFC 8037, section 3.1; RFC 8725, section 2.1.
var algorithms = []string{
	"RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA",
}

var providers = []Provider{
	ProviderGeneric, ProviderCognito, ProviderEntra, ProviderAuth0, ProviderOkta, ProviderKeycloak,
}

// scheme is the form of a URI scheme. Source: RFC 3986, section 3.1.
var scheme = regexp.MustCompile(`^[a-z][a-z0-9+.-]*$`)

// notSchemes cannot be an application's own scheme: browsers and systems give them a meaning.
var notSchemes = []string{"about", "blob", "data", "file", "ftp", "javascript", "mailto", "vbscript", "ws", "wss"}

// problems are all that is wrong, each with its place.
type problems []error

func (p *problems) add(path, format string, args ...any) {
	*p = append(*p, fmt.Errorf("%s: %w", place(path), fmt.Errorf(format, args...)))
}

// check says what is wrong with a configuration whose defaults are filled in.
func (c *Config) check() error {
	var p problems
	if len(c.Issuers) == 0 {
		p.add("issuers", "no authorization server is named; at least one is needed, as in "+
			`[{"issuer": "https://login.example.com"}]`)
	}
	for i := range c.Issuers {
		c.Issuers[i].check(&p, "issuers["+strconv.Itoa(i)+"]")
		if first := c.Find(c.Issuers[i].URL); first != &c.Issuers[i] {
			p.add("issuers["+strconv.Itoa(i)+"].issuer", "%q is there twice; every issuer is named once", c.Issuers[i].URL)
		}
	}
	checkTexts(&p, "audiences", c.Audiences)
	checkScopes(&p, "initialScopes", c.InitialScopes)
	for _, scope := range slices.Sorted(maps.Keys(c.ScopeHierarchy)) {
		checkScopes(&p, "scopeHierarchy", []string{scope})
		checkScopes(&p, "scopeHierarchy."+scope, c.ScopeHierarchy[scope])
	}
	if seconds := *c.LeewaySeconds; seconds < 0 || seconds > maxLeewaySeconds {
		p.add("leewaySeconds", "%d; allowed: 0 to %d", seconds, maxLeewaySeconds)
	}
	if c.Challenge != ChallengeComputed && c.Challenge != ChallengeStatic {
		p.add("challenge", "%q; allowed: %s, %s", c.Challenge, ChallengeComputed, ChallengeStatic)
	}
	c.checkFront(&p)
	return errors.Join(p...)
}

func (i *Issuer) check(p *problems, path string) {
	i.checkURLs(p, path)
	if !slices.Contains(providers, i.Provider) {
		p.add(path+".provider", "%q is none that there are rules for; allowed: %s", i.Provider, listed(providers))
	}
	if len(i.Algorithms) == 0 {
		p.add(path+".algorithms", "no signature algorithm is taken; allowed: %s, or no member for the provider's own",
			listed(algorithms))
	}
	for _, algorithm := range i.Algorithms {
		if !slices.Contains(algorithms, algorithm) {
			p.add(path+".algorithms", "%q is no algorithm whose signatures a public key verifies; allowed: %s", algorithm,
				listed(algorithms))
		}
	}
	checkTexts(p, path+".audiences", i.Audiences)
	checkTexts(p, path+".clientIds", i.ClientIDs)
	if len(i.ClientIDs) > 0 && i.ScopePrefix == "" {
		p.add(path+".scopePrefix", "missing beside clientIds: a token that names no audience is only known to be meant "+
			`for this server by a scope with the server's own prefix, as in "tools/"`)
	}
	if i.ScopePrefix != "" && !contract.IsScope(i.ScopePrefix) {
		p.add(path+".scopePrefix", "%q cannot begin a scope; allowed: %s", i.ScopePrefix, scopeForm)
	}
}

// listed is a list as people write one.
func listed[T ~string](values []T) string {
	text := make([]string, len(values))
	for i, value := range values {
		text[i] = string(value)
	}
	return strings.Join(text, ", ")
}

func (i *Issuer) checkURLs(p *problems, path string) {
	u, err := parseURL(i.URL)
	switch {
	case err != nil:
		p.add(path+".issuer", "%w", err)
	case u.RawQuery != "":
		p.add(path+".issuer", "%q has a query; an issuer has none (RFC 8414, section 2)", i.URL)
	case !u.secure():
		p.add(path+".issuer", "%q; allowed: https, or http on a loopback address such as http://localhost:8080", i.URL)
	}
	if i.JWKSURI == "" {
		return
	}
	if jwksErr := i.CheckAddress(i.JWKSURI); jwksErr != nil {
		p.add(path+".jwksUri", "%w", jwksErr)
	}
}

// CheckAddress says what is wrong with an address of the issuer's, of its keys or of another endpoint, written here or
// in the issuer's own metadata document; nil when it may be used. It is of https. Where the issuer itself is on the
// loopback address of a development machine, and of http, the address may be so, too, under whatever name that machine
// has, as containers see it. An issuer elsewhere leads to no loopback address: there Lambda hands a function its
// invocations.
func (i *Issuer) CheckAddress(address string) error {
	u, err := parseURL(address)
	if err != nil {
		return err
	}
	issuer, err := parseURL(i.URL)
	local := err == nil && issuer.loopback()
	if u.Scheme == "https" && (local || !u.loopback()) || local && issuer.Scheme == "http" {
		return nil
	}
	return fmt.Errorf("%q; allowed: https, not on a loopback address; http where the issuer is on one", address)
}

// httpURL is an absolute http or https URL.
type httpURL struct{ *url.URL }

// parseURL reads a URL that a program asks, or that names an authorization server or a protected resource: absolute,
// http or https, without a user, a fragment, or characters that would end it where it is quoted.
func parseURL(text string) (httpURL, error) {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Hostname() == "" || u.Opaque != "" {
		return httpURL{}, fmt.Errorf("%q is no URL of the kind https://host/path", text)
	}
	if u.User != nil {
		return httpURL{}, errors.New("the URL has a user or password in it; none is sent there")
	}
	if strings.Contains(text, "#") || u.ForceQuery {
		return httpURL{}, fmt.Errorf("%q has a fragment, or a ? with nothing after it", text)
	}
	if !plain(text) || u.Scheme+"://" != text[:min(len(u.Scheme)+3, len(text))] {
		return httpURL{}, fmt.Errorf("%q is not written as URLs are: ASCII without spaces and quotes, the scheme in lower "+
			"case", text)
	}
	return httpURL{u}, nil
}

// secure reports whether nobody on the way can change what comes from the URL.
func (u httpURL) secure() bool { return u.Scheme == "https" || u.loopback() }

func (u httpURL) loopback() bool { return isLoopback(u.Hostname()) }

func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return strings.EqualFold(host, "localhost") || ip != nil && ip.IsLoopback()
}

func (c *Config) checkFront(p *problems) {
	f := c.Front
	if f == nil {
		return
	}
	if f.Issuer == "" && len(c.Issuers) > 1 {
		p.add("front.issuer", "missing, but there are %d issuers; name the one that is fronted", len(c.Issuers))
	}
	if f.Issuer != "" && c.Find(f.Issuer) == nil {
		p.add("front.issuer", "%q is none of the issuers", f.Issuer)
	}
	if f.ClientID == "" {
		p.add("front.clientId", "missing: the id of the public client that was registered beforehand")
	}
	if len(f.RedirectURIs) == 0 {
		p.add("front.redirectUris", "missing: without any, no client can register")
	}
	for i, uri := range f.RedirectURIs {
		if err := checkRedirectURI(uri); err != nil {
			p.add("front.redirectUris["+strconv.Itoa(i)+"]", "%w", err)
		}
	}
}

// checkRedirectURI takes the three kinds that there are: a web application's, a loopback address of the person's own
// machine, and a scheme of an application's own. Sources: RFC 8252, section 7; RFC 6749, section 3.1.2. Section 7.1 of
// the former wants a domain's name in the scheme; applications that people use have none in theirs.
func checkRedirectURI(text string) error {
	u, err := url.Parse(text)
	if err != nil || !plain(text) || !scheme.MatchString(u.Scheme) || strings.Contains(text, "*") {
		return fmt.Errorf("%q is no redirect URI; it is compared as a whole, so it is written in full", text)
	}
	if strings.Contains(text, "#") {
		return fmt.Errorf("%q has a fragment; a redirect URI has none", text)
	}
	switch {
	case u.User != nil:
		return errors.New("a redirect URI has no user or password")
	case u.Scheme == "https" && u.Hostname() != "":
		return nil
	case u.Scheme == "http" && isLoopback(u.Hostname()):
		return nil
	case u.Scheme == "https" || u.Scheme == "http" || slices.Contains(notSchemes, u.Scheme):
		return fmt.Errorf("%q; allowed: https, http on a loopback address, or a scheme of the application's own", text)
	}
	return nil
}

// plain reports whether nothing in a text would end it where it is quoted, as in a challenge: a URL has to be of the
// characters of scopes.
func plain(text string) bool { return contract.IsScope(text) }

func checkTexts(p *problems, path string, texts []string) {
	for i, text := range texts {
		if strings.TrimSpace(text) == "" {
			p.add(path+"["+strconv.Itoa(i)+"]", "the text is empty")
		}
	}
}

// scopeForm tells people what contract.IsScope takes.
const scopeForm = "printable ASCII without spaces, quotes and backslashes"

func checkScopes(p *problems, path string, scopes []string) {
	for _, scope := range scopes {
		if !contract.IsScope(scope) {
			p.add(path, "%q is no scope; allowed: %s", scope, scopeForm)
		}
	}
}
