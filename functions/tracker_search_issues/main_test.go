package main

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"patchbay/functions/internal/tracker"
	"patchbay/functions/internal/tracker/trackertest"
	"patchbay/shared/tool/tooltest"
)

func TestTypesAndSchemasAgree(t *testing.T) { tooltest.Check(t, search(nil)) }

func TestConciseResult(t *testing.T) {
	t.Parallel()
	handler := search(trackertest.Start(t, nil))
	result := tooltest.Call(t, handler, `{"project":"web","limit":2}`)
	const want = `{"issues":[` +
		`{"key":"WEB-150","title":"Invoices: link leads to a page that is gone","status":"open"},` +
		`{"key":"WEB-149","title":"Navigation: cannot be used with a screen reader","status":"open",` +
		`"assignee":"Chidi Okafor"}],` +
		`"total":145,"truncated":true,"note":"These are the newest 2 of 145 issues. To see others, ` +
		`give a status (open, in_progress or done), or give an assignee, or raise limit (at most 50)."}`
	if diff := cmp.Diff(want, string(result.StructuredContent)); diff != "" {
		t.Errorf("result (-want +got):\n%s", diff)
	}
	if result.Text() != want {
		t.Errorf("text %q is not the structured content", result.Text())
	}
}

func TestDetailedResult(t *testing.T) {
	t.Parallel()
	handler := search(trackertest.Start(t, nil))
	result := tooltest.Call(t, handler, `{"project":"WEB","limit":1,"response_format":"detailed"}`)
	got := tooltest.Structured[output](t, result).Issues[0]
	if got.Priority != tracker.High || !strings.Contains(got.Description, "Where: Invoices.") ||
		got.CreatedAt.IsZero() || !got.UpdatedAt.After(got.CreatedAt) {
		t.Errorf("issue %+v lacks details", got)
	}
}

func TestLimits(t *testing.T) {
	t.Parallel()
	handler := search(trackertest.Start(t, nil))
	for arguments, want := range map[string]int{
		`{"project":"WEB"}`:            20,
		`{"project":"WEB","limit":1}`:  1,
		`{"project":"WEB","limit":50}`: 50,
		`{"project":"OPS","limit":50}`: 12,
	} {
		got := tooltest.Structured[output](t, tooltest.Call(t, handler, arguments))
		if len(got.Issues) != want || got.Truncated != (got.Total > want) || got.Truncated == (got.Note == "") {
			t.Errorf("%s: %d of %d issues, truncated %v, note %q; want %d", arguments, len(got.Issues), got.Total,
				got.Truncated, got.Note, want)
		}
	}
}

func TestFilters(t *testing.T) {
	t.Parallel()
	handler := search(trackertest.Start(t, nil))
	for _, test := range []struct{ arguments, login, assignee string }{
		{`{"project":"WEB","status":"done","assignee":"Sofia Rossi"}`, "", "Sofia Rossi"},
		{`{"project":"WEB","status":"done","assignee":"jose@example.com"}`, "", "José Álvarez"},
		{`{"project":"WEB","status":"done","assignee":"田中 由紀"}`, "", "田中 由紀"},
		{`{"project":"WEB","status":"done","assignee":"me"}`, "marie", "Marie Weber"},
		{`{"project":"WEB","status":"done","assignee":"christina.lee"}`, "", "christina.lee"},
	} {
		var caller tooltest.Options
		if test.login != "" {
			caller.Principal = trackertest.SignedIn(test.login)
		}
		got := tooltest.Structured[output](t, tooltest.Call(t, handler, test.arguments, caller))
		if len(got.Issues) == 0 {
			t.Errorf("%s: nothing was found", test.arguments)
		}
		for _, issue := range got.Issues {
			if issue.Status != tracker.Done || issue.Assignee != test.assignee {
				t.Errorf("%s: %+v does not fit", test.arguments, issue)
			}
		}
	}
}

func TestNotes(t *testing.T) {
	t.Parallel()
	handler := search(trackertest.Start(t, nil))
	for arguments, want := range map[string]string{
		`{"project":"DOCS"}`: "DOCS has no issues.",
		`{"project":"DOCS","status":"open"}`: "No issue of DOCS fits status open; " +
			"there may be some without that filter.",
		`{"project":"OPS","status":"in_progress","assignee":"priya"}`: "No issue of OPS fits status in_progress and " +
			"assignee Priya Natarajan; there may be some without that filter.",
		`{"project":"WEB","status":"done","limit":50}`: "These are the newest 50 of 82 issues. To see others, " +
			"give an assignee.",
		`{"project":"WEB","status":"done","assignee":"priya","limit":1}`: "These are the newest 1 of 8 issues. " +
			"To see others, raise limit (at most 50).",
		`{"project":"OPS"}`: "",
	} {
		got := tooltest.Structured[output](t, tooltest.Call(t, handler, arguments))
		if diff := cmp.Diff(want, got.Note); diff != "" {
			t.Errorf("%s: note (-want +got):\n%s", arguments, diff)
		}
	}
}

