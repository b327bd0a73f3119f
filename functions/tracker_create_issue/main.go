// Command tracker_create_issue is a tool that adds an issue to a project in the issue tracker.
package main

import (
	"context"
	"os"

	"patchbay/functions/internal/tracker"
	"patchbay/shared/tool"
)

type input struct {
	Project     string           `json:"project"`
	Title       string           `json:"title"`
	Description string           `json:"description,omitempty"`
	Priority    tracker.Priority `json:"priority"`
	Assignee    string           `json:"assignee,omitempty"`
}

type output struct {
	Key      string           `json:"key"`
	Title    string           `json:"title"`
	Status   tracker.Status   `json:"status"`
	Priority tracker.Priority `json:"priority"`
	Assignee string           `json:"assignee,omitempty"`
}

func main() {
	client, err := tracker.Connect(os.Getenv)
	if err != nil {
		tool.Stop(err)
	}
	tool.Serve(create(client))
}

func create(client *tracker.Client) func(context.Context, input) (output, error) {
	return func(ctx context.Context, in input) (output, error) {
		project, err := client.Project(ctx, in.Project)
		if err != nil {
			return output{}, err
		}
		draft := tracker.Draft{Title: in.Title, Description: in.Description, Priority: in.Priority}
		var assignee string
		if in.Assignee != "" {
			users, err := client.Users(ctx)
			if err != nil {
				return output{}, err
			}
			user, err := users.Find(in.Assignee, tool.CallFrom(ctx).Principal)
			if err != nil {
				return output{}, err
			}
			draft.AssigneeID, assignee = user.ID, users.Name(user.ID)
		}
		made, err := client.Create(ctx, project, draft)
		if err != nil {
			return output{}, err
		}
		return output{
			Key: made.Key, Title: made.Title, Status: made.Status, Priority: made.Priority, Assignee: assignee,
		}, nil
	}
}
