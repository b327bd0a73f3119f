// Package basket is what the three basket tools share: a basket, kept under a handle that its caller carries from call
// to call.
package basket

import (
	"context"
	"errors"
	"slices"
	"time"

	"patchbay/shared/handle"
	"patchbay/shared/tool"
)

// The failure modes that the contracts declare.
const (
	CodeNotFound    = "basket_not_found"
	CodeFull        = "basket_full"
	CodeTooMany     = "too_many_of_one"
	CodeBusy        = "basket_busy"
	CodeUnavailable = "storage_unavailable"
	CodeUnknown     = "outcome_unknown"
)

// A basket is kept for Window after its last change and for Lifetime at most; the description of create_basket says so.
const (
	Window   = 24 * time.Hour
	Lifetime = 7 * 24 * time.Hour
)

// What fits into a basket: different articles, and pieces of each.
const (
	MaxItems    = 100
	MaxQuantity = 9999
)

// patience is how long the storage may take, well within the timeout of the tools' contracts, so that a slow one is
// told as such and not as a tool that did not answer.
const patience = 5 * time.Second

// Item is a number of pieces of one article.
type Item struct {
	SKU      string `json:"sku"`
	Quantity int    `json:"quantity"`
}

// Contents is a basket as its caller sees it.
type Contents struct {
	BasketID string `json:"basket_id"`
	// Items are in the order in which their articles were first added; never nil.
	Items []Item `json:"items"`
	// ExpiresAt is when the basket ends unless it is used before.
	ExpiresAt time.Time `json:"expires_at"`
}

// stored is a basket as it is kept.
type stored struct {
	Items []Item `json:"items"`
}

// Baskets are all baskets; each of its methods sees those of its call's caller. Errors are tool.Fail's, or defects.
type Baskets struct {
	store *handle.Store[stored]
}

// Open returns the baskets in the table that a function's environment names.
func Open(getenv func(string) string) (*Baskets, error) {
	table, err := handle.OpenTable(getenv)
	if err != nil {
		return nil, err
	}
	return New(table, nil)
}

// New returns the baskets in a table. Now tells the time; nil means time.Now.
func New(table handle.Table, now func() time.Time) (*Baskets, error) {
	store, err := handle.New[stored](table, tool.Caller, handle.Options{
		Namespace: "baskets", Prefix: "bsk", Kind: "basket", CreatedBy: "create_basket",
		Window: Window, Lifetime: Lifetime, Now: now,
	})
	if err != nil {
		return nil, err
	}
	return &Baskets{store: store}, nil
}

// Create makes an empty basket and returns its handle.
func (b *Baskets) Create(ctx context.Context) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	id, err := b.store.Create(ctx, stored{Items: []Item{}})
	if errors.Is(err, handle.ErrUnknownOutcome) {
		return "", b.unavailable(ctx, err) // a basket whose handle nobody has is none
	}
	return id, b.failure(ctx, err)
}

// Add puts pieces of an article into a basket, beside those of it that are there.
func (b *Baskets) Add(ctx context.Context, id, sku string, quantity int) (Contents, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	item, err := b.store.Update(ctx, id, func(s *stored) error { return s.add(sku, quantity) })
	if err != nil {
		return Contents{}, b.failure(ctx, err)
	}
	return contents(item), nil
}

func (s *stored) add(sku string, quantity int) error {
	at := slices.IndexFunc(s.Items, func(i Item) bool { return i.SKU == sku })
	if at < 0 {
		if len(s.Items) >= MaxItems {
			return tool.Fail(CodeFull, "The basket holds %d different articles, and no more fit in; %q was not added. "+
				"Create another one with create_basket.", len(s.Items), sku)
		}
		s.Items = append(s.Items, Item{SKU: sku})
		at = len(s.Items) - 1
	}
	if there := s.Items[at].Quantity; there+quantity > MaxQuantity {
		return tool.Fail(CodeTooMany, "The basket holds %d of %q, and with %d more there would be more than %d. Nothing "+
			"was added.", there, sku, quantity, MaxQuantity)
	}
	s.Items[at].Quantity += quantity
	return nil
}

// View returns what is in a basket.
func (b *Baskets) View(ctx context.Context, id string) (Contents, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	item, err := b.store.Load(ctx, id)
	if err != nil {
		return Contents{}, b.failure(ctx, err)
	}
	return contents(item), nil
}

func contents(item handle.Item[stored]) Contents {
	return Contents{
		BasketID: item.ID, Items: append([]Item{}, item.Value.Items...), ExpiresAt: item.ExpiresAt,
	}
}

// failure says to the model what the storage's error means to it. Others are defects, or failures already.
func (b *Baskets) failure(ctx context.Context, err error) error {
	switch {
	case errors.Is(err, handle.ErrNotFound):
		return tool.Fail(CodeNotFound, "%s", b.store.NotFoundText())
	case errors.Is(err, handle.ErrConflict):
		return tool.Fail(CodeBusy, "Other calls changed the basket all the time, so nothing was added. Call again.")
	case errors.Is(err, handle.ErrUnknownOutcome):
		tool.Log(ctx).Error("a change of a basket was not confirmed", "error", err.Error())
		return tool.Fail(CodeUnknown, "The storage did not confirm the change, so the pieces may have been added or not. "+
			"Look with view_basket before you add them again.")
	case errors.Is(err, handle.ErrUnavailable):
		return b.unavailable(ctx, err)
	}
	return err
}

func (b *Baskets) unavailable(ctx context.Context, err error) error {
	tool.Log(ctx).Error("baskets cannot be reached", "error", err.Error())
	return tool.Fail(CodeUnavailable, "Baskets cannot be reached at the moment, and nothing was changed. Call again in a "+
		"minute.")
}
