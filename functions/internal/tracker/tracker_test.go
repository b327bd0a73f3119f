package tracker_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"patchbay/functions/internal/tracker"
	"patchbay/functions/internal/tracker/trackertest"
	"patchbay/scripts/trackerapi"
	"patchbay/shared/principal"
)

// check compares a failure, which reads "code: text", with a code and with parts that the text must have.
func check(t *testing.T, err error, code string, parts ...string) {
	t.Helper()
	if err == nil {
		t.Fatalf("no error, want %s", code)
	}
	text, ok := strings.CutPrefix(err.Error(), code+": ")
	if !ok {
		t.Fatalf("error %q, want code %s", err, code)
	}
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("text %q does not have %q", text, part)
		}
	}
	for _, internal := range []string{"127.0.0.1", "/v2", trackertest.Token, "BODY"} {
		if strings.Contains(text, internal) {
			t.Errorf("text %q shows %q", text, internal)
		}
	}
}

func TestURLsThatAreRefused(t *testing.T) {
	t.Parallel()
	for _, url := range []string{
		"", "tracker.example.com", "ftp://tracker.example.com", "https://", "https://me:pass@host", "https://a b",
		"\x7f",
	} {
		_, err := tracker.New(tracker.Options{URL: url, Secrets: noTokens{}})
		if err == nil {
			t.Errorf("New accepts %q", url)
		} else if strings.Contains(err.Error(), "pass@") {
			t.Errorf("the error shows the password: %v", err)
		}
	}
}

// What a tool's main gives is enough to reach the API with the secret's token.
func TestConnect(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(trackerapi.New(trackerapi.Options{Token: trackertest.Token}))
	t.Cleanup(server.Close)
	secrets := filepath.Join(t.TempDir(), "secrets.json")
	text := fmt.Appendf(nil, "{%q:%q}", tracker.SecretName, trackertest.Token)
	if err := os.WriteFile(secrets, text, 0o600); err != nil {
		t.Fatal(err)
	}
	environment := map[string]string{"TRACKER_API_URL": server.URL, "PATCHBAY_SECRETS_FILE": secrets}
	getenv := func(name string) string { return environment[name] }
	client, err := tracker.Connect(getenv)
	if err != nil {
		t.Fatal(err)
	}
	if project, err := client.Project(t.Context(), "WEB"); err != nil || project.Name != "Website" {
		t.Errorf("project %+v, error %v", project, err)
	}
	environment["TRACKER_API_URL"] = "tracker.example.com"
	if _, err := tracker.Connect(getenv); err == nil || !strings.Contains(err.Error(), "TRACKER_API_URL") {
		t.Errorf("error = %v, want one that names the variable of a URL without a scheme", err)
	}
	delete(environment, "PATCHBAY_SECRETS_FILE")
	if _, err := tracker.Connect(getenv); err == nil || !strings.Contains(err.Error(), "PATCHBAY_SECRETS") {
		t.Errorf("error = %v, want one that names the variable of the secrets", err)
	}
}

func TestProject(t *testing.T) {
	t.Parallel()
	client := trackertest.Start(t, nil)
	project, err := client.Project(t.Context(), " web ")
	if err != nil || project.Key != "WEB" || project.Name != "Website" {
		t.Errorf("project %+v, error %v", project, err)
	}
	const all = "The projects are: API (Public API), DOCS (Documentation), OPS (Operations), WEB (Website)."
	_, err = client.Project(t.Context(), "WEBB")
	check(t, err, tracker.CodeUnknownProject, `"WEBB"`, "Did you mean WEB?", all)
	_, err = client.Project(t.Context(), "Operations")
	check(t, err, tracker.CodeUnknownProject, "Did you mean OPS?", all)
	_, err = client.Project(t.Context(), "ZZZZZZ")
	check(t, err, tracker.CodeUnknownProject, `"ZZZZZZ". The`, all)
}

