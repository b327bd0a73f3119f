package integration

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"patchbay/scripts/localauth"
	"patchbay/scripts/localstack"
	"patchbay/scripts/nodemodules"
	"patchbay/shared/mcp"
)

// pageReport is what js/page.mjs saw.
type pageReport struct {
	// Violations are of the page's content security policy, Errors are failures of its scripts that nothing caught, and
	// Elsewhere the origins that it asked beside its own.
	Violations, Errors, Elsewhere []string
	// Visits are the authorization requests.
	Visits []string

	// Forms are what came out of those of the plan.
	Forms []string
	// Refused and Called are how calls ended, FieldError what stood at the field that was wrong, Focused its name.
	Refused, FieldError, Focused, Called string
	Result                               json.RawMessage
	Path                                 []string
	// Faint is text that cannot be read well, FaintDark that in the dark, Nameless controls without a name, and Wide the
	// views that do not fit.
	Faint, FaintDark, Nameless, Wide []string
	// Sent is a request's body, Kept what a field holds after the page was left, Headers a request's.
	Sent, Kept, Mirrored, Headers string
	Progress                      [][2]float64
	Slow                          string
	// Needed is what an empty question says, Answers the results by what was answered.
	Needed  string
	Answers map[string]string
	// Markup counts elements that were made of a tool's text.
	Markup                   int
	Echo, Crashed, CrashPath string
	// Picture is the width of the one in a result.
	Picture   int
	Other     string
	OtherPath []string

	// Fault is what the page says of a fault that was saved, Note what it says of what is live, Fields the fields before
	// and after.
	Fault, Note string
	Fields      [][]string

	// Tools are those that the page lists after signing in, Pasted those with a token that was pasted.
	Tools, Pasted                          []string
	Lacking, StepUp, Address, Confirmation string
	Ledger                                 string
}

// usePage has a browser use the page of a stack, and returns what it saw. The plan says how, beside what is known here.
func usePage(t *testing.T, s *server, name string, plan map[string]any) pageReport {
	t.Helper()
	chromium, err := exec.LookPath("chromium")
	if err != nil && !full {
		t.Skipf("Chromium is missing: %v", err)
	}
	if err != nil {
		t.Fatalf("Chromium is missing (%v): install it, on Debian by apt-get install chromium", err)
	}
	pictures := picturesOf(t, name)
	plan["chromium"], plan["page"], plan["pictures"] = chromium, s.PageURL(), pictures
	input, err := json.Marshal(plan)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	var output, complaints bytes.Buffer
	cmd := exec.CommandContext(ctx, nodemodules.Node(filepath.Join(root, "node_modules")),
		filepath.Join("clients", "js", "page.mjs"))
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(input), &output, &complaints
	cmd.WaitDelay = 5 * time.Second
	if err := cmd.Run(); err != nil {
		t.Fatalf("using the page: %v; pictures are in %s\n%s", err, pictures, &complaints)
	}
	var seen pageReport
	if err := json.Unmarshal(output.Bytes(), &seen); err != nil {
		t.Fatalf("decoding %s: %v", &output, err)
	}
	if len(seen.Violations)+len(seen.Errors) > 0 {
		t.Errorf("the policy was broken: %q; scripts failed: %q", seen.Violations, seen.Errors)
	}
	return seen
}

