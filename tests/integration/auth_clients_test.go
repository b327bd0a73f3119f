package integration

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"patchbay/tests/integration/clients"
)

// flow is what an official client does by itself with a server that asks for tokens. The table of all of them,
// testdata/oauth-clients.json, is a record of what was seen, with what a client cannot do.
type flow struct {
	// AsksFirst says which scopes the client asks for when it signs a person in: "challenge" for those that the 401
	// names, "everything" for all in the resource metadata.
	AsksFirst string `json:"asksFirst"`
	// Registers says how often a client registers that signs a person in twice.
	Registers int `json:"registers"`
	// Refreshes says that a call with an expired token gets a new one without the person.
	Refreshes bool `json:"refreshes"`
	// StepsUp says that the client sends the person off again when it reads a 403 that names scopes, and calls again.
	StepsUp bool `json:"stepsUp"`
	// Mail says what becomes of a call that needs such a scope and a person's confirmation: "sent", "unconfirmed" where
	// the client can ask nobody, "scopes named" where the model reads which scopes are missing.
	Mail string `json:"mail"`
	// SignInsInVain is how often the person is sent off when the authorization server does not give what is asked for.
	SignInsInVain int `json:"signInsInVain"`
	// OldSignIn says what becomes of a call by somebody whose sign-in is too long ago: "signs in again", "fails" in the
	// client, "told" where the model reads it.
	OldSignIn string `json:"oldSignIn"`
}

// entry is what the table says of a client.
type entry struct {
	flow
	// With says what of the flow is otherwise with another kind of authorization server than the generic one: members of
	// flow, by the kind.
	With map[string]json.RawMessage `json:"with,omitempty"`
	// Machine says whether the client gets in by client credentials, by the kind of authorization server; absent where it
	// has no such flow or was not tried.
	Machine map[string]bool `json:"machine,omitempty"`
	// Why explains what is not as one would wish.
	Why string `json:"why,omitempty"`
}

// at is the flow with a kind of authorization server.
func (e entry) at(t *testing.T, kind string) flow {
	t.Helper()
	seen := e.flow
	if other, ok := e.With[kind]; ok {
		if err := json.Unmarshal(other, &seen); err != nil {
			t.Fatal(err)
		}
	}
	return seen
}

// oauthClients is the table.
var oauthClients = sync.OnceValues(func() (table map[string]entry, err error) {
	data, err := os.ReadFile(filepath.Join("testdata", "oauth-clients.json"))
	if err != nil {
		return nil, err
	}
	return table, json.Unmarshal(data, &table)
})

// The official clients' own OAuth flows, from nothing but the URL.
func TestClientsSignIn(t *testing.T) {
	t.Parallel()
	for _, world := range worlds() {
		t.Run(world.kind, func(t *testing.T) {
			t.Parallel()
			testClientsSignIn(t, world)
		})
	}
}

// worlds are the stacks that ask for tokens.
func worlds() []world {
	return []world{
		{server: guarded, kind: "generic", refreshed: refreshed},
		{server: fronted, kind: "cognito", refreshed: refreshed, prefix: "patchbay/", comparesPorts: true},
	}
}

// world is a stack and what its authorization server is like.
type world struct {
	*server
	// kind is what the table calls it.
	kind string
	// refreshed counts a user's refreshes, as the authorization server tells.
	refreshed func(s *server, user string) int
	// only limits the clients to those whose name begins so; empty for all.
	only string
	// prefix stands before a contract's scope where clients ask for it.
	prefix string
	// comparesPorts says that a client must wait at the very port that it is registered with.
	comparesPorts bool
}

func (w world) clients() []clients.Client {
	return slices.DeleteFunc(clients.Available(root), func(client clients.Client) bool {
		return !strings.HasPrefix(client.Name, w.only)
	})
}

func testClientsSignIn(t *testing.T, w world) {
	table, err := oauthClients()
	if err != nil {
		t.Fatal(err)
	}
	runs := w.runAll(t)
	for _, client := range w.clients() {
		t.Run(client.Name, func(t *testing.T) {
			run := runs[client.Name]
			if run == nil {
				t.Skipf("%s cannot run: %s", client.Name, client.Missing)
			}
			run.check(t)
			if diff := cmp.Diff(table[client.Name].at(t, w.kind), run.flow(t)); diff != "" {
				t.Errorf("the client does not do what testdata/oauth-clients.json says (-table +seen):\n%s", diff)
			}
		})
	}
}

// clientRun is what a client did for the person who may do all, and for the one who may only read.
type clientRun struct {
	world     world
	client    clients.Client
	all, read *visitorRun
}

// visitorRun is one run of a client.
type visitorRun struct {
	*person
	subject string // of the mail
	report  clients.Report
	err     error
}

// runAll runs all clients at once, since most of the time they wait for a token to expire.
func (w world) runAll(t *testing.T) map[string]*clientRun {
	runs := map[string]*clientRun{}
	var all sync.WaitGroup
	for _, client := range w.clients() {
		if client.Missing != "" && !required {
			continue
		}
		if client.Missing != "" {
			t.Errorf("%s cannot run: %s", client.Name, client.Missing)
			continue
		}
		run := &clientRun{world: w, client: client}
		run.all, run.read = w.visitor(t, mayAll, client), w.visitor(t, mayRead, client)
		runs[client.Name] = run
		all.Go(func() {
			// One after the other, since both are sent back to the same port.
			run.read.run(t, run, run.read.mail())
			run.all.run(t, run, search(0), search(tokenSeconds+1), run.all.mail(), fresh())
		})
	}
	all.Wait()
	return runs
}