func TestUsers(t *testing.T) {
	t.Parallel()
	users, err := trackertest.Start(t, nil).Users(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		who, login, code string
		parts            []string
	}{
		"me":             {who: " Me ", login: "sofia"},
		"full name":      {who: "Priya Natarajan", login: "priya"},
		"letters' case":  {who: " PRIYA natarajan ", login: "priya"},
		"login":          {who: "marie", login: "marie"},
		"e-mail":         {who: "Marie@Example.com", login: "marie"},
		"beyond ASCII":   {who: "josé álvarez", login: "jose"},
		"another script": {who: "田中 由紀", login: "yuki"},
		"shared name": {who: "Chris Lee", code: tracker.CodeAmbiguousUser,
			parts: []string{"(chris.lee)", "(christina.lee)"}},
		"given name": {who: "Priya", login: "priya"},
		"family name": {who: "Okafor", code: tracker.CodeUnknownUser,
			parts: []string{"Did you mean Chidi Okafor (chidi)?"}},
		"without accents": {who: "Jose Alvarez", code: tracker.CodeUnknownUser,
			parts: []string{"José Álvarez (jose)"}},
		"misspelled": {who: "Mary Weber", code: tracker.CodeUnknownUser,
			parts: []string{"Did you mean Marie Weber (marie)?"}},
		"nobody": {who: "Zebedee Quux", code: tracker.CodeUnknownUser,
			parts: []string{`"Zebedee Quux"`, "The users are: Chidi Okafor (chidi)", "Suharto (suharto)"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			user, err := users.Find(test.who, trackertest.SignedIn("sofia"))
			if test.code != "" {
				check(t, err, test.code, test.parts...)
				return
			}
			if err != nil || user.Login != test.login {
				t.Errorf("user %+v, error %v; want %s", user, err, test.login)
			}
			if again, err := users.Find(users.Name(user.ID), principal.Principal{}); err != nil || again.ID != user.ID {
				t.Errorf("the name %q finds %+v, error %v", users.Name(user.ID), again, err)
			}
		})
	}
	if got := users.Name("gone"); got != "(former user)" {
		t.Errorf("name of a user who is gone: %q", got)
	}
	for _, user := range users {
		if user.Name == "Chris Lee" && users.Name(user.ID) != user.Login {
			t.Errorf("a shared name is shown as %q, want the login", users.Name(user.ID))
		}
	}
}

func TestSearchWalksPages(t *testing.T) {
	t.Parallel()
	client := trackertest.Start(t, nil)
	project, err := client.Project(t.Context(), "WEB")
	if err != nil {
		t.Fatal(err)
	}
	for limit := 1; limit <= 50; limit += 7 {
		issues, total, err := client.Search(t.Context(), project, tracker.Filter{}, limit)
		if err != nil {
			t.Fatal(err)
		}
		var keys, want []string
		for _, issue := range issues {
			keys = append(keys, issue.Key)
		}
		for number := 150; len(want) < limit; number-- {
			if number%29 != 0 {
				want = append(want, fmt.Sprintf("WEB-%d", number))
			}
		}
		if diff := cmp.Diff(want, keys); diff != "" || total != 145 {
			t.Errorf("limit %d: total %d, keys (-want +got):\n%s", limit, total, diff)
		}
	}
}

func TestSearchFilters(t *testing.T) {
	t.Parallel()
	client := trackertest.Start(t, nil)
	project, err := client.Project(t.Context(), "WEB")
	if err != nil {
		t.Fatal(err)
	}
	users, err := client.Users(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	sum := 0
	for _, status := range tracker.Statuses() {
		filter := tracker.Filter{Status: status, AssigneeID: users[0].ID}
		issues, total, err := client.Search(t.Context(), project, filter, 50)
		if err != nil {
			t.Fatal(err)
		}
		for _, issue := range issues {
			if issue.Status != status || issue.AssigneeID != users[0].ID {
				t.Errorf("%s is %s of %s, want %+v", issue.Key, issue.Status, issue.AssigneeID, filter)
			}
		}
		sum += total
	}
	_, all, err := client.Search(t.Context(), project, tracker.Filter{AssigneeID: users[0].ID}, 1)
	if err != nil || sum != all || all == 0 {
		t.Errorf("the statuses have %d issues together, all have %d, error %v", sum, all, err)
	}
}

// Whether an issue is added between two pages, its project's list shifts by one; nothing may come twice.
func TestSearchWhileIssuesAreAdded(t *testing.T) {
	t.Parallel()
	client := trackertest.Start(t, func(api http.Handler, w http.ResponseWriter, r *http.Request) {
		api.ServeHTTP(w, r)
		if r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, "/issues") {
			add := httptest.NewRequest("POST", r.URL.Path, strings.NewReader(`{"title":"meanwhile"}`))
			add.Header = r.Header
			api.ServeHTTP(httptest.NewRecorder(), add)
		}
	})
	project, err := client.Project(t.Context(), "OPS")
	if err != nil {
		t.Fatal(err)
	}
	issues, total, err := client.Search(t.Context(), project, tracker.Filter{}, 50)
	if err != nil {
		t.Fatal(err)
	}
	var keys []string
	for _, issue := range issues {
		keys = append(keys, issue.Key)
	}
	slices.Sort(keys)
	if len(slices.Compact(slices.Clone(keys))) != len(keys) || len(keys) != 12 || total < len(keys) {
		t.Errorf("total %d, keys %v; want each of the first 12 once", total, keys)
	}
}

