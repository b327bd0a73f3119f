package registry

import (
	"context"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// manifest is the item that says that a snapshot exists.
type manifest struct {
	id, source string
	created    int64 // epoch seconds
	superseded int64 // epoch seconds; 0 while HEAD's own record holds it, or nothing does
	// On whose behalf the snapshot was published, as in Order; each may be empty.
	by, request, operator string
	// rollbackOf is the snapshot whose contents were published again; empty for new ones.
	rollbackOf string
}

// Attributes of a manifest beside its keys. Those from the third on are missing when empty.
const (
	sourceAttribute     = "source"
	createdAttribute    = "createdAt"
	supersededAttribute = "supersededAt"
	byAttribute         = "by"
	requestAttribute    = "request"
	operatorAttribute   = "operator"
	rollbackAttribute   = "rollbackOf"
)

// texts are the attributes that may be missing, with where they are kept.
func (m *manifest) texts() map[string]*string {
	return map[string]*string{
		byAttribute: &m.by, requestAttribute: &m.request, operatorAttribute: &m.operator, rollbackAttribute: &m.rollbackOf,
	}
}

func (m manifest) item() item {
	stored := newItem(manifestPartition, m.id, manifestVersion).
		with(sourceAttribute, text(m.source)).
		with(createdAttribute, number(m.created))
	for name, value := range m.texts() {
		if *value != "" {
			stored[name] = text(*value)
		}
	}
	return stored
}

func decodeManifest(stored item) (manifest, error) {
	if err := stored.checkVersion(manifestVersion); err != nil {
		return manifest{}, err
	}
	var m manifest
	var err error
	if m.id, err = stored.text(SortKey); err != nil {
		return m, err
	}
	if m.source, err = stored.text(sourceAttribute); err != nil {
		return m, err
	}
	if m.created, err = stored.number(createdAttribute); err != nil {
		return m, err
	}
	if _, ok := stored[supersededAttribute]; ok {
		if m.superseded, err = stored.number(supersededAttribute); err != nil {
			return m, err
		}
	}
	for name, value := range m.texts() {
		if found, ok := stored[name].(*types.AttributeValueMemberS); ok {
			*value = found.Value
		}
	}
	return m, nil
}

// manifests reads those of all snapshots.
func (p *Publisher) manifests(ctx context.Context) ([]manifest, error) {
	var all []manifest
	err := queryItems(ctx, p.db, partition(p.table, manifestPartition), func(stored item) error {
		m, err := decodeManifest(stored)
		all = append(all, m)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("reading the manifests of %s: %w", p.table, err)
	}
	return all, nil
}

// supersededAt is since when no source names the snapshot, in epoch seconds; 0 when nothing says so.
func (m manifest) supersededAt(h *head) int64 {
	if at, ok := h.Superseded[m.id]; ok {
		return at
	}
	return m.superseded
}

// wasLive reports whether the source serves the snapshot or did. The publish of another one failed, or is under way.
func (m manifest) wasLive(h *head) bool { return h.names(m.id) || m.supersededAt(h) != 0 }
