package integration

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"patchbay/scripts/callpath"
)

// pathOf is what the stack tells of a request, by the id that its answer names: once it is what is expected, or else
// what it is in the end, since a line may come later than its answer.
func (s *server) pathOf(t *testing.T, id string, expected func(callpath.Call) bool) callpath.Call {
	t.Helper()
	var found callpath.Call
	for range 1000 {
		recent := s.Calls().Recent(1000)
		if at := slices.IndexFunc(recent, func(c callpath.Call) bool { return c.RequestID == id }); at >= 0 {
			found = recent[at]
		}
		if found.RequestID == id && expected(found) {
			return found
		}
		time.Sleep(10 * time.Millisecond)
	}
	if found.RequestID != id {
		t.Fatalf("the stack does not tell of %s", id)
	}
	return found
}

// partsOf are the names of a call's spans, each with its outcome where that is no success.
func partsOf(call callpath.Call) string {
	var all []string
	for _, span := range call.Spans {
		all = append(all, strings.TrimSpace(span.Name+" "+span.Outcome))
	}
	return strings.Join(all, ", ")
}

// A stack tells the path of each call: who had it, what became of it, and who refused it why, with the lines that each
// has logged.
func TestPathsOfCalls(t *testing.T) {
	t.Parallel()
	anybody := func(s *server) caller { return caller{url: s.URL} }
	link := fmt.Sprintf(`{"fileId":"f_abc123","expiresAt":%q}`, time.Now().Add(time.Hour).UTC().Format(time.RFC3339))
	for _, test := range []struct {
		name            string
		server          *server
		who             caller
		tool, arguments string
		// path is the parts, the outcome, what became of the record, and the refusal.
		path [4]string
		// logged is what the source of the last member has logged.
		logged, source string
	}{
		{
			"a call", examples, anybody(examples), "convert_units", `{"value":1,"source":"km","target":"m"}`,
			[4]string{"gateway, dispatcher, convert_units", "ok", "", ""}, `"msg": "tool call"`, "convert_units",
		},
		{
			"a stream", fixtures, anybody(fixtures), "test_tool_with_progress", `{}`,
			[4]string{"gateway, dispatcher, test_tool_with_progress", "ok", "", ""}, `"msg":"tools/call"`, "dispatcher",
		},
		{
			"a crash", fixtures, anybody(fixtures), "misbehave", `{"mode":"exit"}`,
			[4]string{"gateway, dispatcher tool_crash, misbehave Runtime.ExitError", "tool_crash", "", ""},
			"Runtime exited", "misbehave",
		},
		{
			"refused by the dispatcher", fixtures, anybody(fixtures), "nobody", `{}`,
			[4]string{"gateway, dispatcher unknown_tool", "unknown_tool", "", "dispatcher: unknown_tool: Unknown tool: nobody"},
			`"outcome":"unknown_tool"`, "dispatcher",
		},
		{
			"refused by the authorizer", guarded, caller{guarded.URL, tokenOf(mayRead, "")}, "contacts_search", `{}`,
			[4]string{
				"gateway ACCESS_DENIED, authorizer denied", "", "", "authorizer: insufficient-scope (contacts:read)",
			},
			`"outcome":"denied"`, "authorizer",
		},
		{
			"let in", guarded, caller{guarded.URL, tokenOf(mayRead, "contacts:read")}, "contacts_search", `{"query":"Ada"}`,
			[4]string{"gateway, authorizer, dispatcher, contacts_search", "ok", "", ""}, `"outcome":"allowed"`, "authorizer",
		},
		{
			"recorded", examples, anybody(examples), "create_download_link", link,
			[4]string{"gateway, dispatcher, create_download_link", "ok", "recorded", ""}, "download_link.created", "dispatcher",
		},
		{
			"replayed", examples, anybody(examples), "create_download_link", link,
			[4]string{"gateway, dispatcher replayed", "replayed", "replayed", ""}, `"outcome":"replayed"`, "dispatcher",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			response := authorized(t, test.who, "tools/call", test.tool, callParams(test.tool, test.arguments))
			defer response.Body.Close()
			if _, err := io.Copy(io.Discard, response.Body); err != nil {
				t.Fatal(err)
			}
			path := func(call callpath.Call) [4]string {
				return [4]string{partsOf(call), call.Outcome, call.Ledger, call.Refusal}
			}
			hasLogged := func(call callpath.Call) bool {
				return slices.ContainsFunc(call.Lines, func(l callpath.Line) bool {
					return l.Source == test.source && strings.Contains(l.Message, test.logged)
				})
			}
			call := test.server.pathOf(t, response.Header.Get("X-Amzn-Requestid"), func(call callpath.Call) bool {
				return path(call) == test.path && hasLogged(call)
			})
			if got := path(call); got != test.path {
				t.Errorf("got  %q\nwant %q", got, test.path)
			}
			if call.Began.IsZero() || call.HTTPMethod != http.MethodPost || call.Path != "/mcp" {
				t.Errorf("got %+v", call)
			}
			if !hasLogged(call) {
				t.Errorf("%s has not logged %s in %+v", test.source, test.logged, call.Lines)
			}
		})
	}
}
