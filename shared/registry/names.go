package registry

import (
	"context"
	"fmt"
	"slices"

	"patchbay/shared/contract"
)

// Names are the names that operators can mean, each list sorted.
type Names struct {
	// Published are those that a source publishes, disabled ones among them.
	Published []string
	// Disabled are those that were disabled, whether or not a source publishes them.
	Disabled []string
}

// Names reads the names of all tools: HEAD, and the index of every source.
func (p *Publisher) Names(ctx context.Context) (Names, error) {
	h, err := readHead(ctx, p.db, p.table)
	if err != nil {
		return Names{}, err
	}
	names := Names{Disabled: h.Disabled}
	for source, published := range h.Sources {
		x, err := readIndex(ctx, p.db, p.table, published.Snapshot)
		if err != nil {
			return Names{}, fmt.Errorf("reading the names of source %s: %w", source, err)
		}
		names.Published = append(names.Published, x.Names...)
	}
	slices.Sort(names.Published)
	return names, nil
}

// Find returns the tool called name, also when it is disabled. The error is ErrUnknownTool when no source publishes it.
func (p *Publisher) Find(ctx context.Context, name string) (*contract.Tool, error) {
	h, err := readHead(ctx, p.db, p.table)
	if err != nil {
		return nil, err
	}
	for source, published := range h.Sources {
		tool, err := p.findIn(ctx, published.Snapshot, name)
		if err != nil {
			return nil, fmt.Errorf("reading tool %s of source %s: %w", name, source, err)
		}
		if tool != nil {
			return tool, nil
		}
	}
	return nil, fmt.Errorf("looking for %q: %w", name, ErrUnknownTool)
}

// findIn returns a snapshot's tool; nil when it has none of the name.
func (p *Publisher) findIn(ctx context.Context, snapshot, name string) (*contract.Tool, error) {
	x, err := readIndex(ctx, p.db, p.table, snapshot)
	if err != nil {
		return nil, err
	}
	at, found := slices.BinarySearch(x.Names, name)
	if !found {
		return nil, nil
	}
	first := 0
	for _, n := range x.Chunks {
		if at < first+n {
			break
		}
		first += n
	}
	stored, err := getItem(ctx, p.db, p.table, snapshotPrefix+snapshot, toolsPrefix+x.Names[first])
	if err == nil && stored == nil {
		err = errGone
	}
	if err != nil {
		return nil, err
	}
	records, err := decodeRecords(stored)
	if err != nil {
		return nil, err
	}
	if at-first >= len(records) || records[at-first].name != name {
		return nil, fmt.Errorf("item %s does not hold it, as the index says", toolsPrefix+x.Names[first])
	}
	return contract.Decode(records[at-first].definition, records[at-first].contract)
}
