// Package smokecheck checks that an MCP server which was just deployed answers as it should, from outside and with the
// official protocol: what it offers, one call of a tool that only reads, streaming, and what it says to requests that
// are wrong. Of a server that asks for tokens it checks what a client finds out without one, too: the challenge, the
// metadata of the resource and of the authorization servers. The official Go SDK is the client; requests that no SDK
// would send go over plain HTTP.
//
// It calls nothing but tools that say that they only read, and takes some seconds.
package smokecheck

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"patchbay/scripts/printable"
)

// The protocol revisions that are spoken.
const (
	Revision        = "2026-07-28"
	EarlierRevision = "2025-06-18"
)

// callWait bounds one request, and runWait all of them.
const (
	callWait = 35 * time.Second
	runWait  = 55 * time.Second
)

// Options say what to check. URL is required.
type Options struct {
	// URL is the MCP endpoint.
	URL string
	// Header is sent with every request; an Authorization in it, only where a token is not the question.
	Header http.Header
	// Token is an access token; empty means that there is none but in Header.
	Token string
	// Origin is that of a web page that may call, as https://app.example.com; empty means that none has to.
	Origin string
	// Tool is the tool to call, which must say that it only reads; empty means the first such tool whose arguments can
	// be made from its schema. Arguments are those of Tool.
	Tool      string
	Arguments json.RawMessage
	// StreamingTool is called to see progress, under the same condition; empty means Tool.
	StreamingTool      string
	StreamingArguments json.RawMessage
}

// Status says how a check ended.
type Status string

// The ways in which a check ends.
const (
	OK      Status = "ok"
	Failed  Status = "failed"
	Skipped Status = "skipped"
)

// Check is one thing that was looked at.
type Check struct {
	Name   string `json:"name"`
	Status Status `json:"status"`
	// Expected is what a healthy server does, and Seen what this one did, or why nobody looked.
	Expected string `json:"expected"`
	Seen     string `json:"seen"`
}

// Report is the outcome of a run.
type Report struct {
	URL    string  `json:"url"`
	Checks []Check `json:"checks"`
	// Seconds is how long it took.
	Seconds float64 `json:"seconds"`
}

// Failed returns how many checks failed.
func (r *Report) Failed() int {
	failed := 0
	for _, check := range r.Checks {
		if check.Status == Failed {
			failed++
		}
	}
	return failed
}

// Run checks a server. tell, which may be nil, gets each check when it is done. The error is about the options: a
// server that does not answer fails its checks.
func Run(ctx context.Context, options Options, tell func(Check)) (*Report, error) {
	endpoint, err := url.Parse(options.URL)
	if err != nil || endpoint.Host == "" || (endpoint.Scheme != "http" && endpoint.Scheme != "https") {
		return nil, fmt.Errorf("URL %q; allowed: http:// or https:// and the path of the MCP endpoint", options.URL)
	}
	if options.Tool == "" && len(options.Arguments) > 0 {
		return nil, errors.New("arguments without a tool; name the tool that they are for")
	}
	for _, arguments := range []json.RawMessage{options.Arguments, options.StreamingArguments} {
		var object map[string]json.RawMessage
		if len(arguments) > 0 && (json.Unmarshal(arguments, &object) != nil || object == nil) {
			return nil, fmt.Errorf("arguments %s; allowed: one JSON object", arguments)
		}
	}
	if page, err := url.Parse(options.Origin); err != nil || options.Origin != "" &&
		(page.Host == "" || page.Scheme+"://"+page.Host != options.Origin) {
		return nil, fmt.Errorf("origin %q; allowed: a scheme and a host, as https://app.example.com", options.Origin)
	}
	if strings.ContainsFunc(options.Token, func(c rune) bool { return c <= ' ' || c > '~' }) {
		return nil, errors.New("the token has characters that no token has") // not quoted: most of it may be right
	}
	if tell == nil {
		tell = func(Check) {}
	}
	ctx, cancel := context.WithTimeout(ctx, runWait)
	defer cancel()
	began := time.Now()
	r := &run{Options: options, endpoint: endpoint, tell: tell}
	r.clients()
	r.checks(ctx)
	r.report.URL, r.report.Seconds = options.URL, time.Since(began).Seconds()
	return &r.report, nil
}

