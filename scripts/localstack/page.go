package localstack

import (
	"net/http"
	"strings"
	"time"

	"patchbay/scripts/localpage"
)

// PageURL is where the page of Options.Page is; empty without it.
func (s *Stack) PageURL() string {
	if !s.options.Page {
		return ""
	}
	return strings.TrimSuffix(s.URL, Path) + "/"
}

// withPage puts the page in front of the gateway, and has it told of what is saved.
func (s *Stack) withPage(gateway http.Handler) http.Handler {
	if !s.options.Page {
		return gateway
	}
	changes := &localpage.Changes{}
	if told := s.options.Watch; told != nil {
		s.options.Watch = func(change Change) {
			told(change)
			changes.Tell(change.forPage())
		}
	}
	return localpage.New(gateway, localpage.Options{
		Endpoint: s.URL, Issuers: s.issuers(), Calls: s.Calls(), Changes: changes,
	})
}

// issuers are the authorization servers whose tokens callers need; none where they need none.
func (s *Stack) issuers() []string {
	if !s.protected() {
		return nil
	}
	var urls []string
	for i := range s.Authorization.Issuers {
		urls = append(urls, s.Authorization.Issuers[i].URL)
	}
	return urls
}

// forPage is the change in the page's words.
func (c Change) forPage() localpage.Change {
	page := localpage.Change{
		Live: c.Live, Withdrawn: c.Withdrawn, Mended: c.Mended, Restart: c.Restart,
		TookMS: float64(c.Times.Total) / float64(time.Millisecond),
	}
	for _, fault := range c.Faults {
		page.Faults = append(page.Faults, localpage.Fault{Of: fault.Of, Text: fault.Err.Error(), Serving: fault.Serving})
	}
	return page
}
