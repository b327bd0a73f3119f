package endpoint

import (
	"context"
	"log/slog"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"patchbay/shared/access"
	"patchbay/shared/mcp"
	"patchbay/shared/principal"
)

const (
	// allowedMethods are what the endpoint takes.
	allowedMethods = http.MethodPost + ", " + http.MethodOptions
	// exposed are the fields of answers that pages may read beside those that every page may (Fetch standard, section
	// 3.3.4): the server's own, and those of the gateway in front of it.
	exposed = "WWW-Authenticate, Retry-After, Allow, x-amzn-RequestId"
	// preflightSeconds is how long a browser may keep what a preflight answered: a tool with a new mirrored parameter is
	// called with its field by then.
	preflightSeconds = "600"
	// maxMirrored bounds the names of mirrored parameters in one answer, in bytes: a front door takes 10 KB of fields.
	maxMirrored = 4 << 10
)

// sendable are the request fields, beside mirrored parameters, that the endpoint reads and a page must name before it
// may send them.
var sendable = []string{
	"Authorization", "Content-Type", "Accept", mcp.HeaderProtocolVersion, mcp.HeaderMethod, mcp.HeaderName,
	"Idempotency-Key",
}

// mirroredName is the field of a mirrored parameter; what follows the prefix is a token (RFC 9110, section 5.6.2).
var mirroredName = regexp.MustCompile("^(?i:" + mcp.HeaderParamPrefix + ")[0-9A-Za-z!#$%&'*+.^_`|~-]+$")

// allowOrigin lets a page read the answer whose origin may call. A request without Origin is not from a page.
func (ex *exchange) allowOrigin() {
	origin := ex.http.Header.Values("Origin")
	if len(origin) == 0 {
		return
	}
	header := ex.answer.header()
	header.Set("Access-Control-Allow-Origin", origin[0])
	header.Set("Access-Control-Expose-Headers", exposed)
	header.Add("Vary", "Origin")
}

// options answers OPTIONS, which browsers send before a page's request and without its token. Source: Fetch standard,
// section 3.3.2.
func (ex *exchange) options(ctx context.Context) {
	header := ex.answer.header()
	header.Set("Allow", allowedMethods)
	if header.Get("Access-Control-Allow-Origin") != "" && ex.http.Header.Get("Access-Control-Request-Method") != "" {
		header.Del("Access-Control-Expose-Headers")
		header.Add("Vary", "Access-Control-Request-Headers")
		header.Set("Access-Control-Allow-Methods", http.MethodPost)
		header.Set("Access-Control-Allow-Headers", strings.Join(append(slices.Clone(sendable), ex.mirrored(ctx)...), ", "))
	}
	ex.answer.status(http.StatusNoContent)
}

// mirrored are the fields of mirrored parameters that a page may send.
//
// The browser asks without a token, so it cannot be told of what only some callers see. The names in the catalogue are
// those of tools that every caller sees. Before them stands whatever else of this kind the page asks for, whether a
// tool has it or not: so a page can call a tool that only its user sees, and the answer tells nobody which there are. A
// field that no tool declares is ignored when it comes.
func (ex *exchange) mirrored(ctx context.Context) []string {
	names := askedFor(ex.http.Header.Values("Access-Control-Request-Headers"))
	declared, err := ex.declared(ctx)
	if err != nil {
		// The page's calls will say so. What is answered here would be kept, so it is for once.
		ex.config.Log.LogAttrs(ctx, slog.LevelWarn, "naming mirrored parameters",
			slog.String("requestId", ex.facts.RequestID), slog.String("error", err.Error()))
	} else {
		ex.answer.header().Set("Access-Control-Max-Age", preflightSeconds)
	}
	return bounded(append(names, declared...))
}

// askedFor are the names of mirrored parameters in a preflight's list. A name is a token, and so has nothing in it that
// would end the field in which it is sent back.
func askedFor(fields []string) []string {
	var names []string
	for _, field := range fields {
		for name := range strings.SplitSeq(field, ",") {
			if name = strings.TrimSpace(name); mirroredName.MatchString(name) {
				names = append(names, name)
			}
		}
	}
	return names
}

// declared are the names that tools declare which every caller sees.
func (ex *exchange) declared(ctx context.Context) ([]string, error) {
	entries, err := ex.config.Catalogue.Entries(ctx)
	if err != nil {
		return nil, err
	}
	var everybody principal.Principal
	if ex.config.SignIn {
		everybody.Subject = "anybody" // somebody who has signed in, and has no scope at all
	}
	var names []string
	for _, entry := range entries {
		if !access.Visible(&entry.Tool.Contract, everybody) {
			continue
		}
		for i := range entry.Tool.HeaderParams {
			names = append(names, entry.Tool.HeaderParams[i].Header)
		}
	}
	slices.Sort(names)
	return names, nil
}

// bounded returns the names once each, whatever the case of their letters, from the first on up to a size.
func bounded(names []string) []string {
	seen := map[string]bool{}
	size := 0
	var kept []string
	for _, name := range names {
		key := strings.ToLower(name)
		if seen[key] {
			continue
		}
		if size += len(name) + len(", "); size > maxMirrored {
			break
		}
		seen[key] = true
		kept = append(kept, name)
	}
	return kept
}