func TestEveryIssueIsFoundByKey(t *testing.T) {
	t.Parallel()
	var requests atomic.Int64
	client := trackertest.Start(t, func(api http.Handler, w http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		api.ServeHTTP(w, r)
	})
	for number := 1; number <= 150; number++ {
		key := fmt.Sprintf("web-%d", number)
		requests.Store(0)
		issue, err := client.Issue(t.Context(), key)
		if number%29 == 0 {
			check(t, err, tracker.CodeUnknownIssue, fmt.Sprintf("WEB has no issue %d; it may have been", number))
			continue
		}
		if err != nil || issue.Key != fmt.Sprintf("WEB-%d", number) {
			t.Errorf("%s: issue %+v, error %v", key, issue, err)
		}
		// One for the projects, one for the first page, two where deleted issues blur the position, one for the issue.
		if got := requests.Load(); got > 5 {
			t.Errorf("%s took %d requests", key, got)
		}
	}
}

func TestIssueKeysThatNameNothing(t *testing.T) {
	t.Parallel()
	client := trackertest.Start(t, nil)
	for key, want := range map[string][]string{
		"WEB-999":       {tracker.CodeUnknownIssue, "WEB has no issue 999; the newest is WEB-150."},
		"DOCS-1":        {tracker.CodeUnknownIssue, "DOCS has no issue 1: it has no issues at all."},
		"WEB-999999999": {tracker.CodeUnknownIssue, "the newest is WEB-150"},
		"WBE-142":       {tracker.CodeUnknownProject, `"WBE"`, "WEB (Website)"},
		"WEB142":        {tracker.CodeUnknownIssue, `"WEB142" is not an issue key`, "WEB-142"},
		"WEB-0":         {tracker.CodeUnknownIssue, "is not an issue key"},
		"WEB--1":        {tracker.CodeUnknownIssue, "is not an issue key"},
		"WEB-1/../2":    {tracker.CodeUnknownIssue, "is not an issue key"},
	} {
		t.Run(key, func(t *testing.T) {
			t.Parallel()
			_, err := client.Issue(t.Context(), key)
			check(t, err, want[0], want[1:]...)
		})
	}
}

// An issue slips to an earlier page when others are deleted after page 1 was read, so that a walk that had computed its
// start from page 1 misses it.
func TestIssueIsFoundWhileOthersAreDeleted(t *testing.T) {
	t.Parallel()
	var deleted atomic.Bool
	client := trackertest.Start(t, func(api http.Handler, w http.ResponseWriter, r *http.Request) {
		api.ServeHTTP(w, r)
		list := r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, "/issues")
		if list && deleted.CompareAndSwap(false, true) {
			deleteNewest(t, api, r, 7)
		}
	})
	for _, key := range []string{"WEB-142", "WEB-75", "WEB-12", "WEB-1"} {
		deleted.Store(false)
		if issue, err := client.Issue(t.Context(), key); err != nil || issue.Key != key {
			t.Errorf("%s: issue %+v, error %v", key, issue, err)
		}
	}
}

// deleteNewest deletes the newest issues of the list that r asks for, beyond the first seven.
func deleteNewest(t *testing.T, api http.Handler, r *http.Request, count int) {
	list := httptest.NewRequest("GET", r.URL.Path+"?page=1", nil)
	list.Header = r.Header
	answer := httptest.NewRecorder()
	api.ServeHTTP(answer, list)
	var page struct {
		Data []trackerapi.Issue `json:"data"`
	}
	if err := jsonDecode(answer.Body.Bytes(), &page); err != nil {
		t.Error(err)
	}
	for _, issue := range page.Data[:count] {
		if issue.Number == 142 {
			continue
		}
		remove := httptest.NewRequest("DELETE", "/v2/issues/"+issue.ID, nil)
		remove.Header = r.Header
		api.ServeHTTP(httptest.NewRecorder(), remove)
	}
}

