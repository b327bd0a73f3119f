// Command view_basket is a tool that shows what is in a basket.
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
}

func main() {
	baskets, err := basket.Open(os.Getenv)
	if err != nil {
		slog.Error("opening the baskets", "error", err.Error())
		os.Exit(1)
	}
	tool.Serve(view(baskets))
}

func view(baskets *basket.Baskets) func(context.Context, input) (basket.Contents, error) {
	return func(ctx context.Context, in input) (basket.Contents, error) {
		return baskets.View(ctx, in.BasketID)
	}
}
