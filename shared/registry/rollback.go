package registry

import (
	"context"
	"errors"
	"fmt"
)

// Rollback makes a kept snapshot of source live again. Its contents are published anew, under an id of their own: Prune
// may be deleting the old one at this moment, and what is published is bound to no record of when something was
// superseded. They are checked as any publish is, against the names, functions and settings of now, and whoever
// publishes within the source stays who it is; order's By is not used.
//
// The caller checks that the function versions exist, with Contents; a version that Prune has given up to be deleted is
// refused here. The error is ErrNotKept for a snapshot that History does not tell, or of a source that was withdrawn:
// it has nobody any more who could update or withdraw it.
func (p *Publisher) Rollback(ctx context.Context, source, snapshot string, order Order) (Receipt, error) {
	h, err := readHead(ctx, p.db, p.table)
	if err != nil {
		return Receipt{}, err
	}
	live, ok := h.Sources[source]
	if !ok {
		return Receipt{}, fmt.Errorf("rolling back: source %s has published nothing, or was withdrawn: %w",
			source, ErrNotKept)
	}
	if live.Snapshot == snapshot {
		return Receipt{}, fmt.Errorf("rolling back source %s: snapshot %s is live", source, snapshot)
	}
	tools, err := p.contents(ctx, h, source, snapshot)
	if errors.Is(err, errGone) {
		err = fmt.Errorf("%w (pruned meanwhile)", ErrNotKept)
	}
	if err != nil {
		return Receipt{}, fmt.Errorf("rolling back: %w", err)
	}
	order.By = live.By
	return p.publish(ctx, h, publish{
		source: source, order: order, tools: tools, rollbackOf: snapshot,
		allow: func(now *head) error { return stillThere(now, source, live) },
	})
}

// stillThere refuses to publish over what has happened to the source since live was read: who ordered a rollback did
// not know of it.
func stillThere(h *head, source string, live published) error {
	if now := h.Sources[source]; now.Snapshot != live.Snapshot {
		return fmt.Errorf("rolling back source %s: it was published or withdrawn meanwhile; look again", source)
	}
	return nil
}

// obeyed reports whether an order was obeyed before, and with what. A publish that failed does not count.
func (p *Publisher) obeyed(ctx context.Context, h *head, source string, order Order) (Receipt, bool, error) {
	if order.Request == "" {
		return Receipt{}, false, nil
	}
	manifests, err := p.manifests(ctx)
	if err != nil {
		return Receipt{}, false, err
	}
	for _, m := range manifests {
		if m.source != source || m.request != order.Request || !m.wasLive(h) {
			continue
		}
		live := h.Sources[source]
		return Receipt{Source: source, Snapshot: live.Snapshot, Revision: h.revision, Tools: live.Tools}, true, nil
	}
	return Receipt{}, false, nil
}
