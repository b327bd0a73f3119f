package registry

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sync/singleflight"

	"patchbay/shared/contract"
)

// parallelReads is how many sources are read at a time.
const parallelReads = 16

// catalogue is one state of HEAD with the names of all its snapshots. It is immutable but for its slots, which are
// filled as tools are needed.
type catalogue struct {
	// at is the time before HEAD was read.
	at time.Time
	*contents
}

// contents is what a catalogue has in common with a later one of the same HEAD.
type contents struct {
	raw       string // HEAD as stored
	settings  Settings
	snapshots map[string]*snapshot // by id
	order     []*slot              // by name, without disabled tools
	byName    map[string]*slot     // the same slots
}

// snapshot is one source's tools.
type snapshot struct {
	id, source string
	chunks     []*chunk
	slots      []slot
	reads      singleflight.Group // of chunks; two reads of HEAD at a time can make two snapshots of one id
}

// chunk is the tools of one item.
type chunk struct {
	snapshot *snapshot
	number   int
	slots    []slot // a part of snapshot.slots
	// records are nil until the item was read.
	records atomic.Pointer[[]record]
}

// slot is a place for one tool.
type slot struct {
	name  string
	chunk *chunk
	at    int // in the chunk
	// entry is nil until the tool was needed.
	entry atomic.Pointer[Entry]
}

// load reads HEAD and what is new in it.
func (r *Reader) load(ctx context.Context, at time.Time) (*catalogue, error) {
	h, err := readHead(ctx, r.db, r.table)
	if err != nil {
		return nil, err
	}
	var known map[string]*snapshot
	if last := r.latest.Load(); last != nil {
		if last.raw == h.raw {
			return &catalogue{at: at, contents: last.contents}, nil
		}
		known = last.snapshots
	}
	snapshots, err := r.readSnapshots(ctx, h, known)
	if err != nil {
		return nil, err
	}
	c, err := merge(h, snapshots)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", r.table, err)
	}
	return &catalogue{at: at, contents: c}, nil
}

// readSnapshots returns the snapshots that h names, by id, reading only those that are not known.
func (r *Reader) readSnapshots(
	ctx context.Context, h *head, known map[string]*snapshot,
) (map[string]*snapshot, error) {
	var mu sync.Mutex
	snapshots := make(map[string]*snapshot, len(h.Sources))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(parallelReads)
	for source, published := range h.Sources {
		id := published.Snapshot
		if s := known[id]; s != nil {
			mu.Lock()
			snapshots[id] = s
			mu.Unlock()
			continue
		}
		group.Go(func() error {
			x, err := readIndex(ctx, r.db, r.table, id)
			if err != nil {
				return fmt.Errorf("reading the tools of source %s: %w", source, err)
			}
			s, err := newSnapshot(id, source, x)
			if err != nil {
				return fmt.Errorf("reading snapshot %s of source %s: %w", id, source, err)
			}
			mu.Lock()
			defer mu.Unlock()
			snapshots[id] = s
			return nil
		})
	}
	return snapshots, group.Wait()
}

func newSnapshot(id, source string, x *index) (*snapshot, error) {
	s := &snapshot{id: id, source: source, slots: make([]slot, len(x.Names))}
	rest := s.slots
	for number, n := range x.Chunks {
		if n < 1 || n > len(rest) {
			return nil, fmt.Errorf("item %d has %d tools in the index, where %d are left", number, n, len(rest))
		}
		c := &chunk{snapshot: s, number: number, slots: rest[:n:n]}
		s.chunks = append(s.chunks, c)
		for at := range c.slots {
			slot := &c.slots[at]
			slot.name, slot.chunk, slot.at = x.Names[len(s.slots)-len(rest)+at], c, at
		}
		rest = rest[n:]
	}
	if len(rest) != 0 {
		return nil, fmt.Errorf("%d names of the index are in no item", len(rest))
	}
	return s, nil
}

