package main

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"patchbay/functions/internal/basket"
	"patchbay/functions/internal/basket/baskettest"
	"patchbay/shared/tool/tooltest"
)

func TestTypesAndSchemasAgree(t *testing.T) { tooltest.Check(t, view(nil)) }

func viewAs(t *testing.T, shop *baskettest.Shop, id string, caller tooltest.Options) *tooltest.Result {
	t.Helper()
	return tooltest.Call(t, view(shop.Baskets), map[string]any{"basket_id": id}, caller)
}

// put adds to a basket of Ada's, as add_item does.
func put(t *testing.T, shop *baskettest.Shop, id, sku string, quantity int) {
	t.Helper()
	ada := baskettest.Ada
	ada.File = "../add_item/tool.json"
	result := tooltest.Call(t, func(ctx context.Context, _ map[string]any) (basket.Contents, error) {
		return shop.Add(ctx, id, sku, quantity)
	}, map[string]any{"basket_id": id, "sku": sku}, ada)
	if result.IsError {
		t.Fatal(result.Text())
	}
}

func TestView(t *testing.T) {
	t.Parallel()
	shop := baskettest.Open(t, os.Getenv)
	id := shop.Create(t)
	check := func(ends time.Time, items ...basket.Item) {
		t.Helper()
		want := basket.Contents{BasketID: id, Items: append([]basket.Item{}, items...), ExpiresAt: ends}
		got := tooltest.Structured[basket.Contents](t, viewAs(t, shop, id, baskettest.Ada))
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("basket (-want +got):\n%s", diff)
		}
	}
	check(shop.Now().Add(basket.Window))
	put(t, shop, id, "SKU-1042", 2)
	put(t, shop, id, "SKU-7", 1)
	items := []basket.Item{{SKU: "SKU-1042", Quantity: 2}, {SKU: "SKU-7", Quantity: 1}}
	check(shop.Now().Add(basket.Window), items...)
	for range 6 { // looking prolongs, until the hard end
		shop.Pass(23 * time.Hour)
		check(shop.Now().Add(basket.Window), items...)
	}
	shop.Pass(23 * time.Hour)
	end := baskettest.Start.Add(basket.Lifetime)
	check(end, items...)
	shop.Pass(end.Sub(shop.Now()))
	if result := viewAs(t, shop, id, baskettest.Ada); result.Code != basket.CodeNotFound {
		t.Errorf("after the end: code %q, text %q", result.Code, result.Text())
	}
}

func TestBasketsThatAreNotFound(t *testing.T) {
	t.Parallel()
	shop := baskettest.Open(t, os.Getenv)
	id := shop.Create(t)
	for name, caller := range baskettest.Foreigners {
		if result := viewAs(t, shop, id, caller); result.Code != basket.CodeNotFound {
			t.Errorf("%s: code %q, text %q", name, result.Code, result.Text())
		}
	}
	for _, id := range []string{"bsk_" + strings.Repeat("a", 26), id + " ", strings.ToUpper(id), "x"} {
		if result := viewAs(t, shop, id, baskettest.Ada); result.Code != basket.CodeNotFound {
			t.Errorf("%q: code %q, text %q", id, result.Code, result.Text())
		}
	}
}

func TestStorageThatFails(t *testing.T) {
	t.Parallel()
	shop := baskettest.Open(t, os.Getenv)
	id := shop.Create(t)
	shop.StopStorage()
	if result := viewAs(t, shop, id, baskettest.Ada); result.Code != basket.CodeUnavailable {
		t.Errorf("code %q, text %q", result.Code, result.Text())
	}
}
