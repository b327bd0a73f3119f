package trackerapi_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"patchbay/scripts/trackerapi"
)

const token = "test-token"

func newAPI() *trackerapi.API {
	return trackerapi.New(trackerapi.Options{
		Token: token,
		Now:   func() time.Time { return time.Date(2026, time.August, 1, 12, 0, 0, 0, time.UTC) },
	})
}

// call sends one request and decodes the answer into out, unless that is nil.
func call(t *testing.T, api http.Handler, method, path, body string, out any) int {
	t.Helper()
	request := httptest.NewRequest(method, path, strings.NewReader(body))
	request.Header.Set("Authorization", "Bearer "+token)
	answer := httptest.NewRecorder()
	api.ServeHTTP(answer, request)
	if out != nil {
		if err := json.Unmarshal(answer.Body.Bytes(), out); err != nil {
			t.Fatalf("%s %s: decoding %q: %v", method, path, answer.Body, err)
		}
	}
	return answer.Code
}

type list[T any] struct {
	Data    []T `json:"data"`
	Page    int `json:"page"`
	PerPage int `json:"per_page"`
	Total   int `json:"total"`
}

func projectID(t *testing.T, api http.Handler, key string) string {
	t.Helper()
	var projects list[trackerapi.Project]
	call(t, api, "GET", "/v2/projects", "", &projects)
	for _, project := range projects.Data {
		if project.Key == key {
			return project.ID
		}
	}
	t.Fatalf("no project %s in %v", key, projects.Data)
	return ""
}

func TestOnlyTheTokenOpens(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		token, header string
		want          int
	}{
		"right":              {token, "Bearer " + token, http.StatusOK},
		"none":               {token, "", http.StatusUnauthorized},
		"wrong":              {token, "Bearer x", http.StatusUnauthorized},
		"other scheme":       {token, "Basic " + token, http.StatusUnauthorized},
		"an API without one": {"", "Bearer ", http.StatusUnauthorized},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			request := httptest.NewRequest("GET", "/v2/users", nil)
			request.Header.Set("Authorization", test.header)
			answer := httptest.NewRecorder()
			trackerapi.New(trackerapi.Options{Token: test.token}).ServeHTTP(answer, request)
			if answer.Code != test.want {
				t.Errorf("status %d, want %d", answer.Code, test.want)
			}
		})
	}
}

func TestPagesCoverAProjectNewestFirst(t *testing.T) {
	t.Parallel()
	api := newAPI()
	path := "/v2/projects/" + projectID(t, api, "WEB") + "/issues?per_page=1000&page="
	var numbers []int
	total := 1
	for page := 1; len(numbers) < total; page++ {
		var got list[trackerapi.Issue]
		call(t, api, "GET", path+fmt.Sprint(page), "", &got)
		if got.Page != page || got.PerPage != trackerapi.MaxPerPage || len(got.Data) == 0 {
			t.Fatalf("page %d says page %d, per_page %d, %d items", page, got.Page, got.PerPage, len(got.Data))
		}
		total = got.Total
		for _, issue := range got.Data {
			numbers = append(numbers, issue.Number)
		}
	}
	var want []int
	for number := 150; number >= 1; number-- {
		if number%29 != 0 {
			want = append(want, number)
		}
	}
	if diff := cmp.Diff(want, numbers); diff != "" {
		t.Errorf("numbers (-want +got):\n%s", diff)
	}
	var past list[trackerapi.Issue]
	call(t, api, "GET", path+"99", "", &past)
	if past.Data == nil || len(past.Data) != 0 {
		t.Errorf("a page past the end has %v, want an empty list", past.Data)
	}
}

func TestFilters(t *testing.T) {
	t.Parallel()
	api := newAPI()
	var users list[trackerapi.User]
	call(t, api, "GET", "/v2/users", "", &users)
	user := users.Data[0].ID
	var got list[trackerapi.Issue]
	path := "/v2/projects/" + projectID(t, api, "WEB") + "/issues?state=3&assignee_id=" + user
	call(t, api, "GET", path, "", &got)
	if len(got.Data) == 0 {
		t.Fatal("the seed has no done issue of the first user")
	}
	for _, issue := range got.Data {
		if issue.State != 3 || issue.AssigneeID == nil || *issue.AssigneeID != user {
			t.Errorf("issue %d has state %d and assignee %v", issue.Number, issue.State, issue.AssigneeID)
		}
	}
}