func TestWalkThatNeverSettlesSaysSo(t *testing.T) {
	t.Parallel()
	client := trackertest.Start(t, func(api http.Handler, w http.ResponseWriter, r *http.Request) {
		api.ServeHTTP(w, r)
		if r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, "/issues") {
			deleteNewest(t, api, r, 1)
		}
	})
	_, err := client.Issue(t.Context(), "WEB-29")
	check(t, err, tracker.CodeConflict, "WEB-29 could not be looked up", "try again")
}

func TestMoves(t *testing.T) {
	t.Parallel()
	const open, progress, done = tracker.Open, tracker.InProgress, tracker.Done
	for _, test := range []struct {
		path []tracker.Status // from open, each step is taken
		code string           // of the last one
	}{
		{path: []tracker.Status{open}},
		{path: []tracker.Status{progress, open}},
		{path: []tracker.Status{progress, done}},
		{path: []tracker.Status{done, open}},
		{path: []tracker.Status{done, done}},
		{path: []tracker.Status{done, progress}, code: tracker.CodeTransition},
	} {
		t.Run(fmt.Sprint(test.path), func(t *testing.T) {
			t.Parallel()
			client := trackertest.Start(t, nil)
			before := open
			for i, to := range test.path {
				issue, err := client.Issue(t.Context(), "WEB-142")
				if err != nil || issue.Status != before {
					t.Fatalf("issue %+v, error %v; want %s", issue, err, before)
				}
				moved, err := client.Move(t.Context(), issue, to)
				if test.code != "" && i == len(test.path)-1 {
					check(t, err, test.code, "WEB-142 is done", "leads to: open.")
					return
				}
				if err != nil || moved.Status != to || moved.From != before {
					t.Fatalf("moved %+v, error %v; want %s to %s", moved, err, before, to)
				}
				before = to
			}
		})
	}
}

// rival moves every issue away just before a move arrives, up to a number of times.
func rival(times int64) trackertest.Between {
	var moves atomic.Int64
	return func(api http.Handler, w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost && moves.Add(1) <= times {
			for _, transition := range []string{"21", "11"} { // open from in_progress, else in_progress from open
				body := strings.NewReader(`{"transition_id":` + transition + `}`)
				steal := httptest.NewRequest("POST", r.URL.Path, body)
				steal.Header = r.Header
				answer := httptest.NewRecorder()
				if api.ServeHTTP(answer, steal); answer.Code == http.StatusOK {
					break
				}
			}
		}
		api.ServeHTTP(w, r)
	}
}

func TestMoveAgainstOthers(t *testing.T) {
	t.Parallel()
	t.Run("once", func(t *testing.T) {
		t.Parallel()
		client := trackertest.Start(t, rival(1))
		issue, err := client.Issue(t.Context(), "WEB-142")
		if err != nil {
			t.Fatal(err)
		}
		moved, err := client.Move(t.Context(), issue, tracker.Done)
		if err != nil || moved.Status != tracker.Done || moved.From != tracker.InProgress {
			t.Errorf("moved %+v, error %v; want done, from what the other made of it", moved, err)
		}
	})
	t.Run("to the same status", func(t *testing.T) {
		t.Parallel()
		client := trackertest.Start(t, rival(1))
		issue, err := client.Issue(t.Context(), "WEB-142")
		if err != nil {
			t.Fatal(err)
		}
		moved, err := client.Move(t.Context(), issue, tracker.InProgress)
		if err != nil || moved.From != tracker.InProgress {
			t.Errorf("moved %+v, error %v; want nothing left to do", moved, err)
		}
	})
	t.Run("without end", func(t *testing.T) {
		t.Parallel()
		client := trackertest.Start(t, rival(1000))
		issue, err := client.Issue(t.Context(), "WEB-142")
		if err != nil {
			t.Fatal(err)
		}
		_, err = client.Move(t.Context(), issue, tracker.Done)
		check(t, err, tracker.CodeConflict, "WEB-142 is being moved by somebody else", "it is open now")
	})
}
