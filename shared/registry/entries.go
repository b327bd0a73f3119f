package registry

import (
	"context"
	"errors"
)

// Entries returns every tool that is published and not disabled, in order of name, going by a HEAD that is at most
// MaxAge old. The slice is the caller's, the entries are shared. An error means that the registry could not be read.
//
// It reads what Page reads of a catalogue that nobody has listed yet, and nothing once everything was read.
func (r *Reader) Entries(ctx context.Context) ([]*Entry, error) {
	c, err := r.current(ctx)
	if err != nil {
		return nil, err
	}
	entries, err := r.entries(ctx, c)
	if errors.Is(err, errGone) && r.Refresh(ctx) == nil { // Pruned under an instance that slept.
		entries, err = r.entries(ctx, r.latest.Load())
	}
	return entries, err
}

func (r *Reader) entries(ctx context.Context, c *catalogue) ([]*Entry, error) {
	if err := r.fill(ctx, c.order); err != nil {
		return nil, err
	}
	entries := make([]*Entry, len(c.order))
	for i, s := range c.order {
		entries[i] = s.entry.Load()
	}
	return entries, nil
}