// forms are schemas with a value that is written into a form. What comes out is the same, to the letter of numbers.
var forms = []struct {
	Schema json.RawMessage `json:"schema"`
	Value  string          `json:"value"`
}{
	{json.RawMessage(`{"properties":{"s":{"type":"string"},"n":{"type":"number"},"i":{"type":"integer"},
		"b":{"type":"boolean"},"e":{"enum":["a",1,null]},"d":{"type":"string","format":"date"}}}`),
		`{"s":"a \"b\"\\","n":1.50,"i":12345678901234567890,"b":false,"e":1,"d":"2026-07-28"}`},
	// What does not fit is for the server to judge.
	{json.RawMessage(`{"properties":{"i":{"type":"integer"},"e":{"enum":["a"]},` +
		`"l":{"type":"array","items":{"type":"string"}}}}`),
		`{"i":"many","e":"z","l":["x"],"unknown":{"kept":[1.0]}}`},
	{json.RawMessage(`{"required":["l","o"],"properties":{"l":{"type":["array","string"],"items":{"type":"object",
		"required":["a"],"properties":{"a":{"type":"string"},"o":{"type":"object","properties":{"deep":{"type":"array",
		"items":{"enum":["x","y","z"]}}}}}}},"o":{"type":"object","properties":{"free":{"type":"object"},
		"any":{},"odd name":{"type":"string"}}}}}`),
		`{"l":[{"a":"1","o":{"deep":["x","z"]}},{"a":"2"}],"o":{"free":{"k":[1,2.0]},"any":[true],"odd name":"n"}}`},
	// A schema that contains itself, and one behind a reference.
	{json.RawMessage(`{"$defs":{"node":{"type":"object","properties":{"name":{"$ref":"#/$defs/name~1x"},
		"kids":{"type":"array","items":{"$ref":"#/$defs/node"}}}},"name/x":{"type":"string"}},
		"properties":{"root":{"$ref":"#/$defs/node"}}}`),
		`{"root":{"name":"a","kids":[{"name":"b","kids":[{"name":"c","kids":[{"name":"d","kids":[{"name":"e"}]}]}]}]}}`},
	{json.RawMessage(`{"properties":{"x":{"anyOf":[{"type":"string"},{"type":"integer"}]},"pair":{"type":"array",
		"prefixItems":[{"type":"string"},{"type":"integer"}]},"t":{"oneOf":[{"const":"a","title":"A"},{"const":"b"}]}}}`),
		`{"x":7.0,"pair":["a",1],"t":"b"}`},
	{json.RawMessage(`{}`), `{}`},
}

// An engineer uses the page by the keyboard: finds a tool, is told what is wrong with arguments, calls, watches
// progress, answers what a tool asks, and sees the way of each call, on a wide screen and on a narrow one.
func TestLocalPage(t *testing.T) {
	body := request(1, mcp.MethodToolsCall, "test_simple_text", `{}`)
	seen := usePage(t, fixtures, "page", map[string]any{
		"steps": "catalogue", "gate": filepath.Join(t.TempDir(), "gate"), "forms": forms,
		"call": map[string]any{
			"url": fixtures.URL, "tool": "test_simple_text", "body": body,
			"headers": map[string]string{
				"Content-Type": "application/json", "Accept": "application/json, text/event-stream",
				mcp.HeaderProtocolVersion: mcp.Version20260728, mcp.HeaderMethod: mcp.MethodToolsCall,
				mcp.HeaderName: "test_simple_text",
			},
		},
	})
	if len(seen.Elsewhere) > 0 {
		t.Errorf("the page asked %v", seen.Elsewhere)
	}
	for i, form := range forms {
		if compact(t, seen.Forms[i]) != form.Value {
			t.Errorf("%s\ngave the form  %s\nwhich gave back %s", form.Schema, form.Value, seen.Forms[i])
		}
	}
	seen.checkCalls(t)
	seen.checkQuestions(t)
	for what, found := range map[string][]string{
		"is hard to read": seen.Faint, "is hard to read in the dark": seen.FaintDark, "has no name": seen.Nameless,
		"does not fit": seen.Wide,
	} {
		if len(found) > 0 {
			t.Errorf("%s: %q", what, found)
		}
	}
}

// request is the body of a call as the newest revision has it.
func request(id int, method, tool, arguments string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":{"name":%q,"arguments":%s,"_meta":{%q:%q,%q:{}}}}`,
		id, method, tool, arguments, mcp.MetaProtocolVersion, mcp.Version20260728, mcp.MetaClientCapabilities)
}

func compact(t *testing.T, text string) string {
	t.Helper()
	var b bytes.Buffer
	if err := json.Compact(&b, []byte(text)); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return b.String()
}

