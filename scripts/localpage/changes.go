package localpage

import (
	"slices"
	"sync"
)

// Change is what became of files that were saved while the stack runs.
type Change struct {
	// Live are the names of the tools that serve now what was saved; Withdrawn are those that are gone.
	Live      []string `json:"live,omitempty"`
	Withdrawn []string `json:"withdrawn,omitempty"`
	// Faults are what keeps the old from being replaced; Mended are what had one that is gone now.
	Faults []Fault  `json:"faults,omitempty"`
	Mended []string `json:"mended,omitempty"`
	// Restart are sentences that say what only another start of the stack takes in.
	Restart []string `json:"restart,omitempty"`
	// TookMS is from the first sign of the change to where the next call sees it, in milliseconds.
	TookMS float64 `json:"tookMs,omitempty"`
}

// Fault is what is wrong with what was saved.
type Fault struct {
	// Of are what has the fault: names of functions, or files.
	Of []string `json:"of"`
	// Text tells what is wrong and where.
	Text string `json:"text"`
	// Serving says that what was there before goes on serving.
	Serving bool `json:"serving"`
}

// Changes tells pages of changes, and remembers which faults there are. It is safe for concurrent use. The zero value
// has none.
type Changes struct {
	mu     sync.Mutex
	faults []Fault
	pages  map[chan Change]struct{}
}

// Tell tells all pages. One that reads too slowly misses it.
func (c *Changes) Tell(change Change) {
	c.mu.Lock()
	defer c.mu.Unlock()
	settled := slices.Clone(change.Mended)
	for _, fault := range change.Faults {
		settled = append(settled, fault.Of...)
	}
	c.faults = slices.DeleteFunc(c.faults, func(fault Fault) bool {
		return slices.ContainsFunc(fault.Of, func(of string) bool { return slices.Contains(settled, of) })
	})
	c.faults = append(c.faults, change.Faults...)
	for page := range c.pages {
		select {
		case page <- change:
		default:
		}
	}
}

// subscribe returns the faults that there are as one change, a channel that gets every change from then on, and what to
// call when no more are wanted.
func (c *Changes) subscribe() (now Change, changes <-chan Change, stop func()) {
	channel := make(chan Change, 16)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.pages == nil {
		c.pages = map[chan Change]struct{}{}
	}
	c.pages[channel] = struct{}{}
	return Change{Faults: slices.Clone(c.faults)}, channel, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.pages, channel)
	}
}
