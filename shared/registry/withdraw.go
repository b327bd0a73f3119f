package registry

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// withdrawnPartition holds the orders to withdraw that were obeyed within the last day. One that is delivered again may
// come late, when the source has published anew.
const withdrawnPartition = "WITHDRAWN"

// Attributes of an obeyed order beside its keys. The snapshot is missing where there was nothing to withdraw.
const (
	atAttribute       = "at"
	snapshotAttribute = "snapshot"
)

// Withdraw removes everything that source has published. A source that has published nothing is no error.
func (p *Publisher) Withdraw(ctx context.Context, source string) error {
	_, err := p.WithdrawAs(ctx, source, Order{})
	return err
}

// WithdrawAs is Withdraw by order, of what order's By has published within the source; what another publisher has is
// left alone, which is no error. An empty By withdraws what anybody has, and so does any where the source's publisher
// is not known. An order that was obeyed within the last day, even if there was nothing to withdraw, changes nothing.
// It reports whether there was something to withdraw.
func (p *Publisher) WithdrawAs(ctx context.Context, source string, order Order) (withdrawn bool, err error) {
	_, err = p.update(ctx, func(h *head) (bool, error) {
		withdrawn = false
		if obeyed, err := p.withdrewBefore(ctx, h, source, order.Request); err != nil || obeyed {
			return false, err
		}
		old, ok := h.Sources[source]
		if !ok || order.By != "" && old.By != "" && old.By != order.By {
			return false, p.noteWithdrawal(ctx, source, order.Request, "")
		}
		if err := p.noteWithdrawal(ctx, source, order.Request, old.Snapshot); err != nil {
			return false, err
		}
		withdrawn = true
		h.remove(source, p.clock())
		return true, p.relieve(ctx, h)
	})
	return withdrawn, err
}

// WithdrawLive withdraws source if snapshot is what it serves, for whoever has looked at that: over what has happened
// since it withdraws nothing, which is an error.
func (p *Publisher) WithdrawLive(ctx context.Context, source, snapshot string) error {
	_, err := p.update(ctx, func(h *head) (bool, error) {
		if now, ok := h.Sources[source]; !ok || now.Snapshot != snapshot {
			return false, fmt.Errorf("withdrawing source %s: it was published or withdrawn meanwhile; look again", source)
		}
		h.remove(source, p.clock())
		return true, p.relieve(ctx, h)
	})
	return err
}

// withdrewBefore reports whether an order to withdraw was obeyed before. It is noted before HEAD moves, so one that is
// noted counts only if HEAD does not name any more what it was to withdraw.
func (p *Publisher) withdrewBefore(ctx context.Context, h *head, source, request string) (bool, error) {
	if request == "" {
		return false, nil
	}
	stored, err := getItem(ctx, p.db, p.table, withdrawnPartition, withdrawalKey(source, request))
	if err == nil && stored != nil {
		err = stored.checkVersion(withdrawnVersion)
	}
	if err != nil {
		return false, fmt.Errorf("reading whether source %s was withdrawn before: %w", source, err)
	}
	if stored == nil {
		return false, nil
	}
	snapshot, ok := stored[snapshotAttribute].(*types.AttributeValueMemberS)
	return !ok || h.Sources[source].Snapshot != snapshot.Value, nil
}

// noteWithdrawal records that an order withdraws a snapshot; an empty one is nothing.
func (p *Publisher) noteWithdrawal(ctx context.Context, source, request, snapshot string) error {
	if request == "" {
		return nil
	}
	stored := newItem(withdrawnPartition, withdrawalKey(source, request), withdrawnVersion).
		with(atAttribute, number(p.clock().Unix()))
	if snapshot != "" {
		stored[snapshotAttribute] = text(snapshot)
	}
	if _, err := p.db.PutItem(ctx, &dynamodb.PutItemInput{TableName: &p.table, Item: stored}); err != nil {
		return fmt.Errorf("recording that source %s is withdrawn: %w", source, err)
	}
	return nil
}

// withdrawalKey is the sort key of an order. A digest, since what was never published has no bounds.
func withdrawalKey(source, request string) string {
	digest := sha256.Sum256([]byte(strconv.Itoa(len(source)) + ":" + source + request))
	return hex.EncodeToString(digest[:])
}

// forgetWithdrawals deletes the orders that were obeyed a day ago: nobody delivers an event so late.
func (p *Publisher) forgetWithdrawals(ctx context.Context, now time.Time) error {
	var deletes []types.WriteRequest
	err := queryItems(ctx, p.db, partition(p.table, withdrawnPartition), func(stored item) error {
		if err := stored.checkVersion(withdrawnVersion); err != nil {
			return err
		}
		at, err := stored.number(atAttribute)
		if err != nil || now.Sub(time.Unix(at, 0)) < pruneAge {
			return err
		}
		deletes = append(deletes, types.WriteRequest{DeleteRequest: &types.DeleteRequest{
			Key: item{PartitionKey: stored[PartitionKey], SortKey: stored[SortKey]},
		}})
		return nil
	})
	if err == nil {
		err = writeBatches(ctx, p.db, p.table, deletes)
	}
	if err != nil {
		return fmt.Errorf("deleting old orders to withdraw: %w", err)
	}
	return nil
}
