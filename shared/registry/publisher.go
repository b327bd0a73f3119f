package registry

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"patchbay/shared/contract"
)

const (
	// publishLimit is the longest that a publish may take. Prune goes by it: an unnamed snapshot that is older belongs
	// to a publish that failed.
	publishLimit = time.Hour
	// maxMoves bounds the attempts to move HEAD against other publishers, each of which lets one of them through.
	maxMoves = 100
)

// PublisherOptions say how a Publisher works. The zero value is useful.
type PublisherOptions struct {
	// Now is the clock; nil means time.Now. Publishers' clocks may differ by hours.
	Now func() time.Time
	// Retires reports whether whoever calls Prune deletes a function version that no snapshot names any more. Prune tells
	// only those, and from then on nobody can publish them again. Nil means none.
	Retires func(ctx context.Context, arn string) bool
}

// Publisher writes a registry. It holds no state and is safe for concurrent use, by any number of processes.
type Publisher struct {
	db      DB
	table   string
	clock   func() time.Time
	retires func(ctx context.Context, arn string) bool
}

// NewPublisher returns a publisher into table.
func NewPublisher(db DB, table string, options PublisherOptions) *Publisher {
	p := &Publisher{db: db, table: table, clock: clock(options.Now), retires: options.Retires}
	if p.retires == nil {
		p.retires = func(context.Context, string) bool { return false }
	}
	return p
}

// Receipt says what a publish did.
type Receipt struct {
	Source string
	// Snapshot is the random id of what was written.
	Snapshot string
	// Revision counts the changes of HEAD.
	Revision int64
	Tools    int
}

// ConflictError is returned for tools whose names or functions other sources own. Nothing was published.
type ConflictError struct {
	Source string
	// Owners maps every contested name to the source that owns it.
	Owners map[string]string
	// Functions are the contested functions, in order of tool. Whoever publishes a function says by a contract who may
	// call it and how, so another source's contract would go around all that its owner demands.
	Functions []FunctionConflict
}

// FunctionConflict is a tool that is to be served by a function that another source's tools are served by.
type FunctionConflict struct {
	Tool string
	// Function is the ARN without version or alias.
	Function string
	Owner    string
}

// Error lists all names and functions with their owners.
func (e *ConflictError) Error() string {
	var list []string
	for name, owner := range e.Owners {
		list = append(list, fmt.Sprintf("%s is owned by source %s", name, owner))
	}
	slices.Sort(list)
	var faults []string
	if len(list) > 0 {
		faults = append(faults, strings.Join(list, ", ")+
			"; a name has one owner: rename the tool, or withdraw it there first")
	}
	list = nil
	for _, f := range e.Functions {
		list = append(list, fmt.Sprintf("function %s of tool %s serves tools of source %s", f.Function, f.Tool, f.Owner))
	}
	if len(list) > 0 {
		faults = append(faults, strings.Join(list, ", ")+
			"; a function has one owner, whose contracts say who may call it: give the tool a function of its own, or "+
			"withdraw it there first")
	}
	return fmt.Sprintf("publishing %s: %s", e.Source, strings.Join(faults, ". "))
}

func (e *ConflictError) size() int { return len(e.Owners) + len(e.Functions) }

func (e *ConflictError) sort() {
	slices.SortFunc(e.Functions, func(a, b FunctionConflict) int {
		return cmp.Or(cmp.Compare(a.Tool, b.Tool), cmp.Compare(a.Owner, b.Owner))
	})
}

// Order says on whose behalf a publish is made. The zero value is useful.
type Order struct {
	// By is who within the source publishes, as the one resource of a stack that does. A source that one publisher has
	// published is refused to another; empty is refused nothing, and takes over what it finds.
	By string
	// Request identifies the order where it may be delivered twice. Once a publish of the source has followed, the same
	// order is not obeyed again. Empty is always obeyed.
	Request string
	// Operator is the person who gave the order, for History; empty for a deployment.
	Operator string
	// Again is the snapshot whose contents the tools are once more. While the source serves it, they are not held against
	// the server's settings or other sources, which may have changed since: what is live stays, and whoever rolls a
	// deployment back to it must get there. Empty for contents that may be new.
	Again string
	// Over, when not nil, is the snapshot that the source serves, empty for nothing: for whoever has looked at what the
	// publish would change. Where it serves another one by now, the error is ErrChanged.
	Over *string
	// Settings, when not nil, replace the server-wide settings with the publish, or not at all.
	Settings *Settings
}

// Publish replaces everything that source has published with tools, all at once; publishing the same again is fine.
// Tools that do not fit each other or the server's settings are refused with an error that lists all that is wrong. It
// is a *ConflictError when other sources own names or functions; in both cases nothing has changed. After any other
// error the publish may have happened or not: it can be repeated.
func (p *Publisher) Publish(ctx context.Context, source string, tools []Publication) (Receipt, error) {
	return p.PublishAs(ctx, source, Order{}, tools)
}

