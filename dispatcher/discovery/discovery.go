// Package discovery serves what a client reads before it has a token: where to sign in, and for which scopes. All of it
// is public, also to web pages of any origin: it says nothing about a caller, and no token is ever sent here.
//
// The protected resource metadata (RFC 9728) names the authorization servers whose tokens are taken. Three more
// addresses exist where the deployment has a front: they stand for an authorization server that MCP clients refuse, one
// that has no registration or does not say that it knows PKCE. The front document (RFC 8414, OpenID Connect Discovery
// 1.0) has this server's own issuer and the other's endpoints; the registration endpoint (RFC 7591) hands out one
// client that was registered there beforehand.
//
// # What the front is not
//
// MCP's security page warns of proxies that have one client id of their own at an authorization server, and forward to
// it whoever registered with them: a person who once agreed to the proxy is not asked again, and the code goes to an
// attacker's address. Its cure is consent for each client. There is no such proxy here. The browser goes from the
// client to the authorization server and back; no request of that flow, no code and no token passes through this
// server, which has no session and nothing to forward. The authorization server sends the code where the client that it
// knows may get it, and nowhere else; an address that is not on its list, and on the allowlist here, cannot be
// registered. PKCE binds the code to whoever began the flow.
//
// What remains is that all who register share a client id. To the authorization server they are one application: its
// page names that one, and where it remembers consent, it remembers it for all of them. So the allowlist is for
// applications that the operator would register under one name: the web applications that it names by their whole
// address, and programs on the person's own machine, which may all receive what is sent to a loopback address
// (RFC 8252, section 8.6). Whoever needs them told apart registers each with the authorization server and needs no
// front.
package discovery

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"patchbay/dispatcher/metrics"
	"patchbay/shared/authorization"
	"patchbay/shared/issuer"
	"patchbay/shared/registry"
)

const (
	// keepFor is how long a document may be kept by whoever fetched it: long enough to spare a sign-in some round trips,
	// short enough that new scopes are soon known.
	keepFor = 5 * time.Minute
	// preflightFor is how long a browser may keep what a preflight answered.
	preflightFor = time.Hour
	// retryIn is when to ask again for what could not be read.
	retryIn = 5 * time.Second
)

// Catalogue has the live tools.
type Catalogue interface {
	// Entries returns all tools that are published and not disabled. They are shared, and must not be changed.
	Entries(ctx context.Context) ([]*registry.Entry, error)
}

// Config is what a Handler serves. Authorization, Resource, Catalogue and Log are required.
type Config struct {
	Authorization *authorization.Config
	Resource      authorization.Resource
	Catalogue     Catalogue
	// Name is the server's name for people, and Documentation the URL of a page about it; either may be empty.
	Name, Documentation string
	// Upstream is the metadata of the authorization server that is fronted; nil asks that server.
	Upstream Upstream
	// RequestID tells the front door's id of a request; nil for none.
	RequestID func(context.Context) string
	// Log gets one line for every request.
	Log *slog.Logger
	// Metrics counts every request; nil counts none.
	Metrics *metrics.Writer
}

// Upstream is where the metadata of the fronted authorization server comes from.
type Upstream interface {
	Metadata(ctx context.Context) (*issuer.Metadata, error)
}

// Handler serves the public addresses. It is safe for concurrent use.
type Handler struct {
	config Config
	routes map[string]route
}

// route is one address.
type route struct {
	methods []string
	serve   func(*exchange)
}

// New returns the handler for config.
func New(config Config) *Handler {
	if fronted := config.Authorization.Fronted(); fronted != nil && config.Upstream == nil {
		config.Upstream = issuer.NewSource(fronted, issuer.SourceOptions{Log: config.Log})
	}
	if config.RequestID == nil {
		config.RequestID = func(context.Context) string { return "" }
	}
	h := &Handler{config: config, routes: map[string]route{}}
	read := []string{http.MethodGet, http.MethodHead, http.MethodOptions}
	h.route(authorization.ResourceMetadataPath, route{read, (*exchange).resourceMetadata})
	h.route(authorization.ResourceMetadataPath+authorization.EndpointPath, route{read, (*exchange).resourceMetadata})
	if config.Authorization.Front != nil {
		h.route(authorization.ServerMetadataPath, route{read, (*exchange).frontMetadata})
		h.route(authorization.OpenIDMetadataPath, route{read, (*exchange).frontMetadata})
		h.route(authorization.RegistrationPath, route{
			[]string{http.MethodPost, http.MethodOptions}, (*exchange).register,
		})
	}
	return h
}

// route serves a path. An event's path has no stage in it, but it has what a domain's mapping put before the API, which
// is in the resource's URI, too.
func (h *Handler) route(path string, route route) {
	h.routes[path] = route
	if base, err := url.Parse(h.config.Resource.Base()); err == nil {
		h.routes[base.Path+path] = route
	}
}

// Handles reports whether path is one of the public addresses.
func (h *Handler) Handles(path string) bool {
	_, found := h.routes[path]
	return found
}

// ServeHTTP answers a request for one of the public addresses.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	ex := &exchange{Handler: h, w: w, r: r, started: time.Now()}
	ex.serve()
	ex.record()
}

// exchange is one request and its answer.
type exchange struct {
	*Handler
	w       http.ResponseWriter
	r       *http.Request
	started time.Time
	status  int
	// reason is why a request was refused, in one word; cause is what failed, which the client is not told.
	reason string
	cause  error
}

