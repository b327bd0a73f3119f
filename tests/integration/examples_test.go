package integration

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"patchbay/shared/contract"
	"patchbay/tests/integration/clients"
)

type exampleCall struct {
	tool, arguments string
	// says is a part of the answer's text; failed tells a tool error that a model can act on.
	says   string
	failed bool
}

// exampleCalls calls every example tool at least once that a server without sign-in has.
var exampleCalls = []exampleCall{
	{"get_weather", `{"location":"Oslo"}`, `"humidity"`, false},
	{"get_weather", `{"location":"94105"}`, "San Francisco", false},
	{"get_weather", `{"location":"Osslo"}`, "Oslo", true},
	{"get_weather", `{}`, "location", true},
	{"convert_units", `{"value":5,"source":"km","target":"m"}`, "5000", false},
	{"execute_sql", `{"region":"us-west1","query":"SELECT count(*) AS n FROM customers"}`, `"columns":["n"]`, false},
	{"execute_sql", `{"region":"us-west1","query":"DROP TABLE customers"}`, "SELECT", true},
	{"execute_sql", `{"region":"us-west1","query":"SELECT * FROM custommers"}`, "customers", true},
	{"execute_sql", `{"region":"mars","query":"SELECT 1"}`, "europe-west1", true},
	{"tracker_search_issues", `{"project":"WEB","status":"open","limit":2}`, "WEB-", false},
	{"tracker_search_issues", `{"project":"WEBB"}`, "WEB", true},
	{"tracker_create_issue", `{"project":"DOCS","title":"Say what a tool is"}`, "DOCS-", false},
	{"tracker_create_issue", `{"project":"DOCS","title":"` + strings.Repeat("x", 201) + `"}`, "200", true},
	{"tracker_change_issue_status", `{"issue":"WEB-7","status":"done"}`, "done", false},
	{"tracker_change_issue_status", `{"issue":"WEB-7","status":"finished"}`, "in_progress", true},
	{"create_basket", `{}`, "bsk_", false},
	{"view_basket", `{"basket_id":"bsk_nobody"}`, "create_basket", true},
	{"add_item", `{"basket_id":"bsk_nobody","sku":"APPLE"}`, "create_basket", true},
	{"create_download_link", `{"fileId":"f_abc123"}`, "lnk_", false},
	{"create_download_link", `{"fileId":"f_unknown"}`, "f_unknown", true},
	{"quote_shipping", `{"weight_kg":2,"destination":"DE"}`, "price", false},
}

// Every official client, in each of its modes, lists the example tools of a server without sign-in and calls every one
// of them.
func TestEveryClientCallsEveryExampleTool(t *testing.T) {
	t.Parallel()
	eachClient(t, func(t *testing.T, client clients.Client) {
		calls := exampleCalls
		if strings.HasPrefix(client.Name, "inspector") {
			calls = oneCallOfEach() // the Inspector's CLI starts anew for every call
		}
		script := make([]clients.Call, len(calls))
		for i, c := range calls {
			script[i] = clients.Call{Tool: c.tool, Arguments: json.RawMessage(c.arguments)}
		}
		report := client.Call(t, examples.URL, script...)
		for _, tool := range exampleNames() {
			if !slices.Contains(report.Tools, tool) {
				t.Errorf("does not list %s: %v", tool, report.Tools)
			}
		}
		if wants := revision(client); report.ProtocolVersion != "" && report.ProtocolVersion != wants {
			t.Errorf("speaks %s, want %s", report.ProtocolVersion, wants)
		}
		for i, c := range calls {
			if err := checkExample(report.Calls[i], c.says, c.failed); err != nil {
				t.Errorf("%s %s: %v", c.tool, c.arguments, err)
			}
		}
	})
}

func oneCallOfEach() []exampleCall {
	var calls []exampleCall
	for _, c := range exampleCalls {
		if !slices.ContainsFunc(calls, func(other exampleCall) bool { return other.tool == c.tool }) {
			calls = append(calls, c)
		}
	}
	return calls
}

func exampleNames() []string {
	var names []string
	for _, c := range oneCallOfEach() {
		names = append(names, c.tool)
	}
	return names
}

func revision(client clients.Client) string {
	if client.Modern {
		return clients.Revision
	}
	return clients.EarlierRevision
}

func checkExample(report clients.CallReport, says string, failed bool) error {
	result, err := report.Decode()
	if err != nil {
		return err
	}
	if result.IsError != failed || len(result.Content) == 0 || !strings.Contains(result.Content[0].Text, says) {
		return fmt.Errorf("got isError %v and %+v, want %v and a text with %q", result.IsError, result.Content, failed, says)
	}
	return nil
}

// The catalogue holds all example tools, none that this test does not call. Tools of one's own may be beside them.
func TestEveryExampleToolIsCalled(t *testing.T) {
	t.Parallel()
	set, problems := contract.LoadDir(filepath.Join(root, "functions"))
	if set == nil {
		t.Fatal(problems)
	}
	names, _, _ := list(t, examples.URL, "")
	for _, tool := range set.Tools {
		listed := slices.Contains(names, tool.Name)
		if tool.Contract.Example && listed && !slices.Contains(exampleNames(), tool.Name) {
			t.Errorf("%s is an example that no test calls", tool.Name)
		}
	}
}

// On a server without sign-in nobody has permissions, so tools that ask for some do not exist there.
func TestToolsThatAskForPermissionsAreHiddenWithoutSignIn(t *testing.T) {
	t.Parallel()
	anonymous, _, _ := list(t, examples.URL, "")
	for tool, scope := range map[string]string{
		"contacts_search": "contacts:read", "emails.send_external": "emails:send", "emails.bulk_send": "",
	} {
		if slices.Contains(anonymous, tool) {
			t.Errorf("the list has %s", tool)
		}
		got := readAnswer(t, post(t, examples.URL, "tools/call", tool, callParams(tool, `{}`)))
		if got.Error == nil || got.Error.Code != -32602 || got.Error.Message != "Unknown tool: "+tool {
			t.Errorf("%s: got %+v, %s", tool, got.Error, got.Result)
		}
		if scope == "" {
			continue // hidden from a caller without its scope, too
		}
		// The tool is there: a caller whom the other server knows is told what it needs.
		told := decodeResult(t, caller{known.URL, reader}.call(t, tool, `{}`, ""))
		if !told.IsError || !strings.Contains(told.text(), "needs the OAuth scopes: "+scope+".") {
			t.Errorf("%s: a known caller got %+v", tool, told)
		}
	}
}

// Functions in other languages and functions that know nothing of Patchbay are tools like any other.
func TestOtherLanguagesAndExistingFunctions(t *testing.T) {
	t.Parallel()
	got := call(t, examples.URL, "quote_shipping", `{"weight_kg":2,"destination":"DE"}`)
	var quote struct {
		Price    float64
		Currency string
	}
	if err := json.Unmarshal(got.StructuredContent, &quote); err != nil || quote.Price <= 0 || quote.Currency == "" {
		t.Errorf("got %s, %v", got.StructuredContent, err)
	}
	got = call(t, examples.URL, "convert_units", `{"value":1,"source":"km","target":"kg"}`)
	if !got.IsError || internals.MatchString(got.text()) {
		t.Errorf("got %+v", got)
	}
}