func (w world) visitor(t *testing.T, name string, client clients.Client) *visitorRun {
	t.Helper()
	person, err := newPerson(w.server, userOf(name, client.Name))
	if err != nil {
		t.Fatal(err)
	}
	return &visitorRun{person: person, subject: fmt.Sprintf("%s %d", person.user.Name, time.Now().UnixNano())}
}

func (v *visitorRun) run(t *testing.T, run *clientRun, calls ...clients.Call) {
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	signIn := &clients.SignIn{Visit: v.visit}
	if run.world.comparesPorts {
		signIn.CallbackPort = callbackPorts()[run.client.Name]
	}
	script := clients.Script{Calls: calls, Consent: true, SignIn: signIn}
	v.report, v.err = run.client.Run(ctx, run.world.URL, script)
}

// search needs the scope that a challenge to nobody names.
func search(pause float64) clients.Call {
	return clients.Call{Tool: "contacts_search", Arguments: []byte(`{"query":"Ada"}`), PauseSeconds: pause}
}

// mail needs a scope more, and a person's confirmation.
func (v *visitorRun) mail() clients.Call {
	arguments := fmt.Appendf(nil, `{"to":["grace@example.com"],"subject":%q,"body":"Hello"}`, v.subject)
	return clients.Call{Tool: "emails.send_external", Arguments: arguments}
}

// fresh needs a sign-in that is not as long ago as it is by then.
func fresh() clients.Call {
	return clients.Call{Tool: freshTool, Arguments: []byte(`{"location":"Paris"}`), PauseSeconds: freshSeconds + 1}
}

// check tests what must hold for every client.
func (r *clientRun) check(t *testing.T) {
	t.Helper()
	for _, run := range []*visitorRun{r.all, r.read} {
		if run.err != nil {
			t.Fatalf("%s: %v", run.user.Name, run.err)
		}
		for _, asked := range run.asked() {
			if asked.Get("code_challenge_method") != "S256" || asked.Get("code_challenge") == "" ||
				asked.Get("resource") != r.world.URL || asked.Get("state") == "" {
				t.Errorf("%s: the authorization request is %v", run.user.Name, asked)
			}
		}
		if !slices.Contains(run.report.Tools, "emails.send_external") {
			t.Errorf("%s: tools %v", run.user.Name, run.report.Tools)
		}
	}
	for _, i := range []int{0, 1} {
		if result, err := r.all.report.Calls[i].Decode(); err != nil || result.IsError {
			t.Errorf("call %d: %+v, %v", i, result, err)
		}
	}
	if len(r.world.mails(t, r.read.subject)) > 0 {
		t.Error("the lesser user sent a mail")
	}
	const hidden = "emails.bulk_send"
	if slices.Contains(r.read.report.Tools, hidden) || !slices.Contains(r.all.report.Tools, hidden) {
		t.Errorf("the lesser user sees %v, the other one %v", r.read.report.Tools, r.all.report.Tools)
	}
}

// flow is what the client did.
func (r *clientRun) flow(t *testing.T) flow {
	t.Helper()
	seen := flow{AsksFirst: r.asksFirst(), Mail: r.mailed(t), OldSignIn: r.oldSignIn()}
	seen.Registers = r.registrations()
	asked := r.all.asked()
	seen.Refreshes = r.world.refreshed(r.world.server, r.all.user.Name) > 0 &&
		(len(asked) == 1 || r.asksFor(asked[1], "emails:send"))
	lesser := r.read.asked()
	seen.StepsUp = len(lesser) > 1 && r.asksFor(lesser[1], "emails:send")
	seen.SignInsInVain = len(lesser) - 1
	return seen
}

func (r *clientRun) asksFor(request url.Values, scope string) bool {
	return slices.Contains(strings.Fields(request.Get("scope")), r.world.prefix+scope)
}

// asksFirst says whence the scopes of the first authorization request come.
func (r *clientRun) asksFirst() string {
	first := r.all.asked()[0]
	switch {
	case !r.asksFor(first, "contacts:read"):
		return first.Get("scope")
	case r.asksFor(first, "emails:send"):
		return "everything"
	}
	return "challenge"
}

// registrations counts the client ids of one that signed a person in twice.
func (r *clientRun) registrations() int {
	ids := map[string]bool{}
	for _, request := range r.read.asked()[:min(2, len(r.read.asked()))] {
		ids[request.Get("client_id")] = true
	}
	return len(ids)
}

// mailed says what became of the call that needs a scope and a confirmation.
func (r *clientRun) mailed(t *testing.T) string {
	t.Helper()
	call := r.all.report.Calls[2]
	result, err := call.Decode()
	text := call.Error
	if err == nil {
		text = result.Text()
	}
	switch sent := len(r.world.mails(t, r.all.subject)); {
	case sent == 1 && err == nil && !result.IsError:
		return "sent"
	case sent > 0:
		return fmt.Sprintf("sent %d times: %s", sent, text)
	case strings.Contains(text, "emails:send"):
		return "scopes named"
	case strings.Contains(text, "confirmed") || strings.Contains(text, "Missing required client capability"):
		return "unconfirmed"
	}
	return text
}

// oldSignIn says what became of the call that needs a newer sign-in.
func (r *clientRun) oldSignIn() string {
	call := r.all.report.Calls[3]
	result, err := call.Decode()
	switch {
	case err == nil && !result.IsError:
		return "signs in again"
	case err == nil && strings.Contains(result.Text(), "max_age"):
		return "told"
	case err != nil:
		return "fails"
	}
	return result.Text()
}