func TestLongDescriptionsAreCut(t *testing.T) {
	t.Parallel()
	handler := search(trackertest.Start(t, longDescriptions))
	result := tooltest.Call(t, handler, `{"project":"WEB","limit":50,"response_format":"detailed"}`)
	for _, issue := range tooltest.Structured[output](t, result).Issues {
		letters := []rune(issue.Description)
		if len(letters) != maxDescription || letters[maxDescription-1] != '…' {
			t.Fatalf("a description of %d characters ends with %q", len(letters), letters[len(letters)-1])
		}
	}
}

// longDescriptions passes lists on with descriptions as long as the tracker allows.
func longDescriptions(api http.Handler, w http.ResponseWriter, r *http.Request) {
	buffer := &recorder{header: w.Header()}
	api.ServeHTTP(buffer, r)
	const begin = `"description":"Reported`
	text := strings.ReplaceAll(buffer.String(), begin, begin+strings.Repeat("é", 10_000))
	_, _ = io.WriteString(w, text)
}

// recorder keeps a body back.
type recorder struct {
	bytes.Buffer
	header http.Header
}

func (r *recorder) Header() http.Header { return r.header }
func (r *recorder) WriteHeader(int)     {}

func TestArgumentsThatAreRefused(t *testing.T) {
	t.Parallel()
	handler := search(trackertest.Start(t, nil))
	for arguments, want := range map[string]string{
		`{}`:                                         "project",
		`{"project":""}`:                             "project",
		`{"project":"WEB","limit":0}`:                "limit",
		`{"project":"WEB","limit":51}`:               "limit",
		`{"project":"WEB","limit":1.5}`:              "limit",
		`{"project":"WEB","status":"closed"}`:        "in_progress",
		`{"project":"WEB","query":"login"}`:          "query",
		`{"project":"WEB","response_format":"full"}`: "concise",
	} {
		result := tooltest.Call(t, handler, arguments)
		if !result.Refused || !strings.Contains(result.Text(), want) {
			t.Errorf("%s: refused %v, text %q; want one that names %s", arguments, result.Refused, result.Text(), want)
		}
	}
}

func TestFailures(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		act             trackertest.Between
		arguments, code string
		part            string
	}{
		"wrong project": {nil, `{"project":"WBE"}`, tracker.CodeUnknownProject, "Did you mean WEB?"},
		"wrong user":    {nil, `{"project":"WEB","assignee":"Natarajan"}`, tracker.CodeUnknownUser, "(priya)"},
		"shared name":   {nil, `{"project":"WEB","assignee":"Chris Lee"}`, tracker.CodeAmbiguousUser, "Give the login"},
		"anonymous me":  {nil, `{"project":"WEB","assignee":"me"}`, tracker.CodeUnknownCaller, "Name a user instead"},
		"400":           {trackertest.Status(400), `{"project":"WEB"}`, tracker.CodeRefused, "does not accept"},
		"401":           {trackertest.Status(401), `{"project":"WEB"}`, tracker.CodeCredential, "credential"},
		"403":           {trackertest.Status(403), `{"project":"WEB"}`, tracker.CodeForbidden, "does not allow"},
		"429": {trackertest.Status(429, "Retry-After", "90"), `{"project":"WEB"}`, tracker.CodeBusy,
			"in 1m30s"},
		"500": {trackertest.Status(500), `{"project":"WEB"}`, tracker.CodeUnavailable, "try again later"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			result := tooltest.Call(t, search(trackertest.Start(t, test.act)), test.arguments)
			if result.Code != test.code || !result.IsError || !strings.Contains(result.Text(), test.part) {
				t.Errorf("code %q, text %q; want %s and %q", result.Code, result.Text(), test.code, test.part)
			}
			for _, internal := range []string{"127.0.0.1", "/v2", trackertest.Token, "BODY"} {
				if strings.Contains(fmt.Sprint(result.Text(), result.Meta), internal) {
					t.Errorf("text %q shows %q", result.Text(), internal)
				}
			}
		})
	}
}
