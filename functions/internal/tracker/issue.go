package tracker

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"time"
)

// Status is how far an issue is, in the words of the tools.
type Status string

// The statuses.
const (
	Open       Status = "open"
	InProgress Status = "in_progress"
	Done       Status = "done"
)

// Statuses are all statuses, in the order of the work.
func Statuses() []Status { return []Status{Open, InProgress, Done} }

// state is the API's number of a status; 0 for none.
func (s Status) state() int { return slices.Index(Statuses(), s) + 1 }

// Priority is how urgent an issue is, in the words of the tools.
type Priority string

// The priorities.
const (
	High   Priority = "high"
	Medium Priority = "medium"
	Low    Priority = "low"
)

func priorities() []Priority { return []Priority{High, Medium, Low} }

// number is the API's number of a priority; 0 for none.
func (p Priority) number() int { return slices.Index(priorities(), p) + 1 }

// Issue is an issue in the words of the tools.
type Issue struct {
	// Key is what people call the issue: WEB-142.
	Key         string
	Title       string
	Description string
	Status      Status
	Priority    Priority
	// AssigneeID is the id of a User; empty when the issue is assigned to nobody.
	AssigneeID string
	CreatedAt  time.Time
	UpdatedAt  time.Time

	id          string
	transitions []transition
}

// wireIssue is an issue as the API writes it.
type wireIssue struct {
	ID          string       `json:"id"`
	Number      int          `json:"number"`
	Title       string       `json:"title"`
	Description string       `json:"description"`
	State       int          `json:"state"`
	Priority    int          `json:"priority"`
	AssigneeID  string       `json:"assignee_id"` // null stays empty
	CreatedAt   time.Time    `json:"created_at"`
	UpdatedAt   time.Time    `json:"updated_at"`
	Transitions []transition `json:"transitions"`
}

type transition struct {
	ID      int `json:"id"`
	ToState int `json:"to_state"`
}

func (w wireIssue) identity() string { return w.ID }

// translate gives the issue of a project its key and its words. A state or priority that the API is not known to have
// is an error: a guess would tell the model something false.
func (w wireIssue) translate(project string) (Issue, error) {
	status, ok := at(Statuses(), w.State)
	if !ok {
		return Issue{}, fmt.Errorf("issue %s has state %d", w.ID, w.State)
	}
	priority, ok := at(priorities(), w.Priority)
	if !ok {
		return Issue{}, fmt.Errorf("issue %s has priority %d", w.ID, w.Priority)
	}
	return Issue{
		Key:   project + "-" + strconv.Itoa(w.Number),
		Title: w.Title, Description: w.Description, Status: status, Priority: priority, AssigneeID: w.AssigneeID,
		CreatedAt: w.CreatedAt, UpdatedAt: w.UpdatedAt, id: w.ID, transitions: w.Transitions,
	}, nil
}

// at is the word for a number that counts from 1.
func at[W any](words []W, number int) (word W, ok bool) {
	if number < 1 || number > len(words) {
		return word, false
	}
	return words[number-1], true
}

// Filter says which issues to search for; the zero value means all.
type Filter struct {
	Status Status
	// AssigneeID is the id of a User.
	AssigneeID string
}

func (f Filter) query() url.Values {
	query := url.Values{}
	if f.Status != "" {
		query.Set("state", strconv.Itoa(f.Status.state()))
	}
	if f.AssigneeID != "" {
		query.Set("assignee_id", f.AssigneeID)
	}
	return query
}

// Search returns a project's newest issues that fit the filter, at most limit of them, and how many there are in all.
func (c *Client) Search(ctx context.Context, project Project, filter Filter, limit int) ([]Issue, int, error) {
	path := []string{"projects", project.ID, "issues"}
	query := filter.query()
	query.Set("per_page", strconv.Itoa(min(limit, pageSize)))
	found, total := []Issue{}, 0
	for page, err := range pages[wireIssue](ctx, c, path, query, 1) {
		if err != nil {
			return nil, 0, projectGone(project, err)
		}
		total = page.Total
		for _, item := range page.Data[:min(len(page.Data), limit-len(found))] {
			issue, err := item.translate(project.Key)
			if err != nil {
				return nil, 0, malformed(ctx, path, err)
			}
			found = append(found, issue)
		}
		if len(found) == limit {
			break
		}
	}
	return found, max(total, len(found)), nil
}