// PublishAs is Publish by order. The error is ErrOtherPublisher when another publisher has the source. An order that
// was obeyed before is answered with the receipt of what is live, and changes nothing.
func (p *Publisher) PublishAs(ctx context.Context, source string, order Order, tools []Publication) (Receipt, error) {
	h, err := readHead(ctx, p.db, p.table)
	if err != nil {
		return Receipt{}, err
	}
	if receipt, obeyed, err := p.obeyed(ctx, h, source, order); err != nil || obeyed {
		return receipt, err
	}
	return p.publish(ctx, h, publish{source: source, order: order, tools: tools})
}

// publish is one publish on its way.
type publish struct {
	source string
	order  Order
	tools  []Publication
	// rollbackOf is the snapshot whose contents these are; empty for new ones.
	rollbackOf string
	// allow, when not nil, decides by HEAD whether to go on.
	allow func(*head) error
}

// admit changes the settings of h and refuses what h does not allow.
func (b publish) admit(ctx context.Context, h *head, admission *admission) error {
	if b.order.Settings != nil {
		h.Settings = *b.order.Settings
	}
	if over := b.order.Over; over != nil && *over != h.Sources[b.source].Snapshot {
		return fmt.Errorf("publishing %s: %w", b.source, ErrChanged)
	}
	if b.allow != nil {
		if err := b.allow(h); err != nil {
			return err
		}
	}
	if other := h.Sources[b.source].By; b.order.By != "" && other != "" && other != b.order.By {
		return fmt.Errorf("publishing %s as %s: %w: %s has published it; remove that first",
			b.source, b.order.By, ErrOtherPublisher, other)
	}
	return admission.check(ctx, h, b.again(h), b.limits(h))
}

// limits are what the tools are held against by h.
func (b publish) limits(h *head) contract.ServerLimits {
	if b.again(h) {
		return contract.ServerLimits{}
	}
	return contract.ServerLimits{MaxCallSeconds: h.Settings.MaxCallSeconds}
}

// again reports whether the tools are what the source serves already.
func (b publish) again(h *head) bool {
	return b.order.Again != "" && b.order.Again == h.Sources[b.source].Snapshot
}

// Check returns the error by which PublishAs would refuse the same, and writes nothing. What it lets through may still
// be refused later, for what others have published by then.
func (p *Publisher) Check(ctx context.Context, source string, order Order, tools []Publication) error {
	h, err := readHead(ctx, p.db, p.table)
	if err != nil {
		return err
	}
	records, _, err := p.examine(ctx, h, publish{source: source, order: order, tools: tools})
	if err != nil {
		return err
	}
	return p.checkRetired(ctx, source, records)
}

// examine refuses what cannot be published by what h says.
func (p *Publisher) examine(ctx context.Context, h *head, b publish) ([]record, *admission, error) {
	if b.order.Settings != nil {
		if err := b.order.Settings.check(p.table); err != nil {
			return nil, nil, err
		}
		h.Settings = *b.order.Settings
	}
	records, err := prepare(b.source, b.order, b.tools, b.limits(h))
	if err != nil {
		return nil, nil, err
	}
	admission := newAdmission(p.db, p.table, b.source, b.tools)
	return records, admission, b.admit(ctx, h, admission)
}

func (p *Publisher) publish(ctx context.Context, h *head, b publish) (Receipt, error) {
	records, admission, err := p.examine(ctx, h, b) // Again below; here it saves the writes.
	if err != nil {
		return Receipt{}, err
	}
	receipt := Receipt{Source: b.source, Snapshot: rand.Text(), Tools: len(records)}
	began := p.clock()
	written := manifest{id: receipt.Snapshot, source: b.source, created: began.Unix(), by: b.order.By,
		request: b.order.Request, operator: b.order.Operator, rollbackOf: b.rollbackOf}
	if err := p.writeSnapshot(ctx, written, records); err != nil {
		return Receipt{}, err
	}
	if err := p.checkRetired(ctx, b.source, records); err != nil {
		return Receipt{}, err
	}
	h, err = p.update(ctx, func(h *head) (bool, error) {
		if err := b.admit(ctx, h, admission); err != nil {
			return false, err
		}
		return true, p.move(ctx, h, receipt, b.order.By, began)
	})
	if err != nil {
		return Receipt{}, err
	}
	receipt.Revision = h.revision
	return receipt, nil
}

// move changes h to name the snapshot of receipt.
func (p *Publisher) move(ctx context.Context, h *head, receipt Receipt, by string, began time.Time) error {
	now := p.clock()
	if now.Sub(began) > publishLimit {
		return fmt.Errorf("publishing %s: it took more than %s; publish again", receipt.Source, publishLimit)
	}
	if err := h.set(receipt.Source, published{receipt.Snapshot, receipt.Tools, now.Unix(), by}); err != nil {
		return err
	}
	return p.relieve(ctx, h)
}

