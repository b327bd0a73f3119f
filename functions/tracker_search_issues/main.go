// Command tracker_search_issues is a tool that lists the issues of a project in the issue tracker.
package main

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"patchbay/functions/internal/tracker"
	"patchbay/shared/tool"
)

// maxDescription is how many characters of a description are shown, so that fifty long ones still fit a result.
const maxDescription = 2000

type input struct {
	Project  string         `json:"project"`
	Status   tracker.Status `json:"status,omitempty"`
	Assignee string         `json:"assignee,omitempty"`
	Limit    int            `json:"limit"`
	Format   string         `json:"response_format"`
}

type output struct {
	Issues    []issue `json:"issues"`
	Total     int     `json:"total"`
	Truncated bool    `json:"truncated"`
	Note      string  `json:"note,omitempty"`
}

type issue struct {
	Key      string         `json:"key"`
	Title    string         `json:"title"`
	Status   tracker.Status `json:"status"`
	Assignee string         `json:"assignee,omitempty"`

	// The others are set when response_format is detailed.
	Priority    tracker.Priority `json:"priority,omitempty"`
	Description string           `json:"description,omitempty"`
	CreatedAt   time.Time        `json:"created_at,omitzero"`
	UpdatedAt   time.Time        `json:"updated_at,omitzero"`
}

func main() {
	client, err := tracker.Connect(os.Getenv)
	if err != nil {
		tool.Stop(err)
	}
	tool.Serve(search(client))
}

func search(client *tracker.Client) func(context.Context, input) (output, error) {
	return func(ctx context.Context, in input) (output, error) {
		project, err := client.Project(ctx, in.Project)
		if err != nil {
			return output{}, err
		}
		users, err := client.Users(ctx)
		if err != nil {
			return output{}, err
		}
		filter := tracker.Filter{Status: in.Status}
		if in.Assignee != "" {
			user, err := users.Find(in.Assignee, tool.CallFrom(ctx).Principal)
			if err != nil {
				return output{}, err
			}
			filter.AssigneeID = user.ID
		}
		found, total, err := client.Search(ctx, project, filter, in.Limit)
		if err != nil {
			return output{}, err
		}
		out := output{Issues: show(found, users, in.Format), Total: total, Truncated: total > len(found)}
		out.Note = note(in, out, project, users.Name(filter.AssigneeID))
		return out, nil
	}
}

func show(found []tracker.Issue, users tracker.Users, format string) []issue {
	shown := make([]issue, len(found))
	for i, one := range found {
		shown[i] = issue{Key: one.Key, Title: one.Title, Status: one.Status, Assignee: users.Name(one.AssigneeID)}
		if format == "detailed" {
			shown[i].Priority, shown[i].Description = one.Priority, cut(one.Description)
			shown[i].CreatedAt, shown[i].UpdatedAt = one.CreatedAt, one.UpdatedAt
		}
	}
	return shown
}

func cut(description string) string {
	letters := []rune(description)
	if len(letters) <= maxDescription {
		return description
	}
	return string(letters[:maxDescription-1]) + "…"
}

// note tells the model what to do about a result that is empty or not whole; empty when there is nothing to say.
func note(in input, out output, project tracker.Project, assignee string) string {
	switch {
	case out.Truncated:
		return fmt.Sprintf("These are the newest %d of %d issues. %s", len(out.Issues), out.Total, narrow(in))
	case len(out.Issues) > 0:
		return ""
	case in.Status == "" && assignee == "":
		return project.Key + " has no issues."
	}
	return "No issue of " + project.Key + " fits " + filters(in, assignee) + "; there may be some without that filter."
}

// filters are the given ones in words.
func filters(in input, assignee string) string {
	var given []string
	if in.Status != "" {
		given = append(given, "status "+string(in.Status))
	}
	if assignee != "" {
		given = append(given, "assignee "+assignee)
	}
	return strings.Join(given, " and ")
}

// narrow names the ways to a smaller result that have not been used yet.
func narrow(in input) string {
	var ways []string
	if in.Status == "" {
		ways = append(ways, "give a status (open, in_progress or done)")
	}
	if in.Assignee == "" {
		ways = append(ways, "give an assignee")
	}
	const most = 50
	if in.Limit < most {
		ways = append(ways, fmt.Sprintf("raise limit (at most %d)", most))
	}
	if len(ways) == 0 {
		return "No argument of this tool narrows the search further."
	}
	return "To see others, " + strings.Join(ways, ", or ") + "."
}
