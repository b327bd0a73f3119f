// Package localpage is the page at the root of the local stack, for whoever writes tools: the catalogue as clients see
// it, a form to call each tool with, and the last calls with their path, live. Nothing of it is deployed.
//
// The page is an MCP client in the browser: it speaks revision 2026-07-28 with the endpoint beside it, by the same
// requests as any other client, so that what works here works there. It is plain HTML, CSS and JavaScript modules
// without a build step, and loads nothing from elsewhere.
//
// Whatever a tool, a server or a log says is put on the page as text, never as markup. The page is served to this
// machine alone, under a name of this machine: a site whose name resolves to it (DNS rebinding) gets nothing to read.
// It sends tokens to the endpoint beside it, and asks no other server than those where one signs in.
package localpage

import (
	"bytes"
	"embed"
	"html/template"
	"io/fs"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"path"
	"strings"

	"patchbay/scripts/callpath"
)

// Prefix is what the addresses of the page's parts begin with. The page itself is at the root.
const Prefix = "/_patchbay/"

// eventsPath streams what happens.
const eventsPath = Prefix + "events"

//go:embed assets
var assets embed.FS

var pageTemplate = template.Must(template.ParseFS(assets, "assets/index.html"))

// Calls are where the page's calls come from; *callpath.Collector has them.
type Calls interface {
	// Recent returns the last calls that have ended, up to n of them, the newest first.
	Recent(n int) []callpath.Call
	// Subscribe returns a channel that gets each call when it has ended, and what to call when no more are wanted. The
	// channel is closed when there will be no more.
	Subscribe() (calls <-chan callpath.Call, stop func())
}

// Options say what the page is of. Endpoint, Calls and Changes are required.
type Options struct {
	// Endpoint is the URL of the MCP endpoint, as callers' tokens name it.
	Endpoint string
	// Issuers are the authorization servers whose tokens callers need, which the page may ask; none where they need
	// none.
	Issuers []string
	// Calls are shown as they end.
	Calls Calls
	// Changes are what becomes of saved files.
	Changes *Changes
}

// New returns next with the page in front of it: the page's own addresses are answered here, all others by next.
func New(next http.Handler, options Options) http.Handler {
	var index bytes.Buffer
	if err := pageTemplate.Execute(&index, options); err != nil {
		panic("writing the page: " + err.Error()) // only for a template that does not fit Options
	}
	return &handler{next: next, options: options, index: index.Bytes(), policy: options.policy()}
}

type handler struct {
	next    http.Handler
	options Options
	index   []byte
	// policy is the Content-Security-Policy.
	policy string
}

// policy lets the page run its own files, ask its own server and those where one signs in, and show pictures and play
// sounds that are inside a result. There is no markup made of text, so nothing may be.
func (o Options) policy() string {
	connect := []string{"'self'"}
	for _, issuer := range o.Issuers {
		if u, err := url.Parse(issuer); err == nil && u.Host != "" {
			connect = append(connect, u.Scheme+"://"+u.Host)
		}
	}
	return strings.Join([]string{
		"default-src 'none'", "script-src 'self'", "style-src 'self'", "img-src data:", "media-src data:",
		"connect-src " + strings.Join(connect, " "), "base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'",
		"require-trusted-types-for 'script'", "trusted-types 'none'",
	}, "; ")
}

func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	own := r.URL.Path == "/" || strings.HasPrefix(r.URL.Path, Prefix)
	if !own || r.Method != http.MethodGet && r.Method != http.MethodHead {
		h.next.ServeHTTP(w, r)
		return
	}
	header := w.Header()
	header.Set("Content-Security-Policy", h.policy)
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("Referrer-Policy", "no-referrer")
	header.Set("Cross-Origin-Opener-Policy", "same-origin")
	header.Set("Cross-Origin-Resource-Policy", "same-origin")
	header.Set("Cache-Control", "no-cache")
	if !ofThisMachine(r) {
		home := strings.TrimSuffix(h.options.Endpoint, path.Base(h.options.Endpoint))
		http.Error(w, "This page is for the machine that it runs on. There it is at "+home, http.StatusMisdirectedRequest)
		return
	}
	if site := r.Header.Get("Sec-Fetch-Site"); r.URL.Path != "/" && (site == "cross-site" || site == "same-site") {
		http.Error(w, "This is for the page at / alone.", http.StatusForbidden)
		return
	}
	h.serve(w, r)
}

func (h *handler) serve(w http.ResponseWriter, r *http.Request) {
	name := strings.TrimPrefix(r.URL.Path, Prefix)
	switch {
	case r.URL.Path == "/":
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = w.Write(h.index)
	case r.URL.Path == eventsPath:
		h.serveEvents(w, r)
	default:
		serveAsset(w, r, name)
	}
}

// contentTypes are those of the page's files, by the end of their name. What the machine has installed does not count.
var contentTypes = map[string]string{".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8"}

func serveAsset(w http.ResponseWriter, r *http.Request, name string) {
	contentType, known := contentTypes[path.Ext(name)]
	data, err := fs.ReadFile(assets, path.Join("assets", name))
	if !known || err != nil {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", contentType)
	_, _ = w.Write(data)
}

// ofThisMachine reports whether a request comes from this machine and names it by a name that is nobody else's. Where
// the server listens on all addresses, whoever reaches it could write any name.
func ofThisMachine(r *http.Request) bool {
	host := r.Host
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	return isLoopback(host) && isLoopback(remoteHost(r.RemoteAddr))
}

func remoteHost(address string) string {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return ""
	}
	return host
}

func isLoopback(host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	address, err := netip.ParseAddr(strings.Trim(host, "[]"))
	return err == nil && address.Unmap().IsLoopback()
}