// merge puts the enabled tools of all snapshots in one order.
func merge(h *head, snapshots map[string]*snapshot) (*contents, error) {
	total := 0
	for _, s := range snapshots {
		total += len(s.slots)
	}
	c := &contents{raw: h.raw, settings: h.Settings, snapshots: snapshots}
	c.order = make([]*slot, 0, total)
	c.byName = make(map[string]*slot, total)
	for _, s := range snapshots {
		for i := range s.slots {
			slot := &s.slots[i]
			if _, disabled := slices.BinarySearch(h.Disabled, slot.name); disabled {
				continue
			}
			if other := c.byName[slot.name]; other != nil {
				return nil, fmt.Errorf("tool %s has two owners: %s and %s",
					slot.name, other.chunk.snapshot.source, s.source)
			}
			c.byName[slot.name] = slot
			c.order = append(c.order, slot)
		}
	}
	slices.SortFunc(c.order, func(a, b *slot) int { return cmp.Compare(a.name, b.name) })
	return c, nil
}

// fill makes the entries of all slots, reading the items that were not read before: of each snapshot those from the
// first that is missing to the last.
func (r *Reader) fill(ctx context.Context, slots []*slot) error {
	group, shared := errgroup.WithContext(ctx)
	group.SetLimit(parallelReads)
	for snapshot, missing := range unread(slots) {
		group.Go(func() error { return r.share(shared, snapshot, missing) })
	}
	if err := group.Wait(); err != nil {
		return err
	}
	for _, s := range slots {
		if err := s.fill(); err != nil {
			return err
		}
	}
	return nil
}

// span is a range of chunk numbers, both included.
type span struct{ low, high int }

func unread(slots []*slot) map[*snapshot]span {
	spans := map[*snapshot]span{}
	for _, s := range slots {
		if s.chunk.records.Load() != nil {
			continue
		}
		n := s.chunk.number
		old, ok := spans[s.chunk.snapshot]
		if !ok {
			old = span{n, n}
		}
		spans[s.chunk.snapshot] = span{min(old.low, n), max(old.high, n)}
	}
	return spans
}

// share reads a span of chunks, once for all who ask for the same at the same time.
func (r *Reader) share(ctx context.Context, s *snapshot, missing span) error {
	key := strconv.Itoa(missing.low) + "-" + strconv.Itoa(missing.high)
	read := s.reads.DoChan(key, func() (any, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), readTimeout)
		defer cancel()
		return nil, r.readChunks(ctx, s, missing)
	})
	select {
	case result := <-read:
		return result.Err
	case <-ctx.Done():
		return fmt.Errorf("waiting for the tools of source %s: %w", s.source, ctx.Err())
	}
}

func (r *Reader) readChunks(ctx context.Context, s *snapshot, missing span) error {
	chunks := s.chunks[missing.low : missing.high+1]
	query := between(r.table, snapshotPrefix+s.id, chunks[0].key(), chunks[len(chunks)-1].key())
	read := 0
	err := queryItems(ctx, r.db, query, func(stored item) error {
		if read == len(chunks) {
			return fmt.Errorf("more items than the %d of the index", len(chunks))
		}
		read++
		return chunks[read-1].set(stored)
	})
	if err == nil && read < len(chunks) {
		err = errGone
	}
	if err != nil {
		return fmt.Errorf("reading the tools of snapshot %s of source %s: %w", s.id, s.source, err)
	}
	return nil
}

func (c *chunk) key() string { return toolsPrefix + c.slots[0].name }

// set keeps the records of a stored item, if they are the index's.
func (c *chunk) set(stored item) error {
	records, err := decodeRecords(stored)
	if err != nil {
		return fmt.Errorf("item %s: %w", c.key(), err)
	}
	if len(records) != len(c.slots) {
		return fmt.Errorf("item %s holds %d tools, in the index %d", c.key(), len(records), len(c.slots))
	}
	for i, r := range records {
		if r.name != c.slots[i].name {
			return fmt.Errorf("item %s holds tool %s, in the index %s", c.key(), r.name, c.slots[i].name)
		}
	}
	c.records.Store(&records)
	return nil
}

// fill makes the slot's entry, once, so that everybody shares the schemas that its tool compiles.
func (s *slot) fill() error {
	if s.entry.Load() != nil {
		return nil
	}
	r := (*s.chunk.records.Load())[s.at]
	tool, err := contract.Decode(r.definition, r.contract)
	if err != nil {
		return fmt.Errorf("reading tool %s of source %s: %w", s.name, s.chunk.snapshot.source, err)
	}
	s.entry.CompareAndSwap(nil, &Entry{Tool: tool, Function: r.function, Source: s.chunk.snapshot.source})
	return nil
}
