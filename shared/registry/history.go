package registry

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"patchbay/shared/contract"
)

// History is what a registry holds: what is live, and what Rollback can make live again.
type History struct {
	// Revision counts the changes of HEAD.
	Revision int64
	Settings Settings
	// Disabled are the names of disabled tools, sorted.
	Disabled []string
	// Sources are in order of name. One that was withdrawn is among them while snapshots of it are kept.
	Sources []SourceHistory
}

// SourceHistory is what one source has published.
type SourceHistory struct {
	Source string
	// Live is what the source serves; nil for one that was withdrawn.
	Live *Snapshot
	// Kept are the snapshots that were live before and have not been pruned, newest first. Those whose publish failed
	// are not among them.
	Kept []Snapshot
}

// Snapshot is one publish of a source.
type Snapshot struct {
	ID string
	// Published is when the publish began.
	Published time.Time
	// Superseded is since when it is not live any more; zero while it is.
	Superseded time.Time
	// By is who within the source published it, Operator the person who gave the order; each may be empty.
	By, Operator string
	// RollbackOf is the snapshot whose contents it has again; empty for contents that were new.
	RollbackOf string
	// Tools are the names, sorted.
	Tools []string
}

// History reads what the registry holds, for people: it reads every snapshot's index.
func (p *Publisher) History(ctx context.Context) (History, error) {
	h, err := readHead(ctx, p.db, p.table)
	if err != nil {
		return History{}, err
	}
	manifests, err := p.manifests(ctx)
	if err != nil {
		return History{}, err
	}
	sources := map[string]*SourceHistory{}
	for source := range h.Sources {
		sources[source] = &SourceHistory{Source: source}
	}
	for _, m := range manifests {
		if err := p.tell(ctx, h, m, sources); err != nil {
			return History{}, err
		}
	}
	history := History{Revision: h.revision, Settings: h.Settings, Disabled: h.Disabled}
	for _, source := range slices.Sorted(maps.Keys(sources)) {
		told := sources[source]
		slices.SortFunc(told.Kept, func(a, b Snapshot) int {
			return cmp.Or(b.Superseded.Compare(a.Superseded), b.Published.Compare(a.Published), cmp.Compare(a.ID, b.ID))
		})
		history.Sources = append(history.Sources, *told)
	}
	return history, nil
}

// tell adds the snapshot of a manifest to its source's history, unless it never was live.
func (p *Publisher) tell(ctx context.Context, h *head, m manifest, sources map[string]*SourceHistory) error {
	live, since := h.names(m.id), m.supersededAt(h)
	if !live && since == 0 {
		return nil
	}
	x, err := readIndex(ctx, p.db, p.table, m.id)
	if err != nil {
		return fmt.Errorf("reading the history of source %s: %w", m.source, err)
	}
	told := sources[m.source]
	if told == nil {
		told = &SourceHistory{Source: m.source}
		sources[m.source] = told
	}
	s := Snapshot{ID: m.id, Published: time.Unix(m.created, 0).UTC(), By: m.by, Operator: m.operator,
		RollbackOf: m.rollbackOf, Tools: x.Names}
	if live {
		told.Live = &s
		return nil
	}
	s.Superseded = time.Unix(since, 0).UTC()
	told.Kept = append(told.Kept, s)
	return nil
}

// Contents returns the tools of a snapshot of source, live or kept, in order of name: for whoever checks, before a
// Rollback, that the function versions still exist. The error is ErrNotKept when there is no such snapshot.
func (p *Publisher) Contents(ctx context.Context, source, snapshot string) ([]Publication, error) {
	h, err := readHead(ctx, p.db, p.table)
	if err != nil {
		return nil, err
	}
	return p.contents(ctx, h, source, snapshot)
}

// Live returns the tools that source serves, in order of name, and the id of their snapshot; none when it has published
// nothing.
func (p *Publisher) Live(ctx context.Context, source string) (tools []Publication, snapshot string, err error) {
	h, err := readHead(ctx, p.db, p.table)
	if err != nil {
		return nil, "", err
	}
	published, ok := h.Sources[source]
	if !ok {
		return nil, "", nil
	}
	tools, err = p.contents(ctx, h, source, published.Snapshot)
	return tools, published.Snapshot, err
}

func (p *Publisher) contents(ctx context.Context, h *head, source, snapshot string) ([]Publication, error) {
	stored, err := getItem(ctx, p.db, p.table, manifestPartition, snapshot)
	if err != nil {
		return nil, fmt.Errorf("reading the manifest of snapshot %s: %w", snapshot, err)
	}
	if stored == nil {
		return nil, fmt.Errorf("source %s, snapshot %s: %w", source, snapshot, ErrNotKept)
	}
	m, err := decodeManifest(stored)
	if err != nil {
		return nil, fmt.Errorf("reading the manifest of snapshot %s: %w", snapshot, err)
	}
	if m.source != source || !m.wasLive(h) {
		return nil, fmt.Errorf("source %s, snapshot %s: %w", source, snapshot, ErrNotKept)
	}
	return p.publications(ctx, m)
}

// publications reads the tools of a snapshot.
func (p *Publisher) publications(ctx context.Context, m manifest) ([]Publication, error) {
	x, err := readIndex(ctx, p.db, p.table, m.id)
	if err != nil {
		return nil, err
	}
	var tools []Publication
	query := between(p.table, snapshotPrefix+m.id, toolsPrefix, afterTools)
	err = queryItems(ctx, p.db, query, func(stored item) error {
		records, err := decodeRecords(stored)
		if err != nil {
			return err
		}
		for _, r := range records {
			tool, err := contract.Decode(r.definition, r.contract)
			if err != nil {
				return fmt.Errorf("tool %s: %w", r.name, err)
			}
			tool.File = fmt.Sprintf("snapshot %s, tool %s", m.id, r.name) // in the place of a file that is not here
			tools = append(tools, Publication{Tool: tool, Function: r.function})
		}
		return nil
	})
	if err == nil && len(tools) != len(x.Names) {
		err = errGone
	}
	if err != nil {
		return nil, fmt.Errorf("reading the tools of snapshot %s of source %s: %w", m.id, m.source, err)
	}
	return tools, nil
}
