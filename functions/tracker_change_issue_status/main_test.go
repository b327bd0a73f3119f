package main

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"patchbay/functions/internal/tracker"
	"patchbay/functions/internal/tracker/trackertest"
	"patchbay/shared/tool/tooltest"
)

func TestTypesAndSchemasAgree(t *testing.T) { tooltest.Check(t, changeStatus(nil)) }

// One issue goes through the whole workflow.
func TestChanges(t *testing.T) {
	t.Parallel()
	handler := changeStatus(trackertest.Start(t, nil))
	before := tracker.Open
	for _, to := range []tracker.Status{
		tracker.Open, tracker.InProgress, tracker.InProgress, tracker.Open, tracker.Done, tracker.Done, tracker.Open,
	} {
		result := tooltest.Call(t, handler, map[string]any{"issue": "web-142", "status": to})
		want := output{
			Key: "WEB-142", Title: "Product list: wrong total after a discount",
			Status: to, PreviousStatus: before, Changed: to != before,
		}
		if !want.Changed {
			want.Note = "The issue had this status already; nothing was changed."
		}
		if diff := cmp.Diff(want, tooltest.Structured[output](t, result)); diff != "" {
			t.Errorf("%s to %s (-want +got):\n%s", before, to, diff)
		}
		before = to
	}
}

func TestWhatTheIssueHasAlreadyIsNotSent(t *testing.T) {
	t.Parallel()
	handler := changeStatus(trackertest.Start(t, trackertest.OnWrites(
		func(http.Handler, http.ResponseWriter, *http.Request) { t.Error("a change was sent") })))
	result := tooltest.Call(t, handler, `{"issue":"WEB-142","status":"open"}`)
	if got := tooltest.Structured[output](t, result); got.Changed || got.Note == "" {
		t.Errorf("output %+v says nothing of it", got)
	}
}

func TestArgumentsThatAreRefused(t *testing.T) {
	t.Parallel()
	handler := changeStatus(trackertest.Start(t, nil))
	for arguments, want := range map[string]string{
		`{"issue":"WEB-142"}`:                              "status",
		`{"status":"done"}`:                                "issue",
		`{"issue":"142","status":"done"}`:                  "WEB-142",
		`{"issue":"WEB-0","status":"done"}`:                "WEB-142",
		`{"issue":"WEB-1234567890","status":"done"}`:       "WEB-142",
		`{"issue":"WEB-142","status":"closed"}`:            "in_progress",
		`{"issue":"WEB-142","status":"done","force":true}`: "force",
	} {
		result := tooltest.Call(t, handler, arguments)
		if !result.Refused || !strings.Contains(result.Text(), want) {
			t.Errorf("%s: refused %v, text %q; want one with %q", arguments, result.Refused, result.Text(), want)
		}
	}
}

func TestFailures(t *testing.T) {
	t.Parallel()
	const arguments = `{"issue":"WEB-142","status":"done"}`
	writes := func(status int, headers ...string) trackertest.Between {
		return trackertest.OnWrites(trackertest.Status(status, headers...))
	}
	for name, test := range map[string]struct {
		act             trackertest.Between
		arguments, code string
		part            string
	}{
		"wrong project":  {nil, `{"issue":"WBE-1","status":"done"}`, tracker.CodeUnknownProject, "Did you mean WEB?"},
		"missing number": {nil, `{"issue":"WEB-999","status":"done"}`, tracker.CodeUnknownIssue, "newest is WEB-150"},
		"deleted number": {nil, `{"issue":"WEB-145","status":"done"}`, tracker.CodeUnknownIssue, "have been deleted"},
		"workflow": {nil, `{"issue":"WEB-1","status":"in_progress"}`, tracker.CodeTransition,
			"WEB-1 is done, and the tracker's workflow does not lead from there to in_progress. It leads to: open."},
		"401":  {writes(401), arguments, tracker.CodeCredential, "credential"},
		"403":  {writes(403), arguments, tracker.CodeForbidden, "does not allow"},
		"404":  {writes(404), arguments, tracker.CodeUnknownIssue, "WEB-142 was deleted"},
		"409":  {writes(409), arguments, tracker.CodeConflict, "WEB-142 is being moved by somebody else"},
		"422":  {writes(422), arguments, tracker.CodeRefused, "does not accept"},
		"429":  {writes(429, "Retry-After", "5"), arguments, tracker.CodeBusy, "try again in 5s"},
		"500":  {writes(500), arguments, tracker.CodeOutcomeUnknown, "does no harm"},
		"down": {trackertest.Status(503), arguments, tracker.CodeUnavailable, "Nothing was changed"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			result := tooltest.Call(t, changeStatus(trackertest.Start(t, test.act)), test.arguments)
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
