// Command add_item is a tool that puts pieces of an article into a basket.
package main

import (
	"context"
	"log/slog"
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
		slog.Error("opening the baskets", "error", err.Error())
		os.Exit(1)
	}
	tool.Serve(add(baskets))
}

func add(baskets *basket.Baskets) func(context.Context, input) (basket.Contents, error) {
	return func(ctx context.Context, in input) (basket.Contents, error) {
		return baskets.Add(ctx, in.BasketID, in.SKU, in.Quantity)
	}
}
