package main

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"patchbay/functions/internal/basket"
	"patchbay/functions/internal/basket/baskettest"
	"patchbay/shared/tool/tooltest"
)

func TestTypesAndSchemasAgree(t *testing.T) { tooltest.Check(t, add(nil)) }

// call adds to a basket as Ada.
func call(t *testing.T, baskets *basket.Baskets, arguments map[string]any) *tooltest.Result {
	t.Helper()
	return tooltest.Call(t, add(baskets), arguments, baskettest.Ada)
}

func TestAdd(t *testing.T) {
	t.Parallel()
	shop := baskettest.Open(t, os.Getenv)
	id := shop.Create(t)
	for _, step := range []struct {
		arguments map[string]any
		want      []basket.Item
	}{
		{map[string]any{"sku": "SKU-1042"}, []basket.Item{{SKU: "SKU-1042", Quantity: 1}}},
		{map[string]any{"sku": "a/b_2.c", "quantity": 1000},
			[]basket.Item{{SKU: "SKU-1042", Quantity: 1}, {SKU: "a/b_2.c", Quantity: 1000}}},
		{map[string]any{"sku": "SKU-1042", "quantity": 2},
			[]basket.Item{{SKU: "SKU-1042", Quantity: 3}, {SKU: "a/b_2.c", Quantity: 1000}}},
		{map[string]any{"sku": "sku-1042"}, []basket.Item{{SKU: "SKU-1042", Quantity: 3},
			{SKU: "a/b_2.c", Quantity: 1000}, {SKU: "sku-1042", Quantity: 1}}},
	} {
		shop.Pass(basket.Window / 2)
		step.arguments["basket_id"] = id
		got := tooltest.Structured[basket.Contents](t, call(t, shop.Baskets, step.arguments))
		want := basket.Contents{BasketID: id, Items: step.want, ExpiresAt: shop.Now().Add(basket.Window)}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%v (-want +got):\n%s", step.arguments, diff)
		}
	}
}

func TestArgumentsThatAreRefused(t *testing.T) {
	t.Parallel()
	for want, arguments := range map[string]string{
		"sku":                        `{"basket_id": "bsk_a"}`,
		"basket_id":                  `{"sku": "a"}`,
		"64":                         `{"basket_id": "bsk_a", "sku": "` + strings.Repeat("a", 65) + `"}`,
		"does not match the pattern": `{"basket_id": "bsk_a", "sku": "- a"}`,
		"1":                          `{"basket_id": "bsk_a", "sku": "a", "quantity": 0}`,
		"1000":                       `{"basket_id": "bsk_a", "sku": "a", "quantity": 1001}`,
		"integer":                    `{"basket_id": "bsk_a", "sku": "a", "quantity": 1.5}`,
		"200":                        `{"basket_id": "` + strings.Repeat("a", 201) + `", "sku": "a"}`,
		"principal":                  `{"basket_id": "bsk_a", "sku": "a", "principal": "ada"}`,
	} {
		result := tooltest.Call(t, add(nil), arguments)
		if !result.Refused || !strings.Contains(result.Text(), want) {
			t.Errorf("%s: refused %v, text %q; want one with %q", arguments, result.Refused, result.Text(), want)
		}
	}
}

