// Command add_item is a tool that puts pieces of an article into a basket.
package main

import (
	"context"
	"fmt"
	"os"

	"patchbay/functions/internal/basket"
	"patchbay/shared/tool"
)

type input struct {
	BasketID string `json:"basket_id"`
	SKU      string `json:"sku"`
	Quantity int    `json:"quantity"`
}

func main() {
	baskets, err := basket.Open(os.Getenv)
	if err != nil {
		tool.Stop(fmt.Errorf("opening the baskets: %w", err))
	}
	tool.Serve(add(baskets))
}

func add(baskets *basket.Baskets) func(context.Context, input) (basket.Contents, error) {
	return func(ctx context.Context, in input) (basket.Contents, error) {
		return baskets.Add(ctx, in.BasketID, in.SKU, in.Quantity)
	}
}
