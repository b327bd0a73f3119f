package trackerapi

import (
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"
)

// The states and priorities of the API are numbers.
const (
	stateOpen       = 1
	stateInProgress = 2
	stateDone       = 3

	priorityHigh   = 1
	priorityMedium = 2
	priorityLow    = 3
)

// maxTitle is how many characters a title may have.
const maxTitle = 200

// Project is a project as the API shows it.
type Project struct {
	ID   string `json:"id"`
	Key  string `json:"key"`
	Name string `json:"name"`
}

// User is a user as the API shows them.
type User struct {
	ID    string `json:"id"`
	Login string `json:"login"`
	Email string `json:"email"`
	Name  string `json:"name"`
	// Identities are the sign-ins that are the user's, which whoever runs the tracker has linked to the account.
	Identities []Identity `json:"identities"`
}

// Identity is a sign-in at an authorization server: its issuer, and what that calls the person. Neither says anything
// without the other.
type Identity struct {
	Issuer  string `json:"issuer"`
	Subject string `json:"subject"`
}

// Issue is an issue as the API shows it.
type Issue struct {
	ID          string    `json:"id"`
	ProjectID   string    `json:"project_id"`
	Number      int       `json:"number"`
	Title       string    `json:"title"`
	Description string    `json:"description"`
	State       int       `json:"state"`
	Priority    int       `json:"priority"`
	AssigneeID  *string   `json:"assignee_id"`
	CreatedAt   time.Time `json:"created_at"`
	UpdatedAt   time.Time `json:"updated_at"`
	// Transitions are left out of lists.
	Transitions []Transition `json:"transitions,omitempty"`
}

// Transition is a move to another state.
type Transition struct {
	ID      int `json:"id"`
	ToState int `json:"to_state"`
}

// Draft is what a caller sends to create an issue.
type Draft struct {
	Title       string  `json:"title"`
	Description string  `json:"description"`
	Priority    int     `json:"priority"`
	AssigneeID  *string `json:"assignee_id"`
}

// workflow says which moves a state allows: work that is done can only be opened again.
var workflow = map[int][]Transition{
	stateOpen:       {{ID: 11, ToState: stateInProgress}, {ID: 12, ToState: stateDone}},
	stateInProgress: {{ID: 21, ToState: stateOpen}, {ID: 22, ToState: stateDone}},
	stateDone:       {{ID: 31, ToState: stateOpen}},
}

// store is the tracker's data.
type store struct {
	now func() time.Time

	mu       sync.Mutex
	projects map[string]Project // by id, as are the next three
	users    map[string]User
	issues   map[string]Issue
	numbers  map[string]int // the last number given in a project
}

func (s *store) listProjects() []Project {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.SortedFunc(maps.Values(s.projects), func(a, b Project) int { return cmp.Compare(a.Key, b.Key) })
}

func (s *store) listUsers() []User {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.SortedFunc(maps.Values(s.users), func(a, b User) int { return cmp.Compare(a.Login, b.Login) })
}

// listIssues returns the newest first. State 0 and an empty assignee mean any.
func (s *store) listIssues(project string, state int, assignee string) ([]Issue, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.projects[project]; !ok {
		return nil, notFound("project", project)
	}
	found := []Issue{}
	for _, issue := range s.issues {
		if issue.ProjectID == project && (state == 0 || issue.State == state) && assigned(issue, assignee) {
			found = append(found, issue)
		}
	}
	slices.SortFunc(found, func(a, b Issue) int { return cmp.Compare(b.Number, a.Number) })
	return found, nil
}

func assigned(issue Issue, user string) bool {
	return user == "" || issue.AssigneeID != nil && *issue.AssigneeID == user
}

func (s *store) issue(id string) (Issue, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.find(id)
}

// find wants the lock to be held.
func (s *store) find(id string) (Issue, error) {
	issue, ok := s.issues[id]
	if !ok {
		return Issue{}, notFound("issue", id)
	}
	issue.Transitions = workflow[issue.State]
	return issue, nil
}

func (s *store) create(project string, draft Draft) (Issue, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.projects[project]; !ok {
		return Issue{}, notFound("project", project)
	}
	draft.Priority = cmp.Or(draft.Priority, priorityMedium)
	if err := s.check(draft); err != nil {
		return Issue{}, err
	}
	s.numbers[project]++
	now := s.now().UTC()
	issue := Issue{
		ID: uuid.NewString(), ProjectID: project, Number: s.numbers[project],
		Title: draft.Title, Description: draft.Description,
		State: stateOpen, Priority: draft.Priority, AssigneeID: draft.AssigneeID,
		CreatedAt: now, UpdatedAt: now,
	}
	s.issues[issue.ID] = issue
	return s.find(issue.ID)
}

func (s *store) check(draft Draft) error {
	if strings.TrimSpace(draft.Title) == "" || utf8.RuneCountInString(draft.Title) > maxTitle {
		return invalid("title", fmt.Sprintf("title has 1 to %d characters that are not all blank", maxTitle))
	}
	if draft.Priority < priorityHigh || draft.Priority > priorityLow {
		return invalid("priority", "priority is 1 (high), 2 (medium) or 3 (low)")
	}
	if draft.AssigneeID == nil {
		return nil
	}
	if _, ok := s.users[*draft.AssigneeID]; !ok {
		return invalid("assignee_id", "assignee_id is not a user's id")
	}
	return nil
}

func (s *store) move(id string, transition int) (Issue, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	issue, err := s.find(id)
	if err != nil {
		return Issue{}, err
	}
	at := slices.IndexFunc(issue.Transitions, func(t Transition) bool { return t.ID == transition })
	if at < 0 {
		return Issue{}, &apiError{
			Status: http.StatusConflict, Code: "transition_unavailable", Field: "transition_id",
			Message: fmt.Sprintf("state %d has no transition %d", issue.State, transition),
		}
	}
	issue.State = issue.Transitions[at].ToState
	issue.UpdatedAt = s.now().UTC()
	issue.Transitions = nil
	s.issues[id] = issue
	return s.find(id)
}

func (s *store) delete(id string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, err := s.find(id); err != nil {
		return err
	}
	delete(s.issues, id)
	return nil
}

func notFound(kind, id string) error {
	return &apiError{
		Status: http.StatusNotFound, Code: "not_found",
		Message: fmt.Sprintf("no %s has the id %q", kind, id),
	}
}

func invalid(field, message string) error {
	return &apiError{Status: http.StatusUnprocessableEntity, Code: "invalid_value", Field: field, Message: message}
}
