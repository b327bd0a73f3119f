package patchbaycdk

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"patchbay/shared/access"
	"patchbay/shared/authorization"
	"patchbay/shared/contract"
	"patchbay/shared/principal"
)

// form is how a product writes its issuers.
type form struct {
	pattern *regexp.Regexp
	like    string
}

// forms are those of the products whose issuers look like nobody else's. An issuer is compared character for character,
// so that one in another form refuses every token. Sources: the products' documentation, in docs/authorization.md.
var forms = map[authorization.Provider]form{
	authorization.ProviderAuth0: {regexp.MustCompile(`^https://[^/]+/$`), "https://TENANT.auth0.com/, with the slash"},
	authorization.ProviderCognito: {
		regexp.MustCompile(`^https://cognito-idp\.[a-z0-9-]+\.amazonaws\.com(\.cn)?/[a-z0-9-]+_[A-Za-z0-9]+$`),
		"https://cognito-idp.REGION.amazonaws.com/POOL, not the domain where people sign in",
	},
	authorization.ProviderEntra: {
		regexp.MustCompile(`^https://([^/]+/[0-9a-f-]{36}/v2\.0|sts\.windows\.net/[0-9a-f-]{36}/)$`),
		"https://login.microsoftonline.com/TENANT_ID/v2.0, or for tokens of version 1 https://sts.windows.net/TENANT_ID/",
	},
	authorization.ProviderKeycloak: {regexp.MustCompile(`^https://.+/realms/[^/]+$`), "https://HOST/realms/REALM"},
	authorization.ProviderOkta: {
		regexp.MustCompile(`^https://[^/]+/oauth2/[^/]+$`),
		"https://HOST/oauth2/SERVER, since tokens without a server of its own are for Okta alone",
	},
}

// misspelt are issuers in a form that the product is not known to use.
func (p *project) misspelt() []advice {
	if p.stage.Authorization == nil {
		return nil
	}
	var all []advice
	for _, issuer := range p.stage.Authorization.Issuers {
		usual, known := forms[issuer.Provider]
		switch {
		case strings.Contains(issuer.URL, "/.well-known/"):
			usual.like = "what \"issuer\" says in the document at that address"
		case !known || usual.pattern.MatchString(issuer.URL):
			continue
		}
		all = append(all, advice{"form:" + issuer.URL, fmt.Sprintf("the issuer %s of stage %q is hardly what its tokens say "+
			"in \"iss\", and then every token is refused; an issuer of %s is %s", issuer.URL, p.stage.Name, issuer.Provider,
			usual.like)})
	}
	return all
}

// needless is a front for a product whose answers a front cannot stand for.
func (p *project) needless() []advice {
	config := p.stage.Authorization
	if config == nil || config.Front == nil || config.Fronted().Provider != authorization.ProviderKeycloak {
		return nil
	}
	return []advice{{"front", fmt.Sprintf("the front of stage %q will not be served: Keycloak names itself in its "+
		"answers, which clients compare (RFC 9207), and needs no front", p.stage.Name)}}
}

// unasked are the tools that stay hidden from everybody who signs in with what the first challenge names.
func (p *project) unasked() []advice {
	config := p.stage.Authorization
	if config == nil {
		return nil
	}
	newcomer := principal.Principal{Subject: "anybody", Scopes: config.Expand(config.Initial(p.tools))}
	var all []advice
	for _, tool := range p.tools {
		rules := &tool.Contract
		if rules.Visibility != contract.VisibilityPermitted || access.Visible(rules, newcomer) ||
			rules.Risk == contract.RiskForbidden {
			continue
		}
		all = append(all, advice{"unasked:" + tool.Name, fmt.Sprintf("%s is seen only with the permissions %s, which "+
			"clients do not ask for when they sign in, and never after; name them under \"initialScopes\" in the authorization "+
			"of stage %q", tool.Name, strings.Join(newcomer.Missing(rules.Permissions), ", "), p.stage.Name)})
	}
	return all
}

// signIn is what sign-in will stumble over.
func (p *project) signIn() []advice {
	return slices.Concat(p.refused(), p.misspelt(), p.needless(), p.unasked())
}
