package integration

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"patchbay/scripts/localgateway"
	"patchbay/scripts/trackerapi"
	"patchbay/shared/principal"
)

// Callers of the stack that knows them.
const (
	sender = "token-of-a-sender"
	reader = "token-of-a-reader"
	late   = "token-of-somebody-who-signed-in-yesterday"
	linked = "token-of-a-user-of-the-tracker"
	// recorded makes the calls that the examples have recorded.
	recorded = "token-of-recorded-calls"
)

// principals are the callers whom the stack called known lets in.
func principals() localgateway.Principals {
	who := func(subject string, signedIn time.Duration, scopes ...string) principal.Principal {
		return principal.Principal{
			Subject: subject, Issuer: "https://issuer.example", ClientID: "tests", Scopes: scopes,
			AuthTime: time.Now().Add(-signedIn).Unix(),
		}
	}
	user := trackerapi.SeedIdentity("priya")
	return localgateway.Principals{
		sender:   who("ada", 0, "contacts:read", "emails:send", "emails:bulk"),
		reader:   who("bob", 0),
		late:     who("ada", 24*time.Hour, "emails:send"),
		linked:   {Subject: user.Subject, Issuer: user.Issuer, ClientID: "tests"},
		recorded: who("eve", 0, "contacts:read", "emails:send", "emails:bulk"),
	}
}

// caller calls tools with a token, as a client that can be asked for input.
type caller struct {
	url, token string
}

// call sends one tools/call whose params are the name, the arguments and what more is given.
func (c caller) call(t *testing.T, tool, arguments, more string) answer {
	t.Helper()
	return readAnswer(t, c.send(t, "tools/call", tool, fmt.Sprintf(`"name":%q,"arguments":%s%s,`, tool, arguments, more)))
}

// list sends one tools/list.
func (c caller) list(t *testing.T) *http.Response {
	t.Helper()
	return c.send(t, "tools/list", "", "")
}

// send sends a message with params that end in a comma.
func (c caller) send(t *testing.T, method, tool, params string) *http.Response {
	t.Helper()
	body := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":{%s"_meta":{`+
		`"io.modelcontextprotocol/protocolVersion":"2026-07-28",`+
		`"io.modelcontextprotocol/clientCapabilities":{"elicitation":{"form":{}}}}}}`, method, params)
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, c.url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]string{
		"Content-Type": "application/json", "Accept": "application/json, text/event-stream",
		"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": method, "Mcp-Name": tool,
		"Authorization": "Bearer " + c.token,
	} {
		if value != "" {
			request.Header.Set(name, value)
		}
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	return response
}

// confirm answers a question with a person's consent.
func (c caller) confirm(t *testing.T, tool, arguments string, question answer) answer {
	t.Helper()
	var asked struct {
		ResultType   string
		RequestState string
	}
	if err := json.Unmarshal(question.Result, &asked); err != nil || asked.ResultType != "input_required" {
		t.Fatalf("got %s, %+v, want a question", question.Result, question.Error)
	}
	return c.call(t, tool, arguments, fmt.Sprintf(`,"requestState":%q,"inputResponses":{"patchbay_confirmation":`+
		`{"action":"accept","content":{"confirm":true}}}`, asked.RequestState))
}

// mails returns the lines of the known stack's mail file that hold the text.
func mails(t *testing.T, text string) []string {
	t.Helper()
	return known.mails(t, text)
}

// mails returns the lines of the stack's mail file that hold the text.
func (s *server) mails(t *testing.T, text string) []string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(s.data, "mail.jsonl"))
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return slices.DeleteFunc(strings.Split(string(data), "\n"), func(line string) bool {
		return !strings.Contains(line, text)
	})
}

func TestOnlyKnownCallersGetIn(t *testing.T) {
	t.Parallel()
	s := known
	for _, token := range []string{"", "nobody's", sender + "x"} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL, strings.NewReader("{}"))
		if err != nil {
			t.Fatal(err)
		}
		if token != "" {
			request.Header.Set("Authorization", "Bearer "+token)
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		response.Body.Close()
		challenge := response.Header.Get("WWW-Authenticate")
		if response.StatusCode != http.StatusUnauthorized || challenge == "" {
			t.Errorf("token %q: status %d, WWW-Authenticate %q", token, response.StatusCode, challenge)
		}
	}
}