// run is one run.
type run struct {
	Options
	endpoint *url.URL
	// client sends all headers that were given, stranger all but Authorization.
	client, stranger *http.Client
	tell             func(Check)
	report           Report

	// metadataURL is where the server says that its resource metadata is, from that check on, and metadata what is there.
	metadataURL string
	metadata    resourceMetadata

	// tools are what the server lists, from that check on.
	tools []listed
	// gatewayIsSAM: the answers come from SAM's local API, which has neither gateway responses nor streaming.
	gatewayIsSAM bool
}

// clients makes the two clients. A token is put where a header would have put it.
func (r *run) clients() {
	all := r.Header.Clone()
	if all == nil {
		all = http.Header{}
	}
	if r.Token != "" {
		all.Set("Authorization", "Bearer "+r.Token)
	}
	r.Header = all
	less := all.Clone()
	less.Del("Authorization")
	r.client, r.stranger = newClient(all), newClient(less)
}

// checks runs the checks in the order in which they help: what fails first explains what fails later. A server that
// does not answer at all fails one.
func (r *run) checks(ctx context.Context) {
	first, err := r.send(ctx, r.withoutToken(r.modern("server/discover", nil)))
	if err != nil {
		r.check(ctx, "reach", "an answer", func(context.Context) (string, error) { return "", err })
		return
	}
	if first.isNowhere() {
		r.check(ctx, "reach", "an MCP endpoint at "+r.endpoint.Redacted(), func(context.Context) (string, error) {
			return "", errors.New("404: nothing is there; the endpoint of a Patchbay server ends in /mcp")
		})
		return
	}
	hasToken := r.Header.Get("Authorization") != ""
	asksForTokens := first.status == http.StatusUnauthorized || r.gatewayIsSAM && first.status == http.StatusBadGateway
	if asksForTokens {
		r.authorizationChecks(ctx, first)
	}
	if asksForTokens || r.Origin != "" {
		r.check(ctx, "preflight", preflightExpected, r.preflight)
	}
	if asksForTokens && !hasToken {
		r.check(ctx, "with a token", "the checks of a server that asks for none", func(context.Context) (string, error) {
			return "", &skip{"needs a token: give one in PATCHBAY_TOKEN or by --token"}
		})
		return
	}
	if asksForTokens && !r.tokenTaken(ctx) {
		return
	}
	r.usualChecks(ctx)
	if asksForTokens {
		r.check(ctx, "missing scope", "403 with a challenge that names what the token lacks for a tool", r.missingScope)
	}
}

func (r *run) usualChecks(ctx context.Context) {
	r.check(ctx, "discover", "server/discover offers revision "+Revision, r.discover)
	r.check(ctx, "list", "tools/list gives every tool once, page by page, with ttlMs and cacheScope", r.list)
	r.check(ctx, "call", "a tool that only reads answers without an error", r.call)
	r.check(ctx, "streaming", "an answer comes as a stream of events that ends with the result", r.streaming)
	r.check(ctx, "earlier revision", "initialize and tools/list of "+EarlierRevision+" work", r.earlier)
	for _, path := range errorPaths {
		r.check(ctx, path.name, path.expected, func(ctx context.Context) (string, error) { return r.errorPath(ctx, path) })
	}
}

// skip is why a check was not made.
type skip struct{ reason string }

func (s *skip) Error() string { return s.reason }

// check makes one check. Its error is what was seen instead of what is expected.
func (r *run) check(ctx context.Context, name, expected string, look func(context.Context) (string, error)) {
	ctx, cancel := context.WithTimeout(ctx, callWait)
	defer cancel()
	seen, err := look(ctx)
	check := Check{Name: name, Status: OK, Expected: expected, Seen: seen}
	var skipped *skip
	switch {
	case errors.As(err, &skipped):
		check.Status, check.Seen = Skipped, skipped.reason
	case err != nil:
		check.Status, check.Seen = Failed, err.Error()
	}
	r.report.Checks = append(r.report.Checks, check)
	r.tell(check)
}

// Write writes a check as one line, whatever the server wrote that is in it.
func (c Check) Write(out io.Writer) error {
	text := c.Seen
	if c.Status == Failed {
		text = fmt.Sprintf("expected: %s; seen: %s", c.Expected, c.Seen)
	}
	_, err := fmt.Fprintf(out, "%-7s  %-16s  %s\n", c.Status, c.Name, printable.Line(text))
	return err
}
