package endpoint

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"patchbay/dispatcher/toolcall"
	"patchbay/shared/contract"
	"patchbay/shared/registry"
)

const page = "https://app.example"

// mirroring is a catalogue whose tools mirror one parameter each, by the fields' names, each under a contract.
type mirroring map[string]string

func (mirroring) Page(
	context.Context, string, registry.PageLimits, func(*registry.Entry) bool,
) (registry.Page, error) {
	return registry.Page{}, nil
}

func (m mirroring) Entries(context.Context) ([]*registry.Entry, error) {
	entries := []*registry.Entry{}
	for name, rules := range m {
		tool, err := contract.Decode(fmt.Appendf(nil, `{"name":"t","inputSchema":{"type":"object","properties":{
			"p":{"type":"string","x-mcp-header":%q}}}}`, name), json.RawMessage(rules))
		if err != nil {
			return nil, err
		}
		entries = append(entries, &registry.Entry{Tool: tool})
	}
	return entries, nil
}

// browsed is a server that pages of one origin may call, and what it logged.
type browsed struct {
	Config
	log bytes.Buffer
}

func newBrowsed(catalogue Catalogue) *browsed {
	b := &browsed{}
	b.Config = Config{
		ServerInfo: json.RawMessage(`{"name":"s","version":"1"}`), Origins: []string{page}, Catalogue: catalogue,
		Caller: callerFunc(answered), Log: slog.New(slog.NewJSONHandler(&b.log, nil)),
		// What a gateway that lost its authorizer tells: nobody knows who calls.
		Facts: func(context.Context) (Facts, error) { return Facts{RequestID: "req-1"}, errors.New("no authorizer") },
	}
	return b
}

func (b *browsed) ask(t *testing.T, method string, pairs ...string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), method, "/mcp", http.NoBody)
	for i := 0; i < len(pairs); i += 2 {
		r.Header.Add(pairs[i], pairs[i+1])
	}
	w := httptest.NewRecorder()
	New(b.Config).ServeHTTP(w, r)
	return w
}

// preflight is what a browser sends for a page that is about to send these fields.
func preflight(origin, fields string) []string {
	return []string{
		"Origin", origin, "Access-Control-Request-Method", "POST", "Access-Control-Request-Headers", fields,
	}
}

// crossOrigin are the fields of an answer by which a browser decides.
func crossOrigin(header http.Header) map[string]string {
	fields := map[string]string{}
	for name, values := range header {
		if strings.HasPrefix(name, "Access-Control-") || name == "Vary" {
			fields[name] = strings.Join(values, ", ")
		}
	}
	return fields
}

const always = "Authorization, Content-Type, Accept, MCP-Protocol-Version, Mcp-Method, Mcp-Name, Idempotency-Key"

func TestPreflight(t *testing.T) {
	t.Parallel()
	catalogue := mirroring{
		"Region": `{}`, "Zone": `{"visibility":"always","permissions":["a"]}`, "Age": `{"stepUp":{"maxAgeSeconds":60}}`,
		"Hidden": `{"visibility":"permitted","permissions":["a"]}`, "Never": `{"risk":"forbidden"}`,
	}
	for name, test := range map[string]struct {
		catalogue Catalogue
		signIn    bool
		asked     string
		headers   string
		maxAge    string
	}{
		"nobody signs in": {catalogue, false, "content-type", always + ", Mcp-Param-Region", "600"},
		"callers sign in": {
			catalogue, true, "authorization", always + ", Mcp-Param-Age, Mcp-Param-Region, Mcp-Param-Zone", "600",
		},
		"no mirrored fields": {mirroring{}, true, "", always, "600"},
		"fields of any name": {mirroring{}, true, "x-evil, mcp-param-x, cookie,mcp-param-x", always + ", mcp-param-x", "600"},
		"one that is hidden": {
			mirroring{"Hidden": catalogue["Hidden"]}, true, "mcp-param-hidden", always + ", mcp-param-hidden", "600",
		},
		"one in another case": {
			mirroring{"Region": `{}`}, true, "mcp-param-region", always + ", mcp-param-region", "600",
		},
		"no names": {mirroring{}, true, "mcp-param-, mcp-param-a b, mcp-param-ü, mcp-param-:", always, "600"},
		// An answer that lacks fields for once is not kept.
		"no catalogue": {unreadable{}, true, "mcp-param-x", always + ", mcp-param-x", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBrowsed(test.catalogue)
			b.SignIn = test.signIn
			w := b.ask(t, "OPTIONS", preflight(page, test.asked)...)
			want := map[string]string{
				"Access-Control-Allow-Origin": page, "Access-Control-Allow-Methods": "POST",
				"Access-Control-Allow-Headers": test.headers, "Vary": "Origin, Access-Control-Request-Headers",
			}
			if test.maxAge != "" {
				want["Access-Control-Max-Age"] = test.maxAge
			}
			if diff := cmp.Diff(want, crossOrigin(w.Header())); diff != "" || w.Code != http.StatusNoContent {
				t.Errorf("status %d (-want +got):\n%s", w.Code, diff)
			}
			if warned := strings.Contains(b.log.String(), "table is gone"); warned != (test.maxAge == "") {
				t.Errorf("logged %s", &b.log)
			}
			if !strings.Contains(b.log.String(), `"outcome":"ok","status":204`) {
				t.Errorf("logged %s", &b.log)
			}
		})
	}
}

