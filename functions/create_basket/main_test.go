package main

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"patchbay/functions/internal/basket"
	"patchbay/functions/internal/basket/baskettest"
	"patchbay/shared/tool/tooltest"
)

func TestTypesAndSchemasAgree(t *testing.T) { tooltest.Check(t, create(nil)) }

func TestCreate(t *testing.T) {
	t.Parallel()
	shop := baskettest.Open(t, os.Getenv)
	form := regexp.MustCompile(`^bsk_[a-z2-7]{26,}$`)
	seen := map[string]bool{}
	for _, caller := range []tooltest.Options{baskettest.Ada, baskettest.Ada, baskettest.Bob, baskettest.Anonymous} {
		id := tooltest.Structured[output](t, tooltest.Call(t, create(shop.Baskets), `{}`, caller)).BasketID
		if !form.MatchString(id) || seen[id] {
			t.Errorf("basket %q, made before: %v", id, seen[id])
		}
		seen[id] = true
	}
	if result := tooltest.Call(t, create(shop.Baskets), `{"size": 3}`); !result.Refused {
		t.Errorf("an argument too many: %s", result.Text())
	}
}

func TestStorageThatFails(t *testing.T) {
	t.Parallel()
	shop := baskettest.Open(t, os.Getenv)
	check := func(baskets *basket.Baskets) {
		t.Helper()
		result := tooltest.Call(t, create(baskets), `{}`)
		if result.Code != basket.CodeUnavailable || !strings.Contains(result.Text(), "Call again") {
			t.Errorf("code %q, text %q", result.Code, result.Text())
		}
	}
	check(shop.Unconfirmed(t))
	shop.StopStorage()
	check(shop.Baskets)
}

// What the description promises is what is kept.
func TestRetentionIsStated(t *testing.T) {
	t.Parallel()
	definition, err := os.ReadFile("tool.json")
	if err != nil {
		t.Fatal(err)
	}
	hours, days := fmt.Sprintf("%.0f hours", basket.Window.Hours()), fmt.Sprintf("%.0f days", basket.Lifetime.Hours()/24)
	for _, part := range []string{hours + " after it was last changed", days + " after its creation at most"} {
		if !strings.Contains(string(definition), part) {
			t.Errorf("tool.json does not say %q", part)
		}
	}
}
