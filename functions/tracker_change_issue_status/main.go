// Command tracker_change_issue_status is a tool that moves an issue of the issue tracker to another status.
package main

import (
	"context"
	"os"

	"patchbay/functions/internal/tracker"
	"patchbay/shared/tool"
)

type input struct {
	Issue  string         `json:"issue"`
	Status tracker.Status `json:"status"`
}

type output struct {
	Key            string         `json:"key"`
	Title          string         `json:"title"`
	Status         tracker.Status `json:"status"`
	PreviousStatus tracker.Status `json:"previous_status"`
	Changed        bool           `json:"changed"`
	Note           string         `json:"note,omitempty"`
}

func main() {
	client, err := tracker.Connect(os.Getenv)
	if err != nil {
		tool.Stop(err)
	}
	tool.Serve(changeStatus(client))
}

func changeStatus(client *tracker.Client) func(context.Context, input) (output, error) {
	return func(ctx context.Context, in input) (output, error) {
		issue, err := client.Issue(ctx, in.Issue)
		if err != nil {
			return output{}, err
		}
		moved, err := client.Move(ctx, issue, in.Status)
		if err != nil {
			return output{}, err
		}
		out := output{
			Key: moved.Key, Title: moved.Title,
			Status: moved.Status, PreviousStatus: moved.From, Changed: moved.From != moved.Status,
		}
		if !out.Changed {
			out.Note = "The issue had this status already; nothing was changed."
		}
		return out, nil
	}
}