// writeSnapshot writes the manifest first, so that Prune finds whatever a crash leaves behind.
func (p *Publisher) writeSnapshot(ctx context.Context, m manifest, records []record) error {
	items, err := encodeSnapshot(m.id, records)
	if err != nil {
		return fmt.Errorf("publishing %s: %w", m.source, err)
	}
	if _, err := p.db.PutItem(ctx, &dynamodb.PutItemInput{TableName: &p.table, Item: m.item()}); err != nil {
		return fmt.Errorf("writing the manifest of snapshot %s: %w", m.id, err)
	}
	puts := make([]types.WriteRequest, len(items))
	for i, item := range items {
		puts[i].PutRequest = &types.PutRequest{Item: item}
	}
	if err := writeBatches(ctx, p.db, p.table, puts); err != nil {
		return fmt.Errorf("writing snapshot %s: %w", m.id, err)
	}
	return nil
}

// SetDisabled hides the tool called name from lists and calls, or shows it again. It stays hidden through publishes and
// withdrawals. Hiding a tool that nobody publishes is ErrUnknownTool, and so is showing one that is not hidden either,
// since an operator in a hurry must not believe in a misspelt name.
func (p *Publisher) SetDisabled(ctx context.Context, name string, disabled bool) error {
	_, err := p.update(ctx, func(h *head) (bool, error) {
		changed, err := h.disable(name, disabled)
		if err != nil || changed != disabled {
			return changed, err // what is on the list of disabled tools, whoever publishes it
		}
		return changed, p.checkPublished(ctx, h, name, disabled)
	})
	return err
}

func (p *Publisher) checkPublished(ctx context.Context, h *head, name string, disabled bool) error {
	for source, published := range h.Sources {
		x, err := readIndex(ctx, p.db, p.table, published.Snapshot)
		if err != nil {
			return fmt.Errorf("reading the names of source %s: %w", source, err)
		}
		if _, found := slices.BinarySearch(x.Names, name); found {
			return nil
		}
	}
	doing := "enabling"
	if disabled {
		doing = "disabling"
	}
	return fmt.Errorf("%s %q: %w", doing, name, ErrUnknownTool)
}

// Configure replaces the server-wide settings.
func (p *Publisher) Configure(ctx context.Context, settings Settings) error {
	if err := settings.check(p.table); err != nil {
		return err
	}
	_, err := p.update(ctx, func(h *head) (bool, error) {
		changed := h.Settings != settings
		h.Settings = settings
		return changed, nil
	})
	return err
}

func (s Settings) check(table string) error {
	if s.MaxCallSeconds < 0 {
		return fmt.Errorf("configuring %s: maxCallSeconds is %d; allowed: 0 or more", table, s.MaxCallSeconds)
	}
	return nil
}

// update applies change to HEAD until no other writer comes between its reading and its writing. change reports whether
// there is anything to write. A write whose answer is lost counts as soon as HEAD, read again, carries its token.
func (p *Publisher) update(ctx context.Context, change func(*head) (changed bool, err error)) (*head, error) {
	h, err := readHead(ctx, p.db, p.table)
	if err != nil {
		return nil, err
	}
	token := rand.Text()
	for attempt := 1; attempt <= maxMoves; attempt++ {
		if changed, err := change(h); err != nil || !changed {
			return h, err
		}
		h.sign(token)
		failure := h.write(ctx, p.db, p.table)
		if failure == nil {
			return h, nil
		}
		if h, err = readHead(ctx, p.db, p.table); err != nil {
			return nil, errors.Join(failure, err)
		}
		if h.signed(token) {
			return h, nil
		}
		if !lost(failure) {
			return nil, failure
		}
		if err := backOff(ctx, attempt); err != nil {
			return nil, fmt.Errorf("moving HEAD of %s: %w", p.table, err)
		}
	}
	return nil, fmt.Errorf("moving HEAD of %s: other publishers came first %d times", p.table, maxMoves)
}

// lost reports whether a write's condition failed: somebody else was faster.
func lost(err error) bool {
	var failed *types.ConditionalCheckFailedException
	return errors.As(err, &failed)
}

// relieve keeps the record of superseded snapshots in HEAD short.
func (p *Publisher) relieve(ctx context.Context, h *head) error {
	id, at, ok := h.oldestSuperseded()
	if !ok {
		return nil
	}
	delete(h.Superseded, id)
	return p.spill(ctx, id, at)
}

// spill moves a record of HEAD to the snapshot's manifest, before HEAD is written: it is true already, whether or not
// that write succeeds.
func (p *Publisher) spill(ctx context.Context, id string, at int64) error {
	_, err := p.db.UpdateItem(ctx, &dynamodb.UpdateItemInput{
		TableName:                 &p.table,
		Key:                       key(manifestPartition, id),
		UpdateExpression:          aws.String("SET supersededAt = :at"),
		ConditionExpression:       aws.String("attribute_exists(pk)"),
		ExpressionAttributeValues: map[string]types.AttributeValue{":at": number(at)},
	})
	if err != nil && !lost(err) { // Without a manifest it is pruned already.
		return fmt.Errorf("recording that snapshot %s was superseded: %w", id, err)
	}
	return nil
}
