package registry

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// A function version that Prune gives up to be deleted could at the same moment be published again, by a rollback that
// has just found it to exist. So Prune first writes which versions it gives up, and then looks once more at what is
// published or being published; a publisher first writes its snapshot, and then looks at what is given up. Each writes
// before it reads, and reads consistently, so at least one of the two sees the other: either the version is kept, or
// its publish is refused.

// retiredPartition holds the lists of function versions that were given up.
const retiredPartition = "RETIRED"

// Attributes of a list that say how far it is: confirmed that nothing else names its functions, and all of them gone.
const (
	confirmedAttribute = "confirmed"
	deletedAttribute   = "deleted"
)

// retiredAge is how long a list is kept of which nobody says that its functions are gone.
const retiredAge = 30 * pruneAge

// retired is one list.
type retired struct {
	id        string
	at        int64 // epoch seconds
	functions []string
	// confirmed is whether confirm has looked.
	confirmed bool
	// deleted is whether all of them are known to be gone.
	deleted bool
}

func (r retired) item() (item, error) {
	list, err := json.Marshal(r.functions)
	if err != nil {
		return nil, fmt.Errorf("encoding a list of functions: %w", err)
	}
	data, err := deflate(list)
	if err != nil {
		return nil, err
	}
	stored := newItem(retiredPartition, r.id, retiredVersion).with("at", number(r.at)).with("data", binaryValue(data))
	if r.confirmed {
		stored[confirmedAttribute] = number(1)
	}
	if r.deleted {
		stored[deletedAttribute] = number(1)
	}
	return stored, nil
}

func decodeRetired(stored item) (retired, error) {
	data, err := stored.inflate(retiredVersion)
	if err != nil {
		return retired{}, err
	}
	var r retired
	if r.id, err = stored.text(SortKey); err != nil {
		return r, err
	}
	if r.at, err = stored.number("at"); err != nil {
		return r, err
	}
	_, r.confirmed = stored[confirmedAttribute]
	_, r.deleted = stored[deletedAttribute]
	if err := json.Unmarshal(data, &r.functions); err != nil {
		return r, fmt.Errorf("decoding a list of functions: %w", err)
	}
	return r, nil
}

func (p *Publisher) retired(ctx context.Context) ([]retired, error) {
	var all []retired
	err := queryItems(ctx, p.db, partition(p.table, retiredPartition), func(stored item) error {
		r, err := decodeRetired(stored)
		all = append(all, r)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("reading which function versions are being deleted: %w", err)
	}
	return all, nil
}

// putRetired writes a list, if it does not have the attribute of a step yet.
func (p *Publisher) putRetired(ctx context.Context, r retired, step string) error {
	stored, err := r.item()
	if err != nil {
		return err
	}
	input := &dynamodb.PutItemInput{
		TableName: &p.table, Item: stored,
		ConditionExpression:      aws.String("attribute_not_exists(#step)"),
		ExpressionAttributeNames: map[string]string{"#step": step},
	}
	if _, err := p.db.PutItem(ctx, input); err != nil {
		return fmt.Errorf("recording which function versions are being deleted: %w", err)
	}
	return nil
}

// checkRetired refuses a publish, whose snapshot is written, of versions that were given up.
func (p *Publisher) checkRetired(ctx context.Context, source string, records []record) error {
	lists, err := p.retired(ctx)
	if err != nil {
		return err
	}
	var gone []string
	for _, r := range records {
		for _, list := range lists {
			if slices.Contains(list.functions, r.function) {
				gone = append(gone, fmt.Sprintf("tool %s: function version %s is being deleted, since nothing named it any "+
					"more", r.name, r.function))
				break
			}
		}
	}
	if len(gone) > 0 {
		return fmt.Errorf("publishing %s: %s; publish a new version", source, strings.Join(gone, "; "))
	}
	return nil
}

// giveUp records that functions are to be deleted, which they are not before confirm has looked again.
func (p *Publisher) giveUp(ctx context.Context, functions []string, now time.Time) error {
	if len(functions) == 0 {
		return nil
	}
	return p.putRetired(ctx, retired{id: rand.Text(), at: now.Unix(), functions: functions}, confirmedAttribute)
}

// confirm looks again which snapshots are to stay, and returns what is left of a list: what those name may be published
// again. It is decided once, since a function that was told may be gone at any moment. When another Prune, which looked
// at another moment, has decided first, nothing is left for this one to tell.
func (p *Publisher) confirm(ctx context.Context, list retired, doom []string) ([]string, error) {
	manifests, err := p.manifests(ctx)
	if err != nil {
		return nil, err
	}
	named, err := p.namedBy(ctx, manifests, doom)
	if err != nil {
		return nil, err
	}
	left := map[string]map[string]bool{}
	for _, arn := range list.functions {
		left[arn] = named[arn]
		if left[arn] == nil { // Another Prune has deleted the snapshots that named it.
			left[arn] = map[string]bool{}
		}
	}
	var keep []string
	for _, m := range manifests {
		if !slices.Contains(doom, m.id) {
			keep = append(keep, m.id)
		}
	}
	if err := p.leave(ctx, manifests, keep, left); err != nil {
		return nil, err
	}
	list.functions = slices.DeleteFunc(list.functions, func(arn string) bool { return left[arn] == nil })
	list.confirmed, list.deleted = true, len(list.functions) == 0
	err = p.putRetired(ctx, list, confirmedAttribute)
	if lost(err) {
		return nil, nil
	}
	return list.functions, err
}

// Deleted records that functions which Prune has told are gone, so that it tells them no more.
func (p *Publisher) Deleted(ctx context.Context, functions []string) error {
	if len(functions) == 0 {
		return nil
	}
	lists, err := p.retired(ctx)
	if err != nil {
		return err
	}
	for _, list := range lists {
		left := slices.ContainsFunc(list.functions, func(arn string) bool { return !slices.Contains(functions, arn) })
		if left || list.deleted {
			continue
		}
		list.deleted = true
		if err := p.putRetired(ctx, list, deletedAttribute); err != nil && !lost(err) {
			return err
		}
	}
	return nil
}

// givenUp returns the functions of all lists of which nobody said that they are gone, and deletes the lists that are
// older than any publish can be. A list that is never said to be gone is kept for longer, since whoever deletes may not
// be allowed to until an operator reads the log.
func (p *Publisher) givenUp(ctx context.Context, doom []string, now time.Time) (left []string, err error) {
	lists, err := p.retired(ctx)
	if err != nil {
		return nil, err
	}
	var deletes []types.WriteRequest
	for _, r := range lists {
		age := now.Sub(time.Unix(r.at, 0))
		if r.deleted && age >= pruneAge || age >= retiredAge {
			deletes = append(deletes, types.WriteRequest{DeleteRequest: &types.DeleteRequest{Key: key(retiredPartition, r.id)}})
			continue
		}
		if !r.confirmed { // new, or of a Prune that ended in between
			if r.functions, err = p.confirm(ctx, r, doom); err != nil {
				return nil, err
			}
		}
		if !r.deleted {
			left = append(left, r.functions...)
		}
	}
	if err := writeBatches(ctx, p.db, p.table, deletes); err != nil {
		return left, fmt.Errorf("deleting old lists of function versions: %w", err)
	}
	slices.Sort(left)
	return slices.Compact(left), nil
}
