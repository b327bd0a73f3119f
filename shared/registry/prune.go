package registry

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// pruneAge is how long a snapshot is kept that HEAD does not name. It is far longer than a reader goes without HEAD and
// than a publish may take, whatever the clocks of publishers show.
const pruneAge = 24 * time.Hour

// Pruned is what Prune deleted.
type Pruned struct {
	// Snapshots are the ids of the deleted snapshots.
	Snapshots []string
	// Functions are the qualified ARNs that only pruned snapshots named and that are to be deleted now, sorted: the
	// publisher's Retires said so, and nobody can publish them any more. They are told until Deleted says that they are
	// gone.
	Functions []string
}

// state is what may be done with a snapshot.
type state int

const (
	kept    state = iota // HEAD names it, or it is too young to delete, or a deployment goes by it
	pending              // a publish may be writing it
	doomed
)

func (m manifest) state(h *head, now time.Time) state {
	if h.names(m.id) {
		return kept
	}
	since := m.supersededAt(h)
	if since == 0 {
		since = m.created
		if now.Sub(time.Unix(since, 0)) <= publishLimit {
			return pending
		}
	}
	if now.Sub(time.Unix(since, 0)) < pruneAge {
		return kept
	}
	return doomed
}

// Prune deletes the snapshots that were superseded a day ago and those whose publish failed a day ago, but for the last
// that a live source's deployment ordered: after a rollback by an operator the deployment still holds that one's
// function versions, and names them again with its next order. The versions that only the deleted snapshots named can
// be deleted next. While a publish may be under way nothing is pruned, since it could be about to name one of
// those versions again, as a rollback does.
//
// With an error, Pruned still says what was deleted before it, and the functions of what was to be deleted.
func (p *Publisher) Prune(ctx context.Context) (Pruned, error) {
	now := p.clock()
	h, err := readHead(ctx, p.db, p.table)
	if err != nil {
		return Pruned{}, err
	}
	manifests, err := p.manifests(ctx)
	if err != nil {
		return Pruned{}, err
	}
	keep, doom := triage(manifests, h, now)
	var pruned Pruned
	if len(doom) > 0 {
		functions, err := p.onlyIn(ctx, manifests, doom, keep)
		if err != nil {
			return Pruned{}, err
		}
		if err := p.giveUp(ctx, functions, now); err != nil {
			return Pruned{}, err
		}
	}
	if pruned.Functions, err = p.givenUp(ctx, doom, now); err != nil {
		return pruned, err
	}
	for _, id := range doom {
		if err := p.deleteSnapshot(ctx, id); err != nil {
			return pruned, err
		}
		pruned.Snapshots = append(pruned.Snapshots, id)
	}
	if err := p.forget(ctx, keep, now); err != nil {
		return pruned, err
	}
	return pruned, p.forgetWithdrawals(ctx, now)
}

// triage divides the ids of snapshots. None is doomed while any is pending.
func triage(manifests []manifest, h *head, now time.Time) (keep, doom []string) {
	waiting := false
	last := lastOrders(manifests, h)
	for _, m := range manifests {
		state := m.state(h, now)
		if last[m.id] {
			state = kept
		}
		switch state {
		case doomed:
			doom = append(doom, m.id)
		case pending:
			waiting = true
			fallthrough
		default:
			keep = append(keep, m.id)
		}
	}
	if waiting {
		return append(keep, doom...), nil
	}
	return keep, doom
}

// lastOrders are the ids of the snapshots that live sources' deployments ordered last and got. Of those that began in
// the same second all are, since nothing tells them apart.
func lastOrders(manifests []manifest, h *head) map[string]bool {
	began := map[string]int64{}
	for _, m := range manifests {
		if m.ordered(h) {
			began[m.source] = max(began[m.source], m.created)
		}
	}
	last := map[string]bool{}
	for _, m := range manifests {
		if m.ordered(h) && m.created == began[m.source] {
			last[m.id] = true
		}
	}
	return last
}

// ordered reports whether the snapshot is or was live by the order of a deployment, whose source is live. Nobody else's
// order has a request.
func (m manifest) ordered(h *head) bool {
	_, live := h.Sources[m.source]
	return live && m.request != "" && m.wasLive(h)
}

