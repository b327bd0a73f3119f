// Command contacts_search is a tool that finds people outside the organization. Their addresses are personal data, so
// its contract asks for a scope: as the one read-only example that does, it is why every sign-in asks for
// contacts:read.
package main

import (
	"context"
	"fmt"

	"patchbay/shared/tool"
)

type input struct {
	Query string `json:"query"`
	Limit int    `json:"limit"`
}

type output struct {
	Contacts []contact `json:"contacts"`
	Total    int       `json:"total"`
	Note     string    `json:"note,omitempty"`
}

func main() { tool.Serve(search(loadContacts())) }

// search makes the handler of its data.
func search(all []contact) func(context.Context, input) (output, error) {
	return func(_ context.Context, in input) (output, error) {
		found := fitting(all, in.Query)
		out := output{Contacts: found[:min(len(found), in.Limit)], Total: len(found)}
		switch {
		case len(found) == 0:
			out.Note = nobody(all, in.Query)
		case len(found) > in.Limit:
			out.Note = fmt.Sprintf("These are %d of %d. Give more words to narrow the search.", in.Limit, len(found))
		}
		return out, nil
	}
}
