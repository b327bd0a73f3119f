package tracker

import (
	"context"
	"errors"
	"slices"

	"patchbay/shared/tool"
)

// Draft is an issue to create.
type Draft struct {
	// Title has 1 to 200 characters.
	Title       string
	Description string
	Priority    Priority
	// AssigneeID is the id of a User; empty for nobody.
	AssigneeID string
}

// Create makes an issue. CodeOutcomeUnknown says that there may be a new issue now; every other failure, that there is
// none.
func (c *Client) Create(ctx context.Context, project Project, draft Draft) (Issue, error) {
	body := struct {
		Title       string `json:"title"`
		Description string `json:"description,omitempty"`
		Priority    int    `json:"priority"`
		AssigneeID  string `json:"assignee_id,omitempty"`
	}{draft.Title, draft.Description, draft.Priority.number(), draft.AssigneeID}
	var wire wireIssue
	err := c.post(ctx, []string{"projects", project.ID, "issues"}, body, &wire)
	if err == nil {
		var issue Issue
		if issue, err = wire.translate(project.Key); err == nil {
			return issue, nil
		}
		err = errOutcomeUnknown
	}
	if errors.Is(err, errOutcomeUnknown) {
		return Issue{}, tool.Fail(CodeOutcomeUnknown, "The tracker did not confirm the new issue, so it may exist or "+
			"not. Before calling again, look for its title among the newest issues of %s with tracker_search_issues.",
			project.Key)
	}
	return Issue{}, projectGone(project, err)
}

// Moved is an issue that has the status that was asked for.
type Moved struct {
	Issue
	// From is the status before; the same as Status when nothing had to be changed.
	From Status
}

// Move brings an issue to a status. An issue that has it already is left alone. Where the workflow does not lead to it
// from the present status, Move fails with CodeTransition.
func (c *Client) Move(ctx context.Context, issue Issue, to Status) (Moved, error) {
	// Somebody else may move the issue between the reading of its transitions and the use of one: read again, once.
	for range 2 {
		if issue.Status == to {
			return Moved{Issue: issue, From: to}, nil
		}
		err := c.moveOnce(ctx, issue, to)
		if err == nil {
			from := issue.Status
			issue.Status = to
			return Moved{Issue: issue, From: from}, nil
		}
		if !errors.Is(err, errConflict) {
			return Moved{}, err
		}
		if issue, err = c.read(ctx, issue.Key, issue.id); err != nil {
			return Moved{}, err
		}
	}
	return Moved{}, tool.Fail(CodeConflict, "%s is being moved by somebody else at the same time; it is %s now. "+
		"Nothing was changed; try again if %s is still right.", issue.Key, issue.Status, to)
}

func (c *Client) moveOnce(ctx context.Context, issue Issue, to Status) error {
	step := slices.IndexFunc(issue.transitions, func(t transition) bool { return t.ToState == to.state() })
	if step < 0 {
		return noTransition(issue, to)
	}
	body := struct {
		TransitionID int `json:"transition_id"`
	}{issue.transitions[step].ID}
	var wire wireIssue
	err := c.post(ctx, []string{"issues", issue.id, "transitions"}, body, &wire)
	switch {
	case errors.Is(err, errNotFound):
		return deleted(issue.Key)
	case errors.Is(err, errOutcomeUnknown), err == nil && wire.State != to.state():
		return tool.Fail(CodeOutcomeUnknown, "The tracker did not confirm that %s is %s now. Calling again with the "+
			"same arguments does no harm.", issue.Key, to)
	}
	return err
}

func noTransition(issue Issue, to Status) error {
	var ways []string
	for _, t := range issue.transitions {
		if status, ok := at(Statuses(), t.ToState); ok {
			ways = append(ways, string(status))
		}
	}
	return tool.Fail(CodeTransition, "%s is %s, and the tracker's workflow does not lead from there to %s. It leads "+
		"to: %s. Nothing was changed.", issue.Key, issue.Status, to, enumerate(ways))
}
