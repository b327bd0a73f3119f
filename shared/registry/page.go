package registry

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"sort"
)

const (
	defaultMaxTools = 1000
	defaultMaxBytes = 1 << 20
	// lookahead is how many tools are read at a time to find the next visible one.
	lookahead = 256
)

// PageLimits bound a page. A page has at least one tool, if there is one, whatever its size.
type PageLimits struct {
	// MaxTools is the number of tools; 0 means 1,000.
	MaxTools int
	// MaxBytes is the size of all definitions, with a comma between two; 0 means 1 MiB.
	MaxBytes int
}

// Page is a part of the list of tools.
type Page struct {
	// Definitions are the tools' definitions, byte for byte as published. They are shared: callers must not change
	// them.
	Definitions []json.RawMessage
	// NextCursor leads to the rest; empty at the end.
	NextCursor string
}

// Page returns the tools that follow cursor in order of name, over all sources, leaving out those for which visible
// returns false; a nil visible shows all. An empty cursor is the start. A cursor stays valid for ever: it says after
// which name to go on, whether or not a tool of that name still exists. The error is ErrBadCursor for anything that is
// no cursor; any other means that the registry could not be read.
func (r *Reader) Page(ctx context.Context, cursor string, limits PageLimits, visible func(*Entry) bool) (Page, error) {
	after, err := parseCursor(cursor)
	if err != nil {
		return Page{}, err
	}
	c, err := r.current(ctx)
	if err != nil {
		return Page{}, err
	}
	w := newWriter(limits, visible)
	err = r.walk(ctx, c, after, w)
	if errors.Is(err, errGone) && r.Refresh(ctx) == nil { // Pruned under an instance that slept.
		w = newWriter(limits, visible)
		err = r.walk(ctx, r.latest.Load(), after, w)
	}
	if err != nil {
		return Page{}, err
	}
	return w.page, nil
}

// walk gives every tool whose name follows after to w until w wants no more.
func (r *Reader) walk(ctx context.Context, c *catalogue, after string, w *pageWriter) error {
	first := sort.Search(len(c.order), func(i int) bool { return c.order[i].name > after })
	rest := c.order[first:]
	w.page.Definitions = make([]json.RawMessage, 0, max(0, min(w.limits.MaxTools, len(rest))))
	for i, s := range rest {
		entry := s.entry.Load()
		if entry == nil {
			if err := r.fill(ctx, rest[i:min(i+w.wanted(), len(rest))]); err != nil {
				return err
			}
			entry = s.entry.Load()
		}
		if !w.add(entry) {
			return nil
		}
	}
	return nil
}

// pageWriter fills a page.
type pageWriter struct {
	limits  PageLimits
	visible func(*Entry) bool
	page    Page
	last    string // the name of the last tool in the page
	bytes   int
}

func newWriter(limits PageLimits, visible func(*Entry) bool) *pageWriter {
	if limits.MaxTools == 0 {
		limits.MaxTools = defaultMaxTools
	}
	if limits.MaxBytes == 0 {
		limits.MaxBytes = defaultMaxBytes
	}
	return &pageWriter{limits: limits, visible: visible}
}

// wanted is how many tools it pays to read at once.
func (w *pageWriter) wanted() int { return max(w.limits.MaxTools-len(w.page.Definitions), lookahead) }

// add returns false when the page is complete. Its cursor is only set once a further visible tool is known, so that no
// page is empty but the first.
func (w *pageWriter) add(entry *Entry) bool {
	if w.visible != nil && !w.visible(entry) {
		return true
	}
	definition := entry.Tool.Definition
	n := len(w.page.Definitions)
	if n > 0 && (n >= w.limits.MaxTools || w.bytes+len(definition) > w.limits.MaxBytes) {
		w.page.NextCursor = formatCursor(w.last)
		return false
	}
	w.page.Definitions = append(w.page.Definitions, definition)
	w.bytes += 1 + len(definition)
	w.last = entry.Tool.Name
	return true
}

// cursorVersion is the first byte of a cursor before encoding; the rest is the last name served.
const cursorVersion = 1

func formatCursor(name string) string {
	return base64.RawURLEncoding.EncodeToString(append([]byte{cursorVersion}, name...))
}

// parseCursor returns the name after which to go on; empty for the start. A name has one cursor: other spellings of it,
// which a Base64 decoder may allow, are refused.
func parseCursor(cursor string) (string, error) {
	if cursor == "" {
		return "", nil
	}
	if len(cursor) > base64.RawURLEncoding.EncodedLen(1+maxNameBytes) {
		return "", fmt.Errorf("%w: it has %d bytes", ErrBadCursor, len(cursor))
	}
	data, err := base64.RawURLEncoding.DecodeString(cursor)
	if err != nil || len(data) < 2 || data[0] != cursorVersion || formatCursor(string(data[1:])) != cursor {
		return "", fmt.Errorf("%w: it was not made by this server", ErrBadCursor)
	}
	return string(data[1:]), nil
}
