package tracker

import (
	"context"
	"errors"
	"regexp"
	"strconv"
	"strings"

	"patchbay/shared/tool"
)

// keyForm is the form of an issue key. Nine digits keep the number within every integer type.
var keyForm = regexp.MustCompile(`^([A-Za-z][A-Za-z0-9]*)-([1-9][0-9]{0,8})$`)

// Issue finds an issue by its key, letters' case aside. It fails with CodeUnknownIssue, CodeUnknownProject, or
// CodeConflict when the project changes too much to be sure.
func (c *Client) Issue(ctx context.Context, key string) (Issue, error) {
	parts := keyForm.FindStringSubmatch(strings.TrimSpace(key))
	if parts == nil {
		return Issue{}, tool.Fail(CodeUnknownIssue, "%q is not an issue key. A key is a project key, a hyphen and a "+
			"number, as in WEB-142.", key)
	}
	number, err := strconv.Atoi(parts[2])
	if err != nil {
		return Issue{}, err
	}
	project, err := c.Project(ctx, parts[1])
	if err != nil {
		return Issue{}, err
	}
	id, err := c.idOf(ctx, project, number)
	if err != nil {
		return Issue{}, err
	}
	return c.read(ctx, project.Key+"-"+parts[2], id)
}

// read gets an issue with its transitions, which lists leave out.
func (c *Client) read(ctx context.Context, key, id string) (Issue, error) {
	path := []string{"issues", id}
	var wire wireIssue
	err := c.get(ctx, path, nil, &wire)
	if errors.Is(err, errNotFound) {
		return Issue{}, deleted(key)
	}
	if err != nil {
		return Issue{}, orUnavailable(err)
	}
	project, _, _ := strings.Cut(key, "-")
	issue, err := wire.translate(project)
	if err != nil {
		return Issue{}, malformed(ctx, path, err)
	}
	return issue, nil
}

// idOf finds the id of the issue with a number, for which the API has no endpoint. When the project's list changed
// during a walk that did not find the issue, the walk may have missed it and is repeated once.
func (c *Client) idOf(ctx context.Context, project Project, number int) (string, error) {
	for range 2 {
		walked, err := c.walkTo(ctx, project, number)
		switch {
		case err != nil:
			return "", err
		case walked.id != "":
			return walked.id, nil
		case !walked.changed:
			return "", noSuchNumber(project, number, walked.newest)
		}
	}
	return "", tool.Fail(CodeConflict, "%s is being changed by others so fast that %s-%d could not be looked up. "+
		"Nothing was changed; try again.", project.Key, project.Key, number)
}

// walk is what a look through a project's list found.
type walk struct {
	id      string // empty when the number was not there
	newest  int    // the highest number in use
	changed bool   // issues were added or removed meanwhile
}

// walkTo looks for a number in a project's list, which is ordered from the newest number to the oldest.
func (c *Client) walkTo(ctx context.Context, project Project, number int) (walk, error) {
	path := []string{"projects", project.ID, "issues"}
	first, err := onePage[wireIssue](ctx, c, path, nil, 1)
	if err != nil {
		return walk{}, projectGone(project, err)
	}
	var walked walk
	if len(first.Data) > 0 {
		walked.newest = first.Data[0].Number
	}
	if number > walked.newest || walked.look(first, number) {
		return walked, nil
	}
	for page, err := range pages[wireIssue](ctx, c, path, nil, startPage(first, number)) {
		if err != nil {
			return walk{}, projectGone(project, err)
		}
		walked.changed = walked.changed || page.Total != first.Total
		if walked.look(page, number) {
			break
		}
	}
	return walked, nil
}

// look notes the wanted issue's id if the page has it, and reports whether no later page can have it.
func (w *walk) look(page page[wireIssue], number int) bool {
	for _, issue := range page.Data {
		if issue.Number == number {
			w.id = issue.ID
		}
		if issue.Number <= number {
			return true
		}
	}
	return page.last()
}

// startPage is the first page after the first that can hold the number. Numbers count from 1 and are never used twice,
// so that at most number-1 issues are older, and at least total-number come before it in the list.
func startPage(first page[wireIssue], number int) int {
	return max(2, (first.Total-number)/first.PerPage+1)
}

func noSuchNumber(project Project, number, newest int) error {
	switch {
	case newest == 0:
		return tool.Fail(CodeUnknownIssue, "%s has no issue %d: it has no issues at all.", project.Key, number)
	case number > newest:
		return tool.Fail(CodeUnknownIssue, "%s has no issue %d; the newest is %s-%d.", project.Key, number, project.Key,
			newest)
	}
	return tool.Fail(CodeUnknownIssue, "%s has no issue %d; it may have been deleted. tracker_search_issues lists "+
		"those that exist.", project.Key, number)
}

func projectGone(project Project, err error) error {
	if errors.Is(err, errNotFound) {
		return tool.Fail(CodeUnknownProject, "The project %s was deleted a moment ago.", project.Key)
	}
	return orUnavailable(err)
}

func deleted(key string) error {
	return tool.Fail(CodeUnknownIssue, "%s was deleted a moment ago.", key)
}