func (r *pageReport) checkCalls(t *testing.T) {
	t.Helper()
	if r.Refused != "tool error" || r.FieldError != "200 is too large; allowed: at least 1 and at most 100" ||
		r.Focused != "limit" {
		t.Errorf("a wrong argument: %q; %q stands at %q", r.Refused, r.FieldError, r.Focused)
	}
	const want = `{"limit":7,"order":"descending","paging":{"size":3}}`
	if r.Called != "ok" || compact(t, string(r.Result)) != want {
		t.Errorf("the call: %s, %s", r.Called, r.Result)
	}
	if !slices.Equal(r.Path, []string{"gateway", "dispatcher", "apply_defaults"}) {
		t.Errorf("its path is %v", r.Path)
	}
	if !strings.Contains(r.Sent, `"arguments": {"limit": 7.0, "order": "descending"}`) || r.Kept != "7.0" {
		t.Errorf("arguments in JSON went out as %s; after a reload limit is %q", r.Sent, r.Kept)
	}
	const mirrored = "\nMcp-Param-Limit: 5\nMcp-Param-Zone: =?base64?WsO8cmljaA==?="
	if r.Mirrored != "ok" || !strings.Contains(r.Headers, mirrored) {
		t.Errorf("with mirrored parameters: %s; headers\n%s", r.Mirrored, r.Headers)
	}
	if r.Slow != "ok" || !reflect.DeepEqual(r.Progress, [][2]float64{{1, 3}, {2, 3}}) {
		t.Errorf("progress %v, then %s", r.Progress, r.Slow)
	}
	if r.Markup != 0 || !strings.Contains(r.Echo, "<b>bold</b>") {
		t.Errorf("%d elements are made of %s", r.Markup, r.Echo)
	}
	if r.Crashed != "tool error" || !strings.Contains(r.CrashPath, "tool_crash") {
		t.Errorf("a crash: %s, %s", r.Crashed, r.CrashPath)
	}
	if r.Picture == 0 {
		t.Error("the picture is not shown")
	}
	if !slices.Equal(r.OtherPath, []string{"gateway", "dispatcher", r.Other}) {
		t.Errorf("another client's call of %s has the path %v", r.Other, r.OtherPath)
	}
}

func (r *pageReport) checkQuestions(t *testing.T) {
	t.Helper()
	want := map[string]string{
		"accept": "Hello, Ada <b>!", "decline": "Hello, whoever you are!", "cancel": "Hello, whoever you are!",
		"several": "accept answered; the model said 1 things; 1 roots.",
	}
	if r.Needed != "This is needed." || !reflect.DeepEqual(r.Answers, want) {
		t.Errorf("an empty answer: %q; the others: %q", r.Needed, r.Answers)
	}
}

// On a server that wants tokens the page signs in as any client does, asks for a scope more when a call needs it, loses
// nothing on the way, and has a person confirm; it takes a token that somebody else got, too.
func TestLocalPageSignsIn(t *testing.T) {
	for _, test := range []struct{ kind, prefix string }{
		{localstack.AuthGeneric, ""}, {localstack.AuthCognito, "patchbay/"},
	} {
		t.Run(test.kind, func(t *testing.T) {
			s, err := start(t.Context(), localstack.Options{
				Functions: filepath.Join(root, "functions"), Data: dataOf("page"), Auth: test.kind, Page: true,
				AuthServer: localauth.Options{RedirectURIs: callbackURLs()},
			})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(s.Close)
			s.users, s.machine = s.AuthServer.Users, s.AuthServer.Machine
			person, err := newPerson(s, mayRead)
			if err != nil {
				t.Fatal(err)
			}
			subject := fmt.Sprintf("page %d", time.Now().UnixNano())
			seen := usePage(t, s, "page-"+test.kind, map[string]any{
				"steps": "sign in", "name": person.user.Name, "password": person.user.Password, "subject": subject,
				"token": signInAt(t, s, mayAll, s.URL),
			})
			seen.checkSignIn(t, s, test.prefix, subject)
			if sent := s.mails(t, subject); len(sent) != 1 {
				t.Errorf("sent %v", sent)
			}
			if err := s.leaked(); err != nil {
				t.Error(err)
			}
		})
	}
}