// Reasons of refusals, as values of a metric's dimension.
const (
	reasonMethod       = "method_not_allowed"
	reasonRegistration = "registration_refused"
)

func (ex *exchange) serve() {
	header := ex.w.Header()
	header.Set("Access-Control-Allow-Origin", "*")
	header.Set("Access-Control-Expose-Headers", "ETag, Retry-After, x-amzn-RequestId")
	header.Set("X-Content-Type-Options", "nosniff")
	route, found := ex.routes[ex.r.URL.Path]
	switch {
	case !found:
		ex.fail(http.StatusNotFound, "not_found", "There is nothing at this address.")
	case ex.r.Method == http.MethodOptions:
		ex.preflight(route)
	case !slices.Contains(route.methods, ex.r.Method):
		ex.reason = reasonMethod
		header.Set("Allow", strings.Join(route.methods, ", "))
		ex.fail(http.StatusMethodNotAllowed, "invalid_request",
			"This address takes "+strings.Join(route.methods, ", ")+".")
	default:
		route.serve(ex)
	}
}

// preflight lets every page ask, with the header fields that the official clients send to these addresses.
func (ex *exchange) preflight(route route) {
	methods := strings.Join(route.methods, ", ")
	header := ex.w.Header()
	header.Set("Allow", methods)
	header.Set("Access-Control-Allow-Methods", methods)
	header.Set("Access-Control-Allow-Headers", "Accept, Authorization, Content-Type, MCP-Protocol-Version")
	header.Set("Access-Control-Max-Age", strconv.Itoa(int(preflightFor.Seconds())))
	ex.writeHeader(http.StatusNoContent)
}

// document answers with a document that may be kept.
func (ex *exchange) document(document any) {
	body, err := json.Marshal(document)
	if err != nil {
		panic("encoding a document: " + err.Error())
	}
	sum := sha256.Sum256(body)
	tag := `"` + base64.RawURLEncoding.EncodeToString(sum[:12]) + `"`
	header := ex.w.Header()
	header.Set("Cache-Control", "public, max-age="+strconv.Itoa(int(keepFor.Seconds())))
	header.Set("ETag", tag)
	if has(ex.r.Header.Values("If-None-Match"), tag) {
		ex.writeHeader(http.StatusNotModified)
		return
	}
	ex.write(http.StatusOK, body)
}

// has reports whether one of the entity tags is this one. Source: RFC 9110, section 13.1.2.
func has(fields []string, tag string) bool {
	for _, field := range fields {
		for candidate := range strings.SplitSeq(field, ",") {
			candidate = strings.TrimPrefix(strings.TrimSpace(candidate), "W/")
			if candidate == tag || candidate == "*" {
				return true
			}
		}
	}
	return false
}

// fail answers with an error in OAuth's form. Source: RFC 6749, section 5.2; RFC 7591, section 3.2.2.
func (ex *exchange) fail(status int, code, description string) {
	body, err := json.Marshal(struct {
		Error       string `json:"error"`
		Description string `json:"error_description"`
	}{code, description})
	if err != nil {
		panic("encoding an error: " + err.Error())
	}
	ex.w.Header().Set("Cache-Control", "no-store")
	ex.write(status, body)
}

// unavailable answers that a document cannot be made at the moment. A wrong one would send people to sign in for less
// than they need, and be kept.
func (ex *exchange) unavailable(what string, cause error) {
	ex.cause = cause
	ex.w.Header().Set("Retry-After", strconv.Itoa(int(retryIn.Seconds())))
	ex.fail(http.StatusServiceUnavailable, "temporarily_unavailable",
		what+" cannot be read at the moment. Try again in a few seconds"+ex.requestID()+".")
}

// requestID is what a text says of the request's id.
func (ex *exchange) requestID() string {
	if id := ex.config.RequestID(ex.r.Context()); id != "" {
		return " (request id " + id + ")"
	}
	return ""
}

func (ex *exchange) write(status int, body []byte) {
	header := ex.w.Header()
	header.Set("Content-Type", "application/json")
	header.Set("Content-Length", strconv.Itoa(len(body)))
	ex.writeHeader(status)
	if ex.r.Method != http.MethodHead {
		_, _ = ex.w.Write(body)
	}
}

func (ex *exchange) writeHeader(status int) {
	ex.status = status
	ex.w.WriteHeader(status)
}

// record writes the request's line to the log and counts it.
func (ex *exchange) record() {
	attrs := []slog.Attr{
		slog.String("requestId", ex.config.RequestID(ex.r.Context())),
		slog.String("method", ex.r.Method),
		slog.String("path", ex.r.URL.Path),
		slog.Int("status", ex.status),
		slog.Float64("durationMs", float64(time.Since(ex.started))/float64(time.Millisecond)),
	}
	level := slog.LevelInfo
	if ex.reason != "" {
		attrs = append(attrs, slog.String("reason", ex.reason))
	}
	if ex.cause != nil {
		level = slog.LevelError
		attrs = append(attrs, slog.String("cause", ex.cause.Error()))
	}
	ex.config.Log.LogAttrs(ex.r.Context(), level, "discovery", attrs...)
	ex.config.Metrics.Request(metrics.Request{Refusal: ex.reason, Error: ex.cause != nil})
}

// errUnusable means that an authorization server's metadata is there, and cannot be fronted.
var errUnusable = errors.New("the authorization server cannot be fronted")

func unusable(format string, args ...any) error {
	return fmt.Errorf("%w: %w", errUnusable, fmt.Errorf(format, args...))
}
