package locallambda

import (
	"fmt"
	"net"
	"net/http"
	"strings"
)

// fromBrowser says why a request may come from a web page, or from another machine; "" when neither can be. Whoever may
// invoke a function may say who calls, and any page that is open on this machine can reach its loopback addresses: by
// requests that need no preflight, and, once the name of its own site resolves to 127.0.0.1, as its own site. Browsers
// name the page (Fetch, "Origin"; Fetch Metadata, "Sec-Fetch-Site") or, in the latter case, the site (Host); programs
// of this machine send neither of the fields and name the address that they were given.
func fromBrowser(r *http.Request) string {
	for _, name := range []string{"Origin", "Sec-Fetch-Site"} {
		if len(r.Header.Values(name)) > 0 {
			return "requests of web pages are not served, and this one carries " + name
		}
	}
	if !isLoopback(r.Host) {
		return fmt.Sprintf("Host is %q; allowed: localhost or a loopback address", r.Host)
	}
	return ""
}

// isLoopback reports whether HOST or HOST:PORT can only mean the machine itself. localhost is not resolved by browsers
// (RFC 6761, section 6.3).
func isLoopback(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	if strings.EqualFold(host, "localhost") {
		return true
	}
	ip := net.ParseIP(strings.TrimSuffix(strings.TrimPrefix(host, "["), "]"))
	return ip != nil && ip.IsLoopback()
}