// A mail is sent once, after a person agreed, by a caller who may and signed in not long ago.
func TestMailIsSentOnceAfterAPersonAgreed(t *testing.T) {
	t.Parallel()
	s := known
	const tool = "emails.send_external"
	subject := fmt.Sprintf("once %d", time.Now().UnixNano())
	arguments := fmt.Sprintf(`{"to":["grace@example.com"],"subject":%q,"body":"Hello"}`, subject)
	for token, says := range map[string]string{reader: "emails:send", late: "max_age"} {
		got := decodeResult(t, caller{s.URL, token}.call(t, tool, arguments, ""))
		if !got.IsError || !strings.Contains(got.text(), says) {
			t.Errorf("%s: got %+v", token, got)
		}
	}
	ada := caller{s.URL, sender}
	question := ada.call(t, tool, arguments, "")
	if !strings.Contains(string(question.Result), subject) ||
		!strings.Contains(string(question.Result), "cannot be taken back") {
		t.Errorf("the question is %s", question.Result)
	}
	if sent := mails(t, subject); len(sent) != 0 {
		t.Fatalf("sent before anybody agreed: %v", sent)
	}
	first := decodeResult(t, ada.confirm(t, tool, arguments, question))
	again := ada.confirm(t, tool, arguments, question)
	if first.IsError || !strings.Contains(string(again.Result), `"dev.patchbay/replayed":true`) ||
		string(decodeResult(t, again).StructuredContent) != string(first.StructuredContent) {
		t.Errorf("got %+v and then %s", first, again.Result)
	}
	if sent := mails(t, subject); len(sent) != 1 || !strings.Contains(sent[0], "grace@example.com") {
		t.Errorf("sent %v", sent)
	}
	if records := s.log.find("email.external.sent", `"outcome":"ok"`, `"confirmed":true`); len(records) == 0 {
		t.Error("no audit record of the mail")
	}
}

// "me" is whoever the tracker links to the caller's sign-in, and nobody for those whom it does not know.
func TestMeIsWhomTheTrackerLinks(t *testing.T) {
	t.Parallel()
	const tool, arguments = "tracker_search_issues", `{"project":"WEB","assignee":"me","limit":1}`
	got := decodeResult(t, caller{known.URL, linked}.call(t, tool, arguments, ""))
	if got.IsError || !strings.Contains(got.text(), `"assignee":"Priya Natarajan"`) {
		t.Errorf("a linked caller got %+v", got)
	}
	got = decodeResult(t, caller{known.URL, sender}.call(t, tool, arguments, ""))
	if !got.IsError || !strings.Contains(got.text(), "does not link the caller's sign-in") {
		t.Errorf("another caller got %+v", got)
	}
}

// What a caller does not have the scope for it is told of, or does not see, as the contract says.
func TestLesserCallersSeeLess(t *testing.T) {
	t.Parallel()
	for token, want := range map[string]bool{sender: true, late: false, reader: false} {
		got := readAnswer(t, caller{known.URL, token}.list(t)).Result
		if strings.Contains(string(got), `"emails.bulk_send"`) != want {
			t.Errorf("%s: whether emails.bulk_send is listed is not %v", token, want)
		}
		if !strings.Contains(string(got), `"contacts_search"`) {
			t.Errorf("%s: contacts_search is not listed", token)
		}
	}
	const arguments = `{"query":"Ada"}`
	told := decodeResult(t, caller{known.URL, reader}.call(t, "contacts_search", arguments, ""))
	if !told.IsError || !strings.Contains(told.text(), "contacts:read") {
		t.Errorf("a caller without the scope got %+v", told)
	}
	found := decodeResult(t, caller{known.URL, sender}.call(t, "contacts_search", arguments, ""))
	if found.IsError || !strings.Contains(found.text(), "ada.lovelace@example.com") {
		t.Errorf("a caller with the scope got %+v", found)
	}
}