func (r *pageReport) checkSignIn(t *testing.T, s *server, prefix, subject string) {
	t.Helper()
	issuer, err := url.Parse(s.AuthServer.Issuer)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(r.Elsewhere, []string{"http://" + issuer.Host}) {
		t.Errorf("the page asked %v", r.Elsewhere)
	}
	if len(r.Visits) != 2 {
		t.Fatalf("visits %v", r.Visits)
	}
	for i, visit := range r.Visits {
		u, err := url.Parse(visit)
		if err != nil {
			t.Fatal(err)
		}
		asked := u.Query()
		more := slices.Contains(strings.Fields(asked.Get("scope")), prefix+"emails:send")
		if asked.Get("resource") != s.URL || asked.Get("code_challenge_method") != "S256" || more != (i == 1) ||
			asked.Get("redirect_uri") != s.PageURL() {
			t.Errorf("authorization request %d is %v", i, asked)
		}
	}
	const hidden, lacking = "emails.bulk_send", "emails.send_external"
	if !slices.Contains(r.Tools, lacking) || slices.Contains(r.Tools, hidden) || !slices.Contains(r.Pasted, lacking) {
		t.Errorf("signed in the page lists %v, by the token %v", r.Tools, r.Pasted)
	}
	if !strings.HasPrefix(r.Lacking, "error ") || !strings.Contains(r.StepUp, prefix+"emails:send") || r.Other != lacking {
		t.Errorf("without the scope: %s, %s; the newest call is of %q", r.Lacking, r.StepUp, r.Other)
	}
	if r.Kept != subject || r.Address != s.PageURL()+"#/"+lacking {
		t.Errorf("after signing in again the subject is %q at %s", r.Kept, r.Address)
	}
	if !strings.Contains(r.Confirmation, "subject: "+subject) || r.Sent != "ok" ||
		!strings.Contains(string(r.Result), "messageId") || !strings.Contains(r.Ledger, "recorded") {
		t.Errorf("confirming %s: %s, %s; %s", r.Confirmation, r.Sent, r.Result, r.Ledger)
	}
}

// What is saved while the stack watches is told on the page: what is wrong, until it is mended, and then the new form,
// without a reload.
func TestLocalPageWhileWatching(t *testing.T) {
	functions := filepath.Join(root, ".patchbay", "integration", "page-watch-functions")
	if err := os.RemoveAll(functions); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(functions, os.DirFS("small")); err != nil {
		t.Fatal(err)
	}
	code, contract := filepath.Join(functions, "greet", "main.go"), filepath.Join(functions, "greet", "tool.json")
	s, err := start(t.Context(), localstack.Options{
		Functions: functions, Data: dataOf("page-watch"), Page: true, Watch: func(localstack.Change) {},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	read := func(file, old, new string) map[string]string {
		data, err := os.ReadFile(file)
		if err != nil || !strings.Contains(string(data), old) {
			t.Fatalf("%s, %v, lacks %q", file, err, old)
		}
		path, err := filepath.Abs(file)
		if err != nil {
			t.Fatal(err)
		}
		return map[string]string{"file": path, "text": strings.Replace(string(data), old, new, 1)}
	}
	seen := usePage(t, s, "page-watch", map[string]any{
		"steps": "save", "tool": "greet", "saves": []any{
			read(code, `"Hello, "`, `nonsense`),
			read(code, `"Hello, "`, `"Welcome, "`),
			read(contract, `"properties": {`, `"properties": {"loudly": {`+
				`"type": "boolean", "description": "Whether to shout."},`),
		},
	})
	if !strings.Contains(seen.Fault, "what was there before serves on") || !strings.Contains(seen.Fault, "main.go:14") ||
		!strings.Contains(seen.Fault, "nonsense") {
		t.Errorf("the fault is told as %q", seen.Fault)
	}
	if !strings.Contains(seen.Note, "greet") || !reflect.DeepEqual(seen.Fields, [][]string{{"name"}, {"loudly", "name"}}) {
		t.Errorf("when it is mended the page says %q, and has the fields %v", seen.Note, seen.Fields)
	}
	if seen.Called != "ok" || seen.Echo != "Welcome, world!" {
		t.Errorf("the call: %s, %s", seen.Called, seen.Echo)
	}
}