// Somebody else's basket, one that never was and one that has ended are the same to a caller, to the letter.
func TestBasketsThatAreNotFound(t *testing.T) {
	t.Parallel()
	shop := baskettest.Open(t, os.Getenv)
	expired := shop.Create(t)
	shop.Pass(basket.Window)
	id := shop.Create(t)
	texts := map[string]bool{}
	check := func(name, id string, caller tooltest.Options) {
		result := tooltest.Call(t, add(shop.Baskets), map[string]any{"basket_id": id, "sku": "stolen"}, caller)
		if result.Code != basket.CodeNotFound || !strings.Contains(result.Text(), "create_basket") {
			t.Errorf("%s: code %q, text %q", name, result.Code, result.Text())
		}
		texts[result.Text()] = true
	}
	for name, caller := range baskettest.Foreigners {
		check(name, id, caller)
	}
	check("unknown", "bsk_"+strings.Repeat("a", 26), baskettest.Ada)
	check("malformed", "'; DROP TABLE", baskettest.Ada)
	check("expired", expired, baskettest.Ada)
	if len(texts) != 1 {
		t.Errorf("the texts differ: %v", texts)
	}
	got := tooltest.Structured[basket.Contents](t, call(t, shop.Baskets, map[string]any{"basket_id": id, "sku": "a"}))
	if len(got.Items) != 1 {
		t.Errorf("the basket holds %v", got.Items)
	}
}

// An anonymous caller's basket is found by whoever has its handle.
func TestAnonymous(t *testing.T) {
	t.Parallel()
	shop := baskettest.Open(t, os.Getenv)
	id := shop.CreateAs(t, baskettest.Anonymous)
	result := tooltest.Call(t, add(shop.Baskets), map[string]any{"basket_id": id, "sku": "a"})
	if got := tooltest.Structured[basket.Contents](t, result); len(got.Items) != 1 {
		t.Errorf("the basket holds %v", got.Items)
	}
}

func TestLimits(t *testing.T) {
	t.Parallel()
	shop := baskettest.Open(t, os.Getenv)
	id := shop.Create(t)
	expect := func(sku string, quantity int, code string) {
		t.Helper()
		result := call(t, shop.Baskets, map[string]any{"basket_id": id, "sku": sku, "quantity": quantity})
		if result.Code != code || result.IsError != (code != "") {
			t.Errorf("%d of %s: code %q, text %q; want %q", quantity, sku, result.Code, result.Text(), code)
		}
	}
	for range 9 {
		expect("many", 1000, "")
	}
	expect("many", 1000, basket.CodeTooMany)
	expect("many", 999, "")
	expect("many", 1, basket.CodeTooMany)
	for i := range basket.MaxItems - 1 {
		expect(fmt.Sprintf("sku-%d", i), 1, "")
	}
	expect("one-more", 1, basket.CodeFull)
	expect("sku-0", 1, "")
}

func TestAddingAtTheSameTime(t *testing.T) {
	t.Parallel()
	shop := baskettest.Open(t, os.Getenv)
	id := shop.Create(t)
	var group sync.WaitGroup
	for range 6 {
		group.Go(func() {
			result := call(t, shop.Baskets, map[string]any{"basket_id": id, "sku": "a", "quantity": 10})
			if result.IsError {
				t.Errorf("code %q, text %q", result.Code, result.Text())
			}
		})
	}
	group.Wait()
	got := tooltest.Structured[basket.Contents](t, call(t, shop.Baskets, map[string]any{"basket_id": id, "sku": "b"}))
	if got.Items[0].Quantity != 60 {
		t.Errorf("the basket holds %v, want 60 of a", got.Items)
	}
}

func TestStorageThatFails(t *testing.T) {
	t.Parallel()
	shop := baskettest.Open(t, os.Getenv)
	id := shop.Create(t)
	arguments := map[string]any{"basket_id": id, "sku": "a"}
	result := call(t, shop.Unconfirmed(t), arguments)
	if result.Code != basket.CodeUnknown || !strings.Contains(result.Text(), "view_basket") {
		t.Errorf("a lost answer: code %q, text %q", result.Code, result.Text())
	}
	got := tooltest.Structured[basket.Contents](t, call(t, shop.Baskets, arguments))
	if got.Items[0].Quantity != 2 {
		t.Errorf("the basket holds %v; the lost answer's piece is missing", got.Items)
	}
	shop.StopStorage()
	if result := call(t, shop.Baskets, arguments); result.Code != basket.CodeUnavailable {
		t.Errorf("without storage: code %q, text %q", result.Code, result.Text())
	}
}
