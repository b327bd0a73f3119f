package discovery

import (
	"net"
	"net/url"
	"strconv"
	"strings"
)

// redirectAllowed reports whether a redirect URI is one of the allowed ones, character for character; one of them on a
// loopback address of http, written without a port, allows every port (RFC 8252, section 7.3). Nothing is decoded,
// folded or resolved on the way: what is compared is what the authorization server will compare.
func redirectAllowed(allowed []string, uri string) bool {
	for _, entry := range allowed {
		if entry == uri || sameButForPort(entry, uri) {
			return true
		}
	}
	return false
}

// sameButForPort reports whether uri is a loopback entry with a port put behind its host.
func sameButForPort(entry, uri string) bool {
	host, rest, ok := cutLoopback(entry)
	if !ok {
		return false
	}
	after, ok := strings.CutPrefix(uri, host+":")
	if !ok {
		return false
	}
	port, ok := strings.CutSuffix(after, rest)
	return ok && isPort(port)
}

// cutLoopback splits an http URI with a loopback address and without a port behind the host.
func cutLoopback(uri string) (host, rest string, ok bool) {
	u, err := url.Parse(uri)
	if err != nil || u.Scheme != "http" || u.User != nil || u.Port() != "" || strings.HasSuffix(u.Host, ":") {
		return "", "", false
	}
	name := u.Hostname()
	if ip := net.ParseIP(name); !strings.EqualFold(name, "localhost") && (ip == nil || !ip.IsLoopback()) {
		return "", "", false
	}
	host = "http://" + u.Host
	rest, ok = strings.CutPrefix(uri, host)
	return host, rest, ok
}

// isPort reports whether text is a port as numbers are written.
func isPort(text string) bool {
	port, err := strconv.ParseUint(text, 10, 16)
	return err == nil && port > 0 && strconv.FormatUint(port, 10) == text
}
