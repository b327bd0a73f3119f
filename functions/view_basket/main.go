// Command view_basket is a tool that shows what is in a basket.
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
}

func main() {
	baskets, err := basket.Open(os.Getenv)
	if err != nil {
		tool.Stop(fmt.Errorf("opening the baskets: %w", err))
	}
	tool.Serve(view(baskets))
}

func view(baskets *basket.Baskets) func(context.Context, input) (basket.Contents, error) {
	return func(ctx context.Context, in input) (basket.Contents, error) {
		return baskets.View(ctx, in.BasketID)
	}
}