// A segment is written to once, after a dry run of the same arguments and a person's consent.
func TestBulkSendNeedsADryRunAndConsent(t *testing.T) {
	t.Parallel()
	s := known
	const tool, arguments = "emails.bulk_send", `{"templateId":"tmpl_newsletter_q3","segmentId":"seg_active_customers"}`
	ada := caller{s.URL, sender}
	before := len(mails(t, "third quarter"))
	if got := decodeResult(t, ada.call(t, tool, arguments, "")); !got.IsError || !strings.Contains(got.text(), "dry run") {
		t.Fatalf("without a dry run: %+v", got)
	}
	preview := ada.call(t, tool, strings.TrimSuffix(arguments, "}")+`,"dryRun":true}`, "")
	var plan struct {
		DryRun                                            bool
		RecipientCount                                    int
		SampleMessages                                    []struct{ To, Subject, PreviewText string }
		Warnings, MissingPermissions, ExpectedSideEffects []string
	}
	if err := json.Unmarshal(decodeResult(t, preview).StructuredContent, &plan); err != nil || !plan.DryRun ||
		plan.RecipientCount == 0 || len(plan.SampleMessages) == 0 || len(plan.ExpectedSideEffects) == 0 {
		t.Fatalf("the preview is %s, %v", preview.Result, err)
	}
	if sent := len(mails(t, "third quarter")); sent != before {
		t.Fatalf("a dry run sent %d mails", sent-before)
	}
	question := ada.call(t, tool, arguments, "")
	for range 2 {
		if got := decodeResult(t, ada.confirm(t, tool, arguments, question)); got.IsError {
			t.Fatalf("got %+v", got)
		}
	}
	if sent := len(mails(t, "third quarter")) - before; sent != plan.RecipientCount {
		t.Errorf("sent %d mails, the preview said %d", sent, plan.RecipientCount)
	}
	again := ada.call(t, tool, strings.TrimSuffix(arguments, "}")+`,"dryRun":false}`, "")
	if got := decodeResult(t, ada.confirm(t, tool, arguments, again)); !got.IsError {
		t.Errorf("one dry run allowed two sends: %+v", got)
	}
}

// A basket belongs to who created it, and a repeat under a key adds nothing.
func TestBasketsAreTheirCreators(t *testing.T) {
	t.Parallel()
	s := known
	ada, bob := caller{s.URL, sender}, caller{s.URL, reader}
	var basket struct {
		ID    string `json:"basket_id"`
		Items []struct {
			SKU      string
			Quantity int
		}
	}
	created := decodeResult(t, ada.call(t, "create_basket", `{}`, ""))
	if err := json.Unmarshal(created.StructuredContent, &basket); err != nil || basket.ID == "" {
		t.Fatalf("got %+v, %v", basket, err)
	}
	view, add := fmt.Sprintf(`{"basket_id":%q}`, basket.ID), fmt.Sprintf(`{"basket_id":%q,"sku":"APPLE"}`, basket.ID)
	if got := decodeResult(t, ada.call(t, "add_item", add, "")); got.IsError {
		t.Fatalf("got %+v", got)
	}
	foreign := decodeResult(t, bob.call(t, "view_basket", view, ""))
	unknown := decodeResult(t, bob.call(t, "view_basket", `{"basket_id":"bsk_nobody"}`, ""))
	if !foreign.IsError || foreign.text() != unknown.text() {
		t.Errorf("a foreign basket says %q, an unknown one %q", foreign.text(), unknown.text())
	}
	viewed := decodeResult(t, ada.call(t, "view_basket", view, ""))
	if err := json.Unmarshal(viewed.StructuredContent, &basket); err != nil ||
		len(basket.Items) != 1 || basket.Items[0].SKU != "APPLE" || basket.Items[0].Quantity != 1 {
		t.Errorf("got %+v, %v", basket, err)
	}
}