// Whether a hidden tool has a field makes no difference that a page could see.
func TestPreflightsTellNothingOfHiddenTools(t *testing.T) {
	t.Parallel()
	hidden := mirroring{"Secret": `{"visibility":"permitted","permissions":["a"]}`, "Never": `{"risk":"forbidden"}`}
	for _, asked := range []string{"", "content-type", "mcp-param-secret", "mcp-param-never", "mcp-param-other"} {
		var answers []map[string]string
		for _, catalogue := range []mirroring{hidden, {}} {
			b := newBrowsed(catalogue)
			b.SignIn = true
			answers = append(answers, crossOrigin(b.ask(t, "OPTIONS", preflight(page, asked)...).Header()))
		}
		if diff := cmp.Diff(answers[0], answers[1]); diff != "" {
			t.Errorf("%q (-with +without):\n%s", asked, diff)
		}
	}
}

// More names than a front door takes are cut, those that were asked for last of all.
func TestPreflightIsBounded(t *testing.T) {
	t.Parallel()
	catalogue := mirroring{}
	for i := range 1000 {
		catalogue[fmt.Sprintf("Field-%d", i)] = `{}`
	}
	got := newBrowsed(catalogue).ask(t, "OPTIONS", preflight(page, "mcp-param-mine")...).
		Header().Get("Access-Control-Allow-Headers")
	names := strings.Split(got, ", ")
	if len(got) > 5000 || !slices.Contains(names, "mcp-param-mine") || !slices.Contains(names, "Mcp-Param-Field-1") {
		t.Errorf("%d bytes: %s", len(got), got)
	}
}

// A page that may not call learns nothing, and what is no preflight is told what there is to do.
func TestOptionsThatAreNoPreflight(t *testing.T) {
	t.Parallel()
	b := newBrowsed(mirroring{"Region": `{}`})
	for name, test := range map[string]struct {
		header []string
		status int
		fields map[string]string
		allow  string
	}{
		"of another origin": {preflight("https://evil.example", "authorization"), 403, map[string]string{}, ""},
		"of no origin":      {preflight("null", "authorization"), 403, map[string]string{}, ""},
		"of two origins":    {append(preflight(page, ""), "Origin", page), 403, map[string]string{}, ""},
		"without an origin": {[]string{"Access-Control-Request-Method", "POST"}, 204, map[string]string{}, "POST, OPTIONS"},
		"without a method": {[]string{"Origin", page}, 204, map[string]string{
			"Access-Control-Allow-Origin": page, "Access-Control-Expose-Headers": exposed, "Vary": "Origin",
		}, "POST, OPTIONS"},
		"alone": {nil, 204, map[string]string{}, "POST, OPTIONS"},
	} {
		w := b.ask(t, "OPTIONS", test.header...)
		if diff := cmp.Diff(test.fields, crossOrigin(w.Header())); diff != "" || w.Code != test.status ||
			w.Header().Get("Allow") != test.allow {
			t.Errorf("%s: status %d, %v (-want +got):\n%s", name, w.Code, w.Header(), diff)
		}
	}
}

// Every answer to a page that may call can be read by it, errors too; answers to others say nothing of origins.
func TestAnswersCanBeReadByPages(t *testing.T) {
	t.Parallel()
	readable := map[string]string{
		"Access-Control-Allow-Origin": page, "Access-Control-Expose-Headers": exposed, "Vary": "Origin",
	}
	for name, test := range map[string]struct {
		asked
		status int
	}{
		"a result":     {asked{body: modernCall("1", "t")}, 200},
		"an error":     {asked{body: modernCall("1", "other")}, 400},
		"not JSON":     {asked{body: "x"}, 400},
		"another verb": {asked{verb: "GET"}, 405},
		"another type": {asked{header: map[string]string{"Content-Type": "text/plain"}}, 415},
		"no principal": {asked{body: modernCall("1", "t"), nobody: errors.New("no authorizer")}, 500},
		"a notification": {asked{body: `{"jsonrpc":"2.0","method":"notifications/initialized"}`,
			header: map[string]string{"Mcp-Method": "notifications/initialized", "Mcp-Name": ""}}, 202},
		"a panic": {asked{
			body:   modernCall("1", "t"),
			caller: func(context.Context, *toolcall.Request) (json.RawMessage, error) { panic("broken") },
		}, 500},
	} {
		for origin, want := range map[string]map[string]string{page: readable, "": {}} {
			var log bytes.Buffer
			handler := test.handler(&log)
			handler.origins[page] = true
			r := test.request(t)
			if origin != "" {
				r.Header.Set("Origin", origin)
			}
			w := httptest.NewRecorder()
			handler.ServeHTTP(w, r)
			if diff := cmp.Diff(want, crossOrigin(w.Header())); diff != "" || w.Code != test.status {
				t.Errorf("%s, Origin %q: status %d (-want +got):\n%s", name, origin, w.Code, diff)
			}
		}
	}
}