func TestLifeOfAnIssue(t *testing.T) {
	t.Parallel()
	api := newAPI()
	var created trackerapi.Issue
	path := "/v2/projects/" + projectID(t, api, "DOCS") + "/issues"
	if got := call(t, api, "POST", path, `{"title":"Écrire"}`, &created); got != http.StatusCreated {
		t.Fatalf("create: status %d", got)
	}
	want := trackerapi.Issue{
		ID: created.ID, ProjectID: created.ProjectID, Number: 1, Title: "Écrire", State: 1, Priority: 2,
		CreatedAt:   time.Date(2026, time.August, 1, 12, 0, 0, 0, time.UTC),
		UpdatedAt:   time.Date(2026, time.August, 1, 12, 0, 0, 0, time.UTC),
		Transitions: []trackerapi.Transition{{ID: 11, ToState: 2}, {ID: 12, ToState: 3}},
	}
	if diff := cmp.Diff(want, created); diff != "" {
		t.Errorf("created (-want +got):\n%s", diff)
	}

	at := "/v2/issues/" + created.ID
	if got := call(t, api, "POST", at+"/transitions", `{"transition_id":31}`, nil); got != http.StatusConflict {
		t.Errorf("a transition of another state: status %d, want 409", got)
	}
	call(t, api, "POST", at+"/transitions", `{"transition_id":12}`, nil)
	var moved trackerapi.Issue
	call(t, api, "GET", at, "", &moved)
	if moved.State != 3 || moved.Transitions[0].ToState != 1 {
		t.Errorf("after the move: state %d, transitions %v", moved.State, moved.Transitions)
	}
	if got := call(t, api, "DELETE", at, "", nil); got != http.StatusNoContent {
		t.Errorf("delete: status %d", got)
	}
	if got := call(t, api, "GET", at, "", nil); got != http.StatusNotFound {
		t.Errorf("get after delete: status %d", got)
	}
	call(t, api, "POST", path, `{"title":"next"}`, &created)
	if created.Number != 2 {
		t.Errorf("the number after a deleted one is %d, want 2", created.Number)
	}
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	api := newAPI()
	issues := "/v2/projects/" + projectID(t, api, "WEB") + "/issues"
	for name, test := range map[string]struct {
		method, path, body string
		status             int
		field              string
	}{
		"state":           {"GET", issues + "?state=4", "", 400, "state"},
		"page":            {"GET", issues + "?page=0", "", 400, "page"},
		"per_page":        {"GET", issues + "?per_page=x", "", 400, "per_page"},
		"unknown project": {"GET", "/v2/projects/WEB/issues", "", 404, ""},
		"unknown issue":   {"GET", "/v2/issues/WEB-142", "", 404, ""},
		"no title":        {"POST", issues, `{}`, 422, "title"},
		"long title":      {"POST", issues, `{"title":"` + strings.Repeat("é", 201) + `"}`, 422, "title"},
		"priority":        {"POST", issues, `{"title":"a","priority":4}`, 422, "priority"},
		"assignee":        {"POST", issues, `{"title":"a","assignee_id":"priya"}`, 422, "assignee_id"},
		"unknown member":  {"POST", issues, `{"title":"a","labels":[]}`, 400, ""},
		"not JSON":        {"POST", issues, `{"title"`, 400, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got struct {
				Error struct{ Code, Message, Field string } `json:"error"`
			}
			if status := call(t, api, test.method, test.path, test.body, &got); status != test.status {
				t.Errorf("status %d, want %d", status, test.status)
			}
			if got.Error.Field != test.field || got.Error.Code == "" || got.Error.Message == "" {
				t.Errorf("error %+v, want field %q", got.Error, test.field)
			}
		})
	}
}

func TestConcurrentCreatesGetTheirOwnNumbers(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(newAPI())
	t.Cleanup(server.Close)
	path := server.URL + "/v2/projects/" + projectID(t, newAPI(), "DOCS") + "/issues"
	const callers = 16
	numbers := make([]int, callers)
	var group sync.WaitGroup
	for i := range callers {
		group.Go(func() { numbers[i] = create(t, path) })
	}
	group.Wait()
	seen := map[int]bool{}
	for _, number := range numbers {
		if number < 1 || number > callers || seen[number] {
			t.Errorf("number %d is given twice or out of range: %v", number, numbers)
		}
		seen[number] = true
	}
}

// create returns the new issue's number; 0 when that went wrong.
func create(t *testing.T, url string) int {
	request, err := http.NewRequest("POST", url, strings.NewReader(`{"title":"one of many"}`))
	if err != nil {
		t.Error(err)
		return 0
	}
	request.Header.Set("Authorization", "Bearer "+token)
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Error(err)
		return 0
	}
	defer answer.Body.Close()
	body, _ := io.ReadAll(answer.Body)
	var issue trackerapi.Issue
	if err := json.Unmarshal(body, &issue); err != nil {
		t.Errorf("decoding %q: %v", body, err)
	}
	return issue.Number
}

// Users come with the sign-ins that are theirs, those that the options add behind the seed's own.
func TestIdentities(t *testing.T) {
	t.Parallel()
	more := trackerapi.Identity{Issuer: "https://id.example.org", Subject: "ada"}
	api := trackerapi.New(trackerapi.Options{Token: token, Identities: map[string][]trackerapi.Identity{"priya": {more}}})
	var users list[trackerapi.User]
	call(t, api, "GET", "/v2/users", "", &users)
	subjects := map[string]bool{}
	for _, user := range users.Data {
		want := []trackerapi.Identity{trackerapi.SeedIdentity(user.Login)}
		if user.Login == "priya" {
			want = append(want, more)
		}
		if diff := cmp.Diff(want, user.Identities); diff != "" {
			t.Errorf("%s (-want +got):\n%s", user.Login, diff)
		}
		subject := user.Identities[0].Subject
		if subjects[subject] || strings.Contains(subject, user.Login) {
			t.Errorf("the subject of %s is %q, which is another's or tells the login", user.Login, subject)
		}
		subjects[subject] = true
	}
}