// onlyIn returns the functions to retire: those that snapshots in doom name and none in keep does. A version of a
// function that another source has in keep is none of them: it is that source's function, whoever named the version.
func (p *Publisher) onlyIn(ctx context.Context, manifests []manifest, doom, keep []string) ([]string, error) {
	named, err := p.namedBy(ctx, manifests, doom)
	if err != nil {
		return nil, err
	}
	maps.DeleteFunc(named, func(arn string, _ map[string]bool) bool { return !p.retires(ctx, arn) })
	if err := p.leave(ctx, manifests, keep, named); err != nil {
		return nil, err
	}
	return slices.Sorted(maps.Keys(named)), nil
}

// namedBy returns the functions that snapshots name, each with the sources whose snapshots do.
func (p *Publisher) namedBy(
	ctx context.Context, manifests []manifest, snapshots []string,
) (map[string]map[string]bool, error) {
	named := map[string]map[string]bool{}
	for _, m := range manifests {
		if !slices.Contains(snapshots, m.id) {
			continue
		}
		err := p.visitFunctions(ctx, m.id, func(arn string) {
			if named[arn] == nil {
				named[arn] = map[string]bool{}
			}
			named[arn][m.source] = true
		})
		if err != nil {
			return nil, err
		}
	}
	return named, nil
}

// leave takes out of named what snapshots in keep name, and all versions of a function that one of another source
// names.
func (p *Publisher) leave(
	ctx context.Context, manifests []manifest, keep []string, named map[string]map[string]bool,
) error {
	versions := map[string][]string{}
	for arn := range named {
		versions[unqualified(arn)] = append(versions[unqualified(arn)], arn)
	}
	for _, m := range manifests {
		if !slices.Contains(keep, m.id) {
			continue
		}
		err := p.visitFunctions(ctx, m.id, func(kept string) {
			for _, arn := range versions[unqualified(kept)] {
				if arn == kept || named[arn] != nil && !onlySource(named[arn], m.source) {
					delete(named, arn)
				}
			}
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// onlySource reports whether no other source is among sources.
func onlySource(sources map[string]bool, source string) bool {
	return len(sources) == 0 || len(sources) == 1 && sources[source]
}

// visitFunctions reads what there is of a snapshot; an orphan's index may be missing.
func (p *Publisher) visitFunctions(ctx context.Context, id string, visit func(arn string)) error {
	query := between(p.table, snapshotPrefix+id, toolsPrefix, afterTools)
	err := queryItems(ctx, p.db, query, func(stored item) error {
		records, err := decodeRecords(stored)
		for _, r := range records {
			visit(r.function)
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("reading the functions of snapshot %s: %w", id, err)
	}
	return nil
}

// deleteSnapshot deletes the manifest last, so that a later Prune completes what this one did not.
func (p *Publisher) deleteSnapshot(ctx context.Context, id string) error {
	var deletes []types.WriteRequest
	query := partition(p.table, snapshotPrefix+id)
	query.ProjectionExpression = aws.String("pk, sk")
	err := queryItems(ctx, p.db, query, func(stored item) error {
		deletes = append(deletes, types.WriteRequest{DeleteRequest: &types.DeleteRequest{Key: stored}})
		return nil
	})
	if err == nil {
		err = writeBatches(ctx, p.db, p.table, deletes)
	}
	if err == nil {
		manifest := &types.DeleteRequest{Key: key(manifestPartition, id)}
		err = writeBatches(ctx, p.db, p.table, []types.WriteRequest{{DeleteRequest: manifest}})
	}
	if err != nil {
		return fmt.Errorf("deleting snapshot %s: %w", id, err)
	}
	return nil
}

// forget drops the records of the snapshots that have been pruned at now, which are not in keep: what could not be
// pruned yet is still told by History.
func (p *Publisher) forget(ctx context.Context, keep []string, now time.Time) error {
	_, err := p.update(ctx, func(h *head) (bool, error) {
		before := len(h.Superseded)
		maps.DeleteFunc(h.Superseded, func(id string, at int64) bool {
			return now.Sub(time.Unix(at, 0)) >= pruneAge && !slices.Contains(keep, id)
		})
		return len(h.Superseded) < before, nil
	})
	return err
}
