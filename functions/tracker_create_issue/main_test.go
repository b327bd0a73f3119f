package main

import (
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"patchbay/functions/internal/tracker"
	"patchbay/functions/internal/tracker/trackertest"
	"patchbay/shared/principal"
	"patchbay/shared/tool/tooltest"
)

func TestTypesAndSchemasAgree(t *testing.T) { tooltest.Check(t, create(nil)) }

func TestCreate(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		arguments map[string]any
		caller    principal.Principal
		want      output
	}{
		"least": {
			arguments: map[string]any{"project": "WEB", "title": "Menu is empty"},
			want:      output{Key: "WEB-151", Title: "Menu is empty", Status: tracker.Open, Priority: tracker.Medium},
		},
		"all": {
			arguments: map[string]any{
				"project": "docs", "title": "Écrire <b>田中</b> & 🙂", "description": "a\nb", "priority": "high",
				"assignee": "me",
			},
			caller: trackertest.SignedIn("priya"),
			want: output{Key: "DOCS-1", Title: "Écrire <b>田中</b> & 🙂", Status: tracker.Open, Priority: tracker.High,
				Assignee: "Priya Natarajan"},
		},
		"longest title": {
			arguments: map[string]any{"project": "OPS", "title": strings.Repeat("🙂", 200), "priority": "low"},
			want: output{Key: "OPS-13", Title: strings.Repeat("🙂", 200), Status: tracker.Open,
				Priority: tracker.Low},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			client := trackertest.Start(t, nil)
			caller := tooltest.Options{Principal: test.caller}
			got := tooltest.Structured[output](t, tooltest.Call(t, create(client), test.arguments, caller))
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("output (-want +got):\n%s", diff)
			}
			kept, err := client.Issue(t.Context(), got.Key)
			if err != nil || kept.Title != test.want.Title || kept.Priority != test.want.Priority {
				t.Errorf("the tracker has %+v, error %v", kept, err)
			}
		})
	}
}

func TestEveryCallCreatesAnIssue(t *testing.T) {
	t.Parallel()
	handler := create(trackertest.Start(t, nil))
	for _, want := range []string{"DOCS-1", "DOCS-2"} {
		result := tooltest.Call(t, handler, `{"project":"DOCS","title":"the same"}`)
		if got := tooltest.Structured[output](t, result).Key; got != want {
			t.Errorf("key %s, want %s", got, want)
		}
	}
}

func TestArgumentsThatAreRefused(t *testing.T) {
	t.Parallel()
	handler := create(trackertest.Start(t, trackertest.OnWrites(func(http.Handler, http.ResponseWriter, *http.Request) {
		t.Error("an issue was created")
	})))
	for want, arguments := range map[string]map[string]any{
		"title":    {"project": "WEB"},
		"200":      {"project": "WEB", "title": strings.Repeat("🙂", 201)},
		"1":        {"project": "WEB", "title": ""},
		`\S`:       {"project": "WEB", "title": " \t "},
		"high":     {"project": "WEB", "title": "a", "priority": "urgent"},
		"10000":    {"project": "WEB", "title": "a", "description": strings.Repeat("a", 10_001)},
		"labels":   {"project": "WEB", "title": "a", "labels": []string{}},
		"assignee": {"project": "WEB", "title": "a", "assignee": ""},
	} {
		result := tooltest.Call(t, handler, arguments)
		if !result.Refused || !strings.Contains(result.Text(), want) {
			t.Errorf("%v: refused %v, text %q; want one with %q", arguments, result.Refused, result.Text(), want)
		}
	}
}

func TestFailures(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		act                trackertest.Between
		project, who, code string
		part               string
		writes             int64
	}{
		"wrong project": {project: "WBE", who: "priya", code: tracker.CodeUnknownProject, part: "Did you mean WEB?"},
		"wrong user":    {project: "WEB", who: "Natarajan", code: tracker.CodeUnknownUser, part: "(priya)"},
		"shared name":   {project: "WEB", who: "Chris Lee", code: tracker.CodeAmbiguousUser, part: "(chris.lee)"},
		"anonymous me":  {project: "WEB", who: "me", code: tracker.CodeUnknownCaller, part: "anonymous"},
		"401":           {trackertest.Status(401), "WEB", "priya", tracker.CodeCredential, "credential", 1},
		"403":           {trackertest.Status(403), "WEB", "priya", tracker.CodeForbidden, "does not allow", 1},
		"422":           {trackertest.Status(422), "WEB", "priya", tracker.CodeRefused, "does not accept", 1},
		"429":           {trackertest.Status(429, "Retry-After", "0"), "WEB", "priya", tracker.CodeBusy, "again in", 1},
		"500":           {trackertest.Status(500), "WEB", "priya", tracker.CodeOutcomeUnknown, "may exist or not", 1},
		"redirect": {trackertest.Status(307, "Location", "/v2/users"), "WEB", "priya", tracker.CodeUnavailable,
			"Nothing was changed", 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var writes atomic.Int64
			counted := func(api http.Handler, w http.ResponseWriter, r *http.Request) {
				writes.Add(1)
				test.act(api, w, r)
			}
			client := trackertest.Start(t, trackertest.OnWrites(counted))
			result := tooltest.Call(t, create(client), map[string]any{
				"project": test.project, "title": "a", "assignee": test.who,
			})
			if result.Code != test.code || !result.IsError || !strings.Contains(result.Text(), test.part) {
				t.Errorf("code %q, text %q; want %s and %q", result.Code, result.Text(), test.code, test.part)
			}
			if got := writes.Load(); got != test.writes {
				t.Errorf("%d issues were sent, want %d", got, test.writes)
			}
		})
	}
}
